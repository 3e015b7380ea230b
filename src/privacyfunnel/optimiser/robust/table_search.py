"""The best protocol over a nested set: rows that are as coarse as some marginal table, of all tables together.

A row that is the same in every cell of a coarse table rests on what is known of that table, which is much; a row of a
finer table tells more and rests on less. Each table has small linear programs of its own (`table_programs.py`). First
the best rows of each table by itself are generated, then all tables compete for one mixture: values that are too rare
to be released sharply are released by fewer of their attributes, and others as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.optimiser.generation.pricing import distinct, local_search
from privacyfunnel.optimiser.program.master import Master
from privacyfunnel.optimiser.program.polytope import DUST, Columns
from privacyfunnel.optimiser.program.state import State
from privacyfunnel.optimiser.program.tolerances import SHARPNESS
from privacyfunnel.optimiser.robust.conditions import Conditions
from privacyfunnel.optimiser.robust.demands import Demand, demands_of
from privacyfunnel.optimiser.robust.nested_programs import best_pairs, corners, descents
from privacyfunnel.optimiser.robust.nested_search import pairs_of
from privacyfunnel.optimiser.robust.region import Region
from privacyfunnel.optimiser.robust.table_bounds import bound_by_clauses, bound_by_tables
from privacyfunnel.optimiser.robust.table_programs import Cut, TablePrograms, positive, single_cells
from privacyfunnel.promises.notion import Notion
from privacyfunnel.typing import Matrix, Vector

MOST_ROWS = 600
"""Of a table's linear program: beyond, each takes long, and what single cells tell is used instead."""
MOST_ROWS_OF_VIEWS = 2_500
"""The same where there is no other way: with side channels or more than two secrets."""
FIRST_WORK, ROUND_WORK = 20_000, 10_000
"""Rows of all linear programs of a table together, to begin with and in a round."""
MOST_ROUNDS = 100
"""Of column generation, for one table and for all: rounds that gain too little or the time end it before."""
STARTS = 40
"""Linear searches in a round of one table, at most: half of them near posteriors in use, half anywhere. ROUND_WORK
allows fewer where programs are large."""
QUICK_STARTS = 300
"""The same for compiled ones, which need no linear program."""
MOST_AT_ONCE = 300
"""Posteriors of a table that are added in a round, the best of those found."""
ENOUGH = 20
"""If compiled searches of one table alone find so many, linear programs can wait until they find fewer."""
WORTHWHILE = 2e-3
"""Nats that a round must gain to be followed by another."""
WORTH = 1e-5
"""Nats by which a posterior must undercut its price."""
SEARCHING = 0.6
"""Of the time there is; the rest is for the bound."""
QUICKLY_MIXED = 1_000
"""Cells of a table whose rows are still mixed when time is up; of more, that may take a minute."""


