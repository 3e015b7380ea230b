"""The public audit of filled columns: their noisy tables can have the noise that is stated, and what is drawn follows.

The file has a noisy count of each cell of a column j, C_j, and noisy tables T of a filled column with its parents. All
have discrete Gaussian noise of one σ, and all count the same n people. With e cells of T to each value of j, centred
over the k values of j, the margin of T less that of C_j has noise of variance at least eσ² in k − 1 directions,
whatever was made of C_j before: so its squares are no smaller in law than those of k − 1 draws (Anderson's inequality).
The same holds of sums of tables less n, of what a table tells beyond its columns, and of the centred counts of cells.
All of these have noise of their own, so that they may be added up. Values of a filled column were put together by
looking at C_j, so that a bound of their sums holds for all sets of cells at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from privacyfunnel.proof.table_noise import LARGER, LUCK, OTHER_PEOPLE, SMALLER, less_than_noise
from privacyfunnel.protocols.fill import CODE, FIRST, LAST, WEIGHT, Fill, Filled
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.shrinking import FAR, in_parts, nearest_counts, shrunk, within_codes
from privacyfunnel.typing import Integers, Vector

OF_WEIGHT = 1e-6
"""By which part a probability may differ from what follows from the counts: processors round otherwise."""
MISSED = 1e-3
"""How often noise that is said to be noticed may be missed."""
OTHER_CHANCES = "what is drawn for filled columns does not follow from their noisy tables"


class _Sum(NamedTuple):
    """A sum of squares in so many directions, of the noise of so many cells at least."""

    squares: float
    freedom: int
    cells: int
    most: float = 1.0
    """Noise of the stated σ makes it this many times as large as χ² at most, if nothing but noise is in it."""


@dataclass(frozen=True, eq=False)
class _Table:
    """Counts of some columns together, each axis with its name."""

    names: tuple[str, ...]
    counts: Vector

    @classmethod
    def of(cls, one: Filled, sizes: Mapping[str, int]) -> _Table:
        names = (*one.parents, one.name)
        return cls(names, np.asarray(one.counts.reshape([sizes[name] for name in names]), dtype=np.float64))

    def margin(self, name: str) -> Vector:
        """The counts of the values of one column."""
        axis = self.names.index(name)
        return np.asarray(self.counts.sum(axis=tuple(i for i in range(self.counts.ndim) if i != axis)))

    def cells(self, name: str) -> int:
        """Of each value of this column."""
        return int(self.counts.size // self.counts.shape[self.names.index(name)])

    def beyond(self) -> _Sum:
        """What it tells beyond its columns."""
        left = self.counts
        for axis in range(left.ndim):
            left = left - left.mean(axis=axis, keepdims=True)
        return _Sum(float((left**2).sum()), int(np.prod(np.array(left.shape) - 1)), left.size)


def flaw_in_filled(protocol: Protocol) -> str | None:
    """The same of a protocol; nothing where no column is filled."""
    if protocol.fill is None or protocol.people is None:
        return None
    return flaw_in_fill(protocol.fill, protocol.people, {column.name: len(column) for column in protocol.columns})


def flaw_in_fill(fill: Fill, people: int, kept: Mapping[str, int]) -> str | None:
    """Why the noisy tables cannot have their noise, or what is drawn not follow from them, if so.

    The kept columns are given with their numbers of values.
    """
    sizes = {**kept, **{one.name: one.size for one in fill.filled}}
    return _flaw_in_noise(fill, people, sizes) or _flaw_in_chances(fill, people, sizes)


def _flaw_in_noise(fill: Fill, people: int, sizes: Mapping[str, int]) -> str | None:
    variance = fill.noise.sigma**2
    tables, cells, codes = _told_in(fill, sizes)
    flaw = _too_large(tables, cells, codes, people, variance)
    return flaw or _too_small(tables, cells, codes, people, variance)


def _told_in(fill: Fill, sizes: Mapping[str, int]) -> tuple[list[_Table], dict[str, Vector], dict[str, Integers]]:
    """The tables of filled columns; and the counts of cells of every column, with the value that each belongs to."""
    tables = [_Table.of(one, sizes) for one in fill.filled]
    cells = {one.name: one.counts.astype(np.float64) for one in fill.inside}
    return tables, cells, {one.name: one.codes(sizes[one.name]) for one in fill.inside}


def _too_large(
    tables: list[_Table], cells: dict[str, Vector], codes: dict[str, Integers], people: int, variance: float
) -> str | None:
    every = [*(table.counts for table in tables), *cells.values()]
    intervals = sum(counts.size + 1 + sum(counts.shape) for counts in every)
    rare = math.log(2 * intervals / LUCK)

    def most(sums: Vector | float, choices: float = 0.0) -> Vector:
        return np.asarray(np.sqrt(2 * np.asarray(sums) * variance * (rare + choices)))

    for counts in every:
        if abs(float(counts.sum()) - people) > most(counts.size):
            return OTHER_PEOPLE
        if counts.min(initial=0) < -most(1) or counts.max(initial=0) > people + most(1):
            return LARGER
    for name in dict.fromkeys([*cells, *(name for table in tables for name in table.names)]):
        told = [(table.margin(name), most(table.cells(name))) for table in tables if name in table.names]
        if name in cells:
            own = cells[name]
            together = np.bincount(codes[name]).astype(np.float64)
            told.append((_summed(codes[name], own), most(together, len(own) * math.log(2))))
        low = np.max([values - b for values, b in told], axis=0)
        high = np.min([values + b for values, b in told], axis=0)
        if (np.maximum(low, 0) > np.minimum(high, people)).any():
            return LARGER
    return None


def _too_small(
    tables: list[_Table], cells: dict[str, Vector], codes: dict[str, Integers], people: int, variance: float
) -> str | None:
    alone, beyond = _sums(tables, cells, codes, people)
    small = any(
        less_than_noise(
            one.squares / variance,
            one.freedom,
            2 * one.freedom,
            one.cells / (4 * variance),
            LUCK / (len(alone) + len(beyond)),
        )
        for one in (*alone, *beyond)
    )
    return SMALLER if small else None


def least_noticed(fill: Fill, people: int, kept: Mapping[str, int]) -> float:
    """The σ below which noise that was really added is found to be less than is stated, but for one time in 1,000.

    With noise of τ instead of σ, a sum of f directions that hold nothing but noise is at most `most`·τ²·χ²_f.
    """
    from scipy.special import gammaincinv

    sizes = {**kept, **{one.name: one.size for one in fill.filled}}
    alone, beyond = _sums(*_told_in(fill, sizes), people)
    sigma, found = fill.noise.sigma, 0.0
    for one in alone:
        if one.freedom > 0:
            low, high = (
                2 * float(gammaincinv(one.freedom / 2, p)) for p in (LUCK / (len(alone) + len(beyond)), 1 - MISSED)
            )
            room = math.sqrt(low) - math.sqrt(one.cells) / (2 * sigma)
            found = max(found, sigma * room / math.sqrt(one.most * high))
    return found


def _sums(
    tables: list[_Table], cells: dict[str, Vector], codes: dict[str, Integers], people: int
) -> tuple[list[_Sum], list[_Sum]]:
    """Sums of squares that nothing but noise is in, and others."""
    every = [*(table.counts for table in tables), *cells.values()]
    everything = sum(counts.size for counts in every)
    totals = math.fsum((float(counts.sum()) - people) ** 2 / counts.size for counts in every)
    sums = [_Sum(totals, len(every), everything)]
    for name in dict.fromkeys(name for table in tables for name in table.names):
        told = [table for table in tables if name in table.names]
        own = [(_centred(table.margin(name)), 1 / table.cells(name)) for table in told]
        size = len(own[0][0])
        if name in cells:
            middle, freedom = _centred(_summed(codes[name], cells[name])), len(own) * (size - 1)
        else:
            middle = np.sum([w * values for values, w in own], axis=0) / math.fsum(w for _, w in own)
            freedom = (len(own) - 1) * (size - 1)
        squares = math.fsum(w * float(((values - middle) ** 2).sum()) for values, w in own)
        together = float(np.bincount(codes[name]).max()) if name in cells else 0.0
        most = 1 + together * math.fsum(w for _, w in own)
        sums.append(_Sum(squares, freedom, sum(table.counts.size for table in told), most))
    beyond = [table.beyond() for table in tables]
    beyond += [_Sum(float((_centred(own) ** 2).sum()), len(own) - 1, len(own)) for own in cells.values()]
    shared = _Sum(
        math.fsum(one.squares for one in sums),
        sum(one.freedom for one in sums),
        everything,
        max(one.most for one in sums),
    )
    whole = _Sum(
        shared.squares + math.fsum(one.squares for one in beyond),
        shared.freedom + sum(one.freedom for one in beyond),
        everything,
    )
    return [*sums, shared], [whole, *beyond]


def _summed(codes: Integers, counts: Vector) -> Vector:
    return np.asarray(np.bincount(codes, counts), dtype=np.float64)


def _centred(values: Vector) -> Vector:
    return np.asarray(values - values.mean())


def _flaw_in_chances(fill: Fill, people: int, sizes: Mapping[str, int]) -> str | None:
    """Whether other probabilities follow from the noisy tables."""
    sigma = fill.noise.sigma
    alone: dict[str, Vector] = {}
    for own in fill.inside:
        parts, (first, last) = own.parts, own.ends
        counts = own.counts.astype(np.float64)
        out = np.r_[0:first, len(parts) - last : len(parts)]
        if (counts[out] >= FAR * sigma * (1 + OF_WEIGHT)).any():
            return OTHER_CHANCES
        inner = np.setdiff1d(np.arange(len(counts)), out)
        counts[out], counts[inner] = 0, nearest_counts(counts[inner], people)
        widths = (parts[:, LAST] - parts[:, FIRST] + 1).astype(np.float64)
        if not _same(parts[:, WEIGHT], within_codes(parts[:, CODE], widths, counts[: len(parts)]), len(parts)):
            return OTHER_CHANCES
        alone[own.name] = _summed(own.codes(sizes[own.name]), counts)
    for one in fill.filled:
        again = in_parts(shrunk(_Table.of(one, sizes).counts, alone[one.name], sigma**2, people))
        if not _same(one.weights, again, one.size):
            return OTHER_CHANCES
    return None


def _same(weights: Integers, again: Integers, size: int) -> bool:
    """But for rounding: the rest of a sum of so many whole numbers is added to one of them."""
    return bool((np.abs(weights - again) <= size + OF_WEIGHT * again).all())
