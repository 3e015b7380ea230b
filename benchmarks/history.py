"""Histories of 2, 3 and 5 releases of the same people: what everything together comes to, and what later ones tell.

Follow-ups: the i-th of k releases promises ε·i/k for everything so far; the last row of each is what was asked for.
Beside them stand k fresh, independent releases, each the best for ε/k: `fresh level` is their exact level together,
which nothing bounds by ε. `fresh kept` is I(X;Y₂|Y₁) of the second of two fresh ones. `fresh within ε` is the same for
the largest share of ε/2 at which two fresh releases do keep ε together, found by bisection on their exact level.
Information is in nats. CPU seconds are of the search for the last follow-up.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa

import privacyfunnel as pf
from benchmarks.large import DATA
from privacyfunnel.numeric.information import entropy
from privacyfunnel.population import people
from privacyfunnel.proof.level_of_history import levels_of_history

RELEASES = (2, 3, 5)
EPSILONS = (0.2, 0.5)
STEPS = 12
"""Of a bisection for the share of ε/2 that fresh releases can have."""


def run() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for name, joint in tables():
        for epsilon in EPSILONS:
            rows += [history(name, joint, epsilon, k) for k in RELEASES]
    return rows


def tables() -> list[tuple[str, pf.Joint]]:
    found = [("demo", demo())]
    if DATA.is_dir():
        path = DATA / "adult.csv.gz"
        attributes = ["sex", "race", "marital_status", "education"]
        found.append(("adult", pf.Joint.from_table(path, secret="income", attributes=attributes)))
    return found


def demo() -> pf.Joint:
    return pf.Joint.from_table(pa.table(people(20_000, seed=0)), secret="obese", attributes=["sex", "town", "height", "weight"])


def history(name: str, joint: pf.Joint, epsilon: float, k: int) -> dict[str, object]:
    protocol: Any = None
    for i in range(1, k + 1):
        started = time.process_time()
        protocol = pf.optimise(joint, pf.LIP(epsilon * i / k), after=protocol, gap=1e-4)
        seconds = time.process_time() - started
    levels = levels_of_history(protocol, joint)
    fresh = pf.optimise(joint, pf.LIP(epsilon / k), gap=1e-4)
    row: dict[str, object] = {
        "table": name,
        "ε": epsilon,
        "releases": k,
        "levels together": " ".join(f"{level.level:.4f}" for level in levels),
        "kept by the last": protocol.utility,
        "at most": protocol.upper_bound,
        "fresh level": pf.repeated(joint, fresh, (k,))[0].level,
        "histories": len(protocol.steps.histories),
        "CPU s": seconds,
    }
    if k == 2:
        row["fresh kept"] = second_of_two(fresh, joint)
        share, kept = within(joint, epsilon)
        row["fresh within ε"], row["at share"] = kept, share
    return row


def second_of_two(protocol: pf.Protocol, joint: pf.Joint) -> float:
    """I(X;Y₂|Y₁) = H(Y₁, Y₂) − H(Y₁) − H(Y₂|X) of two fresh releases."""
    Q = protocol.channel_on(joint)
    both, once = (Q * joint.p_x) @ Q.T, Q @ joint.p_x
    return float(entropy(both.ravel()) - entropy(once) - joint.p_x @ entropy(Q.T))


def within(joint: pf.Joint, epsilon: float) -> tuple[float, float]:
    """The largest share of ε/2 at which two fresh releases keep ε together, and I(X;Y₂|Y₁) there."""
    low, high, kept = 0.0, 1.0, 0.0
    for _ in range(STEPS):
        share = (low + high) / 2 if low else high
        protocol = pf.optimise(joint, pf.LIP(share * epsilon / 2), gap=1e-4)
        if pf.repeated(joint, protocol, (2,))[0].level <= epsilon:
            low, kept = share, second_of_two(protocol, joint)
            if share == 1.0:
                break
        else:
            high = share if low else share / 2
    return low, kept


if __name__ == "__main__":
    np.set_printoptions(precision=4)
    for each in run():
        print(each)
