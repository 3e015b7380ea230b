"""All vertices of Δ when secrets are few: a vertex has at most c non-zeros, so list its supports."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from privacyfunnel.optimiser.program.polytope import FEASIBLE, Columns, Polytope
from privacyfunnel.typing import Integers, Matrix

CHUNK = 2_000_000
"""Numbers held at once while vertices are tried."""
COUNTLESS = 10**15
"""More candidates than this are not counted: nobody would list them."""


def candidates(polytope: Polytope, rank: int) -> int:
    """How many (support, tight rows) pairs there are to try, for supports of at most `rank` values; or COUNTLESS."""
    rows, total = len(polytope.G), 0
    for k in range(1, min(rank, polytope.n_x, rows + 1) + 1):
        total += comb(polytope.n_x, k) * comb(rows, k - 1)
        if total >= COUNTLESS:
            return COUNTLESS
    return total


def vertices(polytope: Polytope, rank: int) -> Columns:
    """Every vertex of Δ with at most `rank` non-zeros (and possibly a few other points of Δ).

    With k non-zeros, k − 1 rows of G are tight; their null vector is the vertex if it is positive
    and meets the other rows.
    """
    n, rows = polytope.n_x, len(polytope.G)
    found = [_feasible(polytope, np.arange(n)[:, None], np.ones((n, 1)))]
    for k in range(2, min(rank, n, rows + 1) + 1):
        tight = _choose(rows, k - 1)
        supports = _choose(n, k)
        step = max(1, CHUNK // (max(len(tight), rows) * k * k))
        for start in range(0, len(supports), step):
            found.extend(_with_support(polytope, supports[start : start + step], tight))
    return Columns.join(found)


def _choose(n: int, k: int) -> Integers:
    """The k-subsets of 0…n−1, as rows."""
    if k == 2:
        return np.stack(np.triu_indices(n, 1), axis=1)
    return np.fromiter((i for subset in combinations(range(n), k) for i in subset), np.int64).reshape(-1, k)


def _with_support(polytope: Polytope, supports: Integers, tight: Integers) -> list[Columns]:
    k = supports.shape[1]
    blocks = polytope.G[tight[None, :, :, None], supports[:, None, None, :]]
    v = _null_vectors(blocks)
    v *= np.sign(v[..., :1])
    support, which = np.nonzero((v > 0).all(axis=-1))
    if not len(support):
        return []
    mass = v[support, which]
    return [_feasible(polytope, supports[support].reshape(-1, k), mass / mass.sum(axis=1, keepdims=True))]


def _null_vectors(M: Matrix) -> Matrix:
    """W with M w = 0 for matrices of shape (…, k−1, k): w[j] = (−1)^j det(M without column j)."""
    k = M.shape[-1]
    if k == 2:
        return np.stack([M[..., 0, 1], -M[..., 0, 0]], axis=-1)
    with np.errstate(divide="ignore"):  # LAPACK may divide by a pivot that underflowed; the determinant is then 0
        minors = [np.linalg.det(np.delete(M, j, axis=-1)) for j in range(k)]
    return np.stack([minor if j % 2 == 0 else -minor for j, minor in enumerate(minors)], axis=-1)


def _feasible(polytope: Polytope, support: Integers, mass: Matrix) -> Columns:
    """Those that meet every row, up to a rounding error relative to the row's own terms."""
    if len(polytope.G):
        terms = polytope.G.T[support] * mass[:, :, None]
        kept = (terms.sum(axis=1) <= FEASIBLE * np.abs(terms).sum(axis=1)).all(axis=1)
        support, mass = support[kept], mass[kept]
    return Columns(support, mass)
