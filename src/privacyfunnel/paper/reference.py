"""The paper's two optimisers, by vertex enumeration: for tests and benchmarks only.

LDP: all vertices of Γ, the a(a−1)-dimensional polytope of channels (its Theorem 2); I(X;Y) is convex
in the channel, so the best vertex is the best protocol. LIP: all vertices of Δ, then a linear program
(its Theorem 3). Vertices come from the Parma Polyhedra Library, in rational arithmetic.
"""

from __future__ import annotations

import ctypes
from fractions import Fraction
from math import exp, lcm
from typing import Any

import numpy as np

from privacyfunnel.errors import MissingExtra
from privacyfunnel.information import entropy, mutual_information
from privacyfunnel.joint import Joint
from privacyfunnel.typing import Matrix

TO_NEAREST = 0
"""FE_TONEAREST of the C library."""
DENOMINATOR = 10**12
"""Probabilities and e^ε are rounded to rationals of about this denominator before enumeration."""


def best_ldp(joint: Joint, epsilon: float) -> tuple[Matrix, float]:
    """The ε-LDP channel Q[y, x] with the largest I(X;Y), and that I(X;Y); b = a outputs.

    The last output is what the others leave, so that Γ has its full dimension a(a−1).
    """
    a, bound = joint.n_x, _rational(exp(epsilon))
    given = [[_rational(p) for p in row] for row in joint.p_x_given_s]
    rows: list[tuple[list[Fraction], Fraction]] = []  # coefficients·Q + constant ≥ 0
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

    for y in range(a):
        for x in range(a):
            rows.append(output(y, [Fraction(int(k == x)) for k in range(a)]))
        for s, one in enumerate(given):
            for t, other in enumerate(given):
                if s != t:
                    rows.append(output(y, [bound * q - p for p, q in zip(one, other, strict=True)]))
    vertices = _vertices(rows, free).reshape(-1, a - 1, a)
    best, utility = np.ones((1, a)), -1.0
    for vertex in vertices:
        Q = np.vstack([vertex, 1 - vertex.sum(axis=0)]).clip(0)
        kept = mutual_information(Q * joint.p_x)
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
    ppl = _ppl()
    system = ppl.Constraint_System()
    for coefficients, constant in rows:
        scale = lcm(constant.denominator, *(c.denominator for c in coefficients))
        expression = ppl.Linear_Expression([int(c * scale) for c in coefficients], int(constant * scale))
        system.insert(expression >= 0)
    polyhedron = ppl.C_Polyhedron(system)
    return np.array(
        [
            [int(c) / int(g.divisor()) for c in g.coefficients()]
            for g in polyhedron.minimized_generators()
            if g.is_point()
        ]
    ).reshape(-1, dimension)


def _ppl() -> Any:
    """The library, with the rounding of floats as it was: some builds leave it set upwards for the whole process."""
    try:
        import ppl
    except ImportError as missing:
        raise MissingExtra("pplpy", "paper") from missing
    ctypes.CDLL(None).fesetround(TO_NEAREST)
    return ppl
