"""Promises over a confidence set: what they cost over plain ones, how often each fails, and real tables."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.bisection import bisected

import privacyfunnel as pf

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
"""Where the tables are, if they are there."""
TABLES: list[tuple[str, str, list[str]]] = [
    ("adult", "income", ["education"]),
    ("adult", "income", ["education", "sex"]),
    ("adult", "income", ["sex", "race", "marital_status"]),
    ("adult", "income", ["education", "occupation", "sex"]),
    ("compas", "two_year_recid", ["sex", "age_cat"]),
    ("compas", "two_year_recid", ["sex", "age_cat", "score_text"]),
    ("compas", "two_year_recid", ["sex", "age_cat", "c_charge_degree", "decile_score"]),
]
TRUTH = np.array([[0.25, 0.15, 0.10], [0.08, 0.17, 0.25]])


def run() -> list[dict[str, object]]:
    return [*cost(), *failures(), *real_tables()]


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """The result, and its CPU time in seconds: the machine may be shared."""
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def quickest(function: Callable[[], Any], times: int = 3) -> tuple[Any, float]:
    """The result, and the least CPU time of a few runs after a first one that imports and compiles."""
    function()
    return min((timed(function) for _ in range(times)), key=lambda run: run[1])


def cost() -> list[dict[str, object]]:
    """c=2, a=100 (and a=30, where the optimum is proven), against the plain optimum in the same run."""
    rows: list[dict[str, object]] = []
    for a, n, notion in (
        (100, 10**3, pf.LIP(0.5)),
        (100, 10**3, pf.LDP(0.5)),
        (100, 10**4, pf.LIP(0.5)),
        (100, 10**4, pf.LDP(0.5)),
        (100, 10**5, pf.LIP(0.5)),
        (100, 10**6, pf.LIP(0.5)),
        (100, 10**6, pf.LIP(0.1)),
        (100, 10**6, pf.LDP(0.5)),
        (100, 10**8, pf.LIP(0.1)),
        (30, 10**5, pf.LIP(0.5)),
    ):
        rng = np.random.default_rng(0)
        joint = pf.Joint(rng.multinomial(n, rng.dirichlet(np.ones(2 * a))).reshape(2, a))
        plain, base = quickest(lambda joint=joint, notion=notion: pf.optimise(joint, notion))
        over, ours = quickest(lambda joint=joint, notion=notion: pf.optimise(joint, pf.robust(notion)))
        rows.append(
            {
                "problem": f"c=2 a={a} n={n:,} {notion}",
                "plain s": base,
                "robust s": ours,
                "times the cost": ours / base,
                "plain nats": plain.utility,
                "robust nats": over.utility,
                "certified gap": over.gap,
            }
        )
    return rows


def failures(samples: int = 100) -> list[dict[str, object]]:
    """How often a promise of ε = 0.4 is broken for the population, over samples from a known one."""
    rows: list[dict[str, object]] = []
    for n in (40, 300, 3_000, 30_000):
        rng = np.random.default_rng(n)
        notion = pf.LIP(0.4)
        promises = {"plain": notion, "robust": pf.robust(notion)}
        broken, kept = dict.fromkeys(promises, 0), dict.fromkeys(promises, 0.0)
        for _ in range(samples):
            counts = rng.multinomial(n, TRUTH.ravel()).reshape(TRUTH.shape)
            joint, truth = pf.Joint(counts), pf.Joint(TRUTH[:, counts.any(axis=0)])
            for name, promise in promises.items():
                protocol = pf.optimise(joint, promise, gap=1e-3)
                broken[name] += notion.level(truth, protocol.channel) > notion.epsilon * (1 + 1e-9)
                kept[name] += protocol.utility
        rows.append(
            {
                "problem": f"{samples} samples of n={n:,}, LIP(0.4), confidence 0.95",
                **{f"{name} broken": count / samples for name, count in broken.items()},
                **{f"{name} nats": nats / samples for name, nats in kept.items()},
            }
        )
    return rows


def real_tables(notion: pf.Notion | None = None, time_limit: float = 60.0) -> list[dict[str, object]]:
    """Adult and COMPAS: the plain optimum and its level for the population, the robust optimum, and bisection."""
    notion = notion or pf.LIP(0.5)
    rows: list[dict[str, object]] = []
    for name, secret, attributes in TABLES:
        if not (DATA / f"{name}.csv.gz").exists():
            continue
        bins = {column: "each" for column in attributes if column == "decile_score"}
        joint = pf.Joint.from_table(DATA / f"{name}.csv.gz", secret, attributes, bins=bins, missing="?")
        over = pf.robust(notion)
        plain, base = timed(lambda joint=joint: pf.optimise(joint, notion, time_limit=time_limit))
        best, ours = timed(lambda joint=joint, over=over: pf.optimise(joint, over, gap=1e-3, time_limit=time_limit))
        simple = bisected(joint, over, gap=1e-4, time_limit=time_limit, steps=8)
        found = pf.population_findings(best, joint)
        rows.append(
            {
                "problem": f"{name}: {secret} / {'×'.join(attributes)} {notion}",
                "values": joint.n_x,
                "H(X)": joint.entropy,
                "plain nats": plain.utility,
                "plain level": pf.level_over(joint, plain, 0.95).level,
                "robust nats": best.utility,
                "at most": best.upper_bound,
                "bisected nats": simple.utility,
                "too rare": found.too_rare,
                "plain s": base,
                "robust s": ours,
            }
        )
    return rows


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.__main__ import show

    show(Console(width=200), "robust", run())
