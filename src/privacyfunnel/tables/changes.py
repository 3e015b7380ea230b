"""Changes: one table of what people were and what they are, so that a follow-up can be fitted on both.

A column keeps its name for the values that were released before: those of the table of then or, for people who are new,
today's. Beside it stands "… now", with today's values for all. The release before was drawn from the former alone, so
everything that is promised of follow-ups holds for the two together, whoever changed and whatever that has to do with
the secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.tables.database import clear_errors, hearing
from privacyfunnel.tables.internal_copy import packed
from privacyfunnel.tables.sources import Source, open_source
from privacyfunnel.tables.writing import check_output, format_of, plain, table_writer

THEN = "privacyfunnel_then"
CHUNK = "privacyfunnel_chunk"
BOTH = "privacyfunnel_both"
"""Names of tables and views in a connection of ours."""
NOW = " now"
"""What is put behind the name of a column for today's values."""
PRIVATE = "internal: the values of people, then and now; for fit, sanitise and audit, and not for publication"


@dataclass(frozen=True)
class Changes:
    """How many people there are of each kind, and the columns that hold today's values."""

    new: int
    unchanged: int
    changed: int
    gone: int
    columns: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    def words(self) -> str:
        """The same in a line."""
        left = ", whose old row stays out in the world" if self.gone else ""
        known = f"{self.unchanged:,} unchanged, {self.changed:,} changed, {self.gone:,} gone{left}"
        return f"People: {self.new:,} new, {known}."


def write_changes(
    table: Any,
    was: Any,
    output: str | Path,
    *,
    person: str,
    columns: Sequence[str],
    force: bool = False,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> Changes:
    """Write the table of both into a file that only its owner may read, with the rows of `table` in their order."""
    target = Path(output)
    format_of(target)
    check_output(target, force, tuple(Path(path) for path in (table, was) if isinstance(path, str | Path)))
    now, then = (open_source(one, delimiter=delimiter, encoding=encoding) for one in (table, was))
    both, changes = joined(now, then, person, columns)
    batches = both.batches(both.columns)
    first = next(batches)
    with table_writer(target, _plain(first.schema), {"mind": [PRIVATE]}, force, private=True) as write:
        for batch in (first, *batches):
            write(packed(batch) if format_of(target) == ".parquet" else batch)
    return changes


def joined(now: Source, then: Source, person: str, columns: Sequence[str]) -> tuple[Source, Changes]:
    """Today's table with the columns as they were then, and as they are now; people must be there once in each."""
    names = tuple(dict.fromkeys(columns))
    if not names or person in names:
        raise InvalidInput("name the columns that were released before, and not the one that says who people are")
    for source in (now, then):
        source.require([person, *names])
    taken = [name + NOW for name in names if name + NOW in now.columns]
    if taken:
        raise InvalidInput(f"{now.name} has a column {taken[0]!r} already; rename it")
    kinds = _read(now, then, person, names)
    own = f"CAST(a.c{now.columns.index(person)} AS VARCHAR)"
    places = [now.columns.index(name) for name in names]
    for table, text in ((now.view, own.replace("a.", "")), (THEN, "who")):
        _check_people(now, table, text, now.name if table == now.view else then.name)
    own_values = [f"CAST(a.c{i} AS {kind})" for i, kind in zip(places, kinds, strict=True)]
    old = [f"CASE WHEN r.who IS NULL THEN {value} ELSE r.t{k} END" for k, value in enumerate(own_values)]
    kept = [f"{old[places.index(i)] if i in places else f'a.c{i}'} AS c{i}" for i in range(len(now.columns))]
    todays = [f"a.c{i} AS c{len(now.columns) + k}" for k, i in enumerate(places)]
    differ = " OR ".join(f"{value} IS DISTINCT FROM r.t{k}" for k, value in enumerate(own_values))
    _execute(
        now,
        f"CREATE OR REPLACE TEMP VIEW {BOTH} AS SELECT {', '.join([*kept, *todays])}, r.who IS NULL AS is_new, "
        f"r.who IS NOT NULL AND ({differ}) AS is_changed "
        f"FROM (SELECT *, row_number() OVER () AS place FROM {now.view}) a LEFT JOIN {THEN} r ON {own} = r.who "
        "ORDER BY a.place",
    )
    counted = f"SELECT count(*), count(*) FILTER (is_new), count(*) FILTER (is_changed) FROM {BOTH}"
    ((rows, new, changed),) = now.rows(counted)
    ((before,),) = now.rows(f"SELECT count(*) FROM {THEN}")
    todays_names = tuple(name + NOW for name in names)
    source = replace(now, columns=(*now.columns, *todays_names), view=BOTH, _held=set())
    return source, Changes(new, rows - new - changed, changed, before - (rows - new), todays_names)


def _read(now: Source, then: Source, person: str, names: Sequence[str]) -> list[str]:
    """Have the old table's values beside today's; of each column, as what both are compared.

    Its type if that is the same in both, and otherwise text: a number in one file may be a text in the other.
    """
    todays = _types(now, f"SELECT {', '.join(f'c{now.columns.index(name)}' for name in names)} FROM {now.view}")
    listed = [f"t{k}" for k in range(len(names))]
    kinds: list[str] = []
    for batch in then.batches([person, *names]):
        whole = plain(batch, _plain(batch.schema))
        now.connection.register(CHUNK, pa.table(whole.columns, names=["who", *listed]))
        if not kinds:
            old = _types(now, f"SELECT {', '.join(listed)} FROM {CHUNK}")
            kinds = [one if one == other else "VARCHAR" for one, other in zip(todays, old, strict=True)]
            columns = ", ".join(f"{name} {kind}" for name, kind in zip(listed, kinds, strict=True))
            _execute(now, f"CREATE OR REPLACE TEMP TABLE {THEN} (who VARCHAR, {columns})")
        _execute(now, f"INSERT INTO {THEN} SELECT * FROM {CHUNK}")
        now.connection.unregister(CHUNK)
    return kinds


def _types(source: Source, query: str) -> list[str]:
    return [str(row[1]) for row in source.rows(f"DESCRIBE {query}")]


def _check_people(now: Source, table: str, text: str, name: str) -> None:
    counted = f"SELECT count(*), count(nullif({text}, '')), count(DISTINCT nullif({text}, '')) FROM {table}"
    ((rows, named, different),) = now.rows(counted)
    if different < rows:
        raise InvalidTable(
            f"{name} has {rows - named:,} rows without a person and {named - different:,} of persons who are there "
            "twice: one row for each can be followed"
        )


def _execute(source: Source, sql: str) -> None:
    with clear_errors(source.name):
        hearing(source.connection, lambda: source.connection.execute(sql))


def _plain(schema: pa.Schema) -> pa.Schema:
    """Columns as plain values."""
    kinds = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in schema]
    return pa.schema(list(zip(schema.names, kinds, strict=True)))
