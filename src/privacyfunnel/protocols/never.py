"""Never: combinations of values that no filled row has, as a steward declares them.

A combination is a set of values for each of some columns. Values are numbers, as a fill writes them: places among
labels, multiples of a step, days. A row has the combination if its value in each of these columns is in the set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.typing import Integers

GONE = -(2**63)
"""The number of a value that is written as missing."""
MOST_CASES = 10_000
"""That are gone through, of combinations that can come together: more were declared by mistake."""


@dataclass(frozen=True)
class Values:
    """Some values of a column: numbers in ranges, each from its first to its last, in order; and the missing one."""

    column: str
    ranges: tuple[tuple[int, int], ...]
    missing: bool

    def holds(self, numbers: Integers) -> NDArray[np.bool_]:
        """Which numbers are among them."""
        found = np.zeros(len(numbers), dtype=bool)
        for first, last in self.ranges:
            found |= (numbers >= first) & (numbers <= last) & (numbers != GONE)
        return np.asarray(found | (self.missing & (numbers == GONE)))

    def both(self, other: Values) -> Values:
        """What is among these and those."""
        shared = [(max(a, c), min(b, d)) for a, b in self.ranges for c, d in other.ranges]
        return Values(
            self.column, tuple(sorted(one for one in shared if one[0] <= one[1])), self.missing & other.missing
        )

    @property
    def none(self) -> bool:
        """Whether there are none."""
        return not self.ranges and not self.missing


Combination = tuple[Values, ...]
"""Of values of different columns."""


@dataclass(frozen=True)
class Never:
    """The combinations that no filled row has."""

    words: str
    """The condition, as it was declared."""
    combinations: tuple[Combination, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that it is about."""
        return tuple(dict.fromkeys(one.column for each in self.combinations for one in each))

    def broken(self, numbers: Mapping[str, Integers]) -> NDArray[np.bool_]:
        """Which rows have a combination, by the numbers of their columns."""
        return np.asarray(np.any([having(each, numbers) for each in self.combinations], axis=0))

    def by_last(self, order: Sequence[str]) -> dict[str, list[tuple[Combination, Values]]]:
        """For each column that is drawn, in this order: what must have come before, and what it is then not."""
        found: dict[str, list[tuple[Combination, Values]]] = {}
        for each in self.combinations:
            *before, last = sorted(each, key=lambda one: order.index(one.column))
            found.setdefault(last.column, []).append((tuple(before), last))
        return found


def having(combination: Combination, numbers: Mapping[str, Integers]) -> NDArray[np.bool_]:
    """Which rows have the values of a combination."""
    return np.asarray(np.all([one.holds(numbers[one.column]) for one in combination], axis=0))


def together(some: Combination, more: Combination) -> Combination | None:
    """The values of rows that have both combinations; None if there are no such rows."""
    found = {one.column: one for one in some}
    for one in more:
        found[one.column] = found[one.column].both(one) if one.column in found else one
    return None if any(one.none for one in found.values()) else tuple(found.values())


def leaves_a_value(never: Sequence[tuple[Combination, Values]], numbers: Integers) -> bool:
    """Whether one of the numbers is left to a column whatever came before; if that takes too long to say, it is not."""
    out = [last.holds(numbers) for _, last in never]
    cases: list[tuple[int, Combination, NDArray[np.bool_]]] = [(0, (), np.zeros(len(numbers), dtype=bool))]
    for _ in range(MOST_CASES):
        if not cases:
            return True
        i, came, gone = cases.pop()
        if gone.all():
            return False
        if i < len(never):
            cases.append((i + 1, came, gone))
            both = together(came, never[i][0])
            if both is not None and (out[i] & ~gone).any():
                cases.append((i + 1, both, gone | out[i]))
    return False
