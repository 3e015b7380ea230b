"""Promises about several secrets: each by itself against all together, on Adult; and how long 1,000 values take."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import privacyfunnel as pf

ADULT = Path(__file__).parents[2] / "shared" / "data" / "adult.csv.gz"
COLUMNS = ["age", "workclass", "education_num", "marital_status", "race"]
BINS = {"age": [17, 30, 45, 60, 90], "education_num": [1, 9, 11, 13, 16]}
EPSILONS = (0.1, 0.2, 0.5, 1.0)
SECONDS = 90.0
"""For each search: the table is about what is kept, with the bound beside it."""


def run() -> list[dict[str, object]]:
    return [*_adult(), *_thousand()]


def _adult() -> list[dict[str, object]]:
    if not ADULT.exists():
        return []
    joint = pf.Joint.from_table(ADULT, ["income", "sex"], COLUMNS, bins=BINS)
    found = []
    for epsilon in EPSILONS:
        promises = {
            "income and sex together": pf.LIP(epsilon),
            "each by itself": pf.Promises(income=pf.LIP(epsilon), sex=pf.LIP(epsilon)),
        }
        for name, promise in promises.items():
            begun = time.process_time()
            protocol = pf.optimise(joint, promise, gap=1e-3 * joint.entropy, time_limit=SECONDS)
            found.append(
                {
                    "what": f"Adult, {joint.n_x} values, ε = {epsilon:g}: {name}",
                    "kept": protocol.utility / joint.entropy,
                    "at most": protocol.upper_bound / joint.entropy,
                    "CPU seconds": time.process_time() - begun,
                }
            )
    return found


def _thousand() -> list[dict[str, object]]:
    """Two secrets of two values, 1,000 values of X, down to a gap of a thousandth of H(X)."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), size=1000).T * rng.gamma(1.0, size=1000)
    joint = pf.Joint(p.reshape(2, 2, 1000), secret=["a", "b"])
    begun, clock = time.process_time(), time.monotonic()
    protocol = pf.optimise(joint, pf.Promises(a=pf.LIP(0.2), b=pf.LIP(0.1)), gap=1e-3 * joint.entropy)
    return [
        {
            "what": "two secrets of two values, 1,000 values of X, gap 1e-3 of H(X)",
            "kept": protocol.utility / joint.entropy,
            "at most": protocol.upper_bound / joint.entropy,
            "CPU seconds": time.process_time() - begun,
            "seconds": time.monotonic() - clock,
        }
    ]
