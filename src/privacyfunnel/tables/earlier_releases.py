"""Earlier releases, joined by person: what was released of everybody in a table.

Released rows are read back as outputs, and only these numbers and the persons go into DuckDB, which joins them with the
table and spills what does not fit into memory.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.protocols.file import digest_of
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.database import as_text, clear_errors, connect, hearing
from privacyfunnel.tables.reading_back import released_outputs
from privacyfunnel.tables.sources import Source
from privacyfunnel.typing import Integers

JOINED = "privacyfunnel_joined"
EARLIER = "privacyfunnel_earlier"
KNOWN = "privacyfunnel_known"
CHUNK = "privacyfunnel_chunk"
"""Names of tables and views in a connection of ours."""


@dataclass(frozen=True, eq=False)
class Earlier:
    """Releases that are read into the table EARLIER of a connection: persons, and their outputs in all of them."""

    connection: duckdb.DuckDBPyConnection
    name: str
    """For messages."""
    person: str
    delimiter: str | None = None
    encoding: str = "utf-8"

    def read(self, protocols: Sequence[Protocol], released: Sequence[Any]) -> list[str]:
        """Read all releases, the first one first; the names of the columns of outputs."""
        if len(released) != len(protocols):
            raise InvalidInput(
                f"there were {len(protocols)} releases before, and {len(released)} released tables are given: give all "
                "of them, from the first on"
            )
        names: list[str] = []
        tables = ""
        for i, (protocol, table) in enumerate(zip(protocols, released, strict=True)):
            names.append(f"y{i}")
            self._read_one(protocol, table, f"{EARLIER}_{i}", names[-1])
            tables += f" JOIN {EARLIER}_{i} USING (person)" if tables else f"{EARLIER}_{i}"
        self.execute(f"CREATE OR REPLACE TEMP TABLE {EARLIER} AS SELECT person, {', '.join(names)} FROM {tables}")
        return names

    def _read_one(self, protocol: Protocol, table: Any, part: str, name: str) -> None:
        """One release as a table of persons and outputs, each person once."""
        _check_drawn_by(protocol, table)
        self.execute(f"CREATE OR REPLACE TEMP TABLE {part} (person VARCHAR, {name} BIGINT)")
        layout: dict[str, Any] = {"delimiter": self.delimiter, "encoding": self.encoding}
        for persons, y in released_outputs(protocol, table, self.person, **layout):
            self.connection.register(CHUNK, pa.table({"person": persons, name: y[:, 0]}))
            self.execute(f"INSERT INTO {part} SELECT nullif(person, ''), {name} FROM {CHUNK}")
            self.connection.unregister(CHUNK)
        counted = f"SELECT count(*), count(person), count(DISTINCT person) FROM {part}"
        rows, named, different = self.connection.execute(counted).fetchall()[0]
        if different < rows:
            raise InvalidTable(
                f"a released table has {rows - named:,} rows without a person and {named - different:,} of persons who "
                "are there twice",
                steward_only=True,
            )

    def execute(self, sql: str) -> None:
        """Run a statement; Ctrl-C ends it."""
        with clear_errors(self.name):
            hearing(self.connection, lambda: self.connection.execute(sql))


def _check_drawn_by(protocol: Protocol, table: Any) -> None:
    """Refuse a copy that says itself that another protocol drew it; Parquet files of ours say which one did."""
    if not isinstance(table, str | Path) or not str(table).lower().endswith((".parquet", ".pq")):
        return
    try:
        told = json.loads((pq.read_metadata(table).metadata or {}).get(b"privacyfunnel", b"{}"))
    except (OSError, ValueError, pa.ArrowInvalid):
        return  # what cannot be read is refused when its rows are
    if isinstance(told, dict) and told.get("protocol") not in (None, digest_of(protocol)):
        raise InvalidTable(f"{table} was drawn by another protocol than the one that is followed; give the right one")


def tables_of(released: Any) -> list[Any]:
    """The earlier released tables, the first one first."""
    return list(released) if isinstance(released, list | tuple) else [released]


def histories_released(
    after: Protocol, released: Sequence[Any], person: str, *, delimiter: str | None = None, encoding: str = "utf-8"
) -> tuple[Integers, Integers]:
    """histories[i], what was released of people up to the release of `after`, each once, and of how many people."""
    earlier_ones = Earlier(connect(), "the released table", person, delimiter, encoding)
    names = ", ".join(earlier_ones.read((*after.earlier, after), released))
    counted = f"SELECT {names}, count(*) FROM {EARLIER} GROUP BY {names} ORDER BY {names}"
    found = np.array(earlier_ones.connection.execute(counted).fetchall(), dtype=np.int64)
    if not len(found):
        raise InvalidTable("nobody is in all of the released tables")
    return found[:, :-1], found[:, -1]


def with_histories(
    source: Source, follow_up: Protocol, released: Sequence[Any], person: str, delimiter: str | None, encoding: str
) -> Source:
    """The source with one column more: the number of each person's history among those of the follow-up.

    Rows keep their order. Refuses people who are twice in a table, or of whom nothing known was released, with counts.
    """
    source.require([person])
    check_no_history(source.columns, follow_up)
    read = Earlier(source.connection, source.name, person, delimiter, encoding)
    names, steps = read.read(tuple(follow_up.earlier), released), follow_up.by_history
    known = {name: steps.histories[:, j] for j, name in enumerate(names)}
    source.connection.register(KNOWN, pa.table({**known, "h": np.arange(len(steps.histories))}))
    own, number = f"c{source.columns.index(person)}", f"c{len(source.columns)}"
    ((kind,),) = source.rows(f"SELECT column_type FROM (DESCRIBE SELECT {own} FROM {source.view})")
    text, same = as_text(f"a.{own}", kind), " AND ".join(f"k.{name} = r.{name}" for name in names)
    read.execute(
        f"CREATE OR REPLACE TEMP VIEW {JOINED} AS "
        f"SELECT a.* EXCLUDE (place), k.h AS {number}, r.person IS NOT NULL AS met "
        f"FROM (SELECT *, row_number() OVER () AS place FROM {source.view}) a "
        f"LEFT JOIN {EARLIER} r ON {text} = r.person LEFT JOIN {KNOWN} k ON {same} ORDER BY a.place"
    )
    _check_people(source, text, number)
    return replace(source, columns=(*source.columns, steps.history), view=JOINED, _held=set())


def check_no_history(columns: Sequence[str], follow_up: Protocol) -> None:
    """Refuse a table with a column that would be taken for people's histories."""
    if follow_up.by_history.history in columns:
        raise InvalidTable(f"the table has a column {follow_up.by_history.history!r}, a name of ours; rename it")


def _check_people(source: Source, own: str, number: str) -> None:
    """Refuse a table in which some people cannot be followed; `own` is SQL of who somebody is."""
    text = f"nullif({own}, '')"
    counted = f"SELECT count(*), count({text}), count(DISTINCT {text}) FROM {source.view} a"
    ((rows, named, different),) = source.rows(counted)
    if different < rows:
        raise InvalidTable(
            f"{source.name} has {rows - named:,} rows without a person and {named - different:,} of persons who are "
            "there twice: one row for each is followed",
            steward_only=True,
        )
    ((met, known),) = source.rows(f"SELECT count(*) FILTER (met), count({number}) FROM {JOINED}")
    if met < rows:
        raise InvalidTable(
            f"of {rows - met:,} of {rows:,} people in {source.name} nothing was released before, so there is nothing "
            "to follow: release them by the first protocol, or leave them out",
            steward_only=True,
        )
    if known < rows:
        raise InvalidTable(
            f"of {rows - known:,} of {rows:,} people in {source.name} something was released that this follow-up was "
            "not fitted for: fit it with all that was released (--released), or leave them out",
            steward_only=True,
        )
