"""Few secrets: coordinates in which a promise has few dimensions, and the faces where extreme posteriors lie.

With one view the rows of G and the row of ones span r ≤ c dimensions: G v = W u with u = C v, and C has r rows.
A posterior is extreme if its k values are mixed to lie on k − 1 rows at once. For k = r such rows fix u, so the
extreme posteriors with r values are the ways to write one of a few points u as a mixture of r columns of C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privacyfunnel.numeric.lp import Infeasible
from privacyfunnel.optimiser.generation.pricing import Oracle
from privacyfunnel.optimiser.program.polytope import Polytope
from privacyfunnel.optimiser.program.supports import HALF_ULP, independent_rows
from privacyfunnel.optimiser.program.tolerances import ROUNDINGS
from privacyfunnel.typing import Integers, Matrix, Vector

ZERO = 1e-12
"""Well above what float64 leaves of a zero, after a handful of operations on numbers up to 1."""
CLEAR = 1e-6
"""What decides whether rows are independent must be below ZERO or above CLEAR, relative to rows with a largest
coefficient of 1. In between it might be a rounding error, a face might be missed, and a bound be wrong."""
AJAR = 1e-7
"""How nearly rows must be tight at some posterior for a face to count as open: the solver is far more exact."""
FAINTEST = 1e-9
"""A row without a larger positive entry than this leaves float64 too few digits to tell faces apart."""
RAREST = 1e-8
"""Where some value is rarer than this, posteriors that matter hide in the rounding errors of others."""
MOST_FACES = 20_000
"""Each takes a linear program to find, and is swept along for every choice of values; beyond, columns are generated."""


@dataclass(frozen=True, eq=False)
class Faces:
    """C[r, x], the points u (rows) where r − 1 rows are tight, and sets of fewer tight rows by their number."""

    C: Matrix
    points: Matrix
    tight: Integers
    """tight[t]: the rows that are tight at point t."""
    doubt: Vector
    """doubt[j]: how wrong coordinate j of values and points may be."""
    sets: dict[int, Integers]

    @property
    def rank(self) -> int:
        """The most values in an extreme posterior."""
        return len(self.C)


def find_faces(polytope: Polytope, stopped: Callable[[], bool] = lambda: False, *, surely: bool = True) -> Faces | None:
    """The faces of Δ on which extreme posteriors may lie.

    None if there are too many of them, when `stopped()`, or if float64 cannot tell them apart `surely`. Where nothing
    hangs on all of them, those that it cannot tell apart are passed over instead.
    """
    faint = polytope.G.max(axis=1, initial=0.0).min(initial=1.0) < FAINTEST
    if surely and (faint or polytope.p_x.min() < RAREST):
        return None
    try:
        return _find(polytope, stopped, _is_surely_something if surely else _is_something)
    except _TooClose:
        return None


class _TooClose(Exception):
    """A number on which something hangs is neither clearly 0 nor clearly something else."""


def _is_something(size: float) -> bool:
    return size >= CLEAR


def _is_surely_something(size: float) -> bool:
    if ZERO < size < CLEAR:
        raise _TooClose
    return size >= CLEAR


def _find(polytope: Polytope, stopped: Callable[[], bool], is_something: Callable[[float], bool]) -> Faces | None:
    C, chosen = _coordinates(polytope, is_something)
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
        for rows in map(tuple, independent_rows(polytope, np.array(longer, dtype=np.int64).reshape(-1, size)).tolist()):
            if stopped():
                return None
            sizes = np.linalg.svd(W[list(rows)], compute_uv=False)
            if is_something(float(sizes[-1] / sizes[0])) and _open(oracle, rows):
                open_sets.append(rows)
        sets[size] = np.array(open_sets, dtype=np.int64).reshape(-1, size)
    tight = sets.pop(rank - 1) if rank > 1 else np.empty((1, 0), dtype=np.int64)
    left = ROUNDINGS * polytope.sizes.max(initial=1.0) + float(np.abs(polytope.G - W @ C).max(initial=0.0))
    points, tight, off = _points(W, tight, left)
    doubt = np.concatenate([[0.0], ROUNDINGS * polytope.sizes[chosen].max(axis=1, initial=0.0)])
    return Faces(C, points, tight, np.maximum(doubt, off), sets)


def _coordinates(polytope: Polytope, is_something: Callable[[float], bool]) -> tuple[Matrix, list[int]]:
    """The row of ones, and rows of G that with it span all of G, each the one that adds most; and which these are."""
    rows, chosen = [np.ones(polytope.n_x)], []
    left = polytope.G - polytope.G.mean(axis=1, keepdims=True)
    largest = np.linalg.norm(left, axis=1).max(initial=0.0)
    while len(left):
        sizes = np.linalg.norm(left, axis=1)
        best = int(sizes.argmax())
        if largest == 0 or not is_something(float(sizes[best] / largest)):
            break
        rows.append(polytope.G[best])
        chosen.append(best)
        direction = left[best] / sizes[best]
        left = left - np.outer(left @ direction, direction)
        left = left - np.outer(left @ direction, direction)  # twice is enough against rounding errors
    return np.array(rows), chosen


def _open(oracle: Oracle, rows: tuple[int, ...]) -> bool:
    """Whether a posterior of Δ may exist for which these rows are tight."""
    tight = np.zeros(len(oracle.G), dtype=bool)
    tight[list(rows)] = True
    try:
        oracle.restrict(tight, np.ones(oracle.n_x, dtype=bool), AJAR)
        oracle.minimise(np.zeros(oracle.n_x))
    except Infeasible:
        return False
    finally:
        oracle.unrestrict()
    return True


def _points(W: Matrix, sets: Integers, left: float) -> tuple[Matrix, Integers, Vector]:
    """The u with u[0] = 1 and W u ≤ 0 where a set of rows is tight, these sets, and how wrong coordinates may be.

    `left` is how wrong a row W u may be as one of G.
    """
    r = W.shape[1]
    system = np.zeros((len(sets), r, r))
    system[:, 0, 0] = 1.0
    system[:, 1:] = W[sets]
    inverse = np.linalg.inv(system)
    u = inverse[..., 0] + 0.0  # no -0.0
    shaky = np.abs(inverse)
    off = (shaky[..., 1:] * left).sum(axis=-1)
    off += (
        shaky
        @ np.ones(r)
        * 8
        * r
        * HALF_ULP
        * np.abs(system).max(axis=(1, 2), initial=1.0)[:, None]
        * (np.abs(u).max(axis=1, keepdims=True, initial=1.0))
    )
    kept = (u @ W.T <= off @ np.abs(W).T + left).all(axis=1)
    return u[kept], sets[kept], off[kept].max(axis=0, initial=0.0)
