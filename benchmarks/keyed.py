"""The same people again: rows drawn per second with a key (--remember), against the same with fresh randomness.

The kernel alone: persons as whole numbers, as texts of 18 letters and as UUIDs of 36, in batches as `sanitise` reads
them, on one thread, in CPU time; contenders take turns. The whole command: Parquet to Parquet, each run in a process of
its own, in CPU time of all threads, with its peak memory; with a key a table is gone through twice, and the ledger is
written.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import privacyfunnel as pf
from benchmarks.kernel import sparse_channel
from benchmarks.sanitise import make_table, measure
from privacyfunnel.drawing.kernel import AliasTables, sample, sample_keyed
from privacyfunnel.drawing.keyed import Mac
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.tables.remembered.identifiers import Identifiers

BATCH = 1 << 18
BATCHES = 8
REPEATS = 7
ROWS = 5_000_000
TARGET = 0.1
"""Rows per second of the plain kernel, at least."""
KEYED = "loaded.sanitise(table, output, keep_order=True, force=True, remember=output + '.key', person='id')"
WORK = {
    "sanitise": "loaded.sanitise(table, output, keep_order=True, force=True)",
    "sanitise --remember": KEYED,
    "sanitise --remember, again": KEYED,
}
FRAME = """
import privacyfunnel as pf
loaded = pf.Protocol.load(protocol)
loaded.sanitise(sample, remember=output + '.sample.key', person='id')
cpu = time.process_time()
{work}
begin = time.perf_counter() - (time.process_time() - cpu)  # what is measured is CPU time
"""


def run(rows: int = ROWS) -> list[dict[str, object]]:
    return [*kernel(), *command(rows)]


def kernel() -> list[dict[str, object]]:
    tables = AliasTables.of(sparse_channel(100, 3))
    codes = np.random.default_rng(1).integers(0, 100, BATCH).astype(np.int32)
    source, mac = Randomness.secure(), Mac(bytes(range(16)))
    numbers = np.random.default_rng(2).permutation(BATCH) + 10_000_000
    persons = {
        "whole numbers": pa.array(numbers),
        "texts of 18 letters": pa.array([f"{n:08d}-{n * 7919 % 10**9:09d}" for n in numbers.tolist()]),
        "UUIDs": pa.array([f"{n:08x}-89ab-4cde-8f01-{n * 7919 % 16**12:012x}" for n in numbers.tolist()]),
    }

    def fresh() -> None:
        for _ in range(BATCHES):
            sample(tables, codes, source, threads=1)

    def keyed(array: pa.Array) -> Callable[[], None]:
        def work() -> None:
            for _ in range(BATCHES):
                sample_keyed(tables, codes, Identifiers("id").read(array), mac, threads=1)

        return work

    contenders = {"fresh randomness": fresh, **{f"keyed, {name}": keyed(array) for name, array in persons.items()}}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for work in contenders.values():
        work()  # compile first
    for _ in range(REPEATS):
        for name, work in contenders.items():
            begin = time.process_time()
            work()
            seconds[name].append(time.process_time() - begin)
    median = {name: statistics.median(times) for name, times in seconds.items()}
    plain = median["fresh randomness"]
    return [
        {
            "what": "kernel",
            "method": name,
            "rows per second": BATCH * BATCHES / took,
            "share of fresh": plain / took,
            "target": TARGET if name != "fresh randomness" else "",
        }
        for name, took in median.items()
    ]


def command(rows: int) -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        table, few = make_table(folder / "people.parquet", rows), make_table(folder / "sample.parquet", 50_000)
        for path in (table, few):
            whole = pq.read_table(path)
            pq.write_table(whole.append_column("id", pa.array(np.arange(len(whole)) + 10_000_000)), path)
        protocol = folder / "protocol.json"
        pf.optimise(pf.Joint.from_table(few, "secret", list(attributes_of(few))), pf.LIP(0.5), time_limit=20).save(
            protocol
        )
        found = []
        for name, work in WORK.items():
            measured = FRAME.format(work=work)
            found.append((name, *measure(measured, table, few, protocol, folder / "open.parquet")))
    plain = found[0][1]
    return [
        {
            "what": "whole command",
            "method": name,
            "rows": rows,
            "rows per second": rows / seconds,
            "share of fresh": plain / seconds,
            "target": TARGET if name != "sanitise" else "",
            "peak GiB": gib,
        }
        for name, seconds, gib in found
    ]


def attributes_of(path: Path) -> list[str]:
    """The attributes of a table."""
    return [name for name in pq.read_schema(path).names if name not in ("secret", "id")]


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.__main__ import show

    show(Console(width=200), "keyed", run())
