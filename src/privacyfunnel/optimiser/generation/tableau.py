"""Tableaux that hold only the rows that matter: of some hundred rows, few are tight where a program is least.

Rows that a solution oversteps are added, those overstepped by most first, and rows that are basic, so that they press
on nothing, can be dropped. Prices of the rows that are in give a bound by weak duality whatever others there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.optimiser.generation.box_simplex import go_on, reduced_costs, refresh, slack_basis, to_bounds
from privacyfunnel.optimiser.program.tolerances import LARGE
from privacyfunnel.typing import Integers, Matrix, Vector

ADDED = 6
"""Rows that are added at a time, those that are overstepped by most."""
FULL = -1
"""What is answered where there is no place for another row."""


class Tableau(NamedTuple):
    """x_basic = T x_outside for x = (v, A v): where the simplex method stands, from one box to the next."""

    T: Matrix
    basic: Integers
    outside: Integers
    x: Vector
    is_in: NDArray[np.bool_]
    """Whether row i of A is in T."""
    used: Integers
    """T[: used[0]] and basic[: used[0]] are in use; T may have place for fewer rows than A has."""
    lazy: bool
    """Whether rows come and go."""

    @classmethod
    def of(cls, A: Matrix, lazy: bool | None = None) -> Tableau:
        """Without rows if it is lazy, else with all of them, as basic variables."""
        m, n = A.shape
        tableau = without_rows(n, m, m)
        if A.size > LARGE if lazy is None else lazy:
            return tableau
        slack_basis(A, tableau.T, tableau.basic, tableau.outside)
        tableau.is_in[:], tableau.used[0] = True, m
        return tableau._replace(lazy=False)


@compiled
def without_rows(n: int, rows: int, most: int) -> Tableau:
    """For n variables and so many rows, of which none is in yet, and `most` can be."""
    T, basic, outside = np.empty((most, n)), np.empty(most, np.int64), np.empty(n, np.int64)
    tableau = Tableau(T, basic, outside, np.zeros(n + rows), np.empty(rows, np.bool_), np.zeros(1, np.int64), True)
    take_all_out(tableau)
    return tableau


@compiled
def take_all_out(tableau: Tableau) -> None:
    """Back to a tableau without rows."""
    for j in range(len(tableau.outside)):
        tableau.outside[j] = j
    tableau.is_in[:] = False
    tableau.used[0] = 0


@compiled
def begin(cost: Vector, low: Vector, high: Vector, d: Vector, tableau: Tableau) -> None:
    """Where the basis in place stands at this cost: d becomes the reduced costs, and x the values."""
    k = tableau.used[0]
    T, basic = tableau.T[:k], tableau.basic[:k]
    d[:] = reduced_costs(cost, T, basic, tableau.outside)
    to_bounds(d, low, high, T, basic, tableau.outside, tableau.x)


@compiled
def solve(d: Vector, low: Vector, high: Vector, enough: float, tableau: Tableau) -> Vector:
    """Prices of the rows, 0 for those that are not in, and d and x at the minimum (see `minimise`)."""
    k = tableau.used[0]
    return go_on(d, low, high, enough, tableau.T[:k], tableau.basic[:k], tableau.outside, tableau.x)


@compiled
def renew(A: Matrix, tableau: Tableau) -> None:
    """The same tableau computed anew, without rounding errors."""
    drop_idle(tableau)
    k = tableau.used[0]
    refresh(A, tableau.T[:k], tableau.basic[:k], tableau.outside)


@compiled
def drop_idle(tableau: Tableau) -> None:
    """Take out the rows that are basic, if it is lazy: that takes no pivot."""
    if not tableau.lazy:
        return
    T, basic, n, k = tableau.T, tableau.basic, len(tableau.outside), tableau.used[0]
    for i in range(k - 1, -1, -1):
        if basic[i] >= n:
            tableau.is_in[basic[i] - n] = False
            k -= 1
            if i < k:
                T[i], basic[i] = T[k], basic[k]
    tableau.used[0] = k


@compiled(reorder_sums=True)
def overstepped(
    starts: Integers, column: Integers, entry: Vector, low: Vector, high: Vector, tableau: Tableau
) -> Vector:
    """By how much each row that is not in is overstepped, 0 for the others; x then holds all of A v.

    Nothing if all rows are always in.
    """
    is_in, x, n = tableau.is_in, tableau.x, len(tableau.outside)
    over = np.zeros(len(is_in) if tableau.lazy else 0)
    for i in range(len(over)):
        if not is_in[i]:
            total = 0.0
            for k in range(starts[i], starts[i + 1]):
                total += entry[k] * x[column[k]]
            x[n + i] = total
            over[i] = max(0.0, low[i] - total, total - high[i])
    return over


@compiled(reorder_sums=True)
def add_worst(starts: Integers, column: Integers, entry: Vector, over: Vector, allowed: float, tableau: Tableau) -> int:
    """Add the rows that are overstepped by most, and by more than is allowed; how many, or FULL."""
    for added in range(ADDED if len(over) else 0):
        row = int(np.argmax(over))
        if over[row] <= allowed:
            return added
        if tableau.used[0] == len(tableau.basic):
            return FULL
        add(starts, column, entry, row, tableau)
        over[row] = 0.0
    return ADDED if len(over) else 0


@compiled(reorder_sums=True)
def add(starts: Integers, column: Integers, entry: Vector, row: int, tableau: Tableau) -> None:
    """Add a row as a basic variable, where there is place for it."""
    T, basic, outside, k = tableau.T, tableau.basic, tableau.outside, tableau.used[0]
    n, new = len(outside), T[k]
    own = np.zeros(n)
    for e in range(starts[row], starts[row + 1]):
        own[column[e]] = entry[e]
    for j in range(n):
        new[j] = own[outside[j]] if outside[j] < n else 0.0
    for i in range(k):
        if basic[i] < n and own[basic[i]] != 0.0:
            factor = own[basic[i]]
            for j in range(n):
                new[j] += factor * T[i, j]
    basic[k] = n + row
    tableau.is_in[row] = True
    tableau.used[0] = k + 1
