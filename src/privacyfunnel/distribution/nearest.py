"""As which of some listed combinations of values another one is read: itself, or the nearest. There is no other rule.

The proof asks `read_as`, and so does everything that draws or estimates. Nearest is what has the most columns in
common; among those, what is nearest in the columns that have an order; among those, what has the values that the fewest
others in the list have, since what is rare is lost most easily; among those, the first in the list. All in integers and
from the list alone, so that tomorrow's rows are read as today's were, on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.similarity import NOWHERE, ORDERED_KINDS, places_of
from privacyfunnel.numeric.rows import unique_rows
from privacyfunnel.typing import Integers

CLOSE = 1 << 14
"""How near two values of a column with an order are, at most; and what an equal value counts more than any near one."""
RARITY = 1 << 24
"""More than a combination's values can occur in a list: what is nearer counts more than what is rarer."""
NONE = -(1 << 62)
"""The score of a combination that differs where it must not."""
PAIRS_AT_ONCE = 4_000_000
"""Of combinations, that are compared in one go."""


def read_as(
    codes: Integers, listed: Integers, columns: Sequence[Column], near: bool, exact: Sequence[str] = ()
) -> Integers:
    """For each combination codes[i, :], the row of listed[k, :] that it is, or, if `near`, the nearest one; −1 if none.

    A combination with a value that is none (−1) is never listed, and near to nothing. The nearest one has the same
    values in the columns `exact`.

    >>> sex, town = (Column(name=name, kind="integer", labels=(0, 1, 2)) for name in ("sex", "town"))
    >>> codes, listed = np.array([[0, 1], [2, 1], [2, -1]]), np.array([[0, 0], [0, 1]])
    >>> read_as(codes, listed, [sex, town], near=False).tolist()
    [1, -1, -1]
    >>> read_as(codes, listed, [sex, town], near=True).tolist()
    [1, 1, -1]
    >>> read_as(codes, listed, [sex, town], near=True, exact=["sex"]).tolist()
    [1, -1, -1]
    """
    different, of = unique_rows(codes)
    known = {row: k for k, row in enumerate(map(tuple, listed.tolist()))}
    found = np.array([known.get(row, -1) for row in map(tuple, different.tolist())], dtype=np.int64)
    strange = np.flatnonzero((found < 0) & (different >= 0).all(axis=1))
    if near and strange.size:
        places = [j for j, column in enumerate(columns) if column.name in exact]
        found[strange] = nearest(different[strange], listed, columns, places)
    return found[of]


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
