"""Protocol: an exact channel, the promise it keeps, and how good it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.channel import UNIT, Channel
from privacyfunnel.information import mutual_information
from privacyfunnel.joint import Joint
from privacyfunnel.notions import Notion
from privacyfunnel.typing import Matrix


@dataclass(frozen=True, eq=False)
class Block:
    """A channel for some of the attributes: column x is for the attribute values `values[x]`."""

    attributes: tuple[str, ...]
    values: NDArray[Any]
    channel: Channel


@dataclass(frozen=True, eq=False)
class Protocol:
    """What is certified, saved, sampled and published: one object, exact to the last bit."""

    notion: Notion
    blocks: tuple[Block, ...]
    utility: float
    """I(X;Y) of this very channel, in nats."""
    upper_bound: float
    """No protocol that keeps the promise has a larger I(X;Y)."""
    how: str
    """The route that found it."""

    @property
    def channel(self) -> Matrix:
        """Q[y, x] = P(y|x) in float64: multiples of 2⁻³², columns that sum to exactly 1."""
        return self.blocks[0].channel.dense()

    @property
    def gap(self) -> float:
        """At most this many nats are lost to the best protocol."""
        return self.upper_bound - self.utility

    def __repr__(self) -> str:
        shape = " × ".join(f"({b.channel.n_outputs}, {b.channel.n_inputs})" for b in self.blocks)
        return f"<Protocol {self.notion} channel {shape}, {self.utility:.6g} nats kept, gap ≤ {self.gap:.1e}>"


def information_kept(channel: Channel, joint: Joint) -> float:
    """I(X;Y) = Σ p(x)Q(y|x) ln(Q(y|x) / q(y)) in nats, from the channel's entries."""
    Q = channel.numerators / UNIT
    mass = Q * joint.p_x[channel.inputs]
    q = np.bincount(channel.outputs, weights=mass, minlength=channel.n_outputs)
    return max(0.0, float((mass * np.log(Q / q[channel.outputs])).sum()))


def information_leaked(channel: Channel, joint: Joint) -> float:
    """I(S;Y) in nats, from the channel's entries."""
    Q = channel.numerators / UNIT
    p_sy = [
        np.bincount(channel.outputs, weights=Q * p[channel.inputs], minlength=channel.n_outputs) for p in joint.p
    ]
    return mutual_information(np.stack(p_sy))
