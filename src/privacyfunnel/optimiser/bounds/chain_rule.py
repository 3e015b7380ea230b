"""A bound for promises with several views, by the chain rule: I(X;Y) = I(X^J;Y) + Σ P(x^J) I(X;Y | x^J).

For any set J of attributes, no protocol keeps more of X^J than the one that is best at just that, and none keeps
more of X given x^J than the best for those who know x^J. Both are smaller problems: the first has one entropy
term per cell of J, the second is a promise of the same kind on the values of one cell.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from privacyfunnel.errors import SolverFailure
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.numeric.information import entropy, no_less
from privacyfunnel.optimiser.generation.branch import prove
from privacyfunnel.optimiser.generation.pricing import SHARPNESS, WORTH_FINDING, CellOracle, essential, local_search
from privacyfunnel.optimiser.generation.search import generate
from privacyfunnel.optimiser.program.master import Master
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.reduce import Classes
from privacyfunnel.optimiser.program.state import VERTEX_ERROR, Search, State
from privacyfunnel.optimiser.program.tolerances import IMPROVES
from privacyfunnel.promises.views import View
from privacyfunnel.typing import Integers, Matrix

RANDOM_STARTS = 30
"""Masses of cells are few numbers, so a search is quick; what all of them miss costs a failed proof, which is slow."""
PART = 1 / 4
"""Of the gap, to which each of the two smaller problems is solved: what both leave open adds up to half of it."""


def bound_by_chains(polytope: Polytope, views: list[View], state: State, seconds: float) -> None:
    """Lower the bound of `state` to the least that one view's chain gives; all share the time."""
    polytope = Polytope(essential(polytope.G), polytope.p_x)
    end = ticks() + seconds
    chains = [view.cell for view in views if 1 < view.n_cells < polytope.n_x]
    for place, cell in enumerate(chains):
        now = ticks()
        if state.stopped() or state.closed() or now >= end:
            return
        state.lower(_chain(polytope, cell, state, (end - now) / (len(chains) - place)))
        state.report()


def _chain(polytope: Polytope, cell: Integers, state: State, seconds: float) -> float:
    """No protocol keeps more than this: what can be known of the cell, and of X given the cell."""
    now = ticks()
    inside = _kept_inside(polytope, cell, state, now + seconds / 2)
    between = _kept_between(polytope, cell, PART * state.gap, lambda: state.stopped() or ticks() >= now + seconds)
    return no_less(between + inside)


def _kept_between(polytope: Polytope, cell: Integers, gap: float, stopped: Callable[[], bool]) -> float:
    """No protocol keeps more than this of which cell X is in: column generation on the masses of cells."""
    masses = np.bincount(cell, weights=polytope.p_x).astype(np.float64)
    all_of_it = float(entropy(masses))
    bound = no_less(all_of_it)
    oracle = CellOracle(polytope, cell)
    rng = np.random.default_rng(0)
    master = Master(masses)
    try:
        better, largest = oracle.largest()
        while len(better) and not stopped():
            master.add(Columns.from_dense(better))
            _, y, _ = master.solve()
            better = local_search(oracle, y, _starts(rng, better, len(masses)), WORTH_FINDING * gap, stopped)
            if not len(better) and not stopped():
                y = master.central_prices()
                proof = prove(oracle, y, largest, gap, stopped)
                doubt = IMPROVES + VERTEX_ERROR * float(np.abs(y).max())
                bound = min(bound, all_of_it - float(y @ masses) + max(0.0, -proof.bound) + doubt)
                better = proof.improving
    except SolverFailure:
        pass  # the bound so far stands
    return bound


def _starts(rng: np.random.Generator, some: Matrix, cells: int) -> Matrix:
    return np.vstack([0.5 * some + 0.5 / cells, rng.dirichlet(np.full(cells, SHARPNESS), size=RANDOM_STARTS)])


def _kept_inside(polytope: Polytope, cell: Integers, state: State, until: float) -> float:
    """No protocol keeps more than this of X for those who know its cell: Σ P(cell) · the best inside."""
    masses = np.bincount(cell, weights=polytope.p_x).astype(np.float64)
    kept = 0.0
    left = 1.0
    for k in np.argsort(-masses):  # the cells that matter most go first
        x = np.flatnonzero(cell == k)
        now = ticks()
        share = max(0.0, until - now) * float(masses[k]) / max(left, float(masses[k]))
        kept += float(masses[k]) * _kept_in(polytope, x, state, share)
        left -= float(masses[k])
    return kept


def _kept_in(polytope: Polytope, x: Integers, state: State, seconds: float) -> float:
    """The same for one cell, in nats."""
    p = polytope.p_x[x] / polytope.p_x[x].sum()
    elsewhere = np.delete(polytope.G, x, axis=1).any(axis=1)
    all_of_it = float(entropy(p))
    classes = Classes.find(Polytope(polytope.G[~elsewhere][:, x], p))
    if len(x) == 1 or not len(classes.polytope.G):
        return no_less(all_of_it)
    inner = Search.within(classes.polytope, all_of_it, PART * state.gap, seconds, None, state.interrupted)
    with suppress(SolverFailure):  # the bound so far stands
        generate(inner, None)
    return inner.upper_bound
