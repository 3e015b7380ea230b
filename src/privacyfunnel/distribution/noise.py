"""Noise: counts of people that may be published, and the distribution that everybody computes from them alike.

Every number of people who have a secret s and a combination x of the attributes' values is published with noise, also
where it is 0, so that nobody's record shows (docs/theory.md, "Everything published"). What is computed from such counts
needs no secret table any more: the protocol's file carries them, and anybody arrives at the same distribution.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.estimate import MOST_LISTED, UNIT, estimated, nearest_with_sum, totals_of
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.nearest import read_as
from privacyfunnel.errors import InvalidJoint
from privacyfunnel.typing import Integers

LEAST_EPSILON, MOST_EPSILON = 1e-3, 50.0
"""Of ε₀: below the first, noise drowns any table; above the second, there is none."""
LEAST_DELTA, MOST_DELTA = 1e-15, 1e-3
"""Of δ₀: thresholds for less come out of the range of float64; more would name one in a thousand people outright."""
LEAST_TOLD = 0.5
"""The share of the people who must be left where only large counts are told. All others would be released as one of
these, and nothing that is said of cells, counts or estimates would be about the table."""
MOST_PEOPLE = 10**9
"""In all: weights of so many, times the number of cells, fit int64."""
FAINT = 2.0
"""Standard deviations of noise: a value of the secret with fewer people in all does not show through it."""
MOST_PARTS = 1 << 20
"""Into which weights are divided where a value of the secret is faint: it then weighs one person among so many."""


@dataclass(frozen=True, eq=False)
class Noise:
    """Noisy counts over a domain of columns, and how much noise they have."""

    epsilon: float
    """ε₀ of the counts: whatever is computed from them tells nobody's record from another by more than e^ε₀."""
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
    choosing: float = 0.0
    """What choosing the columns spent beforehand, in the units of ε₀, beside the noise on counts."""
    summed: tuple[int, ...] = ()
    """summed[s]: of how many noisy counts each number in row s is the sum; none are where this is empty."""

    @property
    def spent(self) -> float:
        """ε₀ of everything: what choosing the columns and counting them tell together."""
        return self.epsilon + self.choosing

    @property
    def terms(self) -> Integers:
        """terms[s]: how many independent noises each number in row s has."""
        return np.array(self.summed or [1] * len(self.counts), dtype=np.int64)

    def of_events(self, event: Integers, n: int) -> Noise:
        """The same counts by events, event[s] < n: those of an event are summed, and so are their noises.

        >>> Noise(1.0, 9, ("X",), np.array([[4, 1], [0, 2], [1, 1]])).of_events(np.array([0, 1, 1]), 2).summed
        (1, 2)
        """
        counts, terms = np.zeros((n, self.counts.shape[1]), dtype=self.counts.dtype), np.zeros(n, dtype=np.int64)
        np.add.at(counts, event, self.counts)
        np.add.at(terms, event, self.terms)
        return replace(self, counts=counts, summed=tuple(terms.tolist()))

    @cached_property
    def faint(self) -> Integers:
        """The values of the secret that are too rare to show through the noise: how columns go with them is unknown."""
        totals, told = self.counts.sum(axis=1), self.codes is None
        noise = FAINT * self.scale * math.sqrt(2 * self.counts.shape[1]) if told else 0.0
        return np.flatnonzero(totals <= noise)

    @property
    def share_told(self) -> float:
        """Of the people: those whose combination is told, as far as the counts say."""
        return 1.0 if self.codes is None else min(1.0, max(0.0, float(self.counts.sum()) / self.people))

    @property
    def scale(self) -> float:
        """Of the discrete Laplace noise: one person less in a cell and one more in another are 2 in L1."""
        return 2.0 / self.epsilon

    @property
    def variance(self) -> float:
        """Of Laplace noise of this scale, as if it were not of whole numbers: everybody computes the same one."""
        return 2.0 * self.scale * self.scale

    def combinations(self, columns: Sequence[Column]) -> Integers:
        """codes[i, j] of all combinations that are told."""
        if self.codes is not None:
            return self.codes
        sizes = [len(column) for column in columns]
        return np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1).astype(np.int64)


def threshold_for(epsilon: float, delta: float) -> int:
    """About the noisy count that a person alone reaches with probability δ / 2, rounded down: no smaller one is told.

    >>> threshold_for(1.0, 1e-9)
    40
    """
    return max(2, math.floor(1 + 2 / epsilon * math.log(1 / delta)) - 2)


