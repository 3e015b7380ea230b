"""Coarseness: on which columns released values depend, where rare combinations were merged along the others."""

from __future__ import annotations

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Matrix

ALIKE = 2.0**-20
"""Probabilities that differ by less, relative to an output's largest, are the same: the rest is rounding."""
NAMED = 3
"""Sets of columns that are named in a sentence."""
WORTH_NAMING = 0.005
"""Of the rows."""


def released_by(protocol: Protocol, joint: Joint) -> tuple[tuple[tuple[str, ...], float], ...]:
    """Of what share of the rows of `joint` the released values depend on which columns alone, the largest share first.

    Empty where all of them depend on all columns. For protocols with an input for every combination of values; for
    others it is not asked.
    """
    block = protocol.block
    sizes = [len(column) for column in block.columns]
    if block.channel.n_inputs < int(np.prod(sizes, dtype=np.float64)):
        return ()
    inputs = block.inputs_of(joint)
    p = np.bincount(inputs, weights=joint.p_x, minlength=block.channel.n_inputs)
    place = np.ravel_multi_index(tuple(block.codes.T), sizes)
    shares: dict[tuple[str, ...], float] = {}
    starts = np.argsort(block.channel.outputs, kind="stable")
    for entries in np.split(starts, np.flatnonzero(np.diff(block.channel.outputs[starts])) + 1):
        w = np.zeros(len(place))
        w[place[block.channel.inputs[entries]]] = block.channel.numerators[entries] / UNIT
        names = tuple(block.attributes[j] for j in _matter(w.reshape(sizes)))
        shares[names] = shares.get(names, 0.0) + float(w[place] @ p)
    if shares.get(block.attributes, 0.0) > 1 - WORTH_NAMING:
        return ()
    return tuple(sorted(shares.items(), key=lambda item: -item[1]))


def _matter(w: Matrix) -> list[int]:
    """The axes along which w is not the same."""
    return [j for j in range(w.ndim) if (w.max(axis=j) - w.min(axis=j)).max() > ALIKE * w.max()]


def merging_words(shares: tuple[tuple[tuple[str, ...], float], ...]) -> str:
    """What was done about rare combinations, in a sentence; nothing where nothing was merged."""
    if not shares:
        return ""
    told = [(names, share) for names, share in shares if share >= WORTH_NAMING]
    named = [f"{share:.0%} of the rows by {' × '.join(names) or 'nothing'}" for names, share in told[:NAMED]]
    rest = sum(share for _, share in told[NAMED:])
    more = [f"{rest:.0%} by others"] if rest >= WORTH_NAMING else []
    return f" For the sake of rare combinations, rows are released by fewer columns: {', '.join([*named, *more])}."
