"""The estimate of how many people have each secret and each combination of values, from noisy counts of all of them.

Cells lean towards what pairs of columns say, pairs towards single columns, and these towards all values being as likely
as each other: each by as much as its own noise says (empirical Bayes). Let y be noisy counts with noise of the variance
v, of which e are expected. How far people differ from what is expected follows from all counts of a table of which
about as many are expected (beside v: CLASSES):

    τ = max(0, Σ ((y − e)² − v − e) / Σ e²),    so that a count of people has the variance w = e + τe²,
    lean(y, v, e) = max(e / 16, e + (y − e) · w / (w + v)).

Everything is computed with +, −, ×, ÷ in float64, and sums are taken in the order of the cells. Every machine rounds
these alike, so everybody arrives at the same whole numbers, and so do `publishing/check.py` and the report's page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from privacyfunnel.typing import Integers, Matrix, Vector

UNIT = 1024
"""Weights are numbers of people times this: what noise leaves of a count is seldom a whole number."""
MOST_LISTED = 4096
"""Combinations of values that are estimated one by one, and listed in a channel: programs over more take long."""
CLASSES = (1 / 16, 1 / 4, 1.0, 4.0)
"""Times the variance of noise: borders between counts that are expected to be small and large. What is rare differs
from what is expected by more, for its size, than what is common."""
LEAST_PART = 16.0
"""Of what is expected, the divisor that leaves the least estimate: a count far below 0 is noise."""
SWEEPS = 4
"""Through the tables of all columns and pairs, until a distribution has their sums but for a hair."""


def lean(y: Vector, variance: float, expected: Vector) -> Vector:
    """What noisy counts say of numbers of people, of which so many are expected.

    >>> lean(np.array([10.0, 0.0]), 0.0, np.array([5.0, 5.0])).tolist()
    [10.0, 0.3125]
    >>> lean(np.array([6.0, 4.0]), 45.0, np.array([5.0, 5.0])).tolist()
    [5.1, 4.9]
    """
    off, of = y - expected, np.sum([expected >= variance * border for border in CLASSES], axis=0)
    beyond, squares = (np.bincount(of, weights=own) for own in (off * off - variance - expected, expected * expected))
    spread = np.divide(np.maximum(0.0, beyond), squares, out=np.zeros_like(beyond), where=squares > 0)[of]
    people = expected + spread * expected * expected
    return np.asarray(np.maximum(expected / LEAST_PART, expected + off * (people / (people + variance))))


def estimated(counts: Integers, people: int, sizes: Sequence[int], variance: float) -> Integers:
    """Weights[s, x] ≥ 1 in units of 1/UNIT person, of `people` people, from noisy counts[s, x] of all combinations x.

    The totals of the secrets are the nearest ones that are not negative and have the right sum. What pairs of columns
    and single columns with the secret say together is the distribution that has their sums, by iterative proportional
    fitting. Cells lean to it, and in the end single columns are leant once more, to what the cells say.
    """
    tables = _Tables(counts, tuple(sizes), variance)
    totals = np.maximum(totals_of(counts, people), 1).astype(np.float64)
    with_secret, pairs = _leant(tables, totals, float(people))
    found = np.stack([np.full(counts.shape[1], total / counts.shape[1]) for total in totals])
    for _ in range(SWEEPS):
        for pair, target in pairs.items():
            found = found * (target / tables.sums(pair, _added(found)))[tables.place(pair)]
        _rake(tables, found, lambda j, s, _: with_secret[j][s])
    found = np.stack([lean(row, variance, own) for row, own in zip(tables.y, found, strict=True)])
    _rake(tables, found, lambda j, s, own: lean(tables.sums((j,), tables.y[s]), tables.variance((j,), 1), own))
    scaled = [row * (total / _sum(row)) * UNIT for row, total in zip(found, totals, strict=True)]
    return np.asarray(np.maximum(1, np.floor(np.stack(scaled))), dtype=np.int64)


def totals_of(counts: Integers, people: int) -> Integers:
    """How many people have each secret, `people` in all."""
    totals = nearest_with_sum(counts.sum(axis=1), people) // UNIT
    totals[totals.argmax()] += people - totals.sum()
    return np.asarray(totals, dtype=np.int64)


def nearest_with_sum(counts: Integers, total: int) -> Integers:
    """max(counts − t, 0) with the sum `total`, in units of 1/UNIT, rounded down; k counts are above t.

    So t = (sum of the k largest − total) / k.
    """
    if total <= 0:
        return np.zeros_like(counts)
    falling = np.sort(counts)[::-1]
    above, k = np.cumsum(falling), np.arange(1, falling.size + 1)
    last = int(np.flatnonzero(falling * k > above - total)[-1])  # true of the first
    whole = UNIT * (counts * (last + 1) - (above[last] - total)) // (last + 1)
    return np.asarray(np.maximum(whole, 0), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _Tables:
    """Noisy counts of all combinations in C order, and the tables of some columns that follow from them."""

    counts: Integers
    sizes: tuple[int, ...]
    noise: float

    @property
    def y(self) -> Matrix:
        """The same as floats."""
        return self.counts.astype(np.float64)

    def place(self, own: tuple[int, ...]) -> Integers:
        """For every combination its place in the table of some columns."""
        found = np.zeros(1, dtype=np.int64)
        for j, size in enumerate(self.sizes):
            place = np.arange(size) if j in own else np.zeros(size, dtype=np.int64)
            found = (found[:, None] * (size if j in own else 1) + place).ravel()
        return found

    def sums(self, own: tuple[int, ...], weights: Vector) -> Vector:
        """The table of some columns, summed in the order of the combinations."""
        return np.asarray(np.bincount(self.place(own), weights=weights), dtype=np.float64)

    def variance(self, own: tuple[int, ...], rows: int) -> float:
        """Of the noise in a cell of it, where so many rows are summed."""
        cells = self.counts.shape[1]
        for j in own:
            cells //= self.sizes[j]
        return float(self.noise * (rows * cells))

    def pairs(self) -> Iterator[tuple[int, ...]]:
        """Every two columns."""
        return combinations(range(len(self.sizes)), 2)


def _leant(tables: _Tables, totals: Vector, people: float) -> tuple[list[list[Vector]], dict[tuple[int, ...], Vector]]:
    """Tables of single columns with each secret, and of pairs, leant to what single columns and totals expect."""
    rows, everybody = len(totals), tables.counts.sum(axis=0).astype(np.float64)
    alone: list[Vector] = []
    for j, size in enumerate(tables.sizes):
        table = lean(tables.sums((j,), everybody), tables.variance((j,), rows), np.full(size, people / size))
        alone.append(table * (people / _sum(table)))
    with_secret = [
        [
            lean(tables.sums((j,), row), tables.variance((j,), 1), total * alone[j] / people)
            for row, total in zip(tables.y, totals, strict=True)
        ]
        for j in range(len(tables.sizes))
    ]
    pairs: dict[tuple[int, ...], Vector] = {}
    for i, j in tables.pairs():
        expected = (alone[i][:, None] * alone[j]).ravel() / people
        pairs[i, j] = lean(tables.sums((i, j), everybody), tables.variance((i, j), rows), expected)
    return with_secret, pairs


def _rake(tables: _Tables, found: Matrix, target: Callable[[int, int, Vector], Vector]) -> None:
    """Multiply the rows so that each has the targets of single columns, one column after the other."""
    for j in range(len(tables.sizes)):
        place = tables.place((j,))
        for s, row in enumerate(found):
            own = tables.sums((j,), row)
            found[s] = row * (target(j, s, own) / own)[place]


def _added(rows: Matrix) -> Vector:
    """The sum of the rows, one after the other."""
    found = np.zeros(rows.shape[1])
    for row in rows:
        found = found + row
    return found


def _sum(numbers: Vector) -> float:
    """Their sum, one after the other."""
    return float(np.bincount(np.zeros(numbers.size, dtype=np.int64), weights=numbers)[0])
