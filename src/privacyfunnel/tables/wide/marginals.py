"""Marginal tables: counts of the secret with one column and with two, with Laplace noise, and which pairs are counted.

Three measurements, each ε-private for one changed row, whose ε add up to ε₀ (proof: docs/theory.md):

1. the tables (s, x_j) of all columns, each with discrete Laplace noise;
2. which pairs of columns: round by round the pair whose table differs most, in L1, from what the tables of step 1 say
   (whole numbers), plus discrete Laplace noise; one changed row moves each of these distances by at most 2;
3. the tables (s, x_i, x_j) of the chosen pairs, with noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.laplace_split import LaplaceSplit
from privacyfunnel.distribution.marginals import Marginals, Own, Pair, all_pairs, all_tables
from privacyfunnel.drawing.laplace import noised_in_part
from privacyfunnel.tables.public_part import secret_numbers, secret_values
from privacyfunnel.typing import Integers, Matrix


def counted(joint: Joint, columns: tuple[int, ...]) -> Integers:
    """How many people have each value that the secret may have with each combination of these columns' values."""
    sizes = [len(joint.columns[j]) for j in columns]
    place = np.ravel_multi_index(tuple(joint.codes[:, j] for j in columns), sizes)
    table = np.zeros((len(secret_values(joint)), int(np.prod(sizes))), dtype=np.int64)
    for s, row in zip(secret_numbers(joint).tolist(), joint.weights, strict=True):
        np.add.at(table[s], place, row.astype(np.int64))
    return table.reshape(len(table), *sizes)


def exact_marginals(joint: Joint) -> Marginals:
    """All pairs without noise: for research."""
    sizes = tuple(len(column) for column in joint.columns)
    return Marginals.of(joint.total, sizes, {own: counted(joint, own) for own in all_tables(len(sizes))}, 0.0, 0.0)


def private_marginals(joint: Joint, epsilon: float) -> Marginals:
    """The three measurements, together ε-differentially private for one changed row."""
    sizes = tuple(len(column) for column in joint.columns)
    every, split = all_pairs(len(sizes)), LaplaceSplit.of(len(sizes), epsilon)
    singles = [noised_in_part(counted(joint, (j,)), split.for_single) for j in range(len(sizes))]
    chosen = every if not split.for_choice else chosen_pairs(joint, singles, every, split.pairs, split.for_choice)
    drawn: dict[Own, Integers] = {(j,): table for j, table in enumerate(singles)}
    for pair in sorted(chosen):
        drawn[pair] = noised_in_part(counted(joint, pair), split.for_pair)
    return Marginals.of(joint.total, sizes, drawn, *split.variances)


def chosen_pairs(
    joint: Joint, singles: Sequence[Integers], every: list[Pair], number: int, epsilon: float
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


def distance_from_independence(joint: Joint, singles: Sequence[Integers], pair: Pair) -> int:
    """Σ |N(s, a, b) − N̂(s, a, b)|, N̂ the whole numbers that noisy tables of single columns give by chance."""
    return int(np.abs(counted(joint, pair) - independent(singles[pair[0]], singles[pair[1]])).sum())


def independent(first: Integers, second: Integers) -> Integers:
    """Whole numbers near N(s)·P(a|s)·P(b|s)."""
    a, b = (np.maximum(table, 0) + 0.5 for table in (first, second))
    totals = (a.sum(axis=1) + b.sum(axis=1)) / 2
    expected: Matrix = (a / a.sum(axis=1, keepdims=True))[:, :, None] * (b / b.sum(axis=1, keepdims=True))[:, None, :]
    return np.asarray(np.rint(totals[:, None, None] * expected), dtype=np.int64)
