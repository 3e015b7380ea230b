"""Exact pricing: a lower bound on min r(v) over Δ by spatial branch and bound.

On a box l ≤ v ≤ u each −v ln v lies above its chord, so a linear program bounds r from below there;
where curve and chord differ most, the box is cut in two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privacyfunnel.numeric.cores import side_by_side
from privacyfunnel.optimiser.generation.boxes import RowBounds
from privacyfunnel.optimiser.generation.lanes import Boxes, Lane, dive, gather, least_points, take
from privacyfunnel.optimiser.generation.pricing import Programs, descend, distinct, reduced_cost
from privacyfunnel.optimiser.program.tolerances import MEMORY, MOST_FOUND
from privacyfunnel.typing import Integers, Matrix, Vector

ENTRIES_BETWEEN_LOOKS = 2_000_000
"""Entries of tableaux gone through before looking at the clock: some tenths of a second."""
BOXES_BETWEEN_LOOKS = 1_000
"""Boxes cut before looking at the clock, however small they are."""
LANES = 8
"""Shares of the open boxes that are cut side by side: threads, at most. A matter of results, so the same everywhere."""
BOXES_EACH = 4
"""Boxes that a lane takes at a time, at most: what it does not come to goes back."""
CUTS_EACH = 50
"""Boxes that a lane cuts at a time, at most: some milliseconds, against a twentieth of one to start threads."""
PATIENCE = 2_000
"""Boxes looked at after an improving posterior was found, before it is handed back."""


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
    tree = Tree.of(oracle, y, upper, gap)
    tree.search(stopped, effort)
    return Proof(tree.bound, polished(oracle, y, tree, gap))


def polished(oracle: Programs, y: Vector, tree: Tree, gap: float) -> Matrix:
    """The vertices with r(v) < −gap that are reached from the points that a tree met."""
    met = tree.found[: tree.n_found, : oracle.n_x].clip(0)
    ends = [descend(oracle, y, v) for v in distinct(met)]
    improving = [v for v in ends if reduced_cost(v, y) < -gap]
    return distinct(np.array(improving).reshape(-1, oracle.n_x))


class Tree:
    """The open boxes, and what is known of the others."""

    def __init__(self, rows: RowBounds, y: Vector, upper: Vector, gap: float) -> None:
        n = len(upper)
        capacity = MEMORY // (16 * n)
        self._rows, self._y, self._gap = rows, y, gap
        self._boxes, self._heap = Boxes.empty(capacity, n), np.arange(capacity)
        self.step = min(BOXES_BETWEEN_LOOKS, max(1, ENTRIES_BETWEEN_LOOKS // rows.A.size))
        self._most = max(1, min(CUTS_EACH, self.step // LANES))
        self._lanes: list[Lane] = []
        self._settled = np.inf
        self.cut = 0
        self.found, self.n_found = np.empty((MOST_FOUND, n)), 0
        # all of Δ, to be cut in half somewhere
        boxes, widest = self._boxes, int(np.where(rows.curved, upper, -1.0).argmax())
        boxes.sides[0, :n], boxes.sides[0, n:] = 0.0, upper
        boxes.bounds[0], boxes.cuts[0], boxes.cut_at[0] = -np.inf, widest, upper[widest] / 2
        self._size = 1

    @classmethod
    def of(cls, oracle: Programs, y: Vector, upper: Vector, gap: float) -> Tree:
        """The tree for min H(v) − y·v; `upper[x]` is at least the largest v[x] in Δ."""
        rows = oracle.rows()
        hidden = len(rows.curved) - oracle.n_x
        return cls(rows, np.append(y, np.zeros(hidden)), np.append(upper, np.ones(hidden)), gap)

    def lower(self, less: Vector) -> None:
        """Go on at prices that are lower by less[x] ≥ 0 for the first values: r(v) rises, so all bounds still hold."""
        self._y = self._y - np.append(less, np.zeros(len(self._y) - len(less)))

    def lowest(self, most: int) -> tuple[Vector, Matrix]:
        """Of the open boxes with the least bounds: the least r(v) of their programs, and where it is, if below −gap."""
        n, open_boxes = len(self._y), self._heap[: self._size]
        chosen = open_boxes[np.argsort(self._boxes.bounds[open_boxes], kind="stable")[:most]]
        while len(self._lanes) < LANES:
            self._lanes.append(Lane.empty(self._rows, BOXES_EACH + self._most, MOST_FOUND))

        def solve(place: int) -> tuple[Vector, Matrix]:
            sides = self._boxes.sides[chosen[place::LANES]]
            r, points = np.full(len(sides), np.inf), np.empty((len(sides), n))
            least_points(self._rows, self._y, self._gap, sides, self._lanes[place].tableau, r, points)
            return r, points

        parts = side_by_side(solve, range(LANES))
        r, points = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        below = r < -self._gap
        return r[below], points[below]

    def search(self, stopped: Callable[[], bool], effort: float) -> None:
        """Cut boxes until all are done with, for some time after an improving posterior was found, or `stopped()`."""
        patience = PATIENCE
        while patience > 0 and effort > 0 and not stopped() and self.grow(self.step):
            patience -= self.step if self.n_found else 0
            effort -= 1

    def grow(self, steps: int) -> bool:
        """Cut so many boxes, or a few more; False if nothing is left to cut, or no place."""
        until = self.cut + steps
        while self.cut < until and self._size and self._places():
            self._cut_in_lanes()
        return self._size > 0 and self._places() > 0

    def _places(self) -> int:
        """How many boxes each lane may cut: each cut leaves one box more, at most."""
        return min(self._most, (len(self._heap) - self._size) // LANES)

    def _cut_in_lanes(self) -> None:
        """Deal out the boxes with the least bounds, and put together what comes of them, in the order of the lanes."""
        taken = take(self._boxes, self._heap, self._size, min(self._size, LANES * BOXES_EACH))
        cuts = self._places()
        used = min(LANES, len(taken))
        while len(self._lanes) < used:
            self._lanes.append(Lane.empty(self._rows, BOXES_EACH + self._most, MOST_FOUND))
        shares = [(lane, np.ascontiguousarray(taken[i::LANES])) for i, lane in enumerate(self._lanes[:used])]

        def work(share: tuple[Lane, Integers]) -> tuple[int, int, float, int]:
            return dive(self._rows, self._y, self._gap, self._boxes, share[1], share[0], cuts)

        done = side_by_side(work, shares)
        self._size -= len(taken)
        for (lane, _), (still_open, n_found, settled, cut) in zip(shares, done, strict=True):
            self._size = gather(self._boxes, self._heap, self._size, lane.boxes, still_open)
            self._settled = min(self._settled, settled)
            self.cut += cut
            more = min(n_found, MOST_FOUND - self.n_found)
            self.found[self.n_found : self.n_found + more] = lane.found[:more]
            self.n_found += more

    @property
    def bound(self) -> float:
        """r(v) is at least this in all of Δ."""
        return min(self._settled, float(self._boxes.bounds[self._heap[0]])) if self._size else self._settled
