"""Spark for the command line: a session of its own, and files opened as `sources` opens them for DuckDB."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from privacyfunnel.errors import InvalidInput, InvalidTable, MissingExtra
from privacyfunnel.tables.csv_files import header, known_encoding
from privacyfunnel.tables.spark.source import SparkSource, clear_errors
from privacyfunnel.tables.spark.troubles import troubles

CHARSETS = {"utf-8": "UTF-8", "latin-1": "ISO-8859-1"}
MASTER = r"local(\[(\*|\d+)(,\d+)?\])?|(spark|k8s|sc)://\S+|yarn"
SETTINGS = {
    "spark.app.name": "funnel",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "OFF",  # Spark's messages quote the records that they stumble over
}


@contextmanager
def spark_session(master: str) -> Iterator[Any]:
    """A session at `master`, silent, and stopped at the end."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra("pyspark (4.0 or later)", "spark") from None
    if re.fullmatch(MASTER, master) is None:
        raise InvalidInput(f"--master is local[2], spark://host:7077, sc://host:15002, yarn or k8s://…; got {master!r}")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    refusals: tuple[type[Exception], ...] = (*troubles(), OSError)
    warnings.filterwarnings("ignore", category=FutureWarning, message="PySpark does not yet fully support pandas")
    try:
        with _silent_children():
            session = _started(SparkSession.builder, master)
    except refusals:
        raise InvalidInput(f"Spark did not start at {master}; is Java 17 installed, and the cluster up?") from None
    try:
        yield session
    finally:
        session.stop()


def _started(builder: Any, master: str) -> Any:
    """A session of our own or, of Spark Connect (sc://), one of a server, whose log is its own affair."""
    if not master.startswith("sc://"):
        return builder.master(master).config(map=SETTINGS).getOrCreate()
    session = builder.remote(master).getOrCreate()
    session.conf.set("spark.sql.session.timeZone", SETTINGS["spark.sql.session.timeZone"])
    return session


@contextmanager
def _silent_children() -> Iterator[None]:
    """Programs started in here have no standard error: Java's greetings would be taken for complaints."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def open_spark(
    session: Any, table: PurePath | str, delimiter: str | None = None, encoding: str = "utf-8"
) -> SparkSource:
    """Open Parquet (a file or a folder) or CSV, wherever the workers can read it. Text files are read as text."""
    place = address(table)
    kind = "".join(re.findall(r"\.[a-z]+", place.rstrip("/").lower().rpartition("/")[2])[-2:])
    with clear_errors(place):
        if kind.endswith((".parquet", ".pq")):
            return SparkSource.of(session.read.parquet(place), place)
        if kind.removesuffix(".gz").endswith((".csv", ".tsv", ".txt")):
            return _open_csv(session, place, delimiter, known_encoding(encoding))
    raise InvalidTable(f"{place} should end in .parquet, .csv, .csv.gz or .tsv for Spark")


def address(table: PurePath | str) -> str:
    """The table as Spark calls it; a path has lost one of the two slashes of hdfs://.

    A relative path is relative to us: Java may have been started elsewhere.
    """
    place = re.sub(r"^(?!file:)([a-z][a-z0-9+.-]+):/(?!/)", r"\1://", str(table))
    return place if re.match(r"[a-z][a-z0-9+.-]+:", place) else str(Path(place).absolute())


def _open_csv(session: Any, place: str, delimiter: str | None, encoding: str) -> SparkSource:
    """Quoted fields may hold line ends, so a CSV file is read by one task: keep what is large in Parquet."""
    names, delimiter = header(_first_line(session, place, encoding), place, delimiter)
    reader = session.read.options(
        encoding=CHARSETS[encoding],
        mode="FAILFAST",
        columnPruning=False,  # otherwise rows of another length pass
        sep=delimiter,
        quote='"',
        escape='"',
        multiLine=True,
        header=True,
        enforceSchema=True,
    )
    frame = reader.schema(", ".join(f"c{i} STRING" for i in range(len(names)))).csv(place)
    source = SparkSource.of(frame.toDF(*names), place, strict_text=encoding == "utf-8")
    return replace(source, types={})  # what a text file holds is text only for want of types


def _first_line(session: Any, place: str, encoding: str) -> str:
    row = session.read.text(place).selectExpr("cast(value as binary)").head()
    try:
        return bytes(row[0]).decode("utf-8-sig" if encoding == "utf-8" else encoding) + "\n" if row else ""
    except UnicodeDecodeError:
        raise InvalidTable(f"{place} is not {encoding} text; try --encoding latin-1") from None
