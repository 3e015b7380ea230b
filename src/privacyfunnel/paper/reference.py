"""The paper's own methods, by vertex enumeration: for its experiments, tests and benchmarks only.

LDP: all vertices of Γ, the a(a−1)-dimensional polytope of channels (its Theorem 1); I(X;Y) is convex
in the channel, so the best vertex is the best protocol. LIP: all vertices of Δ, then a linear program
(its Theorem 2). SRLIP: a product of channels, each from a Γ of its own (its Theorem 3). Vertices come
from the Parma Polyhedra Library, in rational arithmetic.
"""

from __future__ import annotations

import ctypes
from fractions import Fraction
from itertools import combinations
from math import exp, lcm
from typing import Any

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import MissingExtra
from privacyfunnel.numeric.information import entropy, mutual_information
from privacyfunnel.promises.views import View
from privacyfunnel.typing import Matrix, Vector

TO_NEAREST = 0
"""FE_TONEAREST of the C library."""
DENOMINATOR = 10**12
"""Probabilities and e^ε are rounded to rationals of about this denominator before enumeration."""


def best_ldp(joint: Joint, epsilon: float) -> tuple[Matrix, float]:
    """The ε-LDP channel Q[y, x] with the largest I(X;Y), and that I(X;Y); b = a outputs."""
    bound = _rational(exp(epsilon))
    given = [[_rational(p) for p in row] for row in joint.p_x_given_s]
    conditions = [
        [bound * q - p for p, q in zip(one, other, strict=True)]
        for s, one in enumerate(given)
        for t, other in enumerate(given)
        if s != t
    ]
    return _best_channel(joint.p_x, conditions)


def best_factor(joint: Joint, attribute: int, epsilon: float) -> tuple[Matrix, float]:
    """The channel of one attribute that the paper's product takes (its Theorem 3), and its I(Xʲ;Yʲ).

    It is the best of all that are ε-LIP with respect to p(S, Xʲ | x^J), for every set J of other attributes and
    every x^J. Conditions that follow from the others are left out before the vertices are listed.
    """
    up, down = _rational(exp(epsilon)), _rational(exp(-epsilon))
    values = joint.codes[:, attribute]
    a = int(values.max()) + 1
    others = [j for j in range(joint.codes.shape[1]) if j != attribute]
    conditions: dict[tuple[Fraction, ...], None] = {}
    for known in (J for size in range(len(others) + 1) for J in combinations(others, size)):
        view = View.of(known, joint)
        for cell in range(view.n_cells):
            p = np.zeros((joint.n_s, a))
            here = np.flatnonzero(view.cell == cell)
            np.add.at(p.T, values[here], joint.p.T[here])
            overall = [_rational(value) for value in p.sum(axis=0) / p.sum()]
            for row in p[p.sum(axis=1) > 0]:
                given = [_rational(value) for value in row / row.sum()]
                conditions[tuple(up * q - g for g, q in zip(given, overall, strict=True))] = None
                conditions[tuple(g - down * q for g, q in zip(given, overall, strict=True))] = None
    p_x = np.bincount(values, weights=joint.p_x, minlength=a).astype(np.float64)
    return _best_channel(p_x, _irredundant(list(conditions), a))


def _irredundant(conditions: list[tuple[Fraction, ...]], a: int) -> list[list[Fraction]]:
    """The conditions that describe the same cone {w ≥ 0: condition·w ≥ 0} without repeating one another."""
    signs = [tuple(Fraction(int(k == x)) for k in range(a)) for x in range(a)]
    cone = _polyhedron([(list(row), Fraction(0)) for row in (*signs, *conditions)])
    needed = [[Fraction(int(c)) for c in row.coefficients()] for row in cone.minimized_constraints()]
    return [row for row in needed if min(row) < 0]


