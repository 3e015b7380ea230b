"""Few secrets: every extreme posterior under given prices, one after the other, without storing them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.optimiser.program.polytope import ENTRY_ERROR
from privacyfunnel.optimiser.program.supports import HALF_ULP, STEEPEST, UNCERTAIN
from privacyfunnel.typing import Integers, Matrix, Vector

NEARLY = 1e-8
"""What masses that are certain only to CERTAIN, and float64, may change in an entropy: far less than this."""
CERTAIN = 1e-11
"""Masses that are this certain need no second look."""


class SweepTask(NamedTuple):
    """What a sweep goes through, with all errors that may be in it.

    G are the rows, and their entries may be wrong by ENTRY_ERROR·size; y are prices, and `slack` is how far a posterior
    that is written down may overstep a row, relative to its terms.
    """

    G: Matrix
    size: Matrix
    y: Vector
    slack: float
    ceiling: float
    """Posteriors that surely cost more than this, and more than the least so far, need not be looked at further."""


class Boards(NamedTuple):
    """For every value, the posteriors that use it at least cost; and supports of which nothing is known."""

    best: Matrix
    supports: NDArray[np.int64]
    masses: NDArray[np.float64]
    vague: NDArray[np.int64]
    """One support in a row, filled up with −1."""
    n_vague: NDArray[np.int64]


@compiled
def sweep_sets(first: int, sets: Integers, task: SweepTask, boards: Boards) -> float:
    """`sweep_points` for mixtures of k values that make one of the sets of k − 1 rows tight: the point 0 of these."""
    n, k = task.G.shape[1], sets.shape[1] + 1
    U, points, doubt = np.ones((n, k)), np.zeros((1, k)), np.zeros(k)
    points[0, 0] = 1.0
    least = np.inf
    for number in range(len(sets)):
        for i in range(k - 1):
            U[:, i + 1] = task.G[sets[number, i]]
            doubt[i + 1] = ENTRY_ERROR * task.size[sets[number, i]].max()
        least = min(least, sweep_points(first, U, points, doubt, sets[number : number + 1], task, boards))
    return least


@compiled
def sweep_points(
    first: int, U: Matrix, points: Matrix, doubt: Vector, tight: Integers, task: SweepTask, boards: Boards
) -> float:
    """The least H(v) − y·v over v in Δ on k values, the lowest being `first`, with Σ v[x] U[x] at one of the points.

    U[x] are the k coordinates of value x, and those of values and points may be wrong by `doubt`. All but the last
    value span a hyperplane: relative to it, every value and every point has k − 1 coordinates within and one across, so
    each last value takes a few operations. At point t the rows tight[t] are tight: where rounding errors could matter,
    the posterior is computed from these. None is passed over unless it is surely none, or surely outside of Δ.
    """
    n, k = U.shape
    chosen = np.arange(first, first + k - 1)
    inverse = np.empty((k, k))
    work = np.empty((k, 2 * k))
    at = np.empty((len(points), k))
    within = np.empty(k)
    support, v = np.empty(k, np.int64), np.empty(k)
    largest = np.empty(k)
    for j in range(k):
        largest[j] = np.abs(U[:, j]).max()
        for t in range(len(points)):
            largest[j] = max(largest[j], abs(points[t, j]))
    least = np.inf
    while len(points) and chosen[-1] < n - 1:
        error = np.inf
        if _invert(U, chosen, work, inverse):
            error = _error(U, chosen, inverse, largest, doubt)
        for t in range(len(points)):
            for i in range(k):
                at[t, i] = 0.0
                for j in range(k):
                    at[t, i] += inverse[i, j] * points[t, j]
        for last in range(chosen[-1] + 1, n):
            across = 0.0
            for j in range(k):
                across += inverse[k - 1, j] * U[last, j]
            known = False  # where the last value lies within the hyperplane
            for t in range(len(points)):
                if at[t, k - 1] * across < 0 and min(abs(across), abs(at[t, k - 1])) > error:
                    continue
                sure = abs(across) > 100 * error
                if sure:
                    if not known:
                        for i in range(k - 1):
                            within[i] = 0.0
                            for j in range(k):
                                within[i] += inverse[i, j] * U[last, j]
                        known = True
                    share = at[t, k - 1] / across
                    off = 1.1 * error * (1 + abs(share)) / abs(across)
                    worst, possible = off, share >= -off
                    sure = share > 0
                    for i in range(k - 1):
                        v[i] = at[t, i] - share * within[i]
                        mine = error * (1 + abs(share) + off) + abs(within[i]) * off
                        if v[i] < -mine:
                            possible = False
                            break
                        sure = sure and v[i] > 0
                        worst = max(worst, mine)
                    if not possible:
                        continue
                    v[k - 1] = share
                    sure = sure and worst <= CERTAIN
                support[: k - 1] = chosen
                support[k - 1] = last
                if sure:
                    floor = _floor(support, v, task.y) - NEARLY
                    if floor < task.ceiling or floor < least:
                        least = min(least, _judged(support, v, task, boards))
                else:
                    least = min(least, _reconsidered(support, tight[t], v, task, boards))
        if not _advance(chosen, n - 1):
            break
    return least


@compiled
def _error(U: Matrix, chosen: Integers, inverse: Matrix, largest: Vector, doubt: Vector) -> float:
    """How wrong coordinates relative to the hyperplane may be, by errors of the inverse, of the values and of sums.

    With R for the inverse and A for [U[chosen]ᵀ | e], R A = I + Z, so A⁻¹ w = (I + Z)⁻¹ R w: off by at most
    |Z| / (1 − |Z|) of its largest coordinate. In the last column, that of e, elimination makes no errors.
    """
    k = U.shape[1]
    apart, reach, shaky = 0.0, 0.0, 0.0
    for i in range(k):
        row, reached, shaken = 0.0, 0.0, 0.0
        for j in range(k - 1):
            total, size = 0.0, 0.0
            for m in range(k):
                total += inverse[i, m] * U[chosen[j], m]
                size += abs(inverse[i, m]) * (2 * k * HALF_ULP * abs(U[chosen[j], m]) + doubt[m])
            row += abs(total - (1.0 if i == j else 0.0)) + size
        for m in range(k):
            reached += abs(inverse[i, m]) * largest[m]
            shaken += abs(inverse[i, m]) * (4 * k * HALF_ULP * largest[m] + doubt[m])
        apart, reach, shaky = max(apart, row), max(reach, reached), max(shaky, shaken)
    return shaky + reach * apart / (1 - apart) if apart < UNCERTAIN else np.inf


@compiled
def _judged(support: Integers, v: Vector, task: SweepTask, boards: Boards) -> float:
    """The least cost of a posterior with certain masses, unless it is surely outside of Δ."""
    surely, perhaps = True, True
    for g in range(len(task.G)):
        total, size, entries = 0.0, 0.0, 0.0
        for i in range(len(v)):
            entry = task.G[g, support[i]]
            total += entry * v[i]
            size += abs(entry * v[i])
            entries += abs(entry) * CERTAIN + 2 * ENTRY_ERROR * task.size[g, support[i]]
        surely = surely and total <= task.slack * size
        perhaps = perhaps and total <= entries
        if not perhaps:
            return np.inf
    cost = _offer(support, v, task.y, boards) if surely else _cost(support, v, task.y)
    for i in range(len(v)):
        cost -= CERTAIN * (abs(task.y[support[i]]) - math.log(CERTAIN))
    return cost


@compiled
def _reconsidered(support: Integers, rows: Integers, v: Vector, task: SweepTask, boards: Boards) -> float:
    """The same for a posterior that makes these rows tight, from determinants with their errors (see `supports`)."""
    k = len(support)
    det, per = np.zeros(1 << k), np.zeros(1 << k)
    det[0] = per[0] = 1.0
    for columns in range(1, 1 << k):
        row, taken = -1, columns
        while taken:
            row += 1
            taken &= taken - 1
        if row > k - 2:
            continue
        sign = 1.0 if row % 2 == 0 else -1.0
        for j in range(k):
            if columns >> j & 1:
                rest = columns & ~(1 << j)
                det[columns] += sign * task.G[rows[row], support[j]] * det[rest]
                per[columns] += task.size[rows[row], support[j]] * per[rest]
                sign = -sign
    everything = (1 << k) - 1
    w, error = np.empty(k), np.empty(k)
    total, wrong, largest = 0.0, 0.0, 0
    for j in range(k):
        w[j] = det[everything & ~(1 << j)] * (1.0 if j % 2 == 0 else -1.0)
        error[j] = 2 * (k - 1) * (ENTRY_ERROR + (k + 2) * HALF_ULP) * per[everything & ~(1 << j)]
        if abs(w[j]) > abs(w[largest]):
            largest = j
        wrong += error[j]
    turn = -1.0 if w[largest] < 0 else 1.0
    for j in range(k):
        w[j] *= turn
        if w[j] < -error[j]:
            return np.inf
        w[j] = max(0.0, w[j])
        total += w[j]
    if wrong >= UNCERTAIN * total:
        return _noted(support, task, boards) if wrong > 0 else np.inf
    for j in range(k):
        v[j] = w[j] / total
        error[j] = min(STEEPEST, (error[j] + v[j] * wrong) / (total - wrong) + 2 * k * HALF_ULP)
    surely = v.min() > 0
    for g in range(len(task.G)):
        over, size, most = 0.0, 0.0, 0.0
        for i in range(k):
            entry, doubt = task.G[g, support[i]], 2 * ENTRY_ERROR * task.size[g, support[i]]
            over += entry * v[i]
            size += abs(entry * v[i])
            most += (abs(entry) + doubt) * error[i] + doubt * v[i]
        surely = surely and over <= task.slack * size
        if over > most:
            return np.inf
    cost = _offer(support, v, task.y, boards) if surely else _cost(support, v, task.y)
    for i in range(k):
        cost -= error[i] * (abs(task.y[support[i]]) - math.log(error[i]))
    return cost


@compiled
def _noted(support: Integers, task: SweepTask, boards: Boards) -> float:
    """A support of which nothing is known is written down; if there is no place, H(v) is at least 0 there."""
    place = boards.n_vague[0]
    if place == len(boards.vague):
        return -float(task.y[support].max())
    boards.vague[place] = -1
    boards.vague[place, : len(support)] = support
    boards.n_vague[0] += 1
    return np.inf


@compiled
def _cost(support: Integers, v: Vector, y: Vector) -> float:
    """H(v) − y·v."""
    cost = 0.0
    for i in range(len(v)):
        if v[i] > 0:
            cost -= v[i] * (math.log(v[i]) + y[support[i]])
    return cost


@compiled
def _floor(support: Integers, v: Vector, y: Vector) -> float:
    """Less than H(v) − y·v, without logarithms: −ln v ≥ (1 − v) + (1 − v)²/2, the first terms of its series."""
    floor = 0.0
    for i in range(len(v)):
        rest = 1.0 - v[i]
        floor += v[i] * (rest * (1.0 + 0.5 * rest) - y[support[i]]) - 4 * CERTAIN * abs(y[support[i]])
    return floor


@compiled
def _advance(chosen: Integers, end: int) -> bool:
    """The next increasing choice of numbers below `end` with the same first one; False after the last."""
    i = len(chosen) - 1
    while i > 0 and chosen[i] == end - len(chosen) + i:
        i -= 1
    if i == 0:
        return False
    chosen[i] += 1
    for j in range(i + 1, len(chosen)):
        chosen[j] = chosen[j - 1] + 1
    return True


@compiled
def _invert(U: Matrix, chosen: Integers, work: Matrix, inverse: Matrix) -> bool:
    """The inverse of [U[chosen]ᵀ | e], e the unit vector that is most independent of them; False if they are not.

    Gauss and Jordan with the largest pivot of a column; the row that is left over is where e has its 1.
    """
    r = U.shape[1]
    for i in range(r):
        for j in range(r - 1):
            work[i, j] = U[chosen[j], i]
        for j in range(r):
            work[i, r + j] = 1.0 if i == j else 0.0
    for j in range(r - 1):
        pivot = j
        for i in range(j + 1, r):
            if abs(work[i, j]) > abs(work[pivot, j]):
                pivot = i
        if work[pivot, j] == 0.0:
            return False
        for m in range(2 * r):
            work[j, m], work[pivot, m] = work[pivot, m], work[j, m]
        scale = 1.0 / work[j, j]
        for m in range(2 * r):
            work[j, m] *= scale
        for i in range(r):
            if i != j and work[i, j] != 0.0:
                factor = work[i, j]
                for m in range(2 * r):
                    work[i, m] -= factor * work[j, m]
    for i in range(r):
        for j in range(r):
            inverse[i, j] = work[i, r + j]
    return True


@compiled
def _offer(support: Integers, v: Vector, y: Vector, boards: Boards) -> float:
    """Its reduced cost; where it is among the best of one of its values, it is written down there."""
    best, supports, masses = boards.best, boards.supports, boards.masses
    k = len(v)
    cost = _cost(support, v, y)
    for i in range(k):
        x = support[i]
        place = best.shape[1] - 1
        if cost >= best[x, place]:
            continue
        while place > 0 and best[x, place - 1] > cost:
            best[x, place] = best[x, place - 1]
            supports[x, place] = supports[x, place - 1]
            masses[x, place] = masses[x, place - 1]
            place -= 1
        best[x, place] = cost
        supports[x, place] = 0
        masses[x, place] = 0.0
        for j in range(k):
            supports[x, place, j] = support[j]
            masses[x, place, j] = v[j]
    return cost
