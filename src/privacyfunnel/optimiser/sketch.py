"""A good mixture of posteriors, fast and without a proof: for one block of many, where rows may be very many."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privacyfunnel.errors import SolverFailure
from privacyfunnel.optimiser import supports
from privacyfunnel.optimiser.master import Master
from privacyfunnel.optimiser.peel import peel
from privacyfunnel.optimiser.pricing import Oracle, extremes, local_search
from privacyfunnel.polytope import FEASIBLE, Columns, Polytope
from privacyfunnel.typing import Integers, Vector

LIST_VERTICES = 20_000
ROUNDS = 40
STARTS = 24
IMPROVES = 1e-5
"""Nats by which a posterior must undercut its price to be worth adding."""
FIRST_ROWS = 48
MORE_ROWS = 48
"""Rows that are added at a time, when posteriors break rows that were left out."""


def sketch(polytope: Polytope, stopped: Callable[[], bool]) -> tuple[Columns, Vector]:
    """Posteriors of Δ and weights that mix to p_x, with little entropy.

    Few of very many rows bind: it starts with those that cut off the most, and adds what is broken.
    """
    used = _first_rows(polytope)
    found: list[Columns] = []
    while True:
        try:
            columns = _vertices(Polytope(polytope.G[used], polytope.p_x), stopped)
        except SolverFailure:
            break
        found.append(columns)
        broken = np.setdiff1d(_broken(polytope, columns), used)
        if not len(broken) or stopped():
            break
        used = np.append(used, broken)
    return remix(polytope, found)


def remix(polytope: Polytope, found: list[Columns]) -> tuple[Columns, Vector]:
    """The best mixture of these posteriors, drawn into Δ where they stick out."""
    master = Master(polytope.p_x)
    for columns in found:
        master.add(Columns.from_dense(polytope.draw_in(columns.dense(polytope.n_x))))
    return master.columns, master.solve_without_artificial()


def _first_rows(polytope: Polytope) -> Integers:
    """The rows that are nearest to being broken by p_x, and for every value those that cut off the most of it."""
    G = polytope.G
    if len(G) <= FIRST_ROWS:
        return np.arange(len(G))
    slack = -(G @ polytope.p_x)
    reach = slack[:, None] / np.maximum(G, 1e-300)  # how far p_x can be moved towards each value
    near = np.argsort(reach, axis=0, kind="stable")[: max(1, FIRST_ROWS // polytope.n_x)].ravel()
    return np.unique(near)


def _broken(polytope: Polytope, columns: Columns) -> Integers:
    """The rows that posteriors break the most, one for every posterior, the worst ones first."""
    V = columns.dense(polytope.n_x)
    over = V @ polytope.G.T - FEASIBLE * (V @ np.abs(polytope.G).T)
    worst = over.argmax(axis=1) if over.size else np.empty(0, dtype=np.int64)
    depth = over[np.arange(len(worst)), worst]
    deepest = np.argsort(-depth, kind="stable")
    return np.unique(worst[deepest[depth[deepest] > 0]][:MORE_ROWS])


def _vertices(polytope: Polytope, stopped: Callable[[], bool]) -> Columns:
    """The vertices of Δ that a good mixture uses."""
    if supports.candidates(polytope, polytope.n_x) <= LIST_VERTICES:
        pool = supports.vertices(polytope, polytope.n_x)
        if len(pool):
            master = Master(polytope.p_x)
            master.add(pool)
            return _in_use(master)
    oracle, rng, master = Oracle(polytope), np.random.default_rng(0), Master(polytope.p_x)
    master.add(peel(polytope, oracle, stopped)[0])
    corners = extremes(oracle)[0]
    for _ in range(ROUNDS):
        master.add(Columns.from_dense(polytope.draw_in(corners)))
        q, y, _ = master.solve()
        some = master.columns.take(np.flatnonzero(q > 0)).dense(polytope.n_x)
        random = rng.dirichlet(np.full(polytope.n_x, 0.3), size=STARTS)
        starts = np.vstack([0.5 * some + 0.5 * polytope.p_x, random])
        corners = local_search(oracle, y, starts, IMPROVES, stopped)
        if not len(corners) or stopped():
            break
    return _in_use(master)


def _in_use(master: Master) -> Columns:
    return master.columns.take(np.flatnonzero(master.solve_without_artificial() > 0))
