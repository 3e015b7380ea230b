"""Few secrets: one extreme posterior under given prices, and what is remembered of those that were looked at."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.optimiser.program.state import VERTEX_ERROR
from privacyfunnel.optimiser.program.supports import HALF_ULP, STEEPEST, UNCERTAIN
from privacyfunnel.optimiser.program.tolerances import ROUNDINGS
from privacyfunnel.typing import Integers, Matrix, Vector


class SweepTask(NamedTuple):
    """What a sweep goes through, with all errors that may be in it.

    G are the rows, and their entries may be wrong by ROUNDINGS·size; y are prices, and `slack` is how far a posterior
    that is written down may overstep a row, relative to its terms.
    """

    G: Matrix
    size: Matrix
    y: Vector
    slack: float
    ceiling: float
    """Posteriors that surely cost more than this need not be looked at further."""


class Boards(NamedTuple):
    """For every value, the posteriors that use it at least cost; and supports of which nothing is known."""

    least: Vector
    """least[x]: no posterior that was looked at and uses x costs less, in spite of all errors."""

    best: Matrix
    supports: NDArray[np.int64]
    masses: NDArray[np.float64]
    vague: NDArray[np.int64]
    """One support in a row, filled up with −1."""
    n_vague: NDArray[np.int64]


@compiled
def judged(support: Integers, v: Vector, task: SweepTask, boards: Boards) -> None:
    """Remember the cost of a posterior with certain masses, unless it is surely outside of Δ."""
    surely, perhaps = True, True
    for g in range(len(task.G)):
        total, size, entries = 0.0, 0.0, 0.0
        for i in range(len(v)):
            entry = task.G[g, support[i]]
            total += entry * v[i]
            size += abs(entry * v[i])
            entries += abs(entry) * VERTEX_ERROR + 2 * ROUNDINGS * task.size[g, support[i]]
        surely = surely and total <= task.slack * size
        perhaps = perhaps and total <= entries
        if not perhaps:
            return
    cost = _offer(support, v, task.y, boards) if surely else _cost(support, v, task.y)
    for i in range(len(v)):
        cost -= VERTEX_ERROR * (abs(task.y[support[i]]) - math.log(VERTEX_ERROR))
    _note(support, cost, boards)


@compiled
def reconsidered(support: Integers, rows: Integers, v: Vector, task: SweepTask, boards: Boards) -> None:
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
        error[j] = 2 * (k - 1) * (ROUNDINGS + (k + 2) * HALF_ULP) * per[everything & ~(1 << j)]
        if abs(w[j]) > abs(w[largest]):
            largest = j
        wrong += error[j]
    turn = -1.0 if w[largest] < 0 else 1.0
    for j in range(k):
        w[j] *= turn
        if w[j] < -error[j]:
            return
        w[j] = max(0.0, w[j])
        total += w[j]
    if wrong >= UNCERTAIN * total:
        if wrong > 0:
            _set_aside(support, task, boards)
        return
    for j in range(k):
        v[j] = w[j] / total
        error[j] = min(STEEPEST, (error[j] + v[j] * wrong) / (total - wrong) + 2 * k * HALF_ULP)
    surely = v.min() > 0
    for g in range(len(task.G)):
        over, size, most = 0.0, 0.0, 0.0
        for i in range(k):
            entry, doubt = task.G[g, support[i]], 2 * ROUNDINGS * task.size[g, support[i]]
            over += entry * v[i]
            size += abs(entry * v[i])
            most += (abs(entry) + doubt) * error[i] + doubt * v[i]
        surely = surely and over <= task.slack * size
        if over > most:
            return
    cost = _offer(support, v, task.y, boards) if surely else _cost(support, v, task.y)
    for i in range(k):
        cost -= error[i] * (abs(task.y[support[i]]) - math.log(error[i]))
    _note(support, cost, boards)


@compiled
def _note(support: Integers, cost: float, boards: Boards) -> None:
    """Some posterior with these values may cost so little."""
    for x in support:
        boards.least[x] = min(boards.least[x], cost)


@compiled
def _set_aside(support: Integers, task: SweepTask, boards: Boards) -> None:
    """A support of which nothing is known is written down; if there is no place, H(v) is at least 0 there."""
    place = boards.n_vague[0]
    if place == len(boards.vague):
        _note(support, -float(task.y[support].max()), boards)
        return
    boards.vague[place] = -1
    boards.vague[place, : len(support)] = support
    boards.n_vague[0] += 1


@compiled
def _cost(support: Integers, v: Vector, y: Vector) -> float:
    """H(v) − y·v."""
    cost = 0.0
    for i in range(len(v)):
        if v[i] > 0:
            cost -= v[i] * (math.log(v[i]) + y[support[i]])
    return cost


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
