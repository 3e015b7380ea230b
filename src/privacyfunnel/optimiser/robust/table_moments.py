"""What rows that keep a promise over a nested set can tell on average, by the moments of their multipliers.

Outputs are drawn at random, and so are their rows w and the multipliers l, g of `table_caps`. In terms of

    m[x] = E w[x]²,  E l[B],  E w[x] l[B] for cells B that x lies in, and the same for g,

I(X;Y) ≤ Σ p[x] ln m[x], and whatever holds for w and l holds on average after multiplication by w[x] ≥ 0, or by
W[x] − w[x] ≥ 0, where W[x] is a cap. A row that is as large as its cap at x needs multipliers for x only as rarely as
it is so large, but rows for every x need multipliers for all, which their mean cannot pay. The maximum over all such
moments is one sparse linear program, and any prices of its rows prove a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privacyfunnel.numeric.lp import interior
from privacyfunnel.optimiser.program.tolerances import OUTWARDS
from privacyfunnel.optimiser.robust.sparse_program import SparseProgram
from privacyfunnel.optimiser.robust.table_caps import Caps
from privacyfunnel.typing import Integers, Vector

TANGENTS = 14
"""Lines above ln m, between 1 and the cap, in geometric steps."""
TOLERANCE = 1e-8
"""Of the solver, relative; it costs as much of the bound."""


@dataclass(frozen=True, eq=False)
class _Moments:
    """The numbers of the variables about multipliers of one sign, those of values that an output has."""

    mean: Integers
    """At [B]: E l[B]."""
    own: Integers
    """At [x, k]: E w[x] l[B] for the cell B of table k that x lies in."""
    total: Integers
    """At [k]: Σ_B P(B) E l[B] in table k. Table 0, of all values, is left out here and below."""
    others: Integers
    """At [x, k]: E w[x] Σ_B P(B) l[B] over the cells B of table k that x does not lie in."""


class MomentProgram:
    """max Σ p ln m over moments; with or without those of sums over whole tables."""

    def __init__(self, caps: Caps, *, with_sums: bool) -> None:
        self.cells, self.caps, self._with_sums = caps.cells, caps.values, with_sums
        self._of = self.cells.of.T
        self._mass = self.cells.mass
        self._cap = self.caps[self.cells.single]
        self.program = SparseProgram()
        self._squares = self._add_squares()
        for s, factor in self.cells.conditions:
            self._add_condition(s, factor)

    @staticmethod
    def size(n_x: int, n_tables: int, *, with_sums: bool) -> int:
        """About how many variables there are."""
        return 8 * n_x * n_tables * (2 if with_sums else 1)

    def proven(self, seconds: float, stopped: Callable[[], bool]) -> float:
        """A bound on I(X;Y), whatever the solver returns; infinite if it returns nothing."""
        program = self.program
        lower, upper, gain = program.box()
        # Bounds on all variables after ln m and m follow from the rows: the proof needs them, the solver does not. It
        # gets a reward for every moment instead, so that its prices suffice with room where they should suffice.
        implied = np.arange(program.n_columns) > self._squares[-1]
        found = interior(
            -gain - np.where(implied & (lower == 0), TOLERANCE, 0.0),
            program.by_columns(),
            *program.row_bounds(),
            lower=np.where(lower < 0, -np.inf, lower),
            upper=np.where(implied & (upper > 0), np.inf, upper),
            tolerance=TOLERANCE,
            seconds=seconds,
            stopped=stopped,
        )
        return np.inf if found is None else program.at_most(-found[1])

    def _add_squares(self) -> Integers:
        """M[x] = E w[x]², between (E w[x])² = 1 and W[x], and what ln m[x] is at most: all tangents."""
        program, n, cap = self.program, self.cells.n_x, self._cap
        log = program.variables(n, 0.0, np.log(cap) * (1 + OUTWARDS), gain=self.cells.p)
        m = program.variables(n, 1.0, cap)
        for at in cap ** np.linspace(0, 1, TANGENTS)[:, None]:
            values = np.stack([np.ones(n), -1 / at], axis=1)
            program.rows(np.stack([log, m], axis=1), values, upper=np.log(at) - 1)
        return m

    def _add_condition(self, s: int, factor: float) -> None:
        """The mean of most_s ≤ κ least_t, with the multipliers of both.

        Every row has most_s ≤ κ·least_t ≤ κ Σ P(x|t) w[x] ≤ κ max P(x|t)/p[x], P(x|t) as counted.
        """
        cells, t = self.cells, 1 - s
        most = (1 + OUTWARDS) * factor * float((cells.centre[t][cells.single] / cells.p).max())
        l_plus, l_minus = self._add_side(s, most, 1.0)
        g_plus, g_minus = self._add_side(t, most, -1.0)
        columns = np.concatenate([part.mean for part in (l_plus, l_minus, g_plus, g_minus)])
        price = [cells.upper[s], -cells.lower[s], -factor * cells.lower[t], factor * cells.upper[t]]
        self.program.rows(columns[None], np.concatenate(price), upper=0.0)

    def _add_side(self, s: int, most: float, sign: float) -> tuple[_Moments, _Moments]:
        """Multipliers of the largest P(y|s), or of the least one (sign −1), which cover all of w from above or below.

        The cell of all values has one multiplier, of any sign. Where the others are given, the best one is as large as
        w less the others somewhere.
        """
        at_upper, at_lower = self._largest_multipliers(s, most)
        plus, minus = (at_upper, at_lower) if sign > 0 else (at_lower, at_upper)
        of_all = (1 + OUTWARDS) * float(
            self._cap.max() + self._of_tables(plus, np.max) + self._of_tables(minus, np.max)
        )
        plus[0], minus[0] = of_all, 0.0
        moments = self._add_moments(plus, -of_all), self._add_moments(minus, 0.0)
        self._cover(*moments, sign)
        if self._with_sums:
            self._cover_on_average(*moments, sign)
        return moments

    def _largest_multipliers(self, s: int, most: float) -> tuple[Vector, Vector]:
        """What multipliers that are paid at upper and lower ends can be, at most.

        Held against the counted P(B|s), Σ (upper − P(B|s)) l⁺ + (P(B|s) − lower) l⁻ ≤ most. At an upper end of 1, the
        multiplier of all values does the same for the same price; at a lower end of 0 nothing is earned.
        """
        cells = self.cells
        lower, upper, centre = cells.lower[s], cells.upper[s], cells.centre[s]
        with np.errstate(divide="ignore"):
            at_upper = np.where(upper >= 1, 0.0, most / np.maximum(0.0, upper - centre))
            at_lower = np.where(lower <= 0, 0.0, most / np.maximum(0.0, centre - lower))
        return at_upper, at_lower

    def _of_tables(self, values: Vector, what: Callable[[Vector], float]) -> float:
        """The sum over all tables but the first."""
        return sum(what(values[self.cells.table == k]) for k in range(1, self.cells.n_tables))

    def _add_moments(self, upper: Vector, least: float) -> _Moments:
        """Variables for multipliers between 0 (of all values: `least`) and `upper`, and what relates them."""
        program, cells, of = self.program, self.cells, self._of
        n, k, lower = cells.n_x, cells.n_tables, np.zeros(len(upper))
        lower[0] = least
        mean = program.variables(len(upper), lower, upper)
        own = program.variables(n * k, lower[of].ravel(), upper[of].ravel()).reshape(n, k)  # since E w[x] = 1
        self._limit_own(mean, own)
        if not self._with_sums:
            return _Moments(mean, own, np.empty(0, dtype=np.int64), np.empty((n, 0), dtype=np.int64))
        sums = np.bincount(cells.table, weights=self._mass * upper)[1:] * (1 + OUTWARDS)
        total = program.variables(k - 1, 0.0, sums)
        others = program.variables(n * (k - 1), 0.0, np.tile(sums, n)).reshape(n, k - 1)
        moments = _Moments(mean, own, total, others)
        self._relate_sums(moments)
        return moments

    def _limit_own(self, mean: Integers, own: Integers) -> None:
        """Σ_{x in B} p[x]/P(B) E w[x] l[B] = E w[B] l[B] ≤ W[B] E l[B], and of all values the mean of w is 1."""
        cells, count = self.cells, len(mean)
        row = np.concatenate([cells.of.ravel(), np.arange(count)])
        column = np.concatenate([own.T.ravel(), mean])
        weight = (cells.p / self._mass[cells.of]).ravel()
        limit = np.where(np.arange(count) == 0, 1.0, self.caps)
        lower = np.where(np.arange(count) == 0, 0.0, -np.inf)
        self.program.scattered(row, column, np.concatenate([weight, -limit]), count, lower, 0.0)

    def _relate_sums(self, of: _Moments) -> None:
        """Sums over tables, alone, times w[x] and times W[x] − w[x]; on average over x, w is 1."""
        program, cells = self.program, self.cells
        n, k, mass = cells.n_x, cells.n_tables - 1, self._mass[self._of[:, 1:]]
        row = np.concatenate([cells.table[1:] - 1, np.arange(k)])
        value = np.concatenate([self._mass[1:], -np.ones(k)])
        program.scattered(row, np.concatenate([of.mean[1:], of.total]), value, k, 0.0, 0.0)
        columns = np.stack([of.others, np.tile(of.total, (n, 1)), of.mean[self._of[:, 1:]]], axis=-1).reshape(-1, 3)
        cap = np.repeat(self._cap, k)
        program.rows(columns, np.stack([np.ones(n * k), -cap, cap * mass.ravel()], axis=1), upper=0.0)
        values = np.hstack([np.tile(cells.p, (k, 1)), (cells.p[:, None] * mass).T, -np.ones((k, 1))])
        program.rows(np.hstack([of.others.T, of.own[:, 1:].T, of.total[:, None]]), values, 0.0, 0.0)

    def _cover(self, plus: _Moments, minus: _Moments, sign: float) -> None:
        """Σ l⁺ − l⁻ ≥ w at x (≤ for the least), times w[x] and times W[x] − w[x]."""
        program, of, cap = self.program, self._of, self._cap[:, None]
        one = np.ones(of.shape)
        m = self._squares[:, None]
        program.rows(np.hstack([plus.own, minus.own, m]), sign * np.hstack([one, -one, -one[:, :1]]), lower=0.0)
        columns = np.hstack([plus.mean[of], minus.mean[of], plus.own, minus.own, m])
        values = np.hstack([cap * one, -cap * one, -one, one, one[:, :1]])
        program.rows(columns, sign * values, lower=sign * self._cap)

    def _cover_on_average(self, plus: _Moments, minus: _Moments, sign: float) -> None:
        """The mean of the same over all values, where w is 1, times w[x] and times W[x] − w[x]."""
        program, n, cap = self.program, self.cells.n_x, self._cap
        mass = self._mass[self._of[:, 1:]]
        one = np.ones(mass.shape)
        own = np.hstack([plus.own[:, :1], plus.others, plus.own[:, 1:], minus.others, minus.own[:, 1:]])
        values = np.hstack([one[:, :1], one, mass, -one, -mass])
        program.rows(own, sign * values, lower=sign)
        mean = np.concatenate([plus.mean[:1], plus.total, minus.total])
        signs = np.concatenate([[1.0], np.ones(len(plus.total)), -np.ones(len(minus.total))])
        columns, all_values = np.hstack([np.tile(mean, (n, 1)), own]), np.hstack([np.outer(cap, signs), -values])
        program.rows(columns, sign * all_values, lower=sign * (cap - 1))
