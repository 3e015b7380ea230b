"""DuckDB as we use it: a connection that leaves nothing behind, and errors that quote nothing."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from secrets import token_hex
from tempfile import mkdtemp
from threading import current_thread, main_thread
from typing import TypeVar

import duckdb
import pyarrow as pa

from privacyfunnel.distribution.column import EXACT
from privacyfunnel.errors import InvalidTable
from privacyfunnel.numeric.stopping import waiting

Result = TypeVar("Result")
NAME_BYTES = 8
"""Of a folder for one connection: no two are alike."""
AGAIN_SECONDS = 0.1
"""After this, a query that has not heard that it is to stop is told again."""


def connect() -> duckdb.DuckDBPyConnection:
    """A connection of its own, the same on every machine."""
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET TimeZone = 'UTC'")
    folder = _spill_folder()
    own = str(Path(folder, token_hex(NAME_BYTES))) if folder else ""  # none: what does not fit into memory is refused
    connection.execute(f"SET temp_directory = {literal(own)}")
    return connection


@cache
def _spill_folder() -> str | None:
    """Where DuckDB puts what does not fit into memory: nobody else may look there, and it goes with the process."""
    with waiting():  # a folder that is there but not yet registered would stay
        try:
            folder = mkdtemp(prefix="privacyfunnel-")
        except OSError:  # there is no place for temporary files
            return None
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder


def spill_file() -> Path:
    """Where a table lies while it is read, if DuckDB cannot read its own file; it goes with the process."""
    folder = _spill_folder()
    if folder is None:
        raise InvalidTable("there is no place for temporary files, which this kind of table needs; set TMPDIR")
    return Path(folder, token_hex(NAME_BYTES))


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def as_text(value: str, kind: str) -> str:
    """SQL of a value of this type as text, as `raw.as_text` writes it: 17.0 is 17, a time of midnight is its date.

    Not a number is a missing value.

    >>> as_text("c1", "VARCHAR"), as_text("c1", "BIGINT")
    ('CAST(c1 AS VARCHAR)', 'CAST(c1 AS VARCHAR)')
    """
    if kind in ("FLOAT", "DOUBLE"):
        whole = f"{value} = trunc({value}) AND abs({value}) < {EXACT}"
        return (
            f"CASE WHEN isnan({value}) THEN NULL WHEN {whole} THEN CAST(CAST({value} AS BIGINT) AS VARCHAR) "
            f"ELSE regexp_replace(CAST({value} AS VARCHAR), 'e([+-])0', 'e\\1') END"
        )
    if kind.startswith("TIMESTAMP"):
        return f"regexp_replace(CAST(CAST({value} AS TIMESTAMP) AS VARCHAR), ' 00:00:00$', '')"
    return f"CAST({value} AS VARCHAR)"


def hearing(connection: duckdb.DuckDBPyConnection, query: Callable[[], Result]) -> Result:
    """What the query returns. Ctrl-C, which only the main thread hears, interrupts it.

    In the main thread, DuckDB does not hear it while others of its threads have all the work.
    """
    if current_thread() is not main_thread():
        return query()
    with ThreadPoolExecutor(1) as other:
        running = other.submit(query)
        try:
            return running.result()
        except BaseException:
            while not running.done():
                connection.interrupt()  # and again, if it had not begun
                wait([running], timeout=AGAIN_SECONDS)
            raise


@contextmanager
def clear_errors(name: str) -> Iterator[None]:
    """DuckDB's and Arrow's complaints quote the data; ours only say which file and what kind of trouble."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError, MemoryError, UnicodeDecodeError) as trouble:
        if isinstance(trouble, MemoryError | duckdb.OutOfMemoryException) or _is_about_memory(trouble):
            raise MemoryError(f"the memory is used up by reading {name}") from None
        kind = type(trouble).__name__.removesuffix("Exception").removesuffix("Error")
        raise InvalidTable(
            f"{name} cannot be read as a table ({kind}); is it complete and of the right format?"
        ) from None
    except RuntimeError as trouble:
        if "interrupted" in str(trouble):  # what DuckDB makes of Ctrl-C
            raise KeyboardInterrupt from None
        if "start new thread" in str(trouble):
            raise MemoryError(f"the memory is used up by reading {name}") from None
        raise


def _is_about_memory(trouble: Exception) -> bool:
    """Whether an error of another name was for want of memory; threads cannot be started then, either."""
    words = str(trouble).lower()
    return any(sign in words for sign in ("out of memory", "bad_alloc", "allocate memory", "launch worker thread"))
