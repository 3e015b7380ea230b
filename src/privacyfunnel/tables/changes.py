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
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.rows_before import base, generation_of, later
from privacyfunnel.tables.database import as_text, clear_errors, hearing
from privacyfunnel.tables.internal_copy import packed
from privacyfunnel.tables.sources import Source, open_source
from privacyfunnel.tables.writing import check_output, format_of, plain, table_writer

THEN = "privacyfunnel_then"
CHUNK = "privacyfunnel_chunk"
BOTH = "privacyfunnel_both"
"""Names of tables and views in a connection of ours."""
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
    """Write the table of both into a file that only its owner may read, with the rows of `table` in their order.

    `was` is the table that was released before, or a list of them, the first one first.
    """
    target = Path(output)
    format_of(target)
    tables = (table, *tables_of(was))
    check_output(target, force, tuple(Path(path) for path in tables if isinstance(path, str | Path)))
    now, *then = (open_source(one, delimiter=delimiter, encoding=encoding) for one in tables)
    both, changes = joined(now, then, person, columns)
    batches = both.batches(both.columns)
    first = next(batches)
    with table_writer(target, as_plain(first.schema), {"mind": [PRIVATE]}, force, private=True) as write:
        for batch in (first, *batches):
            write(packed(batch) if format_of(target) == ".parquet" else batch)
    return changes


def joined(now: Source, then: Sequence[Source], person: str, columns: Sequence[str]) -> tuple[Source, Changes]:
    """Today's table with the columns as they were then, and as they are now; people must be there once in each.

    `columns` are those that were released before: "town" as the first of the tables has it, "town now" as the second
    does, and so on. Who is not in one of them has the value of the next that they are in, or today's.
    """
    names = _checked(now, then, person, columns)
    bases = tuple(dict.fromkeys(map(base, names)))
    for source in (now, *then):
        source.require([person, *bases])
    values, own = _read(now, then, person, bases)
    _check_people(now, f"{now.view} a", own, now.name)
    for i, source in enumerate(then):
        _check_people(now, f"{THEN}_{i}", "who", source.name)

    def valued(name: str, generation: int) -> str:
        """The value of a column as the table of a generation has it."""
        k, value = bases.index(name), values[name]
        for i in reversed(range(generation, len(then))):
            value = f"CASE WHEN r{i}.who IS NULL THEN {value} ELSE r{i}.t{k} END"
        return value

    old = {name: valued(base(name), generation_of(name)) for name in names}
    listed = [f"{old.get(name, f'a.c{i}')} AS c{i}" for i, name in enumerate(now.columns)]
    added = {name: old[name] for name in names if name not in now.columns}
    added |= {today: f"a.c{now.columns.index(base(today))}" for today in _todays(names)}
    listed += [f"{value} AS c{len(now.columns) + k}" for k, value in enumerate(added.values())]
    known, always = (word.join(f"r{i}.who IS NOT NULL" for i in range(len(then))) for word in (" OR ", " AND "))
    differ = " OR ".join(f"{values[name]} IS DISTINCT FROM {valued(name, len(then) - 1)}" for name in bases)
    joins = " ".join(f"LEFT JOIN {THEN}_{i} r{i} ON {own} = r{i}.who" for i in range(len(then)))
    _execute(
        now,
        f"CREATE OR REPLACE TEMP VIEW {BOTH} AS SELECT {', '.join(listed)}, NOT ({known}) AS is_new, "
        f"({known}) AND ({differ}) AS is_changed, ({always}) AS is_known "
        f"FROM (SELECT *, row_number() OVER () AS place FROM {now.view}) a {joins} ORDER BY a.place",
    )
    counted = f"SELECT count(*), count(*) FILTER (is_new), count(*) FILTER (is_changed) FROM {BOTH}"
    ((rows, new, changed),) = now.rows(counted)
    everybody = " UNION ".join(f"SELECT who FROM {THEN}_{i}" for i in range(len(then)))
    ((before,),) = now.rows(f"SELECT count(*) FROM ({everybody})")
    source = replace(now, columns=(*now.columns, *added), view=BOTH, _held=set())
    return source, Changes(new, rows - new - changed, changed, before - (rows - new), _todays(names))


def as_it_was(
    now: Source, was: Any, protocol: Protocol, person: str | None, delimiter: str | None, encoding: str
) -> tuple[Source, Changes]:
    """Today's table beside what its people were, in the columns that a follow-up's earlier releases had."""
    if protocol.before is None or person is None:
        raise InvalidInput("was is for a follow-up on what people were and are, and for people who are named (person)")
    then = [open_source(one, delimiter=delimiter, encoding=encoding) for one in tables_of(was)]
    return joined(now, then, person, protocol.before.attributes)


