"""What the outputs of a protocol, all blocks together, tell of X and of S: P(s, y) and I(X;Y), in float64."""

from __future__ import annotations

import math

import numpy as np

from privacyfunnel.errors import InvalidChannel
from privacyfunnel.information import entropy
from privacyfunnel.joint import Joint
from privacyfunnel.protocol import Protocol, information_kept, released_joint
from privacyfunnel.typing import Matrix

MOST_ENTRIES = 100_000_000


def released(protocol: Protocol, joint: Joint) -> Matrix:
    """P(s, y) at [s, y], for the outputs y of all blocks in C order; blocks with a single output drop out."""
    blocks = [block for block in protocol.blocks if block.channel.n_outputs > 1] or list(protocol.blocks[:1])
    inputs = [block.inputs_of(joint) for block in blocks]
    if len(blocks) == 1:
        p = np.zeros((joint.n_s, blocks[0].channel.n_inputs))
        np.add.at(p.T, inputs[0], joint.p.T)
        return released_joint(blocks[0].channel, p)
    shape = [block.channel.n_inputs for block in blocks]
    largest = math.prod(max(block.channel.n_inputs, block.channel.n_outputs) for block in blocks)
    if largest * joint.n_s > MOST_ENTRIES:
        raise InvalidChannel(f"the blocks have {largest:,} outputs together, too many to go through")
    place = np.ravel_multi_index(tuple(inputs), shape)
    rows = [np.bincount(place, weights=p, minlength=math.prod(shape)) for p in joint.p]
    tensor = np.stack(rows).astype(np.float64).reshape(joint.n_s, *shape)
    for axis, block in enumerate(blocks, start=1):
        tensor = np.moveaxis(np.tensordot(block.channel.dense(), tensor, axes=(1, axis)), 0, axis)
    return tensor.reshape(joint.n_s, -1)


def kept(protocol: Protocol, joint: Joint) -> float:
    """I(X;Y) in nats. Given x the blocks are independent, so I(X;Y) = H(Y) − Σ_b H(Y_b|X_b)."""
    alone = 0.0
    for block in protocol.blocks:
        inputs, n = block.inputs_of(joint), block.channel.n_inputs
        p_x = np.bincount(inputs, weights=joint.p_x, minlength=n).astype(np.float64)
        if len(protocol.blocks) == 1:
            return information_kept(block.channel, p_x)
        alone += float(p_x @ entropy(block.channel.dense().T))
    return max(0.0, float(entropy(released(protocol, joint).sum(axis=0))) - alone)
