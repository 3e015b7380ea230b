"""What the outputs of a protocol tell of X and of S: P(s, y) and I(X;Y), in float64."""

from __future__ import annotations

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.protocols.protocol import Protocol, information_kept, released_joint
from privacyfunnel.typing import Matrix


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
