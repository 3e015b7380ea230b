"""All pairs of columns, counted with Gaussian noise: K tables cost √K in noise, and not K as by Laplace noise.

So nothing is spent on choosing pairs, and nothing on tables of single columns: sums of the tables of pairs are as near
to these. Proof of ε₀ and δ₀: docs/wide.md.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from privacyfunnel.distribution.gaussian import GaussianNoise, noise_for
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.drawing.gaussian import gaussian_noised
from privacyfunnel.tables.wide.marginals import Marginals, Pair, counted, laplace_variance_of_pairs
from privacyfunnel.typing import Integers

USUAL_DELTA = 1e-6
"""δ₀, unless another is asked for."""


def noise_on_pairs(
    columns: int, epsilon: float, delta: float | None, level: float, spent: float
) -> GaussianNoise | None:
    """Gaussian noise for all pairs of so many columns; None if it is to be Laplace noise.

    That is with δ₀ = 0, and with any where not said otherwise and pairs have less noise that way: with few columns.
    """
    if delta == 0:
        return None
    tables = max(1, math.comb(columns, 2))
    if delta is not None:
        return noise_for(tables, epsilon, delta, level, spent)
    usual = noise_for(tables, epsilon, USUAL_DELTA, level, spent)
    return usual if usual.variance < laplace_variance_of_pairs(columns, epsilon - spent) else None


def gaussian_marginals(joint: Joint, noise: GaussianNoise) -> Marginals:
    """The tables of all pairs with this noise, and those of single columns that follow from them."""
    sizes = tuple(len(column) for column in joint.columns)
    if len(sizes) == 1:
        only = gaussian_noised(counted(joint, (0,)), noise.sigma)
        return Marginals(joint.total, sizes, (only,), {}, (noise.variance,), 0.0)
    every = itertools.combinations(range(len(sizes)), 2)
    pairs = {pair: gaussian_noised(counted(joint, pair), noise.sigma) for pair in every}
    singles, variances = zip(*(_summed(pairs, j, noise.variance) for j in range(len(sizes))), strict=True)
    return Marginals(joint.total, sizes, singles, pairs, variances, noise.variance, summed=True)


def _summed(pairs: dict[Pair, Integers], j: int, variance: float) -> tuple[Integers, float]:
    """The table (s, x_j): the mean of its pairs' sums over the other column, each weighted by 1 / its variance."""
    axes = {pair: 2 - pair.index(j) for pair in pairs if j in pair}  # of the other column, after that of the secret
    weights = {pair: 1 / (pairs[pair].shape[axis] * variance) for pair, axis in axes.items()}
    whole = math.fsum(weights.values())
    mean = np.sum([weights[pair] * pairs[pair].sum(axis=axis) for pair, axis in axes.items()], axis=0) / whole
    return np.rint(mean).astype(np.int64), 1 / whole
