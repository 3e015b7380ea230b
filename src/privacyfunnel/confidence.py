"""Confidence sets from counts: which distributions may n people have been drawn from?

For each cell of each view, the set holds all distributions with every P(x|s) and every P(s) in its own interval.
The intervals are those of Clopper and Pearson (1934), which are exact at any count, and cover all at once
(Bonferroni): with probability at least `confidence`, the distribution the people were drawn from is in the set.

Everything is conditional on X being one of the values that were seen, because only those are released. Values
that were not seen may still have mass; what they may have at most widens the intervals of the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.errors import InvalidJoint, InvalidPromise
from privacyfunnel.joint import Joint
from privacyfunnel.limits import View
from privacyfunnel.typing import Integers, Vector

SCALE = 2**60
"""Ends of intervals are integers over SCALE, rounded outwards."""
OUTWARDS = 1e-9
"""Relative error granted to the inverse of the incomplete beta function; SciPy's is below 1e-12."""
MOST_ENTRIES = 40_000_000
"""Intervals held at once."""
NOBODY = -1
"""Fills up the members of small cells."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """What the counts leave open in one view, for each of its cells that holds several values of X.

    Arrays have axes [cell, s, k]: member k of the cell is the value members[cell, k] of X, or NOBODY, whose
    interval is [0, 0]. Ends are integers over SCALE; P(x|s) and P(s) are those given the cell.
    """

    view: View
    cells: Integers
    """The numbers of these cells in the view."""
    members: Integers
    lower: Integers
    """At most P(x|s)."""
    upper: Integers
    """At least P(x|s)."""
    prior_lower: Integers
    """At most P(s), at [cell, s]."""
    prior_upper: Integers
    """At least P(s), at [cell, s]."""


def confidence_set(joint: Joint, views: list[View], confidence: float) -> list[Intervals]:
    """The set of distributions that the counts of `joint` leave open, view by view.

    The promise speaks of P(x|s, cell) and P(s|cell) for the cells of `views`. With β = 1 − confidence and m
    statements in all (two ends for every x and s and for every s in every possible cell, and one bound on what was
    not seen), each may fail with probability β/m.
    """
    if not joint.counted:
        raise InvalidJoint("a confidence set needs counts of people; these are probabilities, which say nothing of n")
    sizes = [len(column) for column in joint.columns]
    tail = (1.0 - confidence) / _statements(joint.n_s, sizes, views)
    crowded = [np.bincount(view.cell, minlength=view.n_cells) for view in views]
    entries = sum(int((size > 1).sum()) * int(size.max()) for size in crowded) * joint.n_s
    if entries > MOST_ENTRIES:
        raise InvalidPromise(
            f"the confidence set has {entries:,} intervals, too many; guard against fewer attackers (known=1)"
        )
    return [_intervals(joint, view, sizes, tail) for view in views]


def _statements(n_s: int, sizes: list[int], views: list[View]) -> float:
    """How many statements must hold at once; in float64, as a product of many sizes may be huge."""
    values = math.prod(map(float, sizes))
    cells = [math.prod(float(sizes[j]) for j in view.known) for view in views]
    return sum(2.0 * n_s * values + (3.0 * n_s + 1.0) * count for count in cells)


def _intervals(joint: Joint, view: View, sizes: list[int], tail: float) -> Intervals:
    size = np.bincount(view.cell, minlength=view.n_cells)
    cells = np.flatnonzero(size > 1)
    order = np.argsort(view.cell, kind="stable")
    starts = np.concatenate([[0], np.cumsum(size)])
    width = int(size[cells].max(initial=0))
    members = np.full((len(cells), width), NOBODY, dtype=np.int64)
    for i, k in enumerate(cells):
        members[i, : size[k]] = order[starts[k] : starts[k + 1]]
    real = (members != NOBODY)[:, None, :]
    weights = joint.weights.astype(np.float64)
    counts = np.where(real, weights.T[members].transpose(0, 2, 1), 0.0)  # [cell, s, k]
    people = counts.sum(axis=2)
    possible = math.prod(float(n) for j, n in enumerate(sizes) if j not in view.known)
    unseen = missing_mass(possible, size[cells][:, None], people, tail)
    unseen_of_all = missing_mass(possible, size[cells], people.sum(axis=1), tail)
    lower, upper = clopper_pearson(counts, people[:, :, None], tail)
    prior_lower, prior_upper = clopper_pearson(people, people.sum(axis=1)[:, None], tail)
    return Intervals(
        view,
        cells,
        members,
        np.where(real, _down(lower), 0),
        np.where(real, _up(_share(upper, unseen[:, :, None])), 0),
        _down(prior_lower * (1 - unseen)),
        _up(_share(prior_upper, unseen_of_all[:, None])),
    )


def clopper_pearson(k: Vector, n: Vector, tail: float) -> tuple[Vector, Vector]:
    """Bounds l ≤ p ≤ u from k successes in n trials, each wrong with probability at most `tail`.

    >>> lower, upper = clopper_pearson(np.array([0.0, 5.0]), np.array([10.0, 10.0]), 0.025)
    >>> lower.round(4).tolist(), upper.round(4).tolist()
    ([0.0, 0.1871], [0.3085, 0.8129])
    """
    from scipy.special import betainccinv, betaincinv

    k, n = np.broadcast_arrays(k, n)
    lower = np.where(k > 0, betaincinv(np.maximum(k, 1.0), n - k + 1, tail), 0.0)
    upper = np.where(k < n, betainccinv(k + 1, np.maximum(n - k, 1.0), tail), 1.0)
    return np.asarray(lower * (1 - OUTWARDS)), np.minimum(1.0, upper * (1 + OUTWARDS))


def missing_mass(possible: float, seen: NDArray[np.int64], n: Vector, tail: float) -> Vector:
    """With probability 1 − tail, the values that n draws did not show have no more mass than this together.

    A given set of values with mass m stays unseen with probability (1 − m)ⁿ. There are C(K, t) ≤ (eK/t)ᵗ sets whose
    complement has t of K values, and K sizes t: each size may fail with probability tail / K.
    """
    t = np.maximum(seen, 1).astype(np.float64)
    exponent = math.log(tail) - math.log(possible) - t * (1 + math.log(possible) - np.log(t))
    with np.errstate(divide="ignore"):
        bound = -np.expm1(exponent / n)
    return np.where(seen >= possible, 0.0, np.minimum(1.0, bound * (1 + OUTWARDS)))


def _share(upper: Vector, unseen: Vector) -> Vector:
    """P(x) ≤ upper given anything becomes P(x) ≤ upper / (1 − unseen) given what was seen."""
    left = 1 - unseen
    return np.minimum(1.0, np.divide(upper, left, out=np.ones(np.broadcast(upper, left).shape), where=left > 0))


def _down(p: Vector) -> Integers:
    return np.floor(np.ldexp(p, 60) * (1 - OUTWARDS)).astype(np.int64)


def _up(p: Vector) -> Integers:
    return np.minimum(SCALE, np.ceil(np.ldexp(p, 60) * (1 + OUTWARDS)).astype(np.int64))
