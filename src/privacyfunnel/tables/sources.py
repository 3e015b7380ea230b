"""Source: any table, opened for reading in DuckDB. Text files are read as text, with nothing guessed."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from privacyfunnel.errors import InvalidTable

BATCH_ROWS = 1 << 18
DELIMITERS = ",;\t|"
ENCODINGS = {"utf-8": "utf-8", "utf8": "utf-8", "latin-1": "latin-1", "latin1": "latin-1", "iso-8859-1": "latin-1"}
VIEW = "privacyfunnel_source"


@dataclass(frozen=True, eq=False)
class Source:
    """A table as a DuckDB view, with a connection of its own."""

    connection: duckdb.DuckDBPyConnection
    columns: tuple[str, ...]
    name: str
    """For messages."""
    path: Path | None = None
    parquet: bool = False

    def require(self, columns: Sequence[str]) -> None:
        """Refuse names that are not columns of the table."""
        for column in columns:
            if column not in self.columns:
                listed = ", ".join(self.columns[:20]) + (", …" if len(self.columns) > 20 else "")
                raise InvalidTable(f"{self.name} has no column {column!r}; its columns are {listed}")

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a query on VIEW, once it is known that the file was read without a misfit."""
        with _clear_errors(self.name):
            found = self.connection.sql(sql).fetchall()
        self._no_misfits()
        return found

    def stream(self, sql: str, rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The result of a query on VIEW, batch by batch; misfits in a text file are reported at the end."""
        with _clear_errors(self.name):
            yield from self.connection.sql(sql).to_arrow_reader(rows)
        self._no_misfits()

    def batches(self, columns: Sequence[str], rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The columns, batch by batch."""
        if self.parquet and self.path is not None:
            with _clear_errors(self.name):
                file = pq.ParquetFile(self.path, read_dictionary=list(columns))
                yield from file.iter_batches(rows, columns=list(columns))
        else:
            listed = ", ".join(quoted(column) for column in columns)
            yield from self.stream(f"SELECT {listed} FROM {VIEW}", rows)  # noqa: S608

    def count(self) -> int:
        """The number of rows."""
        return int(self.rows(f"SELECT count(*) FROM {VIEW}")[0][0])  # noqa: S608

    def _no_misfits(self) -> None:
        """Refuse a CSV file with rows that do not fit its header or its encoding."""
        tables = self.connection.sql("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'reject_errors'")
        if not tables.fetchall()[0][0]:
            return
        kinds = dict(
            self.connection.sql(
                "SELECT error_type::VARCHAR, count(DISTINCT line) FROM reject_errors GROUP BY ALL ORDER BY ALL"
            ).fetchall()
        )
        if "INVALID ENCODING" in kinds:
            raise InvalidTable(
                f"{self.name} is not valid in this encoding ({kinds['INVALID ENCODING']} rows); try --encoding latin-1"
            )
        if kinds:
            first = self.connection.sql("SELECT min(line) FROM reject_errors").fetchall()[0][0]
            raise InvalidTable(
                f"{sum(kinds.values())} rows of {self.name} do not fit its header or quoting "
                f"(first at line {first}); repair the file"
            )


def open_source(table: Any, *, delimiter: str | None = None, encoding: str = "utf-8") -> Source:
    """Open a path (CSV, CSV.GZ, Parquet, JSON lines), pandas, polars, Arrow, or a DuckDB relation."""
    if isinstance(table, Source):
        return table
    if isinstance(table, str | Path):
        return _open_path(Path(table), delimiter, encoding)
    return _open_object(table)


def _open_path(path: Path, delimiter: str | None, encoding: str) -> Source:
    if not path.exists():
        raise InvalidTable(f"there is no file {path}")
    if not path.is_file():
        raise InvalidTable(f"{path} is not a file")
    if path.stat().st_size == 0:
        raise InvalidTable(f"{path} is empty")
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    kind = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else "".join(suffixes[-1:])
    connection, literal = _connect(), _literal(_without_globs(str(path)))
    if kind in (".parquet", ".pq"):
        sql = f"read_parquet({literal})"
    elif kind in (".jsonl", ".ndjson", ".json"):
        sql = f"read_json({literal}, format='newline_delimited')"
    elif kind in (".csv", ".tsv", ".txt"):
        sql = _csv(path, delimiter, encoding)
    else:
        raise InvalidTable(f"{path} should end in .csv, .csv.gz, .tsv, .parquet or .jsonl")
    with _clear_errors(str(path)):
        connection.execute(f"CREATE TEMP VIEW {VIEW} AS SELECT * FROM {sql}")  # noqa: S608
        columns = tuple(connection.sql(f"SELECT * FROM {VIEW}").columns)  # noqa: S608
    return Source(connection, columns, str(path), path, kind in (".parquet", ".pq"))


def _csv(path: Path, delimiter: str | None, encoding: str) -> str:
    """The DuckDB call that reads the file as text: nothing is sniffed, so nothing is guessed wrong."""
    if encoding.lower() not in ENCODINGS:
        raise InvalidTable(f"encoding {encoding!r} is not one of utf-8 and latin-1")
    encoding = ENCODINGS[encoding.lower()]
    header, delimiter = _header(path, delimiter, encoding)
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise InvalidTable(f"{path} has {len(twice)} column names twice (first: {twice[0]!r}); rename them")
    types = ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in header)
    options = {
        "columns": f"{{{types}}}",
        "delim": _literal(delimiter),
        "quote": "'\"'",
        "escape": "'\"'",
        "encoding": _literal(encoding),
        "header": "true",
        "auto_detect": "false",
        "store_rejects": "true",
        "strict_mode": "true",
    }
    listed = ", ".join(f"{key}={value}" for key, value in options.items())
    return f"read_csv({_literal(_without_globs(str(path)))}, {listed})"


