"""Linear programs over rows of a channel that keep a promise over a nested set.

A row w is the same in all values of a cell of some table T of attributes. Its promise is Σ_s k[s] Σ_x P(x|s) w[x] ≤ 0
for certain k, for every distribution of the set. By duality that is so if there are multipliers with
w = Σ_B λ[B]·1_B over cells B of tables coarser than T, and of T, and

    Σ_B λ⁺[B]·most[B] − λ⁻[B]·least[B] ≤ 0,    most[B], least[B] the extremes of Σ_s k[s] P(B|s):

a linear condition on w and λ together, so that no rows need to be generated. The multipliers are the same for all
secrets here; the certificate, which looks for those of each by itself, can only be kinder.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.cores import cores
from privacyfunnel.numeric.lp import LinearProgram
from privacyfunnel.optimiser.generation.boxes import RowBounds
from privacyfunnel.optimiser.robust.demands import Demand
from privacyfunnel.optimiser.robust.inside_and_outside import priors_of
from privacyfunnel.promises.limits import SMALLEST_FACTOR
from privacyfunnel.promises.sets import NOBODY, SCALE, Possible, Shares
from privacyfunnel.promises.views import View
from privacyfunnel.typing import Integers, Matrix, Vector

SHARED_FROM = 100
"""Rows of a program from which on searches are shared among the cores."""
LEAST_MASS = 1e-8
"""Values that nobody has count as if they had this: searches divide by it, and drop what is far smaller."""


@dataclass(frozen=True, eq=False)
class Cut:
    """The values of X by the cells of one marginal table."""

    over: tuple[int, ...]
    of: Integers
    """of[x]: the cell that x lies in."""
    p: Vector
    """P(cell)."""

    @classmethod
    def by(cls, over: tuple[int, ...], joint: Joint, p_x: Vector) -> Cut:
        """The table of the attributes `over`."""
        sizes = [len(joint.columns[j]) for j in over]
        of = np.ravel_multi_index(tuple(joint.codes[:, over].T), sizes)
        return cls(over, of, np.bincount(of, weights=p_x, minlength=math.prod(sizes)).astype(np.float64))

    def spread_out(self, V: Matrix, p_x: Vector) -> Matrix:
        """Posteriors of cells as posteriors of values, each with its share of its cell."""
        return np.asarray((V / self.p)[:, self.of] * p_x)

    def prices(self, y: Vector, p_x: Vector) -> Vector:
        """Prices of cells for which H(v) − y·v is that of the values: cells pay for what values leave open, too."""
        paid = np.bincount(self.of, weights=p_x * (y + np.log(p_x)), minlength=len(self.p))
        return np.asarray(paid / self.p - np.log(self.p))


def positive(p_x: Vector) -> Vector:
    """P(x) with something for values that nobody has."""
    some = np.where(p_x > 0, p_x, LEAST_MASS)
    return np.asarray(some / some.sum())


def single_cells(cut: Cut, part: Possible) -> Possible:
    """What is known of the cells of a table, each by itself, by somebody who knows nothing else."""
    n, n_s = len(cut.p), part.prior.lower.shape[1]
    of = cut.of[part.members[0]]
    own = [(table.lower, table.upper) for table in part.tables if table.over == cut.over]
    order = np.argsort(of, kind="stable")
    lower, upper = own[0] if own else (ends[:, :, order] for ends in (part.given.lower, part.given.upper))
    centre = np.zeros((n, n_s), dtype=np.int64)
    np.add.at(centre, of, part.given.centre[0].T)
    shares = Shares(lower, upper, centre.T[None])
    view = View((), np.zeros(n, dtype=np.int64))
    return Possible(view, part.cells, np.arange(n)[None], shares, part.prior)


def conditions(demand: Demand, place: int) -> Matrix:
    """The rows k: what Σ_s k[s] P(y|s) ≤ 0 must hold for, in one cell of a view and for all P(S) of the set."""
    priors, limits = priors_of(demand.part, place), demand.limits
    n_s = priors.shape[1]
    rows: list[Vector] = []
    for s in demand.events:
        own = np.eye(n_s)[s]
        if demand.most is not None:
            rows += [(own - demand.most) * prior for prior in priors]
        if math.isfinite(limits.upper):
            rows += [math.exp(-limits.upper) * own - prior for prior in priors]
        if math.isfinite(limits.lower):
            rows += [_e_to(-limits.lower) * prior - own for prior in priors]
        if math.isfinite(limits.spread):
            rows += [_e_to(-limits.spread) * own - other for t, other in enumerate(np.eye(n_s)) if t != s]
    K = np.array(rows).reshape(-1, n_s)
    K = K[(K > 0).any(axis=1)]
    return _essential(K / np.abs(K).max(axis=1, keepdims=True))


def _essential(K: Matrix) -> Matrix:
    """Of rows about two secrets with the same signs, the strictest; of others, all."""
    if K.shape[1] != 2 or not len(K):
        return np.unique(K, axis=0)
    kept = []
    for s in range(2):
        factor = [-row[1 - s] / row[s] for row in K if row[s] > 0 and row[1 - s] <= 0]
        if factor:
            row = np.where(np.arange(2) == s, 1.0, -min(factor))
            kept.append(row / np.abs(row).max())  # the factor is e^ε, and a solver refuses what is huge
    return np.array(kept).reshape(-1, 2)


class TablePrograms:
    """Linear programs over posteriors v of the cells of one table, in proportion to w times their mass."""

    def __init__(self, cut: Cut, demands: list[Demand]) -> None:
        self.cut, self.n_x = cut, len(cut.p)
        self._given, self._team = (cut, demands), [self]
        layout = _Layout(self.n_x)
        for demand in demands:
            for place in range(len(demand.part.cells)):
                layout.add_cell(cut, demand.part, place, conditions(demand, place))
        self._lp = layout.program(cut.p)
        self._others = layout.columns - self.n_x
        self.n_rows = layout.rows

    @staticmethod
    def size(cut: Cut, demands: list[Demand]) -> int:
        """About how many rows the program has."""
        return sum(_cells_within(cut, one.part) * (2 if one.n_events == 2 else one.n_events**2) for one in demands)

    def minimise(self, cost: Vector) -> Vector:
        """A posterior with the least cost·v."""
        self._lp.set_costs(np.concatenate([cost * self.cut.p, np.zeros(self._others)]))
        v = self._lp.solve()[0][: self.n_x].clip(0) * self.cut.p
        return np.asarray(v / v.sum())

    def rows(self) -> RowBounds:
        """Proofs by branch and bound are not for these programs."""
        raise NotImplementedError

    def team(self) -> list[TablePrograms]:
        """This one and others like it, one for each core, where programs are large enough to share them out."""
        if self.n_rows >= SHARED_FROM and len(self._team) == 1:
            self._team += [TablePrograms(*self._given) for _ in range(cores() - 1)]
        return self._team


def _cells_within(cut: Cut, part: Possible) -> int:
    """How many different cells of a table and of a view there are together."""
    own = [j for j in cut.over if j not in part.view.known]
    if not own:
        return 0
    return len(np.unique(part.view.cell * len(cut.p) + cut.of))


class _Layout:
    """Columns w, λ⁺, λ⁻ and rows of the program, gathered cell by cell."""

    def __init__(self, n: int) -> None:
        self.n = self.columns = n
        self.rows = 1  # the first says Σ p w = 1
        self._row: list[Integers] = []
        self._column: list[Integers] = []
        self._value: list[Vector] = []
        self._upper: list[float] = [1.0]
        self._lower: list[float] = [1.0]

    def add_cell(self, cut: Cut, part: Possible, place: int, K: Matrix) -> None:
        """The promise in one cell of a view."""
        members = part.members[place]
        members = members[members != NOBODY]
        blocks, first = np.unique(cut.of[members], return_index=True)
        if len(blocks) == 1:
            return
        tables = [(np.zeros(len(blocks), dtype=np.int64), *_ends(np.full((1, K.shape[1]), SCALE)))]
        own = tuple(j for j in cut.over if j not in part.view.known)
        for table in part.tables:
            if set(table.over) <= set(own):
                low, high = table.lower[place].T / SCALE, table.upper[place].T / SCALE
                tables.append((table.of[place][first], low, high))
        if len(blocks) == len(members):
            given = part.given
            low, high = (ends[place][:, first].T / SCALE for ends in (given.lower, given.upper))
            tables.append((np.arange(len(blocks)), low, high))
        for k in K:
            self._add_condition(blocks, tables, k)

    def _add_condition(self, blocks: Integers, tables: list[tuple[Integers, Matrix, Matrix]], k: Vector) -> None:
        """W = Σ λ on the blocks, and what the multipliers come to."""
        m, first_row = len(blocks), self.rows
        equal = np.arange(first_row, first_row + m)
        self._put(equal, blocks, np.ones(m))
        total = first_row + m
        for of, low, high in tables:
            n_blocks = len(low)
            most = np.where(k > 0, k * high, k * low).sum(axis=1)
            least = np.where(k > 0, k * low, k * high).sum(axis=1)
            for sign, end in ((1.0, most), (-1.0, least)):
                at = self.columns + np.arange(n_blocks)
                self._put(equal, at[of], np.full(m, -sign))
                self._put(np.full(n_blocks, total), at, sign * end * m)
                self.columns += n_blocks
        self.rows += m + 1
        self._lower += [0.0] * m + [-np.inf]
        self._upper += [0.0] * (m + 1)

    def _put(self, row: Integers, column: Integers, value: Vector) -> None:
        self._row.append(row)
        self._column.append(column)
        self._value.append(value)

    def program(self, p: Vector) -> LinearProgram:
        """The program, with no costs yet."""
        self._put(np.zeros(self.n, dtype=np.int64), np.arange(self.n), p)
        row, column, value = np.concatenate(self._row), np.concatenate(self._column), np.concatenate(self._value)
        order = np.argsort(column, kind="stable")
        starts = np.searchsorted(column[order], np.arange(self.columns + 1))
        program = LinearProgram(np.empty((self.rows, 0)), np.array(self._lower), np.array(self._upper))
        program.add_columns(np.zeros(self.columns), starts, row[order], value[order])
        return program


def _ends(share: Matrix) -> tuple[Matrix, Matrix]:
    return share / SCALE, share / SCALE


def _e_to(exponent: float) -> float:
    return max(math.exp(exponent), SMALLEST_FACTOR)
