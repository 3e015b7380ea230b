"""A bound for promises with several views: what could be kept if attackers knew one thing only, and it were public.

For any set J of attributes, I(X;Y) ≤ I(X; Y, X^J) = H(X^J) + Σ P(x^J) I(X;Y | x^J), and given x^J the promise
is one with a single prior, on the values that agree with x^J: a small problem, solved by listing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import SolverFailure
from privacyfunnel.numeric.information import entropy, no_less
from privacyfunnel.optimiser.program import supports
from privacyfunnel.optimiser.program.listing import LIST_VERTICES, list_vertices
from privacyfunnel.optimiser.program.polytope import Polytope
from privacyfunnel.optimiser.program.reduce import Classes
from privacyfunnel.optimiser.program.state import Search, State
from privacyfunnel.promises.clause import Clause
from privacyfunnel.promises.views import View
from privacyfunnel.typing import Integers

CELL_GAP = 1e-7
"""Nats; well below the 1e-6 that people ask for, so that what is left open in cells does not show."""
SHARE = 0.2
"""Of the time limit, when no further view is tried: what is left is for finding a protocol."""


def bound_by_views(clauses: Sequence[Clause], state: State) -> None:
    """Lower the bound of `state` to the least that one view of one clause alone gives."""
    for clause, view in ((one.granted(), view) for one in clauses for view in one.views):
        if state.stopped() or state.spent() > SHARE:
            return
        masses = np.bincount(view.cell, weights=clause.joint.p_x).astype(np.float64)
        inside = [_kept_in(clause, np.flatnonzero(view.cell == k), state) for k in range(view.n_cells)]
        state.lower(no_less(float(entropy(masses)) + float(masses @ inside)))


def _kept_in(clause: Clause, x: Integers, state: State) -> float:
    """No protocol that keeps the clause keeps more than this of X, given that X is one of the values x."""
    if len(x) == 1:
        return 0.0
    p = clause.joint.p[:, x]
    there = np.flatnonzero((p > 0).any(axis=1))
    cell = Joint.from_support(p[there], np.arange(len(x)))
    about = None if clause.about is None else [s for s, old in enumerate(there.tolist()) if old in clause.about]
    view, limits = View.of((), cell), clause.limits
    classes = Classes.find(Polytope(limits.rows(cell, [view], about), cell.p_x))
    rows = limits.outer_rows(cell, [view], about)
    outer = classes.outer(Polytope(rows.G, cell.p_x, rows.size, rows.terms, cell.weights))
    rank = min(cell.n_s, cell.n_x)
    if supports.candidates(classes.polytope, rank) > LIST_VERTICES:
        return no_less(cell.entropy)
    inner = Search.within(classes.polytope, cell.entropy, CELL_GAP, None, None, state.interrupted, around=outer)
    try:
        list_vertices(inner, rank)
    except SolverFailure:
        return no_less(cell.entropy)
    return inner.upper_bound
