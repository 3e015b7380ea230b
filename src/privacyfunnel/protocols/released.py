"""What the outputs of a protocol, all blocks together, tell of X and of S: P(s, y) and I(X;Y), in float64."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.information import entropy
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.protocol import Protocol, information_kept, released_joint
from privacyfunnel.typing import Matrix, Vector

MOST_ENTRIES = 40_000_000
"""Numbers in one tensor P(s, …, y) of outputs that are gone through: more would take over 300 megabytes."""


def released(protocol: Protocol, joint: Joint) -> Matrix:
    """P(s, y) at [s, y], for the outputs y of all blocks in C order.

    Blocks with a single output drop out; if all outputs are too many, those blocks that tell least of X drop out, too.
    """
    blocks = _together(protocol, joint)
    inputs = [block.inputs_of(joint) for block in blocks]
    shape = [block.channel.n_inputs for block in blocks]
    if len(blocks) == 1:
        p = np.zeros((joint.n_s, *shape))
        np.add.at(p.T, inputs[0], joint.p.T)
        return released_joint(blocks[0].channel, p)
    place = np.ravel_multi_index(tuple(inputs), shape)
    rows = [np.bincount(place, weights=p, minlength=math.prod(shape)) for p in joint.p]
    tensor = np.stack(rows).astype(np.float64).reshape(joint.n_s, *shape)
    for axis, block in enumerate(blocks, start=1):
        tensor = np.moveaxis(np.tensordot(block.channel.dense(), tensor, axes=(1, axis)), 0, axis)
    return tensor.reshape(joint.n_s, -1)


def kept(protocol: Protocol, joint: Joint) -> float:
    """I(X;Y) in nats, of the blocks that `released` goes through (the others could only add to it).

    Given x the blocks are independent, so I(X;Y) = H(Y) − Σ_b H(Y_b|X_b).
    """
    if len(protocol.blocks) == 1:
        return _alone(protocol.blocks[0], joint)
    noise = 0.0
    for block in _together(protocol, joint):
        noise += float(_p_x(block, joint) @ entropy(block.channel.dense().T))
    return max(0.0, float(entropy(released(protocol, joint).sum(axis=0))) - noise)


def _together(protocol: Protocol, joint: Joint) -> list[Block]:
    """The blocks whose outputs can be gone through together, those that tell the most of X first to be taken."""
    shapes = [(block.channel.n_outputs, block.channel.n_inputs) for block in protocol.blocks]
    taken = fit_together(shapes, [_alone(block, joint) for block in protocol.blocks], joint.n_s)
    return [protocol.blocks[b] for b in taken] or [protocol.blocks[0]]


def fit_together(shapes: Sequence[tuple[int, ...]], alone: Sequence[float], n_s: int) -> list[int]:
    """Which channels, of shapes (outputs, inputs), have few enough outputs together; who tells the most comes first.

    A channel with a single output tells nothing. alone[b] is what channel b tells by itself.

    >>> fit_together([(10_000, 9), (1, 9), (5_000, 9), (2_000, 9)], [1.0, 0.0, 2.0, 3.0], n_s=2)
    [2, 3]
    """
    room, taken = MOST_ENTRIES // n_s, []
    for b in sorted(range(len(shapes)), key=lambda b: -alone[b]):
        if max(shapes[b]) <= room and shapes[b][0] > 1:
            room //= max(shapes[b])
            taken.append(b)
    return sorted(taken)


def _alone(block: Block, joint: Joint) -> float:
    """I(X_b;Y_b) in nats."""
    return information_kept(block.channel, _p_x(block, joint))


def _p_x(block: Block, joint: Joint) -> Vector:
    """P(x_b) for the inputs of a block."""
    return np.bincount(block.inputs_of(joint), weights=joint.p_x, minlength=block.channel.n_inputs).astype(np.float64)
