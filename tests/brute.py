"""Independent oracles: exact vertex enumeration, exact lifts and levels, classical mechanisms.

Nothing here uses the optimiser, the certificate or the notions' own arithmetic: promises are read as
(lower, upper, spread) limits on ln lift from the notion's constructor arguments alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
from scipy.optimize import linprog

import privacyfunnel as pf

UNIT = 2**32
DIGITS = 18
PERFECT = 1e-8


def limits(notion):
    """(lower, upper, spread): how far ln lift may go down, up and apart; None where it may go anywhere."""
    match notion:
        case pf.LDP():
            return None, None, notion.epsilon
        case pf.LIP():
            return notion.epsilon, notion.epsilon, None
        case pf.ALIP():
            return notion.lower, notion.upper, None
        case pf.PML():
            return None, notion.epsilon, None
        case pf.PerfectPrivacy():
            return 0.0, 0.0, None
    raise AssertionError(f"no oracle for {notion}")


@cache
def exp_between(epsilon, digits=DIGITS):
    """Rationals below and above e^ε, from the Taylor series in exact fractions."""
    x, halvings = Fraction(epsilon), 0
    while x > Fraction(1, 2):
        x, halvings = x / 2, halvings + 1
    digits += 3 + int(epsilon) + halvings
    grain = 10 ** (digits + 3)
    # Terms are rounded outwards to a grain, so that numerators stay short.
    low = high = term_low = term_high = Fraction(1)
    k = 0
    while term_high > Fraction(2, grain):
        k += 1
        term_low = Fraction(math.floor(term_low * x / k * grain), grain)
        term_high = Fraction(math.ceil(term_high * x / k * grain), grain)
        low, high = low + term_low, high + term_high
    high += 2 * term_high  # the tail, since x ≤ 1/2
    for _ in range(halvings):
        low = Fraction(math.floor(low * low * grain), grain)
        high = Fraction(math.ceil(high * high * grain), grain)
    return (low, high) if epsilon else (Fraction(1), Fraction(1))


def log_between(ratio):
    """Decimals below and above ln ratio, at 50 digits (Decimal.ln is correctly rounded)."""
    wide = Context(prec=200)
    value = wide.ln(wide.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
    down, up = Context(prec=50, rounding=ROUND_FLOOR), Context(prec=50, rounding=ROUND_CEILING)
    return down.plus(value), up.plus(value)


# --- exact lifts -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lifts:
    """lift[y][s] as fractions, for the outputs that occur."""

    rows: dict[int, list[Fraction]]

    @property
    def most(self):
        return max(max(row) for row in self.rows.values())

    @property
    def least(self):
        return min(min(row) for row in self.rows.values())

    @property
    def apart(self):
        """The largest ratio of two lifts at one output; None for infinity."""
        if any(min(row) == 0 for row in self.rows.values()):
            return None
        return max(max(row) / min(row) for row in self.rows.values())


def fractions(array):
    """The entries as exact fractions."""
    return [[Fraction(entry) for entry in row] for row in np.asarray(array).tolist()]


def exact_lifts(p, numerators):
    """P(y|s) / P(y) for p[s][x] fractions (any scale) and integers N[y][x] = 2³² Q[y, x]."""
    prior = [sum(row) for row in p]
    whole = sum(prior)
    rows = {}
    for y, n in enumerate(numerators):
        joint = [sum(p_sx * int(k) for p_sx, k in zip(row, n, strict=True)) for row in p]
        emitted = sum(joint)
        if emitted:
            rows[y] = [j * whole / (emitted * w) for j, w in zip(joint, prior, strict=True)]
    return Lifts(rows)


def keeps(notion, lifts):
    """Whether the lifts keep the promise, in exact arithmetic; ε = 0 means up to 1e-8.

    The rational bounds of e^ε are closer to it than any lift met in the tests; where a lift falls
    between them the verdict would be a guess, and an error is raised instead.
    """
    lower, upper, spread = (PERFECT if limit == 0 else limit for limit in limits(notion))
    verdict = True
    for limit, ratio in (
        (lower, 1 / lifts.least if lifts.least else None),
        (upper, lifts.most),
        (spread, lifts.apart),
    ):
        if limit is None:
            continue
        if ratio is None:
            verdict = False
            continue
        low, high = exp_between(limit, 40)
        assert not low < ratio < high, "too close to call"
        verdict = verdict and ratio <= low
    return verdict


def levels(lifts):
    """(lower, upper, spread) reached, as Decimal intervals."""
    infinite = (Decimal("Infinity"), Decimal("Infinity"))
    return (
        log_between(1 / lifts.least) if lifts.least else infinite,
        log_between(lifts.most),
        log_between(lifts.apart) if lifts.apart is not None else infinite,
    )


# --- exact vertices ----------------------------------------------------------------------------------


def vertices(weights, notion, *, above=False):
    """The vertices of Δ by the Parma Polyhedra Library, in rationals; e^ε is taken from below or above."""
    from privacyfunnel.paper.reference import _ppl

    ppl = _ppl()  # leaves the rounding of floats alone, unlike the bare import

    n_s, n_x = weights.shape
    N = [[int(w) for w in row] for row in weights.tolist()]
    W_s = [sum(row) for row in N]
    W_x = [sum(N[s][x] for s in range(n_s)) for x in range(n_x)]
    W = sum(W_s)
    # In w[x] = v[x]·W / W_x every coefficient is an integer: lift[s] = Σ_x N[s,x] w[x] / W_s.
    w = [ppl.Variable(x) for x in range(n_x)]
    total = sum((W_x[x] * w[x] for x in range(n_x)), ppl.Linear_Expression(0))
    share = [sum((N[s][x] * w[x] for x in range(n_x)), ppl.Linear_Expression(0)) for s in range(n_s)]
    system = ppl.Constraint_System()
    for variable in w:
        system.insert(variable >= 0)
    system.insert(total == W)
    lower, upper, spread = (
        None if limit is None else exp_between(limit)[above] if limit else Fraction(1) for limit in limits(notion)
    )
    for s in range(n_s):
        if upper is not None:
            system.insert(W * upper.denominator * share[s] <= W_s[s] * upper.numerator * total)
        if lower is not None:
            system.insert(W * lower.numerator * share[s] >= W_s[s] * lower.denominator * total)
        if spread is not None:
            for t in range(n_s):
                if t != s:
                    system.insert(W_s[t] * spread.denominator * share[s] <= W_s[s] * spread.numerator * share[t])
    found = []
    for point in ppl.C_Polyhedron(system).generators():
        assert point.is_point()
        divisor = int(point.divisor())
        found.append([Fraction(int(c) * W_x[x], W * divisor) for x, c in enumerate(point.coefficients())])
    return found


def entropy(v):
    """H(v) in nats, of a list of fractions or floats."""
    return -math.fsum(float(p) * math.log(p) for p in v if p > 0)


def optimum(weights, notion, *, above=False):
    """The best I(X;Y), by a linear program over all vertices of Δ; at most 1e-8 off."""
    W_x = [sum(int(w) for w in column) for column in weights.T.tolist()]
    p_x = [Fraction(w, sum(W_x)) for w in W_x]
    # p_x is in Δ as well: it never improves the optimum, and makes the program feasible in floats.
    V = [p_x, *vertices(weights, notion, above=above)]
    # Rows say Σ λ u = 1 with u = v/p scaled to a largest entry of 1, so that rare values count as well.
    U = [[a / b for a, b in zip(v, p_x, strict=True)] for v in V]
    scale = [max(u) for u in U]
    A = np.array([[float(a / k) for a in u] for u, k in zip(U, scale, strict=True)]).T
    cost = np.array([entropy(v) / float(k) for v, k in zip(V, scale, strict=True)])
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    answer = linprog(cost, A_eq=A, b_eq=np.ones(len(p_x)), method="highs-ds", options=tight)
    assert answer.status == 0, answer.message
    return entropy(p_x) - answer.fun


# --- information, mechanisms ---------------------------------------------------------------------------


def information(p_x, Q):
    """I(X;Y) = H(Y) − H(Y|X) in nats, for Q[y][x] = P(y|x): another formula than the package's."""
    q = [math.fsum(a * b for a, b in zip(row, p_x, strict=True)) for row in Q]
    noise = math.fsum(p * entropy(column) for p, column in zip(p_x, zip(*Q, strict=True), strict=True))
    return entropy(q) - noise


def randomised_response(k, epsilon):
    """Q[y, x] = e^ε/(e^ε+k−1) where y = x, 1/(e^ε+k−1) elsewhere."""
    Q = np.ones((k, k)) + (math.exp(epsilon) - 1) * np.eye(k)
    return Q / (math.exp(epsilon) + k - 1)


def binary_mechanisms(k, epsilon):
    """For every subset A of the values, the channel that tells A from its complement as well as ε allows."""
    high = math.exp(epsilon) / (1 + math.exp(epsilon))
    for size in range(1, k // 2 + 1):
        for subset in combinations(range(k), size):
            row = np.full(k, 1 - high)
            row[list(subset)] = high
            yield np.vstack([row, 1 - row])