def check_all_known(source: Source) -> None:
    """Refuse people of whom something was released if a table of then lacks them: what they were is not known."""
    ((unknown,),) = source.rows(f"SELECT count(*) FILTER (NOT is_known) FROM {BOTH}")
    if unknown:
        raise InvalidTable(
            f"something was released before of {unknown:,} people in {source.name} who are not in every table of then: "
            "give each as it was when it was released, and leave out people who were in none (--was)",
            steward_only=True,
        )


def check_joined(source: Source, protocol: Protocol) -> None:
    """Refuse today's table by itself where a protocol is about what people were, too."""
    if protocol.before is None:
        return
    todays = {later(name) for name in protocol.before.attributes} - set(protocol.before.attributes)
    lacking = [name for name in protocol.attributes if name in todays and name not in source.columns]
    if lacking and base(lacking[0]) in source.columns:
        raise InvalidInput(
            f"the protocol is about what people were and what they are ({lacking[0]!r}): give the table of then, too, "
            "as it was when it was released (--was)"
        )


def tables_of(was: Any) -> list[Any]:
    """The tables of then, the first one first."""
    return list(was) if isinstance(was, list | tuple) else [was]


def _checked(now: Source, then: Sequence[Source], person: str, columns: Sequence[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(columns))
    if not names or person in names:
        raise InvalidInput("name the columns that were released before, and not the one that says who people are")
    years = 1 + max(map(generation_of, names))
    if len(then) != years:
        raise InvalidInput(
            f"the columns that were released before hold values of {years} tables, and {len(then)} are given (--was): "
            "give each of them, as it was when it was released, the first one first"
        )
    taken = [name for name in (*names, *_todays(names)) if name != base(name) and name in now.columns]
    if taken:
        raise InvalidInput(f"{now.name} has a column {taken[0]!r} already; rename it")
    return names


def _todays(names: Sequence[str]) -> tuple[str, ...]:
    """What today's values of columns are called: after the last name that each has had so far."""
    return tuple(dict.fromkeys(later(name) for name in names if later(name) not in names))


def _read(now: Source, then: Sequence[Source], person: str, names: Sequence[str]) -> tuple[dict[str, str], str]:
    """Have the old tables' values beside today's; SQL of today's values of the columns, and of who somebody is.

    All values of a column are of its type if that is the same in all tables, and otherwise texts: a number in one file
    may be a text in the other.
    """
    today = [f"a.c{now.columns.index(name)}" for name in (*names, person)]
    *kinds, who = _types(now, f"SELECT {', '.join(today)} FROM {now.view} a")
    tables = [_held(now, f"{THEN}_{i}", source, person, names) for i, source in enumerate(then)]
    values = dict(zip(names, today, strict=False))
    for k, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        if any(types[k] != kind for types in tables):
            values[name] = as_text(today[k], kind)
            for i, types in enumerate(tables):
                text = as_text(f"t{k}", types[k])
                _execute(now, f"ALTER TABLE {THEN}_{i} ALTER t{k} TYPE VARCHAR USING {text}")
    return values, as_text(today[-1], who)


def _held(now: Source, table: str, source: Source, person: str, names: Sequence[str]) -> list[str]:
    """Put the people and values of another table into one beside today's; the types of the values."""
    listed, types = [f"t{k}" for k in range(len(names))], list[str]()
    for batch in source.batches([person, *names]):
        whole = plain(batch, as_plain(batch.schema))
        now.connection.register(CHUNK, pa.table(whole.columns, names=["person", *listed]))
        if not types:
            who, *types = _types(now, f"SELECT person, {', '.join(listed)} FROM {CHUNK}")
            columns = ", ".join(f"{name} {kind}" for name, kind in zip(listed, types, strict=True))
            _execute(now, f"CREATE OR REPLACE TEMP TABLE {table} (who VARCHAR, {columns})")
        _execute(now, f"INSERT INTO {table} SELECT {as_text('person', who)}, {', '.join(listed)} FROM {CHUNK}")
        now.connection.unregister(CHUNK)
    return types


def _types(source: Source, query: str) -> list[str]:
    return [str(row[1]) for row in source.rows(f"DESCRIBE {query}")]


def _check_people(now: Source, table: str, text: str, name: str) -> None:
    counted = f"SELECT count(*), count(nullif({text}, '')), count(DISTINCT nullif({text}, '')) FROM {table}"
    ((rows, named, different),) = now.rows(counted)
    if different < rows:
        raise InvalidTable(
            f"{name} has {rows - named:,} rows without a person and {named - different:,} of persons who are there "
            "twice: one row for each can be followed",
            steward_only=True,
        )


def _execute(source: Source, sql: str) -> None:
    with clear_errors(source.name):
        hearing(source.connection, lambda: source.connection.execute(sql))


def as_plain(schema: pa.Schema) -> pa.Schema:
    """Columns as plain values."""
    kinds = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in schema]
    return pa.schema(list(zip(schema.names, kinds, strict=True)))
