"""How large a row can be in a cell, at most, over all rows that keep a promise over a nested set.

A row w is scaled so that Σ p w = 1. It keeps the promise if there are multipliers l of the largest P(y|s) and g of the
least P(y|t), for both orders of the secrets, over cells B of all tables, with

    Σ_{B has x} (l⁺ − l⁻)[B] ≥ w[x],  Σ_{B has x} (g⁺ − g⁻)[B] ≤ w[x],
    Σ_B (upper_s l⁺ − lower_s l⁻)[B] ≤ κ Σ_B (lower_t g⁺ − upper_t g⁻)[B].

The prices of a linear program over these are distributions r of P(X|s) and r' of P(X|t), up to what the solver gets
wrong. Mixed with the counted distribution until they are in the set for sure, they prove for any a ≥ 0 that

    c·w ≤ c·w − Σ_s a_s (r_s − κ_s r'_t)·w ≤ max_x (c − Σ_s a_s (r_s − κ_s r'_t))[x] / p[x].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from privacyfunnel.errors import SolverFailure
from privacyfunnel.numeric.lp import LinearProgram
from privacyfunnel.optimiser.program.tolerances import LOST_DIGITS, OUTWARDS
from privacyfunnel.optimiser.robust.sparse_program import SparseProgram
from privacyfunnel.optimiser.robust.table_cells import Cells
from privacyfunnel.typing import Integers, Vector


class Caps:
    """W[B] ≥ w[B], the mean of w in a cell, for every row w that keeps the promise: no more than 1 / P(B), at first."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.values: Vector = (1 + OUTWARDS) / cells.mass
        self._coverage: list[tuple[Integers, Integers]] = []
        self.lp = self._program()

    @property
    def information(self) -> float:
        """At most so much is kept by rows that are no larger: I(X;Y) = Σ p[x] E[w ln w] ≤ Σ p[x] ln W[x]."""
        terms = self.cells.p * np.log(self.values[self.cells.single])
        return float(terms.sum() + LOST_DIGITS * np.abs(terms).sum())

    def lower(self, some: Iterable[int], stopped: Callable[[], bool]) -> None:
        """Lower the caps of some cells, one linear program each."""
        for cell in some:
            if stopped():
                return
            cost = np.where((self.cells.of == cell).any(axis=0), self.cells.p, 0.0)
            self._lower(cell, cost / cost.sum())

    def lower_to_members(self) -> None:
        """The mean of w in a cell is no larger than w at one of its values."""
        self.values = np.minimum(self.values, self.cells.largest(self.values[self.cells.single]))

    def _lower(self, cell: int, cost: Vector) -> None:
        self.lp.set_costs(-cost)
        try:
            prices = self.lp.solve()[1]
        except SolverFailure:
            return
        proven = max(1.0, self._proven(cost, prices))
        if proven < self.values[cell]:
            self.values[cell] = proven

    def _proven(self, cost: Vector, prices: Vector) -> float:
        """The largest cost·w, at most, by distributions made of prices."""
        left, size = cost.copy(), cost.copy()
        for (s, factor), (most, least) in zip(self.cells.conditions, self._coverage, strict=True):
            share, own = self._inside(np.abs(prices[most]), s)
            _, other = self._inside(np.abs(prices[least]), 1 - s)
            left -= share * (own - factor * other)
            size += share * (own + factor * other)
        return float(((left + LOST_DIGITS * size) / self.cells.p).max())

    def _inside(self, prices: Vector, s: int) -> tuple[float, Vector]:
        """The sum of prices, and a distribution of P(X|s) in the set that is like them."""
        cells, total = self.cells, float(prices.sum())
        centre = cells.centre[s]
        if not 0 < total < np.inf:
            return 0.0, centre[cells.single]
        r = prices / total
        mass = cells.summed(r)
        beyond = np.maximum(mass - cells.upper[s], cells.lower[s] - mass)
        beyond[0] = 0.0  # the mass of all values is 1
        over = beyond > 0
        needed = float((beyond[over] / np.abs(mass - centre)[over]).max(initial=0.0))
        share = min(1.0, needed * (1 + OUTWARDS))
        return total, (1 - share) * r + share * centre[cells.single]

    def _program(self) -> LinearProgram:
        """The program over w and its multipliers, with no costs yet."""
        cells, program = self.cells, SparseProgram()
        w = program.variables(cells.n_x)
        program.rows(w[None], cells.p, 1.0, 1.0)
        for s, factor in cells.conditions:
            t, count = 1 - s, len(cells.table)
            l_plus, l_minus, g_plus, g_minus = (program.variables(count) for _ in range(4))
            most = program.rows(_stacked(w, l_plus, l_minus, cells), _signs(cells, 1.0), lower=0.0)
            least = program.rows(_stacked(w, g_plus, g_minus, cells), _signs(cells, -1.0), lower=0.0)
            price = [cells.upper[s], -cells.lower[s], -factor * cells.lower[t], factor * cells.upper[t]]
            program.rows(np.concatenate([l_plus, l_minus, g_plus, g_minus])[None], np.concatenate(price), upper=0.0)
            self._coverage.append((most, least))
        lp = LinearProgram(np.empty((program.n_rows, 0)), *program.row_bounds())
        lp.add_columns(np.zeros(program.n_columns), *program.by_columns())
        return lp


def _stacked(w: Integers, plus: Integers, minus: Integers, cells: Cells) -> Integers:
    """At [x]: w[x], and the multipliers of the cells that x lies in."""
    return np.hstack([w[:, None], plus[cells.of.T], minus[cells.of.T]])


def _signs(cells: Cells, sign: float) -> Vector:
    """Of the terms in sign·(Σ l⁺ − Σ l⁻ − w) ≥ 0."""
    count = cells.n_tables
    return sign * np.concatenate([[-1.0], np.ones(count), -np.ones(count)])
