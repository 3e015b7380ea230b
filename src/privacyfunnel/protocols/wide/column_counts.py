"""Column counts: how many people have each value of a column, as well as all noisy tables that hold it tell."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.marginals import Marginals
from privacyfunnel.typing import Vector

ROUNDED = 1 / 12
"""The variance that rounding to whole numbers adds."""


@dataclass(frozen=True)
class ColumnCounts:
    """About how many of the people that a model was fitted on have each value of a column, and the noise in that."""

    people: tuple[int, ...]
    variance: float
    """Of the noise of each of these numbers; 0 if there is none."""


def column_counts(marginals: Marginals) -> tuple[ColumnCounts, ...]:
    """For every column, the mean of what its own table and those of its pairs say, weighted by their variances.

    The noise of a table is that of its cells: the sum over the secret and another column has as many times as much. If
    a column's own table is the sum of those of its pairs, weighted in that way already, it says all that they say.
    """
    return tuple(_of(marginals, j) for j in range(len(marginals.sizes)))


def _of(marginals: Marginals, j: int) -> ColumnCounts:
    own = marginals.singles[j]
    found: list[tuple[Vector, float]] = [(own.sum(axis=0).astype(np.float64), len(own) * marginals.single_variances[j])]
    for pair, table in ({} if marginals.summed else marginals.pairs).items():
        if j in pair:
            other = 2 - pair.index(j)  # the axis of the other column, after that of the secret
            cells = len(table) * table.shape[other]
            found.append((table.sum(axis=(0, other)).astype(np.float64), cells * marginals.pair_variance))
    if any(variance == 0 for _, variance in found):
        return ColumnCounts(tuple(np.rint(found[0][0]).astype(int).tolist()), 0.0)
    weight = math.fsum(1 / variance for _, variance in found)
    mean = np.sum([counts / variance for counts, variance in found], axis=0) / weight
    return ColumnCounts(tuple(np.rint(mean).astype(int).tolist()), 1 / weight + ROUNDED)
