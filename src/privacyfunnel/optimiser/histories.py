"""What was found for single histories of a follow-up, and what that comes to for all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.information import no_less
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.kept import Likeness
from privacyfunnel.typing import Integers, Vector


@dataclass(frozen=True, eq=False)
class Step:
    """What was found for one history."""

    values: Integers
    """The values of X that can have it."""
    channel: Channel
    """Its outputs are values of X."""
    share: float
    """P(h)."""
    kept: float
    """I(X;Y|h) in nats."""
    bound: float
    entropy: float
    how: str
    mass: Vector
    """P(x, y|h) of the channel's entries."""
    likeness: Likeness | None = None


def likeness_of(steps: list[Step]) -> Likeness | None:
    """What stays as it is, in the mean."""
    told = [(step.share, step.likeness) for step in steps if step.likeness is not None]
    if not told:
        return None
    people = sum(share for share, _ in told)

    def mean(name: str) -> float:
        return min(1.0, sum(share * float(getattr(likeness, name)) for share, likeness in told) / people)

    fidelity, bound = mean("fidelity"), min(1.0, no_less(mean("fidelity_bound")))
    return Likeness(fidelity, bound, mean("cells_unchanged"), mean("rows_unchanged"), told[0][1].weights)


def constant(inputs: int, output: int = 0, outputs: int = 1) -> Channel:
    """The channel that always puts out the same."""
    return Channel(outputs, np.arange(inputs + 1), np.full(inputs, output), np.full(inputs, UNIT))


def mass_of(channel: Channel, own: Joint) -> Vector:
    """P(x, y) of the channel's entries."""
    return np.asarray(channel.numerators / UNIT * own.p_x[channel.inputs])


def likelihoods(steps: list[Step], n: int) -> Vector:
    """P(h, y) of all outcomes, in order, for people with one of the histories."""
    parts = []
    for step in steps:
        mass = np.bincount(step.channel.outputs, step.mass, n)
        parts.append(step.share * mass[np.unique(step.channel.outputs)])
    q = np.concatenate(parts)
    return np.asarray(q / q.sum())


def how_found(steps: list[Step]) -> str:
    """How it was found, in words: what most histories had in common."""
    ways = [step.how for step in steps if step.entropy > 0]
    most = max(dict.fromkeys(ways), key=ways.count) if ways else "nothing is left to tell"
    return f"a program for each of {len(steps):,} histories; most often {most}"
