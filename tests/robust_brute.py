"""Independent oracles for promises over a set of distributions: all its corners, one by one, in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from scipy.optimize import linprog
from tests.brute import entropy, exact_lifts, limits

from privacyfunnel.shares import SCALE


def corners(lower, upper):
    """All corners of {l ≤ r ≤ u, Σr = 1}: all coordinates but one are at an end."""
    n, found = len(lower), set()
    for free in range(n):
        others = [k for k in range(n) if k != free]
        for ends in product(*[(lower[k], upper[k]) for k in others]):
            rest = 1 - sum(ends)
            if lower[free] <= rest <= upper[free]:
                point = dict(zip(others, ends, strict=True)) | {free: rest}
                found.add(tuple(point[k] for k in range(n)))
    return sorted(found)


def fractions_of(part, cell=0):
    """The ends of the intervals for P(x|s) and for P(s) in a cell, as fractions."""
    n = int((part.members[cell] >= 0).sum())
    given = [
        ([Fraction(int(e), SCALE) for e in low[:n]], [Fraction(int(e), SCALE) for e in high[:n]])
        for low, high in zip(part.given.lower[cell], part.given.upper[cell], strict=True)
    ]
    prior = tuple([Fraction(int(e), SCALE) for e in ends[cell]] for ends in (part.prior.lower, part.prior.upper))
    return given, prior


def distributions(part, cell=0):
    """P(s, x) for every combination of corners."""
    given, prior = fractions_of(part, cell)
    conditionals = [corners(*ends) for ends in given]
    for p_s in corners(*prior):
        for rows in product(*conditionals):
            yield [[share * p for p in row] for share, row in zip(p_s, rows, strict=True)]


def level_of(notion, lifts):
    """The smallest ε that the lifts keep, for notions whose limits are all the same; as a float."""
    lower, upper, spread = limits(notion)
    reached = [0.0]
    if lower is not None:
        reached.append(-math.log(lifts.least) if lifts.least else math.inf)
    if upper is not None:
        reached.append(math.log(lifts.most))
    if spread is not None:
        reached.append(math.log(lifts.apart) if lifts.apart is not None else math.inf)
    return max(reached)


def worst_level(notion, part, numerators):
    """The largest level over all corners."""
    return max(level_of(notion, exact_lifts(p, numerators)) for p in distributions(part))


def rows(notion, part):
    """Every row that a corner of the set asks of w = Q[y, ·]."""
    lower, upper, spread = limits(notion)
    G = []
    for p in distributions(part):
        p = np.array([[float(x) for x in row] for row in p])
        mean, P = p.sum(axis=0), p / p.sum(axis=1, keepdims=True)
        for s in range(len(P)):
            if upper is not None:
                G.append(P[s] - math.exp(upper) * mean)
            if lower is not None:
                G.append(math.exp(-lower) * mean - P[s])
            if spread is not None:
                G += [P[s] - math.exp(spread) * P[t] for t in range(len(P)) if t != s]
    return np.unique(np.array(G).round(14), axis=0)


def optimum(notion, part, p_x):
    """The best I(X;Y) for three values of X: all corners of Δ from all pairs of its edges, then a linear program."""
    assert len(p_x) == 3
    G = np.vstack([rows(notion, part) / p_x, -np.eye(3)])
    G /= np.abs(G).max(axis=1, keepdims=True)
    pairs = np.array(list(combinations(range(len(G)), 2)))
    V = np.cross(G[pairs[:, 0]], G[pairs[:, 1]])
    total = V.sum(axis=1)
    V = V[np.abs(total) > 1e-9] / total[np.abs(total) > 1e-9, None]
    V = np.vstack([V[(V @ G.T <= 1e-10).all(axis=1)].clip(0), p_x])
    cost = np.array([entropy(v) for v in V])
    answer = linprog(cost, A_eq=V.T, b_eq=p_x, method="highs-ds")
    assert answer.status == 0, answer.message
    return entropy(p_x) - answer.fun
