"""What private fits cost: utility, errors of counted shares, and how far rows go on the exact counts, against ε₀.

Everything is measured on the exact table. Information is the share of H(X) that a protocol with the objective
"information" keeps; cells, rows beyond ε and errors of shares are those of a faithful one (the latter counted as they
stand in actual releases). Errors are means over all values of all columns, and of all pairs of columns, in points and
over the error √(f(1−f)/n) of a sample of as many people. Beside them, rows made up by MST and AIM from the columns
that are released, counted alike; their ε₀ is for one row more or less, ours for one row changed, which is stricter.

`python -m benchmarks.private fits robust synthetic domain` measures some parts only. Each part's rows are in
bench-results as soon as they are known. dpmm asks for old versions of what others need, so FUNNEL_DPMM may name the
python of an environment that has it. The real tables are looked for where `large` looks.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.large import DATA

EPSILONS = (0.5, 0.1)
ROBUST_EPSILON, CONFIDENCE = 0.5, 0.95
FIT_EPSILONS = (0.1, 0.5, 1.0, 2.0, None)
"""ε₀; None is an exact fit."""
AT_LEAST = 10
"""The frequency threshold of private fits; with a confidence there is none."""
SETTINGS = ((None, 0), *((e0, AT_LEAST) for e0 in reversed(FIT_EPSILONS)), (1.0, 0))
"""ε₀ and threshold: also noise alone, and a threshold alone, which tell what of the cost is due to which."""
DRAWS, ROBUST_DRAWS = 3, 1
"""Private fits, each with noise of its own, whose figures are averaged."""
RELEASES = 3
"""Tables that are released by each protocol, or made up by each model."""
TIME_LIMIT = 30.0
DELTA = 1e-9
"""δ of MST and AIM, which need one."""
ROUNDING = 1e-9
"""Nats by which float64 may be off when rows beyond ε are told from others."""
ASKED_INFORMATION, ASKED_CELLS = 0.90, 0.02
"""At least that share of H(X), and at most so far below the exact fit: on Adult, ε = 0.5, ε₀ = 1."""
PEOPLE, SIZES = 200_000, (100, 100, 50)
"""Of the table with a domain of 10⁶ cells; the secret has two values."""
MOST_MIB = 4 * 1024
RESULTS = Path("bench-results")

Row = dict[str, object]


@dataclass(frozen=True, eq=False)
class Source:
    """A table, counted; `counted.joint` is exact."""

    name: str
    rows: Any
    counted: Any

    @property
    def joint(self):
        return self.counted.joint


def run(parts: tuple[str, ...] = ("fits", "robust", "synthetic", "domain")) -> list[Row]:
    return [row for part in parts for row in kept_as_known(part, PARTS[part]())]


def kept_as_known(part: str, rows: Iterator[Row]) -> list[Row]:
    """The rows of a part, written down one after the other."""
    known: list[Row] = []
    RESULTS.mkdir(exist_ok=True)
    for row in rows:
        known.append(row)
        (RESULTS / f"private-{part}.json").write_text(json.dumps(known, indent=2))
        print(*(f"{key} {value:.4g}" if isinstance(value, float) else value for key, value in row.items()), flush=True)
    return known


def sources() -> list[Source]:
    """The demo's population, and real tables where they are there; small ones first."""
    import pyarrow as pa
    import pyarrow.csv

    from privacyfunnel.cli.demonstration import ATTRIBUTES, WISHES
    from privacyfunnel.population import people
    from privacyfunnel.tables.counting import count_table
    from privacyfunnel.tables.fitting import Wishes

    made_up = pa.table(people(20_000, seed=1))
    found = [Source("demo", made_up, count_table(made_up, "obese", list(ATTRIBUTES), wishes=WISHES))]
    for name, secret, attributes in (
        ("compas", "two_year_recid", ["age_cat", "sex", "c_charge_degree", "score_text", "race"]),
        ("adult", "income", ["sex", "race", "marital_status", "education"]),
    ):
        path = DATA / f"{name}.csv.gz"
        if path.exists():
            texts = pa.csv.ConvertOptions(
                include_columns=attributes, column_types=dict.fromkeys(attributes, pa.string())
            )
            rows = pa.csv.read_csv(path, convert_options=texts)
            found.append(Source(name, rows, count_table(path, secret, attributes, wishes=Wishes(missing="?"))))
    return found


