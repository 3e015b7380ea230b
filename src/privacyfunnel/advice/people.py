"""People by their secret and all columns, however fine, and the information in some of the columns, in nats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from privacyfunnel.advice.levels import Coarsened, levels
from privacyfunnel.tables.counting import Counted
from privacyfunnel.tables.too_fine import FEW, TRIED_DOWN_TO
from privacyfunnel.typing import Integers, Vector

MOST_KEYS = 1 << 22
"""Numbers up to this are counted in an array, larger ones after sorting."""

Place = tuple[int, int]
"""A column, and at which level."""


@dataclass(eq=False)
class People:
    """Groups of people who share secret and combination; group g has people[g] of them."""

    people: Vector
    secret: Integers
    """secret[g]: the number of the group's value of the secret."""
    secrets: int
    """How many values of the secret occur."""
    declared_secrets: int
    """How many its columns may have."""
    codes: Integers
    """codes[g, j], of the columns as they are read."""
    levels: tuple[tuple[Coarsened, ...], ...]
    """For each column, as it is read first, then coarser."""
    _read: dict[Place, Integers] = field(default_factory=dict)
    _entropies: dict[tuple[tuple[Place, ...], bool], tuple[float, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, counted: Counted, coarser: bool, down_to: int = TRIED_DOWN_TO) -> People:
        """Everybody in a table that was counted, with columns as they are read or `coarser`, too."""
        joint = counted.joint
        s, x = np.nonzero(joint.weights)
        people, codes = joint.weights[s, x].astype(np.float64), joint.codes[x]
        found = [
            levels(fitted, _people_of(codes[:, j], people, len(fitted.column)), joint.declared, down_to)
            for j, fitted in enumerate(counted.attributes)
        ]
        secrets = math.prod(len(column) for column in joint.secret_columns) or joint.n_s
        return cls(people, s, joint.n_s, secrets, codes, tuple(each if coarser else each[:1] for each in found))

    @cached_property
    def total(self) -> int:
        """The number of people."""
        return int(self.people.sum())

    def level(self, place: Place) -> Coarsened:
        """A column at a level."""
        j, fineness = place
        return self.levels[j][fineness]

    def read(self, place: Place) -> Integers:
        """The codes of a column at a level."""
        if place not in self._read:
            self._read[place] = self.level(place).of[self.codes[:, place[0]]]
        return self._read[place]

    def numbered(self, places: Sequence[Place], before: Integers | None = None) -> Integers:
        """A number for every different combination of some columns, and of what was numbered `before`."""
        number = np.zeros(len(self.people), dtype=np.int64) if before is None else before
        for place in places:
            if int(number.max(initial=0)) * len(self.level(place)) >= MOST_KEYS:
                _, number = np.unique(number, return_inverse=True)
            number = number * len(self.level(place)) + self.read(place)
        return number

    def entropy(self, *places: Place, secret: bool = False) -> tuple[float, int]:
        """H of some columns, and of the secret, too, if asked; and how many combinations there are."""
        key = tuple(sorted(places)), secret
        if key not in self._entropies:
            number = self.numbered(key[0])
            counts = tallied(number * self.secrets + self.secret if secret else number, self.people)
            shares = counts / self.total
            self._entropies[key] = float(-(shares * np.log(shares)).sum()), len(counts)
        return self._entropies[key]

    def rare(self, number: Integers) -> float:
        """The share of the people whose combination fewer than FEW share."""
        counts = tallied(number, self.people)
        return float(counts[counts < FEW].sum()) / self.total


def _people_of(codes: Integers, people: Vector, values: int) -> Vector:
    """The people of every value."""
    return np.asarray(np.bincount(codes, weights=people, minlength=values), dtype=np.float64)


def tallied(number: Integers, people: Vector) -> Vector:
    """The people of every number that occurs."""
    if number.max(initial=0) >= MOST_KEYS:
        _, number = np.unique(number, return_inverse=True)
    counts = np.bincount(number.ravel(), weights=people)
    return np.asarray(counts[counts > 0], dtype=np.float64)
