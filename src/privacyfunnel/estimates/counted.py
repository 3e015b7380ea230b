"""Counted: shares of faithful releases of the fitted table, as their rows stand, with the errors that these have.

Outputs are values, and given the fitted table the expected number of released rows in a set of values is that of the
original ones. Two things make a counted share differ from the population's: the original rows are a sample, and
released rows are drawn. With e_x = P(x′ ∈ A | x), the variance of the share f of A is [f(1−f) + Σ p_x e_x(1−e_x)] / n.
The second part is at most as large as the first, so a standard error that knows only of the first is too small by up
to √2.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from privacyfunnel.estimates.measuring import PSEUDO_ROWS, Measured, Meter, Scores, Way
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.tables.reading_back import Tally
from privacyfunnel.typing import Integers, Matrix, Vector

CAUTION = 0.25
"""Rows by which ends move outwards. With ½ it is Clopper and Pearson's interval, which holds too often; with 0 that
of Jeffreys, which holds too rarely where few rows are expected. Half way it holds in 94% to 99% of all cases, and in
95% where rows are many."""


class CountingMeter(Meter):
    """Counts the released rows of a faithful release."""

    way: Way = "counted"
    sticks_out = False

    def __init__(self, tally: Tally, scorer: Scorer, people: int | None) -> None:
        super().__init__(tally, scorer)
        self.people = people or self.rows

    def groups(self, targets: Matrix) -> list[Integers]:
        """Every target by itself."""
        return [np.array([t]) for t in range(len(targets))]

    def identified(self, targets: Matrix) -> NDArray[np.bool_]:
        """Every target."""
        return np.ones(len(targets), dtype=bool)

    @cached_property
    def likely(self) -> None:
        """No model is needed."""
        return

    def measure(self, targets: Matrix, given: Matrix | None = None, ends: tuple[float, float] = (0.0, 1.0)) -> Measured:
        """Every quotient of numbers of released rows, targets / given; without `given`, of all rows."""
        own, group = targets, self._whole(given)
        scores, f = Scores(own, group, ends), self.shares()
        size = float((group @ f).item())
        values = own @ f / size
        excess = self.excess(own, group)
        share = PSEUDO_ROWS / (self.rows + PSEUDO_ROWS)
        spread = scores.spread((1 - share) * f + share * self.scorer.marginal, values)
        errors = np.sqrt(excess * spread / self.rows) / size

        def between(tail: float, wanted: NDArray[np.bool_]) -> tuple[Vector, Vector]:
            low, high = np.full(len(own), np.nan), np.full(len(own), np.nan)
            if ((own == 0) | (own == 1)).all():
                low, high = share_between(values * size * self.rows, size * self.rows, excess, tail)
            elif wanted.any():
                cells, seen = np.flatnonzero(wanted), np.flatnonzero(f)
                scored = scores.scored(cells, seen, f[seen] * self.rows)
                part = replace(scored, N=scored.N / excess[wanted, None])
                low[wanted], high[wanted] = part.intervals(tail)
            return np.where(wanted, low, np.nan), np.where(wanted, high, np.nan)

        return Measured(values, errors, np.ones(len(own), dtype=bool), None, between)

    def excess(self, own: Matrix, group: Matrix) -> Vector:
        """How many times the variance of as many original rows each quotient θ = E a / E d has: from 1 to 1 + leaning.

        With w = a − θd and E w = 0 it is 1 + E Var(w(X′)|X) / Var w(X′) = 2 − Σ p_x E(w(X′)|x)² / E w(X′)², under the
        published p. If only some of the released rows are there, less of the drawing shows; if the table was released
        several times, its sampling error is the same in all of them.
        """
        scorer = self.scorer
        p, back = scorer.marginal / scorer.marginal.sum(), scorer.Q.T
        q = scorer.Q @ p
        theta = (own @ q) / (group @ q)
        mean = (back @ own.T).T - theta[:, None] * (back @ group.T).T
        spread = Scores(own, group, (0.0, 1.0)).spread(q, theta)
        certain = np.divide(mean**2 @ p, spread, out=np.ones(len(own)), where=spread > 0)
        drawing = self.leaning * (1 - np.clip(certain, 0.0, 1.0))
        return np.asarray(self.rows / min(self.rows, self.people) + drawing * self.rows / max(self.rows, self.people))


def share_between(counts: Vector, whole: float | Vector, excess: Vector, tail: float) -> tuple[Vector, Vector]:
    """Intervals of shares, from counts among `whole` rows with `excess` times the variance of a sample.

    They are as for counts/excess among whole/excess rows: quantiles of the beta distribution.

    >>> low, high = share_between(np.array([0.0, 50.0]), 100.0, np.array([1.0, 1.0]), 0.025)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.401], [0.031, 0.599])
    """
    inside, outside, step = counts / excess + 0.5, (whole - counts) / excess + 0.5, CAUTION / excess
    low = betaincinv(inside - step, outside + step, tail)
    high = betaincinv(inside + step, outside - step, 1 - tail)
    none, every = counts < 0.5, counts > whole - 0.5
    return np.where(none, 0.0, low), np.where(every, 1.0, high)
