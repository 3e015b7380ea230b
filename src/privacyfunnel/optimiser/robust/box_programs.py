"""Linear programs over Δ of a confidence set with bounds on w = v/p_x, for two secrets: bounds below, by prices.

Some values, the spikes, have an interval for w each; all others stay under a cap. A w ≥ 0 is a stack of sets,
{w ≥ t} for every height t. In the layer between two neighbouring ends of intervals, that set must hold some spikes, may
hold others, and may hold the other values if it is under the cap. With h_j as in nested_programs, the least cost·w
under these
bounds with p·w = 1 and h(w) ≤ 0 is, for any τ and any μ ≥ 0, at least

    τ + Σ_layers height · min over the sets A of the layer of Σ_{x in A} (cost_x − τ p_x) + μ·h(A).

So every choice of prices gives a bound. The best prices are those of a program with four rows, whose columns are
choices of a set in every layer, generated on demand.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.optimiser.robust.small_basis import leaving, solve
from privacyfunnel.typing import Integers, Matrix, Vector

ROWS = 4
"""The sum, two conditions, and that the weights of choices add up to 1."""
DEAR = 1e3
"""What overstepping costs, in nats: no price is higher."""
SLACK_SIGN = np.array([1.0, -1.0])
"""Of too little and too much: the first makes up for what a row lacks, the second takes away."""
SLACK_COST = np.array([[DEAR, DEAR], [0.0, DEAR], [0.0, DEAR]])
"""Of too little and too much in each row; a condition may be kept with room to spare."""
CHOICE = 6
"""Columns 2i and 2i + 1 are the slacks of row i; this one is a choice of sets."""
PIVOTS = 80
"""At most: prices that are not the best give a bound all the same, and other nodes wait."""
CLOSE = 1e-9
"""Nats; bounds that differ by less are not worth another pivot, and SAFE in `branch_on_largest` allows for float64."""
PIVOT = 1e-13
"""A weight that changes by less limits nothing: dividing by it would blow up rounding errors."""


@compiled
def relax(
    p: Vector, cost: Vector, K: Matrix, M: NDArray[np.float64], ids: Integers, ends: Matrix, cap: float,
    enough: float, price: Vector, w: Vector,
) -> float:  # fmt: skip
    """A bound below min cost·w under the bounds, the best there is unless `enough` is reached before.

    `price` holds (τ, μ) to start from, and those of the bound in the end; w solves the program as far as it was solved.
    """
    n = len(p)
    heights = np.unique(np.append(ends.ravel(), cap))
    B, costs, kinds = np.zeros((ROWS, ROWS)), np.zeros(ROWS), np.full(ROWS, CHOICE)
    stacks, stack, column = np.zeros((ROWS, n)), np.zeros(n), np.zeros(ROWS)
    goal = np.array([1.0, 0.0, 0.0, 1.0])
    weights, dual, change = np.zeros(ROWS), np.zeros(ROWS), np.zeros(ROWS)
    best = choose(p, cost, K, M, ids, ends, cap, heights, price, stack, column)
    tried = price.copy()
    B[:, ROWS - 1], costs[ROWS - 1], stacks[ROWS - 1] = column, (cost * stack).sum(), stack
    for i in range(ROWS - 1):
        side = 0 if goal[i] >= column[i] else 1
        B[i, i], costs[i], kinds[i] = SLACK_SIGN[side], SLACK_COST[i, side], 2 * i + side
    for _ in range(PIVOTS):
        if best >= enough or not (solve(B, goal, weights) and solve(B.T, costs, dual)):
            break
        enters, least = CHOICE, -CLOSE
        for i in range(ROWS - 1):  # slacks first, so that prices are what they may be
            for side in range(2):
                reduced = SLACK_COST[i, side] - SLACK_SIGN[side] * dual[i]
                if reduced < least:
                    enters, least = 2 * i + side, reduced
        if enters == CHOICE:
            tried[0], tried[1], tried[2] = dual[0], max(0.0, -dual[1]), max(0.0, -dual[2])
            value = choose(p, cost, K, M, ids, ends, cap, heights, tried, stack, column)
            if value > best:
                best = value
                price[:] = tried
            if (weights * costs).sum() - best <= CLOSE:
                break
            own = (cost * stack).sum()
        else:
            column[:] = 0.0
            column[enters // 2] = SLACK_SIGN[enters % 2]
            own = SLACK_COST[enters // 2, enters % 2]
        if not solve(B, column, change):
            break
        leaves = leaving(weights, change, PIVOT)
        if leaves < 0:
            break
        B[:, leaves], costs[leaves], kinds[leaves] = column, own, enters
        stacks[leaves] = stack
    w[:] = 0.0
    for k in range(ROWS):
        if kinds[k] == CHOICE and weights[k] > 0:
            w += weights[k] * stacks[k]
    return best


@compiled
def choose(
    p: Vector, cost: Vector, K: Matrix, M: NDArray[np.float64], ids: Integers, ends: Matrix, cap: float,
    heights: Vector, price: Vector, stack: Vector, column: Vector,
) -> float:  # fmt: skip
    """The bound at (τ, μ) = price, the stack of the sets that attain it, and its coefficients in the four rows."""
    n, spikes, pieces, layers = len(p), len(ids), K.shape[1], len(heights)
    least, first, second = np.full(layers, np.inf), np.zeros(layers, np.int64), np.zeros(layers, np.int64)
    own = np.empty(spikes)
    for i in range(pieces if price[1] > 0 else 1):
        for j in range(pieces if price[2] > 0 else 1):
            constant = price[1] * K[0, i] + price[2] * K[1, j]
            under = 0.0
            for x in range(n):
                under += min(0.0, cost[x] - price[0] * p[x] + price[1] * M[0, i, x] + price[2] * M[1, j, x])
            for k in range(spikes):
                x = ids[k]
                own[k] = cost[x] - price[0] * p[x] + price[1] * M[0, i, x] + price[2] * M[1, j, x]
                under -= min(0.0, own[k])
            for layer in range(layers):
                total = constant + (under if heights[layer] <= cap else 0.0)
                for k in range(spikes):
                    if heights[layer] <= ends[k, 0]:
                        total += own[k]
                    elif heights[layer] <= ends[k, 1]:
                        total += min(0.0, own[k])
                if total < least[layer]:
                    least[layer], first[layer], second[layer] = total, i, j
    bound = float(price[0])
    stack[:] = 0.0
    column[:] = 0.0
    column[ROWS - 1] = 1.0
    sums = np.empty((2, pieces))
    spike_at = np.full(n, -1)
    for k in range(spikes):
        spike_at[ids[k]] = k
    below = 0.0
    for layer in range(layers):
        high = heights[layer] - below
        below = heights[layer]
        if high <= 0:
            continue
        bound += high * least[layer]
        i, j = first[layer], second[layer]
        sums[:] = K
        for x in range(n):
            k = spike_at[x]
            inside = k >= 0 and heights[layer] <= ends[k, 0]
            may = heights[layer] <= (cap if k < 0 else ends[k, 1])
            if not inside and may:
                inside = cost[x] - price[0] * p[x] + price[1] * M[0, i, x] + price[2] * M[1, j, x] < 0
            if inside:
                stack[x] += high
                column[0] += high * p[x]
                for q in range(pieces):
                    sums[0, q] += M[0, q, x]
                    sums[1, q] += M[1, q, x]
        column[1] += high * sums[0].min()
        column[2] += high * sums[1].min()
    return bound


@compiled
def raised_by(
    p: Vector, cost: Vector, K: Matrix, M: NDArray[np.float64], ids: Integers, ends: Matrix, cap: float,
    price: Vector, height: float,
) -> Vector:  # fmt: skip
    """By how much the bound at these prices rises, at least, if w[x] is at least `height`, for values under the cap."""
    n, spikes, pieces = len(p), len(ids), K.shape[1]
    heights = np.unique(np.append(ends.ravel(), cap))
    rise = np.zeros(n)
    coefficient = np.empty(n)
    below = 0.0
    for layer in range(len(heights)):
        high = min(heights[layer], height) - below
        below = heights[layer]
        if high <= 0 or heights[layer] > cap:
            continue
        least, least_with = np.inf, np.full(n, np.inf)
        for i in range(pieces if price[1] > 0 else 1):
            for j in range(pieces if price[2] > 0 else 1):
                total = price[1] * K[0, i] + price[2] * K[1, j]
                for x in range(n):
                    coefficient[x] = cost[x] - price[0] * p[x] + price[1] * M[0, i, x] + price[2] * M[1, j, x]
                    total += min(0.0, coefficient[x])
                for k in range(spikes):
                    own = coefficient[ids[k]]
                    total -= min(0.0, own)
                    if heights[layer] <= ends[k, 0]:
                        total += own
                    elif heights[layer] <= ends[k, 1]:
                        total += min(0.0, own)
                least = min(least, total)
                for x in range(n):
                    least_with[x] = min(least_with[x], total + max(0.0, coefficient[x]))
        for x in range(n):
            rise[x] += high * (least_with[x] - least)
    return rise
