"""Nearby: posteriors with few values whose entropy undercuts their price, sought around one value after the other.

Among a value and its companions, r(v) = H(v) − y·v is concave, so that a linear program along its slope leads from one
vertex to a better one. Of the rows that these values can break, hardly any is met with equality at a vertex: programs
begin with Σv = 1 alone, and rows that a solution breaks are added, a few at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.optimiser.generation.box_simplex import minimise
from privacyfunnel.optimiser.splitting.companions import Rows, around
from privacyfunnel.typing import Integers, Matrix, Vector

Flags = NDArray[np.bool_]

STEPS = 8
"""Slopes that a descent follows, at most."""
ADDED = 6
"""Rows that are added at a time, those that are broken by most."""
SOME_ROWS, ROWS_EACH = 40, 2
"""Rows that a program may have, some at least and so many for each value: one that would need more is given up."""
STEEPEST = 1e-12
"""Where the slope of −v ln v is taken for v = 0, where it is infinite."""
BROKEN = 1e-9
"""By how much a row may be overstepped; its largest entry is 1."""
BROKEN_SHARE = 1e-4
"""The same as a share of its terms: the search stays inside of the limits by more."""
NONE = 1e-9
"""Masses below that are rounding errors."""
LEAST_CENTRE = 1e-6
"""Of the mass that a posterior has at its centre: less does not help to get rid of it."""
FALLS = 1e-9
"""Nats: what lowers r by less is not worth another program."""


@compiled
def own_rows(rows: Rows, values: Integers, number: Integers) -> tuple[Integers, Integers, Vector]:
    """The rows that some of the values break, as (starts, places of values, entries).

    number[row] is −1 before and after.
    """
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


class Program(NamedTuple):
    """min cost·v  s.t.  v ≥ 0, Σv = 1, rows·v ≤ 0; row i holds entries[e] at places[e], starts[i] ≤ e < starts[i+1].

    Some of the rows are in the tableau of `box_simplex`.
    """

    starts: Integers
    places: Integers
    entries: Vector
    T: Matrix
    basic: Integers
    outside: Integers
    x: Vector
    low: Vector
    high: Vector
    is_in: Flags
    over: Vector
    """By how much each row that is not in the tableau is overstepped."""


@compiled
def program(starts: Integers, places: Integers, entries: Vector, n: int) -> Program:
    """The program over n values with these rows."""
    count = len(starts) - 1
    most = min(count, SOME_ROWS + ROWS_EACH * n) + 1
    T, basic, outside = np.zeros((most, n)), np.empty(most, np.int64), np.empty(n, np.int64)
    x, low, high = np.zeros(n + most), np.zeros(n + most), np.ones(n + most)
    is_in, over = np.zeros(count, np.bool_), np.zeros(count)
    return Program(starts, places, entries, T, basic, outside, x, low, high, is_in, over)


@compiled
def begin_anew(program: Program) -> int:
    """The tableau with Σv = 1 alone; how many rows it has."""
    n = len(program.outside)
    program.T[0] = 1.0
    program.basic[0], program.low[n], program.high[n] = n, 1.0, 1.0
    for j in range(n):
        program.outside[j] = j
    program.is_in[:] = False
    return 1


@compiled(reorder_sums=True)
def least(program: Program, cost: Vector, m: int) -> int:
    """Solve from a tableau with m rows, and add what is broken until nothing is.

    Returns how many rows there are then, and −1 if these would be too many; x begins with the solution.
    """
    p, n = program, len(cost)
    while True:
        minimise(cost, p.low[: n + m], p.high[: n + m], np.inf, p.T[:m], p.basic[:m], p.outside, p.x[: n + m])
        _overstepped(p)
        for added in range(ADDED):
            row = int(np.argmax(p.over)) if len(p.over) else -1
            if row < 0 or p.over[row] <= BROKEN:
                if added == 0:
                    return m
                break
            if m == len(p.basic):
                return -1
            _add_row(p, row, m)
            m += 1


@compiled(reorder_sums=True)
def _overstepped(p: Program) -> None:
    for i in range(len(p.over)):
        p.over[i] = 0.0
        if not p.is_in[i]:
            for e in range(p.starts[i], p.starts[i + 1]):
                p.over[i] += p.entries[e] * p.x[p.places[e]]


@compiled(reorder_sums=True)
def _add_row(p: Program, row: int, m: int) -> None:
    """The tableau with one row more, number m, that is basic."""
    n = len(p.outside)
    own, lowest = np.zeros(n), 0.0
    for e in range(p.starts[row], p.starts[row + 1]):
        own[p.places[e]] = p.entries[e]
        lowest = min(lowest, p.entries[e])
    for j in range(n):
        p.T[m, j] = own[p.outside[j]] if p.outside[j] < n else 0.0
    for i in range(m):
        if p.basic[i] < n and own[p.basic[i]] != 0.0:
            for j in range(n):
                p.T[m, j] += own[p.basic[i]] * p.T[i, j]
    p.basic[m], p.x[n + m], p.low[n + m], p.high[n + m] = n + m, p.over[row], lowest, 0.0
    p.is_in[row], p.over[row] = True, 0.0


@compiled(reorder_sums=True)
def descend(starts: Integers, places: Integers, entries: Vector, y: Vector, begin: Matrix) -> tuple[Matrix, Vector]:
    """From each of begin[i], a vertex of {v ≥ 0, Σv = 1, rows·v ≤ 0} with a small r(v), and r there.

    Where none is found, r is infinite.
    """
    n = len(y)
    p, cost = program(starts, places, entries, n), np.empty(n)
    ends, values = np.zeros((len(begin), n)), np.full(len(begin), np.inf)
    for k in range(len(begin)):
        m, v = begin_anew(p), begin[k]
        for _ in range(STEPS):
            for j in range(n):
                cost[j] = -math.log(max(v[j], STEEPEST)) - y[j]
            m = least(p, cost, m)
            if m < 0 or not _holds(p):
                break
            value = 0.0
            for j in range(n):
                if p.x[j] > NONE:
                    value -= p.x[j] * (math.log(p.x[j]) + y[j])
            if value >= values[k] - FALLS:
                break
            values[k], v = value, ends[k]
            for j in range(n):
                v[j] = p.x[j] if p.x[j] > NONE else 0.0
    return ends, values


@compiled(reorder_sums=True)
def _holds(p: Program) -> bool:
    """Whether no row is overstepped by more than the search leaves room for, without what is only rounding error."""
    for i in range(len(p.starts) - 1):
        total, size = 0.0, 0.0
        for e in range(p.starts[i], p.starts[i + 1]):
            if p.x[p.places[e]] > NONE:
                total += p.entries[e] * p.x[p.places[e]]
                size += abs(p.entries[e]) * p.x[p.places[e]]
        if total > BROKEN_SHARE * size:
            return False
    return True


@compiled(reorder_sums=True)
def most_of(starts: Integers, places: Integers, entries: Vector, n: int, place: int) -> Vector:
    """The posterior with the most mass at one of n values; zeros if none is found."""
    p, cost, v = program(starts, places, entries, n), np.zeros(n), np.zeros(n)
    cost[place] = -1.0
    if least(p, cost, begin_anew(p)) > 0 and _holds(p) and p.x[place] > LEAST_CENTRE:
        for j in range(n):
            v[j] = p.x[j] if p.x[j] > NONE else 0.0
    return v


@compiled
def search(
    rows: Rows, centres: Integers, most: Integers, lacking: Flags, y: Vector, worth: float, noise: Vector,
    number: Integers, there: Flags, turn: int,
) -> tuple[Integers, Integers, Vector]:  # fmt: skip
    """Posteriors among most[c] values around each centre, with r(v) < −worth: (starts, values, masses).

    Two descents each: from all values alike, and from where noise says. Where a centre is lacking posteriors, that with
    the most of it is among them, at any price.
    """
    found_starts, found_values, found_masses = [0], [0], [0.0]
    found_values.pop()
    found_masses.pop()
    for c in range(len(centres)):
        values = around(rows, centres[c], most[c], there, turn)
        n = len(values)
        starts, places, entries = own_rows(rows, values, number)
        begin = np.full((2, n), 1.0 / n)
        for j in range(n):
            begin[1, j] = noise[(c + 7 * j) % len(noise)]
        ends, r = descend(starts, places, entries, y[values], begin)
        found = [ends[k] for k in range(2) if r[k] < -worth and (k == 0 or r[1] != r[0])]
        if lacking[c]:
            found.append(most_of(starts, places, entries, n, int(np.searchsorted(values, centres[c]))))
        for v in found:
            for j in range(n):
                if v[j] > 0:
                    found_values.append(values[j])
                    found_masses.append(v[j])
            if len(found_values) > found_starts[-1]:
                found_starts.append(len(found_values))
    return np.array(found_starts), np.array(found_values), np.array(found_masses)
