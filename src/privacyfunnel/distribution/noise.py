"""Noise: counts of people that may be published, and the distribution that everybody computes from them alike.

Every number of people who have a secret s and a combination x of the attributes' values is published with noise, also
where it is 0, so that nobody's record shows (docs/theory.md, "Everything published"). What is computed from such counts
needs no secret table any more: the protocol's file carries them, and anybody arrives at the same distribution.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.nearest import nearest
from privacyfunnel.errors import InvalidJoint
from privacyfunnel.typing import Integers


@dataclass(frozen=True, eq=False)
class Noise:
    """Noisy counts over a domain of columns, and how much noise they have."""

    epsilon: float
    """ε₀: whatever is computed from the counts tells nobody's record from another by more than a factor e^ε₀."""
    people: int
    """How many rows were counted, which is public."""
    attributes: tuple[str, ...]
    """The columns whose combinations are counted, in order."""
    counts: Integers = field(repr=False)
    """counts[s, i]: people with secret number s and the combination number i, with noise; some are below 0."""
    codes: Integers | None = field(default=None, repr=False)
    """codes[i, j]: the combinations, where only those with large counts are told. None: all, in C order."""
    delta: float = 0.0
    """δ₀: the probability with which the factor e^ε₀ may fail. 0 where all combinations are told."""
    declared: bool = False
    """Whether the values and ranges of all columns were declared beforehand, rather than read from the table."""

    @property
    def scale(self) -> float:
        """Of the discrete Laplace noise: one person less in a cell and one more in another are 2 in L1."""
        return 2.0 / self.epsilon

    def combinations(self, columns: Sequence[Column]) -> Integers:
        """codes[i, j] of all combinations that are told."""
        if self.codes is not None:
            return self.codes
        sizes = [len(column) for column in columns]
        return np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1).astype(np.int64)


def noisy_joint(
    noise: Noise,
    columns: tuple[Column, ...],
    secret: str,
    at_least: int = 0,
    secret_values: Sequence[Hashable] | None = None,
    secret_columns: tuple[Column, ...] = (),
) -> Joint:
    """The distribution that follows from noisy counts, for anybody who has them.

    Of all distributions of so many people, the one nearest to the counts (`balanced`). Values of the secret that have
    nobody in it are left out; combinations that have nobody, or fewer than `at_least`, are read as the nearest other.
    """
    weights, unit = balanced(noise.counts, noise.people) if noise.codes is None else (noise.counts, 1)
    occur = weights.any(axis=1)
    labels = tuple(range(len(weights)) if secret_values is None else secret_values)
    joint = Joint.from_codes(
        *gathered(weights[occur], noise.combinations(columns), columns, at_least * unit),
        columns,
        secret,
        [label for label, there in zip(labels, occur, strict=True) if there],
        secret_columns,
    )
    joint.counted, joint.nearest, joint.at_least, joint.noise = False, True, at_least, noise
    joint.secret_rows = np.flatnonzero(occur)
    return joint


def balanced(counts: Integers, people: int) -> tuple[Integers, int]:
    """The point nearest to `counts` among those with no entry below 0 and the sum `people`, in units of 1/k person.

    It is max(counts − t, 0) for the t at which the sum is right: t = (sum of the k largest − people) / k. Where most
    cells are empty, noise above 0 would otherwise make up people who are not there.

    >>> balanced(np.array([[10, 3, -2], [1, 0, 2]]), 13)
    (array([[37,  9,  0],
           [ 1,  0,  5]]), 4)
    """
    falling = np.sort(counts.ravel())[::-1]
    above, k = np.cumsum(falling), np.arange(1, falling.size + 1)
    largest = int(np.flatnonzero(falling * k > above - people)[-1])  # true of the first: people are above 0
    unit = largest + 1
    whole = np.maximum(counts * unit - (above[largest] - people), 0)
    return whole.astype(np.int64), unit


def gathered(
    weights: Integers, codes: Integers, columns: Sequence[Column], least: int
) -> tuple[Integers, Integers]:
    """Weights and codes of the combinations that weigh `least`, each with those that do not and are nearest to it."""
    total = weights.sum(axis=0)
    kept = total >= max(1, least)
    if not kept.any():
        raise InvalidJoint(
            "no combination of values has enough people to be kept: use fewer columns, wider ranges, less noise "
            "(a larger --private), or a lower --at-least"
        )
    rare = np.flatnonzero(~kept & (total > 0))
    found = weights[:, kept]
    to = nearest(codes[rare], codes[kept], columns)
    for row, own in zip(found, weights, strict=True):
        np.add.at(row, to, own[rare])
    return found, codes[kept]


def with_at_least(joint: Joint, people: int) -> Joint:
    """The joint of exact counts in which combinations that fewer than `people` have are read as the nearest other."""
    if not joint.counted:
        raise InvalidJoint("a least number of people needs counts of people; these are probabilities")
    weights, codes = gathered(joint.weights, joint.codes, joint.columns, people)
    fewer = Joint.from_codes(
        weights, codes, joint.columns, joint.secret, joint.secret_values, joint.secret_columns
    )
    fewer.chosen, fewer.nearest, fewer.at_least = joint.chosen, True, people
    return fewer
