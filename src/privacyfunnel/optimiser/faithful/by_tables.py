"""Faithful releases over nested sets: some columns are released as best they can, the others redrawn to go with them.

Rows of a channel that are the same in every cell of a table T rest on what is known of T, which is much for a coarse
table. So a plan is sought for the cells of T, as if there were no other columns; a released row then is a cell, and its
other columns are drawn as they are distributed in that cell. Its rows have the distribution of the original ones, and
its promise is that of the plan. Every table is tried for a while, and the one that leaves most cells as they were is
searched on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.optimiser.faithful.plan_rounding import mixed, restricted, rounded_columns
from privacyfunnel.optimiser.faithful.search import Plan
from privacyfunnel.optimiser.program.state import WHOLE_SEARCH
from privacyfunnel.optimiser.program.tolerances import SPARED
from privacyfunnel.optimiser.robust.demands import Demand
from privacyfunnel.optimiser.robust.region import Region
from privacyfunnel.optimiser.robust.table_programs import Cut, single_cells
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.typing import Matrix, Vector

MOST_CELLS = 200
"""Of a table that plans are sought for."""
FIRST_LOOK = 2.0
"""Seconds for each table, before one is chosen."""


@dataclass(frozen=True, eq=False)
class TablePlan:
    """A plan for the cells of a table."""

    cut: Cut
    cells: Joint
    """The joint of the table's attributes."""
    plan: Plan

    def channel(self, p_x: Vector, share: float) -> Channel:
        """The exact channel on all values, with a share of p pᵀ mixed in; the same for all values of a cell."""
        Q = mixed(self.plan, self.cells.p_x, share)
        inside = p_x / self.cut.p[self.cut.of]
        released = np.flatnonzero(p_x > 0)
        columns = Q[self.cut.of[released]] * inside[released, None]
        m = len(self.cells.p_x)
        x, o = np.repeat(np.arange(m), len(released)), np.tile(np.arange(len(released)), m)
        small = rounded_columns(columns.T.ravel(), x, o, m, len(released))
        wide = restricted(small, self.cut.of)
        return replace(wide, n_outputs=len(p_x), outputs=released[wide.outputs])

    def fidelity(self, similar: Matrix) -> float:
        """Of the release, from how similar two cells are on average."""
        Q = mixed(self.plan, self.cells.p_x, SPARED)
        return float((Q * self.cells.p_x * similar).sum())


def tables_of(joint: Joint, demands: list[Demand]) -> Iterator[tuple[Cut, Joint, Region]]:
    """The tables all of whose cells were seen, with the promise for their cells."""
    everything = tuple(range(len(joint.columns)))
    for over in [*(table.over for table in demands[0].part.tables), everything]:
        cut = Cut.by(over, joint, joint.p_x)
        if len(cut.p) <= MOST_CELLS and (cut.p > 0).all():
            cells = joint.over([joint.attributes[j] for j in over])
            yield cut, cells, Region([one.over(single_cells(cut, one.part)) for one in demands], cells.p_x)


def average_similarity(similarity: Similarity, cut: Cut, p_x: Vector) -> Matrix:
    """How similar a value of one cell is to one of another, on average."""
    total = np.zeros((len(cut.p), len(cut.p)))
    inside = p_x / cut.p[cut.of]
    seen = np.flatnonzero(p_x > 0)
    for x in seen:
        row = np.bincount(cut.of[seen], weights=inside[seen] * similarity.at(np.array([x]), seen), minlength=len(cut.p))
        total[cut.of[x]] += inside[x] * row
    return total


class Clock:
    """How long each table may take."""

    def __init__(self, time_limit: float | None, tables: int) -> None:
        self._tables, self._started = tables, ticks()
        self._seconds = WHOLE_SEARCH if time_limit is None else time_limit

    def first_look(self) -> float:
        """Seconds for a table: half of all the time there is, for all of them."""
        return min(FIRST_LOOK, self._seconds / (2 * self._tables))

    def spent(self) -> float:
        return ticks() - self._started

    def left(self) -> float:
        return max(0.0, self._seconds - self.spent())
