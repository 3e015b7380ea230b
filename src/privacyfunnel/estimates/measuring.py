"""Measuring: quantities of the original rows, from tallies of the released ones and scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.intervals import Scored, condensed, quantile
from privacyfunnel.estimates.large_parts import MOST_NUMBERS
from privacyfunnel.estimates.likelihood import doubts, most_likely
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.tables.reading_back import Tally
from privacyfunnel.typing import Integers, Matrix, Vector

MOST_MODELLED = 300_000
"""Values of X of which the most likely distribution is found within seconds."""
UNIFORM = 0.01
"""The share of the uniform distribution in the published one that a search for the most likely starts from."""
PSEUDO_ROWS = 4.0
"""Rows of the published marginal that are mixed into variances (Agresti and Coull), so that none is 0 by luck."""
FEWEST_EXPECTED = 5.0
"""Rows below which an expected number of rows may well turn out as none: the chance of that is e⁻⁵, below 1%."""
AT_ONCE = 1_000_000
"""Scores of quantities that are looked at together, so that they fit into memory."""

Way = Literal["counted", "channel"]
"""How shares are found: by counting released rows as they stand, or by working back from how the channel draws them."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Estimates of some quantities."""

    values: Vector
    errors: Vector
    """Standard errors."""
    identified: NDArray[np.bool_]
    plan: Forecast | None
    """None where rows tell everything, however few there are."""
    between: Callable[[float, NDArray[np.bool_]], tuple[Vector, Vector]]
    """The intervals with the chance `tail` of missing on either side; nan where the mask says not to look."""

    def told(self, tail: float, most: float) -> NDArray[np.bool_]:
        """What the rows tell: intervals are not planned to reach further than `most` to either side."""
        return self.identified if self.plan is None else self.identified & (self.plan.reach(tail) <= most)


@dataclass(frozen=True, eq=False)
class Forecast:
    """What the protocol and the number of rows say of estimates before any row is seen: it cannot depend on them.

    It goes by the published marginal. The rows may come from another distribution: then intervals are as wide as that
    demands, and only the decision whether to give them is made for the published one.
    """

    values: Vector
    errors: Vector
    """Standard errors."""
    hidden: Vector
    """How far a row of the output with the largest score moves the estimate."""
    left_open: Callable[[float], Vector] | None = None
    """What is open beside that, whatever rows there are."""

    def reach(self, tail: float) -> Vector:
        """How far intervals may reach: z standard errors, or as far as an output reaches that was not seen.

        An output of which ln(1/tail) rows are expected is missing with the chance `tail`.
        """
        found = np.asarray(np.maximum(quantile(tail) * self.errors, -np.log(tail) * self.hidden))
        return found if self.left_open is None else found + self.left_open(tail)


