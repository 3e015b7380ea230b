"""Extreme means over shares of which sums are known, too: bounds that are proven by multipliers, in integers.

Given s and a cell, shares r of values are known to have lower ≤ Σ_{x in B} r[x] ≤ upper for blocks B of values: the
cells of marginal tables, all values together (which have 1), and single values. For any multipliers with
Σ_{B has x} λ[B] = w[x], Σ_x r[x]·w[x] = Σ_B λ[B] Σ_{x in B} r[x] is at most Σ_B (λ⁺[B]·upper[B] − λ⁻[B]·lower[B]).
A linear program finds good multipliers in float64. They are then taken as integers, those of the finest blocks become
whatever is missing, and the sum is exact: a solver's error makes a bound weaker, never wrong.

If w is the same, or nearly so, in all values of every cell of a table, its cells are the values here: the program is
then small. Where w differs a little in a cell, its largest there stands for it. For tables of very many cells, what is
known of each by itself gives the bound, by sorting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacyfunnel.errors import SolverFailure
from privacyfunnel.numeric.lp import LinearProgram
from privacyfunnel.promises.sets import NOBODY, SCALE, Possible
from privacyfunnel.typing import Exact, Integers, Vector

FRACTION_BITS = 24
"""Multipliers are multiples of 2⁻²⁴ of a unit of w: finer than a solver's error."""
LARGEST_PROGRAM = 300
"""Cells of a table for which multipliers are sought: with more, a program takes long."""
ALIKE = 2.0**-20
"""Of the largest w: values that differ by less are taken to have the same."""


class CellMultipliers:
    """The shares of one cell of a view."""

    def __init__(self, part: Possible, place: int) -> None:
        real = part.members[place] != NOBODY
        self.n = int(real.sum())
        known = (_Level(frozenset(t.over), t.of[place][real], t.lower[place], t.upper[place]) for t in part.tables)
        levels = sorted(known, key=lambda level: level.n_blocks)
        finer_than_all = frozenset().union(*(level.over for level in levels)) | {NOBODY}
        lower, upper = (ends[place][:, real] for ends in (part.given.lower, part.given.upper))
        self._levels = [*levels, _Level(finer_than_all, np.arange(self.n), lower, upper)]
        self._programs: dict[tuple[int, int], _Program] = {}

    def between(self, s: int, members: Integers, w: list[int]) -> tuple[int, int]:
        """Bounds on the least and the most Σ_k r[k]·w[k] given s, for the members' w; elsewhere, w is 0."""
        whole = np.zeros(self.n, dtype=object)
        whole[members] = w
        if len(members) == 1:  # its own interval says nearly all
            finest, x = self._levels[-1], int(members[0])
            return w[0] * int(finest.lower[s, x]), w[0] * int(finest.upper[s, x])
        low, high = min(whole), max(whole)
        if low == high:
            return low * SCALE, high * SCALE
        bounds = [(low * SCALE, high * SCALE), *(self._at(s, at, whole) for at in self._levels_for(whole, high))]
        return max(least for least, _ in bounds), min(most for _, most in bounds)

    def _at(self, s: int, at: int, w: Exact) -> tuple[int, int]:
        """Bounds from one table and coarser ones; from its own cells alone where there are very many."""
        level = self._levels[at]
        lowest, highest = level.ends(w)
        if level.n_blocks > LARGEST_PROGRAM:
            return -level.most_by_cells(s, -lowest), level.most_by_cells(s, highest)
        program = self._program(s, at)
        return -program.most(-lowest), program.most(highest)

    def worst(self, s: int, w: Vector) -> Vector:
        """Shares given s with about the largest Σ_k r[k]·w[k], from all that is known, in float64."""
        return self._program(s, len(self._levels) - 1).solved(w)[0]

    def _levels_for(self, w: Exact, high: int) -> list[int]:
        """The coarsest table in whose cells w is the same; where that has very many, also one where it nearly is."""
        relative = (w / high).astype(np.float64)
        varies = [level.varies(relative) for level in self._levels]
        first = next(at for at, most in enumerate(varies) if most <= ALIKE)
        if self._levels[first].n_blocks <= LARGEST_PROGRAM:
            return [first]
        small = [at for at, level in enumerate(self._levels) if level.n_blocks <= LARGEST_PROGRAM]
        return [first, *sorted(small, key=lambda at: varies[at])[:1]]

    def _program(self, s: int, at: int) -> _Program:
        if (s, at) not in self._programs:
            finest = self._levels[at]
            coarser = [level for level in self._levels[:at] if level.over < finest.over]
            self._programs[s, at] = _Program(finest, coarser, s)
        return self._programs[s, at]


