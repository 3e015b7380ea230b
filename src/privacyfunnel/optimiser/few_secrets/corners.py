"""Three coordinates, two but for the mass: extreme posteriors of three values are the triangles around a corner.

Relative to a corner of what is allowed, every value x is a point D[x] of the plane, and a mixture of three values lies
at the corner exactly if it is within their triangle. The masses are then in proportion to the areas that the corner
makes with the other two: v = (M[j, k], M[k, i], M[i, j]) / T with M[i, j] = D[i] × D[j] and T for the sum of them, and
H(v) − y·v = ln T − (Σ m ln m + Σ y m) / T over the three areas m. In the order of their directions the third values
that fit two others are neighbours, so that no other triangle is looked at, and an area serves all its triangles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.optimiser.few_secrets.judging import Boards, SweepTask, judged, reconsidered
from privacyfunnel.optimiser.program.state import VERTEX_ERROR
from privacyfunnel.optimiser.program.supports import HALF_ULP
from privacyfunnel.typing import Integers, Matrix, Vector

MOST_TURNED = 1e-6
"""Directions, in radians, that may be wrong by more than this do not put values into an order."""
ROUGHLY = 1e-7
"""Masses that are wrong by less than this tell whether a posterior may matter; if it does, it is looked at again."""
AT_ONCE = 64
"""Third values that are looked at together: if one of them may matter, all are looked at again, one by one."""
LN_2 = math.log(2)
"""So much a logarithm grows with every power of 2."""
FRACTION, ONE, BIAS, DIGITS = (1 << 52) - 1, 1023 << 52, 1023, 52
"""A float64 is fraction·2^exponent with 1 ≤ fraction < 2, and this is where its bits have these."""
ABOUT = (-1.4819, 2.08717856, -0.71172693, 0.10584377)
"""Coefficients of a polynomial that is below ln m for 1 ≤ m ≤ 2, by at most 0.002."""


@dataclass(frozen=True, eq=False)
class Corner:
    """The values around one corner, in the order of their directions."""

    order: Integers
    D: Matrix
    angle: Vector
    tight: Integers
    """The rows that are tight at the corner."""
    error: float
    """How wrong an area may be."""
    turned: float
    """How wrong the angle between two values may be."""

    @classmethod
    def at(cls, point: Vector, U: Matrix, doubt: Vector, tight: Integers) -> Corner | None:
        """U[x] and the point are (1, two coordinates), wrong by `doubt`; None where directions are not certain."""
        D = U[:, 1:] - point[1:]
        R = np.abs(D).max(axis=0)
        e = 2 * doubt[1:] + 2 * HALF_ULP * R
        error = 2 * (R[0] * e[1] + R[1] * e[0] + e[0] * e[1]) + 8 * HALF_ULP * R[0] * R[1]
        distance = float(np.hypot(D[:, 0], D[:, 1]).min())
        if distance <= 0 or 2 * float(np.hypot(*e)) > MOST_TURNED * distance:
            return None
        angle = np.arctan2(D[:, 1], D[:, 0])
        order = np.argsort(angle, kind="stable")
        turned = 2 * float(np.hypot(*e)) / distance + 16 * HALF_ULP * math.pi
        return cls(order, np.ascontiguousarray(D[order]), angle[order], tight, float(error), turned)

    def sweep(self, part: int, parts: int, task: SweepTask, boards: Boards) -> None:
        """Remember H(v) − y·v of the posteriors at the corner, for one of so many parts of all first values."""
        M, E = _areas(self.D)
        doubt = 4 * ROUGHLY * (float(np.abs(task.y).max()) - math.log(ROUGHLY))
        triangles = _Triangles(self.order, self.angle, self.turned, M, E, self.tight, self.error, doubt)
        _sweep(part, parts, triangles, task, boards)


class _Triangles(NamedTuple):
    """Values in the order of their directions, and the areas M[i, j] of two of them with the corner; E = |M| ln |M|."""

    order: Integers
    angle: Vector
    turned: float
    M: Matrix
    E: Matrix
    tight: Integers
    error: float
    doubt: float
    """How wrong the cost of a triangle of more than 4·error / ROUGHLY may be."""


@compiled
def _areas(D: Matrix) -> tuple[Matrix, Matrix]:
    """M[i, j] = D[i] × D[j], and E = |M| ln |M|."""
    n = len(D)
    M, E = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            m = D[i, 0] * D[j, 1] - D[i, 1] * D[j, 0]
            M[i, j], M[j, i] = m, -m
            if m != 0:
                E[i, j] = E[j, i] = abs(m) * math.log(abs(m))
    return M, E


@compiled
def _sweep(part: int, parts: int, triangles: _Triangles, task: SweepTask, boards: Boards) -> None:
    """`Corner.sweep`: i < j < k in the order of directions, and from each to the next at most half a turn."""
    order, angle, M, E = triangles.order, triangles.angle, triangles.M, triangles.E
    turned, error, doubt = triangles.turned, triangles.error, triangles.doubt
    n = len(order)
    y, cut = task.y[order], np.empty(n)
    for place in range(n):
        cut[place] = min(task.ceiling, boards.best[order[place], -1]) + doubt
    for i in range(part, n, parts):
        low = np.searchsorted(angle, angle[i] + math.pi - turned)
        high = low
        for j in range(i + 1, n):
            if angle[j] > angle[i] + math.pi + turned:
                break
            while high < n and angle[high] <= angle[j] + math.pi + turned:
                high += 1
            for start in range(max(low, j + 1), high, AT_ONCE):
                end = min(high, start + AT_ONCE)
                two = (M[i, j], E[i, j], y[i], y[j], max(cut[i], cut[j]), 4 * error / ROUGHLY)
                areas = (M[i, start:end], M[j, start:end], E[i, start:end], E[j, start:end])
                if _may_matter(two, areas, y[start:end], cut[start:end]):
                    for k in range(start, end):
                        if _matters(i, j, k, triangles, y, cut):
                            _look(i, j, k, triangles, cut, task, boards)


@compiled
def _may_matter(
    two: tuple[float, float, float, float, float, float],
    areas: tuple[Vector, Vector, Vector, Vector],
    y: Vector,
    cut: Vector,
) -> bool:
    """Whether one of some third values may cost less than is known, or is not certain; without a logarithm."""
    m_k, of_m_k, y_i, y_j, most, rough = two
    Mi, Mj, Ei, Ej = areas
    found = 0
    for k in range(len(Mi)):
        m_i, m_j = Mj[k], -Mi[k]
        T = m_k + m_i + m_j
        total = of_m_k + Ej[k] + Ei[k] + y[k] * m_k + y_i * m_i + y_j * m_j
        bits = np.float64(T).view(np.int64)
        m = np.int64((bits & FRACTION) | ONE).view(np.float64)
        about = ((bits >> DIGITS) - BIAS) * LN_2 + (ABOUT[0] + m * (ABOUT[1] + m * (ABOUT[2] + m * ABOUT[3])))
        found += ((about - max(most, cut[k])) * T < total) | (rough >= T)
    return found > 0


@compiled
def _matters(i: int, j: int, k: int, triangles: _Triangles, y: Vector, cut: Vector) -> bool:
    """The same for one third value, with a logarithm."""
    M, E, error = triangles.M, triangles.E, triangles.error
    m_i, m_j, m_k = M[j, k], -M[i, k], M[i, j]
    T = m_i + m_j + m_k
    if min(m_i, m_j, m_k) < -error:
        return False
    if 4 * error / ROUGHLY >= T:
        return True
    total = E[i, j] + E[j, k] + E[i, k] + y[k] * m_k + y[i] * m_i + y[j] * m_j
    return bool(math.log(T) - total / T < max(cut[i], cut[j], cut[k]))


@compiled
def _look(i: int, j: int, k: int, triangles: _Triangles, cut: Vector, task: SweepTask, boards: Boards) -> None:
    """One triangle, with all its errors."""
    M, order, error = triangles.M, triangles.order, triangles.error
    support, v = np.array([order[i], order[j], order[k]]), np.array([M[j, k], -M[i, k], M[i, j]])
    T = v.sum()
    if v.min() > error and 4 * error <= VERTEX_ERROR * T:
        judged(support, v / T, task, boards)
    else:
        reconsidered(support, triangles.tight, v, task, boards)
    for place in (i, j, k):
        cut[place] = min(task.ceiling, boards.best[order[place], -1]) + triangles.doubt
