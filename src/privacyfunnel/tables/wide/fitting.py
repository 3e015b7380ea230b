"""From noisy marginal tables to a model: shrinking what noise made, then fitting all tables in turn.

All of this works on published numbers, so that it costs no privacy. Tables of pairs are shrunk towards what the single
columns say by chance: a deviation of a cell where e people are expected is kept by the share κ²e²/(κ²e² + noise), κ
being how large deviations are in this table, found from their sum of squares. Then the model with the largest entropy
that has these tables is found by fitting one after the other (iterative proportional fitting) over the laid-out domain.
"""

from __future__ import annotations

import numpy as np

from privacyfunnel.distribution.model import product_size
from privacyfunnel.distribution.pair_model import PairModel, pair_model
from privacyfunnel.errors import InvalidInput
from privacyfunnel.tables.wide.marginals import Marginals, Pair
from privacyfunnel.typing import Matrix, Vector

SWEEPS = 6
"""Through all tables: after five, marginal tables of Adult are met to a thousandth."""
BALANCING = 30
"""Sweeps that give a table of two columns the sums of its single ones."""
LEAST_OF_EXPECTED = 0.02
"""A cell has at least this share of the people that are expected by chance: noise does not rule out combinations."""
LEAST_PEOPLE = 0.5
"""That a value of a column has with each value of the secret."""


def fitted_model(marginals: Marginals) -> PairModel:
    """The model of these tables."""
    product_size(marginals.sizes)
    singles = _singles(marginals)
    sets: list[tuple[int, ...]] = [(j,) for j in range(len(singles))] + list(marginals.pairs)
    targets = [*singles, *(_pair(marginals, singles, pair) for pair in marginals.pairs)]
    return pair_model(marginals.sizes, sets, _factors(marginals.sizes, sets, targets))


def _singles(marginals: Marginals) -> list[Matrix]:
    """For each column, its table from all that hold it, weighed by their noise; none is negative, sums agree."""
    own = [_pooled(marginals, j) for j in range(len(marginals.sizes))]
    totals = np.mean([table.sum(axis=1) for table in own], axis=0)
    totals = np.maximum(totals, 0.0)
    if (totals <= 0).any():
        raise InvalidInput("a value of the secret is too rare to show through the noise; use a larger --private")
    totals *= marginals.people / totals.sum()
    return [np.stack([_on_simplex(row, total) for row, total in zip(table, totals, strict=True)]) for table in own]


def _pooled(marginals: Marginals, j: int) -> Matrix:
    weight = 1 / max(marginals.single_variance, 1.0)
    total, weights = marginals.singles[j] * weight, weight
    for pair, table in marginals.pairs.items():
        if j in pair:
            other = 2 if pair[0] == j else 1
            weight = 1 / (max(marginals.pair_variance, 1.0) * table.shape[other])
            total, weights = total + table.sum(axis=other) * weight, weights + weight
    return np.asarray(total / weights)


def _on_simplex(row: Vector, total: float) -> Vector:
    """The nearest numbers that are not negative and have this sum; then none below LEAST_PEOPLE."""
    ordered = np.sort(row)[::-1]
    over = (np.cumsum(ordered) - total) / np.arange(1, len(row) + 1)
    kept = np.maximum(row - over[np.flatnonzero(ordered > over)[-1]], LEAST_PEOPLE)
    return np.asarray(kept * (total / kept.sum()))


def _pair(marginals: Marginals, singles: list[Matrix], pair: Pair) -> Matrix:
    """The table of a pair, shrunk, with the sums of its single columns."""
    first, second = (singles[j] for j in pair)
    expected = first[:, :, None] * second[:, None, :] / first.sum(axis=1)[:, None, None]
    deviation, noise = marginals.pairs[pair] - expected, marginals.pair_variance
    spread = max(0.0, float((deviation**2 - noise).sum() / (expected**2).sum())) * expected**2
    kept = spread / (spread + noise) if noise else np.ones_like(expected)
    table = np.maximum(expected + kept * deviation, LEAST_OF_EXPECTED * expected)
    for _ in range(BALANCING):
        table *= (first / table.sum(axis=2))[:, :, None]
        table *= (second / table.sum(axis=1))[:, None, :]
    return np.asarray(table)


def _factors(sizes: tuple[int, ...], sets: list[tuple[int, ...]], targets: list[Matrix]) -> list[Matrix]:
    """Positive factors of each table, whose product has these tables as sums, nearly."""
    n_s = len(targets[0])
    factors: list[Matrix] = [np.ones_like(target) for target in targets]
    whole = np.ones((n_s, *sizes))
    for _ in range(SWEEPS):
        for factor, own, target in zip(factors, sets, targets, strict=True):
            others = tuple(j + 1 for j in range(len(sizes)) if j not in own)
            change = target / np.maximum(whole.sum(axis=others), np.finfo(np.float64).tiny)
            factor *= change
            whole *= change.reshape(n_s, *(size if j in own else 1 for j, size in enumerate(sizes)))
    return factors
