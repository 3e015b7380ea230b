"""Listed: how much of the weight of a value is released as which value, number by number.

The best plan over all pairs of values follows from no rule, so the file holds it: whole numbers a(x, x′), only where
there are any. A row with value x is released as x′ with probability a(x, x′) / W(x). What is left of W(x), r(x), is in
the group of everything, which is left for x′ with probability l(x′) / Σ l, l(x′) = W(x′) − Σ_x a(x, x′) being what x′
still lacks. So Σ l = Σ r, and the model's rows keep their distribution exactly, whatever is listed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.protocols.wide.groups import Groups
from privacyfunnel.typing import Integers

MOST_VALUES = 20_000
"""Combinations of values that are listed at most: ours are a few thousand."""
MOST_LISTED = 500_000
"""Numbers that are listed at most, in a file of 15 MB: ours are some five for every value."""
MOST_MASS = 2**61
"""Of all that is listed for one value: more than all weights of a model together."""


@dataclass(frozen=True, eq=False)
class Listed:
    """mass[i] of the weight of source[i] is released as target[i], in order of the sources and then of the targets."""

    source: Integers
    target: Integers
    mass: Integers

    @classmethod
    def none(cls) -> Listed:
        """Nothing."""
        return cls(*(np.zeros(0, np.int64) for _ in range(3)))

    @classmethod
    def of(cls, source: Integers, target: Integers, mass: Integers) -> Listed:
        """In order, without what is nothing."""
        some = np.flatnonzero(mass)
        some = some[np.lexsort((target[some], source[some]))]
        return cls(*(part[some].astype(np.int64) for part in (source, target, mass)))

    def __len__(self) -> int:
        return len(self.mass)

    def taken(self, values: int) -> Integers:
        """Σ_x′ a(x, x′) of each of so many values."""
        return _summed(self.source, self.mass, values)

    def given(self, values: int) -> Integers:
        """Σ_x a(x, x′)."""
        return _summed(self.target, self.mass, values)

    def by_target(self) -> Groups:
        """What is released as one value, as a group: those who see it know that the row was one of these."""
        order = np.argsort(self.target, kind="stable")
        starts = np.flatnonzero(np.diff(self.target[order], prepend=-1))
        return Groups(np.append(starts, len(order)), self.source[order], self.mass[order])


@dataclass(frozen=True)
class ListRule:
    """The same as it stands in a file: for every value, what its rows are released as, and how much of them."""

    secrets: int
    targets: tuple[tuple[int, ...], ...]
    weights: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, listed: Listed, secrets: int, values: int) -> ListRule:
        """What is listed of so many values."""
        ends = np.searchsorted(listed.source, np.arange(1, values))
        targets, weights = (
            tuple(tuple(part.tolist()) for part in np.split(each, ends)) for each in (listed.target, listed.mass)
        )
        return cls(secrets, targets, weights)

    def listed(self) -> Listed:
        """As arrays."""
        source = np.repeat(np.arange(len(self.targets)), [len(own) for own in self.targets])
        target, mass = (
            np.array([number for own in each for number in own], dtype=np.int64)
            for each in (self.targets, self.weights)
        )
        return Listed(source.astype(np.int64), target, mass)


def check_list(rule: ListRule, values: int) -> None:
    """Refuse what is no list of whole weights of values that there are."""
    if not len(rule.targets) == len(rule.weights) == values <= MOST_VALUES:
        raise InvalidProtocol("the list does not fit the combinations of values")
    if sum(len(own) for own in rule.targets) > MOST_LISTED:
        raise InvalidProtocol("the list is too long")
    for targets, weights in zip(rule.targets, rule.weights, strict=True):
        if len(targets) != len(weights) or list(targets) != sorted(set(targets)):
            raise InvalidProtocol("a value is listed twice or in disorder, or not with one weight each")
        if targets and not 0 <= targets[0] <= targets[-1] < values:
            raise InvalidProtocol("a value that there is not is listed")
        if any(weight <= 0 for weight in weights) or sum(weights) >= MOST_MASS:
            raise InvalidProtocol("a weight of the list is not positive, or too large")


def _summed(at: Integers, mass: Integers, values: int) -> Integers:
    found = np.zeros(values, np.int64)
    np.add.at(found, at, mass)
    return found
