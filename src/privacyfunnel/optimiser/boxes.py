"""Boxes l ≤ v ≤ u: how little r(v) = H(v) − y·v can be in one, compiled.

Each −v ln v lies above its chord over [l, u], so a linear program bounds r from below. Weak duality turns any
prices of the rows into a bound: for any μ and λ ≥ 0, cost·v ≥ μ + Σ_x reduced[x]·v[x] with
reduced = cost − μ + Gᵀλ, because Σv = 1 and G v ≤ 0; each term is least at an end of the box.
"""

from __future__ import annotations

import math

import numpy as np

from privacyfunnel.optimiser.simplex import compiled, minimise, refresh, slack_basis
from privacyfunnel.typing import Integers, Matrix, Vector

CUT_INSIDE = 0.1
"""A box is cut at the relaxation's solution, but at least this fraction away from its ends."""
HELPS = 0.02
"""Shrinking a box goes on while each time closes at least this share of the distance to −gap."""
SWEEPS = 2
"""How often rows are gone through to shrink a box."""
REFRESH = 50
"""Boxes cut before the tableau is computed anew."""
EMPTY = 1e-9
"""A row overstepped by this much everywhere in a box: the box holds no posterior."""
ROUNDING = 1e-12
"""Boxes are left this much larger than arithmetic says."""
LOST_DIGITS = 2e-15
"""What rounding may cost a bound, relative to the prices it is made of."""


@compiled
def curve(v: float) -> float:
    """−v ln v."""
    return -v * math.log(v) if v > 0 else 0.0


@compiled
def shrink(lower: Vector, upper: Vector, starts: Integers, index: Integers, entry: Vector) -> bool:
    """Shrink the box to what Σv = 1 and each row of G v ≤ 0 leave of it; False if that is nothing.

    Row i of G has the entries entry[k] at index[k], for starts[i] ≤ k < starts[i+1].
    """
    n = len(lower)
    for _ in range(SWEEPS):
        least, most = lower.sum(), upper.sum()
        if least > 1 + EMPTY or most < 1 - EMPTY:
            return False
        for x in range(n):
            above, below = 1 - (least - lower[x]) + ROUNDING, 1 - (most - upper[x]) - ROUNDING
            upper[x], lower[x] = min(upper[x], above), max(lower[x], below)
        for i in range(len(starts) - 1):
            least = _least(lower, upper, starts[i], starts[i + 1], index, entry)
            if least > EMPTY:
                return False
            for k in range(starts[i], starts[i + 1]):
                x = index[k]
                if entry[k] > 0:
                    upper[x] = min(upper[x], lower[x] + (ROUNDING - least) / entry[k])
                elif entry[k] < 0:
                    lower[x] = max(lower[x], upper[x] + (ROUNDING - least) / entry[k])
        for x in range(n):
            if lower[x] > upper[x]:
                if lower[x] > upper[x] + EMPTY:
                    return False
                lower[x], upper[x] = upper[x], lower[x]
    return True


@compiled
def _least(lower: Vector, upper: Vector, first: int, last: int, index: Integers, entry: Vector) -> float:
    """The least value of a row in the box."""
    least = 0.0
    for k in range(first, last):
        least += entry[k] * (lower[index[k]] if entry[k] > 0 else upper[index[k]])
    return least


@compiled
def bound_box(
    A: Matrix,
    starts: Integers,
    index: Integers,
    entry: Vector,
    y: Vector,
    gap: float,
    lower: Vector,
    upper: Vector,
    T: Matrix,
    basic: Integers,
    outside: Integers,
    x: Vector,
) -> float:
    """A bound below r in the box, which is shrunk in place to where r(v) < −gap is still possible; x[:n] is v.

    A is G with the row Σv below it. The bound is a sum of terms that are each least at an end of the box: a
    v[x] so far from that end that the sum reaches −gap can be cut off. Smaller boxes have better chords, so this
    is repeated while it helps.
    """
    rows, n = A.shape
    low, high = np.empty(n + rows), np.empty(n + rows)
    cost, reduced = np.empty(n), np.empty(n)
    best = before = -np.inf
    while True:
        if not shrink(lower, upper, starts, index, entry):
            return np.inf
        height = 0.0
        for j in range(n):
            at_lower, width = curve(lower[j]), upper[j] - lower[j]
            slope = (curve(upper[j]) - at_lower) / width if width > 0 else 0.0
            height += at_lower - slope * lower[j]
            cost[j] = slope - y[j]
        low[:n], high[:n] = lower, upper
        for i in range(rows - 1):
            low[n + i] = min(0.0, _least(lower, upper, starts[i], starts[i + 1], index, entry))
            high[n + i] = 0.0
        low[n + rows - 1] = high[n + rows - 1] = 1.0
        prices = minimise(cost, low, high, ROUNDING - gap - height, T, basic, outside, x)
        mu = prices[rows - 1]
        size = abs(mu)
        reduced[:] = cost - mu
        for i in range(rows - 1):
            if prices[i] < 0:
                size -= prices[i]
                for k in range(starts[i], starts[i + 1]):
                    reduced[index[k]] -= prices[i] * entry[k]
        bound = height + mu - LOST_DIGITS * size
        for j in range(n):
            bound += min(reduced[j] * lower[j], reduced[j] * upper[j])
        best = max(best, bound)
        room = ROUNDING - gap - bound
        if room <= 0 or not math.isfinite(bound):
            return best
        for j in range(n):
            if reduced[j] < 0:
                lower[j] = max(lower[j], upper[j] + room / reduced[j])
            elif reduced[j] > 0:
                upper[j] = min(upper[j], lower[j] + room / reduced[j])
        if bound < before + HELPS * room:
            return best
        before = bound


