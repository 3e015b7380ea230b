"""sanitise_spark: from a Spark DataFrame to the one that is released, safe against work that is done twice.

Spark does work again: a task that failed, a slow one, a lost worker's, or all of it for a second action. If a
row were then drawn afresh, two draws for one person could be seen. So no task has randomness of its own. A
release has one key K of 256 bits from the operating system, and the rows of partition p with inputs x are
drawn with the stream of

    k = HMAC-SHA256(K, p ‖ SHA-256(x)),    x in sorted order, or in the table's if that is to be kept.

- The same people in partition p give the same released rows, bit for bit, in whatever order they arrive: rows
  with the same input are exchangeable, so sorting them costs nothing.
- If it holds other people the second time, k is another key: no random word ever serves two different inputs.
- K travels with the task, as the rows themselves do, and is never shown. Spark puts tasks of over a megabyte, those of
  large protocols, into its folder for temporary files until it ends. K alone undoes nothing: x is needed to use it.

p comes with the rows: a task that reads several partitions at once, after `coalesce`, has a number of its own.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from privacyfunnel.errors import InvalidInput, InvalidTable, OutputRefused, PrivacyFunnelError
from privacyfunnel.protocols.fill import NOT_ON_A_CLUSTER
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.variants import without_variants
from privacyfunnel.tables.release_note import Release
from privacyfunnel.tables.remembered.looking import Look, Looker
from privacyfunnel.tables.remembered.memory import Memory, Reader, Remember, people_of_table
from privacyfunnel.tables.remembered.records import Records
from privacyfunnel.tables.sanitiser import Unseen, check_unseen
from privacyfunnel.tables.spark.connect_folder import ConnectFolder
from privacyfunnel.tables.spark.folder import SparkFolder
from privacyfunnel.tables.spark.source import SparkSource, trouble_of, unlogged
from privacyfunnel.tables.spark.troubles import is_classic, troubles
from privacyfunnel.tables.spark.workers import Drawing, FirstLook, StrangerCount, first_step

RELEASE_KEY_BYTES = 32
"""Of HMAC-SHA-256: a key as long as its digest."""
OTHER_FILES = (".csv", ".csv.gz", ".tsv", ".jsonl")
"""Names that would be misleading for a folder of Parquet files."""


def on_cluster(source: SparkSource, told: Callable[[], AbstractContextManager[None]]) -> Reader:
    """Go through a table on the cluster; records come to the driver partition by partition."""

    def read(look: Look, looker: Looker) -> Iterator[Records]:
        frame = source.frame.select(*(f"c{source.columns.index(name)}" for name in look.columns))
        with told():
            for row in frame.mapInArrow(FirstLook(look), "records binary, name string, rows bigint").toLocalIterator():
                if not row["name"]:
                    yield np.frombuffer(bytes(row["records"]), dtype=look.kind)
                elif row["name"] == "missing":
                    looker.identifiers.missing += row["rows"]
                elif row["name"] == "odd":
                    looker.identifiers.odd += row["rows"]
                else:
                    looker.elsewhere[row["name"].removeprefix("column ")] += row["rows"]

    return read


def sanitise_spark(
    protocol: Protocol,
    frame: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    keep_order: bool = False,
    unseen: Unseen = "refuse",
    seed: int | None = None,
    force: bool = False,
    partition_by: Sequence[str] = (),
    variant: bool = True,
    remember: str | os.PathLike[str] | None = None,
    person: str | None = None,
    changed: str = "keep",
) -> Any:
    """Draw a released row for every row of a DataFrame, on the cluster.

    With `output`, the rows are written to that folder as Parquet files and a `Release` comes back. Without,
    a DataFrame comes back that has been computed and persisted, so that using it twice shows the same rows.
    With `remember` and `person`, people who were released before keep their row; key and ledger lie with the driver.
    """
    check_unseen(protocol, unseen)
    if protocol.fill is not None:
        raise InvalidInput(NOT_ON_A_CLUSTER)
    asked = Remember.asked(remember, person, changed, protocol)
    if asked is None and protocol.before is not None:
        raise InvalidInput("on Spark a follow-up is drawn with the key of what it follows (--remember, --person)")
    if asked is not None and seed is not None:
        raise InvalidInput("rows are drawn with a seed or with a key, not with both")
    shown = protocol if variant else without_variants(protocol)
    settled = None if asked is None else (protocol, asked)
    return _sanitised(shown, frame, output, keep_order, unseen, seed, force, partition_by, settled)


def _sanitised(
    protocol: Protocol,
    frame: Any,
    output: str | os.PathLike[str] | None,
    keep_order: bool,
    unseen: Unseen,
    seed: int | None,
    force: bool,
    partition_by: Sequence[str],
    asked: tuple[Protocol, Remember] | None = None,
) -> Any:
    """The same, once what is asked for is known to make sense; `asked` is whose key is used, and for what."""
    strange = [name for name in partition_by if name not in protocol.attributes]
    if strange or len(partition_by) >= len(protocol.attributes):
        raise InvalidInput("a release is partitioned by some of its attributes, and not by all")
    if output is not None and os.fspath(output).endswith(OTHER_FILES):
        raise OutputRefused("Spark writes a folder of Parquet files: call it something like open.parquet")
    source = frame if isinstance(frame, SparkSource) else SparkSource.of(frame)
    source.require(protocol.attributes)
    kind = SparkFolder if is_classic(source.frame) else ConnectFolder
    folder = kind.at(source.frame, output, source.name) if output is not None else None
    if folder is not None:
        folder.check(force)
    rows_in = source.frame.select(*(f"c{source.columns.index(name)}" for name in protocol.attributes))
    drawn = sum(_strangers(protocol, rows_in, source.name).values()) if unseen == "draw" else 0
    dropped = tuple(name for name in source.columns if name not in protocol.attributes)
    objective, column = protocol.objective, protocol.variant
    release = Release(0, protocol.attributes, dropped, drawn, not keep_order, seed is None, seed, objective, column)
    release = replace(release, leaning=first_step(protocol).leaning)
    memory = _memory(*asked, source, unseen) if asked is not None else None
    given = memory.given if memory is not None else None
    drawing = Drawing(protocol, _release_key(seed), keep_order, unseen, given, source.types)
    release = replace(release, remembered=memory.summary if memory is not None else None)
    commit = memory.commit if memory is not None else _nothing
    told_apart = source.frame.select(*(f"c{source.columns.index(name)}" for name in drawing.columns))
    released = _plan(drawing, told_apart, release)
    with _told(protocol, rows_in, source.name):
        if folder is None:
            computed = _computed(released, source.name)
            commit()
            return computed
        rows = folder.write(released, tuple(partition_by), force, commit)
    return replace(release, rows=rows)


def _nothing() -> None:
    """There is no ledger to be written."""


def _memory(protocol: Protocol, asked: Remember, source: SparkSource, unseen: Unseen) -> Memory:
    """Settle who gets what; the cluster looks at the rows, and the ledger lies with the driver."""
    attributes = source.frame.select(*(f"c{source.columns.index(name)}" for name in protocol.attributes))
    reader = on_cluster(source, lambda: _told(protocol, attributes, source.name))
    return people_of_table(protocol, asked, source, unseen, reader)


def _release_key(seed: int | None) -> bytes:
    """K: from the operating system or, for tests, from a seed."""
    if seed is None:
        return os.urandom(RELEASE_KEY_BYTES)
    return hashlib.sha256(f"privacyfunnel release {int(seed)}".encode()).digest()


def _plan(drawing: Drawing, rows_in: Any, release: Release) -> Any:
    """The released DataFrame, not computed yet.

    Shuffling: every row has a rank of its own, uniform and independent of all else. Rows are dealt to
    partitions by a hash of it and sorted by it, so all orders of the whole table are equally likely. Spark drops
    a sort when another one follows, as for partitioned folders, unless something stands between that it takes for
    random: numbers of rows, none of which is negative.
    """
    from pyspark.sql import functions as F

    placed = rows_in.select("*", F.spark_partition_id().alias("p"))
    drawn = placed.mapInArrow(drawing, drawing.schema())
    if not drawing.keep_order:
        rank = drawn.columns[-1]
        drawn = drawn.repartition(F.col(rank)).sortWithinPartitions(rank)
        drawn = drawn.where(F.monotonically_increasing_id() >= 0)
    metadata = {"privacyfunnel": release.metadata()}
    named = enumerate(drawing.protocol.released_columns)
    return drawn.select(*(F.col(f"c{i}").alias(name, metadata=metadata) for i, name in named))


def _computed(released: Any, name: str) -> Any:
    released = released.persist()
    try:
        if not released.count():
            raise InvalidTable(f"{name} has no rows")
    except BaseException:
        released.unpersist()
        raise
    return released


def _strangers(protocol: Protocol, rows_in: Any, name: str) -> Counter[str]:
    from pyspark.sql import functions as F

    with _told(protocol, rows_in, name):
        counted = rows_in.mapInArrow(StrangerCount(protocol), "name string, rows bigint")
        return Counter(
            {row["name"]: row["rows"] for row in counted.groupBy("name").agg(F.sum("rows").alias("rows")).collect()}
        )


@contextmanager
def _told(protocol: Protocol, rows_in: Any, name: str) -> Iterator[None]:
    """Spark's errors as ours: they quote nothing, and a refusal counts the rows of the whole table."""
    try:
        with unlogged():
            yield
    except PrivacyFunnelError:
        raise
    except troubles() as trouble:
        words = str(trouble)
        if "UnseenValues" in words:
            sanitiser = first_step(protocol)
            sanitiser.strangers.update(_strangers(protocol, rows_in, name))
            sanitiser.finish()
        hint = "is privacyfunnel installed on the workers?" if "ModuleNotFoundError" in words else "its log says more"
        raise InvalidTable(f"Spark could not sanitise {name}: {trouble_of(trouble)}; {hint}") from None
