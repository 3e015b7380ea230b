"""SparkSource: a Spark DataFrame that the cluster groups and counts. The rows stay where they are.

Inside Spark the columns are called c0, c1, …: it ignores the case of names, and ours may be any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from privacyfunnel.distribution import raw
from privacyfunnel.errors import InvalidTable, MissingExtra, PrivacyFunnelError
from privacyfunnel.tables.counting import Counted, count_table
from privacyfunnel.tables.domain import Domain
from privacyfunnel.tables.fitting import Wishes
from privacyfunnel.tables.grouping import Grouping
from privacyfunnel.tables.spark.troubles import troubles

PIECE_ROWS = 1 << 18
"""Groups that the driver fetches at a time; what fits into one piece is fetched once."""
PLAIN_COLLATION = "UTF8_BINARY"
"""Texts are the same when their letters are: other collations would put different values into one group."""
COUNT = "n"
QUERY_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
NESTED = {"array", "map", "struct", "udt"}
"""Types that hold other values: none of them is one value of an attribute."""
USABLE = {
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal"),
    *("string", "varchar", "char", "date", "timestamp", "timestamp_ntz", "void"),
}
"""Types of Spark whose values `raw` can read."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SparkSource(Grouping):
    """A DataFrame with columns c0, c1, …, opened for counting; `close` frees what the cluster holds for it."""

    frame: Any
    strict_text: bool = False
    """Whether the replacement character can only mean that a text file is of another encoding."""
    _held: dict[frozenset[str], Any] = field(default_factory=dict)
    _fetched: dict[tuple[str, ...], list[pa.RecordBatch]] = field(default_factory=dict)

    @classmethod
    def of(cls, frame: Any, name: str = "the DataFrame", strict_text: bool = False) -> SparkSource:
        """Open a DataFrame of Spark."""
        check_frame(frame)
        from pyspark.sql.pandas.types import to_arrow_type
        from pyspark.sql.types import TimestampType

        kinds = {item.name: item.dataType for item in frame.schema.fields}
        if len(kinds) < len(frame.columns):
            raise InvalidTable(f"{name} has column names twice; rename them")
        unusable = {column: trouble for column, kind in kinds.items() if (trouble := _trouble(kind))}
        # Moments are released as days, months or years, never as what they were.
        plain = {column: kind for column, kind in kinds.items() if not isinstance(kind, TimestampType)}
        types = {column: to_arrow_type(kind) for column, kind in plain.items() if column not in unusable}
        return cls(
            frame=plain_columns(frame),
            columns=tuple(kinds),
            name=name,
            unusable=unusable,
            types=types,
            strict_text=strict_text,
        )

    def groups(self, columns: Sequence[str], most: int | None = None) -> Iterator[pa.RecordBatch]:
        from pyspark.sql import functions as F

        wanted = tuple(f"c{self.columns.index(column)}" for column in columns)
        if most is not None:
            order = [F.desc(COUNT), *(F.col(name).asc_nulls_last() for name in wanted)]
            yield from self._fetch(self._counted(wanted).orderBy(*order).limit(most))
            return
        if wanted not in self._fetched:
            counted = self._counted(wanted)
            head = self._fetch(counted.limit(PIECE_ROWS + 1))
            if sum(batch.num_rows for batch in head) > PIECE_ROWS:
                yield from self._pieces(counted, wanted)
                return
            self._fetched[wanted] = head
        yield from self._fetched[wanted]

    def hold(self, columns: Sequence[str]) -> None:
        """The table is read once: the cluster keeps the counts of all combinations, in memory or on disk."""
        wanted = tuple(f"c{self.columns.index(column)}" for column in columns)
        with clear_errors(self.name):
            self._held[frozenset(wanted)] = self._counted(wanted).persist()

    def close(self) -> None:
        """Let the cluster forget what it held."""
        with clear_errors(self.name):
            for held in self._held.values():
                held.unpersist()
        self._held.clear()
        self._fetched.clear()

    def _counted(self, wanted: tuple[str, ...]) -> Any:
        """The different rows of the columns, and COUNT."""
        from pyspark.sql import functions as F

        for columns, held in self._held.items():
            if columns.issuperset(wanted):
                return held.groupBy(*wanted).agg(F.sum(COUNT).alias(COUNT))
        return self.frame.groupBy(*wanted).agg(F.count(F.lit(1)).alias(COUNT))

    def _pieces(self, counted: Any, wanted: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """All groups, so many at a time that the driver can hold them."""
        from pyspark.sql import functions as F

        counted = counted.persist()
        try:
            with clear_errors(self.name):
                pieces = -(-counted.count() // PIECE_ROWS)
            for piece in range(pieces):
                yield from self._fetch(counted.where(F.pmod(F.xxhash64(*wanted), F.lit(pieces)) == piece))
        finally:
            counted.unpersist()

    def _fetch(self, frame: Any) -> list[pa.RecordBatch]:
        with clear_errors(self.name):
            batches: list[pa.RecordBatch] = frame.toArrow().to_batches()
        if self.strict_text and any(_replaced(column) for batch in batches for column in batch.columns[:-1]):
            raise InvalidTable(f"{self.name} is not valid in this encoding; try --encoding latin-1")
        return batches


def count_spark(
    frame: Any,
    secret: str | Sequence[str],
    attributes: str | Sequence[str] | None = None,
    *,
    wishes: Wishes | None = None,
    allow_secret_attribute: bool = False,
    domain: Domain | str | Path | None = None,
    with_identifiers: bool = True,
    leave_out: Sequence[str] = (),
) -> Counted:
    """Fit the columns of a DataFrame and count them on the cluster; see `count_table`."""
    source = frame if isinstance(frame, SparkSource) else SparkSource.of(frame)
    try:
        return count_table(
            source,
            secret,
            attributes,
            wishes=wishes,
            allow_secret_attribute=allow_secret_attribute,
            domain=domain,
            with_identifiers=with_identifiers,
            leave_out=leave_out,
        )
    finally:
        source.close()


def check_frame(frame: Any) -> None:
    """Refuse what is no finite DataFrame of Spark, be it of a classic session or of Spark Connect."""
    try:
        from pyspark.sql import DataFrame

        DataFrame.toArrow  # noqa: B018 - since 4.0
    except (ImportError, AttributeError):
        raise MissingExtra("pyspark (4.0 or later)", "spark") from None
    if not isinstance(frame, DataFrame):
        raise InvalidTable(f"this needs a DataFrame of Spark, not {type(frame).__name__}")
    if frame.isStreaming:
        raise InvalidTable("a streaming DataFrame has no end; use foreachBatch, with a release of its own each time")


def plain_columns(frame: Any) -> Any:
    """The DataFrame with columns c0, c1, …, and text compared letter by letter."""
    from pyspark.sql import functions as F

    named = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    for item in named.schema.fields:
        if getattr(item.dataType, "collation", PLAIN_COLLATION) != PLAIN_COLLATION:
            named = named.withColumn(item.name, F.collate(F.col(item.name), PLAIN_COLLATION))
    return named


def _trouble(kind: Any) -> str:
    """Why a column of this Spark type cannot be read; empty if it can."""
    word = re.split(r"[^a-z_]", kind.simpleString(), maxsplit=1)[0]
    if word in NESTED:
        return "holds nested values; flatten it first"
    if word == "binary":
        return "holds bytes; turn them into text first"
    return "" if word in USABLE else f"is of type {word}, which cannot be read; turn it into text"


def _replaced(column: pa.Array) -> bool:
    import pyarrow.compute as pc

    return raw.is_text(column.type) and bool(pc.any(pc.match_substring(column, "\ufffd")).as_py())


@contextmanager
def clear_errors(name: str) -> Iterator[None]:
    """Spark's complaints quote the data; ours only say which table and what kind of trouble."""
    try:
        with unlogged():
            yield
    except PrivacyFunnelError:
        raise
    except troubles() as trouble:
        if "MALFORMED_RECORD_IN_PARSING" in str(trouble):
            raise InvalidTable(f"some rows of {name} do not fit its header or quoting; repair the file") from None
        raise InvalidTable(f"Spark could not read {name}: {trouble_of(trouble)}; its own log says more") from None


@contextmanager
def unlogged() -> Iterator[None]:
    """PySpark writes to standard error what went wrong in a query, with the value that did, before it is an error."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in QUERY_LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was


def trouble_of(trouble: Exception) -> str:
    """The kind of trouble, without its message."""
    condition = getattr(trouble, "getCondition", lambda: None)()
    return str(condition or type(trouble).__name__)
