"""Strength: how strongly two attributes go together, as one number between 0 and 1 or between −1 and 1.

**Cramér's V.** With shares w, u = (w_ij − w_i·w_·j)/√(w_i·w_·j) and k the smaller number of values, V = |u|/√(k−1).
What is estimated, û, is off by a random vector with covariance C, so that |û|² is too large by tr C on average, which
is taken off. Intervals are all V that leave |û|² as it is seen no surprise: it is the square of a normal number with
mean |u| and variance uᵀCu/|u|², plus a multiple of a χ² with the mean and the variance that are left of tr C and
2 tr C². Of uᵀCu only ûᵀCû is known: noise may hide what lies in its own direction, and that counts with it. So
intervals begin at 0 where the rows do not rule independence out, and never leave [0, 1]. A square that is small even
for independent attributes does not make the upper end 0: how rare it would be is held against how rare it is with
V = 0 (Read 2002), which widens intervals near 0 a little.

**Correlations** have Fisher's intervals, normal on the scale of artanh, or those that are normal on their own scale,
whichever reach further: near ±1 sampling does less, but noise does not, and takes estimates beyond, too.

**Near 1** both hang on a few people who are exceptions, and there may be more of them than in these rows: where there
are none, C would be 0. So a few rows more are reckoned with, in which both attributes are independent (as Agresti and
Coull do for shares).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, ndtr

from privacyfunnel.estimates.cell_shares import CellShares, gradients, spread_of
from privacyfunnel.estimates.contrasts import Figure
from privacyfunnel.estimates.frequencies import SMALLEST_GROUP, VAGUE
from privacyfunnel.estimates.intervals import quantile
from privacyfunnel.estimates.measuring import PSEUDO_ROWS
from privacyfunnel.typing import Integers, Matrix, Vector

Tables = NDArray[np.complex128]
"""Tables of shares at [..., value, value]; complex, so that derivatives can be taken."""
PERFECT = 1e-9
"""A correlation this near to ±1 has no place on Fisher's scale."""
NODES, REACH = 400, 9.0
"""Of the sum over a normal number: so many steps, to so many standard deviations; beyond lies 10⁻¹⁸."""
HALVINGS = 60
"""Of an interval between 0 and 1, after which nothing is left of it in float64."""
ONE_WAY = 1e-12
"""A part of tr C that is rounding error: u then moves in one direction only, as it does in tables of two by two."""


def away_from_independence(w: Tables) -> Tables:
    """u, of which V is the length, with its cells in one axis."""
    p = w / w.sum(axis=(-2, -1), keepdims=True)
    expected = p.sum(axis=-1, keepdims=True) * p.sum(axis=-2, keepdims=True)
    return np.asarray(((p - expected) / np.sqrt(expected)).reshape(*w.shape[:-2], -1))


def correlation(x: NDArray[np.generic], y: NDArray[np.generic], w: Tables) -> Tables:
    """Pearson's, of scores x[..., i] and y[..., j] of the values."""
    p = w / w.sum(axis=(-2, -1), keepdims=True)
    a, b = p.sum(axis=-1), p.sum(axis=-2)
    x, y = x - (a * x).sum(axis=-1, keepdims=True), y - (b * y).sum(axis=-1, keepdims=True)
    both = (p * x[..., :, None] * y[..., None, :]).sum(axis=(-2, -1))
    return np.asarray(both / np.sqrt((a * x**2).sum(axis=-1) * (b * y**2).sum(axis=-1)))


def rank_correlation(order: Integers, other: Integers, w: Tables) -> Tables:
    """Spearman's: Pearson's of ranks, and who has the same value has the same rank. order[r]: the value of rank r."""
    p = w[..., order, :][..., other] / w.sum(axis=(-2, -1), keepdims=True)
    ranks = [np.cumsum(a, axis=-1) - a / 2 for a in (p.sum(axis=-1), p.sum(axis=-2))]
    return correlation(ranks[0], ranks[1], p)


def correlated(cells: CellShares, grid: Matrix, statistic: Callable[[Tables], Tables], tail: float) -> Figure | None:
    """A correlation with its interval; None where the released rows do not tell it."""
    with np.errstate(all="ignore"):  # of tables that make no sense, nothing is told
        value = complex(statistic(grid.astype(np.complex128)))
        slope = gradients(lambda w: statistic(w)[..., None], grid)
    if not math.isfinite(value.real) or value.imag != 0 or not np.isfinite(slope).all():
        return None
    z, planned = quantile(tail), cells.planned(cells.along(slope))
    if planned is not None and z * math.sqrt(max(0.0, planned.item())) > VAGUE:
        return None
    r, error = value.real, math.sqrt(max(0.0, _covariance(cells, grid, slope).item()))
    low, high = r - z * error, r + z * error
    if low > 1 or high < -1:
        return None
    if 1 - abs(r) > PERFECT:
        middle, reach = math.atanh(r), z * error / (1 - r**2)
        low, high = min(low, math.tanh(middle - reach)), max(high, math.tanh(middle + reach))
    return Figure(min(max(r, -1.0), 1.0), error, max(low, -1.0), min(high, 1.0))


