"""Boxes gone through in lanes: shares of the open boxes that know nothing of each other, for as many threads.

How many lanes there are, which boxes each takes and how many it cuts do not depend on the number of threads or on how
quick they are. So neither do bounds, posteriors and boxes, to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.numeric.heap import pop, push
from privacyfunnel.optimiser.generation.boxes import RowBounds, bound_box, next_cut, note
from privacyfunnel.optimiser.generation.tableau import Tableau, renew
from privacyfunnel.optimiser.program.tolerances import REFRESH
from privacyfunnel.typing import Integers, Matrix, Vector


class Boxes(NamedTuple):
    """Box k is sides[k] = (lower, upper), has the bound bounds[k], and is cut at cut_at[k] in direction cuts[k]."""

    sides: Matrix
    bounds: Vector
    cuts: Integers
    cut_at: Vector

    @classmethod
    def empty(cls, places: int, n: int) -> Boxes:
        """So many places for boxes of n sides."""
        return cls(np.empty((places, 2 * n)), np.empty(places), np.empty(places, dtype=np.int64), np.empty(places))


class Lane(NamedTuple):
    """A stack of boxes, where the simplex method stands, and the points found."""

    boxes: Boxes
    tableau: Tableau
    found: Matrix
    since: Integers
    """since[0]: boxes cut since the tableau was computed anew."""

    @classmethod
    def empty(cls, rows: RowBounds, places: int, found: int) -> Lane:
        """Without boxes, and with a tableau to begin with."""
        n = rows.A.shape[1]
        return cls(Boxes.empty(places, n), Tableau.of(rows.A), np.empty((found, n)), np.zeros(1, dtype=np.int64))


@compiled
def _copy(source: Boxes, k: int, target: Boxes, place: int) -> None:
    target.sides[place] = source.sides[k]
    target.bounds[place] = source.bounds[k]
    target.cuts[place] = source.cuts[k]
    target.cut_at[place] = source.cut_at[k]


@compiled
def take(boxes: Boxes, heap: Integers, size: int, count: int) -> Integers:
    """The numbers of the boxes with the least bounds, which leave the heap; they stay readable until others join."""
    taken = np.empty(count, np.int64)
    for k in range(count):
        taken[k] = heap[0]
        size = pop(boxes.bounds, heap, size)
    return taken


@compiled
def gather(boxes: Boxes, heap: Integers, size: int, lane: Boxes, open_in_lane: int) -> int:
    """Boxes that are still open in a lane join the heap; its new size."""
    for place in range(open_in_lane):
        _copy(lane, place, boxes, heap[size])
        size = push(boxes.bounds, heap, size)
    return size


@compiled(reorder_sums=True)
def least_points(
    rows: RowBounds, y: Vector, gap: float, sides: Matrix, tableau: Tableau, r: Vector, points: Matrix
) -> None:
    """For each box, a bound on its least r(v), and the point where its linear program is least."""
    n = len(y)
    box = np.empty(2 * n)
    for k in range(len(sides)):
        if k % REFRESH == 0:
            renew(rows.A, tableau)
        box[:] = sides[k]
        r[k] = bound_box(rows, y, gap, box[:n], box[n:], tableau)
        points[k] = tableau.x[:n]


@compiled(reorder_sums=True)
def dive(
    rows: RowBounds, y: Vector, gap: float, given: Boxes, taken: Integers, lane: Lane, budget: int
) -> tuple[int, int, float, int]:
    """Put the boxes `taken` on the lane's stack, and cut the one on top in two, `budget` times at most.

    Depth first, as the program of a box is then nearly that of the box before. Returns how many boxes are open, how
    many points with a sum below −gap are in lane.found, the least bound among boxes that are done with, and how many
    were cut.
    """
    n = len(y)
    boxes, tableau = lane.boxes, lane.tableau
    size = 0
    for k in taken[::-1]:  # the one with the least bound is on top
        _copy(given, k, boxes, size)
        size += 1
    parent = np.empty(2 * n)
    settled, n_found, made = np.inf, 0, 0
    while made < budget and size > 0:
        if lane.since[0] == REFRESH:
            renew(rows.A, tableau)
            lane.since[0] = 0
        lane.since[0] += 1
        made += 1
        size -= 1
        parent[:] = boxes.sides[size]
        above, direction, at = boxes.bounds[size], boxes.cuts[size], boxes.cut_at[size]
        for end in (direction, direction + n):  # the lower side of one half, the upper one of the other
            box = boxes.sides[size]
            box[:] = parent
            box[end] = at
            bound = max(above, bound_box(rows, y, gap, box[:n], box[n:], tableau))
            if bound < -gap:
                n_found = note(rows, y, gap, tableau.x, lane.found, n_found)
                boxes.cuts[size], boxes.cut_at[size] = next_cut(rows, box[:n], box[n:], tableau.x)
            if bound >= -gap or boxes.cuts[size] < 0:  # where chord and curve agree, the bound is r(v); v was noted
                settled = min(settled, bound)
            else:
                boxes.bounds[size] = bound
                size += 1
    return size, n_found, settled, made