def _best_channel(p_x: Vector, conditions: list[list[Fraction]]) -> tuple[Matrix, float]:
    """The best vertex of Γ = {Q: condition·Q[y, :] ≥ 0 for every condition and output y}, with b = a outputs.

    The last output is what the others leave, so that Γ has its full dimension a(a−1).
    """
    a = len(p_x)
    free = a * (a - 1)

    def output(y: int, weights: list[Fraction]) -> tuple[list[Fraction], Fraction]:
        """Σ_x weights[x]·Q[y, x] as an affine function of the free entries."""
        coefficients = [Fraction(0)] * free
        for x, weight in enumerate(weights):
            if y < a - 1:
                coefficients[y * a + x] = weight
            else:
                for k in range(a - 1):
                    coefficients[k * a + x] = -weight
        return coefficients, Fraction(0) if y < a - 1 else sum(weights, Fraction(0))

    positive = [[Fraction(int(k == x)) for k in range(a)] for x in range(a)]
    rows = [output(y, weights) for y in range(a) for weights in (*positive, *conditions)]
    best, utility = np.ones((1, a)), -1.0
    for vertex in _vertices(rows, free).reshape(-1, a - 1, a):
        Q = np.vstack([vertex, 1 - vertex.sum(axis=0)]).clip(0)
        kept = mutual_information(Q * p_x)
        if kept > utility:
            best, utility = Q, kept
    return best, utility


def best_lip(joint: Joint, epsilon: float) -> tuple[Matrix, float]:
    """The ε-LIP channel with the largest I(X;Y), and that I(X;Y).

    The last entry of a posterior is what the others leave, so that Δ has its full dimension a − 1.
    """
    from scipy.optimize import linprog

    n, up, down = joint.n_x, _rational(exp(epsilon)), _rational(exp(-epsilon))
    rows: list[tuple[list[Fraction], Fraction]] = []
    for x in range(n - 1):
        rows.append(([Fraction(int(k == x)) for k in range(n - 1)], Fraction(0)))
    rows.append(([Fraction(-1)] * (n - 1), Fraction(1)))
    for posterior, prior in zip(joint.p_s_given_x, joint.p_s, strict=True):
        b, p = [_rational(value) for value in posterior], _rational(prior)
        slopes = [value - b[-1] for value in b[:-1]]
        rows.append((slopes, b[-1] - down * p))
        rows.append(([-value for value in slopes], up * p - b[-1]))
    vertices = _vertices(rows, n - 1)
    V = np.hstack([vertices, 1 - vertices.sum(axis=1, keepdims=True)]).clip(0)
    program = linprog(entropy(V), A_eq=V.T, b_eq=joint.p_x)
    Q = (program.x[:, None] * V / joint.p_x)[program.x > 0]
    return Q, joint.entropy - float(program.fun)


def _rational(value: float) -> Fraction:
    return Fraction(round(value * DENOMINATOR), DENOMINATOR)


def _vertices(rows: list[tuple[list[Fraction], Fraction]], dimension: int) -> Matrix:
    """The vertices of {x: coefficients·x + constant ≥ 0 for every row}, as rows."""
    points = [
        [int(c) / int(g.divisor()) for c in g.coefficients()]
        for g in _polyhedron(rows).minimized_generators()
        if g.is_point()
    ]
    return np.array(points).reshape(-1, dimension)


def _polyhedron(rows: list[tuple[list[Fraction], Fraction]]) -> Any:
    """{x: coefficients·x + constant ≥ 0 for every row}."""
    ppl = _ppl()
    system = ppl.Constraint_System()
    for coefficients, constant in rows:
        scale = lcm(constant.denominator, *(c.denominator for c in coefficients))
        expression = ppl.Linear_Expression([int(c * scale) for c in coefficients], int(constant * scale))
        system.insert(expression >= 0)
    return ppl.C_Polyhedron(system)


def _ppl() -> Any:
    """The library, with the rounding of floats as it was: some builds leave it set upwards for the whole process."""
    try:
        import ppl
    except ImportError as missing:
        raise MissingExtra("pplpy", "paper") from missing
    ctypes.CDLL(None).fesetround(TO_NEAREST)
    return ppl
