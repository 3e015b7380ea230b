"""How far off the shares are that readers count in released rows as they stand, on average over all releases."""

from __future__ import annotations

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.readers import points, reader_words
from privacyfunnel.typing import Vector


def miscount(protocol: Protocol, joint: Joint) -> float:
    """The mean of |P(Y has a) − P(X has a)| over all values a of single columns that occur in `joint`.

    At most 2⁻³⁰ times the number of values for a faithful release of the joint that it was fitted on.
    """
    off = [_off(protocol.block, j, joint) for j in range(len(protocol.columns))]
    return float(np.concatenate(off).mean())


def _off(block: Block, j: int, joint: Joint) -> Vector:
    """|P(Y has a) − P(X has a)| for every value a that the attribute j has in `joint`."""
    size, entries = len(block.columns[j]), block.channel
    p_x = np.bincount(block.inputs_of(joint), weights=joint.p_x, minlength=entries.n_inputs)
    mass = p_x[entries.inputs] * (entries.numerators / UNIT)
    counted = np.bincount(block.codes[block.labels[entries.outputs], j], weights=mass, minlength=size)
    true = np.bincount(block.codes[:, j], weights=p_x, minlength=size)
    off: Vector = np.abs(counted - true)[true > 0]
    return off


def counting_words(protocol: Protocol, joint: Joint) -> str:
    """What somebody finds who counts released rows of `joint` as they stand, in a sentence."""
    words = reader_words(protocol, joint)
    if words is not None:
        return f"{words[0].upper()}{words[1:]}."
    off = points(miscount(protocol, joint))
    return f"Counting released rows misleads: shares are off by {off} points on average. Readers need funnel estimate."
