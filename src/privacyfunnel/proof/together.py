"""Together: the exact level of several releases of the same people, each drawn by itself.

Given x, releases are independent: P(y₁, …, y_k|x) = Π P(y_i|x). Given s they are not, since each narrows down x. So
their levels do not add up. All of them are one channel on the values of X, in whole numbers, and the exact check of a
single release applies to it as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, InvalidJoint
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.robust import Robust
from privacyfunnel.proof.certificate import certify_entries
from privacyfunnel.proof.lifts import Entries
from privacyfunnel.proof.verdict import Certificate
from privacyfunnel.protocols.protocol import Block, Protocol
from privacyfunnel.typing import Integers

MOST_OUTCOMES = 4_000_000
"""Pairs of an x and of what is released of it that are gone through: exact integers take some 100 bytes each."""


def certify_together(protocols: Sequence[Protocol], joint: Joint, notion: Notion) -> Certificate:
    """Whether releases of the same people by each of these protocols, drawn independently, keep a promise together.

    A protocol that was drawn from twice is listed twice. Columns are found in `joint` by how they read a table, so that
    it may hold a column of one name more than once, cut in different ways.

    >>> joint = Joint([[30, 10], [10, 50]])
    >>> first, second = (optimise(joint, LIP(epsilon)) for epsilon in (0.1, 0.2))
    >>> round(certify_together([first], joint, LIP(1.0)).level, 3)
    0.1
    >>> round(certify_together([first, second], joint, LIP(1.0)).level, 3)
    0.298
    """
    whole = Entries(np.arange(joint.n_x), np.zeros(joint.n_x, dtype=np.int64), np.full(joint.n_x, 1, dtype=object))
    for block in (block for protocol in protocols for block in protocol.blocks):
        own = Entries.of(block.channel).at(inputs_read(block, joint))
        _check_size(whole, own, joint)
        whole = _renumbered(whole.times(own, block.channel.n_outputs))
    return certify_entries(whole, joint, notion)


def inputs_read(block: Block, joint: Joint) -> Integers:
    """For every value of X in `joint`, the input of the block, by the columns that read a table alike."""
    places = [joint.columns.index(column) for column in block.columns]
    codes = joint.codes[:, places]
    known = {values: x for x, values in enumerate(map(tuple, block.codes.tolist()))}
    found = np.array([known.get(values, -1) for values in map(tuple, codes.tolist())], dtype=np.int64)
    strange = found < 0
    if block.nearest and strange.any():
        found[strange] = block.nearest_to(codes[strange])
    if (found < 0).any():
        raise InvalidJoint(f"{int((found < 0).sum())} of {joint.n_x} values of X are unknown to one of the protocols")
    return found


def _check_size(whole: Entries, own: Entries, joint: Joint) -> None:
    counts = [np.bincount(entries.inputs, minlength=joint.n_x).astype(np.float64) for entries in (whole, own)]
    outcomes = int(counts[0] @ counts[1])
    if outcomes > MOST_OUTCOMES:
        raise InvalidInput(f"{outcomes:,} outcomes of all releases together are too many to go through exactly")


def _renumbered(entries: Entries) -> Entries:
    """Outputs numbered from 0, so that the next release's cannot overflow."""
    _, outputs = np.unique(entries.outputs, return_inverse=True)
    return Entries(entries.inputs, outputs.ravel(), entries.numerators)


def promised(protocol: Protocol, notion: Notion) -> Limits | None:
    """What a protocol by itself keeps to, of this kind of promise; None if its promise is of another kind."""
    own = protocol.notion.promise if isinstance(protocol.notion, Robust) else protocol.notion
    if own != notion and _but_for_levels(own) != _but_for_levels(notion):
        return None
    return own.limits.granted()  # what holds for many distributions does for one


def _but_for_levels(notion: Notion) -> dict[str, Any]:
    """A promise without its ε, where that is one number; one with several levels is like nothing but itself."""
    said = notion.as_dict()
    levels = [said.pop(name, 0.0) for name in ("epsilon", "lower", "upper")]
    return said if all(isinstance(level, float) for level in levels) else {"like": id(notion)}
