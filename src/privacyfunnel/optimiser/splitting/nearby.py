"""Nearby: posteriors with few values whose entropy undercuts their price, sought around one value after the other.

Among a value and its companions, r(v) = H(v) − y·v is concave, so that a linear program along its slope leads from one
vertex to a better one. Of the rows that these values can break, hardly any is met with equality at a vertex: programs
begin with Σv = 1 alone, and rows that a solution breaks are added, a few at a time.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.optimiser.generation.box_simplex import minimise
from privacyfunnel.optimiser.splitting.companions import Rows, around
from privacyfunnel.typing import Integers, Matrix, Vector

STEPS = 8
"""Slopes that a descent follows, at most."""
ADDED = 6
"""Rows that are added at a time, those that are broken by most."""
ROWS_EACH = 2
"""Rows that a program may have for each value, and some more: one that would need others is given up."""
SOME_ROWS = 40
STEEPEST = 1e-12
"""Where the slope of −v ln v is taken for v = 0, where it is infinite."""
BROKEN = 1e-9
"""By how much a row may be overstepped; its largest entry is 1."""
BROKEN_SHARE = 1e-4
"""The same as a share of its terms: the search stays inside of the limits by more."""
NONE = 1e-9
"""Masses below that are rounding errors."""
FALLS = 1e-9
"""Nats: what lowers r by less is not worth another program."""


@compiled
def own_rows(rows: Rows, values: Integers, number: Integers) -> tuple[Integers, Integers, Vector]:
    """The rows that some of the values break, as (starts, places of values, entries); number[row] is −1 before and after."""
    count = 0
    for x in values:
        for k in range(rows.starts[x], rows.starts[x + 1]):
            if rows.entries[k] > 0 and number[rows.rows[k]] < 0:
                number[rows.rows[k]] = count
                count += 1
    starts = np.zeros(count + 1, np.int64)
    for x in values:
        for k in range(rows.starts[x], rows.starts[x + 1]):
            if number[rows.rows[k]] >= 0:
                starts[number[rows.rows[k]] + 1] += 1
    for i in range(count):
        starts[i + 1] += starts[i]
    places, entries = np.empty(starts[count], np.int64), np.empty(starts[count])
    filled = starts[:count].copy()
    for place in range(len(values)):
        x = values[place]
        for k in range(rows.starts[x], rows.starts[x + 1]):
            i = number[rows.rows[k]]
            if i >= 0:
                places[filled[i]], entries[filled[i]] = place, rows.entries[k]
                filled[i] += 1
    for x in values:
        for k in range(rows.starts[x], rows.starts[x + 1]):
            number[rows.rows[k]] = -1
    return starts, places, entries


@compiled(reorder_sums=True)
def descend(starts: Integers, places: Integers, entries: Vector, y: Vector, begin: Matrix) -> tuple[Matrix, Vector]:
    """From each of begin[i], a vertex of {v ≥ 0, Σv = 1, rows·v ≤ 0} with a small r(v), and r there; ∞ if there is none."""
    n, count = len(y), len(starts) - 1
    most = min(count, SOME_ROWS + ROWS_EACH * n) + 1
    T, basic, outside = np.zeros((most, n)), np.empty(most, np.int64), np.empty(n, np.int64)
    x, low, high = np.zeros(n + most), np.zeros(n + most), np.ones(n + most)
    is_in = np.zeros(count, np.bool_)
    over = np.empty(count)
    cost = np.empty(n)
    ends, values = np.zeros((len(begin), n)), np.full(len(begin), np.inf)
    for k in range(len(begin)):
        m = 1
        T[0] = 1.0
        basic[0], low[n], high[n] = n, 1.0, 1.0
        for j in range(n):
            outside[j] = j
        is_in[:] = False
        v = begin[k].copy()
        for _ in range(STEPS):
            for j in range(n):
                cost[j] = -math.log(max(v[j], STEEPEST)) - y[j]
            met = False
            while not met:
                minimise(cost, low[: n + m], high[: n + m], np.inf, T[:m], basic[:m], outside, x[: n + m])
                met, worst = True, 0.0
                for i in range(count):
                    over[i] = 0.0
                    if not is_in[i]:
                        for e in range(starts[i], starts[i + 1]):
                            over[i] += entries[e] * x[places[e]]
                        if over[i] > BROKEN:
                            met = False
                if met:
                    break
                for _ in range(ADDED):
                    worst, row = BROKEN, -1
                    for i in range(count):
                        if over[i] > worst:
                            worst, row = over[i], i
                    if row < 0:
                        break
                    if m == most:
                        break
                    _add_row(starts, places, entries, row, n, m, T, basic, outside, x, low, high)
                    over[row] = 0.0
                    is_in[row] = True
                    m += 1
                if m == most and not met:
                    break
            if not met:
                break
            value = 0.0
            for j in range(n):
                if x[j] > NONE:
                    value -= x[j] * (math.log(x[j]) + y[j])
            if value >= values[k] - FALLS or not _holds(starts, places, entries, x):
                break
            values[k] = value
            for j in range(n):
                v[j] = x[j] if x[j] > NONE else 0.0
                ends[k, j] = v[j]
    return ends, values


@compiled(reorder_sums=True)
def _add_row(
    starts: Integers, places: Integers, entries: Vector, row: int, n: int, m: int, T: Matrix, basic: Integers,
    outside: Integers, x: Vector, low: Vector, high: Vector,
) -> None:  # fmt: skip
    """The tableau with one row more, number m, that is basic."""
    own = np.zeros(n)
    least = 0.0
    for e in range(starts[row], starts[row + 1]):
        own[places[e]] = entries[e]
        least = min(least, entries[e])
    total = 0.0
    for j in range(n):
        T[m, j] = own[outside[j]] if outside[j] < n else 0.0
    for i in range(m):
        if basic[i] < n and own[basic[i]] != 0.0:
            for j in range(n):
                T[m, j] += own[basic[i]] * T[i, j]
    for j in range(n):
        total += own[j] * x[j]
    basic[m], x[n + m], low[n + m], high[n + m] = n + m, total, least, 0.0


@compiled(reorder_sums=True)
def _holds(starts: Integers, places: Integers, entries: Vector, x: Vector) -> bool:
    """Whether no row is overstepped by more than the search leaves room for, without what is only rounding error."""
    for i in range(len(starts) - 1):
        total, size = 0.0, 0.0
        for e in range(starts[i], starts[i + 1]):
            if x[places[e]] > NONE:
                total += entries[e] * x[places[e]]
                size += abs(entries[e]) * x[places[e]]
        if total > BROKEN_SHARE * size:
            return False
    return True


@compiled
def search(
    rows: Rows, centres: Integers, most: Integers, y: Vector, worth: float, noise: Vector, number: Integers,
    there: NDArray[np.bool_],
) -> tuple[Integers, Integers, Vector, Vector]:  # fmt: skip
    """Posteriors among most[c] values around each centre, with r(v) < −worth: (starts, values, masses, r).

    Two descents each: from all values alike, and from where noise says.
    """
    found_starts, found_values, found_masses, found_r = [0], [0], [0.0], [0.0]
    found_values.pop()
    found_masses.pop()
    found_r.pop()
    for c in range(len(centres)):
        values = around(rows, centres[c], most[c], there)
        n = len(values)
        starts, places, entries = own_rows(rows, values, number)
        begin = np.full((2, n), 1.0 / n)
        for j in range(n):
            begin[1, j] = noise[(c + 7 * j) % len(noise)]
        ends, r = descend(starts, places, entries, y[values], begin)
        for k in range(2):
            if not r[k] < -worth or (k == 1 and r[1] == r[0]):
                continue
            for j in range(n):
                if ends[k, j] > 0:
                    found_values.append(values[j])
                    found_masses.append(ends[k, j])
            found_starts.append(len(found_values))
            found_r.append(r[k])
    return np.array(found_starts), np.array(found_values), np.array(found_masses), np.array(found_r)
