"""Marginals: counts of the secret with one column and with two, which a model is made of, and the noise in them.

What was counted is drawn with noise of its own. Where single columns were not, their tables follow from those of pairs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from privacyfunnel.typing import Integers

Pair = tuple[int, int]
Own = tuple[int, ...]
"""The columns of a table, one or two, in increasing order."""


@dataclass(frozen=True, eq=False)
class Marginals:
    """Counts singles[j][s, a] and pairs[i, j][s, a, b], and the variances of the noise of their cells."""

    people: int
    sizes: tuple[int, ...]
    singles: tuple[Integers, ...]
    pairs: dict[Pair, Integers]
    single_variances: tuple[float, ...]
    """Of each column's own table."""
    pair_variance: float
    summed: bool = False
    """Whether the tables of single columns are sums of those of pairs, and have no noise of their own."""

    @classmethod
    def of(
        cls, people: int, sizes: tuple[int, ...], drawn: Mapping[Own, Integers], single: float, pair: float
    ) -> Marginals:
        """Tables as they were drawn, of every single column or of every pair at least, with these variances."""
        pairs = {(own[0], own[1]): table for own, table in drawn.items() if len(own) > 1}
        if all((j,) in drawn for j in range(len(sizes))):
            singles = tuple(drawn[(j,)] for j in range(len(sizes)))
            return cls(people, sizes, singles, pairs, (single,) * len(sizes), pair)
        singles, variances = zip(*(_summed(pairs, j, pair) for j in range(len(sizes))), strict=True)
        return cls(people, sizes, singles, pairs, variances, pair, summed=True)

    @property
    def drawn(self) -> dict[Own, Integers]:
        """The tables that have noise of their own."""
        found: dict[Own, Integers] = {} if self.summed else {(j,): table for j, table in enumerate(self.singles)}
        for pair, table in self.pairs.items():
            found[pair] = table
        return found

    def variance(self, own: Own) -> float:
        """Of the noise in a cell of a table."""
        return self.pair_variance if len(own) > 1 else self.single_variances[own[0]]


def all_pairs(columns: int) -> list[Pair]:
    """Every two of so many columns."""
    return list(itertools.combinations(range(columns), 2))


def all_tables(columns: int) -> list[Own]:
    """Tables that tell of everything that two columns can: all pairs, or that of the only column."""
    return list(all_pairs(columns)) or [(0,)]


def _summed(pairs: dict[Pair, Integers], j: int, variance: float) -> tuple[Integers, float]:
    """The table (s, x_j): the mean of its pairs' sums over the other column, each weighted by 1 / its variance."""
    axes = {pair: 2 - pair.index(j) for pair in pairs if j in pair}  # of the other column, after that of the secret
    weights = {pair: 1 / pairs[pair].shape[axis] for pair, axis in axes.items()}
    whole = math.fsum(weights.values())
    mean = np.sum([weights[pair] * pairs[pair].sum(axis=axis) for pair, axis in axes.items()], axis=0) / whole
    return np.rint(mean).astype(np.int64), variance / whole
