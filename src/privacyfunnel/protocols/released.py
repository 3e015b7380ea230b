"""What the outputs of a protocol tell of X and of S: P(s, y) and I(X;Y), in float64."""

from __future__ import annotations

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Matrix, Vector


def released(protocol: Protocol, joint: Joint) -> Matrix:
    """P(s, y) at [s, y], for the outputs y."""
    block = protocol.block
    p = np.zeros((joint.n_s, block.channel.n_inputs))
    np.add.at(p.T, block.inputs_of(joint), joint.p.T)
    return released_joint(block.channel, p)


def kept(protocol: Protocol, joint: Joint) -> float:
    """I(X;Y) in nats."""
    block = protocol.block
    p_x = np.bincount(block.inputs_of(joint), weights=joint.p_x, minlength=block.channel.n_inputs)
    return information_kept(block.channel, p_x.astype(np.float64))


def information_kept(channel: Channel, p_x: Vector) -> float:
    """I(X;Y) = Σ p(x)Q(y|x) ln(Q(y|x) / q(y)) in nats, from the channel's entries and the p of its inputs."""
    Q = channel.numerators / UNIT
    mass = Q * p_x[channel.inputs]
    q = np.bincount(channel.outputs, weights=mass, minlength=channel.n_outputs)
    seen = mass > 0
    return max(0.0, float((mass[seen] * np.log(Q[seen] / q[channel.outputs[seen]])).sum()))


def released_joint(channel: Channel, p: Matrix) -> Matrix:
    """P(s, y) at [s, y], from the channel's entries and p[s, x] of its inputs."""
    Q = channel.numerators / UNIT
    rows = [np.bincount(channel.outputs, weights=Q * row[channel.inputs], minlength=channel.n_outputs) for row in p]
    return np.stack(rows).astype(np.float64)
