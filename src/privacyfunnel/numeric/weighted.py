"""Which of some numbers is reached when their weights are added up in their order, without sorting them, compiled."""

from __future__ import annotations

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.typing import Vector


@compiled
def reached(turns: Vector, weights: Vector, total: float) -> float:
    """The least turn up to which weights add up to the total: 0 if that is nothing, the largest turn if it is too much.

    Both are put in another order: halves without the answer are left aside, so that nothing needs to be sorted.
    """
    start, end, last = 0, len(turns), 0.0
    while start < end and total > 0:
        last, below, same = turns[(start + end) // 2], start, 0.0
        weight = 0.0
        for k in range(start, end):
            if turns[k] < last:
                turns[k], turns[below] = turns[below], turns[k]
                weights[k], weights[below] = weights[below], weights[k]
                weight += weights[below]
                below += 1
        if weight >= total:
            end = below
            continue
        start = below
        for k in range(below, end):
            if turns[k] == last:
                turns[k], turns[start] = turns[start], turns[k]
                weights[k], weights[start] = weights[start], weights[k]
                same += weights[start]
                start += 1
        total -= weight + same
    return last
