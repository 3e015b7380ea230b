"""A good mixture of posteriors, fast and without a proof: for one column of many, where rows may be very many."""

from __future__ import annotations

import numpy as np

from privacyfunnel.errors import SolverFailure
from privacyfunnel.numeric.information import entropy
from privacyfunnel.optimiser.generation.first_mixture import peel
from privacyfunnel.optimiser.generation.pricing import Oracle, extremes, local_search
from privacyfunnel.optimiser.program import supports
from privacyfunnel.optimiser.program.master import Master
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.tolerances import FEASIBLE, SHARPNESS
from privacyfunnel.typing import Integers, Matrix, Vector

LIST_VERTICES = 20_000
"""Up to this many candidates, listing takes no longer than a search: a column is solved dozens of times."""
ROUNDS = 40
"""At most; a round that is not WORTH_A_ROUND ends them before."""
STARTS = 8
"""Points in use, and as many random ones, from which each round searches: a sketch is to be quick."""
NO_LIMIT = 1e-300
"""Stands in for a coefficient that is not positive: on the way to such a value a row never stops p_x."""
LEAST_UNDERCUT = 1e-5
"""Nats by which a posterior must undercut its price to be worth adding."""
WORTH_A_ROUND = 2e-3
"""The share by which a round must add to what is kept, for another to be worth it."""
FIRST_ROWS = 48
"""Up to this many rows are all used; of more, about so many at first. With fewer, more are found broken later."""
MORE_ROWS = 48
"""Rows that are added at a time, when posteriors break rows that were left out."""


def sketch(polytope: Polytope) -> tuple[Columns, Vector]:
    """Posteriors of Δ and weights that mix to p_x, with little entropy.

    Few of very many rows bind: the search knows those that cut off the most and, from then on, those that a
    posterior it found has broken. What it finds is drawn into Δ before it is used.
    """
    n, rng, master = polytope.n_x, np.random.default_rng(0), Master(polytope.p_x)
    used = _first_rows(polytope)
    relaxed = Polytope(polytope.G[used], polytope.p_x)
    oracle = Oracle(relaxed)
    if len(used) == len(polytope.G) and supports.candidates(polytope, n) <= LIST_VERTICES:
        master.add(supports.vertices(polytope, n))
        return master.mixture()
    try:
        corners = np.vstack([extremes(oracle)[0], peel(relaxed, oracle, _never)[0].dense(n)])
    except SolverFailure:  # nothing is left but p_x itself, and that by a hair's breadth
        return master.columns.take(np.zeros(1, dtype=np.int64)), np.ones(1)
    gained = 0.0
    for _ in range(ROUNDS):
        master.add(Columns.from_dense(polytope.draw_in(corners)))
        broken = np.setdiff1d(_broken(polytope, corners), used)
        if len(broken):
            used = np.append(used, broken)
            oracle = Oracle(Polytope(polytope.G[used], polytope.p_x))
        q, y, _ = master.solve()
        before, gained = gained, float(entropy(polytope.p_x) - q @ master.columns.entropy())
        if not len(broken) and 0 < gained < before * (1 + WORTH_A_ROUND):
            break
        some = master.columns.take(rng.permutation(np.flatnonzero(q > 0))[:STARTS]).dense(n)
        random = rng.dirichlet(np.full(n, SHARPNESS), size=STARTS)
        try:
            corners = local_search(
                oracle, y, np.vstack([0.5 * some + 0.5 * polytope.p_x, random]), LEAST_UNDERCUT, _never
            )
        except SolverFailure:
            break
        if not len(corners):
            break
    return master.mixture()


def remix(polytope: Polytope, columns: Columns) -> tuple[Columns, Vector]:
    """The best mixture of these posteriors, drawn into Δ where they stick out."""
    master = Master(polytope.p_x)
    master.add(Columns.from_dense(polytope.draw_in(columns.dense(polytope.n_x))))
    return master.mixture()


def _never() -> bool:
    """Nothing stops it before it is done."""
    return False


def _first_rows(polytope: Polytope) -> Integers:
    """For every value, the rows that stop p_x soonest on its way to that value alone."""
    G = polytope.G
    if len(G) <= FIRST_ROWS:
        return np.arange(len(G))
    slack = -(G @ polytope.p_x)
    reach = slack[:, None] / np.maximum(G, NO_LIMIT)
    near = np.argsort(reach, axis=0, kind="stable")[: max(1, FIRST_ROWS // polytope.n_x)].ravel()
    return np.unique(near)


def _broken(polytope: Polytope, V: Matrix) -> Integers:
    """The row that each posterior breaks the most, the worst ones first."""
    over = V @ polytope.G.T - FEASIBLE * (V @ np.abs(polytope.G).T)
    worst = over.argmax(axis=1) if over.size else np.empty(0, dtype=np.int64)
    depth = over[np.arange(len(worst)), worst]
    deepest = np.argsort(-depth, kind="stable")
    return np.unique(worst[deepest[depth[deepest] > 0]][:MORE_ROWS])
