"""Upper bounds for two secrets over a nested set: from the counts alone, from caps on rows, and from their moments.

Each is a bound by itself, and the next one costs more. What a solver returns is never believed: prices prove a bound
whatever they are, and wrong ones prove a weaker one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.optimiser.program.state import State
from privacyfunnel.optimiser.program.tolerances import OUTWARDS
from privacyfunnel.optimiser.robust.demands import Demand
from privacyfunnel.optimiser.robust.most_revealing import polytope_for
from privacyfunnel.optimiser.robust.table_caps import Caps
from privacyfunnel.optimiser.robust.table_cells import Cells
from privacyfunnel.optimiser.robust.table_moments import MomentProgram
from privacyfunnel.optimiser.two_secrets.pairing import priced_pairs
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.sets import Possible

MOST_VALUES = 500
"""Beyond, the linear programs for caps, one for each value, take more than minutes."""
MOST_FOR_MOMENTS = 150
"""Beyond, those for the cells of all tables do, which moments need."""
MOST_MOMENTS = 40_000
"""Beyond, sums over whole tables are left out of the program of moments."""


def bound_by_tables(joint: Joint, parts: list[Possible], limits: Limits, state: State) -> None:
    """Lower the bound of `state` to what is proven over the nested set of one view and two secrets.

    As many linear programs as there are values give a first bound, as many as there are cells of tables a second one.
    """
    _bound(Cells.within(joint, parts, limits), state)


def bound_by_clauses(demands: Sequence[Demand], state: State) -> None:
    """The same for promises of several clauses: what any of them allows alone bounds what all of them do."""
    for demand in demands:
        if demand.counted is not None and not state.stopped() and not state.closed():
            _bound(Cells.asked(demand.counted, demand), state)


def _bound(cells: Cells | None, state: State) -> None:
    if cells is None or not cells.conditions:
        return
    _bound_by_counts(cells, state)
    if cells.n_x > MOST_VALUES or state.closed() or state.stopped():
        return
    caps = Caps(cells)
    caps.lower(cells.single, state.stopped)
    _lower(state, caps.information)
    if cells.n_x > MOST_FOR_MOMENTS or state.closed():
        return
    caps.lower(range(1, cells.single[0]), state.stopped)
    caps.lower_to_members()
    if not state.stopped():
        with_sums = MomentProgram.size(cells.n_x, cells.n_tables, with_sums=True) <= MOST_MOMENTS
        _lower(state, MomentProgram(caps, with_sums=with_sums).proven(state.left(), state.stopped))


def _bound_by_counts(cells: Cells, state: State) -> None:
    """What could be kept if the promise were about the counted distribution alone, which is in the set."""
    polytope = polytope_for(cells.centre[:, cells.single], cells.conditions, cells.p)
    alone = State(cells.p, state.entropy, state.gap, None, None, state.interrupted)
    if len(polytope.G):
        priced_pairs(polytope, alone)
    _lower(state, alone.upper_bound)


def _lower(state: State, bound: float) -> None:
    if not math.isnan(bound):
        state.lower(float(bound + OUTWARDS * (1 + abs(bound))))
    state.report()
