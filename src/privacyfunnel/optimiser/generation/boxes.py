"""Boxes l ≤ v ≤ u: how little a sum of entropy terms and costs can be in one, compiled.

min Σ_{x curved} −v[x] ln v[x] − y·v  s.t.  low ≤ A v ≤ high. Each −v ln v lies above its chord over [l, u], so a
linear program bounds the sum from below. Weak duality turns any prices π of the rows into a bound:
cost·v ≥ Σ_i π_i·(low_i if π_i > 0 else high_i) + Σ_x reduced[x]·v[x] with reduced = cost − Aᵀπ, and each term
is least at an end of the box.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.numeric.weighted import reached
from privacyfunnel.optimiser.generation.box_simplex import reduced_costs
from privacyfunnel.optimiser.generation.tableau import Tableau, add_worst, begin, drop_idle, overstepped, solve
from privacyfunnel.optimiser.program.tolerances import FEASIBLE, LARGE, LOST_DIGITS, OVERSTEPS
from privacyfunnel.typing import Integers, Matrix, Vector

TOWARDS = 0.65
"""A box is cut between its middle (0) and the relaxation's solution (1): at the solution, one half often stays nearly
as large as the box, and in the middle, the chord may stay as far from the curve as it was."""
HELPS = 0.1
"""Shrinking a box goes on while each time closes at least this share of the distance to −gap."""
WORTH_LOWERING = 1e-3
"""Nats between curve and chord from which on it is asked how far an upper side can be lowered."""
LOWERED_BY = 0.01
"""Of its side, what a value must be lowered by."""
SMALL = 1e-7
"""What a posterior found by the way may overstep: it will be polished."""
BOX_MARGIN = 1e-12
"""Boxes are left this much larger than arithmetic says."""


@compiled(reorder_sums=True)
def curve(v: float) -> float:
    """−v ln v."""
    return -v * math.log(v) if v > 0 else 0.0


class Limits(NamedTuple):
    """Σ_k entry[k] v[column[k]] ≤ most[s], over starts[s] ≤ k < starts[s+1]; entries before middles[s] are positive.

    Limit s is on row[s]; those from `above` on are on rows times −1.
    """

    starts: Integers
    middles: Integers
    column: Integers
    entry: Vector
    most: Vector
    row: Integers
    above: int


class RowBounds(NamedTuple):
    """low ≤ A v ≤ high; row i has the entries entry[k] in column[k], for starts[i] ≤ k < starts[i+1]."""

    A: Matrix
    starts: Integers
    column: Integers
    entry: Vector
    low: Vector
    high: Vector
    curved: NDArray[np.bool_]
    """Which v[x] have a term −v ln v."""
    limits: Limits
    """The same, from one side at a time."""

    @classmethod
    def of(cls, A: Matrix, low: Vector, high: Vector, curved: NDArray[np.bool_]) -> RowBounds:
        """The rows, with their entries sorted out."""
        row, column = np.nonzero(A)
        starts = np.searchsorted(row, np.arange(len(A) + 1))
        return cls(A, starts, column, A[row, column], low, high, curved, _limits(A, low, high))


def _limits(A: Matrix, low: Vector, high: Vector) -> Limits:
    above, below = np.flatnonzero(np.isfinite(high)), np.flatnonzero(np.isfinite(low))
    B = np.concatenate([A[above], -A[below]])
    s, column = np.nonzero(B)
    order = np.lexsort((column, B[s, column] < 0, s))
    s, column = s[order], column[order]
    starts = np.searchsorted(s, np.arange(len(B) + 1))
    middles, most = starts[:-1] + (B > 0).sum(axis=1), np.concatenate([high[above], -low[below]])
    return Limits(starts, middles, column, B[s, column], most, np.concatenate([above, below]), len(above))


@compiled
def shrink(rows: RowBounds, lower: Vector, upper: Vector) -> bool:
    """Shrink the box to what each row leaves of it; False if that is nothing."""
    # One function with arrays of its own: handing tuples of arrays to others took twice as long as all the rest.
    starts, middles, column, entry, most, _, _ = rows.limits
    for s in range(len(most)):
        start, middle, end = starts[s], middles[s], starts[s + 1]
        least = 0.0
        for k in range(start, middle):
            least += entry[k] * lower[column[k]]
        for k in range(middle, end):
            least += entry[k] * upper[column[k]]
        if least > most[s] + FEASIBLE:
            return False
        room = most[s] - least + BOX_MARGIN
        for k in range(start, middle):
            x = column[k]
            upper[x] = min(upper[x], lower[x] + room / entry[k])
        for k in range(middle, end):
            x = column[k]
            lower[x] = max(lower[x], upper[x] + room / entry[k])
    for x in range(len(lower)):
        if lower[x] > upper[x]:
            if lower[x] > upper[x] + FEASIBLE:
                return False
            lower[x], upper[x] = upper[x], lower[x]
    return True


@compiled
def _fill(rows: RowBounds, lower: Vector, upper: Vector, low: Vector, high: Vector) -> None:
    """Bounds of (v, A v) in the box, all of them finite: rows with one bound have the other one from the box."""
    starts, middles, column, entry, most, row, above = rows.limits
    n = len(lower)
    low[:n], high[:n], low[n:], high[n:] = lower, upper, rows.low, rows.high
    for s in range(len(most)):
        i = n + row[s]
        if (s < above and low[i] == -np.inf) or (s >= above and high[i] == np.inf):
            least = 0.0
            for k in range(starts[s], middles[s]):
                least += entry[k] * lower[column[k]]
            for k in range(middles[s], starts[s + 1]):
                least += entry[k] * upper[column[k]]
            if s < above:
                low[i] = min(least, most[s])
            else:
                high[i] = max(-least, -most[s])


@compiled(reorder_sums=True)
def _apart(low: float, high: float, v: float) -> float:
    """How far −v ln v is above its chord between low and high."""
    if high <= low:
        return 0.0
    at = min(max(v, low), high)
    share = (at - low) / (high - low)
    return curve(at) - (1 - share) * curve(low) - share * curve(high)


@compiled(reorder_sums=True)
def _least(rows: RowBounds, cost: Vector, prices: Vector, lower: Vector, upper: Vector, reduced: Vector) -> float:
    """By weak duality, cost·v is at least this in the box; `reduced` becomes the reduced costs."""
    bound = 0.0
    reduced[:] = cost
    for i in range(len(rows.low)):
        price = prices[i]
        end = rows.low[i] if price > 0 else rows.high[i]
        if price != 0.0 and math.isfinite(end):
            bound += price * end - LOST_DIGITS * abs(price)
            for k in range(rows.starts[i], rows.starts[i + 1]):
                reduced[rows.column[k]] -= price * rows.entry[k]
    for j in range(len(lower)):
        bound += min(reduced[j] * lower[j], reduced[j] * upper[j])
    return bound


@compiled(reorder_sums=True)
def lower_sides(
    rows: RowBounds,
    cost: Vector,
    most: float,
    low: Vector,
    high: Vector,
    lower: Vector,
    upper: Vector,
    tableau: Tableau,
) -> bool:
    """Lower upper sides of the box to where cost·v ≤ most is still possible; False if it is nowhere.

    For a basic v[x] = Σ_j T[r, j] x_j, and cost·v = Σ_j d_j x_j ≤ most: by weak duality, v[x] is at most the largest
    Σ_j (T[r, j] − μ d_j) x_j + μ·most between the bounds of the x_j, for any μ ≥ 0. At μ = 0 each x_j is at the bound
    that is best for v[x]; as μ grows they turn to the cheaper one in the order of T[r, j] / d_j, and the best μ is
    where they begin to meet Σ_j d_j x_j ≤ most. It is a knapsack, and takes no pivots.
    """
    m, n = rows.A.shape
    k = tableau.used[0]
    T, basic, outside, x = tableau.T[:k], tableau.basic[:k], tableau.outside, tableau.x
    d = reduced_costs(cost, T, basic, outside)
    least, largest = low[outside], high[outside]
    prices, goal, reduced, turns, weights = np.empty(m), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for r in range(k):
        place = basic[r]
        if place >= n or not rows.curved[place] or _apart(lower[place], upper[place], x[place]) <= WORTH_LOWERING:
            continue
        over, some = -most, 0
        for j in range(n):
            over += d[j] * (largest[j] if T[r, j] > 0 else least[j])
            if T[r, j] * d[j] > 0:
                turns[some], weights[some] = T[r, j] / d[j], abs(d[j]) * (largest[j] - least[j])
                some += 1
        mu = reached(turns[:some], weights[:some], over)
        side = mu * most
        for j in range(n):
            rate = T[r, j] - mu * d[j]
            side += max(rate * least[j], rate * largest[j])
        if side > upper[place] - LOWERED_BY * (upper[place] - lower[place]):
            continue
        prices[:] = 0.0
        for j in range(n):
            if outside[j] >= n:
                prices[outside[j] - n] = mu * d[j] - T[r, j]
        goal[:] = mu * cost
        goal[place] -= 1.0
        side = BOX_MARGIN + mu * (most + BOX_MARGIN) - _least(rows, goal, prices, lower, upper, reduced)
        if side < lower[place] - FEASIBLE:
            return False
        upper[place] = max(lower[place], min(upper[place], side))
    return True


@compiled(reorder_sums=True)
def bound_box(rows: RowBounds, y: Vector, gap: float, lower: Vector, upper: Vector, tableau: Tableau) -> float:
    """A bound on the sum in the box, which is shrunk in place to where less than −gap is still possible.

    The bound is a sum of terms that are each least at an end of the box: a v[x] so far from that end that the
    sum reaches −gap can be cut off. Smaller boxes have better chords, so this is repeated while it helps.
    """
    m, n = rows.A.shape
    low, high = np.empty(n + m), np.empty(n + m)
    cost, reduced, d = np.empty(n), np.empty(n), np.empty(n)
    best = before = -np.inf
    drop_idle(tableau)
    while True:
        if not shrink(rows, lower, upper):
            return np.inf
        height = 0.0
        for j in range(n):
            cost[j] = -y[j]
            if rows.curved[j] and upper[j] > lower[j]:
                slope = (curve(upper[j]) - curve(lower[j])) / (upper[j] - lower[j])
                height += curve(lower[j]) - slope * lower[j]
                cost[j] += slope
            elif rows.curved[j]:
                height += curve(lower[j])
        _fill(rows, lower, upper, low, high)
        begin(cost, low, high, d, tableau)
        while True:
            prices = solve(d, low, high, BOX_MARGIN - gap - height, tableau)
            bound = height + _least(rows, cost, prices, lower, upper, reduced)
            best = max(best, bound)
            room = BOX_MARGIN - gap - bound
            over = overstepped(rows.starts, rows.column, rows.entry, rows.low, rows.high, tableau)
            if room <= 0 or not math.isfinite(bound):
                return best
            if add_worst(rows.starts, rows.column, rows.entry, over, OVERSTEPS, tableau) == 0:
                break
        if m * n > LARGE and not lower_sides(rows, cost, -gap - height, low, high, lower, upper, tableau):
            return np.inf
        for j in range(n):
            if reduced[j] < 0:
                lower[j] = max(lower[j], upper[j] + room / reduced[j])
            elif reduced[j] > 0:
                upper[j] = min(upper[j], lower[j] + room / reduced[j])
        if bound < before + HELPS * room:
            return best
        before = bound


@compiled(reorder_sums=True)
def cut(curved: NDArray[np.bool_], lower: Vector, upper: Vector, v: Vector) -> tuple[int, float]:
    """The value where curve and chord differ most at v, and where to cut the box there; −1 if they agree.

    Weighted by the root of the side's length: long sides leave more to gain after the next cut, too.
    """
    widest, x = 0.0, -1
    for j in range(len(lower)):
        width = upper[j] - lower[j]
        if curved[j] and width > 0:
            apart = _apart(lower[j], upper[j], v[j])
            if apart * math.sqrt(width) > widest:
                widest, x = apart * math.sqrt(width), j
    if x < 0:
        return -1, 0.0
    solution = min(max(v[x], lower[x]), upper[x])
    return x, TOWARDS * solution + (1 - TOWARDS) * (lower[x] + upper[x]) / 2


@compiled(reorder_sums=True)
def _halve(curved: NDArray[np.bool_], lower: Vector, upper: Vector) -> tuple[int, float]:
    """The widest side of the box, and its middle; −1 if the box is a point."""
    widest, x = FEASIBLE, -1
    for j in range(len(lower)):
        if curved[j] and upper[j] - lower[j] > widest:
            widest, x = upper[j] - lower[j], j
    return x, (lower[x] + upper[x]) / 2


@compiled(reorder_sums=True)
def note(rows: RowBounds, y: Vector, gap: float, x: Vector, found: Matrix, n_found: int) -> int:
    """Write down v if it meets the rows and has a sum below −gap; how many there are now."""
    n = len(y)
    value = 0.0
    for j in range(n):
        value += (curve(x[j]) if rows.curved[j] else 0.0) - y[j] * x[j]
    if value < -gap and n_found < len(found) and _inside(rows, x):
        found[n_found] = x[:n]
        return n_found + 1
    return n_found


@compiled(reorder_sums=True)
def next_cut(rows: RowBounds, lower: Vector, upper: Vector, x: Vector) -> tuple[int, float]:
    """Where to cut a box with the solution x; −1 if nowhere."""
    direction, at = cut(rows.curved, lower, upper, x[: len(lower)])
    if direction < 0 and not _inside(rows, x):  # the simplex method gave up: cut anywhere
        return _halve(rows.curved, lower, upper)
    return direction, at


@compiled(reorder_sums=True)
def _inside(rows: RowBounds, x: Vector) -> bool:
    """Whether x = (v, A v) meets v ≥ 0 and the rows, nearly."""
    n = len(x) - len(rows.low)
    for i in range(len(rows.low)):
        if x[n + i] > rows.high[i] + SMALL or x[n + i] < rows.low[i] - SMALL:
            return False
    return bool(x[:n].min() > -SMALL)
