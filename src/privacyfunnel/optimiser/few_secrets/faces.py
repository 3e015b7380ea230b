"""Few secrets: coordinates in which a promise has few dimensions, and the faces where extreme posteriors lie.

With one view the rows of G and the row of ones span r ≤ c dimensions: G v = W u with u = C v, and C has r rows.
A posterior is extreme if its k values are mixed to lie on k − 1 rows at once. For k = r such rows fix u, so the
extreme posteriors with r values are the ways to write one of a few points u as a mixture of r columns of C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privacyfunnel.optimiser.generation.pricing import Oracle
from privacyfunnel.optimiser.program.lp import Infeasible
from privacyfunnel.optimiser.program.polytope import Polytope
from privacyfunnel.typing import Integers, Matrix

NOTHING = 1e-12
"""Well above what float64 leaves of a zero, after a handful of operations on numbers up to 1."""
CLEAR = 1e-6
"""What decides (whether rows are independent, whether a point oversteps a row) must be below NOTHING or above CLEAR,
relative to rows with a largest coefficient of 1. In between it might be a rounding error, a face might be missed, and
a bound be wrong."""
RAREST = 1e-8
"""Where some value is rarer than this, posteriors that matter hide in the rounding errors of others."""
SAME_DIGITS = 12
"""Points and posteriors that agree to so many digits are one, found from several sides."""
MOST_FACES = 20_000
"""Each takes a linear program to find, and is swept along for every choice of values; beyond, columns are generated."""


@dataclass(frozen=True, eq=False)
class Faces:
    """C[r, x], the points u (rows) where r − 1 rows are tight, and sets of fewer tight rows by their number."""

    C: Matrix
    points: Matrix
    sets: dict[int, Integers]

    @property
    def rank(self) -> int:
        """The most values in an extreme posterior."""
        return len(self.C)


def find_faces(polytope: Polytope, stopped: Callable[[], bool] = lambda: False) -> Faces | None:
    """The faces of Δ on which extreme posteriors may lie.

    None if there are too many of them, if float64 cannot tell them apart for sure, or when `stopped()`.
    """
    try:
        return _find(polytope, stopped) if polytope.p_x.min() >= RAREST else None
    except _TooClose:
        return None


class _TooClose(Exception):
    """A number on which something hangs is neither clearly 0 nor clearly something else."""


def _is_something(size: float) -> bool:
    if NOTHING < size < CLEAR:
        raise _TooClose
    return size >= CLEAR


def _find(polytope: Polytope, stopped: Callable[[], bool]) -> Faces | None:
    C = _coordinates(polytope)
    W = np.asarray(np.linalg.lstsq(C.T, polytope.G.T, rcond=None)[0].T, dtype=np.float64)
    rank = len(C)
    oracle = Oracle(polytope)
    sets: dict[int, Integers] = {}
    open_sets: list[tuple[int, ...]] = [()]
    for size in range(1, rank):
        longer = [(*rows, row) for rows in open_sets for row in range(rows[-1] + 1 if rows else 0, len(W))]
        if len(longer) > MOST_FACES:
            return None
        open_sets = []
        for rows in longer:
            if stopped():
                return None
            sizes = np.linalg.svd(W[list(rows)], compute_uv=False)
            if _is_something(float(sizes[-1] / sizes[0])) and _open(oracle, rows):
                open_sets.append(rows)
        sets[size] = np.array(open_sets, dtype=np.int64).reshape(-1, size)
    points = _points(W, sets.pop(rank - 1)) if rank > 1 else np.ones((1, 1))
    return Faces(C, points, sets)


def _coordinates(polytope: Polytope) -> Matrix:
    """The row of ones, and rows of G that with it span all of G, each the one that adds most."""
    rows = [np.ones(polytope.n_x)]
    left = polytope.G - polytope.G.mean(axis=1, keepdims=True)
    largest = np.linalg.norm(left, axis=1).max(initial=0.0)
    while len(left):
        sizes = np.linalg.norm(left, axis=1)
        best = int(sizes.argmax())
        if largest == 0 or not _is_something(float(sizes[best] / largest)):
            break
        rows.append(polytope.G[best])
        direction = left[best] / sizes[best]
        left = left - np.outer(left @ direction, direction)
        left = left - np.outer(left @ direction, direction)  # twice is enough against rounding errors
    return np.array(rows)


def _open(oracle: Oracle, rows: tuple[int, ...]) -> bool:
    """Whether a posterior of Δ exists for which these rows are tight."""
    tight = np.zeros(len(oracle.G), dtype=bool)
    tight[list(rows)] = True
    try:
        oracle.restrict(tight, np.ones(oracle.n_x, dtype=bool))
        oracle.minimise(np.zeros(oracle.n_x))
    except Infeasible:
        return False
    finally:
        oracle.unrestrict()
    return True


def _points(W: Matrix, sets: Integers) -> Matrix:
    """The different u with u[0] = 1 and W u ≤ 0 where a set of rows is tight."""
    r = W.shape[1]
    system = np.zeros((len(sets), r, r))
    system[:, 0, 0] = 1.0
    system[:, 1:] = W[sets]
    rhs = np.zeros((len(sets), r, 1))
    rhs[:, 0] = 1.0
    u = np.linalg.solve(system, rhs)[..., 0]
    kept = [not _is_something(max(0.0, float(over))) for over in (u @ W.T).max(axis=1)]
    u = u[kept] + 0.0  # no -0.0
    mantissa, exponent = np.frexp(u)
    _, first = np.unique(np.concatenate([np.round(mantissa, SAME_DIGITS), exponent], axis=1), axis=0, return_index=True)
    return np.asarray(u[first])
