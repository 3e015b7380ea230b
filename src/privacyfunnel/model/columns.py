"""Columns of the model: the cells in which the entries of a column are counted, and what each cell is written as."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from privacyfunnel.distribution.column import EXACT, OPEN, Column
from privacyfunnel.protocols.fill import Grid
from privacyfunnel.typing import Integers, Vector

PARTS = 4
"""Of a range, in which numbers are counted: private histograms of more are mostly noise."""
NEAR = 1e-6
"""Of a multiple of the step: what float64 makes of decimals."""
DOUBLINGS = 24
"""Of the width of a neighbouring range, by which one without an end is counted outwards."""
CELLS = 64
"""Of a column of numbers, about, where its ranges are few: numbers that people like, such as 45 hours, show then."""
UNITS: dict[str, Literal["Y", "M", "D"]] = {"year": "Y", "month": "M", "day": "D"}
"""Of dates, by how they are kept."""


@dataclass(frozen=True, eq=False)
class Counted:
    """A column as the model counts it: cell k has the value code[k] and is written as a number first[k] … last[k]."""

    name: str
    grid: Grid
    decimals: int
    column: Column | None
    """Its labels, if numbers are places among these."""
    code: Integers
    first: Integers
    last: Integers
    ordered: bool
    gone: int
    """The code of missing values; −1 if there are none. Its cell is the last one."""
    kept: bool = False
    apart: frozenset[int] = frozenset()
    """Numbers from which on values are put together anew."""

    def __len__(self) -> int:
        return len(self.code)


def split(counted: Counted, borders: Sequence[int]) -> Counted:
    """The column with its cells cut where a number begins that is not to be put together with the one before."""
    cells: list[tuple[int, int, int]] = []
    for code, first, last in zip(counted.code.tolist(), counted.first.tolist(), counted.last.tolist(), strict=True):
        inner = [] if code == counted.gone else sorted({one for one in borders if first < one <= last})
        cells += [(code, a, b - 1) for a, b in pairwise([first, *inner, last + 1])]
    code_of, begins, ends = np.array(cells, dtype=np.int64).T
    return replace(counted, code=code_of, first=begins, last=ends, apart=frozenset(borders))


def by_label(column: Column) -> Counted:
    """A column that is written as its labels: each is a cell of its own."""
    places = np.arange(len(column))
    gone = column.labels.index(None) if None in column.labels else -1
    return Counted(column.name, "label", 0, column, places, places, places, column.kind != "text", gone)


def by_finer_label(column: Column, kept: Integers) -> Counted:
    """A column that is kept more coarsely, with the kept value of each of its own."""
    places = np.arange(len(column))
    gone = int(kept[column.labels.index(None)]) if None in column.labels else -1
    return Counted(column.name, "label", 0, column, kept, places, places, False, gone, kept=True)


def by_number(column: Column, decimals: int, parts: int, kept: bool) -> Counted:
    """A column of ranges that is written as numbers: each range is counted in some parts of equal width.

    Borders follow from those of the ranges, not from the table: a range without an end is counted in parts that are
    each twice as wide as the one before.
    """
    scale, edges = 10.0**decimals, list(column.edges)
    cells: list[tuple[int, int, int]] = []
    last = len(edges) - 2
    for code in range(len(edges) - 1):
        cuts = _cuts(edges, code, scale, parts)
        top = cuts[-1] if code < last or edges[-1] >= OPEN else math.floor(edges[-1] * scale) + 1
        cuts = [*cuts[:-1], top]
        cells += [(code, a, b - 1) for a, b in pairwise(cuts) if a < b]
    gone = column.labels.index(None) if None in column.labels else -1
    if gone >= 0:
        cells.append((gone, 0, 0))
    code_of, first, end = np.array(cells, dtype=np.int64).T
    return Counted(
        column.name, "number" if decimals else "integer", decimals, None, code_of, first, end, True, gone, kept
    )


def by_date(column: Column) -> Counted:
    """A column of years, months or days that is written as days: each of its days is as likely as the others."""
    gone = column.labels.index(None) if None in column.labels else -1
    cells = []
    for code, label in enumerate(column.labels):
        start = np.datetime64(str(label) if label is not None else "1970-01-01", UNITS.get(column.kind, "D"))
        days = [int(one.astype("datetime64[D]").astype(np.int64)) for one in (start, start + 1)]
        cells.append((code, days[0], days[1] - 1))
    code_of, first, last = np.array(cells, dtype=np.int64).T
    return Counted(column.name, "day", 0, None, code_of, first, last, True, gone)


def _cuts(edges: Sequence[float], code: int, scale: float, parts: int) -> list[int]:
    """Multiples of the step at which the parts of a range begin, and where the last one ends."""
    low, high = edges[code], edges[code + 1]
    if low > -OPEN and high < OPEN:
        a, b = math.ceil(low * scale), math.ceil(high * scale)
        if b - a <= parts:
            return list(range(a, b + 1)) if b > a else [a, a + 1]
        return sorted({a + round((b - a) * i / parts) for i in range(parts + 1)})
    steps = _outwards(edges, scale)
    if low <= -OPEN and high >= OPEN:
        return [-step for step in reversed(steps)] + [0] + steps
    if high >= OPEN:
        a = math.ceil(low * scale)
        return [a] + [a + step for step in steps if a + step <= EXACT]
    b = math.ceil(high * scale)
    cuts = [b - step for step in reversed(steps) if b - step >= -EXACT] + [b]
    return sorted({*cuts, 0}) if cuts[0] < 0 < b else cuts  # numbers below 0 are another matter


def _outwards(edges: Sequence[float], scale: float) -> list[int]:
    """Distances that double, from about the half of the narrowest inner range on."""
    inner = [edge for edge in edges if abs(edge) < OPEN]
    width = min((b - a for a, b in pairwise(inner)), default=1.0)
    least = max(1, round(width * scale / 2))
    return [least * 2**k for k in range(DOUBLINGS)]


def cells_of(counted: Counted, codes: Integers, numbers: Vector | None) -> Integers:
    """The cell of each entry, by its code in the column and, where numbers are written, its number."""
    if counted.column is not None or numbers is None:
        return codes
    scale = 10.0**counted.decimals
    z = np.where(np.isfinite(numbers), np.rint(np.where(np.isfinite(numbers), numbers, 0) * scale), 0)
    found = np.zeros(len(codes), dtype=np.int64)
    for code in np.unique(codes).tolist():
        rows = codes == code
        own = np.flatnonzero(counted.code == code)
        place = np.searchsorted(counted.first[own], z[rows], side="right") - 1
        found[rows] = own[np.clip(place, 0, len(own) - 1)]
    return found
