"""Measuring: quantities of the original rows, from tallies of the released ones and scores.

A quantity is a product of one factor for each block, so its scores are products, too, and all cells of a table of
quantities come from the tally by multiplying one axis at a time: the Kronecker product is never formed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.intervals import Scored, condensed, quantile
from privacyfunnel.estimates.likelihood import doubts, most_likely
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.tables.reading_back import Tally
from privacyfunnel.typing import Integers, Matrix, Vector

MOST_NUMBERS = 30_000_000
"""Numbers in a table of outputs or quantities: more would not fit."""
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
Targets = Mapping[int, Matrix]
"""For each block that matters, rows over its inputs; the quantities are all products of one row of each."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Estimates of products of quantities: arrays with one axis for each block that matters."""

    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    """Standard errors."""
    identified: NDArray[np.bool_]
    plan: Forecast | None
    """None where rows tell everything, however few there are."""
    between: Callable[[float, NDArray[np.bool_]], tuple[NDArray[np.float64], NDArray[np.float64]]]
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

    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    """Standard errors."""
    hidden: NDArray[np.float64]
    """How far a row of the output with the largest score moves the estimate."""
    left_open: Callable[[float], NDArray[np.float64]] | None = None
    """What is open beside that, whatever rows there are."""

    def reach(self, tail: float) -> NDArray[np.float64]:
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

    def __init__(self, tally: Tally, scorers: Sequence[Scorer]) -> None:
        self.tally, self.scorers = tally, scorers
        self.rows = tally.rows
        self._likely: dict[tuple[int, ...], NDArray[np.float64]] = {}
        self._doubts: dict[tuple[int, ...], list[NDArray[np.float64]]] = {}

    def as_read(self, k: int, rows: Matrix) -> Matrix:
        """Rows of targets over the inputs of block k."""
        return rows

    def groups(self, k: int, targets: Matrix) -> list[Integers]:
        """Which of targets[t, x] of block k are told together: singly, where they can be."""
        return self.scorers[k].groups(targets)

    def identified(self, k: int, targets: Matrix) -> NDArray[np.bool_]:
        """Which of targets[t, x] of block k the released rows tell."""
        return self.scorers[k].identified(targets)

    def written(self, k: int) -> Integers:
        """The place of what each output of block k is written as in the rows of targets."""
        return self.scorers[k].block.labels

    def shares(self, blocks: Sequence[int]) -> NDArray[np.float64]:
        """f[y, y′, …]: the observed frequencies of the outputs of some blocks."""
        shape = tuple(self.scorers[k].n_outputs for k in blocks)
        check_size(shape)
        f = np.zeros(shape)
        np.add.at(f, tuple(self.tally.outputs[:, k] for k in blocks), self.tally.counts / self.rows)
        return f

    def likely(self, blocks: Sequence[int]) -> NDArray[np.float64] | None:
        """p[x, x′, …]: the most likely distribution of the inputs of some blocks; None if these are too many."""
        key = tuple(blocks)
        if np.prod([self.scorers[k].n_inputs for k in key], dtype=np.float64) > MOST_MODELLED:
            return None
        if key not in self._likely:
            self._likely[key] = most_likely(self.shares(key), [self.scorers[k].Q for k in key])
        return self._likely[key]

    def doubts(self, blocks: Sequence[int]) -> list[NDArray[np.float64]]:
        """What the most likely distribution might as well be; nothing where there is none."""
        key, p = tuple(blocks), self.likely(blocks)
        if p is None:
            return []
        if key not in self._doubts:
            start = _outer([self._published(k) for k in key])
            channels = [self.scorers[k].Q for k in key]
            self._doubts[key] = doubts(self.shares(key), self.rows, channels, p, start)
        return self._doubts[key]

    def _published(self, k: int) -> Vector:
        """The published marginal of what outputs are written as, with a little for every other input."""
        scorer = self.scorers[k]
        written = np.bincount(scorer.block.labels, scorer.marginal, scorer.n_inputs)
        return np.asarray((1 - UNIFORM) * written / written.sum() + UNIFORM / scorer.n_inputs)

    def measure(
        self, targets: Targets, given: Targets | None = None, ends: tuple[float, float] = (0.0, 1.0)
    ) -> Measured:
        """Every quotient ℓ·p / given·p, for `given` with one row for each block; without it, every quantity ℓ·p.

        To first order a quotient θ = N/D of means of scores a and d has the variance of the scores (a − θd)/D over n.
        `ends` are the least and the largest value that the quantity can have.
        """
        blocks = sorted({*targets, *(given or {})})
        own = [targets[k] if k in targets else self._all(k) for k in blocks]
        group = [given[k] if given and k in given else self._all(k) for k in blocks]
        check_size(tuple(len(rows) for rows in own))
        scorers = [self.scorers[k] for k in blocks]
        A = [scorer.scores(rows) for scorer, rows in zip(scorers, own, strict=True)]
        D = [
            scorer.scores(rows) if given else np.ones((1, scorer.n_outputs))
            for scorer, rows in zip(scorers, group, strict=True)
        ]
        known = _outer([s.identified(rows).astype(np.float64) for s, rows in zip(scorers, own, strict=True)]) > 0
        each = all(s.identified(rows).all() for s, rows in zip(scorers, group, strict=True))
        f, q = self.shares(blocks), _outer([scorer.marginal for scorer in scorers])
        scores = Scores(A, D, ends)
        size = float(contract(f, D).item())
        values = contract(f, A) / size
        spread = self._spread(scores, f, q, values)
        return Measured(
            values,
            np.sqrt(spread / self.rows) / abs(size),
            known & each,
            self._plan(scores, q),
            lambda tail, wanted: self._between(scores, f, tail, wanted),
        )

    def _all(self, k: int) -> Matrix:
        return np.ones((1, self.scorers[k].n_inputs))

    def _spread(
        self, scores: Scores, f: NDArray[np.float64], q: NDArray[np.float64], theta: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """E(a − θd)², with a few pseudo-rows mixed in.

        Outputs of which few rows are expected may be missing by luck: together they count at least as much as expected.
        """
        share = PSEUDO_ROWS / (self.rows + PSEUDO_ROWS)
        mixed = (1 - share) * f + share * q
        rare = self.rows * q < FEWEST_EXPECTED
        common = scores.spread(np.where(rare, 0.0, mixed), theta)
        seen, expected = (scores.spread(np.where(rare, g, 0.0), theta) for g in (mixed, q))
        return np.asarray(common + np.maximum(seen, expected))

    def _plan(self, scores: Scores, q: NDArray[np.float64]) -> Forecast:
        size = float(contract(q, scores.D).item())
        theta = np.clip(contract(q, scores.A) / size, *scores.ends)
        errors = np.sqrt(np.maximum(scores.spread(q, theta), 0.0) / self.rows) / abs(size)
        return Forecast(theta, errors, scores.widest(theta) / (self.rows * abs(size)))

    def _between(
        self, scores: Scores, f: NDArray[np.float64], tail: float, wanted: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        low, high = np.full(wanted.shape, np.nan), np.full(wanted.shape, np.nan)
        seen = np.nonzero(f)
        N = f[seen] * self.rows
        cells = np.nonzero(wanted)
        for part in np.array_split(np.arange(len(cells[0])), 1 + len(cells[0]) * len(N) // AT_ONCE):
            if part.size:
                some = tuple(axis[part] for axis in cells)
                low[some], high[some] = scores.scored(some, seen, N).intervals(tail)
        return low, high


@dataclass(frozen=True, eq=False)
class Scores:
    """Products of the scores a and d of each block."""

    A: list[Matrix]
    """A[k][t, y], for each quantity t of block k and each output y of it."""
    D: list[Matrix]
    """D[k][0, y]: those of the group, or 1."""
    ends: tuple[float, float]

    def spread(self, f: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ f (a − θd)² at [t, t′, …]."""
        aa, ad, dd = (contract(f, [x * y for x, y in zip(X, Y, strict=True)]) for X, Y in (
            (self.A, self.A), (self.A, self.D), (self.D, self.D)
        ))  # fmt: skip
        return np.asarray(np.maximum(aa - 2 * theta * ad + theta**2 * dd, 0.0))

    @cached_property
    def ranges(self) -> tuple[tuple[NDArray[np.float64], NDArray[np.float64]], ...]:
        """The least and the largest a − θd over all outputs at [t, t′, …], for θ at either end."""
        return tuple(self._range(theta) for theta in self.ends)

    def _range(self, theta: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Exact where quantities differ in one block only: there d is a factor. Otherwise bounds."""
        varied = [k for k, A in enumerate(self.A) if len(A) > 1 or not np.array_equal(A, self.D[k])] or [0]
        if len(varied) == 1:
            own = [A - theta * D if k in varied else A for k, (A, D) in enumerate(zip(self.A, self.D, strict=True))]
            return _extremes(own)
        (least, most), (small, large) = _extremes(self.A), _extremes(self.D)
        factors = np.minimum(theta * small, theta * large), np.maximum(theta * small, theta * large)
        return least - factors[1], most - factors[0]

    def widest(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """The largest |a − θd| that any output can have, or a bound of it."""
        (least, most), (last_least, last_most) = self.ranges
        part = (theta - self.ends[0]) / ((self.ends[1] - self.ends[0]) or 1.0)
        chords = least + part * (last_least - least), most + part * (last_most - most)
        return np.maximum(-chords[0], chords[1])

    def scored(self, cells: tuple[Integers, ...], seen: tuple[Integers, ...], N: Vector) -> Scored:
        """The scores of some quantities, for the outputs that were seen."""
        a, d = np.ones((1, len(N))), np.ones((1, len(N)))
        for A, D, t, y in zip(self.A, self.D, cells, seen, strict=True):
            a, d = a * A[t][:, y], d * D[:, y]
        (least, most), (last_least, last_most) = self.ranges
        rows, a, d = condensed(N, a, d)
        return Scored(rows, a, d, self.ends, (least[cells], last_least[cells]), (most[cells], last_most[cells]))


def _extremes(factors: Sequence[Matrix]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least and the largest product of one entry of factor[k][t, :] for each k, at [t, t′, …]."""
    least = most = np.ones((1,) * len(factors))
    for axis, F in enumerate(factors):
        shape = [-1 if i == axis else 1 for i in range(len(factors))]
        ends = [end.reshape(shape) for end in (F.min(axis=1), F.max(axis=1))]
        corners = [side * end for side in (least, most) for end in ends]
        least, most = np.minimum.reduce(corners), np.maximum.reduce(corners)
    return least, most


def contract(f: NDArray[np.float64], matrices: Sequence[Matrix]) -> NDArray[np.float64]:
    """Σ f[y, y′, …]·G[t, y]·G′[t′, y′]·… at [t, t′, …]."""
    for axis, G in enumerate(matrices):
        f = np.moveaxis(np.tensordot(G, f, axes=(1, axis)), 0, axis)
    return np.asarray(f)


def _outer(vectors: Sequence[Vector]) -> NDArray[np.float64]:
    """The product v[t]·w[t′]·… at [t, t′, …]."""
    found = np.ones((1,) * len(vectors))
    for axis, vector in enumerate(vectors):
        found = found * vector.reshape([-1 if i == axis else 1 for i in range(len(vectors))])
    return found


def check_size(shape: tuple[int, ...]) -> None:
    """Refuse tables that are too large to be held."""
    if np.prod(shape, dtype=np.float64) > MOST_NUMBERS:
        cells = " × ".join(map(str, shape))
        raise InvalidInput(f"a table of {cells} cells is too large; ask for fewer attributes at a time")
