"""Independent oracles for promises over a set of distributions: all its corners, one by one, in exact fractions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from scipy.optimize import linprog
from tests.brute import Lifts, entropy, limits

from privacyfunnel.promises.sets import SCALE


@dataclass(frozen=True)
class Within:
    """{l ≤ r ≤ u, Σr = 1}, in fractions."""

    lower: list[Fraction]
    upper: list[Fraction]

    def holds(self, r):
        return sum(r) == 1 and all(a <= p <= b for a, p, b in zip(self.lower, r, self.upper, strict=True))

    def corners(self):
        """All corners. At each, all but one share are at an end of their interval, and the sum settles the other."""
        n = len(self.lower)
        found = set()
        for fixed in product(*zip(self.lower, self.upper, strict=True)):
            for i in range(n):
                found.add(tuple(1 - sum(fixed) + fixed[i] if k == i else fixed[k] for k in range(n)))
        return sorted(r for r in found if self.holds(r))


def fractions_of(part, cell=0):
    """The sets of P(x|s), for each s, and of P(S) in a cell."""
    n = int((part.members[cell] >= 0).sum())
    given = [_within(part.given, (cell, s), n) for s in range(part.prior.lower.shape[1])]
    return given, _within(part.prior, (cell,), len(given))


def _within(shares, place, n):
    return Within(*([Fraction(int(e), SCALE) for e in end[place][:n]] for end in (shares.lower, shares.upper)))


def distributions(part, cell=0):
    """P(s) and P(x|s) for every combination of corners."""
    given, prior = fractions_of(part, cell)
    yield from product(prior.corners(), product(*[one.corners() for one in given]))


def level_at(notion, p_s, rows, numerators):
    """The smallest ε that a channel keeps under P(s) and P(x|s), in the limit where a P(s) is 0."""
    told = [[sum(p * k for p, k in zip(row, n, strict=True)) for row in rows] for n in numerators]
    means = [sum(p * t for p, t in zip(p_s, one, strict=True)) for one in told]
    if any(mean == 0 for mean, one in zip(means, told, strict=True) if any(one)):
        return math.inf
    rows = {y: [t / means[y] for t in one] for y, one in enumerate(told) if any(one)}
    return level_of(notion, Lifts(rows)) if rows else 0.0


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
    return max(level_at(notion, *p, numerators) for p in distributions(part))


def rows(notion, part):
    """Every row that a corner of the set asks of w = Q[y, ·]."""
    lower, upper, spread = limits(notion)
    G = []
    for p_s, given in distributions(part):
        P = np.array(given, dtype=np.float64)
        mean = np.array(p_s, dtype=np.float64) @ P
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
    V = V[(V >= -1e-10).all(axis=1)]
    kept = [part[(part @ G.T <= 1e-10).all(axis=1)] for part in np.array_split(V, 1 + len(V) // 10_000)]
    V = np.vstack([*kept, p_x]).clip(0)
    cost = np.array([entropy(v) for v in V])
    answer = linprog(cost, A_eq=V.T, b_eq=p_x, method="highs-ds")
    assert answer.status == 0, answer.message
    return entropy(p_x) - answer.fun
