"""Histories of 2, 3 and 5 releases of the same people: what everything together comes to, and what later ones tell.

Follow-ups: the i-th of k releases promises ε·i/k for everything so far. In "columns grow" the first release is of two
columns, the last of all four. Beside them stand k fresh, independent releases, each the best for ε/k: `fresh level` is
their exact level together, which nothing bounds by ε, `fresh kept` I(X;Y₂|Y₁) of the second of two. `fresh share` is
the largest share of ε/2 at which two fresh ones do keep ε together, by bisection on their exact level, with what the
second then keeps; `response kept` is that of randomised response of all columns at ε/2, which keeps ε after any first
release with ε/2. Information is in nats. CPU seconds are of the search for the last follow-up.
"""

from __future__ import annotations

import math
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
GAP = 1e-4
STEPS = 8
"""Of a bisection for the share of ε/2 that fresh releases can have."""
LEAST_SHARE = 0.05
ADULT = ["sex", "race", "marital_status", "education"]
DEMO = ["sex", "town", "height", "weight"]


def run() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for name, joint, epsilon in tables():
        rows += [history(name, joint, epsilon, k) for k in RELEASES]
        rows.append(growing(name, joint, epsilon))
    return rows


def tables() -> list[tuple[str, pf.Joint, float]]:
    table = pa.table(people(20_000, seed=0))
    found = [("demo", pf.Joint.from_table(table, secret="obese", attributes=DEMO), 0.2)]
    if DATA.is_dir():
        joint = pf.Joint.from_table(DATA / "adult.csv.gz", secret="income", attributes=ADULT)
        found.append(("adult", joint, 0.5))
    return found


def history(name: str, joint: pf.Joint, epsilon: float, k: int) -> dict[str, object]:
    protocol: Any = None
    for i in range(1, k + 1):
        started = time.process_time()
        protocol = pf.optimise(joint, pf.LIP(epsilon * i / k), after=protocol, gap=GAP)
        seconds = time.process_time() - started
    fresh = pf.optimise(joint, pf.LIP(epsilon / k), gap=GAP)
    row = told(name, joint, epsilon, protocol, seconds) | {"fresh level": fresh_level(joint, fresh, k)}
    if k == 2:
        share, kept = within(joint, epsilon)
        row |= {"fresh kept": second_of_two(fresh, fresh.channel_on(joint), joint)}
        row |= {"fresh share": f"{share:.2f}: {kept:.4g}", "response kept": responded(fresh, joint, epsilon / 2)}
    return row


def fresh_level(joint: pf.Joint, protocol: pf.Protocol, k: int) -> float:
    """Of k fresh releases together. What two rule out stays ruled out: further ones are not gone through then."""
    for releases in range(2, k + 1):
        level = pf.repeated(joint, protocol, (releases,))[0].level
        if math.isinf(level):
            break
    return level


def growing(name: str, joint: pf.Joint, epsilon: float) -> dict[str, object]:
    """Two columns first, and all of them later."""
    first = pf.optimise(joint.over(joint.attributes[:2]), pf.LIP(epsilon / 2), gap=GAP)
    started = time.process_time()
    second = pf.optimise(joint, pf.LIP(epsilon), after=first, gap=GAP)
    row = told(f"{name}, columns grow", joint, epsilon, second, time.process_time() - started)
    at_once = pf.optimise(joint, pf.LIP(epsilon), gap=GAP).utility
    return row | {"kept by both": first.utility + second.utility, "at once": at_once}


def told(name: str, joint: pf.Joint, epsilon: float, protocol: Any, seconds: float) -> dict[str, object]:
    levels = levels_of_history(protocol, joint)
    return {
        "table": name,
        "ε": epsilon,
        "releases": protocol.releases,
        "levels together": " ".join(f"{level.level:.4f}" for level in levels),
        "kept by the last": protocol.utility,
        "at most": protocol.upper_bound,
        "histories": len(protocol.steps.histories),
        "CPU s": seconds,
    }


def second_of_two(first: pf.Protocol, second: np.ndarray, joint: pf.Joint) -> float:
    """I(X;Y₂|Y₁) = H(Y₁, Y₂) − H(Y₁) − H(Y₂|X) of two fresh releases."""
    Q = first.channel_on(joint)
    both = (Q * joint.p_x) @ second.T
    return float(entropy(both.ravel()) - entropy(Q @ joint.p_x) - joint.p_x @ entropy(second.T))


def responded(first: pf.Protocol, joint: pf.Joint, epsilon: float) -> float:
    """The same for randomised response: the value itself, e^ε times as probable as any other."""
    n = joint.n_x
    Q = np.full((n, n), 1 / (n - 1 + math.exp(epsilon)))
    np.fill_diagonal(Q, math.exp(epsilon) / (n - 1 + math.exp(epsilon)))
    return second_of_two(first, Q, joint)


def within(joint: pf.Joint, epsilon: float) -> tuple[float, float]:
    """The largest share of ε/2 at which two fresh releases keep ε together, and I(X;Y₂|Y₁) there; 0 if it is small."""
    low, high, kept = 0.0, 1.0, 0.0
    for _ in range(STEPS):
        share = high if high == 1.0 and not low else (low + high) / 2
        protocol = pf.optimise(joint, pf.LIP(share * epsilon / 2), gap=GAP)
        if pf.repeated(joint, protocol, (2,))[0].level <= epsilon:
            low, kept = share, second_of_two(protocol, protocol.channel_on(joint), joint)
        else:
            high = share if share < 1.0 else 1.0 - LEAST_SHARE
        if share == low == 1.0 or high <= LEAST_SHARE:
            break
    return low, kept
