"""Sparse linear programs put together piece by piece, and what their prices prove."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from privacyfunnel.optimiser.program.tolerances import LOST_DIGITS
from privacyfunnel.typing import Integers, Vector


class SparseProgram:
    """max gain·x  s.t.  row_lower ≤ A x ≤ row_upper, lower ≤ x ≤ upper."""

    def __init__(self) -> None:
        self.n_columns = self.n_rows = 0
        self._entries: list[tuple[Integers, Integers, Vector]] = []
        self._columns: list[tuple[Vector, Vector, Vector]] = []
        self._rows: list[tuple[Vector, Vector]] = []

    def variables(
        self, count: int, lower: ArrayLike = 0.0, upper: ArrayLike = np.inf, gain: ArrayLike = 0.0
    ) -> Integers:
        """The numbers of new variables."""
        self._columns.append((_each(lower, count), _each(upper, count), _each(gain, count)))
        self.n_columns += count
        return np.arange(self.n_columns - count, self.n_columns)

    def rows(
        self, columns: Integers, values: ArrayLike, lower: ArrayLike = -np.inf, upper: ArrayLike = np.inf
    ) -> Integers:
        """New rows; row i has values[i] at columns[i]."""
        count, width = columns.shape
        at = np.repeat(np.arange(count), width)
        return self.scattered(at, columns.ravel(), np.broadcast_to(values, columns.shape).ravel(), count, lower, upper)

    def scattered(
        self,
        row: Integers,
        column: Integers,
        value: Vector,
        count: int,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
    ) -> Integers:
        """`count` new rows with entries anywhere; their numbers."""
        self._entries.append((row + self.n_rows, column, np.asarray(value, dtype=np.float64)))
        self._rows.append((_each(lower, count), _each(upper, count)))
        self.n_rows += count
        return np.arange(self.n_rows - count, self.n_rows)

    def box(self) -> tuple[Vector, Vector, Vector]:
        """Lower, upper, gain, for all variables."""
        lower, upper, gain = (np.concatenate(part) for part in zip(*self._columns, strict=True))
        return lower, upper, gain

    def row_bounds(self) -> tuple[Vector, Vector]:
        """Row_lower, row_upper."""
        lower, upper = (np.concatenate(part) for part in zip(*self._rows, strict=True))
        return lower, upper

    def by_columns(self) -> tuple[Integers, Integers, Vector]:
        """A, as starts, rows and values of its columns."""
        row, column, value = self._gathered()
        order = np.argsort(column, kind="stable")
        return np.searchsorted(column[order], np.arange(self.n_columns + 1)), row[order], value[order]

    def at_most(self, prices: Vector) -> float:
        """An upper bound on gain·x, whatever the prices π of the rows are.

        gain·x = π·Ax + (gain − Aᵀπ)·x, and each term is at most what its bounds allow. What rounding may have changed
        in a term is added to it.
        """
        row, column, value = self._gathered()
        row_lower, row_upper = self.row_bounds()
        prices = np.nan_to_num(prices, nan=0.0, posinf=0.0, neginf=0.0)
        reached = np.where(prices > 0, row_upper, row_lower)
        prices = np.where(np.isfinite(reached), prices, 0.0)
        lower, upper, gain = self.box()
        paid = np.bincount(column, weights=value * prices[row], minlength=self.n_columns)
        size = np.bincount(column, weights=np.abs(value * prices[row]), minlength=self.n_columns)
        left, doubt = gain - paid, LOST_DIGITS * (np.abs(gain) + size)
        most = np.max([_at(left + sign * doubt, end) for sign in (-1, 1) for end in (lower, upper)], axis=0)
        total = np.concatenate([_at(prices, reached), most])
        return float(total.sum() + LOST_DIGITS * np.abs(total).sum())

    def _gathered(self) -> tuple[Integers, Integers, Vector]:
        row, column, value = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        return row, column, value


def _at(left: Vector, end: Vector) -> Vector:
    """left·end, with 0·∞ = 0."""
    return np.multiply(left, end, out=np.zeros_like(left), where=left != 0)


def _each(value: ArrayLike, count: int) -> Vector:
    return np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (count,)))
