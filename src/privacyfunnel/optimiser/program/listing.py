"""Few secrets: all vertices of Δ are listed, and one linear program over them is the whole problem."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from privacyfunnel.errors import SolverFailure
from privacyfunnel.optimiser.program import supports
from privacyfunnel.optimiser.program.master import Master
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.state import Search
from privacyfunnel.typing import Vector

LIST_VERTICES = 1_000_000
"""Up to this many candidates, all vertices are listed; beyond, they are generated on demand."""
VERTICES_AT_ONCE = 2_000
"""Up to this many vertices go into the master program at once."""
LOOKED_THROUGH = 50
"""Times VERTICES_AT_ONCE: columns of least reduced cost, among which a round's are chosen; others improve less."""
OF_EACH = 3
"""Columns of a round that use the same value: fewer would need more rounds, more are alike."""


def can_list(polytope: Polytope, rank: int) -> bool:
    """Whether there are few enough candidates for extreme posteriors to list them all."""
    return supports.candidates(polytope, rank) <= LIST_VERTICES


def list_vertices(state: Search, rank: int) -> str:
    """All vertices are known: the master program over them is the whole problem."""
    pool = supports.vertices(state.polytope, rank)
    if not len(pool):
        raise SolverFailure("no extreme posterior was found")
    around = cache(lambda: supports.enclosed_vertices(state.outer, rank))
    _mix(state, pool, around, kept=True)
    if not state.closed() and not state.stopped():  # the best prices for what is around may be others
        _mix(state, around().columns, around, kept=False)
    vague = 0 if state.stopped() else sum(map(len, around().vague))
    doubt = f"; the bound allows anything on {vague:,} supports that float64 cannot resolve" if vague else ""
    return f"all {len(pool):,} extreme posteriors listed, linear program{doubt}"


def _mix(state: Search, pool: Columns, around: Callable[[], supports.Enclosed], *, kept: bool) -> None:
    """Solve the master program over a pool of posteriors, and hold its prices against all that are around."""
    master = Master(state.polytope.p_x)
    inside = np.zeros(len(pool), dtype=bool)
    cost = pool.entropy()
    artificial, y = 0.0, np.zeros(state.polytope.n_x)
    if len(pool) > VERTICES_AT_ONCE:
        y = np.full(state.polytope.n_x, float(cost.mean()))
    while not state.stopped():
        r = cost - pool.dot(y)
        fresh = np.flatnonzero(~inside) if len(pool) <= VERTICES_AT_ONCE else _most_improving(pool, r, inside)
        if fresh.size:
            master.add(pool.take(fresh))
            inside[fresh] = True
        q, y, artificial = master.solve()
        settled = artificial <= 0 or not master.raise_penalty()
        if kept and artificial <= 0:
            state.keep(master.columns, q)
        state.bound(y, around().least(y))
        state.report()
        if state.closed() or (not fresh.size and settled):
            break
    if kept and artificial > 0:
        state.keep(master.columns, master.solve_without_artificial())


def _most_improving(pool: Columns, r: Vector, inside: np.ndarray) -> np.ndarray:
    """For every value x, the few columns that use it with the least reduced cost."""
    order = np.argsort(r, kind="stable")
    order = order[~inside[order]][: LOOKED_THROUGH * VERTICES_AT_ONCE]
    order = order[r[order] < 0] if inside.any() else order
    used = pool.support[order]
    seen: dict[int, int] = {}
    chosen = []
    for i, support in zip(order, used.tolist(), strict=True):
        if any(seen.get(x, 0) < OF_EACH for x in support):
            chosen.append(i)
            for x in support:
                seen[x] = seen.get(x, 0) + 1
        if len(chosen) >= VERTICES_AT_ONCE:
            break
    return np.array(chosen, dtype=np.int64)
