"""Faithful releases: how many cells stay, and how exact counted shares are, all from the finished channel.

Shares are those of single columns and of pairs of columns. Their drawing errors are multiples of √(f(1−f)/n), the error
that a sample of as many people has anyway; biases are of the shares. The baseline is the information that the best
protocol for I(X;Y) keeps. The real tables are looked for where `large` looks; each problem has its own process.
"""

import json
import subprocess
import sys
import time
from itertools import combinations

from benchmarks.large import DATA

COMPAS = {"table": "compas.csv.gz", "secret": "two_year_recid", "attributes": ["sex", "race", "age_cat", "score_text"]}
DEMO = {"people": 20_000, "secret": "obese", "attributes": ["sex", "town", "height", "weight"]}
ADULT = {"table": "adult.csv.gz", "secret": "income", "attributes": ["sex", "race", "marital_status", "education"]}
MANY = ADULT | {"attributes": [*ADULT["attributes"], "occupation"]}
VERY_MANY = MANY | {"attributes": [*MANY["attributes"], "workclass"]}
PROBLEMS = (
    ("compas", COMPAS, 0.5, 0.97, 1),
    ("compas", COMPAS, 0.1, 0.86, 1),
    ("demo", DEMO, 0.2, 0.915, 30),
    ("adult, 4 columns", ADULT, 0.5, 0.905, 30),
    ("adult, 5 columns", MANY, 0.5, 0.0, 300),
    ("adult, 6 columns", VERY_MANY, 0.5, 0.0, 300),
)
"""Name, table, ε, and what is asked for: the cells that stay, at least, and the seconds on two idle cores."""
OPTIMUM_VALUES = 1_000
"""With more values, the information optimum is left out."""


def run() -> list[dict[str, object]]:
    rows = []
    for name, spec, epsilon, cells, seconds in PROBLEMS:
        if "table" in spec and not DATA.is_dir():
            rows.append({"problem": name, "how": "not there; set FUNNEL_DATA to its folder"})
            continue
        command = [sys.executable, "-m", "benchmarks.faithful", json.dumps(spec | {"epsilon": epsilon})]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        rows.append({"problem": name, "ε": epsilon} | answer | {"cells asked": cells, "s asked": seconds})
    return rows


def measured(spec: dict) -> dict[str, object]:
    """One problem, solved once before on a small table so that compiled loops are loaded."""
    import privacyfunnel as pf
    from privacyfunnel.optimiser.faithful.best_release import faithful
    from privacyfunnel.protocols.protocol import information_kept

    joint, promise = joint_of(spec), pf.LIP(spec["epsilon"])
    warm = pf.Joint([[[9, 4, 5], [3, 8, 6]]] * 2)
    faithful(warm, promise)
    before = time.perf_counter(), time.process_time()
    release = faithful(joint, promise)
    wall, cpu = time.perf_counter() - before[0], time.process_time() - before[1]
    best = pf.optimise(joint, promise, time_limit=60).utility if joint.n_x <= OPTIMUM_VALUES else float("nan")
    return {
        "values": joint.n_x,
        "cells unchanged": release.cells_unchanged,
        "rows unchanged": release.rows_unchanged,
        "fidelity": release.fidelity,
        "gap": release.gap,
        "information": information_kept(release.channel, joint.p_x) / joint.entropy,
        "optimum": best / joint.entropy,
        "s": wall,
        "cpu s": cpu,
        "entries": len(release.channel.outputs),
        "marginal error": release.marginal_error,
    } | shares(joint, release.channel)


def joint_of(spec):
    import pyarrow as pa

    import privacyfunnel as pf
    from privacyfunnel.population import people

    if "table" in spec:
        return pf.Joint.from_table(DATA / spec["table"], spec["secret"], spec["attributes"])
    return pf.Joint.from_table(pa.table(people(spec["people"], seed=1)), spec["secret"], spec["attributes"])


def shares(joint, channel) -> dict[str, object]:
    """Bias and drawing error of counted shares, of single columns and of pairs, over the sampling error."""
    import numpy as np

    told: dict[str, object] = {}
    m = joint.codes.shape[1]
    for name, families in (("single", [(j,) for j in range(m)]), ("two-way", list(combinations(range(m), 2)))):
        bias, drawing = (
            np.concatenate(part) for part in zip(*(errors(joint, channel, J) for J in families), strict=True)
        )
        told |= {
            f"{name}: bias": float(bias.max()),
            f"{name}: median": float(np.median(drawing)),
            f"{name}: worst": float(drawing.max()),
        }
    return told


def errors(joint, channel, columns):
    """For every share f of a combination of values: its bias |E − f|, and √(Σ p_x e_x(1−e_x)) / √(f(1−f))."""
    import numpy as np

    from privacyfunnel.protocols.channel import UNIT

    _, cell = np.unique(joint.codes[:, columns], axis=0, return_inverse=True)
    cell = cell.ravel()
    e = np.zeros((cell.max() + 1, joint.n_x))  # P(x′ in the cell | x)
    np.add.at(e, (cell[channel.outputs], channel.inputs), channel.numerators / UNIT)
    p = joint.p_x
    f = np.bincount(cell, weights=p)
    spread = np.sqrt(f * (1 - f))
    bias = np.abs(e @ p - f)
    drawing = np.sqrt(((e * (1 - e)) @ p).clip(0)) / spread
    real = (f < 1) & (spread > 0)
    return bias[real], drawing[real]


if __name__ == "__main__":
    print(json.dumps(measured(json.loads(sys.argv[1]))))