@dataclass(frozen=True, eq=False)
class _Level:
    """A table of values of one cell of a view: its blocks, and intervals for them at [s, block]."""

    over: frozenset[int]
    of: Integers
    lower: Integers
    upper: Integers

    @property
    def n_blocks(self) -> int:
        return int(self.lower.shape[1])

    def varies(self, w: Vector) -> float:
        """The largest difference of w within a block."""
        low, high = np.full(self.n_blocks, np.inf), np.full(self.n_blocks, -np.inf)
        np.minimum.at(low, self.of, w)
        np.maximum.at(high, self.of, w)
        return float((high - low).max())

    def most_by_cells(self, s: int, w: Exact) -> int:
        """The largest Σ_b r[b]·w[b] if nothing is known but the shares of single cells, and that they sum to 1."""
        lower, upper = self.lower[s].tolist(), self.upper[s].tolist()
        left, total = SCALE - sum(lower), 0
        for b in sorted(range(len(w)), key=lambda b: w[b], reverse=True):
            more = min(left, upper[b] - lower[b])
            left -= more
            total += (lower[b] + more) * int(w[b])
        return total

    def ends(self, w: Exact) -> tuple[Exact, Exact]:
        """The least and the largest w of every block."""
        order = np.argsort(self.of, kind="stable")
        starts = np.searchsorted(self.of[order], np.arange(self.n_blocks))
        return np.minimum.reduceat(w[order], starts), np.maximum.reduceat(w[order], starts)


class _Program:
    """max Σ_b r[b]·w[b] over the blocks b of one table, of whose unions coarser tables tell."""

    def __init__(self, finest: _Level, coarser: list[_Level], s: int) -> None:
        first = np.unique(finest.of, return_index=True)[1]
        self._of = [level.of[first] for level in coarser]
        n = finest.n_blocks
        rows = [np.arange(level.n_blocks)[:, None] == of for level, of in zip(coarser, self._of, strict=True)]
        self._A = np.vstack([*rows, np.ones((1, n), dtype=bool)]).astype(np.float64)
        self._lower = _exactly([*(level.lower[s] for level in coarser), [SCALE], finest.lower[s]])
        self._upper = _exactly([*(level.upper[s] for level in coarser), [SCALE], finest.upper[s]])
        self._sums = len(self._A)
        low, high = (ends.astype(np.float64) / SCALE for ends in (self._lower, self._upper))
        self._lp = LinearProgram(self._A, low[: self._sums], high[: self._sums])
        self._lp.set_bounds(low[self._sums :], high[self._sums :])

    def most(self, w: Exact) -> int:
        """No shares have a larger Σ_b r[b]·w[b] than this, in units of 1/SCALE."""
        size = max(1, int(np.abs(w).max()))
        try:
            prices = self.solved((w / size).astype(np.float64))[1]
        except SolverFailure:
            prices = np.zeros(self._sums)
        units = np.rint(prices * float(size << FRACTION_BITS))
        units = np.where(np.isfinite(units), units, 0.0).tolist()  # any multipliers will do
        multipliers = np.array([int(unit) for unit in units], dtype=object)
        left = (w << FRACTION_BITS) - multipliers[-1]
        start = 0
        for of in self._of:
            stop = start + int(of.max()) + 1
            left = left - multipliers[start:stop][of]
            start = stop
        multipliers = np.concatenate([multipliers, left])
        bound = np.where(multipliers > 0, self._upper, self._lower) @ multipliers
        return -(-int(bound) >> FRACTION_BITS)

    def solved(self, w: Vector) -> tuple[Vector, Vector]:
        """The shares that attain it, and the multipliers of the sums, in float64."""
        self._lp.set_costs(-w)
        shares, prices = self._lp.solve()
        return shares, -prices


def _exactly(parts: list[Integers | list[int]]) -> Exact:
    return np.concatenate([np.asarray(part).astype(object) for part in parts])
