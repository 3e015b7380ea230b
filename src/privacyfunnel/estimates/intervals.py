"""Intervals of estimates, and the nearest distribution to estimates that are none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.tails import surprise
from privacyfunnel.typing import Integers, Matrix, Vector

ATOMS = 128
"""Different scores that are told apart; more are moved to so many, so that large tables do not take long."""
FINEST = 8.0
"""Moved scores lie this many to a standard deviation where they are close to the mean, and less densely farther out."""
EVALUATIONS = 60
"""Of a tail, for one end of an interval: halving alone gets below END_KNOWN_TO in far fewer."""
END_KNOWN_TO = 1e-3
"""An end of an interval is known up to this share of the interval, and rounded outwards."""


def tail(confidence: float, together: int = 1) -> float:
    """The chance of missing on either side; for `together` intervals that all hold at once (Bonferroni).

    >>> round(tail(0.95), 4), round(tail(0.95, together=10), 4)
    (0.025, 0.0025)
    """
    number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    if not number or not 0 < confidence < 1:
        raise InvalidInput(f"the confidence lies between 0 and 1; got {confidence}")
    return (1 - confidence) / 2 / max(1, together)


def quantile(tail: float) -> float:
    """How many standard errors a tail is away.

    >>> round(quantile(0.025), 2)
    1.96
    """
    return float(-ndtri(tail))


@dataclass(frozen=True, eq=False)
class Scored:
    """Released rows with scores for quotients θ = E a / E d, one in each row of the arrays."""

    N: Matrix
    """N[i, y]: rows with these scores."""
    a: Matrix
    d: Matrix
    """Scores of the group; 1 where everybody is meant."""
    ends: tuple[float, float]
    """Between which θ lies."""
    least: tuple[Vector, Vector]
    """The smallest a − θd that any output can have, for θ at either end."""
    most: tuple[Vector, Vector]
    """The largest."""

    @property
    def values(self) -> Vector:
        """Estimates of θ."""
        return np.asarray((self.N * self.a).sum(axis=1) / self.size)

    @property
    def size(self) -> Vector:
        """Estimated rows in the group."""
        return np.asarray((self.N * self.d).sum(axis=1) * np.ones(len(self.a)))

    def surprise(self, theta: Vector, side: Integers | int, at: Integers | slice = slice(None)) -> Vector:
        """How surprising the estimates are if θ, which lies above (side = 1) or below (−1) of them, is true.

        The largest a − θd is convex in θ, so that it lies below its chord between the ends; the smallest, above.
        """
        part = (theta - self.ends[0]) / (self.ends[1] - self.ends[0])
        least, most = (first[at] + part * (last[at] - first[at]) for first, last in (self.least, self.most))
        h = _at(self.a, at) - theta[:, None] * _at(self.d, at)
        sign = np.broadcast_to(side, theta.shape)
        return surprise(_at(self.N, at), sign[:, None] * h, np.where(sign > 0, most, -least))

    def intervals(self, tail: float) -> tuple[Vector, Vector]:
        """All θ for which an estimate at least as far off, on the same side, has at least the chance `tail`."""
        one = np.ones(len(self.values), dtype=np.int64)
        if self.ends[0] == self.ends[1]:
            return np.full(len(one), self.ends[0]), np.full(len(one), self.ends[1])
        low, high = np.split(self._ends(np.concatenate([-one, one]), quantile(tail)), 2)
        return low, high

    def _ends(self, side: Integers, z: float) -> Vector:
        """The farthest θ on one side of each that is not too surprising, by the Illinois method within a bracket."""
        cell = np.tile(np.arange(len(side) // 2), 2)
        values, size = self.values[cell], self.size[cell]
        inner = np.clip(values, *self.ends)
        outer = np.where(side > 0, self.ends[1], self.ends[0])
        outer_off = self.surprise(outer, side, cell) + z
        inner_off = self.surprise(inner, side, cell) + z
        found = np.where(inner_off <= 0, inner, outer)  # where nothing between the ends would be unsurprising
        active = np.flatnonzero((inner_off > 0) & (outer_off < 0) & (size > 0))
        theta = (values + side * z * self._errors()[cell])[active]
        before = np.zeros(len(side), dtype=np.int64)  # which end moved last: 1 the inner, −1 the outer
        for turn in range(EVALUATIONS):
            if not active.size:
                break
            low, high = inner[active], outer[active]
            theta = np.where((theta - low) * (theta - high) < 0, theta, (low + high) / 2)
            off = self.surprise(theta, side[active], cell[active]) + z
            ok = off >= 0
            # Illinois: an end that stays twice in a row counts half.
            outer_off[active] = np.where(ok, outer_off[active] / (1 + (before[active] > 0)), off)
            inner_off[active] = np.where(ok, off, inner_off[active] / (1 + (before[active] < 0)))
            before[active] = np.where(ok, 1, -1)
            inner[active], outer[active] = np.where(ok, theta, low), np.where(ok, high, theta)
            found[active] = outer[active]
            gap = np.abs(outer[active] - inner[active])
            active = active[gap > END_KNOWN_TO * np.abs(outer[active] - values[active])]
            theta = _between(inner[active], outer[active], inner_off[active], outer_off[active], turn)
        return found

    def _errors(self) -> Vector:
        """Standard errors to start the search from."""
        off = self.a - self.values[:, None] * self.d
        with np.errstate(all="ignore"):  # groups of nobody are left out
            return np.asarray(np.sqrt((self.N * off**2).sum(axis=1)) / self.size)


def condensed(N: Vector, a: Matrix, d: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """The rows N[y] with the scores a[i, y] and d[i, y], with at most `ATOMS` different scores for each i.

    w = a − θ̂d is what matters. Rows are shared among the two nearest of a grid of w, so that means stay as they are and
    variances never shrink; close to 0 the grid is linear, farther out each step is a multiple of the last. d is
    averaged over the rows of each point.
    """
    if a.shape[1] <= ATOMS:
        return N[None, :], a, d
    d = np.broadcast_to(d, a.shape)
    theta = (a @ N / (d @ N))[:, None]
    w = a - theta * d
    unit = np.sqrt((w * w) @ N / N.sum())[:, None] / FINEST
    unit[unit == 0] = 1.0
    place = np.arcsinh(w / unit)
    first = place.min(axis=1, keepdims=True)
    step = (place.max(axis=1, keepdims=True) - first) / (ATOMS - 1)
    step[step == 0] = 1.0
    grid = unit * np.sinh(first + step * np.arange(ATOMS))
    below = np.clip((place - first) / step, 0, ATOMS - 2).astype(np.int64)
    start, stop = (np.take_along_axis(grid, below + k, axis=1) for k in (0, 1))
    upper = np.clip((w - start) / (stop - start), 0.0, 1.0) * N
    flat = below + ATOMS * np.arange(len(a))[:, None]

    def total(weights: Matrix, shift: int) -> Matrix:
        return np.bincount((flat + shift).ravel(), weights.ravel(), grid.size).reshape(grid.shape)

    rows = total(N - upper, 0) + total(upper, 1)
    mass = total((N - upper) * d, 0) + total(upper * d, 1)
    mean = np.divide(mass, rows, out=np.ones_like(mass), where=rows > 0)
    return rows, grid + theta * mean, mean


def projected(values: Vector) -> Vector:
    """The distribution nearest to `values` in the sense of least squares.

    Minimises Σ(w − v)² over w ≥ 0 with Σw = 1: w = max(v − τ, 0) for the τ that makes it sum to 1.

    >>> projected(np.array([0.75, 0.5, -0.25])).tolist()
    [0.625, 0.375, 0.0]
    """
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(falling > excess)[-1]
    return np.asarray(np.maximum(values - excess[last], 0.0))


def _between(low: Vector, high: Vector, low_off: Vector, high_off: Vector, turn: int) -> Vector:
    """Where the line through both ends of a bracket is 0; every fourth time the middle."""
    if turn % 4 == 3:
        return (low + high) / 2
    with np.errstate(all="ignore"):  # an impossible end is at −∞: nan, and the middle is taken
        line = low + (high - low) * low_off / (low_off - high_off)
    return np.where(np.isfinite(line), line, (low + high) / 2)


def _at(array: Matrix, at: Integers | slice) -> Matrix:
    """Some rows of an array, or the one row that stands for all."""
    return array if len(array) == 1 else np.asarray(array[at])
