"""Fill: the columns of a row that are drawn from a private model, given the values that were released of the row.

What is drawn hangs on the released values, on what stands here and on fresh randomness, and on nothing else of the
person: so it tells nothing about the secret that they do not tell (docs/theory.md). All probabilities are in parts of
2³², as those of a channel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from privacyfunnel.distribution.column import EXACT, Column
from privacyfunnel.distribution.gaussian import LEAST_SIGMA, GaussianNoise
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.never import GONE, Never, leaves_a_value
from privacyfunnel.protocols.step import Spent
from privacyfunnel.typing import Integers

if TYPE_CHECKING:
    from privacyfunnel.protocols.protocol import Protocol

Grid = Literal["label", "integer", "number", "day"]
"""What the numbers of values stand for: places among labels, whole numbers, numbers with decimals, days since 1970."""
CODE, FIRST, LAST, WEIGHT = range(4)
"""What the four numbers of a part are."""
MOST_CELLS = 5_000_000
"""Probabilities in one table: more were made to fill up the memory."""
LARGEST = 2**62
"""Of a number on a grid."""
NOT_KEYED = (
    "filled columns are drawn anew for every release, so rows cannot be remembered with a key: sanitise without "
    "remember, or fit without filled columns"
)
NOT_ON_A_CLUSTER = "filled columns are drawn on this machine only: sanitise without --engine spark"


@dataclass(frozen=True, eq=False)
class Filled:
    """A column drawn by weights[a, v] / 2³² = P(v | a): a numbers the values of its parents together, in C order."""

    name: str
    parents: tuple[str, ...]
    """Kept columns, or filled ones that are drawn before."""
    weights: Integers
    counts: Integers
    """Of the same form: how many people have a and v, with noise. The weights follow from these."""

    @property
    def size(self) -> int:
        """How many values the model tells apart; each may stand for a range or a group."""
        return int(self.weights.shape[1])


@dataclass(frozen=True, eq=False)
class Inside:
    """How a value of the model, or the range of a kept column, becomes one that is written.

    A part is (code, first, last, weight): of rows with this code, weight / 2³² get a number from first to last, each
    equally often. A code without parts is written as missing.
    """

    name: str
    grid: Grid
    decimals: int
    """Of numbers: they are multiples of 10^-decimals."""
    column: Column | None
    """What the numbers stand for, if they are places among labels."""
    parts: Integers
    counts: Integers
    """How many people each part has, with noise, and last those of the code without parts, if there is one."""
    ends: tuple[int, int]
    """How many of the first and of the last parts are read as empty, since noise may have made their people up."""

    @property
    def drawn(self) -> Integers:
        """The parts that numbers are drawn from."""
        return np.asarray(self.parts[self.parts[:, WEIGHT] > 0])

    def codes(self, size: int) -> Integers:
        """The code of each count, for a column of so many codes."""
        without = np.flatnonzero(np.bincount(self.parts[:, CODE], minlength=size) == 0)
        return np.concatenate([self.parts[:, CODE], without])


@dataclass(frozen=True)
class FillNoise:
    """The privacy of the fill's tables: what they add to ε₀ and δ₀ of the kept columns."""

    epsilon: float
    delta: float
    choosing: float
    """The part of this ε₀ that was spent on choosing parents."""
    sigma: float
    """Of the discrete Gaussian noise on every cell."""
    tables: int
    """How many tables everybody is counted in."""

    def beside(self, kept: Spent) -> Spent:
        """What the whole file tells, with what the kept columns spent."""
        return replace(kept, epsilon=kept.epsilon + self.epsilon, delta=kept.delta + self.delta)

    def kept(self, before: float, level: float) -> bool:
        """Whether noise of this size has this δ₀ at this ε₀, after a fit with ε₀ = `before`, for such a promise."""
        if self.sigma < LEAST_SIGMA:
            return False
        noise = GaussianNoise(self.sigma, self.tables, self.delta, before + self.choosing)
        return noise.kept(before + self.epsilon, level)