@compiled
def cut(lower: Vector, upper: Vector, v: Vector) -> tuple[int, float]:
    """The value where curve and chord differ most at v, and where to cut the box there; −1 if they agree."""
    widest, x = 0.0, -1
    for j in range(len(lower)):
        width = upper[j] - lower[j]
        if width > 0:
            at = min(max(v[j], lower[j]), upper[j])
            share = (at - lower[j]) / width
            apart = curve(at) - (1 - share) * curve(lower[j]) - share * curve(upper[j])
            if apart > widest:
                widest, x = apart, j
    if x < 0:
        return -1, 0.0
    inside = CUT_INSIDE * (upper[x] - lower[x])
    return x, min(max(v[x], lower[x] + inside), upper[x] - inside)


@compiled
def explore(
    A: Matrix,
    starts: Integers,
    index: Integers,
    entry: Vector,
    y: Vector,
    gap: float,
    boxes: Matrix,
    bounds: Vector,
    heap: Integers,
    size: int,
    cuts: Integers,
    cut_at: Vector,
    found: Matrix,
    n_found: int,
    budget: int,
) -> tuple[int, int, float]:
    """Cut the boxes with the least bounds in two, `budget` times or until none is left below −gap.

    boxes[k] holds (lower, upper) of box k, whose bound is bounds[k], and which is to be cut at cut_at[k] in the
    direction cuts[k]. heap[:size] are the open boxes as a binary heap, heap[size:] are free places. Returns the
    number of open boxes, the number of posteriors with r(v) < −gap now in `found`, and the least bound among the
    boxes that are done with.
    """
    rows, n = A.shape
    T = np.empty((rows, n))
    basic, outside = np.empty(rows, np.int64), np.empty(n, np.int64)
    slack_basis(A, T, basic, outside)
    x = np.empty(n + rows)
    parent = np.empty(2 * n)
    settled = np.inf
    for step in range(budget):
        if size == 0 or size + 1 >= len(heap):
            break
        if step % REFRESH == REFRESH - 1:
            refresh(A, T, basic, outside)
        k = heap[0]
        size -= 1
        heap[0], heap[size] = heap[size], k
        _sift_down(heap, bounds, size)
        parent[:] = boxes[k]
        above, direction, at = bounds[k], cuts[k], cut_at[k]
        for side in range(2):
            k = heap[size]
            box = boxes[k]
            box[:] = parent
            box[direction + (n if side == 0 else 0)] = at
            bound = bound_box(A, starts, index, entry, y, gap, box[:n], box[n:], T, basic, outside, x)
            bound = max(bound, above)
            if bound >= -gap:
                settled = min(settled, bound)
                continue
            value = 0.0
            for j in range(n):
                value += curve(x[j]) - y[j] * x[j]
            if value < -gap and n_found < len(found):
                found[n_found] = x[:n]
                n_found += 1
            cuts[k], cut_at[k] = cut(box[:n], box[n:], x[:n])
            if cuts[k] < 0:  # chord and curve agree: the bound is r(v), and v is among those found
                settled = min(settled, bound)
                continue
            bounds[k] = bound
            size += 1
            _sift_up(heap, bounds, size - 1)
    return size, n_found, settled


@compiled
def _sift_down(heap: Integers, bounds: Vector, size: int) -> None:
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and bounds[heap[child + 1]] < bounds[heap[child]]:
            child += 1
        if bounds[heap[place]] <= bounds[heap[child]]:
            break
        heap[place], heap[child] = heap[child], heap[place]
        place = child


@compiled
def _sift_up(heap: Integers, bounds: Vector, place: int) -> None:
    while place > 0 and bounds[heap[(place - 1) // 2]] > bounds[heap[place]]:
        up = (place - 1) // 2
        heap[place], heap[up] = heap[up], heap[place]
        place = up
