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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.numeric.heap import pop, push
from privacyfunnel.optimiser.program.tolerances import MEMORY, MOST_FOUND
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


class Problem(NamedTuple):
    """Where Σ_x p_x (−w ln w + θ_x w) < −gap, for w ≤ most with p·w = 1 and the conditions K, M of nested_programs."""

    p: Vector
    theta: Vector
    most: Vector
    K: Matrix
    M: NDArray[np.float64]
    gap: float


class Nodes(NamedTuple):
    """Node k has the spikes ids[k, :counts[k]], ends[k, i] for the w of each, and caps[k] for all others.

    bounds[k] is what is known of it, at first its parent's, and prices[k] are where its program starts. The first
    `size` numbers in `heap` are the open nodes as a binary heap; the others are free places.
    """

    ids: Integers
    ends: NDArray[np.float64]
    caps: Vector
    counts: Integers
    prices: Matrix
    bounds: Vector
    heap: Integers


class Node(NamedTuple):
    """A copy of one node, whose place is then free for its first child; of `ids` and `ends`, the first m count."""

    m: int
    ids: Integers
    ends: Matrix
    cap: float
    price: Vector


class Spikes:
    """The open nodes, and the least bound of the others."""

    def __init__(self, p: Vector, y: Vector, most: Vector, K: Matrix, M: NDArray[np.float64], gap: float) -> None:
        n = len(p)
        capacity = MEMORY // (24 * MOST_SPIKES)
        self._problem = Problem(p, -np.log(p) - y, most, K, M, gap)
        nodes = self._nodes = Nodes(
            ids=np.zeros((capacity, MOST_SPIKES), dtype=np.int64),
            ends=np.zeros((capacity, MOST_SPIKES, 2)),
            caps=np.zeros(capacity),
            counts=np.zeros(capacity, dtype=np.int64),
            prices=np.zeros((capacity, 3)),
            bounds=np.full(capacity, -np.inf),
            heap=np.arange(capacity),
        )
        # One value is the largest: w there is at least the mean, 1, and at most 1/p.
        nodes.ids[:n, 0], nodes.counts[:n] = np.arange(n), 1
        nodes.ends[:n, 0, 0], nodes.ends[:n, 0, 1], nodes.caps[:n] = 1.0, most, most
        self._size, self._settled = n, np.inf
        self.found, self.n_found = np.empty((MOST_FOUND, n)), 0

    def grow(self, steps: int) -> bool:
        """Look at so many nodes; False if nothing is left to look at, or no place."""
        self._size, self.n_found, settled = explore(
            self._problem, self._nodes, self._size, self.found, self.n_found, steps
        )
        self._settled = min(self._settled, settled)
        return 0 < self._size < len(self._nodes.heap) - len(self._problem.p) - 2

    @property
    def bound(self) -> float:
        """r(v) is at least this in all of Δ."""
        nodes = self._nodes
        return min(self._settled, float(nodes.bounds[nodes.heap[0]])) if self._size else self._settled


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
    problem: Problem, nodes: Nodes, size: int, found: Matrix, n_found: int, steps: int
) -> tuple[int, int, float]:
    """Look at so many nodes, the least bounds first: how many are open, how many posteriors with r < −gap were found,
    and the least bound among the nodes that are done with.
    """
    p, gap, n = problem.p, problem.gap, len(problem.p)
    settled = np.inf
    cost, w = np.empty(n), np.empty(n)
    for _ in range(steps):
        if size == 0 or size + n + 2 >= len(nodes.heap):
            break
        k = nodes.heap[0]
        size = pop(nodes.bounds, nodes.heap, size)
        node, bound = _copied(nodes, k), nodes.bounds[k]
        m, cap = node.m, node.cap
        constant = _costs(problem, node, cost)
        if bound < -gap:
            enough = -gap + SAFE - constant
            lowest = relax(p, cost, problem.K, problem.M, node.ids[:m], node.ends[:m], cap, enough, node.price, w)
            bound = max(bound, lowest + constant - SAFE)
        if bound >= -gap:
            settled = min(settled, bound)
            continue
        n_found = _note(problem, w, found, n_found)
        widest, apart = _widest(p, node, w)
        under, lower = _lower_cap(problem, node, w)
        wide = node.ends[m - 1, 1] > RATIO * node.ends[m - 1, 0]
        if not wide and under > apart and m < min(MOST_SPIKES, n):
            size, least = _branch_on_cap(problem, nodes, size, node, bound, cost, lower)
            settled = min(settled, least)
        elif wide or widest >= 0:
            size = _branch_on_interval(nodes, size, node, bound, m - 1 if wide else widest, w)
        else:
            settled = min(settled, bound)
    return size, n_found, settled


@compiled
def _copied(nodes: Nodes, k: int) -> Node:
    return Node(nodes.counts[k], nodes.ids[k].copy(), nodes.ends[k].copy(), nodes.caps[k], nodes.prices[k].copy())


