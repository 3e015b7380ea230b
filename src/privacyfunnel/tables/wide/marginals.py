"""Marginal tables: counts of the secret with one column and with two, with Laplace noise, and which pairs are counted.

Three measurements, each ε-private for one changed row, whose ε add up to ε₀ (proof: docs/wide.md):

1. the tables (s, x_j) of all columns, each with discrete Laplace noise;
2. which pairs of columns: round by round the pair whose table differs most, in L1, from what the tables of step 1 say
   (whole numbers), plus discrete Laplace noise; one changed row moves each of these distances by at most 2;
3. the tables (s, x_i, x_j) of the chosen pairs, with noise.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.drawing.laplace import noised_in_part
from privacyfunnel.tables.public_part import secret_numbers, secret_values
from privacyfunnel.typing import Integers, Matrix

Pair = tuple[int, int]
FOR_COLUMNS = 0.3
"""Of ε₀, for the tables of single columns: with 0.1, noise hid who of a rare value has the secret (docs/wide.md)."""
FOR_CHOICE = 0.05
"""Of ε₀, for choosing pairs, where there are more than are counted."""
ROUNDINGS = 1e-12
"""Of ε₀, left unspent: far more than adding up its parts in float64 can be off."""
PAIRS_EACH = 1.75
"""Chosen pairs for each column. Measured on Adult with eight columns at ε₀ = 1: docs/wide.md."""


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


def counted(joint: Joint, columns: tuple[int, ...]) -> Integers:
    """How many people have each value that the secret may have with each combination of these columns' values."""
    sizes = [len(joint.columns[j]) for j in columns]
    place = np.ravel_multi_index(tuple(joint.codes[:, j] for j in columns), sizes)
    table = np.zeros((len(secret_values(joint)), int(np.prod(sizes))), dtype=np.int64)
    for s, row in zip(secret_numbers(joint).tolist(), joint.weights, strict=True):
        np.add.at(table[s], place, row.astype(np.int64))
    return table.reshape(len(table), *sizes)


def exact_marginals(joint: Joint) -> Marginals:
    """All of them without noise: for research."""
    sizes = tuple(len(column) for column in joint.columns)
    singles = tuple(counted(joint, (j,)) for j in range(len(sizes)))
    pairs = {pair: counted(joint, pair) for pair in itertools.combinations(range(len(sizes)), 2)}
    return Marginals(joint.total, sizes, singles, pairs, (0.0,) * len(sizes), 0.0)


def private_marginals(joint: Joint, epsilon: float) -> Marginals:
    """The three measurements, together ε-differentially private for one changed row."""
    sizes, epsilon = tuple(len(column) for column in joint.columns), epsilon * (1 - ROUNDINGS)
    every = list(itertools.combinations(range(len(sizes)), 2))
    number, each, for_choice, for_pair = _parts(len(sizes), epsilon)
    singles = tuple(noised_in_part(counted(joint, (j,)), each) for j in range(len(sizes)))
    chosen = every if not for_choice else chosen_pairs(joint, singles, every, number, for_choice)
    pairs = {pair: noised_in_part(counted(joint, pair), for_pair) for pair in sorted(chosen)}
    variances = (laplace_variance(each),) * len(sizes), laplace_variance(for_pair) if pairs else 0.0
    return Marginals(joint.total, sizes, singles, pairs, *variances)


def laplace_variance_of_pairs(columns: int, epsilon: float) -> float:
    """Of the noise of what says most of so many columns: tables of pairs, or that of the only column."""
    number, each, _, for_pair = _parts(columns, epsilon)
    return laplace_variance(for_pair if number else each)


def _parts(columns: int, epsilon: float) -> tuple[int, float, float, float]:
    """How many pairs are counted; and ε of each single column's table, of choosing pairs, and of each pair's table."""
    every = math.comb(columns, 2)
    number = min(every, round(PAIRS_EACH * columns))
    for_columns = FOR_COLUMNS * epsilon if every else epsilon
    for_choice = FOR_CHOICE * epsilon if number < every else 0.0
    return number, for_columns / columns, for_choice, (epsilon - for_columns - for_choice) / max(1, number)


def chosen_pairs(
    joint: Joint, singles: tuple[Integers, ...], every: list[Pair], number: int, epsilon: float
) -> list[Pair]:
    """The pairs that the tables of single columns describe worst, by noisy maxima; ε-private in all.

    Of counts plus noise with P(z) ∝ e^(−|z|/scale), which of them is largest is (2Δ/scale)-private if one row moves
    each count by at most Δ. `noised_in_part` with ε has the scale 2/ε, so Δ = 2 asks for noise of ε/2 in a round of ε.
    """
    left, chosen = list(every), []
    distances = {pair: distance_from_independence(joint, singles, pair) for pair in every}
    for _ in range(number):
        noisy = noised_in_part(np.array([distances[pair] for pair in left], dtype=np.int64), epsilon / number / 2)
        chosen.append(left.pop(int(np.argmax(noisy))))
    return chosen


def distance_from_independence(joint: Joint, singles: tuple[Integers, ...], pair: Pair) -> int:
    """Σ |N(s, a, b) − N̂(s, a, b)|, N̂ the whole numbers that noisy tables of single columns give by chance."""
    return int(np.abs(counted(joint, pair) - independent(singles[pair[0]], singles[pair[1]])).sum())


def independent(first: Integers, second: Integers) -> Integers:
    """Whole numbers near N(s)·P(a|s)·P(b|s)."""
    a, b = (np.maximum(table, 0) + 0.5 for table in (first, second))
    totals = (a.sum(axis=1) + b.sum(axis=1)) / 2
    expected: Matrix = (a / a.sum(axis=1, keepdims=True))[:, :, None] * (b / b.sum(axis=1, keepdims=True))[:, None, :]
    return np.asarray(np.rint(totals[:, None, None] * expected), dtype=np.int64)


def laplace_variance(epsilon: float) -> float:
    """Of discrete Laplace noise of the scale 2/ε: 2q/(1 − q)² with q = e^(−ε/2)."""
    q = float(np.exp(-epsilon / 2))
    return 2 * q / (1 - q) ** 2
