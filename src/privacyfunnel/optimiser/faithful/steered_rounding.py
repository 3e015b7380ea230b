"""Steered rounding, for promises that leave no room: every entry goes up or down so that errors of an output cancel.

The errors of an output are those of its limits, Σ_x p_x (D[r, x] − D[r]·p) e_x, and of its marginal, Σ_x p_x e_x. The
entries of frequent values come first, whichever way leaves the smaller error, and those of rare values steer. What
columns lack in the end falls to the most frequent output, whose room is the largest.
"""

from __future__ import annotations

import numpy as np

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.optimiser.faithful.bands import Bands
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.typing import Integers, Matrix, Vector

MARGINAL_WEIGHT = 1e-3
"""The marginal may be off by whole units, limits of ε = 0 by a fraction of one."""


def steered(Q: Matrix, p: Vector, bands: Bands) -> Channel | None:
    """Q[o, x], all positive, as an exact channel; None if the most frequent output has not enough to give."""
    exact = np.ascontiguousarray(Q * UNIT)
    centre = bands.D @ p
    weights = np.vstack([MARGINAL_WEIGHT * p, p * (bands.D - centre[:, None])])
    # What Q itself oversteps is an error to begin with.
    values, mass = exact @ weights.T, exact @ p
    values[:, 0] = 0.0
    for r in range(len(bands)):
        low, high = (_inside((end[r] - centre[r]) * mass) for end in (bands.low, bands.high))
        values[:, 1 + r] -= np.clip(values[:, 1 + r], low, high)
    sizes = np.abs(weights).sum(axis=1)
    sizes[sizes == 0] = 1.0
    sizes[0] = 1.0
    order = np.argsort(-p, kind="stable")
    N = _steer(exact, order, np.ascontiguousarray(weights.T / sizes), np.ascontiguousarray(values / sizes))
    last = order[0]
    N[last] += UNIT - N.sum(axis=0)
    return Channel.from_numerators(N) if N[last].min() >= 0 else None


def _inside(limit: Vector) -> Vector:
    """A limit as far inside as steering may miss it by: a unit, or half of what there is."""
    return np.asarray(np.sign(limit) * np.maximum(np.abs(limit) - 1, np.abs(limit) / 2))


@compiled
def _steer(exact: Matrix, order: Integers, weights: Matrix, errors: Matrix) -> Integers:
    """Integers beside `exact`, row by row; a unit of error at x adds weights[x, k] to errors[o, k]."""
    n, K = len(exact), weights.shape[1]
    N = np.empty(exact.shape, np.int64)
    for o in range(n):
        error = errors[o]
        for x in order:
            down = np.floor(exact[o, x])
            part = exact[o, x] - down
            low, high = 0.0, 0.0
            for k in range(K):
                low += (error[k] - part * weights[x, k]) ** 2
                high += (error[k] + (1.0 - part) * weights[x, k]) ** 2
            step = 1.0 if high < low else 0.0
            N[o, x] = np.int64(down + step)
            for k in range(K):
                error[k] += (step - part) * weights[x, k]
    return N
