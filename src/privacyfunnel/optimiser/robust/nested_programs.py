"""Two secrets over a confidence set: linear programs whose vertices are mixtures of three sets of values.

Let w = v/p_x. Over the set, P(y|s) is at most most_s(w), and with two secrets every promise says
most_0(w) ≤ κ_0·least_1(w) and most_1(w) ≤ κ_1·least_0(w). For w = 1_A, the indicator of a set A of values, most_s is
the largest P(A|s), a minimum of few functions "constant + sum over A" (see `robust_sets`), and so is the j-th condition

    h_j(A) = min over q of K[j, q] + Σ_{x in A} M[j, q, x].

h_j is submodular, and on other w it is Σ_k α_k h_j(A_k) where w = Σ_k α_k 1_{A_k} with nested A_k. So Δ consists of the
mixtures Σ α_A 1_A with Σ α_A h_j(A) ≤ 0, and a linear program over Δ has three rows: these two, and Σ α_A p_x(A) = 1.
The set with the least reduced cost is found by going once through the values for every pair of pieces. Several clauses
about two events each have two conditions each, and as many more rows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.optimiser.program.tolerances import FLOOR, IMPROVES, STEPS
from privacyfunnel.optimiser.robust.small_basis import leaving, solve
from privacyfunnel.typing import Integers, Matrix, Vector

ONE_PROMISE = 2
"""Conditions of a promise about two secrets."""
SET = -1
"""A column of the basis that is a set; other columns are the slack of the condition with that number."""
PIVOTS = 300
"""At most, so that a basis that turns in circles by rounding errors ends; what it has reached lies in Δ."""
SETTLED = 1e-11
"""A set whose cost is below its price by less than this share of its mass does not improve a program."""
PIVOT = 1e-14
"""Smaller changes and prices are rounding errors of numbers up to 1."""


@compiled
def descents(starts: Matrix, y: Vector, p: Vector, K: Matrix, M: NDArray[np.float64]) -> tuple[Vector, Matrix]:
    """From every start down to a vertex of Δ that is a local minimum of r(v) = H(v) − y·v: r and v at each."""
    count, n = starts.shape
    V, r = np.empty((count, n)), np.empty(count)
    cost, w = np.empty(n), np.empty(n)
    for i in range(count):
        sets, kinds = first_basis(n, len(K))
        V[i] = starts[i]
        r[i] = np.inf
        for _ in range(STEPS):
            for x in range(n):
                cost[x] = -math.log(max(V[i, x], FLOOR)) - y[x]
            minimise(cost, p, K, M, sets, kinds, w)
            value = 0.0
            for x in range(n):
                v = w[x] * p[x]
                if v > 0:
                    value -= v * (math.log(v) + y[x])
            if value >= r[i] - IMPROVES:
                break
            r[i] = value
            V[i] = w * p
    return r, V


@compiled
def corners(p: Vector, K: Matrix, M: NDArray[np.float64]) -> Matrix:
    """For every value x, a vertex with the largest v[x], as row x."""
    n = len(p)
    V, cost, w = np.empty((n, n)), np.zeros(n), np.empty(n)
    for x in range(n):
        sets, kinds = first_basis(n, len(K))
        cost[x] = -1.0
        minimise(cost, p, K, M, sets, kinds, w)
        cost[x] = 0.0
        V[x] = w * p
    return V


@compiled
def first_basis(n: int, conditions: int = ONE_PROMISE) -> tuple[NDArray[np.bool_], Integers]:
    """The set of all values, which keeps every promise with room to spare, and all slacks."""
    sets = np.ones((1 + conditions, n), np.bool_)
    kinds = np.arange(-1, conditions)
    return sets, kinds


@compiled
def minimise(
    cost: Vector, p: Vector, K: Matrix, M: NDArray[np.float64], sets: NDArray[np.bool_], kinds: Integers, w: Vector
) -> None:
    """The least cost·v over Δ by the simplex method; w = v/p there. The basis stays for the next time."""
    n, rows = len(p), 1 + len(K)
    C = cost * p
    B, price_of = np.zeros((rows, rows)), np.zeros(rows)
    column, sum_to_one = np.zeros(rows), np.zeros(rows)
    sum_to_one[0] = 1.0
    for k in range(rows):
        price_of[k] = _column(kinds[k], sets[k], C, p, K, M, column)
        B[:, k] = column
    alpha, dual, change = np.zeros(rows), np.zeros(rows), np.zeros(rows)
    mu, A = np.zeros(rows - 1), np.zeros(n, np.bool_)
    for _ in range(PIVOTS):
        if not (solve(B, sum_to_one, alpha) and solve(B.T, price_of, dual)):
            break
        enters = SET
        for j in range(rows - 1):
            mu[j] = max(0.0, -dual[1 + j])
            if -dual[1 + j] < -PIVOT and (enters == SET or dual[1 + j] > dual[1 + enters]):
                enters = j
        if enters == SET:
            below = least_set(C - dual[0] * p, mu, K, M, A)
            own = _column(SET, A, C, p, K, M, column)
            if below >= -SETTLED * column[0]:
                break
        else:
            own = _column(enters, A, C, p, K, M, column)
        if not solve(B, column, change):
            break
        leaves = leaving(alpha, change, PIVOT)
        if leaves < 0:
            break
        B[:, leaves] = column
        price_of[leaves] = own
        kinds[leaves] = enters
        if enters == SET:
            sets[leaves] = A
    w[:] = 0.0
    for k in range(rows):
        if kinds[k] == SET and alpha[k] > 0:
            for x in range(n):
                if sets[k, x]:
                    w[x] += alpha[k]
    w /= (w * p).sum()


@compiled
def least_set(costs: Vector, mu: Vector, K: Matrix, M: NDArray[np.float64], A: NDArray[np.bool_]) -> float:
    """The least Σ_{x in A} costs[x] + Σ_j mu[j] h_j(A) over all sets A, which is written to A; the empty one has 0."""
    if len(K) != ONE_PROMISE:
        return _least_set_of_many(costs, mu, K, M, A)
    n, pieces = len(costs), K.shape[1]
    best, first, second = 0.0, -1, -1
    for i in range(pieces if mu[0] > 0 else 1):
        for j in range(pieces if mu[1] > 0 else 1):
            total = mu[0] * K[0, i] + mu[1] * K[1, j]
            for x in range(n):
                total += min(0.0, costs[x] + mu[0] * M[0, i, x] + mu[1] * M[1, j, x])
            if total < best:
                best, first, second = total, i, j
    for x in range(n):
        A[x] = first >= 0 and costs[x] + mu[0] * M[0, first, x] + mu[1] * M[1, second, x] < 0
    return best


@compiled
def _least_set_of_many(costs: Vector, mu: Vector, K: Matrix, M: NDArray[np.float64], A: NDArray[np.bool_]) -> float:
    """The same for any number of conditions: every choice of a piece for each that has a price."""
    n, conditions, pieces = len(costs), K.shape[0], K.shape[1]
    choice, together = np.zeros(conditions, np.int64), np.empty(n)
    best, at = 0.0, 0
    A[:] = False
    while at < conditions:
        total = 0.0
        together[:] = costs
        for j in range(conditions):
            if mu[j] > 0:
                total += mu[j] * K[j, choice[j]]
                together += mu[j] * M[j, choice[j]]
        for x in range(n):
            total += min(0.0, together[x])
        if total < best:
            best = total
            for x in range(n):
                A[x] = together[x] < 0
        at = 0  # the next choice, like the next number
        while at < conditions and (mu[at] <= 0 or choice[at] == pieces - 1):
            choice[at] = 0
            at += 1
        if at < conditions:
            choice[at] += 1
    return best


@compiled
def _column(
    kind: int, A: NDArray[np.bool_], C: Vector, p: Vector, K: Matrix, M: NDArray[np.float64], column: Vector
) -> float:
    """The cost of a set or slack; its coefficients in the rows are written to `column`."""
    column[:] = 0.0
    if kind != SET:
        column[1 + kind] = 1.0
        return 0.0
    cost = 0.0
    sums = K.copy()
    for x in range(len(p)):
        if A[x]:
            cost += C[x]
            column[0] += p[x]
            for j in range(len(K)):
                for q in range(K.shape[1]):
                    sums[j, q] += M[j, q, x]
    for j in range(len(K)):
        column[1 + j] = sums[j].min()
    return cost


@compiled
def best_pairs(y: Vector, G: Matrix) -> tuple[Vector, Integers, Vector]:
    """For every value i, the least r(v) over v on i and a partner with all rows G v ≤ 0: r, the partner, v[i].

    r is concave, so for every two values the ends of what is allowed suffice. A value that is allowed alone is its
    own partner; where there is nothing, r is infinite.
    """
    n = G.shape[1]
    least, partner, share = np.full(n, np.inf), np.arange(n), np.ones(n)
    for i in range(n):
        if G[:, i].max() <= 0:
            least[i] = -y[i]
    for i in range(n):
        for k in range(i + 1, n):
            low, high = 0.0, 1.0
            for j in range(len(G)):
                over, under = G[j, i], G[j, k]
                if over > 0 and under > 0:
                    low = 2.0
                elif over > 0:
                    high = min(high, -under / (over - under))
                elif under > 0:
                    low = max(low, under / (under - over))
            if low > high:
                continue
            for end in range(2):
                v = high if end else low
                if 0.0 < v < 1.0:
                    r = -v * (math.log(v) + y[i]) - (1 - v) * (math.log1p(-v) + y[k])
                    if r < least[i]:
                        least[i], partner[i], share[i] = r, k, v
                    if r < least[k]:
                        least[k], partner[k], share[k] = r, i, 1 - v
    return least, partner, share
