"""Elimination: in which order the unknowns of a sparse symmetric system are eliminated, and what that will take.

Eliminating an unknown connects all its neighbours with each other, so the next one to go is one with the fewest of them
(minimum degree, Rose 1972). The order tells how many numbers the factors will have and how many operations they cost
before any is spent.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from privacyfunnel.typing import Integers

MOST_LINKS = 20_000_000
"""Connections that are made one by one, within seconds; unknowns that are left then are taken to be all connected."""


@dataclass(frozen=True, eq=False)
class Elimination:
    """An order of elimination without pivoting, and its cost."""

    order: Integers
    numbers: int
    """In the triangular factor L, its diagonal included; at most so many."""
    operations: int
    """Multiplications for L; at most about so many."""


def elimination(matrix: csr_array) -> Elimination:
    """An order for a matrix with a symmetric pattern, by minimum degree.

    In a star the centre goes last, though it comes first: no two leaves get connected.

    >>> star = csr_array(np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]]))
    >>> elimination(star).numbers
    7
    """
    near = _neighbours(matrix)
    waiting = [(len(others), v) for v, others in near.items()]
    heapq.heapify(waiting)
    order: list[int] = []
    numbers = operations = 0
    while waiting and operations <= MOST_LINKS:
        degree, v = heapq.heappop(waiting)
        if v not in near or degree != len(near[v]):  # it has changed since, and waits with its new degree
            continue
        if degree == len(near) - 1:  # all that are left are connected
            break
        ring = near.pop(v)
        order.append(v)
        numbers, operations = numbers + degree + 1, operations + degree**2
        for u in ring:
            near[u] |= ring
            near[u] -= {u, v}
            heapq.heappush(waiting, (len(near[u]), u))
    left = len(near)
    return Elimination(
        np.array([*order, *near], dtype=np.int64), numbers + left * (left + 1) // 2, operations + left**3 // 3
    )


def _neighbours(matrix: csr_array) -> dict[int, set[int]]:
    columns, starts = matrix.indices.tolist(), matrix.indptr.tolist()
    return {v: set(columns[starts[v] : starts[v + 1]]) - {v} for v in range(matrix.shape[0])}
