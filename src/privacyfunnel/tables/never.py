"""Never: a condition that no filled row may fulfil, read into combinations of the values that rows are written in.

A condition is one on rows, as for `where`. Of every combination the last column that it names is filled, where the
columns that are kept are chosen. A comparison with a missing value is not fulfilled, only `is missing` is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.column import EXACT, Column
from privacyfunnel.errors import InvalidInput
from privacyfunnel.model.columns import NEAR, Counted, split
from privacyfunnel.protocols.never import Never, Values
from privacyfunnel.tables.database import connect
from privacyfunnel.tables.where import Part, condition, names_in

CALLED = "never"
MOST_COMBINATIONS = 200
"""Of one condition."""
Tests = tuple[Part, ...]
"""That a row passes all together; each is of one column."""


def named_last(text: str) -> tuple[str, ...]:
    """The last column of every combination that a condition makes.

    >>> named_last("age < 15 and (income > 0 or job is not missing)")
    ('income', 'job')
    """
    found = condition(text, names_in(text), CALLED)
    return tuple(dict.fromkeys(tests[-1].column for tests in _ways(found.whole)))


def declared(
    text: str, known: Sequence[str], counted: Sequence[Counted], kept: Sequence[Column]
) -> tuple[list[Counted], Never]:
    """What a condition on columns of a table forbids, and the columns with cells that each fulfil its tests or not.

    `counted` are those that are drawn, or written more finely than they are kept; `kept` are all that are kept.
    """
    found = condition(text, known, CALLED)
    ways = _ways(found.whole)
    own = {column.name: column for column in kept} | {one.name: one for one in counted}
    _check(ways, own, {column.name for column in kept})
    aliases = {name: f"c{i}" for i, name in enumerate(known)}
    for name, one in own.items():
        tests = [test for tests in ways for test in tests if test.column == name]
        if isinstance(one, Counted) and one.column is None and tests:
            own[name] = split(one, _borders(one, tests, aliases[name]))
    combinations = []
    for all_of in ways:
        names = dict.fromkeys(test.column for test in all_of)
        each = [_values(own[name], [t for t in all_of if t.column == name], aliases[name]) for name in names]
        if not any(values.none for values in each):
            combinations.append(tuple(each))
    if not combinations:
        raise InvalidInput(f"no row could fulfil {CALLED}: check the values that it names")
    cells = [one for one in (own[one.name] for one in counted) if isinstance(one, Counted)]
    return cells, Never(text, tuple(combinations))


def _ways(part: Part, turned: bool = False) -> list[Tests]:
    """The combinations of tests that each fulfil the condition, or its opposite."""
    if part.joined == "test":
        return [(Part(f"(NOT {part.sql})", "test", (), part.column, part.values) if turned else part,)]
    if part.joined == "not":
        return _ways(part.parts[0], not turned)
    each = [_ways(one, turned) for one in part.parts]
    many = math.prod(map(len, each)) if (part.joined == "and") != turned else sum(map(len, each))
    if many > MOST_COMBINATIONS:
        raise InvalidInput(f"{CALLED} makes more than {MOST_COMBINATIONS} combinations; say less")
    if (part.joined == "and") != turned:
        return [sum(some, ()) for some in product(*each)]
    return [tests for some in each for tests in some]


def _check(ways: Sequence[Tests], own: dict[str, Column | Counted], kept: set[str]) -> None:
    for tests in ways:
        for test in tests:
            one = own.get(test.column)
            if one is None:
                raise InvalidInput(f"{CALLED} is about {test.column!r}, which is not released")
            column = one if isinstance(one, Column) else one.column
            if column is not None and column.kind in ("bins", "year", "month"):
                raise InvalidInput(f"{CALLED} is about {test.column!r}, of which ranges are released: leave out ranges")
            if column is None and _of_numbers(one) and any(isinstance(value, str) for value in test.values):
                raise InvalidInput(f"{CALLED} compares {test.column!r} with a 'text', and its values are numbers")
        names = dict.fromkeys(test.column for test in tests)
        if set(names) <= kept:
            raise InvalidInput(
                f"{CALLED} is about columns that are all kept ({', '.join(map(repr, names))}): fill one of them"
            )


def _of_numbers(one: Column | Counted) -> bool:
    return isinstance(one, Counted) and one.grid in ("integer", "number")


def _borders(one: Counted, tests: Sequence[Part], alias: str) -> list[int]:
    """The numbers at which a test may begin to say something else."""
    if one.grid == "day":
        there = [(a, b) for code, a, b in zip(one.code, one.first, one.last, strict=True) if code != one.gone]
        days = np.unique(np.concatenate([np.arange(a, b + 1) for a, b in there]))
        told = np.stack([_held(test.sql, alias, _texts(one, days)) for test in tests])
        return [int(day) for day in days[1:][(told[:, 1:] != told[:, :-1]).any(axis=0)]]
    found = []
    for value in (float(value) for test in tests for value in test.values):
        z = value * 10.0**one.decimals
        if abs(z) < EXACT:
            near = round(z)
            found += [near, near + 1] if abs(z - near) < NEAR else [math.ceil(z)]
    return found


def _values(one: Column | Counted, tests: Sequence[Part], alias: str) -> Values:
    """The values that pass all tests."""
    sql = " AND ".join(test.sql for test in tests)
    column = one if isinstance(one, Column) else one.column
    if column is not None:
        texts = [None if label is None else str(label) for label in column.labels]
        places = np.arange(len(texts))
        return Values(one.name, _ranges(places, places, _held(sql, alias, texts)), False)
    cells = _Cells.of(one)
    ranges = _ranges(cells.first, cells.last, _held(sql, alias, _texts(cells.counted, cells.first)))
    return Values(one.name, ranges, cells.missing and bool(_held(sql, alias, [None])[0]))


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of a column that hold numbers, in order."""

    counted: Counted
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    missing: bool

    @classmethod
    def of(cls, one: Column | Counted) -> _Cells:
        if not isinstance(one, Counted):
            raise TypeError
        there = np.flatnonzero(one.code != one.gone)
        there = there[np.argsort(one.first[there], kind="stable")]
        return cls(one, one.first[there], one.last[there], one.gone >= 0)


def _ranges(first: NDArray[np.int64], last: NDArray[np.int64], held: NDArray[np.bool_]) -> tuple[tuple[int, int], ...]:
    """From where to where values hold, neighbours joined."""
    found: list[tuple[int, int]] = []
    for a, b in zip(first[held].tolist(), last[held].tolist(), strict=True):
        if found and found[-1][1] + 1 == a:
            found[-1] = (found[-1][0], b)
        else:
            found.append((a, b))
    return tuple(found)


def _texts(one: Counted, numbers: NDArray[np.int64]) -> list[str | None]:
    if one.grid == "day":
        return list(np.datetime_as_string(numbers.astype("datetime64[D]")).tolist())
    if one.decimals:
        return [repr(number / 10.0**one.decimals) for number in numbers.tolist()]
    return [str(number) for number in numbers.tolist()]


def _held(sql: str, alias: str, texts: Sequence[str | None]) -> NDArray[np.bool_]:
    """Which values of a column fulfil tests."""
    rows = connect().execute(
        f"SELECT coalesce({sql}, false) FROM (SELECT unnest(?::VARCHAR[]) AS {alias}, unnest(range(?)) AS place) "
        "ORDER BY place",
        [list(texts), len(texts)],
    )
    return np.array([one for (one,) in rows.fetchall()], dtype=bool)
