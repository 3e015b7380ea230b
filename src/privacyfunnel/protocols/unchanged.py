"""How many cells stay as people have them, where rare combinations are read as others before they are drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.protocol import Protocol


def unchanged(block: Block, joint: Joint) -> tuple[float, float]:
    """The expected share of cells that stay, and of rows of which every cell stays, for the values of X of `joint`.

    The block releases all attributes of the joint, in its order, and its outputs are values.
    """
    channel, inputs = block.channel, block.inputs_of(joint)
    lengths = np.diff(channel.starts)[inputs]
    x = np.repeat(np.arange(joint.n_x), lengths)
    before = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    entry = np.arange(len(x)) - np.repeat(before, lengths) + np.repeat(channel.starts[inputs], lengths)
    same = joint.codes[x] == block.codes[block.labels[channel.outputs[entry]]]
    mass = joint.p_x[x] * (channel.numerators[entry] / UNIT)
    return min(1.0, float(mass @ same.mean(axis=1))), min(1.0, float(mass @ same.all(axis=1)))


def as_people_have_them(protocol: Protocol, joint: Joint) -> Protocol:
    """The protocol with the cells and rows that stay counted on combinations as people have them, not as they are read.

    Where only large counts are told, all cells of the other people count as changed.
    """
    if protocol.likeness is None:
        return protocol
    told = joint.noise.share_told if joint.noise is not None else 1.0
    cells, rows = unchanged(protocol.block, joint.before_gathering or joint)
    likeness = replace(protocol.likeness, cells_unchanged=told * cells, rows_unchanged=told * rows)
    return replace(protocol, likeness=likeness)