def surely_there(cells: CellShares, grid: Matrix) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which values of two attributes somebody surely has, among people with such values of both: V divides by these."""
    inside = np.ones(grid.shape, dtype=bool)
    while True:
        there = _surely(cells, grid, inside, 0), _surely(cells, grid, inside, 1)
        fewer = inside & np.outer(*there)
        if (fewer == inside).all():
            return there
        inside = fewer


def _surely(cells: CellShares, grid: Matrix, inside: NDArray[np.bool_], axis: int) -> NDArray[np.bool_]:
    """Which values of one attribute, where people have a combination that is inside."""
    own = np.moveaxis(np.eye(grid.shape[axis])[:, :, None] * np.ones(grid.shape[1 - axis]), 1, 1 + axis) * inside
    errors = np.sqrt(np.maximum(np.diag(cells.covariance(cells.along(own))), 0.0))
    return np.asarray((grid * inside).sum(axis=1 - axis) > SMALLEST_GROUP * errors)


def cramers_v(
    cells: CellShares, grid: Matrix, there: tuple[NDArray[np.bool_], NDArray[np.bool_]], tail: float
) -> Figure | None:
    """Cramér's V among the values that are there, with its interval; None where the released rows do not tell it."""
    places = np.ix_(*there)
    part = grid[places]
    k = min(part.shape) - 1
    if k < 1:
        return None
    u = away_from_independence(part.astype(np.complex128)).real
    slope = np.zeros((part.size, *grid.shape))
    slope[np.ix_(np.ones(part.size, dtype=bool), *there)] = gradients(away_from_independence, part)
    planned = cells.planned(cells.along(slope))
    if planned is not None and quantile(tail) * math.sqrt(np.trace(planned) / k) > VAGUE:
        return None
    C = _covariance(cells, grid * np.outer(*there), slope)
    seen, once = _Square.of(u, C, quantile(tail)), _Square.of(u, C, 1.0)
    value, error = math.sqrt(min(1.0, max(0.0, seen.square - seen.total) / k)), math.sqrt(once.along / k)
    low, high = (end / math.sqrt(k) for end in seen.between(tail, math.sqrt(k)))
    return Figure(value, error, min(low, value), max(high, value))


def _covariance(cells: CellShares, grid: Matrix, slope: NDArray[np.float64]) -> Matrix:
    """That of statistics with these gradients, with `PSEUDO_ROWS` more in which both attributes are independent."""
    w = np.maximum(grid, 0.0)
    independent = np.outer(w.sum(axis=1), w.sum(axis=0)).ravel()
    more = spread_of(slope.reshape(len(slope), -1), independent / independent.sum())
    return cells.covariance(cells.along(slope)) + more * PSEUDO_ROWS / cells.rows**2


class _Square:
    """The square |û|² of a vector that is normal about u with covariance C: what it tells of |u|."""

    def __init__(self, square: float, total: float, along: float, rest: tuple[float, float]) -> None:
        self.square, self.total, self.along = square, total, along
        self._scale, self._freedom = rest
        self._z = np.linspace(-REACH, REACH, NODES + 1)
        weight = np.exp(-(self._z**2) / 2)
        self._weight: Vector = weight / weight.sum()

    @classmethod
    def of(cls, u: Vector, C: Matrix, z: float) -> _Square:
        """From û and C. √(uᵀCu) is known through û up to the largest eigenvalue of C; z times that counts with it."""
        square, total, squares = float(u @ u), float(np.trace(C)), float((C**2).sum())
        most = max(0.0, float(np.linalg.eigvalsh(C)[-1]))
        along = squares / total
        if square > 0:
            along = min(most, (max(0.0, float(u @ C @ u)) + (z * most) ** 2) / square)
        left, left_squares = total - along, max(squares - along**2, 0.0)
        thin = left <= ONE_WAY * total or left_squares <= (ONE_WAY * total) ** 2
        return cls(square, total, along, (0.0, 0.0) if thin else (left_squares / left, left**2 / left_squares))

    def chance_below(self, length: float) -> float:
        """That |û|² is at most what was seen, if |u| is so long."""
        root, deviation = math.sqrt(self.square), math.sqrt(self.along)
        if self._scale == 0:
            return float(ndtr((root - length) / deviation) - ndtr((-root - length) / deviation))
        room = np.maximum(self.square - (length + deviation * self._z) ** 2, 0.0)
        return float(self._weight @ gammainc(self._freedom / 2, room / (2 * self._scale)))

    def between(self, tail: float, most: float) -> tuple[float, float]:
        """The lengths up to `most` for which neither so large nor so small a square is a surprise."""
        if self.along == 0:
            return math.sqrt(self.square), math.sqrt(self.square)
        return self._where(1 - tail, most), self._where(tail * self.chance_below(0.0), most)

    def _where(self, chance: float, most: float) -> float:
        """The length at which the square is below what was seen with this chance: the longer, the rarer."""
        low, high = 0.0, most
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.chance_below(middle) > chance else (low, middle)
        return high if high > most * 2.0 ** (1 - HALVINGS) else 0.0
