"""Smoothed counts: how likely every combination of values is, seen or not, from the people who choose a channel."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.typing import Integers, Matrix

TAUS = tuple(np.geomspace(0.02, 200, 20).tolist())
"""Weights of the model, in multiples of the counts': from hardly any to hardly anything else."""
PASSES = 20
"""Times that all pairs or triples of columns are fitted: more change nothing that a sample could tell."""
PAIRS, TRIPLES = 2, 3
"""Columns that are fitted together; triples have the secret among them."""
SINGLE = 0.5
"""People that are added to each value of each column, as Jeffreys would, so that none is impossible."""
INDEPENDENT = 0.01
"""Of the model, the share of independent columns, so that no combination is impossible either."""


def smoothed(n: Integers, sizes: list[int], rng: np.random.Generator) -> Matrix:
    """p[s, x] = (n[s, x]/n + τ m[s, x]) / (1 + τ), with a log-linear model m of pairs or triples of columns.

    x goes through all combinations of columns with so many values each, in C order, and the secret is one of the
    columns. Model and τ are those of one half of the people that make the other half likeliest.
    """
    half = rng.binomial(n, 0.5)
    other = n - half
    if min(half.sum(), other.sum()) == 0:
        return _mixed(n, _model(n, sizes, PAIRS), TAUS[-1])
    fits = {
        (order, tau): float((other * np.log(_mixed(half, m, tau))).sum())
        for order in (PAIRS, TRIPLES)
        for m in [_model(half, sizes, order)]
        for tau in TAUS
    }
    order, tau = max(fits, key=lambda choice: fits[choice])
    return _mixed(n, _model(n, sizes, order), tau)


def _mixed(n: Integers, m: Matrix, tau: float) -> Matrix:
    return np.asarray((n / n.sum() + tau * m) / (1 + tau))


def _model(n: Integers, sizes: list[int], order: int) -> Matrix:
    """m[s, x]: the counts of all pairs of columns are fitted in turn, or of all triples that hold the secret."""
    shape, people = (len(n), *sizes), n.sum()
    shares = n.reshape(shape) / people
    axes = range(len(shape))

    def summed(array: NDArray[np.float64], over: tuple[int, ...]) -> NDArray[np.float64]:
        return np.asarray(array.sum(axis=tuple(j for j in axes if j not in over), keepdims=True))

    alone = np.ones(shape)
    for j in axes:
        alone = alone * (summed(shares, (j,)) + SINGLE / people) / (1 + SINGLE * shape[j] / people)
    groups = [over for over in combinations(axes, min(order, len(shape))) if order == PAIRS or 0 in over]
    m = alone.copy()
    for _ in range(PASSES):
        for over in groups:
            have = summed(m, over)
            m = m * np.divide(summed(shares, over), have, out=np.zeros_like(have), where=have > 0)
    whole = float(m.sum())
    m = m / whole if whole > 0 else alone
    return np.asarray(((1 - INDEPENDENT) * m + INDEPENDENT * alone).reshape(len(n), -1))