@dataclass(eq=False)
class _Workplace:
    """A table, the ways to find posteriors for it, and those in use."""

    cut: Cut
    programs: TablePrograms | None
    single_cells: Conditions | None
    """What single cells of the table tell, without sums: for two secrets, compiled."""
    used: Matrix

    @classmethod
    def of(cls, cut: Cut, demands: list[Demand]) -> _Workplace:
        single = _single_cells(cut, demands)
        small = TablePrograms.size(cut, demands) <= (MOST_ROWS_OF_VIEWS if single is None else MOST_ROWS)
        programs = TablePrograms(cut, demands) if small else None
        return cls(cut, programs, single, cut.p[None])

    @property
    def idle(self) -> bool:
        """Whether there is no way to find posteriors."""
        return self.programs is None and self.single_cells is None

    def first(self, stopped: Callable[[], bool]) -> Matrix:
        """For each cell, a posterior with much of it."""
        found = [np.empty((0, len(self.cut.p)))]
        if self.single_cells is not None:
            found.append(distinct(corners(self.cut.p, self.single_cells.K, self.single_cells.M)))
        elif self.programs is not None:
            common = np.argsort(-self.cut.p, kind="stable")[: max(1, FIRST_WORK // self.programs.n_rows)]
            found += [self.programs.minimise(-row)[None] for row in np.eye(len(self.cut.p))[common] if not stopped()]
        return np.concatenate(found)

    def better(
        self, y: Vector, rng: np.random.Generator, stopped: Callable[[], bool], enough: float = math.inf
    ) -> Matrix:
        """Posteriors that undercut their prices; if compiled searches find enough, linear programs can wait."""
        found = [np.empty((0, len(self.cut.p)))]
        if self.single_cells is not None:
            c = self.single_cells
            least, partner, share = best_pairs(y, c.sufficient)
            found.append(pairs_of(np.flatnonzero(least < -WORTH), partner, share, c.n_x))
            r, V = descents(self._starts(rng, QUICK_STARTS), y, c.p, c.K, c.M)
            found.append(V[r < -WORTH])
        if self.programs is not None and sum(map(len, found)) < enough:
            starts = self._starts(rng, min(STARTS, max(2, ROUND_WORK // self.programs.n_rows)))
            found.append(local_search(self.programs, y, starts, WORTH, stopped))
        V = self._cleaned(distinct(np.concatenate(found)))
        return V[np.argsort(Columns.from_dense(V).entropy() - V @ y, kind="stable")[:MOST_AT_ONCE]]

    def _cleaned(self, V: Matrix) -> Matrix:
        """Posteriors without what a solver leaves behind, by their rows: values that nobody has count as much there."""
        W = V / self.cut.p
        W = np.where(DUST * W.max(axis=1, keepdims=True) < W, W, 0.0) * self.cut.p
        return np.asarray(W / W.sum(axis=1, keepdims=True))

    def _starts(self, rng: np.random.Generator, count: int) -> Matrix:
        p = self.cut.p
        some = self.used[rng.permutation(len(self.used))[: count // 2]]
        other = self.used[rng.integers(len(self.used), size=len(some))]
        anywhere = rng.dirichlet(np.full(len(p), SHARPNESS), size=count - len(some))
        return np.vstack([(some + other + p) / 3, anywhere])


def _single_cells(cut: Cut, demands: list[Demand]) -> Conditions | None:
    """Promises about two events by somebody who knows nothing, from what is known of the table's cells alone."""
    if not all(demand.two_events for demand in demands):
        return None
    return Conditions.of_all(Region([demand.over(single_cells(cut, demand.part)) for demand in demands], cut.p))


class TableSearch:
    """Column generation with the rows of every marginal table; what it finds is kept in `state`."""

    def __init__(self, joint: Joint, demands: list[Demand], state: State) -> None:
        self.state, self.p_x = state, positive(joint.p_x)
        self.posteriors = 0
        self._rng = np.random.default_rng(0)
        self._master = Master(self.p_x)
        everything = tuple(range(len(joint.columns)))
        tables = sorted({table.over for one in demands for table in one.part.tables} | {everything}, key=len)
        places = [_Workplace.of(Cut.by(over, joint, self.p_x), demands) for over in tables]
        self.places = [place for place in places if not place.idle]
        self.left_out = len(places) - len(self.places)
        for place in self.places:
            if not state.stopped():
                self._alone(place)

    def _alone(self, place: _Workplace) -> None:
        """The best rows of one table, which then compete with those of all others."""
        p, stopped = place.cut.p, self.state.stopped
        own = Master(p)
        own.add(Columns.from_dense(place.first(stopped)))
        before, enough = np.inf, float(ENOUGH)
        for _ in range(MOST_ROUNDS):
            q, y, _ = own.solve()
            place.used = own.columns.take(np.flatnonzero(q > 0)).dense(len(p))
            value = float(y @ p)
            idle = value > before - WORTHWHILE
            if stopped() or (idle and math.isinf(enough)):
                break
            enough = math.inf if idle else enough
            better = place.better(y, self._rng, stopped, enough)
            if not len(better) and math.isinf(enough):
                break
            before = value
            own.add(Columns.from_dense(better))
        if stopped() and len(p) > QUICKLY_MIXED:
            return  # what coarser tables tell stands
        place.used = own.mixture()[0].dense(len(p))
        self._offer(place, place.used)
        self._keep()

    def together(self) -> None:
        """All tables compete, until hardly anything is gained."""
        for _ in range(MOST_ROUNDS):
            before, state = self.state.utility, self.state
            y = self._master.solve()[1]
            for place in self.places:
                if state.stopped() or state.closed():
                    return
                better = place.better(place.cut.prices(y, self.p_x), self._rng, state.stopped)
                if len(better):
                    place.used = distinct(np.concatenate([better, place.used]))[: 2 * QUICK_STARTS]
                    self._offer(place, better)
            self._keep()
            if state.utility < before + WORTHWHILE:
                break

    def all_found(self) -> Columns:
        """The posteriors of all tables."""
        return self._master.columns.take(np.arange(len(self._master.columns)))

    def _offer(self, place: _Workplace, V: Matrix) -> None:
        self.posteriors += len(V)
        self._master.add(Columns.from_dense(place.cut.spread_out(V, self.p_x)))

    def _keep(self) -> None:
        self.state.keep(self._master.columns, self._master.solve_without_artificial())
        self.state.report()


def search_tables(joint: Joint, notion: Notion, state: State) -> tuple[str, Columns]:
    """The best mixture that is found, in `state`; how, in words, and all posteriors that were found."""
    whole, demands = state.time_limit, demands_of(notion, joint)
    state.time_limit = None if whole is None else SEARCHING * whole
    search = TableSearch(joint, demands, state)
    search.together()
    state.time_limit = whole
    if notion.simple:
        bound_by_tables(joint, [demand.part for demand in demands], notion.limits, state)
    else:
        bound_by_clauses(demands, state)
    left_out = f", {search.left_out} too large" if search.left_out else ""
    tables = f"{len(search.places)} tables{left_out}"
    how = f"rows of marginal tables over a nested confidence set: {tables}, {search.posteriors} posteriors"
    return how, search.all_found()
