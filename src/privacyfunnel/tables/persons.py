"""Persons: several rows of each become one, by what the steward says; and how it is noticed that there are several."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.tables.changes import as_plain
from privacyfunnel.tables.database import as_text, clear_errors, literal
from privacyfunnel.tables.internal_copy import packed
from privacyfunnel.tables.left_out import numbers_people
from privacyfunnel.tables.profiling import MANY, NAME_OF_IDENTIFIERS, NEARLY_ALL
from privacyfunnel.tables.sources import Source, open_source
from privacyfunnel.tables.writing import check_output, format_of, table_writer
from privacyfunnel.typing import Integers

PERSONS = "privacyfunnel_persons"
KEY_BYTES = 16
"""Of what decides which row is the random one: nobody can guess it."""
YES = ("true", "t", "yes", "y", "1")
"""Texts and numbers that mean yes, in small letters."""
PRIVATE = "internal: one row of each person, as it is; for fit, sanitise and audit, and not for publication"

Pick = Literal["first", "last", "random"]
Rule = Literal["sum", "least", "largest", "most", "any"]
ORDER: dict[Pick, str] = {"first": "place", "last": "place DESC", "random": "md5(CAST(place AS VARCHAR) || {key})"}


@dataclass(frozen=True)
class Persons:
    """How many rows there were, and of how many people."""

    rows: int
    people: int
    most: int
    """Rows of the person with the most."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    def words(self) -> str:
        """The same in a line."""
        return f"{self.rows:,} rows of {self.people:,} people, {self.most:,} at most of one, are now one row each."


def write_persons(
    table: Any,
    output: str | Path,
    *,
    person: str,
    rows: Pick,
    merge: Mapping[str, Rule] | None = None,
    force: bool = False,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> Persons:
    """Write one row of each person into a file that only its owner may read, in the order of the table."""
    target = Path(output)
    format_of(target)
    check_output(target, force, (Path(table),) if isinstance(table, str | Path) else ())
    source, found = one_each(open_source(table, delimiter=delimiter, encoding=encoding), person, rows, merge or {})
    batches = source.batches(source.columns)
    first = next(batches)
    with table_writer(target, as_plain(first.schema), {"mind": [PRIVATE]}, force, private=True) as write:
        for batch in (first, *batches):
            write(packed(batch) if format_of(target) == ".parquet" else batch)
    return found


def one_each(source: Source, person: str, rows: Pick, merge: Mapping[str, Rule]) -> tuple[Source, Persons]:
    """The table with one row of each person: one of theirs, with the columns in `merge` made of all of theirs."""
    source.require([person, *merge])
    if person in merge:
        raise InvalidInput(f"{person!r} says whose rows they are, so it is not merged")
    own = f"c{source.columns.index(person)}"
    found = _counted(source, person, own)
    kinds = dict(zip(source.columns, _kinds(source), strict=True))
    listed = [
        f"{_merged(source, name, merge[name], kinds[name], own)} AS c{i}" if name in merge else f"c{i}"
        for i, name in enumerate(source.columns)
    ]
    key = literal(secrets.token_hex(KEY_BYTES))
    view = (
        f"CREATE OR REPLACE TEMP TABLE {PERSONS} AS SELECT {', '.join(listed)}, place, "
        f"row_number() OVER (PARTITION BY {own} ORDER BY {ORDER[rows].format(key=key)}) AS turn "
        f"FROM (SELECT *, row_number() OVER () AS place FROM {source.view})"
    )
    with clear_errors(source.name):
        source.connection.execute(view)
        source.connection.execute(f"DELETE FROM {PERSONS} WHERE turn > 1")
        source.connection.execute(
            f"CREATE OR REPLACE TEMP VIEW {PERSONS}_now AS SELECT * FROM {PERSONS} ORDER BY place"
        )
    return replace(source, view=f"{PERSONS}_now", _held=set()), found


def _counted(source: Source, person: str, own: str) -> Persons:
    """How many rows people have; refused where some have no name."""
    nobody = f"{own} IS NULL OR {as_text(own, 'VARCHAR')} = ''"
    ((nameless,),) = source.rows(f"SELECT count(*) FILTER ({nobody}) FROM {source.view}")
    if nameless:
        raise InvalidTable(
            f"{nameless:,} rows have no {person!r}, so it is not known whose they are", steward_only=True
        )
    counts = f"SELECT count(*) AS n FROM {source.view} GROUP BY {own}"
    ((rows, people, most),) = source.rows(f"SELECT sum(n), count(*), max(n) FROM ({counts})")
    return Persons(int(rows), int(people), int(most))


def _kinds(source: Source) -> list[str]:
    with clear_errors(source.name):
        found = source.connection.sql(f"SELECT * FROM {source.view} LIMIT 0")
    return list(map(str, found.types))[: len(source.columns)]


def _merged(source: Source, name: str, rule: Rule, kind: str, own: str) -> str:
    """SQL of what all rows of a person say in one column; nothing if none says anything."""
    column, whole = f"c{source.columns.index(name)}", f"OVER (PARTITION BY {own})"
    text = as_text(column, kind)
    if rule == "most":
        return f"mode({column}) {whole}"
    if rule == "any":
        yes = f"lower({text}) IN ({', '.join(map(literal, YES))})"
        return f"coalesce(max(CASE WHEN {yes} THEN {column} END) {whole}, {column})"
    number = f"TRY_CAST({text} AS DOUBLE)"
    ((others,),) = source.rows(
        f"SELECT count(*) FILTER ({number} IS NULL AND {column} IS NOT NULL AND {text} <> '') FROM {source.view}"
    )
    if others and rule == "sum":
        raise InvalidTable(
            f"{others:,} values of column {name!r} are no numbers, so they have no sum", steward_only=True
        )
    told = f"nullif({text}, '')" if others else number
    return f"{ {'sum': 'sum', 'least': 'min', 'largest': 'max'}[rule] }({told}) {whole}"


def refuse_several_rows(source: Source, released: Sequence[str], person: str | None) -> None:
    """Refuse a table in which people have several rows: in the column that says whose they are, or seems to."""
    if person is not None:
        source.require([person])
        rows, (people,) = source.distinct([person])
        if people < rows:
            raise InvalidTable(_several(source, person, rows, people), steward_only=True)
        return
    for name in source.columns:
        named = NAME_OF_IDENTIFIERS.search(name) is not None
        if name in source.unusable or not (named or name in released):
            continue
        rows, (different,) = source.distinct([name])
        if not MANY < different <= NEARLY_ALL * rows:
            continue
        if numbers_people(name, _rows_of_each(source, name)):
            raise InvalidTable(_several(source, name, rows, different), steward_only=True)


def _rows_of_each(source: Source, name: str) -> Integers:
    return np.concatenate([batch.column(1).to_numpy(zero_copy_only=False) for batch in source.groups([name])])


def _several(source: Source, name: str, rows: int, people: int) -> str:
    table, column = source.path or "TABLE", shlex.quote(name)
    return (
        f"column {name!r} has {people:,} different values in {rows:,} rows, so people may have several rows each, and "
        f"the promise is about one row; make one of them: funnel persons {table} --person {column} --rows first "
        "-o one-each.csv; or say that the row is what is protected: --set unit=row"
    )
