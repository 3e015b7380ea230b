"""From coarse to fine: a smaller problem over clusters of alike values, and its prices carried back."""

from __future__ import annotations

import numpy as np

from privacyfunnel.optimiser.program.polytope import Polytope
from privacyfunnel.typing import Integers, Matrix, Vector

APART = 1e-12
"""Added to squared distances: where a fine point is a coarse one, its price counts alone, and 0 divides nothing."""
NEIGHBOURS = 4
"""Coarse points whose prices are averaged, by nearness: more would blur prices, fewer leave steps in them."""


def merged(polytope: Polytope, of: Integers) -> Polytope:
    """The polytope of clusters, each at the mean of its members; of[x] is the cluster of x."""
    masses = np.bincount(of, weights=polytope.p_x).astype(np.float64)
    return Polytope(means(polytope.G, polytope.p_x, of), masses)


def means(rows: Matrix, p_x: Vector, of: Integers) -> Matrix:
    """The mean of every row over each cluster."""
    masses = np.bincount(of, weights=p_x)
    return np.stack([np.bincount(of, weights=row * p_x) / masses for row in rows])


def clusters(points: Matrix, masses: Vector, count: int) -> Integers:
    """The points in `count` boxes: the box with the largest spread of mass is halved along its longest side."""
    of = np.zeros(len(points), dtype=np.int64)
    spreads = [np.inf]
    for fresh in range(1, count):
        split = int(np.argmax(spreads))
        inside = np.flatnonzero(of == split)
        side = int(np.ptp(points[inside], axis=0).argmax())
        order = inside[np.argsort(points[inside, side], kind="stable")]
        middle = (points[order[0], side] + points[order[-1], side]) / 2
        at = int(np.clip(np.searchsorted(points[order, side], middle), 1, len(order) - 1))
        of[order[at:]] = fresh
        spreads.append(0.0)
        for box, members in ((split, order[:at]), (fresh, order[at:])):
            spreads[box] = float(np.ptp(points[members], axis=0).max()) * float(masses[members].sum()) ** 0.5
            if len(members) == 1:
                spreads[box] = -1.0
    return of


def interpolated(y: Vector, coarse: Matrix, fine: Matrix) -> Vector:
    """Prices at the fine points, from those of the nearest coarse ones."""
    from scipy.spatial import cKDTree

    distance, near = cKDTree(coarse).query(fine, k=np.arange(1, 1 + min(NEIGHBOURS, len(coarse))))
    weights = 1.0 / (distance**2 + APART)
    return np.asarray((y[near] * weights).sum(axis=1) / weights.sum(axis=1))
