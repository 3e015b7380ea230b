"""What may not get worse: what is kept, its bound and the CPU time of one problem for each way of searching.

Every search ends by its gap, not by the clock, so that what it keeps is the same on every machine. CPU seconds are the
least of some runs, in multiples of a yardstick, the least of its own runs between them: a linear program and a sort in
one thread that have nothing to do with us. `benchmarks/pinned.json` holds what was measured last: PINNED=record writes
it anew, otherwise each figure stands beside the one of then, and the last column says what became worse.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.optimize import linprog

import privacyfunnel as pf
from benchmarks.large import DATA
from privacyfunnel.errors import ExactFit
from privacyfunnel.population import people

RECORD = Path(__file__).with_suffix(".json")
LEAST_KEPT, MOST_BOUND, MOST_CPU = 0.995, 1.005, 1.1
"""Times what was measured last."""
REPEATS = 4
"""The first one compiles and does not count."""
ENOUGH, MOST_REPEATS = 2.0, 12
"""CPU seconds in all after which short problems are not repeated further, and how often they are at the most."""
COMPAS = ("compas.csv.gz", "two_year_recid", ["sex", "race", "age_cat", "score_text"])
ADULT = ("adult.csv.gz", "income", ["sex", "race", "marital_status", "education"])
DEMO = ["sex", "town", "height", "weight"]
Solve = Callable[[], pf.Protocol | None]


def run() -> list[dict[str, object]]:
    warnings.simplefilter("ignore", ExactFit)
    before = {} if os.environ.get("PINNED") == "record" or not RECORD.exists() else json.loads(RECORD.read_text())
    rods: list[float] = []
    found = [measured(name, solve, rods) for name, solve in problems()]
    found = [row | {"cpu": float(str(row["s"])) / min(rods)} for row in found]
    rows = [row | compared(row, before.get(str(row["problem"]))) for row in found]
    if os.environ.get("PINNED") == "record":
        kept = {str(row["problem"]): {key: row[key] for key in ("kept", "bound", "cpu")} for row in rows}
        RECORD.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    return rows


def problems() -> Iterator[tuple[str, Solve]]:
    """One for each way, by names that everybody may import."""

    def random(*shape: int) -> pf.Joint:
        return pf.Joint(np.random.default_rng(1).random(shape))

    def solved(joint: pf.Joint, promise: Any, **how: Any) -> Solve:
        return lambda: pf.optimise(joint, promise, **how)

    demo = pf.Joint.from_table(pa.table(people(20_000, seed=1)), "obese", DEMO)
    yield "two secrets, 10,000 values", solved(random(2, 10_000), pf.LIP(0.5), gap=1e-6)
    yield "three secrets, 100 values", solved(random(3, 100), pf.LIP(0.1), gap=1e-6)
    yield "five secrets, 12 values", solved(random(5, 12), pf.LDP(0.5), gap=1e-6)
    yield "side channels, 3 x 3 x 4", solved(random(2, 3, 3, 4), pf.SRLIP(1.0), gap=1e-3)
    yield "a population, 30 values", solved(counts(30, 100_000), pf.robust(pf.LIP(0.5), confidence=0.95), gap=1e-3)
    yield "two promises", solved(several(), pf.Promises(a=pf.LIP(0.3), b=pf.LIP(0.5)), gap=1e-3)
    yield "faithful, demo", solved(demo, pf.LIP(0.2), objective="faithful", gap=1e-3)
    yield "exact column, demo", solved(demo, pf.LIP(0.5), exact=["sex"], gap=1e-3)
    first = pf.optimise(demo, pf.LIP(0.1), gap=1e-4)
    yield "follow-up, demo", solved(demo, pf.LIP(0.4), after=first, gap=1e-4)
    yield (
        "readers, 4 x 5",
        solved(pf.Joint(1 + np.random.default_rng(2).integers(0, 900, (2, 4, 5))), pf.LIP(0.3), readers="pairs"),
    )
    if DATA.is_dir():
        compas, adult = (pf.Joint.from_table(DATA / path, secret, columns) for path, secret, columns in (COMPAS, ADULT))
        yield "side channels, compas", solved(compas, pf.SRLIP(1.0, known=1), gap=1e-2)
        yield "faithful, compas", solved(compas, pf.LIP(0.1), objective="faithful", gap=1e-3)
        yield "faithful, adult", solved(adult, pf.LIP(0.5), objective="faithful", gap=1e-3)
    table = pa.table(people(1_000_000, seed=2))
    protocol = pf.optimise(demo, pf.LIP(0.2))
    yield "10⁶ rows drawn", lambda: protocol.sanitise(table, unseen="draw") and None
    yield "read, proven and drawn from a file", lambda: from_file(protocol, table.slice(0, 100_000))


def from_file(protocol: pf.Protocol, table: pa.Table) -> None:
    with TemporaryDirectory() as folder:
        protocol.save(Path(folder) / "protocol.json")
        pf.Protocol.load(Path(folder) / "protocol.json").sanitise(table, unseen="draw")


def counts(values: int, n: int) -> pf.Joint:
    rng = np.random.default_rng(0)
    return pf.Joint(rng.multinomial(n, rng.dirichlet(np.ones(2 * values))).reshape(2, values))


def several() -> pf.Joint:
    """Two secrets, each by itself."""
    rng = np.random.default_rng(3)
    columns = {"a": rng.integers(0, 2, 5_000), "b": rng.integers(0, 3, 5_000)}
    columns |= {
        "x": (columns["a"] + rng.integers(0, 4, 5_000)) % 6,
        "y": (columns["b"] + rng.integers(0, 3, 5_000)) % 4,
    }
    texts = {name: [f"{name}{code}" for code in codes] for name, codes in columns.items()}
    return pf.Joint.from_table(pa.table(texts), ["a", "b"], ["x", "y"])


def measured(name: str, solve: Solve, rods: list[float]) -> dict[str, object]:
    """What is kept of a problem, and its CPU seconds; the yardstick's, between its runs, go to `rods`."""
    ours: list[float] = []
    protocol = None
    while len(ours) < REPEATS or (sum(ours) < ENOUGH and len(ours) < MOST_REPEATS):
        rods.append(seconds_of(yardstick))
        begun = time.process_time()
        protocol = solve()
        ours.append(time.process_time() - begun)
    kept = bound = None
    if protocol is not None:
        faithful = protocol.objective == "faithful"
        kept = protocol.fidelity if faithful else protocol.utility
        bound = protocol.fidelity_bound if faithful else protocol.upper_bound
    return {"problem": name, "kept": kept, "bound": bound, "s": min(ours[1:])}


def compared(row: dict[str, object], was: dict[str, float | None] | None) -> dict[str, object]:
    """The figures of then, and which of today's are worse."""
    if was is None:
        return {"worse": "new"}
    least, most = {"kept": LEAST_KEPT}, {"bound": MOST_BOUND, "cpu": MOST_CPU}
    now = {key: float(str(row[key])) for key, then in was.items() if then is not None}
    worse = [key for key, share in least.items() if was[key] is not None and now[key] < share * float(was[key] or 0)]
    worse += [key for key, share in most.items() if was[key] is not None and now[key] > share * float(was[key] or 0)]
    return {f"{key} was": then for key, then in was.items()} | {"worse": ", ".join(worse) or "–"}


def yardstick() -> None:
    rng = np.random.default_rng(5)
    A = rng.random((120, 400))
    linprog(rng.random(400), A_eq=A, b_eq=A.mean(axis=1))
    np.sort(rng.random(1_000_000))


def seconds_of(work: Callable[[], None]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun
