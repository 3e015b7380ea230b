"""Keeping rows: given what was released of somebody, who did not change keeps their row, and others are followed up.

Of the people with a history, v[x] = P(x|h), let z[x] ≤ v[x] be those who are followed up. All others keep their row,
so v − z is what is known of somebody whose row stays: it tells that they probably did not change. Everything together
keeps the promise if v − z and all that z is taken apart into lie in the cone of Δ; then z does, too. So

    max Σ z[x] over x that changed   s.t.   0 ≤ z ≤ v,   G z ≤ 0,   G (v − z) ≤ 0,
    Σ z[x] over x that did not change  ≤  cover · Σ z[x] over x that changed.

and of several such z one with few people who did not change; with a cover of 0, none. z = 0 is always allowed: nobody
is followed up, and nothing is told. Where changes have much to do with the secret, people who did not change cover
those who did.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.numeric.lp import LinearProgram
from privacyfunnel.optimiser.mixing import Problem
from privacyfunnel.optimiser.program.polytope import DUST, Columns
from privacyfunnel.optimiser.program.tolerances import NONE
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.typing import Integers, Vector

FEW = 1e-4
"""Of a person who changed: what somebody who covers them counts, so that there are no more of these than it takes."""


@dataclass(frozen=True, eq=False)
class Parted:
    """Those of a history who keep their row, and those who are followed up."""

    problem: Problem
    """Of the history."""
    followed: Vector
    """z[x]."""

    @classmethod
    def of(cls, problem: Problem, unchanged: NDArray[np.bool_], cover: float) -> Parted:
        """As many of those who changed as possible are followed up, with as few of the others as that takes."""
        v, G = problem.inside.p_x, problem.inside.G
        some = np.flatnonzero(~unchanged | (cover > 0))
        same, z, whole = unchanged[some], np.zeros(len(v)), float(v[~unchanged].sum())
        if whole <= DUST:
            return cls(problem, z)
        mass = v[some] / whole
        A, least = G[:, some] * mass, np.minimum(G @ v, 0.0) / whole
        if np.isfinite(cover):
            A, least = np.vstack([A, np.where(same, mass, -cover * mass)]), np.append(least, -np.inf)
        program = LinearProgram(A, least, np.zeros(len(A)), 1.0)
        program.set_costs(np.where(same, FEW, -1.0) * mass)
        shares = program.solve()[0].clip(0.0, 1.0)
        shares[shares < NONE], shares[shares > 1 - NONE] = 0.0, 1.0
        z[some] = shares * v[some]
        return cls(problem, z)

    @property
    def share(self) -> float:
        """How many of those with the history are followed up."""
        return float(self.followed.sum())

    @property
    def some(self) -> Integers:
        """The values of people who are followed up."""
        return np.flatnonzero(self.followed > DUST * self.share)

    def others(self) -> Problem:
        """What is to be mixed for people who are followed up."""
        some = self.some
        return self.problem.given(some, self.followed[some] / self.followed[some].sum())

    def in_one(self) -> tuple[Columns, Vector]:
        """People who are followed up, told nothing but that."""
        return Columns.from_dense(self.followed[None, self.some] / self.followed[self.some].sum()), np.ones(1)

    def with_rows(self, columns: Columns, q: Vector) -> tuple[Columns, Vector]:
        """All posteriors of the history and their probabilities: first that of people whose row stays."""
        stay = self.problem.inside.p_x - self.followed
        left = float(stay.sum())
        rest = Columns(self.some[columns.support], columns.mass)
        if left <= DUST:
            return rest, q
        both = Columns.join([Columns.from_dense(stay[None, :] / left), rest])
        return both, np.append(left, (1 - left) * q)

    def covered(self, channel: Channel, unchanged: NDArray[np.bool_], cover: float) -> bool:
        """Whether a channel, in which rows that found no rounding are with those that stay, has no larger cover."""
        mass = channel.numerators / UNIT * self.problem.inside.p_x[channel.inputs]
        same = unchanged[channel.inputs]
        kept = np.bincount(channel.outputs, np.where(same, mass, 0.0))
        moved = channel.outputs != int(np.argmax(kept))
        others = float(mass[moved & ~same].sum())
        return not np.isfinite(cover) or float(mass[moved & same].sum()) <= cover * others + NONE