def _header(path: Path, delimiter: str | None, encoding: str) -> tuple[list[str], str]:
    """The column names and the delimiter: the one that splits the first line into the most fields."""
    try:
        with ExitStack() as stack:
            raw: Any = stack.enter_context(path.open("rb"))
            if path.suffix.lower() == ".gz":
                raw = stack.enter_context(gzip.open(raw))
            start = io.TextIOWrapper(raw, encoding="utf-8-sig" if encoding == "utf-8" else encoding).read(1 << 20)
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError) as broken:
        what = "is not valid gzip" if not isinstance(broken, UnicodeDecodeError) else f"is not {encoding} text"
        raise InvalidTable(f"{path} {what}; try --encoding latin-1 or repair the file") from None
    except OSError as broken:
        raise InvalidTable(f"{path} cannot be read: {broken.strerror or 'input error'}") from None
    if not start.strip():
        raise InvalidTable(f"{path} is empty")
    candidates = [delimiter] if delimiter else list(DELIMITERS)
    headers = {candidate: next(csv.reader(io.StringIO(start), delimiter=candidate)) for candidate in candidates}
    best = max(candidates, key=lambda candidate: len(headers[candidate]))
    return headers[best], best


def _open_object(table: Any) -> Source:
    connection = _connect()
    if isinstance(table, duckdb.DuckDBPyRelation):
        table = table.to_arrow_table()
    kind = type(table).__module__.split(".")[0]
    if kind == "pandas":
        names = [str(name) for name in table.columns]
        table = pa.Table.from_pandas(table.rename(columns=str), preserve_index=False)
    elif kind == "polars":
        names, table = list(table.columns), table.to_arrow()
    elif isinstance(table, pa.Table | pa.RecordBatch):
        names = list(table.schema.names)
    else:
        raise InvalidTable(f"a table is a path, a pandas, polars or Arrow table, not {type(table).__name__}")
    if len(set(names)) < len(names):
        raise InvalidTable("the table has the same column name twice; rename it")
    connection.register(VIEW, table)
    return Source(connection, tuple(names), "the table")


def _connect() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    return connection


def quoted(name: str) -> str:
    """A column name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _without_globs(path: str) -> str:
    """A path in which DuckDB finds no pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)


@contextmanager
def _clear_errors(name: str) -> Iterator[None]:
    """DuckDB's and Arrow's complaints quote the data; ours only say which file and what kind of trouble."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException) as trouble:
        kind = type(trouble).__name__.removesuffix("Exception").removesuffix("Error")
        raise InvalidTable(
            f"{name} cannot be read as a table ({kind}); is it complete and of the right format?"
        ) from None