def noisy_joint(
    noise: Noise,
    columns: tuple[Column, ...],
    secret: str,
    at_least: int = 0,
    secret_values: Sequence[Hashable] | None = None,
    secret_columns: tuple[Column, ...] = (),
    exact: tuple[str, ...] = (),
) -> Joint:
    """The distribution that follows from noisy counts, for anybody who has them.

    Where all combinations can be listed, it is an estimate for each of them (`estimated`); of more it is near to the
    counts, and of as many people (`balanced`). Values of the secret that do not show through the noise are taken to go
    with the columns as everybody does. Combinations that have nobody, or fewer than `at_least`, are read as the nearest
    other that has the same values of the columns `exact`.
    """
    if len(noise.counts) - len(noise.faint) < 2:
        raise InvalidJoint(
            "fewer than two values of the secret show through the noise, so that there is nothing to go by: use fewer "
            "columns, wider ranges, or less noise (a larger --private)"
        )
    weights, unit = weights_of(noise, columns)
    whole = noise.combinations(columns)
    joint = Joint.from_codes(
        *gathered(weights, whole, columns, at_least * unit, exact), columns, secret, secret_values, secret_columns
    )
    joint.counted, joint.nearest, joint.at_least, joint.noise, joint.exact = False, True, at_least, noise, exact
    if at_least:
        joint.before_gathering = noisy_joint(noise, columns, secret, 0, secret_values, secret_columns, exact)
    return joint


def weights_of(noise: Noise, columns: Sequence[Column]) -> tuple[Integers, int]:
    """weights[s, i] for all combinations that are told, and how much one person weighs."""
    weights = noise.counts * UNIT
    if noise.codes is None and noise.counts.shape[1] <= MOST_LISTED:
        weights = estimated(noise.counts, noise.people, [len(column) for column in columns], noise.variance)
    elif noise.codes is None:
        weights = balanced(noise.counts, noise.people)
    if not noise.faint.size:
        return weights, UNIT
    parts = min(noise.people, MOST_PARTS)
    people = np.maximum(1, weights[noise.faint].sum(axis=1) // UNIT)
    weights[noise.faint] = 0
    everybody = weights.sum(axis=0)
    weights *= parts
    weights[noise.faint] = everybody * np.maximum(1, people * parts // noise.people)[:, None]
    return weights, UNIT * parts


def balanced(counts: Integers, people: int) -> Integers:
    """Weights[s, i] ≥ 0 near the noisy counts, in units of 1/UNIT person, of about `people` people.

    First the totals of the secrets, then each secret's counts, are moved to the nearest point with no entry below 0
    and the right sum, which is max(counts − t, 0) for some t. Where most cells are empty, noise above 0 would otherwise
    make up people who are not there.

    >>> balanced(np.array([[10, 3, -2], [1, 0, 2]]), 13) / UNIT
    array([[9. , 2. , 0. ],
           [0.5, 0. , 1.5]])
    """
    totals = totals_of(counts, people)
    return np.stack([nearest_with_sum(row, int(total)) for row, total in zip(counts, totals, strict=True)])


def gathered(
    weights: Integers, codes: Integers, columns: Sequence[Column], least: int, exact: tuple[str, ...] = ()
) -> tuple[Integers, Integers]:
    """Weights and codes of the combinations that weigh `least`, each with those that do not and are nearest to it."""
    total = weights.sum(axis=0)
    kept = total >= max(1, least)
    if not kept.any():
        raise InvalidJoint(
            "no combination of values has enough people to be kept: use fewer columns, wider ranges, less noise "
            "(a larger --private), or a lower at-least"
        )
    rare = np.flatnonzero(~kept & (total > 0))
    found = weights[:, kept]
    to = read_as(codes[rare], codes[kept], columns, near=True, exact=exact)
    if (to < 0).any():
        places = [j for j, column in enumerate(columns) if column.name in exact]
        lost = len(np.unique(codes[rare[to < 0]][:, places], axis=0))
        raise InvalidJoint(
            f"{lost} of the values of {', '.join(exact)} have too few people to be told, so they cannot stay exact: "
            "merge them beforehand, or ask for less noise (a larger --private) or a lower at-least"
        )
    for row, own in zip(found, weights, strict=True):
        np.add.at(row, to, own[rare])
    return found, codes[kept]


def with_at_least(joint: Joint, people: int, exact: tuple[str, ...] = ()) -> Joint:
    """The joint of exact counts in which combinations that fewer than `people` have are read as the nearest other."""
    if not joint.counted:
        raise InvalidJoint("a least number of people needs counts of people; these are probabilities")
    weights, codes = gathered(joint.weights, joint.codes, joint.columns, people, exact)
    fewer = Joint.from_codes(weights, codes, joint.columns, joint.secret, joint.secret_values, joint.secret_columns)
    fewer.before_gathering = joint
    fewer.chosen, fewer.declared, fewer.nearest, fewer.at_least = joint.chosen, joint.declared, True, people
    fewer.exact, fewer.secret_parts = exact, joint.secret_parts
    return fewer


def staying_exact(joint: Joint, exact: tuple[str, ...]) -> Joint:
    """The same people, none of whom is read as having another value of the columns `exact`."""
    if joint.noise is not None:
        values, columns = joint.secret_values, joint.secret_columns
        found = noisy_joint(joint.noise, joint.columns, joint.secret, joint.at_least, values, columns, exact)
    elif joint.before_gathering is not None:
        found = with_at_least(joint.before_gathering, joint.at_least, exact)
    else:
        found = copy(joint)
        vars(found).pop("completed", None)  # which does not know what is to stay exact
        found.exact = exact
    for one in (found, found.before_gathering):
        if one is not None:
            one.chosen, one.declared, one.numbered = joint.chosen, joint.declared, joint.numbered
            one.secret_parts = joint.secret_parts
    return found
