"""Learn, then test: what `within="tested"` keeps, beside nested sets.

Who is set aside follows from the counts, so there is one outcome for a table. How much of it is luck is seen on tables
that lack one person: these have other parts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

import privacyfunnel as pf
from benchmarks.robust import DATA, TABLES
from privacyfunnel.population import people

EPSILONS = (0.2, 0.5)
OTHERS = 20
"""Tables that lack one person."""


def tables() -> Iterator[tuple[str, pf.Joint]]:
    """Demo population, Adult and COMPAS, the latter two if they are there."""
    demo = people(20_000, seed=1)
    columns = ["sex", "town", "height", "weight"]
    table = pa.table({name: demo[name] for name in ("obese", *columns)})
    for j in (2, 3, 4):
        yield f"demo: obese / {'×'.join(columns[:j])}", pf.Joint.from_table(table, "obese", columns[:j])
    for name, secret, attributes in (TABLES[3], TABLES[6]):
        if (DATA / f"{name}.csv.gz").exists():
            bins = {column: "each" for column in attributes if column == "decile_score"}
            joint = pf.Joint.from_table(DATA / f"{name}.csv.gz", secret, attributes, bins=bins, missing="?")
            yield f"{name}: {secret} / {'×'.join(attributes)}", joint


def without_one(joint: pf.Joint, rng: np.random.Generator) -> pf.Joint:
    """The table without one person, whose value somebody else has, too."""
    weights = joint.weights.copy()
    often = weights * (weights.sum(axis=0) > 1)
    place = rng.choice(often.size, p=often.ravel() / often.sum())
    weights[np.unravel_index(place, weights.shape)] -= 1
    return pf.Joint.from_codes(weights, joint.codes, joint.columns, joint.secret, joint.secret_values)


def utility(others: int = OTHERS) -> list[dict[str, object]]:
    """Nats kept: on the table, and the median, least and most on tables without one person."""
    rows: list[dict[str, object]] = []
    for words, joint in tables():
        for epsilon in EPSILONS:
            notion, rng = pf.robust(pf.LIP(epsilon), within="tested"), np.random.default_rng(7)
            started = time.monotonic()
            found = pf.optimise(joint, notion)
            seconds = time.monotonic() - started
            nats = [pf.optimise(without_one(joint, rng), notion).utility for _ in range(others)]
            rows.append(
                {
                    "problem": f"{words} LIP({epsilon})",
                    "values": joint.n_x,
                    "nats": found.utility,
                    "s": seconds,
                    "median of others": float(np.median(nats)),
                    "from, to": f"{min(nats):.3f}, {max(nats):.3f}",
                    "found by": found.how,
                }
            )
    return rows


def beside_nested(time_limit: float = 60.0) -> list[dict[str, object]]:
    """The same tables over nested sets."""
    rows: list[dict[str, object]] = []
    for words, joint in tables():
        for epsilon in EPSILONS:
            started = time.monotonic()
            found = pf.optimise(joint, pf.robust(pf.LIP(epsilon), within="nested"), time_limit=time_limit)
            seconds = time.monotonic() - started
            rows.append({"problem": f"{words} LIP({epsilon}), nested", "nats": found.utility, "s": seconds})
    return rows


def run() -> list[dict[str, object]]:
    return [*utility(), *beside_nested()]
