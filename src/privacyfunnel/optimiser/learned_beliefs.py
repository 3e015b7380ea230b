"""What an attacker believes of a secret who learned from released rows of people whose secrets they know.

Main effects first: a logistic regression of "has the secret s" on the released values, ln(μ/(1−μ)) = β₀ + Σ_j β_j(y_j),
with a standard normal prior on each β_j. Then what rows with all the same values say: belief = (k + F μ) / (n + F) if k
of the n people released as y have s, so that outputs with few people are judged by others that are like them.
"""

from __future__ import annotations

import numpy as np

from privacyfunnel.typing import Integers, Matrix, Vector

FEW = 10.0
"""F, in people: an attacker believes an output with so many half as much as all that are like it."""
STEPS = 12
"""Of Newton's method, which has settled by then to a digit or two."""
MOST_EFFECTS = 600
"""Values of all columns together: with more, single outputs alone are learned from."""
LARGEST = 30.0
"""A log-odds beyond this is certainty."""
RIDGE = 1e-9
"""Of all people, in the curvature of the constant, which would be singular where everybody is taken for certain."""


def beliefs(learned: Matrix, codes: Integers) -> Matrix:
    """belief[s, y] of one who knows of learned[s, y] people released as output y, which has the values codes[y, j]."""
    rows, mean = learned.sum(axis=0), _shares(learned)
    first = np.cumsum([0, *(codes.max(axis=0) + 1)])
    effects = codes + first[:-1]
    if first[-1] <= MOST_EFFECTS:
        mean = np.stack([_main_effects(own, rows, effects, int(first[-1])) for own in learned])
    return np.asarray((learned + FEW * mean) / (rows + FEW))


def _shares(learned: Matrix) -> Matrix:
    """P(s), for every output."""
    prior = learned.sum(axis=1) / max(1.0, float(learned.sum()))
    return np.repeat(prior[:, None], learned.shape[1], axis=1)


def _main_effects(own: Vector, rows: Vector, effects: Integers, size: int) -> Vector:
    """μ[y]: the logistic regression of own[y] of rows[y] people on the values effects[y, j] < size."""
    total = float(rows.sum())
    if not 0 < own.sum() < total:
        return np.full(len(rows), own.sum() / max(1.0, total))
    places = np.column_stack([np.full(len(rows), size), effects])  # the constant comes last
    beta = np.zeros(size + 1)
    beta[size] = np.log(own.sum() / (total - own.sum()))
    prior = np.ones(size + 1)
    prior[size] = 0.0
    pairs = (places[:, :, None] * (size + 1) + places[:, None, :]).reshape(len(rows), -1)
    for _ in range(STEPS):
        mean = _logistic(beta[places].sum(axis=1))
        slope = -prior * beta
        slope += _summed(places, own - rows * mean, size + 1)
        curve = _summed(pairs, rows * mean * (1 - mean), (size + 1) ** 2).reshape(size + 1, -1) + np.diag(prior)
        curve[size, size] += RIDGE * total
        beta = np.clip(beta + np.linalg.solve(curve, slope), -LARGEST, LARGEST)
    return _logistic(beta[places].sum(axis=1))


def _logistic(odds: Vector) -> Vector:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -LARGEST, LARGEST))))


def _summed(places: Integers, values: Vector, size: int) -> Vector:
    """Σ of values[y] over the places[y, :]."""
    spread = np.broadcast_to(values[:, None], places.shape)
    return np.bincount(places.ravel(), weights=spread.ravel(), minlength=size).astype(np.float64)
