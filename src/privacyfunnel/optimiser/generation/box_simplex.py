"""A small linear program over a box, compiled: branch and bound solves tens of thousands of them.

min cost·v  s.t.  low ≤ (v, A v) ≤ high. Every variable and every row has two finite bounds, so any basis is dual
feasible once each variable outside of it sits at the right one of its bounds, and the dual simplex method can go
on from the basis of any other box. What it returns is never trusted: prices of the rows, from which the caller
works out a bound by weak duality, whatever they are.

By hand, because tens of thousands of boxes differ by one side each: 6 to 11 times as fast as a warm HiGHS
(`make bench ARGS=by_hand`), and callable from compiled loops without Python's lock.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.optimiser.program.tolerances import FEASIBLE, IMPROVES, LARGE
from privacyfunnel.typing import Integers, Matrix, Vector

Flags = NDArray[np.bool_]

PIVOT = 1e-9
"""Smaller pivots are taken for zero."""
SAFE_PIVOT = 1e-7
"""The same, where another pivot will do."""
PIVOTS, PIVOTS_EACH = 50, 4
"""Some at least, and so many for each row and column: who needs more turns in circles."""


@compiled(reorder_sums=True)
def pivot(T: Matrix, d: Vector, basic: Integers, outside: Integers, r: int, q: int) -> None:
    """Exchange the basic variable of row r for the outside variable of column q, in x_basic = T x_outside."""
    rows, columns = T.shape
    inverse = 1.0 / T[r, q]
    for j in range(columns):
        T[r, j] *= -inverse
    T[r, q] = inverse
    for i in range(rows):
        factor = T[i, q]
        if i != r and factor != 0.0:
            T[i, q] = 0.0
            for j in range(columns):
                T[i, j] += factor * T[r, j]
    factor = d[q]
    d[q] = 0.0
    for j in range(columns):
        d[j] += factor * T[r, j]
    basic[r], outside[q] = outside[q], basic[r]


@compiled(reorder_sums=True)
def refresh(A: Matrix, T: Matrix, basic: Integers, outside: Integers) -> None:
    """The tableau of the same basis, computed anew from A: rounding errors do not pile up. T holds some rows or all."""
    columns = A.shape[1]
    entered, here, left = np.zeros(columns, np.bool_), np.zeros(len(A), np.bool_), np.zeros(len(A), np.bool_)
    for k in basic:
        if k < columns:
            entered[k] = True
        else:
            here[k - columns] = True
    for k in outside:
        if k >= columns:
            here[k - columns] = left[k - columns] = True
    i = 0
    for row in range(len(A)):
        if here[row]:
            T[i], basic[i] = A[row], columns + row
            i += 1
    for j in range(columns):
        outside[j] = j
    d = np.zeros(columns)
    for j in range(columns):
        best, r = SAFE_PIVOT, -1
        if entered[j]:
            for i in range(len(T)):
                if basic[i] >= columns and left[basic[i] - columns] and abs(T[i, j]) > best:
                    best, r = abs(T[i, j]), i
        if r >= 0:
            pivot(T, d, basic, outside, r, j)


@compiled(reorder_sums=True)
def slack_basis(A: Matrix, T: Matrix, basic: Integers, outside: Integers) -> None:
    """The tableau in which all rows are basic."""
    rows, columns = A.shape
    T[:] = A
    for i in range(rows):
        basic[i] = columns + i
    for j in range(columns):
        outside[j] = j


@compiled(reorder_sums=True)
def minimise(
    cost: Vector, low: Vector, high: Vector, enough: float, T: Matrix, basic: Integers, outside: Integers, x: Vector
) -> Vector:
    """Prices of the rows, by the dual simplex method from the basis in place; x becomes the solution (v, A v).

    Stops early when the minimum is at least `enough`, or when no point is left: then prices are returned that
    show as much.
    """
    d = reduced_costs(cost, T, basic, outside)
    to_bounds(d, low, high, T, basic, outside, x)
    return go_on(d, low, high, enough, T, basic, outside, x)


@compiled(reorder_sums=True)
def go_on(
    d: Vector, low: Vector, high: Vector, enough: float, T: Matrix, basic: Integers, outside: Integers, x: Vector
) -> Vector:
    """The same from a solution x = (v, A v) in place, with the reduced costs d."""
    rows, columns = T.shape
    flipped = np.zeros(columns, np.bool_)
    for _ in range(PIVOTS + PIVOTS_EACH * (rows + columns)):  # then give up: any prices are prices
        r, sign, violation = _worst(low, high, T, basic, x)
        if r < 0:
            break
        value = 0.0
        for j in range(columns):
            value += d[j] * x[outside[j]]
        if value >= enough:
            break
        q, missing = _entering(d, low, high, T[r], outside, x, sign, violation, flipped)
        if q < 0:
            # this row alone rules out every point: at a high enough price it shows
            price = 2.0 * (enough - value) / missing
            for j in range(columns):
                d[j] -= sign * price * T[r, j]
            return _prices(d, len(x) - columns, outside, basic[r], sign * price)
        for j in range(columns):
            if flipped[j]:
                k = outside[j]
                step = high[k] - low[k] if x[k] <= low[k] else low[k] - high[k]
                x[k] = high[k] if step > 0 else low[k]  # exactly: it is told by this where it is
                for i in range(rows):
                    x[basic[i]] += T[i, j] * step
        target = low[basic[r]] if sign > 0 else high[basic[r]]
        step = (target - x[basic[r]]) / T[r, q]
        x[outside[q]] += step
        for i in range(rows):
            x[basic[i]] += T[i, q] * step
        x[basic[r]] = target
        pivot(T, d, basic, outside, r, q)
    return _prices(d, len(x) - columns, outside, -1, 0.0)


@compiled(reorder_sums=True)
def reduced_costs(cost: Vector, T: Matrix, basic: Integers, outside: Integers) -> Vector:
    """The cost in terms of the variables outside of the basis."""
    rows, columns = T.shape
    d = np.zeros(columns)
    for j in range(columns):
        if outside[j] < columns:
            d[j] = cost[outside[j]]
    for i in range(rows):
        if basic[i] < columns:
            for j in range(columns):
                d[j] += cost[basic[i]] * T[i, j]
    return d


@compiled(reorder_sums=True)
def to_bounds(d: Vector, low: Vector, high: Vector, T: Matrix, basic: Integers, outside: Integers, x: Vector) -> None:
    """Outside variables go to the bound that is cheaper, basic ones follow."""
    rows, columns = T.shape
    there = np.empty(columns)
    for j in range(columns):
        there[j] = x[outside[j]] = low[outside[j]] if d[j] >= 0 else high[outside[j]]
    for i in range(rows):
        total = 0.0
        for j in range(columns):
            total += T[i, j] * there[j]
        x[basic[i]] = total


@compiled(reorder_sums=True)
def _worst(low: Vector, high: Vector, T: Matrix, basic: Integers, x: Vector) -> tuple[int, float, float]:
    """The basic variable farthest outside of its bounds, +1 if it must rise or −1 if it must fall, and how far.

    In large programs distances are measured along the edge that the exchange follows, as long as the root of
    1 + Σ_j T[r, j]² for a step of one (steepest edge): fewer pivots, each of which takes longer than measuring.
    """
    chosen, sign, violation, steepest = -1, 1.0, 0.0, 0.0
    for i in range(len(basic)):
        k = basic[i]
        over = max(low[k] - x[k], x[k] - high[k])
        if over > FEASIBLE:
            length = 1.0
            if T.size > LARGE:
                for j in range(T.shape[1]):
                    length += T[i, j] * T[i, j]
            if over * over > steepest * length:
                chosen, sign, violation, steepest = i, 1.0 if low[k] > x[k] else -1.0, over, over * over / length
    return chosen, sign, violation


@compiled(reorder_sums=True)
def _entering(
    d: Vector,
    low: Vector,
    high: Vector,
    row: Vector,
    outside: Integers,
    x: Vector,
    sign: float,
    violation: float,
    flipped: Flags,
) -> tuple[int, float]:
    """The column to enter, after the cheaper ones that go from one bound to the other and still leave some missing.

    Returns −1 and what is still missing when all of them together do not suffice.
    """
    missing = violation
    flipped[:] = False
    while True:
        cheapest, q, rate = np.inf, -1, 0.0
        for j in range(len(row)):
            k = outside[j]
            if flipped[j] or high[k] <= low[k]:
                continue
            helps = sign * row[j] if x[k] <= low[k] else -sign * row[j]
            if helps > PIVOT:
                price = abs(d[j]) / helps
                if price < cheapest - IMPROVES or (price < cheapest + IMPROVES and helps > rate):
                    cheapest, q, rate = price, j, helps
        if q < 0:
            return -1, missing
        missing -= rate * (high[outside[q]] - low[outside[q]])
        if missing <= FEASIBLE:
            return q, missing
        flipped[q] = True


@compiled(reorder_sums=True)
def _prices(d: Vector, rows: int, outside: Integers, also: int, price: float) -> Vector:
    """The reduced costs of the rows that are outside of the basis, and `price` for the variable `also`."""
    prices = np.zeros(rows)
    columns = len(d)
    for j in range(columns):
        if outside[j] >= columns:
            prices[outside[j] - columns] = d[j]
    if also >= columns:
        prices[also - columns] = price
    return prices
