"""Keeping rows: given what was released of somebody, who did not change keeps their row, and others are followed up.

Of the people with a history, v[x] = P(x|h), let z[x] ≤ v[x] be those who changed and are followed up. All others keep
their row, so v − z is what is known of somebody whose row stays: it tells that they probably did not change. Everything
together keeps the promise if v − z and all that z is taken apart into lie in the cone of Δ; then z does, too:

    max Σ z   s.t.   0 ≤ z ≤ v,   z[x] = 0 where x did not change,   G z ≤ 0,   G (v − z) ≤ 0.

z = 0 always does: nobody is followed up, and nothing is told.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.numeric.lp import LinearProgram
from privacyfunnel.optimiser.mixing import Mixture, Problem
from privacyfunnel.optimiser.program.polytope import DUST, Columns
from privacyfunnel.typing import Integers, Vector

WHOLE = 1e-9
"""Shares that are 0 or 1 but for a solver's tolerance."""


@dataclass(frozen=True, eq=False)
class Parted:
    """Those of a history who keep their row, and those who are followed up."""

    problem: Problem
    """Of the history."""
    followed: Vector
    """z[x]."""

    @classmethod
    def of(cls, problem: Problem, unchanged: NDArray[np.bool_]) -> Parted:
        """As many people as possible are followed up."""
        v, G = problem.inside.p_x, problem.inside.G
        changed = np.flatnonzero(~unchanged)
        z, whole = np.zeros(len(v)), float(v[changed].sum())
        if not len(changed) or whole <= DUST:
            return cls(problem, z)
        shares = np.ones(len(changed))
        if len(G):
            A, most = G[:, changed] * (v[changed] / whole), np.minimum(G @ v, 0.0) / whole
            program = LinearProgram(A, most, np.zeros(len(G)), 1.0)
            program.set_costs(-v[changed] / whole)
            shares = program.solve()[0].clip(0.0, 1.0)
            shares[shares < WHOLE], shares[shares > 1 - WHOLE] = 0.0, 1.0
        z[changed] = shares * v[changed]
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

    def with_rows(self, mixture: Mixture) -> tuple[Columns, Vector]:
        """All posteriors of the history and their probabilities: first that of people whose row stays."""
        stay = self.problem.inside.p_x - self.followed
        left = float(stay.sum())
        rest = Columns(self.some[mixture.columns.support], mixture.columns.mass)
        if left <= DUST:
            return rest, mixture.q
        columns = Columns.join([Columns.from_dense(stay[None, :] / left), rest])
        return columns, np.append(left, (1 - left) * mixture.q)
