"""Spark on two cores: `sanitise_spark` against Spark's own mapInArrow that changes nothing, in the same run.

Both read the same Parquet file and write Parquet. With the order kept, the difference is our kernel alone. A
shuffled release moves every row through the cluster, so it is held against an identity that is followed by
Spark's own shuffle: repartition and sort by a random number. The contenders take turns.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import privacyfunnel as pf
from benchmarks.sanitise import SIZES, make_table

ROWS = 10_000_000
REPEATS = 3
TARGET_TIMES = 1.5
SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.files.maxPartitionBytes": str(16 << 20),
    "spark.log.level": "ERROR",
}


def identity(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def run(rows: int = ROWS) -> list[dict[str, object]]:
    try:
        from pyspark.sql import SparkSession
        from pyspark.sql import functions as F
    except ImportError:
        return [{"method": "pyspark is not installed: pip install 'privacyfunnel[spark]'"}]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[2]").config(map=SETTINGS).getOrCreate()
    try:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            path, output = make_table(folder / "people.parquet", rows), str(folder / "open.parquet")
            table = session.read.parquet(str(path))
            protocol = pf.optimise(pf.Joint.from_spark(table, "secret"), pf.LIP(0.5), time_limit=20)
            attributes = table.select(*SIZES)

            def unchanged() -> Any:
                return attributes.mapInArrow(identity, attributes.schema)

            def shuffled() -> Any:
                ranked = unchanged().withColumn("rank", F.rand())
                return ranked.repartition("rank").sortWithinPartitions("rank").drop("rank")

            work: dict[str, Callable[[], object]] = {
                "identity mapInArrow": lambda: unchanged().write.mode("overwrite").parquet(output),
                "sanitise_spark, keep order": lambda: protocol.sanitise_spark(
                    table, output, keep_order=True, force=True
                ),
                "identity mapInArrow, then Spark's shuffle": lambda: shuffled().write.mode("overwrite").parquet(output),
                "sanitise_spark, shuffled": lambda: protocol.sanitise_spark(table, output, force=True),
            }
            return _measured(work, rows)
    finally:
        session.stop()


def _measured(work: dict[str, Callable[[], object]], rows: int) -> list[dict[str, object]]:
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for repeat in range(REPEATS + 1):
        for name, job in work.items():
            begin = time.perf_counter()
            job()
            if repeat:  # the first round warms up: Java compiles, workers import
                seconds[name].append(time.perf_counter() - begin)
    names = list(work)
    found = []
    for i, name in enumerate(names):
        base = names[i - i % 2]
        ratios = [a / b for a, b in zip(seconds[name], seconds[base], strict=True)]
        median = statistics.median(seconds[name])
        found.append(
            {
                "method": name,
                "rows": rows,
                "seconds": median,
                "rows per second": rows / median,
                "times its identity": statistics.median(ratios),
                "target, times": TARGET_TIMES if i % 2 else "",
            }
        )
    return found
