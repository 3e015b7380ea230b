"""Source: any table, opened for reading in DuckDB. Text files are read as text, with nothing guessed.

Inside DuckDB the columns are called c0, c1, …: it ignores the case of names, and ours may be any text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from weakref import finalize

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from privacyfunnel.distribution import raw
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.tables.converting import converted
from privacyfunnel.tables.csv_files import check_gzip, csv_layout
from privacyfunnel.tables.database import clear_errors, connect, hearing, literal
from privacyfunnel.tables.formats import OTHERS, READ, sheet_of
from privacyfunnel.tables.frames import taken_apart
from privacyfunnel.tables.grouping import Grouping
from privacyfunnel.tables.where import condition

BATCH_ROWS = 1 << 18
"""Read at a time: a few megabytes, and few enough calls that Python does not count."""
VIEW = "privacyfunnel_source"
HELD = "privacyfunnel_held"
KEPT = "privacyfunnel_kept"
AS_DUCKDB = {"coerce_int96_timestamp_unit": "us"}
"""Times that old writers put into 96 bits: nanoseconds would not hold the year 9999, and DuckDB counts microseconds."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Source(Grouping):
    """A table as the DuckDB view VIEW, with a connection of its own."""

    connection: duckdb.DuckDBPyConnection
    path: Path | None = None
    parquet: bool = False
    converted: bool = False
    """Whether its rows were put into another file, for DuckDB to read."""
    stamp: tuple[int, int, int] | None = None
    """What a file has while nobody changes it; see `_stamp`."""
    view: str = VIEW
    """Where its rows are: KEPT, if not all of them are meant."""
    _held: set[str] = field(default_factory=set)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a query on VIEW, once it is known that the file was read without a misfit."""
        with clear_errors(self.name):
            found = hearing(self.connection, lambda: self.connection.execute(sql).fetchall())
        self._read_well()
        return found

    def stream(self, sql: str, rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The result of a query on VIEW, batch by batch; misfits in a text file are reported at the end."""
        with clear_errors(self.name):
            for batch in self.connection.sql(sql).to_arrow_reader(rows):
                yield self._sound(batch)
        self._read_well()

    def batches(
        self, columns: Sequence[str], rows: int = BATCH_ROWS, plain: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """The columns, batch by batch, those in `plain` without a dictionary; a table without rows is refused."""
        found = False
        if self.parquet and self.view == VIEW:
            batches = self._parquet_batches(list(columns), rows, plain)
        else:
            batches = self._view_batches(list(columns), rows)
        for batch in batches:
            found = found or batch.num_rows > 0
            yield batch
        if not found:
            raise InvalidTable(f"{self.name} has a header but no rows")

    def _parquet_batches(self, columns: list[str], rows: int, plain: Sequence[str]) -> Iterator[pa.RecordBatch]:
        packed = [column for column in columns if column not in plain]
        with clear_errors(self.name), pq.ParquetFile(self.path, read_dictionary=packed, **AS_DUCKDB) as file:
            for batch in file.iter_batches(rows, columns=columns):
                yield self._sound(batch.select(columns))
        self._read_well()

    def _sound(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch itself. Nobody has looked yet whether the texts of a Parquet file are text."""
        if self.parquet:
            batch.validate(full=True)
        return batch

    def _view_batches(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        for batch in self.stream(f"SELECT {self._listed(columns)} FROM {self.view}", rows):
            yield batch.rename_columns(columns)

    def groups(self, columns: Sequence[str], most: int | None = None) -> Iterator[pa.RecordBatch]:
        listed, table = self._listed(columns), HELD if self._held.issuperset(columns) else self.view
        order = f"ORDER BY count(*) DESC, {listed} LIMIT {most}" if most is not None else ""
        yield from self.stream(f"SELECT {listed}, count(*) FROM {table} GROUP BY {listed} {order}")

    def distinct(self, columns: Sequence[str]) -> tuple[int, list[int]]:
        """The number of rows, and of different entries of each column."""
        counts = ", ".join(f"count(DISTINCT {self._listed([column])})" for column in columns)
        table = HELD if self._held.issuperset(columns) else self.view
        ((rows, *different),) = self.rows(f"SELECT count(*), {counts} FROM {table}")
        return int(rows), [int(count) for count in different]

    def where(self, text: str, secrets: Sequence[str] = ()) -> Source:
        """The rows that meet a condition, as typed. It must not be about secrets: who is released would tell them."""
        meant = condition(text, self.columns)
        self.require(sorted(meant.columns))
        hidden = sorted(meant.columns & set(secrets))
        if hidden:
            raise InvalidInput(
                f"--where is about the secret {hidden[0]!r}: that somebody is released would tell it; leave it out"
            )
        view = f"CREATE OR REPLACE TEMP VIEW {KEPT} AS SELECT * FROM {VIEW} WHERE {meant.sql}"
        with clear_errors(self.name):
            self.connection.execute(view)
        kept = replace(self, view=KEPT, _held=set())
        if not kept.rows(f"SELECT 1 FROM {KEPT} LIMIT 1"):
            raise InvalidTable(f"no row of {self.name} meets --where")
        return kept

    def hold(self, columns: Sequence[str]) -> None:
        """Only text files are held: other tables are read fast enough. DuckDB spills what is too much."""
        if self.path is None or self.parquet or self.converted:
            return
        table = f"CREATE OR REPLACE TEMP TABLE {HELD} AS SELECT {self._listed(columns)} FROM {self.view}"
        with clear_errors(self.name):
            hearing(self.connection, lambda: self.connection.execute(table))
        self._read_well()
        self._held.clear()
        self._held.update(columns)

    def _listed(self, columns: Sequence[str]) -> str:
        return ", ".join(f"c{self.columns.index(column)}" for column in columns)

    def _read_well(self) -> None:
        """Refuse a file that somebody changed meanwhile: it may have been read half old and half new."""
        if self.path is not None and self.stamp is not None and _stamp(self.path) != self.stamp:
            raise InvalidTable(f"{self.name} was changed while it was read; try again when it is complete")
        self._no_misfits()

    def _no_misfits(self) -> None:
        """Refuse a CSV file with rows that do not fit its header or its encoding."""
        if self.path is None or self.parquet:
            return
        tables = self.connection.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'reject_errors'")
        if not tables.fetchall()[0][0]:
            return
        kinds = dict(
            self.connection.execute(
                "SELECT error_type::VARCHAR, count(DISTINCT line) FROM reject_errors GROUP BY ALL ORDER BY ALL"
            ).fetchall()
        )
        if "INVALID ENCODING" in kinds:
            raise InvalidTable(
                f"{self.name} is not valid in this encoding ({kinds['INVALID ENCODING']} rows); try --encoding latin-1",
                steward_only=True,
            )
        if kinds:
            first = self.connection.execute("SELECT min(line) FROM reject_errors").fetchall()[0][0]
            raise InvalidTable(
                f"{sum(kinds.values())} rows of {self.name} do not fit its header or quoting "
                f"(first at line {first}); repair the file",
                steward_only=True,
            )


def open_source(
    table: Any,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    where: str | None = None,
    secrets: Sequence[str] = (),
) -> Source:
    """Open a path (see READ), a DataFrame, or what else speaks the Arrow C stream.

    Of its rows, those that meet the condition `where`, which is not about `secrets`.
    """
    if isinstance(table, Source):
        source = table
    elif isinstance(table, str | Path):
        source = _open_path(Path(table), delimiter, encoding)
    else:
        source = _open_object(table)
    return source if where is None else source.where(where, secrets)


def _open_path(path: Path, delimiter: str | None, encoding: str) -> Source:
    file, _ = sheet_of(path)
    _check_path(file)
    stamp = _stamp(file)
    if file.suffix.lower() in OTHERS:
        return _open_converted(path, file, stamp, encoding)
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    packed = suffixes[-1:] == [".gz"]
    kind = suffixes[-2] if packed and len(suffixes) > 1 else "".join(suffixes[-1:])
    options = {"hive_partitioning": "false"}
    unusable: dict[str, str] = {}
    types: dict[str, pa.DataType] = {}
    connection = connect()
    if packed:
        check_gzip(path)
    if kind in (".parquet", ".pq"):
        reader = "read_parquet"
        with clear_errors(str(path)), pq.ParquetFile(path) as file:
            names = list(file.schema_arrow.names)
            types = {column.name: column.type for column in file.schema_arrow}
            unusable = {f.name: raw.unusable(f.type) for f in file.schema_arrow if raw.unusable(f.type)}
    elif kind in (".jsonl", ".ndjson", ".json"):
        reader = "read_json"
        options |= {
            "format": "'newline_delimited'",
            "compression": "'gzip'" if packed else "'uncompressed'",
            "sample_size": "-1",  # the types are found in the whole file, not guessed from its beginning
            "dateformat": "'%Y-%m-%d'",
        }
        with clear_errors(str(path)):
            names, unusable = _json_columns(connection, path, options)
    elif kind in (".csv", ".tsv", ".txt"):
        reader = "read_csv"
        names, layout = csv_layout(path, delimiter, encoding)
        options |= layout | {"compression": "'gzip'" if packed else "'none'"}
    else:
        raise InvalidTable(f"{path} should end in {READ}")
    _check_names(names, str(path))
    aliases = ", ".join(f"c{i}" for i in range(len(names)))
    with clear_errors(str(path)):
        connection.execute(f"CREATE TEMP VIEW {VIEW} AS SELECT * FROM {_call(reader, path, options)} AS t({aliases})")
    return Source(
        connection=connection,
        columns=tuple(names),
        name=str(path),
        path=path,
        parquet=reader == "read_parquet",
        stamp=stamp,
        unusable=unusable,
        types=types,
    )


def _open_converted(path: Path, file: Path, stamp: tuple[int, int, int] | None, encoding: str) -> Source:
    """A file that DuckDB does not read, by way of Parquet."""
    found, connection = converted(path, encoding), connect()
    finalize(connection, found.held.unlink, missing_ok=True)
    _check_names(found.names, str(path))
    with clear_errors(str(path)):
        connection.execute(found.view(VIEW, _call("read_parquet", found.held, {"hive_partitioning": "0"})))
        kinds = connection.sql(f"SELECT * FROM {VIEW} LIMIT 0").to_arrow_table().schema.types
    return Source(
        connection=connection,
        columns=found.names,
        name=str(path),
        path=file,
        converted=True,
        stamp=stamp,
        types=dict(zip(found.names, kinds, strict=True)),
        about=found.about,
        notes=found.notes,
        codes=found.codes,
    )


def _check_path(path: Path) -> None:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InvalidTable("the name of the file is not valid UTF-8; rename it") from None
    try:
        if "\0" in str(path) or not path.exists():
            raise InvalidTable(f"there is no file {path}")
        if not path.is_file():
            raise InvalidTable(f"{path} is not a file")
        if path.stat().st_size == 0:
            raise InvalidTable(f"{path} is empty")
    except OSError as trouble:
        raise InvalidTable(f"{path} cannot be read: {trouble.strerror or 'input error'}") from None


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """Which file it is, how large, and when it was written; nothing if it is gone."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _check_names(names: Sequence[str], table: str) -> None:
    if not names:
        raise InvalidTable(f"{table} has no columns")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidTable(f"{table} has {len(twice)} column names twice; rename them")


def _json_columns(
    connection: duckdb.DuckDBPyConnection, path: Path, options: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """The names of the columns of a JSON file, and why some cannot be read."""
    relation = connection.sql(f"SELECT * FROM {_call('read_json', path, options)}")
    names = list(relation.columns)
    lowered = {name.lower() for name in names}
    if any(name.rpartition("_")[2].isdigit() and name.rpartition("_")[0].lower() in lowered for name in names):
        # DuckDB calls the second of two names that it takes for the same "name_1".
        listed = {key: value for key, value in options.items() if key in ("format", "compression")}
        keys = f"SELECT DISTINCT unnest(json_keys(json)) FROM {_call('read_json_objects', path, listed)}"
        if not set(names) <= {key for (key,) in connection.execute(keys).fetchall()}:
            raise InvalidTable(f"{path} has column names that differ only in case; rename them")
    unusable = {}
    for name, kind in zip(names, relation.types, strict=True):
        if str(kind).startswith(("STRUCT", "MAP", "UNION")) or str(kind).endswith("]"):
            unusable[name] = "holds nested values; flatten it first"
        elif str(kind) == "JSON":
            unusable[name] = "holds values of different types; give it one type"
    return names, unusable


def _open_object(table: Any) -> Source:
    names, arrays, unusable = taken_apart(table)
    _check_names(names, "the table")
    if not any(map(len, arrays)):
        raise InvalidTable("the table has no rows")
    found = {name: raw.unusable(array.type) for name, array in zip(names, arrays, strict=True)}
    unusable = {name: why for name, why in found.items() if why} | unusable
    held = {
        f"c{i}": array.cast(pa.float32()) if pa.types.is_float16(array.type) else array
        for i, (name, array) in enumerate(zip(names, arrays, strict=True))
        if name not in unusable
    }
    connection = connect()
    if held:
        connection.register(VIEW, pa.table(held))
    types = {name: array.type for name, array in zip(names, arrays, strict=True)}
    return Source(connection=connection, columns=tuple(names), name="the table", unusable=unusable, types=types)


def _call(reader: str, path: Path, options: Mapping[str, str]) -> str:
    listed = ", ".join(f"{key}={value}" for key, value in options.items())
    return f"{reader}({literal(_without_globs(str(path)))}, {listed})"


def _without_globs(path: str) -> str:
    """A path in which DuckDB finds no pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)