@compiled
def _costs(problem: Problem, node: Node, cost: Vector) -> float:
    """Chords instead of curves: costs of w, and a constant."""
    p, theta = problem.p, problem.theta
    constant = 0.0
    for x in range(len(p)):
        cost[x] = p[x] * (theta[x] - math.log(min(node.cap, problem.most[x])))
    for k in range(node.m):
        x = node.ids[k]
        slope, intercept = chord(node.ends[k, 0], node.ends[k, 1])
        cost[x] = p[x] * (theta[x] + slope)
        constant += p[x] * intercept
    return constant


@compiled
def _note(problem: Problem, w: Vector, found: Matrix, n_found: int) -> int:
    """Write down the solution of a node if it seems to be a posterior with r < −gap; how many there are now."""
    p = problem.p
    value, total = 0.0, 0.0
    for x in range(len(p)):
        if w[x] > 0:
            value += p[x] * w[x] * (problem.theta[x] - math.log(w[x]))
            total += p[x] * w[x]
    if value < -problem.gap and n_found < len(found) and abs(total - 1.0) < SUMS_TO_ONE:
        found[n_found] = w * p
        return n_found + 1
    return n_found


@compiled
def _widest(p: Vector, node: Node, w: Vector) -> tuple[int, float]:
    """The spike where curve and chord differ most at w, −1 if they agree everywhere, and by how much."""
    widest, apart = -1, 0.0
    for k in range(node.m):
        x, low, high = node.ids[k], node.ends[k, 0], node.ends[k, 1]
        if high - low > NARROWEST * high:
            slope, intercept = chord(low, high)
            at = min(max(w[x], low), high)
            here = p[x] * ((-at * math.log(at) if at > 0 else 0.0) - slope * at - intercept)
            if here > apart:
                widest, apart = k, here
    return widest, apart


@compiled
def _lower_cap(problem: Problem, node: Node, w: Vector) -> tuple[float, float]:
    """By how much curve and chord differ at w under the cap, in all; and a lower cap, near the mean of w there."""
    p, cap = problem.p, node.cap
    spike = _is_spike(node, len(p))
    under, mass, logs = 0.0, 0.0, 0.0
    for x in range(len(p)):
        if not spike[x] and w[x] > 0:
            under += p[x] * w[x] * math.log(max(1.0, min(cap, problem.most[x]) / w[x]))
            mass += p[x] * w[x]
            logs += p[x] * w[x] * math.log(w[x])
    if mass == 0:
        return 0.0, cap
    return under, cap * min(HIGHEST, max(LOWEST, ABOVE * math.exp(logs / mass) / cap))


@compiled
def _is_spike(node: Node, n: int) -> NDArray[np.bool_]:
    """Which values are spikes."""
    spike = np.zeros(n, np.bool_)
    for k in range(node.m):
        spike[node.ids[k]] = True
    return spike


@compiled
def _branch_on_cap(
    problem: Problem, nodes: Nodes, size: int, node: Node, bound: float, cost: Vector, lower: float
) -> tuple[int, float]:
    """Either all others stay under a lower cap, or one is a new spike: open nodes, and the least bound of the rest."""
    p, most, m, cap = problem.p, problem.most, node.m, node.cap
    spike, settled = _is_spike(node, len(p)), np.inf
    rise = raised_by(p, cost, problem.K, problem.M, node.ids[:m], node.ends[:m], cap, node.price, lower)
    for x in range(-1, len(p)):  # −1: all stay under the lower cap
        if x >= 0 and (spike[x] or lower > most[x]):
            continue
        least = bound if x < 0 else bound + rise[x]
        if least >= -problem.gap:
            settled = min(settled, least)
            continue
        child = _child(nodes, size, node, least, lower)
        if x >= 0:
            high = min(cap, most[x])
            nodes.ids[child, m], nodes.ends[child, m, 0], nodes.ends[child, m, 1] = x, lower, high
            nodes.counts[child], nodes.caps[child] = m + 1, high
        size = push(nodes.bounds, nodes.heap, size)
    return size, settled


@compiled
def _branch_on_interval(nodes: Nodes, size: int, node: Node, bound: float, k: int, w: Vector) -> int:
    """Cut the interval of the k-th spike in two; the number of open nodes."""
    low, high = node.ends[k, 0], node.ends[k, 1]
    at = w[node.ids[k]]
    if at < low + EDGE * (high - low) or at > high - EDGE * (high - low):
        at = math.sqrt(low * high) if low > 0 else high / 2
    for side in range(2):
        # All but the spikes before it are at most as large as a spike.
        child = _child(nodes, size, node, bound, min(node.cap, at if side == 0 else high))
        nodes.ends[child, k, 1 - side] = at
        size = push(nodes.bounds, nodes.heap, size)
    return size


@compiled
def _child(nodes: Nodes, size: int, node: Node, bound: float, cap: float) -> int:
    """The place of a new node, like `node` but for bound and cap; it is open once it is pushed."""
    child = int(nodes.heap[size])
    nodes.ids[child], nodes.ends[child], nodes.prices[child] = node.ids, node.ends, node.price
    nodes.counts[child], nodes.caps[child], nodes.bounds[child] = node.m, cap, bound
    return child
