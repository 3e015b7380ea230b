"""Rows as before: of a follow-up on what people were and what they are, who is unchanged, and which row repeats theirs.

A column c that was released before keeps its name for the values of then; today's are in "c now", those of a year later
in "c now 2", and so on. Somebody is unchanged if today's value of each column is the one before. Their row is as before
if it says what the release before said of them, in the old columns and in today's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.column import Column
from privacyfunnel.errors import InvalidInput
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Integers

NOW = " now"
"""What is put behind the name of a column for today's values; the years after have a number behind it."""


def later(name: str) -> str:
    """The name of a column's values at the next release.

    >>> later("town"), later("town now"), later("town now 2")
    ('town now', 'town now 2', 'town now 3')
    """
    found = re.fullmatch(rf"(.*){NOW}(?: (\d+))?", name, re.DOTALL)
    return f"{found[1]}{NOW} {int(found[2] or 1) + 1}" if found else name + NOW


def base(name: str) -> str:
    """The column of a table whose values a column holds, those of some year.

    >>> base("town"), base("town now"), base("town now 2")
    ('town', 'town', 'town')
    """
    return re.sub(rf"{NOW}(?: \d+)?\Z", "", name)


def generation_of(name: str) -> int:
    """Which of the tables so far a column has its values of, from 0.

    >>> generation_of("town"), generation_of("town now"), generation_of("town now 2")
    (0, 1, 2)
    """
    found = re.search(rf"{NOW}(?: (\d+))?\Z", name)
    return int(found[1] or 1) if found else 0


@dataclass(frozen=True, eq=False)
class Pair:
    """A column as it was, and as it is today."""

    was: Column
    today: Column
    same: Integers
    """For every value of the former, the same value of the latter; −1 if that has none."""

    def unchanged(self, was: Integers, today: Integers) -> NDArray[np.bool_]:
        """Where today's value is the one before; values that are neither's are taken for changed."""
        return np.asarray((was >= 0) & (today >= 0) & (self.same[was] == today))


@dataclass(frozen=True, eq=False)
class RowsBefore:
    """What a follow-up's values of X say of people who did not change."""

    pairs: tuple[Pair, ...]
    unchanged: NDArray[np.bool_]
    """unchanged[x]: whether the value x of X is that of people who did not change."""
    row: Integers
    """row[h]: the value that says again what the release before said to people with the history h; −1 if none does."""

    @classmethod
    def of(cls, before: Protocol, columns: Sequence[Column], codes: Integers, histories: Integers) -> RowsBefore:
        """Refused unless all columns are those of the release before, and today's of some of them."""
        released = {column.name: column for column in before.columns}
        names = [column.name for column in columns]
        absent = [name for name in released if name not in names]
        if absent:
            raise InvalidInput(f"column {absent[0]!r} was released before, and is not among the columns")
        todays = {later(name): name for name in released if later(name) in names and later(name) not in released}
        further = [name for name in names if name not in released and name not in todays]
        if further or not todays:
            what = f"column {further[0]!r} is neither" if further else "there is no column of today's"
            raise InvalidInput(
                "rows can stay what they were in a follow-up on the columns of the release before and today's values "
                f"of them, such as 'town' and 'town now', and {what}: let all rows be drawn instead"
            )
        for name, column in ((name, columns[names.index(name)]) for name in released):
            if _cut(column) != _cut(released[name]):
                raise InvalidInput(f"rows can stay what they were if column {name!r} is cut as it was before")
        place = {name: j for j, name in enumerate(names)}
        pairs = {today: _pair(columns[place[was]], columns[place[today]]) for today, was in todays.items()}
        written = _written(before, histories)
        wanted = np.empty((len(histories), len(names)), dtype=np.int64)
        for name, j in place.items():
            wanted[:, j] = pairs[name].same[written[todays[name]]] if name in pairs else written[name]
        known = {value: x for x, value in enumerate(map(tuple, codes.tolist()))}
        row = np.array([known.get(value, -1) for value in map(tuple, wanted.tolist())], dtype=np.int64)
        return cls(tuple(pairs.values()), _same(tuple(pairs.values()), columns, codes), row)

    def of_people(self, columns: Sequence[Column], codes: Integers) -> NDArray[np.bool_]:
        """Whether combinations codes[i, :] of values are those of people who did not change."""
        return _same(self.pairs, columns, codes)

    @classmethod
    def of_follow_up(cls, protocol: Protocol) -> RowsBefore | None:
        """Of a follow-up; None if its columns are not what people were and are, or it follows nothing."""
        if protocol.before is None:
            return None
        own = protocol.by_history
        try:
            return cls.of(protocol.before, own.columns, own.codes, own.histories)
        except InvalidInput:
            return None


def _same(pairs: Sequence[Pair], columns: Sequence[Column], codes: Integers) -> NDArray[np.bool_]:
    """Where today's value of each pair of columns is the one before."""
    place = {column.name: codes[:, j] for j, column in enumerate(columns)}
    found = np.ones(len(codes), dtype=bool)
    for pair in pairs:
        found &= pair.unchanged(place[pair.was.name], place[pair.today.name])
    return found


def _cut(column: Column) -> tuple[object, ...]:
    """How a column is cut."""
    return column.labels, column.edges, column.groups


def _pair(was: Column, today: Column) -> Pair:
    if was.edges != today.edges or was.groups != today.groups:
        return Pair(was, today, np.full(len(was), -1))
    place = {(type(label), label): i for i, label in enumerate(today.labels)}
    same = np.array([place.get((type(label), label), -1) for label in was.labels], dtype=np.int64)
    return Pair(was, today, same)


def _written(before: Protocol, histories: Integers) -> dict[str, Integers]:
    """For every history, the codes by which the last release's row was written, by column."""
    rows = before.step.written(histories[:, -1])
    return {column.name: rows[:, j] for j, column in enumerate(before.columns)}
