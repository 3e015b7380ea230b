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

UNIT = 1024
"""Weights are numbers of people times this: what noise leaves of a count is seldom a whole number."""


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

    It is near to the counts, and of as many people (`balanced`). Values of the secret that have
    nobody in it are left out; combinations that have nobody, or fewer than `at_least`, are read as the nearest other.
    """
    weights = balanced(noise.counts, noise.people) if noise.codes is None else noise.counts * UNIT
    occur = np.flatnonzero(weights.any(axis=1))
    labels = tuple(range(len(weights)) if secret_values is None else secret_values)
    joint = Joint.from_codes(
        *gathered(weights[occur], noise.combinations(columns), columns, at_least * UNIT),
        columns,
        secret,
        [labels[s] for s in occur],
        secret_columns,
    )
    joint.counted, joint.nearest, joint.at_least, joint.noise = False, True, at_least, noise
    joint.secret_rows = occur
    return joint


def balanced(counts: Integers, people: int) -> Integers:
    """Weights[s, i] ≥ 0 near the noisy counts, in units of 1/UNIT person, of about `people` people.

    First the totals of the secrets, then each secret's counts, are moved to the nearest point with no entry below 0
    and the right sum, which is max(counts − t, 0) for some t. Where most cells are empty, noise above 0 would otherwise
    make up people who are not there.

    >>> balanced(np.array([[10, 3, -2], [1, 0, 2]]), 13) / UNIT
    array([[9. , 2. , 0. ],
           [0.5, 0. , 1.5]])
    """
    totals = _nearest_with_sum(counts.sum(axis=1), people) // UNIT
    totals[totals.argmax()] += people - totals.sum()
    rows = [_nearest_with_sum(row, int(total)) for row, total in zip(counts, totals, strict=True)]
    return np.stack(rows)


def _nearest_with_sum(counts: Integers, total: int) -> Integers:
    """max(counts − t, 0) with the sum `total`, in units of 1/UNIT, rounded down; k counts are above t.

    So t = (sum of the k largest − total) / k.
    """
    if total <= 0:
        return np.zeros_like(counts)
    falling = np.sort(counts)[::-1]
    above, k = np.cumsum(falling), np.arange(1, falling.size + 1)
    last = int(np.flatnonzero(falling * k > above - total)[-1])  # true of the first
    whole = UNIT * (counts * (last + 1) - (above[last] - total)) // (last + 1)
    return np.asarray(np.maximum(whole, 0), dtype=np.int64)


def gathered(weights: Integers, codes: Integers, columns: Sequence[Column], least: int) -> tuple[Integers, Integers]:
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
    fewer = Joint.from_codes(weights, codes, joint.columns, joint.secret, joint.secret_values, joint.secret_columns)
    fewer.chosen, fewer.declared, fewer.nearest, fewer.at_least = joint.chosen, joint.declared, True, people
    return fewer
