"""Merging along columns: rare values that agree in some columns are decided together.

The channel is constant on a merged group c, so the masses of its values stay in the proportion w[x] = w[c]·P(x|c). Rows
of the fine table become rows of groups, Σ_x G[·, x] P(x|c): attackers are still taken to know every column as it is.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from privacyfunnel.numeric.information import entropy
from privacyfunnel.typing import Integers, Vector

MOST_COLUMNS = 8
"""All choices of columns to merge along are looked at for so many (256); with more, those that leave out up to two or
keep up to two."""


def merged(codes: Integers, mass: Vector, most: int) -> Integers:
    """The group of each value with these codes in every column: at most so many groups, which tell the most.

    Values are in one group if they agree in the columns K, for the K whose groups have the largest entropy. With K
    empty, all are in one.
    """
    best, told = np.zeros(len(codes), dtype=np.int64), 0.0
    for kept in _choices(codes.shape[1]):
        group = _agreeing(codes[:, kept])
        if group.max() < most:
            shares = np.bincount(group, weights=mass) / mass.sum()
            if (now := float(entropy(shares))) > told:
                best, told = group, now
    return best


def _choices(columns: int) -> list[list[int]]:
    """Columns in which values are to agree; a whole one is merged where it is left out."""
    sizes = range(1, columns + 1)
    if columns > MOST_COLUMNS:
        sizes = [1, 2, columns - 2, columns - 1, columns]
    return [list(kept) for size in sizes for kept in combinations(range(columns), size)]


def _agreeing(codes: Integers) -> Integers:
    """Rows numbered from 0, equal ones alike."""
    group = np.zeros(len(codes), dtype=np.int64)
    for column in codes.T:
        group = np.unique(group * (int(column.max()) + 1) + column, return_inverse=True)[1].ravel()
    return group
