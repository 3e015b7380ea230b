"""Protocols for readers of any table: what they keep, and how sharply shares are known, before anything is released.

Standard errors are multiples of what the original table has itself: "most information" is the protocol without
readers=, the others are with readers="pairs" ("shares" of the 10,000 made-up values) and give up 1% of the information.
"by no protocol below" is the certified bound on the root of the mean of the squared multiples, over all asked shares.
"""

from __future__ import annotations

import math
import time

import numpy as np
import pandas as pd

import privacyfunnel as pf
from benchmarks.large import DATA
from privacyfunnel.estimates.expected import ExpectedErrors
from privacyfunnel.population import people

COMPAS = ("compas.csv.gz", "two_year_recid", ["sex", "race", "age_cat", "score_text"])
ADULT = ("adult.csv.gz", "income", ["sex", "race", "marital_status", "education"])
MANY = (10, 10, 10, 10)
"""Values of the columns of a made-up table."""
MANY_PEOPLE = 10_000_000


def run() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for name, epsilon, readers, joint in tables():
        if joint is None:
            rows.append({"table": f"{name}: not there; set FUNNEL_DATA to its folder"})
        else:
            rows.append(measured(name, epsilon, readers, joint))
    return rows


def tables():
    for (path, secret, columns), epsilon in ((COMPAS, 0.5), (COMPAS, 0.1), (ADULT, 0.5)):
        there = (DATA / path).exists()
        yield path, epsilon, "pairs", pf.Joint.from_table(DATA / path, secret, columns) if there else None
    demo = pd.DataFrame(people(20_000, seed=1))
    yield "demo", 0.2, "pairs", pf.Joint.from_table(demo, "obese", ["sex", "town", "height", "weight"])
    yield "10,000 values", 0.5, "shares", many()


def many() -> pf.Joint:
    """Four columns that each have a little to do with the secret, and combinations that have more."""
    rng = np.random.default_rng(0)
    leaning = sum(np.meshgrid(*(0.5 * rng.normal(size=k) for k in MANY), indexing="ij"))
    p_x = rng.dirichlet(np.full(math.prod(MANY), 2.0)).reshape(MANY)
    share = 1 / (1 + np.exp(-leaning - 0.3 * rng.normal(size=MANY)))
    return pf.Joint(1 + np.rint(MANY_PEOPLE * np.stack([p_x * (1 - share), p_x * share])).astype(int))


def measured(name: str, epsilon: float, readers: str, joint: pf.Joint) -> dict[str, object]:
    started = time.perf_counter()
    before = pf.optimise(joint, pf.LIP(epsilon))
    between = time.perf_counter()
    protocol = pf.optimise(joint, pf.LIP(epsilon), readers=readers)
    seconds = time.perf_counter() - between
    if not pf.certify(protocol, joint).holds:
        raise AssertionError("the promise is not kept")
    row: dict[str, object] = {
        "table": name,
        "values": joint.n_x,
        "LIP": epsilon,
        "readers": readers,
        "of the most information": protocol.utility / protocol.upper_bound,
        "outputs": protocol.block.channel.n_outputs,
        "seconds, most information": between - started,
        "seconds": seconds,
    }
    if joint.n_x < math.prod(MANY):
        row["single shares, most information"] = times(pf.expected_errors(before, joint))
        row["single shares"] = times(pf.expected_errors(protocol, joint))
        row["pairs of columns"] = times(pf.expected_errors(protocol, joint, of="pairs"))
    precision = protocol.precision
    if precision is not None:
        bound = precision.variance_bound
        row["root mean square"] = math.sqrt(precision.variance)
        row["by no protocol below"] = math.sqrt(bound) if bound is not None else "not known"
    return row


def times(errors: ExpectedErrors) -> str:
    worst = errors.worst
    return f"median ×{errors.typical:.2f}, worst ×{worst.estimated_times if worst else 1:.2f}"
