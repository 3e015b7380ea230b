"""Shrinking: conditional probabilities from a noisy table, pulled towards those that need fewer cells.

M[a, v] are noisy counts with variance s² of people with parents a and value v, N[a] their sums, and p[a, v] what is
expected with one parent fewer. If P(v | a) has mean p and variance θ p, the best guess of the deviation d = M − N p is

    λ d,   λ = N² θ p / (N² θ p + s²),   θ = max(0, Σ (d² − s²) / Σ N² p),

with θ so estimated from the whole table (empirical Bayes). What is below 0 then is 0, which would make rare values too
frequent; so the whole is raked: in turn, each v and each a is given its people. No people are here but those in noisy
counts.
"""

from __future__ import annotations

import math

import numpy as np

from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.typing import Integers, Matrix, Vector

RAKINGS = 30
"""Rounds of raking: what is left after them is far below the noise."""
LEAST = 1e-12
"""Below this a sum of people is none."""
FAR = 4.0
"""Standard deviations of noise on a cell at the end of a range that has no end: one with fewer people is read as empty,
since one that noise made up would spoil every mean."""


def nearest_counts(counts: Vector, people: float) -> Vector:
    """max(counts − t, 0) with the sum `people`: the nearest counts that are not negative."""
    falling = np.sort(counts)[::-1]
    above, k = np.cumsum(falling), np.arange(1, falling.size + 1)
    last = int(np.flatnonzero(falling * k > above - people)[-1])
    return np.asarray(np.maximum(counts - (above[last] - people) / (last + 1), 0.0))


def shrunk(table: Vector, alone: Vector, variance: float, people: int) -> Matrix:
    """P(v | a) for all combinations a of the parents, from a noisy table with v last, one parent after the other."""
    shape, size = table.shape[:-1], table.shape[-1]
    chances: Matrix = (alone / alone.sum())[None, :]
    for k in range(1, len(shape) + 1):
        part = table.sum(axis=tuple(range(k, len(shape)))).reshape(-1, size)
        chances = _towards(part, np.repeat(chances, shape[k - 1], axis=0), variance * math.prod(shape[k:]), people)
        chances = raked(chances, nearest_counts(part.sum(axis=1), people), alone)
    return chances


def raked(chances: Matrix, given: Vector, alone: Vector) -> Matrix:
    """P(v | a) moved as little as can be so that P(v) = Σ_a P(a) P(v | a), for given[a] and alone[v] people.

    >>> raked(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([1.0, 1.0]), np.array([3.0, 1.0])).tolist()
    [[0.75, 0.25], [0.75, 0.25]]
    """
    share, wanted = given / given.sum(), alone / alone.sum()
    for _ in range(RAKINGS):
        have = share @ chances
        chances = chances * np.where(have > LEAST, wanted / np.maximum(have, LEAST), 1.0)
        total = chances.sum(axis=1, keepdims=True)
        chances = np.where(total > LEAST, chances / np.maximum(total, LEAST), wanted)
    return np.asarray(chances)


def _towards(table: Matrix, expected: Matrix, variance: float, people: int) -> Matrix:
    counts = nearest_counts(table.sum(axis=1), people)[:, None]
    deviation = table - counts * expected
    scale = float((counts**2 * expected).sum())
    theta = max(0.0, float((deviation**2 - variance).sum()) / scale) if scale > 0 else 0.0
    signal = counts**2 * theta * expected
    found = np.maximum(counts * expected + signal / (signal + variance) * deviation, 0.0)
    total = found.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > LEAST, found / np.maximum(total, LEAST), expected))


def within_codes(codes: Integers, widths: Vector, counts: Vector) -> Integers:
    """2³²·P(k | code of k) of cells k by their counts, or of the narrowest cells of a code that counts nobody."""
    found = np.zeros(len(codes), dtype=np.int64)
    for code in np.unique(codes).tolist():
        own = np.flatnonzero(codes == code)
        counted, width = counts[own], widths[own]
        chances = counted if counted.sum() > 0 else np.where(width == width.min(), 1.0, 0.0)
        found[own] = in_parts((chances / chances.sum())[None, :])[0]
    return found


def in_parts(chances: Matrix) -> Integers:
    """The same as whole numbers of 2³² that sum to 2³² in every row: rounded down, the rest to the largest."""
    found = np.floor(chances * UNIT).astype(np.int64)
    largest = chances.argmax(axis=1)
    found[np.arange(len(found)), largest] += UNIT - found.sum(axis=1)
    return np.asarray(found)