def fits() -> Iterator[Row]:
    """The promise for everybody who knows no more than what is published."""
    import privacyfunnel as pf

    for source in sources():
        for epsilon in EPSILONS:
            rows = {setting: repeated(source, pf.LIP(epsilon), *setting, DRAWS) for setting in SETTINGS}
            for setting, row in rows.items():
                to_hold = source.name == "adult" and epsilon == ROBUST_EPSILON and setting == (1.0, AT_LEAST)
                yield row | asked(row, rows[None, 0]) if to_hold else row


def asked(private: Row, exact: Row) -> Row:
    enough = private["information"] >= ASKED_INFORMATION  # type: ignore[operator]
    near = private["cells"] >= exact["cells"] - ASKED_CELLS  # type: ignore[operator]
    return {"asked": f"information ≥ {ASKED_INFORMATION}: {enough}; cells within {ASKED_CELLS}: {near}"}


def robust() -> Iterator[Row]:
    """The promise for the population."""
    import privacyfunnel as pf

    for source in sources():
        for e0 in FIT_EPSILONS:
            yield repeated(source, pf.robust(pf.LIP(ROBUST_EPSILON), CONFIDENCE), e0, 0, ROBUST_DRAWS)


def repeated(source: Source, promise: Any, e0: float | None, at_least: int, draws: int) -> Row:
    """The means over some private fits, or an exact fit."""
    rows = [once(source, promise, e0, at_least) for _ in range(draws if e0 else 1)]
    confidence = {} if promise.confidence is None else {"confidence": promise.confidence}
    means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    return (
        {"table": source.name, "ε": promise.epsilon} | confidence | {"ε₀": e0 or "exact", "at least": at_least} | means
    )


def once(source: Source, promise: Any, e0: float | None, at_least: int) -> dict[str, float]:
    """One draw of noise; both objectives from the same counts."""
    import privacyfunnel as pf
    from privacyfunnel.protocols.released import kept

    exact = source.joint
    joint = source.counted.safely(e0, at_least=at_least, insist=True).joint
    started = time.perf_counter()
    informative = pf.optimise(joint, promise, time_limit=TIME_LIMIT)
    between = time.perf_counter()
    faithful = pf.optimise(joint, promise, objective="faithful", time_limit=TIME_LIMIT)
    ended = time.perf_counter()
    beyond = {"rows > ε": rows_beyond(faithful, exact, promise.epsilon)}
    if e0:
        beyond["rows > ε+ε₀"] = rows_beyond(faithful, exact, promise.epsilon + e0)
    return (
        {"values": joint.n_x, "information": kept(informative, exact) / exact.entropy}
        | {"cells": cells_unchanged(faithful, exact)}
        | beyond
        | means_of([share_errors(exact, released_codes(faithful, source)) for _ in range(RELEASES)])
        | {"information s": between - started, "faithful s": ended - between}
    )


def rows_beyond(protocol, exact, level: float) -> float:
    """The share of released rows that move a belief by more than e^level, for somebody who knows the exact counts."""
    from privacyfunnel.protocols.released import released

    p = released(protocol, exact)
    p = p[:, p.sum(axis=0) > 0]
    with np.errstate(divide="ignore"):
        moved = np.abs(np.log(p / p.sum(axis=1, keepdims=True) / p.sum(axis=0))).max(axis=0)
    return float(p.sum(axis=0)[moved > level + ROUNDING].sum())


def cells_unchanged(protocol, exact) -> float:
    """The expected share of cells that are released as they are in the table; who is read as another may lose some."""
    from privacyfunnel.protocols.channel import UNIT

    block = protocol.block
    share = block.channel.numerators / UNIT
    written = block.codes[block.labels[block.channel.outputs]]
    total = 0.0
    for j in range(written.shape[1]):
        # stay[i, v]: how probable it is that input i is written with the value v of column j
        stay = np.zeros((block.channel.n_inputs, len(block.columns[j].labels)))
        np.add.at(stay, (block.channel.inputs, written[:, j]), share)
        total += float(exact.p_x @ stay[block.inputs_of(exact), exact.codes[:, j]])
    return total / written.shape[1]


def released_codes(protocol, source: Source) -> np.ndarray:
    """The rows of an actual release, as codes of the exact table's columns."""
    released = protocol.sanitise(source.rows)
    codes = []
    for column in source.joint.columns:
        number = {str(label): i for i, label in enumerate(column.labels)}
        codes.append([number[str(value)] for value in released.column(column.name).to_pylist()])
    return np.array(codes).T


