"""Exact pricing: a lower bound on min r(v) over Δ by spatial branch and bound.

On a box l ≤ v ≤ u each −v ln v lies above its chord, so a linear program bounds r from below there;
where curve and chord differ most, the box is cut in two.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from privacyfunnel.information import plogp
from privacyfunnel.optimiser.lp import Infeasible
from privacyfunnel.optimiser.pricing import Oracle, descend, distinct, reduced_cost
from privacyfunnel.typing import Matrix, Vector

CUT_INSIDE = 0.1
"""A box is cut at the relaxation's solution, but at least this fraction away from its ends."""
HELPS = 0.02
"""Shrinking a box goes on while each time closes at least this share of the distance to −gap."""
PATIENCE = 200
"""Boxes looked at after an improving posterior was found, before it is handed back."""


@dataclass(order=True)
class _Box:
    bound: float
    lower: Vector = field(compare=False)
    upper: Vector = field(compare=False)
    v: Vector = field(compare=False)


@dataclass(frozen=True, eq=False)
class Proof:
    """r(v) ≥ bound for every v in Δ; `improving` are posteriors met on the way with r(v) < −gap."""

    bound: float
    improving: Matrix


def prove(oracle: Oracle, y: Vector, upper: Vector, gap: float, stopped: Callable[[], bool] = lambda: False) -> Proof:
    """Bound min r from below until it is at least −gap, an improving posterior is known, or `stopped()`.

    `upper[x]` is at least the largest v[x] in Δ.
    """
    try:
        bound, improving = _search(oracle, y, upper, gap, stopped)
    finally:
        oracle.unrestrict()
    polished = [descend(oracle, y, v) for v in distinct(improving)]
    return Proof(bound, distinct(np.array(polished).reshape(-1, oracle.n_x)))


def _search(oracle: Oracle, y: Vector, upper: Vector, gap: float, stopped: Callable[[], bool]) -> tuple[float, Matrix]:
    heap: list[_Box] = []
    improving: list[Vector] = []
    settled = np.inf  # the least bound among boxes that need no further cutting
    looked_at = found_at = 0
    pending: list[tuple[Vector, Vector]] = [(np.zeros_like(upper), upper)]
    while True:
        for lower_box, upper_box in pending:
            looked_at += 1
            try:
                box = _bound(oracle, y, lower_box, upper_box, gap)
            except Infeasible:
                continue
            if reduced_cost(box.v, y) < -gap:
                improving.append(box.v)
                found_at = found_at or looked_at
            if box.bound >= -gap:
                settled = min(settled, box.bound)
            else:
                heapq.heappush(heap, box)
        pending = []
        enough = bool(improving) and looked_at - found_at >= PATIENCE
        if not heap or enough or stopped():
            break
        box = heapq.heappop(heap)
        pending = _cut(box)
        if not pending:  # chord and curve agree at v: the bound is r(v), and v is among the improving
            settled = min(settled, box.bound)
    bound = min(settled, heap[0].bound) if heap else settled
    return bound, np.array(improving).reshape(-1, oracle.n_x)


def _bound(oracle: Oracle, y: Vector, lower: Vector, upper: Vector, gap: float) -> _Box:
    """The box with its bound, shrunk to where r(v) < −gap is still possible.

    The bound is a sum of terms that are each least at an end of the box: a v[x] so far from that end that
    the sum reaches −gap can be cut off. Smaller boxes have better chords, so this is repeated while it helps.
    """
    before = -np.inf
    while True:
        h_lower, slope = _chord(lower, upper)
        v, value, reduced = oracle.relax(slope - y, lower, upper)
        bound = value + float((h_lower - slope * lower).sum())
        box = _Box(bound, lower, upper, v.clip(lower, upper))
        room = -gap - bound
        if room <= 0 or bound < before + HELPS * room:
            return box
        before = bound
        reach = np.divide(room, np.abs(reduced), out=np.full_like(reduced, np.inf), where=reduced != 0)
        lower, upper = (
            np.where(reduced < 0, np.maximum(lower, upper - reach), lower),
            np.where(reduced > 0, np.minimum(upper, lower + reach), upper),
        )


def _chord(lower: Vector, upper: Vector) -> tuple[Vector, Vector]:
    """The height at `lower` and the slope of the chord of −v ln v over [lower, upper]."""
    h_lower, width = -plogp(lower), upper - lower
    slope = np.divide(-plogp(upper) - h_lower, width, out=np.zeros_like(width), where=width > 0)
    return h_lower, slope


def _cut(box: _Box) -> list[tuple[Vector, Vector]]:
    h_lower, slope = _chord(box.lower, box.upper)
    gaps = -plogp(box.v) - h_lower - slope * (box.v - box.lower)
    x = int(gaps.argmax())
    low, high = box.lower[x], box.upper[x]
    if gaps[x] <= 0 or high <= low:
        return []
    at = np.clip(box.v[x], low + CUT_INSIDE * (high - low), high - CUT_INSIDE * (high - low))
    left, right = box.upper.copy(), box.lower.copy()
    left[x] = right[x] = at
    return [(box.lower, left), (right, box.upper)]
