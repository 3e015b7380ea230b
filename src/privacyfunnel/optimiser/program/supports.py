"""All vertices of Δ when secrets are few: a vertex has at most c non-zeros, so list its supports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.numeric.information import plogp
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.tolerances import AT_ONCE, FEASIBLE, ROUNDINGS
from privacyfunnel.typing import Integers, Matrix, Vector

HALF_ULP = 2.0**-53
"""Relative error of one operation in float64: half a unit in the last place."""
MOST_EXACT = 2_000
"""Up to this many supports are looked at in exact arithmetic."""
UNCERTAIN = 0.1
"""A posterior whose masses are less certain than this, in all, may be anything on its support."""
STEEPEST = 0.36
"""Up to here −d ln d grows with d; that is the most by which −v ln v changes when v changes by d."""
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
        step = max(1, AT_ONCE // (max(len(tight), rows) * k * k))
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


@dataclass(frozen=True, eq=False)
class Enclosed:
    """Points that enclose every vertex of Δ: true masses lie within `error` of `mass`, for exact rows of G.

    Of `vague` supports only that is known: they may be those of a vertex.
    """

    columns: Columns
    error: Matrix
    vague: list[Integers]

    def least(self, y: Vector) -> float:
        """H(v) − y·v is at least this in all of Δ. On a vague support it is least at a single value."""
        support, mass = self.columns.support, self.columns.mass
        spoilt = -plogp(np.minimum(self.error, STEEPEST)).sum(axis=1)
        prices = (y[support] * mass + np.abs(y[support]) * self.error).sum(axis=1)
        least = float((self.columns.entropy() - spoilt - prices).min(initial=np.inf))
        return min([least, *(-float(y[supports].max()) for supports in self.vague if len(supports))])


def enclosed_vertices(polytope: Polytope, rank: int) -> Enclosed:
    """Every vertex of Δ with at most `rank` non-zeros, with its rounding errors, and possibly other points.

    A candidate is left out only if it is none for sure: if two of its masses have different signs, or it oversteps a
    row, by more than the errors of the entries of G and of all arithmetic could explain.
    """
    G, size = polytope.G, polytope.sizes
    n, rows = polytope.n_x, len(G)
    alone = np.flatnonzero((ROUNDINGS * size >= G).all(axis=0))[:, None]
    found, errors, vague = [Columns(alone, np.ones((len(alone), 1)))], [np.zeros((len(alone), 1))], []
    for k in range(2, min(rank, n, rows + 1) + 1):
        for supports, tight in _chunks(_choose(n, k), independent_rows(polytope, _choose(rows, k - 1)), k):
            support, mass, error, unknown = _enclosed(polytope, supports, tight)
            found.append(Columns(support, mass))
            errors.append(error)
            vague.append(independent_values(polytope, unknown))
    width = max(error.shape[1] for error in errors)
    padded = [np.pad(error, ((0, 0), (0, width - error.shape[1]))) for error in errors]
    return Enclosed(Columns.join(found), np.concatenate(padded), vague)


def independent_rows(polytope: Polytope, tight: Integers) -> Integers:
    """Sets of rows without those that cannot all be tight on a support and independent there.

    A tight row fixes the ratio of two numbers. Around a circle of such ratios, all of different widths, the product is
    not 1: the numbers would have to be 0, and then the rows are 0 on the support. So rows that are as many as
    the numbers that they compare are no use, nor are more rows of a cell than it has ratios.
    """
    if polytope.terms is None or not len(tight) or polytope.terms[:, :2].max() > 62:
        return tight
    numbers: Integers = (1 << polytope.terms[:, :2]).sum(axis=1)  # as bits
    cell, ratios = polytope.terms[tight, 2], polytope.terms[tight, 3]
    kept = ((cell[:, :, None] == cell[:, None, :]).sum(axis=2) <= ratios).all(axis=1)
    for some in range(1, 1 << tight.shape[1]):
        chosen = [i for i in range(tight.shape[1]) if some >> i & 1]
        bits = np.ascontiguousarray(np.bitwise_or.reduce(numbers[tight[:, chosen]], axis=1)).view(np.uint8)
        kept &= np.unpackbits(bits.reshape(len(tight), -1), axis=1).sum(axis=1) > len(chosen)
    return np.asarray(tight[kept])


def independent_values(polytope: Polytope, supports: Integers) -> Integers:
    """Supports, without those on which the rows are dependent, in exact arithmetic; all of them if they are many."""
    if polytope.beliefs is None or len(supports) > MOST_EXACT:
        return supports
    kept = [_rank(polytope.beliefs[:, support].tolist()) == len(support) for support in supports]
    return np.asarray(supports[np.array(kept, dtype=bool)])


def _rank(rows: list[list[int]]) -> int:
    """Of a matrix of integers, by elimination in integers."""
    rank = 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is not None:
            rows[rank], rows[pivot] = rows[pivot], rows[rank]
            top = rows[rank]
            for i in range(rank + 1, len(rows)):
                if rows[i][column]:
                    ours, theirs = rows[i][column], top[column]
                    rows[i] = [theirs * a - ours * b for a, b in zip(rows[i], top, strict=True)]
            rank += 1
    return rank


def _chunks(supports: Integers, tight: Integers, k: int) -> Iterator[tuple[Integers, Integers]]:
    """All pairs of a support and a set of tight rows, in pieces whose minors fit into memory."""
    most = max(1, AT_ONCE // (2**k + k * k))
    for some in range(0, len(tight), most):
        part = tight[some : some + most]
        step = max(1, most // len(part))
        for start in range(0, len(supports), step):
            yield supports[start : start + step], part


def _enclosed(polytope: Polytope, supports: Integers, tight: Integers) -> tuple[Integers, Matrix, Matrix, Integers]:
    """Supports, masses and errors of the candidates that may be vertices; and supports that may be anybody's."""
    k = supports.shape[1]
    at = (tight[None, :, :, None], supports[:, None, None, :])
    M, B = polytope.G[at], polytope.sizes[at]
    up, down = ((sign * M > -ROUNDINGS * B) & (B > 0) for sign in (1, -1))
    support, which = np.nonzero((up.any(axis=-1) & down.any(axis=-1)).all(axis=-1))  # no other rows can be tight
    w, error = _null_vectors_within(M[support, which], B[support, which])
    w *= np.sign(np.take_along_axis(w, np.abs(w).argmax(axis=-1)[:, None], axis=-1))
    open_ = (w >= -error).all(axis=-1) & error.any(axis=-1)
    support, w, error = supports[support[open_]], w[open_], error[open_]
    total, doubt = w.clip(0).sum(axis=-1, keepdims=True), error.sum(axis=-1, keepdims=True)
    clear = (doubt < UNCERTAIN * total)[:, 0]
    unknown = np.unique(support[~clear], axis=0)
    support, w, error, total, doubt = support[clear], w[clear].clip(0), error[clear], total[clear], doubt[clear]
    mass = w / total
    error = (error + mass * doubt) / (total - doubt) + 2 * k * HALF_ULP
    kept = _may_be_feasible(polytope, support, mass, error)
    return support[kept], mass[kept], error[kept], unknown


