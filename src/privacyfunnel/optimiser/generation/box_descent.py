"""Descents to vertices of Δ that are local minima of r(v) = H(v) − y·v, compiled: small problems ask for thousands."""

from __future__ import annotations

import math

import numpy as np

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.optimiser.generation.box_simplex import minimise, refresh
from privacyfunnel.optimiser.program.tolerances import FLOOR, IMPROVES, OVERSTEPS, REFRESH, STEPS
from privacyfunnel.typing import Integers, Matrix, Vector


@compiled(reorder_sums=True)
def descents(
    A: Matrix,
    low: Vector,
    high: Vector,
    y: Vector,
    starts: Matrix,
    T: Matrix,
    basic: Integers,
    outside: Integers,
    x: Vector,
) -> tuple[Matrix, Vector]:
    """From each of the starts, the vertex of low ≤ (v, A v) ≤ high that is reached, and r there.

    r is concave, so it lies below its linearisation, whose least vertex is the next point. Where no vertex was reached,
    r is infinite.
    """
    n = A.shape[1]
    ends, values = starts.copy(), np.full(len(starts), np.inf)
    cost = np.empty(n)
    for k in range(len(starts)):
        if k % REFRESH == 0:
            refresh(A, T, basic, outside)
        v = ends[k]
        for _ in range(STEPS):
            for j in range(n):
                cost[j] = -math.log(max(v[j], FLOOR)) - y[j]
            minimise(cost, low, high, np.inf, T, basic, outside, x)
            met = True
            for i in range(len(x)):
                if not (low[i] - OVERSTEPS <= x[i] <= high[i] + OVERSTEPS):
                    met = False
            if not met:
                break
            value = 0.0
            for j in range(n):
                if x[j] > 0:
                    value -= x[j] * (math.log(x[j]) + y[j])
            if value >= values[k] - IMPROVES:
                break
            values[k] = value
            for j in range(n):
                v[j] = max(x[j], 0.0)
    return ends, values
