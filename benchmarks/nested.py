"""Promises for the population over nested sets: what they keep, of all columns and of any of them alone."""

import time
from itertools import combinations
from pathlib import Path

import pandas as pd

import privacyfunnel as pf
from privacyfunnel.population import people

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
"""Where the tables are, if they are there."""
REAL: list[tuple[str, str, list[str]]] = [
    ("adult", "income", ["sex", "race", "marital_status"]),
    ("adult", "income", ["education", "occupation", "sex"]),
    ("compas", "two_year_recid", ["sex", "age_cat", "score_text"]),
    ("compas", "two_year_recid", ["sex", "age_cat", "c_charge_degree", "decile_score"]),
]
PROMISES: list[pf.Notion] = [pf.LIP(0.2), pf.LIP(0.5)]
INTERVAL_SECONDS = 20.0
"""For what is compared with."""


def run() -> list[dict[str, object]]:
    return [row for name, joint in tables() for promise in PROMISES for row in compared(name, joint, promise)]


def tables() -> list[tuple[str, pf.Joint]]:
    """The demo's population, and real tables where they are there."""
    demo = pd.DataFrame(people(20_000, seed=1))
    found = [("demo", pf.Joint.from_table(demo, "obese", ["sex", "town", "height", "weight"]))]
    for name, secret, attributes in REAL:
        path = DATA / f"{name}.csv.gz"
        if path.exists():
            found.append((name, pf.Joint.from_table(path, secret, attributes, missing="?")))
    return found


def compared(name: str, joint: pf.Joint, promise: pf.Notion) -> list[dict[str, object]]:
    """All columns, over nested sets and over intervals; and the subset of columns that keeps most alone."""
    started = time.perf_counter()
    whole = pf.optimise(joint, pf.robust(promise))
    seconds = time.perf_counter() - started
    cells = pf.optimise(joint, pf.robust(promise, within="intervals"), time_limit=INTERVAL_SECONDS, gap=1e-3)
    alone = {
        " × ".join(names): pf.optimise(joint.over(names), pf.robust(promise), gap=1e-3, time_limit=INTERVAL_SECONDS)
        for k in range(1, len(joint.attributes))
        for names in combinations(joint.attributes, k)
    }
    best = max(alone, key=lambda names: alone[names].utility)
    return [
        {
            "table": f"{name}: {' × '.join(joint.attributes)}",
            "values": joint.n_x,
            "promise": str(promise),
            "H": joint.entropy,
            "nested": whole.utility,
            "at most": whole.upper_bound,
            "gap of H": whole.gap / joint.entropy,
            "seconds": seconds,
            "intervals": cells.utility,
            "best alone": best,
            "keeps": alone[best].utility,
            "ratio": whole.utility / alone[best].utility if alone[best].utility else 1.0,
        }
    ]
