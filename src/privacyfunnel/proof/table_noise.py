"""Whether noisy tables can have the noise that is said of them: what several tables count differs by noise alone.

Tables (s, x_i, x_j) and (s, x_j) tell the same numbers of people: everybody, those with each secret s, and those with s
and a value of x_j, of whom all tables with column j tell. The true numbers are not known (but for the first, which is
public), but their differences are nothing but noise. If less was added than is stated, they are too small; if other
people were counted, or other noise was added, too large.

*Too large.* The noise of a sum of n cells exceeds b(n) with a probability of LUCK at most, divided by how many sums
there are (by the moments of the noise: P(z ≥ b) ≤ e^(−b²/2nσ²) for Gaussian noise). So every sum leaves an interval for
the true number, and all intervals for one number have a number in common.

*Too small.* Sums of squares of differences, each in standard deviations, have the law of χ² with as many degrees of
freedom as there are differences, if noise is Gaussian. With Laplace noise they have more variance, and what has a small
probability is taken from the Gamma law with their mean and variance, which gives small sums more of it. What a pair
tells beyond what others tell, too, has true differences as well, but these only make a sum larger in law (Anderson's
inequality), so that it may not be smaller than noise alone makes it either. Noise is whole: half a person in every cell
is added to what is found. Such sums are looked at of everything that tables share, of all tables, and of each by
itself, so that one number that was made up does not hide that all others agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from privacyfunnel.distribution.marginals import Marginals, Own
from privacyfunnel.promises.noisy_bounds import largest_noise
from privacyfunnel.typing import Integers, Vector

LUCK = 1e-9
"""The probability with which noise of the stated size is taken for other noise, in each direction."""
LARGER = "the noisy tables differ from each other by more than noise of the stated size makes them"
SMALLER = "the noisy tables differ from each other by less than noise of the stated size does"
OTHER_PEOPLE = "the noisy tables are not of as many people as is stated, noise or not"

Shared = tuple[str, int]
"""What several tables tell: of everybody, of each secret, or of each secret with each value of one column."""


@dataclass(frozen=True, eq=False)
class _Told:
    """What one table tells of some true numbers: sums over `cells` of its cells each."""

    own: Own
    values: Integers
    cells: int


@dataclass(eq=False)
class _Squares:
    """A sum of squares of differences that noise alone should make, and its law."""

    total: float = 0.0
    freedom: dict[Own, float] = field(default_factory=dict)
    """By table: the part of its cells in these differences, whose sum is the number of degrees of freedom."""

    def add(self, own: Own, total: float, freedom: float) -> None:
        self.total += total
        self.freedom[own] = self.freedom.get(own, 0.0) + freedom

    @classmethod
    def together(cls, parts: list[_Squares]) -> _Squares:
        found = cls(sum(part.total for part in parts))
        for part in parts:
            for own, freedom in part.freedom.items():
                found.add(own, 0.0, freedom)
        return found

    def too_small(self, tables: Marginals, laplace: bool, tail: float) -> bool:
        """Whether noise of these variances makes so small a sum with a probability of `tail` at most."""
        mean = sum(self.freedom.values())
        spread, half = 2 * mean, 0.0
        for own, freedom in self.freedom.items():
            cells, v = tables.drawn[own].size, tables.variance(own)
            excess = 3 + 1 / v if laplace else 0.0  # kurtosis of discrete Laplace noise with this variance
            spread += excess * freedom**2 / cells
            half += cells / (4 * v)
        return less_than_noise(self.total, mean, spread, half, tail)


def less_than_noise(total: float, mean: float, spread: float, half: float, tail: float) -> bool:
    """Whether a sum of squares with the Gamma law of this mean and variance is so small with chance `tail` at most.

    The same sum for half a person in every cell is `half`.
    """
    from scipy.special import gammaincinv

    if mean <= 0:
        return False
    least = float(gammaincinv(mean**2 / spread, tail)) * spread / mean
    return (math.sqrt(total) + math.sqrt(half)) ** 2 < least


def flaw_in_noise(tables: Marginals, laplace: bool) -> str | None:
    """Why these tables cannot have noise of their variances, if so; a variance of 0 is no noise."""
    told = _told(tables)
    if not _intervals_meet(tables, told, laplace):
        people = {("people", 0): told["people", 0]}
        return LARGER if _intervals_meet(tables, people, laplace) else OTHER_PEOPLE
    if min(tables.variance(own) for own in tables.drawn) <= 0:
        return None
    shared, beyond = _differences(tables, told), _beyond(tables)
    sums = [_Squares.together(shared), _Squares.together(beyond), *shared, *beyond]
    return SMALLER if any(one.too_small(tables, laplace, LUCK / len(sums)) for one in sums) else None


def _told(tables: Marginals) -> dict[Shared, list[_Told]]:
    """What tables tell of the same numbers, and each cell of each table."""
    found: dict[Shared, list[_Told]] = {}
    for i, (own, table) in enumerate(tables.drawn.items()):
        n_s, axes = len(table), tuple(range(1, table.ndim))
        found.setdefault(("people", 0), []).append(_Told(own, np.asarray(table.sum()), table.size))
        found.setdefault(("secret", 0), []).append(_Told(own, table.sum(axis=axes), table.size // n_s))
        for axis, j in zip(axes, own, strict=True):
            others = tuple(other for other in axes if other != axis)
            cells = table.size // (n_s * table.shape[axis])
            found.setdefault(("column", j), []).append(_Told(own, table.sum(axis=others), cells))
        found["cells", i] = [_Told(own, table, 1)]
    return found


def _intervals_meet(tables: Marginals, told: dict[Shared, list[_Told]], laplace: bool) -> bool:
    """Whether every true number lies in all intervals that tables leave for it, and from 0 to all people."""
    tail = LUCK / (2 * sum(one.values.size for each in told.values() for one in each))
    for what, each in told.items():
        least, most = (tables.people if what[0] == "people" else 0), tables.people
        low, high = np.full(each[0].values.shape, float(least)), np.full(each[0].values.shape, float(most))
        for one in each:
            b = _largest(one.cells, tables.variance(one.own), tail, laplace)
            low, high = np.maximum(low, one.values - b), np.minimum(high, one.values + b)
        if (low > high).any():
            return False
    return True


def _largest(cells: int, variance: float, tail: float, laplace: bool) -> float:
    """The noise of a sum of so many cells exceeds this with probability at most `tail`, and its negative likewise."""
    if variance <= 0:
        return 0.0
    if laplace:  # q + 1/q = 2 + 2/variance, q = e^(−1/scale)
        return float(largest_noise(np.array([cells]), 1 / math.acosh(1 + 1 / variance), tail)[0])
    return math.sqrt(2 * cells * variance * math.log(1 / tail))


def _differences(tables: Marginals, told: dict[Shared, list[_Told]]) -> list[_Squares]:
    """Differences of what several tables tell: of each secret, and of each column beyond that.

    Those of a column are centred over its values, so that they have noise of their own.
    """
    return [_difference(tables, each, what) for (what, _), each in told.items() if what in ("secret", "column")]


def _difference(tables: Marginals, each: list[_Told], what: str) -> _Squares:
    found = _Squares()
    values = [one.values.astype(np.float64) for one in each]
    directions = values[0].size
    if what == "column":
        values = [own - own.mean(axis=1, keepdims=True) for own in values]
        directions -= len(values[0])
    weights = [1 / (one.cells * tables.variance(one.own)) for one in each]
    whole = math.fsum(weights)
    mean: Vector = np.sum([w * own for w, own in zip(weights, values, strict=True)], axis=0) / whole
    for one, w, own in zip(each, weights, values, strict=True):
        found.add(one.own, w * float(((own - mean) ** 2).sum()), directions * (1 - w / whole))
    return found


def _beyond(tables: Marginals) -> list[_Squares]:
    """What tables of pairs tell beyond their columns; what columns tell beyond their secrets, if there are no pairs."""
    found = []
    for own, table in tables.drawn.items():
        if len(own) == 1 and tables.pairs:
            continue
        left = table.astype(np.float64)
        for axis in range(1, table.ndim):
            left = left - left.mean(axis=axis, keepdims=True)
        squares = _Squares()
        directions = len(table) * math.prod(size - 1 for size in table.shape[1:])
        squares.add(own, float((left**2).sum()) / tables.variance(own), directions)
        found.append(squares)
    return found