def share_errors(exact, codes: np.ndarray) -> dict[str, float]:
    """How far shares counted in rows are from those of the exact table, for values and pairs that occur in it."""
    told: dict[str, float] = {}
    m = exact.codes.shape[1]
    for name, families in (("single", [(j,) for j in range(m)]), ("pair", list(combinations(range(m), 2)))):
        points, multiples = (np.concatenate(p) for p in zip(*(off(exact, codes, J) for J in families), strict=True))
        told |= {f"{name}: points": 100 * float(points.mean()), f"{name}: × sampling": float(multiples.mean())}
    return told


def off(exact, codes: np.ndarray, columns: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """|counted − f| for every share f > 0 of a combination of values, and that over √(f(1−f)/n)."""
    sizes = [len(exact.columns[j].labels) for j in columns]
    place, counted = (np.ravel_multi_index(tuple(c[:, columns].T), sizes) for c in (exact.codes, codes))
    f = np.bincount(place, weights=exact.p_x, minlength=int(np.prod(sizes)))
    error = np.abs(np.bincount(counted, minlength=f.size) / len(codes) - f)
    real = (f > 0) & (f < 1)
    return error[real], error[real] / np.sqrt(f[real] * (1 - f[real]) / exact.total)


def means_of(rows: list[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}


def synthetic() -> Iterator[Row]:
    """MST and AIM; one model for each ε₀, as fitting one takes long."""
    python = os.environ.get("FUNNEL_DPMM", sys.executable)
    if subprocess.run([python, "-c", "import dpmm"], capture_output=True).returncode:
        yield {"table": "MST, AIM", "asked": "dpmm is not installed here; FUNNEL_DPMM may name a python that has it"}
        return
    for source in sources():
        for method in ("MST", "AIM"):
            for e0 in FIT_EPSILONS[:-1]:
                yield {"table": source.name, "synthetic": method, "ε₀": e0} | made_up(python, source, method, e0)


def made_up(python: str, source: Source, method: str, e0: float) -> dict[str, float]:
    exact = source.joint
    people = np.repeat(exact.codes, exact.weights.sum(axis=0).astype(int), axis=0)
    sizes = [len(column.labels) for column in exact.columns]
    task = {"codes": people.tolist(), "sizes": sizes, "method": method, "epsilon": e0, "delta": DELTA}
    started = time.perf_counter()
    answer = subprocess.run(
        [python, "-W", "ignore", str(Path(__file__).with_name("_synthetic.py"))],
        input=json.dumps(task | {"tables": RELEASES}),
        check=True,
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    seconds = time.perf_counter() - started
    return means_of([share_errors(exact, np.array(table)) for table in json.loads(answer.stdout)]) | {"s": seconds}


def domain() -> Iterator[Row]:
    """Time and memory of `funnel fit --private 1` where the secret and the columns have 10⁶ combinations."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        write_skewed(table)
        command = [sys.executable, "-m", "privacyfunnel", "fit", str(table), "--secret", "s", "--epsilon", "0.5"]
        started = time.perf_counter()
        child = subprocess.Popen(
            [*command, "--private", "1", "-o", str(Path(folder) / "protocol.json")], stdout=subprocess.DEVNULL
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"funnel fit ended with {child.returncode}")
        seconds, mib = time.perf_counter() - started, used.ru_maxrss / 1024
    yield {
        "table": f"{PEOPLE:,} rows, {2 * int(np.prod(SIZES)):,} cells",
        "ε": 0.5,
        "ε₀": 1.0,
        "s": seconds,
        "cpu s": used.ru_utime + used.ru_stime,
        "MiB": mib,
        "asked": f"at most {MOST_MIB} MiB: {mib <= MOST_MIB}",
    }


def write_skewed(path: Path) -> None:
    """Columns whose k-th value is about 1/k as frequent as the first, and a secret that depends on all of them."""
    import pyarrow as pa
    import pyarrow.csv

    rng = np.random.default_rng(1)
    columns = []
    for size in SIZES:
        share = 1 / np.arange(1, size + 1)
        column = rng.choice(size, PEOPLE, p=share / share.sum())
        column[:size] = np.arange(size)  # so that every value occurs
        columns.append(column)
    leaning = sum(column % k for column, k in zip(columns, (5, 7, 3), strict=True)) / 3 - 2
    secret = np.where(rng.random(PEOPLE) < 1 / (1 + np.exp(-leaning)), "yes", "no")
    named = {f"x{j}": np.char.add("v", column.astype(str)) for j, column in enumerate(columns)}
    pa.csv.write_csv(pa.table({"s": secret, **named}), path)


PARTS = {"fits": fits, "robust": robust, "synthetic": synthetic, "domain": domain}

if __name__ == "__main__":
    run(tuple(sys.argv[1:]) or tuple(PARTS))
