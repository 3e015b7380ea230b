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
from privacyfunnel.optimiser.generation.tableau import (
    Tableau,
    add,
    add_worst,
    begin,
    overstepped,
    solve,
    take_all_out,
    without_rows,
)
from privacyfunnel.optimiser.program.tolerances import BROKEN_SHARE, FEASIBLE, FEW_STEPS, FLOOR, LEAST_CENTRE, NONE
from privacyfunnel.optimiser.splitting.companions import Rows, around
from privacyfunnel.typing import Integers, Matrix, Vector

Flags = NDArray[np.bool_]

SOME_ROWS, ROWS_EACH = 40, 2
"""Rows that a program may have, some at least and so many for each value: one that would need more is given up."""
FALLS = 1e-9
"""Nats: what lowers r by less is not worth another program."""


@compiled
def own_rows(rows: Rows, values: Integers, number: Integers) -> tuple[Integers, Integers, Vector]:
    """Σv and then the rows that some of the values break, as (starts, places of values, entries).

    number[row] is −1 before and after.
    """
    count = 1
    for x in values:
        for k in range(rows.starts[x], rows.starts[x + 1]):
            if rows.entries[k] > 0 and number[rows.rows[k]] < 0:
                number[rows.rows[k]] = count
                count += 1
    starts = np.zeros(count + 1, np.int64)
    starts[1] = len(values)
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
        places[place], entries[place] = place, 1.0
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
    """min cost·v  s.t.  low ≤ (v, A v) ≤ high; row i of A holds entries[e] at places[e], starts[i] ≤ e < starts[i+1].

    v ≥ 0, Σv = 1 in row 0, and A v ≤ 0 in the others.
    """

    starts: Integers
    places: Integers
    entries: Vector
    low: Vector
    high: Vector
    tableau: Tableau


@compiled
def program(starts: Integers, places: Integers, entries: Vector, n: int) -> Program:
    """The program over n values with these rows, of which Σv = 1 alone is in the tableau."""
    count = len(starts) - 1
    low, high = np.zeros(n + count), np.zeros(n + count)
    low[n], high[: n + 1] = 1.0, 1.0
    for i in range(1, count):  # Σv = 1, so a row is never below its least entry
        lowest = 0.0
        for e in range(starts[i], starts[i + 1]):
            lowest = min(lowest, entries[e])
        low[n + i] = lowest
    tableau = without_rows(n, count, min(count, SOME_ROWS + ROWS_EACH * n + 1))
    add(starts, places, entries, 0, tableau)
    return Program(starts, places, entries, low, high, tableau)


@compiled
def begin_anew(p: Program) -> None:
    """Back to a tableau with Σv = 1 alone."""
    take_all_out(p.tableau)
    add(p.starts, p.places, p.entries, 0, p.tableau)


@compiled(reorder_sums=True)
def least(p: Program, cost: Vector) -> bool:
    """Solve from the tableau in place, and add what is broken until nothing is; x begins with the solution.

    False if these would be too many rows.
    """
    n = len(cost)
    d, low, high = np.empty(n), p.low[n:], p.high[n:]
    while True:
        begin(cost, p.low, p.high, d, p.tableau)
        solve(d, p.low, p.high, np.inf, p.tableau)
        over = overstepped(p.starts, p.places, p.entries, low, high, p.tableau)
        added = add_worst(p.starts, p.places, p.entries, over, FEASIBLE, p.tableau)
        if added <= 0:
            return added == 0


@compiled(reorder_sums=True)
def descend(starts: Integers, places: Integers, entries: Vector, y: Vector, begin: Matrix) -> tuple[Matrix, Vector]:
    """From each of begin[i], a vertex of {v ≥ 0, Σv = 1, rows·v ≤ 0} with a small r(v), and r there.

    Where none is found, r is infinite.
    """
    n = len(y)
    p, cost = program(starts, places, entries, n), np.empty(n)
    x = p.tableau.x
    ends, values = np.zeros((len(begin), n)), np.full(len(begin), np.inf)
    for k in range(len(begin)):
        begin_anew(p)
        v = begin[k]
        for _ in range(FEW_STEPS):
            for j in range(n):
                cost[j] = -math.log(max(v[j], FLOOR)) - y[j]
            if not least(p, cost) or not _holds(p):
                break
            value = 0.0
            for j in range(n):
                if x[j] > NONE:
                    value -= x[j] * (math.log(x[j]) + y[j])
            if value >= values[k] - FALLS:
                break
            values[k], v = value, ends[k]
            for j in range(n):
                v[j] = x[j] if x[j] > NONE else 0.0
    return ends, values


@compiled(reorder_sums=True)
def _holds(p: Program) -> bool:
    """Whether no row is overstepped by more than the search leaves room for, without what is only rounding error."""
    x = p.tableau.x
    for i in range(1, len(p.starts) - 1):
        total, size = 0.0, 0.0
        for e in range(p.starts[i], p.starts[i + 1]):
            if x[p.places[e]] > NONE:
                total += p.entries[e] * x[p.places[e]]
                size += abs(p.entries[e]) * x[p.places[e]]
        if total > BROKEN_SHARE * size:
            return False
    return True


@compiled(reorder_sums=True)
def most_of(starts: Integers, places: Integers, entries: Vector, n: int, place: int) -> Vector:
    """The posterior with the most mass at one of n values; zeros if none is found."""
    p, cost, v = program(starts, places, entries, n), np.zeros(n), np.zeros(n)
    cost[place] = -1.0
    x = p.tableau.x
    if least(p, cost) and _holds(p) and x[place] > LEAST_CENTRE:
        for j in range(n):
            v[j] = x[j] if x[j] > NONE else 0.0
    return v


@compiled
def search(
    rows: Rows, centres: Integers, most: Integers, lacking: Flags, y: Vector, worth: float, noise: Vector,
    number: Integers, there: Flags, turn: int,
) -> tuple[Integers, Integers, Vector, Flags]:  # fmt: skip
    """Posteriors among most[c] values around each centre, with r(v) < −worth: (starts, values, masses, found[c]).

    Two descents each: from all values alike, and from where noise says. Where a centre is lacking posteriors, that with
    the most of it is among them, at any price.
    """
    found_starts, found_values, found_masses = [0], [0], [0.0]
    found_values.pop()
    found_masses.pop()
    any_found = np.zeros(len(centres), np.bool_)
    for c in range(len(centres)):
        values = around(rows, centres[c], most[c], there, turn)
        n = len(values)
        starts, places, entries = own_rows(rows, values, number)
        begin = np.full((2, n), 1.0 / n)
        for j in range(n):
            begin[1, j] = noise[(c + 7 * j) % len(noise)]
        ends, r = descend(starts, places, entries, y[values], begin)
        found = [ends[k] for k in range(2) if r[k] < -worth and (k == 0 or r[1] != r[0])]
        any_found[c] = len(found) > 0
        if lacking[c]:
            found.append(most_of(starts, places, entries, n, int(np.searchsorted(values, centres[c]))))
        for v in found:
            for j in range(n):
                if v[j] > 0:
                    found_values.append(values[j])
                    found_masses.append(v[j])
            if len(found_values) > found_starts[-1]:
                found_starts.append(len(found_values))
    return np.array(found_starts), np.array(found_values), np.array(found_masses), any_found
