"""A binary heap inside compiled loops: heap[:size] are numbers of items, the one with the least bound first.

heap[size:] are the numbers that are free, so an item that leaves makes room for the next one. Python's heapq knows
no such numbers, and Numba compiles only lists of tuples for it.
"""

from __future__ import annotations

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.typing import Integers, Vector


@compiled
def push(bounds: Vector, heap: Integers, size: int) -> int:
    """The item heap[size] joins; the new size. Afterwards no bound is below its parent's."""
    at = size
    while at > 0 and bounds[heap[at]] < bounds[heap[(at - 1) // 2]]:
        above = (at - 1) // 2
        heap[at], heap[above] = heap[above], heap[at]
        at = above
    return size + 1


@compiled
def pop(bounds: Vector, heap: Integers, size: int) -> int:
    """The first item leaves, and its number is the next to be used: heap[size], with the new size."""
    size -= 1
    heap[0], heap[size] = heap[size], heap[0]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            return size
        if child + 1 < size and bounds[heap[child + 1]] < bounds[heap[child]]:
            child += 1
        if bounds[heap[at]] <= bounds[heap[child]]:
            return size
        heap[at], heap[child] = heap[child], heap[at]
        at = child
