"""Exact pricing: a lower bound on min r(v) over Δ by spatial branch and bound.

On a box l ≤ v ≤ u each −v ln v lies above its chord, so a linear program bounds r from below there;
where curve and chord differ most, the box is cut in two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privacyfunnel.optimiser.boxes import explore
from privacyfunnel.optimiser.pricing import Oracle, descend, distinct
from privacyfunnel.typing import Matrix, Vector

MEMORY = 400_000_000
"""Bytes for open boxes."""
MOST_BOXES = 1_000_000
AT_ONCE = 2_000_000
"""Entries of tableaux gone through before looking at the clock: some tenths of a second."""
PATIENCE = 2_000
"""Boxes looked at after an improving posterior was found, before it is handed back."""
MOST_FOUND = 100


@dataclass(frozen=True, eq=False)
class Proof:
    """r(v) ≥ bound for every v in Δ; `improving` are posteriors met on the way with r(v) < −gap."""

    bound: float
    improving: Matrix


def prove(oracle: Oracle, y: Vector, upper: Vector, gap: float, stopped: Callable[[], bool] = lambda: False) -> Proof:
    """Bound min r from below until it is at least −gap, an improving posterior is known, or `stopped()`.

    `upper[x]` is at least the largest v[x] in Δ.
    """
    tree = _Tree(oracle.G, y, upper, gap)
    looked_at, found_at, step = 0, None, tree.step
    while not stopped() and tree.grow(step):
        looked_at += step
        if tree.n_found and found_at is None:
            found_at = looked_at
        if found_at is not None and looked_at - found_at >= PATIENCE:
            break
    polished = [descend(oracle, y, v) for v in distinct(tree.found[: tree.n_found].clip(0))]
    return Proof(tree.bound, distinct(np.array(polished).reshape(-1, oracle.n_x)))


class _Tree:
    """The open boxes, and what is known of the others."""

    def __init__(self, G: Matrix, y: Vector, upper: Vector, gap: float) -> None:
        rows, n = G.shape
        capacity = min(MOST_BOXES, max(16, MEMORY // (16 * n)))
        row, self._index = np.nonzero(G)
        self._starts = np.searchsorted(row, np.arange(rows + 1))
        self._entry = G[row, self._index]
        self._A = np.vstack([G, np.ones((1, n))])
        self._y, self._gap = y, gap
        self._boxes = np.empty((capacity, 2 * n))
        self._bounds, self._cut_at = np.empty(capacity), np.empty(capacity)
        self._cuts, self._heap = np.empty(capacity, dtype=np.int64), np.arange(capacity)
        self._settled = np.inf
        self.found, self.n_found = np.empty((MOST_FOUND, n)), 0
        self.step = max(1, AT_ONCE // self._A.size)
        # all of Δ, to be cut in half somewhere
        self._boxes[0, :n], self._boxes[0, n:] = 0.0, upper
        self._bounds[0], self._cuts[0], self._cut_at[0] = -np.inf, upper.argmax(), upper.max() / 2
        self._size = 1

    def grow(self, steps: int) -> bool:
        """Cut so many boxes; False if nothing is left to cut, or no place."""
        self._size, self.n_found, settled = explore(
            self._A,
            self._starts,
            self._index,
            self._entry,
            self._y,
            self._gap,
            self._boxes,
            self._bounds,
            self._heap,
            self._size,
            self._cuts,
            self._cut_at,
            self.found,
            self.n_found,
            steps,
        )
        self._settled = min(self._settled, settled)
        return 0 < self._size < len(self._heap) - 1

    @property
    def bound(self) -> float:
        """r(v) is at least this in all of Δ."""
        return min(self._settled, float(self._bounds[self._heap[0]])) if self._size else self._settled
