"""Few secrets, quickly swept: column generation with prices that stay near the best so far.

The prices of a master with few columns leap about, and posteriors that undercut them matter little. Prices with a good
bound are near the best ones, though, and a complete sweep even says by how much they must fall to be too low for all
posteriors (`State.bound`). Kept in a box around such prices, the master's are good ones, too, and the box moves along.
"""

from __future__ import annotations

import numpy as np

from privacyfunnel.optimiser.few_secrets.all_posteriors import Sweep
from privacyfunnel.optimiser.program.master import BANISHED, Master
from privacyfunnel.optimiser.program.state import Search
from privacyfunnel.typing import Vector

WIDER = 2
"""By this factor a box grows in which nothing is left to be found: it must be left behind in a few rounds, however far
the right prices are."""


def generate_nearby(
    state: Search, sweep: Sweep, surely: Sweep | None, master: Master, y: Vector, worth: float
) -> tuple[int, int, Vector]:
    """Rounds, complete sweeps around Δ among them, and the last prices; y are prices to start with.

    Posteriors with r(v) < worth are added; a sweep of what contains Δ for sure, if there is one, gives the bound.
    """
    new, least = sweep.under(y, np.inf, state.stopped, everything=True)
    if least is None:
        return 0, 0, y
    master.add(new)
    centre, best = low_enough(y, least), state.bounded(y, least)
    width = max(state.gap, -float(least.min()))
    rounds = complete = 0
    while not state.stopped() and not state.closed():
        rounds += 1
        master.keep_prices(centre - width, centre + width)
        q, y, artificial = master.solve()
        new, least = sweep.under(y, worth, state.stopped, everything=True)
        if least is None:
            break
        bound = state.bounded(y, least)
        if bound < best:
            centre, best = low_enough(y, least), bound
        if artificial <= 0:
            state.keep(master.columns, q)
        elif bound - (state.entropy - float(y @ state.p_x)) <= state.gap:
            state.keep(master.columns, master.solve_without_artificial())
        ended = not len(new) and (artificial <= 0 or width > BANISHED)
        if surely is not None and (ended or state.would_lower(bound)):
            complete += bound_surely(state, surely, y)
        state.report()
        if ended:
            break
        if len(new):
            master.add(new)
        else:
            width *= WIDER
    return rounds, complete, y


def bound_surely(state: Search, surely: Sweep, y: Vector) -> bool:
    """Bound by these prices and a complete sweep of what contains Δ for sure; whether there was time for it."""
    _, least = surely.under(y, 0.0, state.stopped, everything=True)
    if least is not None:
        state.bound(y, least)
    return least is not None


def low_enough(y: Vector, least: Vector) -> Vector:
    """Prices that no posterior undercuts, where none that uses x undercuts y by more than −least[x]."""
    return np.asarray(y - np.maximum(0.0, -least))
