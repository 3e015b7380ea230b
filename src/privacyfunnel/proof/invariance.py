"""Whether released rows have the distribution of the original ones: in integers, from the finished channel."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidChannel
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.typing import Integers

MARGINAL_ERROR = Fraction(1, 2**30)
"""The probability of a released value may differ from the original's by so much, and no more."""
SMALL_TOTAL = 2**30
"""Weights with a smaller sum, times 2³², fit into 64 bits."""


def marginal_error(channel: Channel, joint: Joint, inputs: Integers | None = None) -> Fraction:
    """The largest |P(Y = x) − P(X = x)|, exactly, for a channel whose output number x means the value number x.

    The joint's values of X are the channel's inputs in order, or those numbered `inputs`.

    >>> marginal_error(Channel.from_dense([[1, 0.5], [0, 0.5]]), Joint([[1, 1], [1, 1]]))
    Fraction(1, 4)
    """
    inputs = np.arange(joint.n_x) if inputs is None else inputs
    if channel.n_inputs != channel.n_outputs or channel.n_inputs <= inputs.max():
        shape = f"{channel.n_outputs} outputs and {channel.n_inputs} inputs"
        raise InvalidChannel(f"a channel whose outputs are the {joint.n_x} values of X is needed; this one has {shape}")
    kind = np.int64 if joint.total < SMALL_TOTAL else object
    weights, released = np.zeros(channel.n_inputs, dtype=kind), np.zeros(channel.n_inputs, dtype=kind)
    np.add.at(weights, inputs, joint.weights.sum(axis=0).astype(kind))
    np.add.at(released, channel.outputs, weights[channel.inputs] * channel.numerators.astype(kind))
    return Fraction(int(np.abs(released - weights * UNIT).max()), UNIT * joint.total)
