"""Different rows of a table of whole numbers: many columns are packed into one, and only that is sorted."""

from __future__ import annotations

import numpy as np

from privacyfunnel.typing import Integers

MOST_PACKED = 1 << 62
"""Below this, a number fits int64."""


def unique_rows(codes: Integers) -> tuple[Integers, Integers]:
    """The different rows in order, and which of them each row is: np.unique(codes, axis=0, return_inverse=True).

    >>> rows, of = unique_rows(np.array([[1, 0], [0, 2], [1, 0]]))
    >>> rows.tolist(), of.tolist()
    ([[0, 2], [1, 0]], [1, 0, 1])
    """
    place, size = np.zeros(len(codes), dtype=np.int64), 1
    for column in codes.T if len(codes) else ():
        own, values = _from_zero(column)
        if size * values >= MOST_PACKED:
            place = _numbered(place)
            size = int(place.max()) + 1
        place, size = place * values + own, size * values
    _, first, place = np.unique(place, return_index=True, return_inverse=True)
    return codes[first], place.ravel()


def _from_zero(column: Integers) -> tuple[Integers, int]:
    """The column in numbers from 0 on, in the same order, and how many there may be: few enough to be packed."""
    least, most = int(column.min()), int(column.max())
    if most - least < len(column):
        return column - least, most - least + 1
    own = _numbered(column)
    return own, int(own.max()) + 1


def _numbered(column: Integers) -> Integers:
    """The place of each entry among the different ones."""
    return np.unique(column, return_inverse=True)[1].ravel()
