"""Exact pricing: a lower bound on min r(v) over Δ by spatial branch and bound.

On a box l ≤ v ≤ u each −v ln v lies above its chord, so a linear program bounds r from below there;
where curve and chord differ most, the box is cut in two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privacyfunnel.optimiser.generation.boxes import OpenBoxes, RowBounds, explore
from privacyfunnel.optimiser.generation.pricing import Programs, descend, distinct, reduced_cost
from privacyfunnel.typing import Matrix, Vector

MEMORY = 400_000_000
"""Bytes for open boxes."""
FEWEST_BOXES = 16
"""There is place for so many, however large a box is."""
MOST_BOXES = 1_000_000
"""The arrays hold so many at most, however small boxes are; when they are full, the bound so far is the answer."""
ENTRIES_BETWEEN_LOOKS = 2_000_000
"""Entries of tableaux gone through before looking at the clock: some tenths of a second."""
BOXES_BETWEEN_LOOKS = 1_000
"""Boxes cut before looking at the clock, however small they are."""
PATIENCE = 2_000
"""Boxes looked at after an improving posterior was found, before it is handed back."""
MOST_FOUND = 100
"""Improving posteriors noted in one search: each is polished by linear programs, and new prices lead to others."""


@dataclass(frozen=True, eq=False)
class Proof:
    """r(v) ≥ bound for every v in Δ; `improving` are posteriors met on the way with r(v) < −gap."""

    bound: float
    improving: Matrix


def prove(
    oracle: Programs,
    y: Vector,
    upper: Vector,
    gap: float,
    stopped: Callable[[], bool] = lambda: False,
    effort: float = math.inf,
) -> Proof:
    """Bound min r from below until it is at least −gap, an improving posterior is known, or `stopped()`.

    `upper[x]` is at least the largest v[x] in Δ. `effort` is how often to look at the clock before giving up.
    """
    rows = oracle.rows()
    hidden = len(rows.curved) - oracle.n_x
    tree = Tree(rows, np.append(y, np.zeros(hidden)), np.append(upper, np.ones(hidden)), gap)
    tree.search(stopped, effort)
    met = tree.found[: tree.n_found, : oracle.n_x].clip(0)
    polished = [descend(oracle, y, v) for v in distinct(met)]
    improving = [v for v in polished if reduced_cost(v, y) < -gap]
    return Proof(tree.bound, distinct(np.array(improving).reshape(-1, oracle.n_x)))


class Tree:
    """The open boxes, and what is known of the others."""

    def __init__(self, rows: RowBounds, y: Vector, upper: Vector, gap: float) -> None:
        n = len(upper)
        capacity = min(MOST_BOXES, max(FEWEST_BOXES, MEMORY // (16 * n)))
        self._rows, self._y, self._gap = rows, y, gap
        self._boxes = OpenBoxes(
            sides=np.empty((capacity, 2 * n)),
            bounds=np.empty(capacity),
            cuts=np.empty(capacity, dtype=np.int64),
            cut_at=np.empty(capacity),
            heap=np.arange(capacity),
        )
        self._settled = np.inf
        self.found, self.n_found = np.empty((MOST_FOUND, n)), 0
        self.step = min(BOXES_BETWEEN_LOOKS, max(1, ENTRIES_BETWEEN_LOOKS // rows.A.size))
        # all of Δ, to be cut in half somewhere
        boxes, widest = self._boxes, int(np.where(rows.curved, upper, -1.0).argmax())
        boxes.sides[0, :n], boxes.sides[0, n:] = 0.0, upper
        boxes.bounds[0], boxes.cuts[0], boxes.cut_at[0] = -np.inf, widest, upper[widest] / 2
        self._size = 1

    def search(self, stopped: Callable[[], bool], effort: float) -> None:
        """Cut boxes until all are done with, for some time after an improving posterior was found, or `stopped()`."""
        patience = PATIENCE
        while patience > 0 and effort > 0 and not stopped() and self.grow(self.step):
            patience -= self.step if self.n_found else 0
            effort -= 1

    def grow(self, steps: int) -> bool:
        """Cut so many boxes; False if nothing is left to cut, or no place."""
        self._size, self.n_found, settled = explore(
            self._rows, self._y, self._gap, self._boxes, self._size, self.found, self.n_found, steps
        )
        self._settled = min(self._settled, settled)
        return 0 < self._size < len(self._boxes.heap) - 1

    @property
    def bound(self) -> float:
        """r(v) is at least this in all of Δ."""
        boxes = self._boxes
        return min(self._settled, float(boxes.bounds[boxes.heap[0]])) if self._size else self._settled