@dataclass(frozen=True, eq=False)
class Fill:
    """All of it, and the order in which the columns of the released table stand."""

    filled: tuple[Filled, ...]
    """In the order in which they are drawn."""
    inside: tuple[Inside, ...]
    """Of every filled column, and of kept columns whose ranges are written as numbers."""
    order: tuple[str, ...]
    noise: FillNoise
    never: Never | None = None
    """What no filled row is."""

    def drawing(self, kept: Sequence[str]) -> tuple[str, ...]:
        """All columns in the order in which they are drawn."""
        return tuple(dict.fromkeys([*kept, *(one.name for one in self.filled)]))

    @property
    def names(self) -> tuple[str, ...]:
        """The filled columns, as they stand in the table."""
        drawn = {one.name for one in self.filled}
        return tuple(name for name in self.order if name in drawn)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The kept columns that are written more finely: by a value drawn within the range or group that is kept."""
        return tuple(one.name for one in self.inside if one.name not in self.names)

    def within(self, name: str) -> Inside | None:
        """How the codes of a column become values, if not by its labels."""
        return next((one for one in self.inside if one.name == name), None)

    def words(self) -> str:
        """Which columns are filled, for people."""
        parts = []
        if self.filled:
            parts.append(
                f"Filled columns ({', '.join(self.names)}): drawn from a private model, given the released values of "
                "the row. They tell nothing more about the secret."
            )
        if self.numbers:
            parts.append(
                f"Kept more coarsely than written ({', '.join(self.numbers)}): the range or group of values is kept, "
                "the value in it is drawn from a private histogram."
            )
        if self.never is not None:
            parts.append(f"No row fulfils the condition {self.never.words}: filled columns are drawn so.")
        return " ".join(parts)

    def check(self, protocol: Protocol) -> None:
        """Refuse a fill that does not fit the protocol that it belongs to."""
        if protocol.before is not None:
            raise InvalidProtocol("columns are filled in a first release only: a follow-up would draw them anew")
        if protocol.variant is not None:
            raise InvalidProtocol("filled columns need rows without variants: fit with the objective faithful")
        if not protocol.private:
            raise InvalidProtocol("filled columns belong to private fits")
        kept = {column.name: len(column) for column in protocol.columns}
        _check_order(self, set(kept))
        sizes = dict(kept)
        for one in self.filled:
            _check_filled(one, sizes)
            sizes[one.name] = one.size
        if {one.name for one in self.inside} - set(kept) != {one.name for one in self.filled}:
            raise InvalidProtocol("it is not said how the values of a filled column are written")
        if len({one.name for one in self.inside}) < len(self.inside):
            raise InvalidProtocol("it is said twice how the values of a column are written")
        for own in self.inside:
            _check_inside(own, sizes[own.name])
        if self.noise.tables != len(self.inside) + len(self.filled):
            raise InvalidProtocol("the noise of filled columns is not that of as many tables as there are")
        secrets = {reading.name for reading in protocol.secret_readings}
        if secrets & set(self.order):
            raise InvalidProtocol("the secret itself is among the filled columns")
        _check_ranges(self, protocol.columns)
        if self.never is not None:
            _check_never(self, self.never, [*kept])


def _check_order(fill: Fill, kept: set[str]) -> None:
    drawn = [one.name for one in fill.filled]
    if kept & set(drawn) or len(set(drawn)) < len(drawn):
        raise InvalidProtocol("a column is filled twice, or both kept and filled")
    if sorted(fill.order) != sorted([*kept, *drawn]):
        raise InvalidProtocol("the order of the columns is not that of those that are kept and filled")


def _check_filled(one: Filled, sizes: Mapping[str, int]) -> None:
    if any(parent not in sizes for parent in one.parents) or len({*one.parents}) < len(one.parents):
        raise InvalidProtocol("a column is filled given another that is not drawn before")
    if math.prod(sizes[parent] for parent in one.parents) != len(one.weights) or one.weights.size > MOST_CELLS:
        raise InvalidProtocol("a table of a filled column does not fit its parents")
    if one.counts.shape != one.weights.shape or (np.abs(one.counts) > EXACT).any():
        raise InvalidProtocol("the noisy counts of a filled column do not fit its table")
    if (one.weights < 0).any() or (one.weights.sum(axis=1) != UNIT).any():
        raise InvalidProtocol("a table of a filled column is no distribution")


def _check_inside(one: Inside, size: int) -> None:
    parts = one.parts
    if (one.grid == "label") != (one.column is not None) or (one.column is not None and one.column.name != one.name):
        raise InvalidProtocol("labels belong to columns that are written as such")
    if one.decimals and one.grid != "number":
        raise InvalidProtocol("decimals belong to numbers")
    codes, first, last, weight = parts.T
    if (codes < 0).any() or (codes >= size).any() or (np.diff(codes) < 0).any():
        raise InvalidProtocol("parts of a value are out of order, or of a value that is none")
    if (first > last).any() or (np.abs(parts[:, FIRST : LAST + 1]) > LARGEST).any() or (weight < 0).any():
        raise InvalidProtocol("a part of a value is no range of numbers")
    if one.column is not None and ((first < 0).any() or (last >= len(one.column)).any()):
        raise InvalidProtocol("a part of a value has a label that its column does not have")
    if len(one.counts) != len(one.codes(size)) or len(one.counts) > len(parts) + 1 or min(one.ends) < 0:
        raise InvalidProtocol("the noisy counts of a column do not fit its parts")
    if (np.abs(one.counts) > EXACT).any() or sum(one.ends) > len(parts):
        raise InvalidProtocol("the noisy counts of a column do not fit its parts")
    if not set(np.bincount(codes, weight.astype(np.float64), size).astype(np.int64).tolist()) <= {0, UNIT}:
        raise InvalidProtocol("the parts of a value do not add up")


def _check_never(fill: Fill, never: Never, kept: Sequence[str]) -> None:
    """Each combination ends in a filled column, has each of its parts wholly or not at all, and leaves it a value."""
    if any(len({one.column for one in each}) < len(each) or not each for each in never.combinations):
        raise InvalidProtocol("a combination that never occurs names a column twice, or none")
    if not {*never.columns} <= {*fill.order}:
        raise InvalidProtocol("a combination that never occurs is about a column that is not released")
    for name, own in never.by_last(fill.drawing(kept)).items():
        inside = fill.within(name)
        if name in kept or inside is None:
            raise InvalidProtocol(
                "a combination that never occurs is about kept columns alone, and these are not drawn"
            )
        first, last = inside.parts[:, FIRST], inside.parts[:, LAST]
        for a, b in (ends for _, values in own for ends in values.ranges):
            if ((first <= b) & (last >= a) & ((first < a) | (last > b))).any():
                raise InvalidProtocol("a combination that never occurs cuts numbers that are drawn as one")
        size = next(one.size for one in fill.filled if one.name == name)
        missing = len(np.unique(inside.parts[:, CODE])) < size
        if not leaves_a_value(own, np.r_[first, [GONE] * missing]):
            raise InvalidProtocol(f"what is never to be leaves column {name!r} no value in some rows: say less")


def _check_ranges(fill: Fill, columns: Sequence[Column]) -> None:
    """Numbers that are written for a kept range must lie in it, so that a reader knows the range again."""
    for column in columns:
        own = fill.within(column.name)
        if own is None:
            continue
        missing = {column.labels.index(None)} if None in column.labels else set()
        if {*range(len(column))} - missing != {*own.parts[:, CODE].tolist()} - missing:
            raise InvalidProtocol("a kept range or group has no values")
        if own.grid in ("label", "day"):
            _check_values(own, column)
            continue
        if column.kind != "bins" or missing & {*own.parts[:, CODE].tolist()}:
            raise InvalidProtocol("only ranges of kept columns are written as numbers, and not what is missing")
        edges, scale = np.array(column.edges), 10.0**own.decimals
        for code, first, last, _ in own.parts.tolist():
            closed = code == len(edges) - 2
            if first / scale < edges[code] or not (last / scale < edges[code + 1] or closed):
                raise InvalidProtocol("a number would be written that is not in the range that is kept")


def _check_values(own: Inside, column: Column) -> None:
    """Values that are written for a kept group or time must be read as that again."""
    import pyarrow as pa

    dated = column.kind in ("year", "month") and own.grid == "day"
    if not dated and not (column.kind == "text" and column.other and own.column is not None):
        raise InvalidProtocol("a kept column is written as values that it does not have")
    for end in (FIRST, LAST):
        numbers = own.parts[:, end]
        if own.column is not None:
            texts = [own.column.labels[i] for i in numbers.tolist()]
        else:
            texts = np.datetime_as_string(numbers.astype("datetime64[D]")).tolist()
        if column.written_by_us.encode(pa.array(texts, pa.string())).tolist() != own.parts[:, CODE].tolist():
            raise InvalidProtocol("a value would be written that is not in the group that is kept")


def finest(names: Sequence[str], fill: Fill | None) -> tuple[str, ...]:
    """The columns of a released table: these, or with the filled ones, as the table has them."""
    return tuple(names) if fill is None else fill.order
