"""A lower bound on r(v) = H(v) − y·v over Δ of a confidence set, for two secrets, by branching on the largest values.

With w = v/p_x and p·w = 1, r = Σ_x p_x (−w ln w + θ_x w), θ_x = −ln p_x − y_x. Vertices have few levels (see
nested_programs):
a few values with a large w, the spikes, and a background on which w is nearly constant. A node knows an interval for
the w of each spike, and a cap that all others stay under. Each −w ln w lies above its chord there, and the chord of the
others is exact both at 0 and at the cap. So branching is about spikes, one after the other, and about the cap: either
all others stay under a lower one, or the largest of them is a new spike.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.numeric.heap import pop, push
from privacyfunnel.optimiser.robust.box_programs import raised_by, relax
from privacyfunnel.typing import Integers, Matrix, Vector

MOST_SPIKES = 12
"""A node has room for so many; beyond, only intervals are cut, and a bound may stay weaker than it could be."""
NARROWEST = 1e-9
"""Intervals are not cut further, relative to their upper end: the chord is exact there, up to rounding."""
RATIO = 2.0
"""The interval of the last spike is cut until its ends are this close; only then are others looked at."""
SAFE = 1e-10
"""What rounding may cost a bound."""
EDGE = 0.02
"""Intervals are cut at the solution, unless it is this close to an end."""
ABOVE = 1.05
"""A cap is lowered to so much above the mean of what is under it, on a logarithmic scale."""
LOWEST, HIGHEST = 1e-3, 0.9
"""By how much a cap is lowered, at most and at least."""
SUMS_TO_ONE = 1e-6
"""A solution whose sum is farther from 1 paid for overstepping it: no posterior."""
FEWEST_NODES = 4
"""For each value: one to begin with, one more at every cut of a cap, and some to spare."""
MEMORY = 100_000_000
"""Bytes for open nodes."""
MOST_FOUND = 100
"""Improving posteriors noted in one search: any of them calls for new prices."""


class Spikes:
    """The open nodes, and the least bound of the others."""

    def __init__(self, p: Vector, y: Vector, most: Vector, K: Matrix, M: NDArray[np.float64], gap: float) -> None:
        n = len(p)
        capacity = max(FEWEST_NODES * n, MEMORY // (24 * MOST_SPIKES))
        self._p, self._theta, self._most, self._K, self._M, self._gap = p, -np.log(p) - y, most, K, M, gap
        self._ids = np.zeros((capacity, MOST_SPIKES), dtype=np.int64)
        self._ends = np.zeros((capacity, MOST_SPIKES, 2))
        self._caps, self._bounds = np.zeros(capacity), np.full(capacity, -np.inf)
        self._counts, self._heap = np.zeros(capacity, dtype=np.int64), np.arange(capacity)
        self._prices = np.zeros((capacity, 3))
        # One value is the largest: w there is at least the mean, 1, and at most 1/p.
        self._ids[:n, 0], self._counts[:n] = np.arange(n), 1
        self._ends[:n, 0, 0], self._ends[:n, 0, 1], self._caps[:n] = 1.0, most, most
        self._size, self._settled = n, np.inf
        self.found, self.n_found = np.empty((MOST_FOUND, n)), 0

    def grow(self, steps: int) -> bool:
        """Look at so many nodes; False if nothing is left to look at, or no place."""
        self._size, self.n_found, settled = explore(
            self._p, self._theta, self._most, self._K, self._M, self._gap, self._ids, self._ends, self._caps,
            self._counts, self._prices, self._bounds, self._heap, self._size, self.found, self.n_found, steps,
        )  # fmt: skip
        self._settled = min(self._settled, settled)
        return 0 < self._size < len(self._heap) - len(self._p) - 2

    @property
    def bound(self) -> float:
        """r(v) is at least this in all of Δ."""
        return min(self._settled, float(self._bounds[self._heap[0]])) if self._size else self._settled


@compiled
def largest(p: Vector, K: Matrix, M: NDArray[np.float64]) -> Vector:
    """For every value x, a bound above the largest w[x] in Δ."""
    n = len(p)
    most, cost, w, price = np.empty(n), np.zeros(n), np.empty(n), np.zeros(3)
    nobody, nothing, cap = np.empty(0, np.int64), np.empty((0, 2)), 1 / p.min()
    for x in range(n):
        cost[x] = -1.0
        price[:] = 0.0
        bound = relax(p, cost, K, M, nobody, nothing, cap, np.inf, price, w)
        cost[x] = 0.0
        most[x] = min(1 / p[x], max(1.0, -bound * (1 + SAFE) + SAFE))
    return most


@compiled
def chord(low: float, high: float) -> tuple[float, float]:
    """The slope and the intercept of the line through −w ln w at both ends of an interval."""
    at_low = -low * math.log(low) if low > 0 else 0.0
    at_high = -high * math.log(high)
    if high - low <= NARROWEST * high:
        return 0.0, min(at_low, at_high)
    slope = (at_high - at_low) / (high - low)
    return slope, at_low - slope * low


@compiled
def explore(
    p: Vector, theta: Vector, most: Vector, K: Matrix, M: NDArray[np.float64], gap: float, ids: Integers,
    ends: NDArray[np.float64], caps: Vector, counts: Integers, prices: Matrix, bounds: Vector, heap: Integers,
    size: int, found: Matrix, n_found: int, steps: int,
) -> tuple[int, int, float]:  # fmt: skip
    """Look at so many nodes, the least bounds first: how many are open, how many posteriors with r < −gap were found,
    and the least bound among the nodes that are done with. A node has its parent's bound until it is looked at.
    """
    n = len(p)
    settled = np.inf
    cost, w, spike = np.empty(n), np.empty(n), np.empty(n, np.bool_)
    for _ in range(steps):
        if size == 0 or size + n + 2 >= len(heap):
            break
        node = heap[0]
        size = pop(bounds, heap, size)
        # Copies, as the place of the node is free for its first child.
        m, cap, bound = counts[node], caps[node], bounds[node]
        who, interval, price = ids[node].copy(), ends[node].copy(), prices[node].copy()
        constant = _costs(p, theta, most, who[:m], interval[:m], cap, cost)
        if bound < -gap:
            lowest = relax(p, cost, K, M, who[:m], interval[:m], cap, -gap + SAFE - constant, price, w)
            bound = max(bound, lowest + constant - SAFE)
        if bound >= -gap:
            settled = min(settled, bound)
            continue
        n_found = _note(p, theta, w, gap, found, n_found)
        # Where do curve and chord differ most?
        spike[:] = False
        widest, apart = -1, 0.0
        for k in range(m):
            x, low, high = who[k], interval[k, 0], interval[k, 1]
            spike[x] = True
            if high - low > NARROWEST * high:
                slope, intercept = chord(low, high)
                at = min(max(w[x], low), high)
                here = p[x] * ((-at * math.log(at) if at > 0 else 0.0) - slope * at - intercept)
                if here > apart:
                    widest, apart = k, here
        under, mass, logs = 0.0, 0.0, 0.0
        for x in range(n):
            if not spike[x] and w[x] > 0:
                under += p[x] * w[x] * math.log(max(1.0, min(cap, most[x]) / w[x]))
                mass += p[x] * w[x]
                logs += p[x] * w[x] * math.log(w[x])
        wide = interval[m - 1, 1] > RATIO * interval[m - 1, 0]
        if wide:
            widest = m - 1
        if not wide and under > apart and m < min(MOST_SPIKES, n):
            lower = cap * min(HIGHEST, max(LOWEST, ABOVE * math.exp(logs / mass) / cap))
            rise = raised_by(p, cost, K, M, who[:m], interval[:m], cap, price, lower)
            for x in range(-1, n):  # −1: all stay under the lower cap
                if x >= 0 and (spike[x] or lower > most[x]):
                    continue
                least = bound if x < 0 else bound + rise[x]
                if least >= -gap:
                    settled = min(settled, least)
                    continue
                child = heap[size]
                ids[child], ends[child], prices[child] = who, interval, price
                counts[child], caps[child], bounds[child] = m, lower, least
                if x >= 0:
                    ids[child, m], ends[child, m, 0], ends[child, m, 1] = x, lower, min(cap, most[x])
                    counts[child], caps[child] = m + 1, ends[child, m, 1]
                size = push(bounds, heap, size)
        elif widest >= 0:
            low, high = interval[widest, 0], interval[widest, 1]
            at = w[who[widest]]
            if at < low + EDGE * (high - low) or at > high - EDGE * (high - low):
                at = math.sqrt(low * high) if low > 0 else high / 2
            for side in range(2):
                child = heap[size]
                ids[child], ends[child], prices[child] = who, interval, price
                ends[child, widest, 1 - side] = at
                # All but the spikes before it are at most as large as a spike.
                counts[child], caps[child], bounds[child] = m, min(cap, ends[child, widest, 1]), bound
                size = push(bounds, heap, size)
        else:
            settled = min(settled, bound)
    return size, n_found, settled


@compiled
def _costs(p: Vector, theta: Vector, most: Vector, ids: Integers, ends: Matrix, cap: float, cost: Vector) -> float:
    """Chords instead of curves: costs of w, and a constant."""
    constant = 0.0
    for x in range(len(p)):
        cost[x] = p[x] * (theta[x] - math.log(min(cap, most[x])))
    for k in range(len(ids)):
        slope, intercept = chord(ends[k, 0], ends[k, 1])
        cost[ids[k]] = p[ids[k]] * (theta[ids[k]] + slope)
        constant += p[ids[k]] * intercept
    return constant


@compiled
def _note(p: Vector, theta: Vector, w: Vector, gap: float, found: Matrix, n_found: int) -> int:
    """Write down the solution of a node if it seems to be a posterior with r < −gap; how many there are now."""
    value, total = 0.0, 0.0
    for x in range(len(p)):
        if w[x] > 0:
            value += p[x] * w[x] * (theta[x] - math.log(w[x]))
            total += p[x] * w[x]
    if value < -gap and n_found < len(found) and abs(total - 1.0) < SUMS_TO_ONE:
        found[n_found] = w * p
        return n_found + 1
    return n_found