class Meter:
    """Measures on the tally of a released table, by working back from how the channel draws rows."""

    way: Way = "channel"
    sticks_out = True
    """Whether shares may lie below 0 or above 1."""
    leaning = 1.0
    """How many times the variance of drawing there is, where rows are redrawn by a model that may be wrong."""

    def __init__(self, tally: Tally, scorer: Scorer) -> None:
        self.tally, self.scorer = tally, scorer
        self.rows = tally.rows

    def as_read(self, rows: Matrix) -> Matrix:
        """Rows of targets over the inputs of the channel."""
        return rows

    def groups(self, targets: Matrix) -> list[Integers]:
        """Which of targets[t, x] are told together: singly, where they can be."""
        return self.scorer.groups(targets)

    def identified(self, targets: Matrix) -> NDArray[np.bool_]:
        """Which of targets[t, x] the released rows tell."""
        return self.scorer.identified(targets)

    def written(self) -> Integers:
        """The place of what each output is written as in the rows of targets."""
        return self.scorer.block.labels

    def shares(self) -> Vector:
        """f[y]: the observed frequencies of the outputs."""
        f = np.zeros(self.scorer.n_outputs)
        np.add.at(f, self.tally.outputs, self.tally.counts / self.rows)
        return f

    @cached_property
    def likely(self) -> Vector | None:
        """p[x]: the most likely distribution of the inputs; None if these are too many."""
        if self.scorer.n_inputs > MOST_MODELLED:
            return None
        return most_likely(self.shares(), self.scorer.Q)

    @cached_property
    def doubts(self) -> list[Vector]:
        """What the most likely distribution might as well be; nothing where there is none."""
        if self.likely is None:
            return []
        scorer = self.scorer
        written = np.bincount(scorer.block.labels, scorer.marginal, scorer.n_inputs)
        start = (1 - UNIFORM) * written / written.sum() + UNIFORM / scorer.n_inputs
        return doubts(self.shares(), self.rows, scorer.Q, self.likely, start)

    def measure(self, targets: Matrix, given: Matrix | None = None, ends: tuple[float, float] = (0.0, 1.0)) -> Measured:
        """Every quotient ℓ·p / given·p, for the rows ℓ of targets[t, x] and the one of given[0, x]; or every ℓ·p.

        To first order a quotient θ = N/D of means of scores a and d has the variance of the scores (a − θd)/D over n.
        `ends` are the least and the largest value that the quantity can have.
        """
        scorer = self.scorer
        check_size((scorer.n_outputs, len(targets)))
        A = scorer.scores(targets)
        D = np.ones((1, scorer.n_outputs)) if given is None else scorer.scores(given)
        known = scorer.identified(targets) & scorer.identified(self._whole(given)).all()
        f, q, scores = self.shares(), scorer.marginal, Scores(A, D, ends)
        size = float((D @ f).item())
        values = A @ f / size
        spread = self._spread(scores, f, q, values)
        return Measured(
            values,
            np.sqrt(spread / self.rows) / abs(size),
            known,
            self._plan(scores, q),
            lambda tail, wanted: self._between(scores, f, tail, wanted),
        )

    def _whole(self, given: Matrix | None) -> Matrix:
        """The row of a group; without one, that of everybody."""
        return np.ones((1, self.scorer.n_inputs)) if given is None else given

    def _spread(self, scores: Scores, f: Vector, q: Vector, theta: Vector) -> Vector:
        """E(a − θd)², with a few pseudo-rows mixed in.

        Outputs of which few rows are expected may be missing by luck: together they count at least as much as expected.
        """
        share = PSEUDO_ROWS / (self.rows + PSEUDO_ROWS)
        mixed = (1 - share) * f + share * q
        rare = self.rows * q < FEWEST_EXPECTED
        common = scores.spread(np.where(rare, 0.0, mixed), theta)
        seen, expected = (scores.spread(np.where(rare, g, 0.0), theta) for g in (mixed, q))
        return np.asarray(common + np.maximum(seen, expected))

    def _plan(self, scores: Scores, q: Vector) -> Forecast:
        size = float((scores.D @ q).item())
        theta = np.clip(scores.A @ q / size, *scores.ends)
        errors = np.sqrt(np.maximum(scores.spread(q, theta), 0.0) / self.rows) / abs(size)
        return Forecast(theta, errors, scores.widest(theta) / (self.rows * abs(size)))

    def _between(self, scores: Scores, f: Vector, tail: float, wanted: NDArray[np.bool_]) -> tuple[Vector, Vector]:
        low, high = np.full(wanted.shape, np.nan), np.full(wanted.shape, np.nan)
        seen, cells = np.flatnonzero(f), np.flatnonzero(wanted)
        N = f[seen] * self.rows
        for part in np.array_split(cells, 1 + len(cells) * len(N) // AT_ONCE):
            if part.size:
                low[part], high[part] = scores.scored(part, seen, N).intervals(tail)
        return low, high


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores a of quantities and d of their group."""

    A: Matrix
    """A[t, y], for each quantity t and each output y."""
    D: Matrix
    """D[0, y]: those of the group, or 1."""
    ends: tuple[float, float]

    def spread(self, f: Vector, theta: Vector) -> Vector:
        """Σ f (a − θd)² at [t]."""
        aa, ad, dd = ((X * Y) @ f for X, Y in ((self.A, self.A), (self.A, self.D), (self.D, self.D)))
        return np.asarray(np.maximum(aa - 2 * theta * ad + theta**2 * dd, 0.0))

    @cached_property
    def ranges(self) -> tuple[tuple[Vector, Vector], ...]:
        """The least and the largest a − θd over all outputs at [t], for θ at either end."""
        apart = (self.A - theta * self.D for theta in self.ends)
        return tuple((each.min(axis=1), each.max(axis=1)) for each in apart)

    def widest(self, theta: Vector) -> Vector:
        """The largest |a − θd| that any output can have, or a bound of it."""
        (least, most), (last_least, last_most) = self.ranges
        part = (theta - self.ends[0]) / ((self.ends[1] - self.ends[0]) or 1.0)
        chords = least + part * (last_least - least), most + part * (last_most - most)
        return np.maximum(-chords[0], chords[1])

    def scored(self, cells: Integers, seen: Integers, N: Vector) -> Scored:
        """The scores of some quantities, for the outputs that were seen."""
        (least, most), (last_least, last_most) = self.ranges
        rows, a, d = condensed(N, self.A[cells][:, seen], self.D[:, seen])
        return Scored(rows, a, d, self.ends, (least[cells], last_least[cells]), (most[cells], last_most[cells]))


def check_size(shape: tuple[int, ...]) -> None:
    """Refuse tables that are too large to be held."""
    if np.prod(shape, dtype=np.float64) > MOST_NUMBERS:
        cells = " × ".join(map(str, shape))
        raise InvalidInput(f"a table of {cells} cells is too large; ask for fewer attributes at a time")
