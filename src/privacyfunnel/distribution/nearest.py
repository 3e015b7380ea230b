"""The nearest of some combinations of values: the rule by which rows with a rare combination are read as another.

Most columns shared; among those, nearest in the columns that have an order; among those, with the values that the
fewest others in the list have, since what is rare is lost most easily; among those, first in the list. All in integers
and from the list alone, so that tomorrow's rows are read as today's were, on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.similarity import NOWHERE, ORDERED_KINDS, places_of
from privacyfunnel.typing import Integers

CLOSE = 1 << 14
"""How near two values of a column with an order are, at most; and what an equal value counts more than any near one."""
RARITY = 1 << 24
"""More than a combination's values can occur in a list: what is nearer counts more than what is rarer."""
NONE = -(1 << 62)
"""The score of a combination that differs where it must not."""
PAIRS_AT_ONCE = 4_000_000
"""Of combinations, that are compared in one go."""


def nearest(codes: Integers, among: Integers, columns: Sequence[Column], exact: Sequence[int] = ()) -> Integers:
    """For each combination codes[i, :], the number of the nearest one in among[k, :].

    It has the same values in the columns `exact`; −1 where none has.

    >>> from privacyfunnel.distribution.column import bin_labels
    >>> age = Column(name="age", kind="bins", edges=(0, 20, 40, 60, 80), labels=bin_labels([0, 20, 40, 60, 80]))
    >>> sex = Column(name="sex", kind="text", labels=("f", "m"))
    >>> nearest(np.array([[0, 1], [3, 0]]), np.array([[0, 0], [1, 1], [2, 1]]), [age, sex]).tolist()
    [1, 0]
    """
    rarity = np.sum([np.bincount(among[:, j])[among[:, j]] for j in range(len(columns))], axis=0)
    rarity = np.minimum(rarity, RARITY - 1)
    scales = [_places(column) for column in columns]
    step = max(1, PAIRS_AT_ONCE // len(among))
    found = np.empty(len(codes), dtype=np.int64)
    for start in range(0, len(codes), step):
        part = codes[start : start + step]
        score = np.zeros((len(part), len(among)), dtype=np.int64)
        for j, place in enumerate(scales):
            score += _alike(part[:, j, None], among[None, :, j], place, len(columns))
        score = score * RARITY - rarity
        for j in exact:
            score[part[:, j, None] != among[None, :, j]] = NONE
        best = score.argmax(axis=1)
        found[start : start + step] = np.where(score.max(axis=1) > NONE, best, -1)
    return found


def _alike(code: Integers, other: Integers, place: Integers | None, columns: int) -> Integers:
    """How much two values of a column have in common: equal ones more than near ones of all columns together."""
    equal = np.where(code == other, CLOSE * (columns + 1), 0)
    if place is None:
        return equal
    i, k = place[code], place[other]
    near = CLOSE - CLOSE * np.abs(i - k) // max(1, int(place.max()))
    return np.where((code != other) & (i != NOWHERE) & (k != NOWHERE), near, equal)


def _places(column: Column) -> Integers | None:
    """The place of each label in the order of its column; None if it has no order."""
    return places_of(column) if column.kind in ORDERED_KINDS else None
