"""Parquet to Parquet: `sanitise` on a large table against DuckDB's own COPY of the same columns.

Each contender runs in a process of its own, so that its peak memory is its own. Times are of the work alone,
without starting Python and importing; the contenders take turns, so that a slow moment hits all. Peak memory is
the kernel's VmHWM (Linux): getrusage would report the parent's peak where that is larger.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import privacyfunnel as pf

ROWS = 20_000_000
SIZES = {"sex": 2, "region": 5, "status": 7, "education": 16}
GROUP_ROWS = 1_000_000
REPEATS = 3
TARGET_TIMES, TARGET_GIB = 3.0, 2.0

WORK = {
    "DuckDB COPY": """
import duckdb
connection = duckdb.connect()
begin = time.perf_counter()
connection.execute(f"COPY (SELECT sex, region, status, education FROM read_parquet('{table}')) "
                   f"TO '{output}' (FORMAT parquet)")
""",
    "sanitise, keep order": """
import privacyfunnel as pf
loaded = pf.Protocol.load(protocol)
loaded.sanitise(sample)
begin = time.perf_counter()
loaded.sanitise(table, output, keep_order=True, force=True)
""",
    "sanitise, shuffled": """
import privacyfunnel as pf
loaded = pf.Protocol.load(protocol)
loaded.sanitise(sample)
begin = time.perf_counter()
loaded.sanitise(table, output, force=True)
""",
}
FRAME = """
import json, sys, time
table, sample, protocol, output = sys.argv[1:]
{work}
seconds = time.perf_counter() - begin
with open("/proc/self/status") as file:
    peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
print(json.dumps([seconds, peak / 2**20]))
"""


def run(rows: int = ROWS) -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        table, sample = make_table(folder / "people.parquet", rows), make_table(folder / "sample.parquet", 50_000)
        protocol = folder / "protocol.json"
        pf.optimise(pf.Joint.from_table(sample, "secret"), pf.LIP(0.5), time_limit=20).save(protocol)
        seconds: dict[str, list[float]] = {name: [] for name in WORK}
        gib = dict.fromkeys(WORK, 0.0)
        for _ in range(REPEATS):
            for name, work in WORK.items():
                took, peak = measure(work, table, sample, protocol, folder / "open.parquet")
                seconds[name].append(took)
                gib[name] = max(gib[name], peak)
                written = pq.read_metadata(folder / "open.parquet").num_rows
                if written != rows:
                    raise RuntimeError(f"{name} wrote {written} rows of {rows}")
    median = {name: statistics.median(times) for name, times in seconds.items()}
    copy = median["DuckDB COPY"]
    return [
        {
            "method": name,
            "rows": rows,
            "seconds": median[name],
            "rows per second": rows / median[name],
            "times DuckDB": median[name] / copy,
            "target, times DuckDB": TARGET_TIMES if name.endswith("keep order") else "",
            "peak GiB": gib[name],
            "target, GiB": TARGET_GIB if name.startswith("sanitise") else "",
        }
        for name in WORK
    ]


def make_table(path: Path, rows: int) -> Path:
    """People with a secret that follows their attributes a little."""
    rng = np.random.default_rng(1)
    words = {name: pa.array([f"{name} {i}" for i in range(size)]) for name, size in SIZES.items()}
    schema = pa.schema([("secret", pa.string()), *((name, pa.string()) for name in SIZES)])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, GROUP_ROWS):
            n = min(GROUP_ROWS, rows - start)
            codes = {name: rng.integers(0, size, n, dtype=np.int32) for name, size in SIZES.items()}
            secret = rng.random(n) < 0.2 + 0.02 * codes["education"] + 0.05 * codes["sex"]
            columns = [pa.array(np.where(secret, "yes", "no"))]
            columns += [words[name].take(pa.array(code)) for name, code in codes.items()]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
    return path


def measure(work: str, table: Path, sample: Path, protocol: Path, output: Path) -> tuple[float, float]:
    """Seconds and peak GiB of a piece of work, in a process of its own."""
    output.unlink(missing_ok=True)
    command = [sys.executable, "-c", FRAME.format(work=work), *map(str, (table, sample, protocol, output))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, gib = json.loads(done.stdout.splitlines()[-1])
    return float(seconds), float(gib)


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.__main__ import show

    show(Console(width=200), "sanitise", run())