def _null_vectors_within(M: Matrix, B: Matrix) -> tuple[Matrix, Matrix]:
    """`_null_vectors` of matrices known up to ROUNDINGS·B, and how wrong they may be.

    A determinant is a sum of signed products, one entry from every row. By errors of the entries and of the arithmetic
    it is off by a number of roundings times the same sum without signs, over B (a permanent).
    """
    k = M.shape[-1]
    det, per = {0: np.ones(len(M))}, {0: np.ones(len(M))}
    for row in range(k - 1):
        longer: dict[int, Matrix] = {}
        larger: dict[int, Matrix] = {}
        for columns in det:
            for j in range(k):
                if not columns >> j & 1:
                    sign = -1.0 if (columns >> j).bit_count() % 2 else 1.0  # columns right of j that are taken
                    both = columns | 1 << j
                    longer[both] = longer.get(both, 0.0) + sign * M[:, row, j] * det[columns]
                    larger[both] = larger.get(both, 0.0) + B[:, row, j] * per[columns]
        det, per = longer, larger
    everything = (1 << k) - 1
    w = np.stack([det[everything ^ 1 << j] * (-1) ** j for j in range(k)], axis=-1)
    roundings = (k - 1) * (ROUNDINGS + (k + 2) * HALF_ULP)
    return w, 2 * roundings * np.stack([per[everything ^ 1 << j] for j in range(k)], axis=-1)


def _may_be_feasible(polytope: Polytope, support: Integers, mass: Matrix, error: Matrix) -> NDArray[np.bool_]:
    """Those that no row cuts off for sure."""
    kept = np.ones(len(support), dtype=bool)
    for g, b in zip(polytope.G, polytope.sizes, strict=True):
        entries, doubt = g[support], 2 * ROUNDINGS * b[support]
        over = (entries * mass).sum(axis=1)
        kept &= over <= ((np.abs(entries) + doubt) * error + doubt * mass).sum(axis=1)
    return kept
