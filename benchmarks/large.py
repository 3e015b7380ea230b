"""Large domains: how time and certified gap grow with the number of values and of secrets.

The real tables are looked for in the folder FUNNEL_DATA, or in shared/data beside the repository. Each
problem runs in a process of its own, so that its peak memory is its own; compiled loops are warm.
"""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

DATA = Path(os.environ.get("FUNNEL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
ADULT = ["sex", "race", "marital_status", "education", "occupation", "relationship", "workclass"]
RACE = ["workclass", "education", "marital_status", "occupation", "sex"]
DIABETES = ["race", "gender", "age", "A1Cresult", "insulin", "change"]

PROBLEM = """
import json, resource, sys, time
import numpy as np
import privacyfunnel as pf
from benchmarks.large import joint_of
spec = json.loads(sys.argv[1])
for warm in ((2, 100), (3, 90)):
    pf.optimise(pf.Joint(np.random.default_rng(0).random(warm)), pf.LIP(0.3))
joint = joint_of(spec)
before = time.perf_counter(), time.process_time()
first = []
def progress(p):
    if not first and p.gap <= 0.01 * joint.entropy:
        first.append(p.seconds)
protocol = pf.optimise(joint, pf.LIP(spec["epsilon"]), gap=spec["gap"], time_limit=spec["limit"], progress=progress)
wall, cpu = time.perf_counter() - before[0], time.process_time() - before[1]
print(json.dumps({
    "values": joint.n_x, "secrets": joint.n_s, "s": wall, "cpu s": cpu, "gap": protocol.gap,
    "gap / H(X)": protocol.gap / joint.entropy, "kept / H(X)": protocol.utility / joint.entropy,
    "s to 1%": first[0] if first else float("nan"),
    "MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, "how": protocol.how.split(":")[0],
}))
"""


def joint_of(spec):
    """The distribution that a problem is about."""
    import numpy as np

    import privacyfunnel as pf

    if "table" in spec:
        return pf.Joint.from_table(DATA / spec["table"], spec["secret"], spec["attributes"])
    rng = np.random.default_rng(1)
    c, a = spec["shape"]
    if not spec.get("sparse"):
        return pf.Joint(rng.random((c, a)))
    # Like country of birth: one secret nine times out of ten, the others rare, and 45,000 people in all.
    rare = 0.5 * rng.dirichlet(np.full(c - 1, 0.5)) + 0.5 / (c - 1)
    p_s = np.concatenate([[0.9], 0.1 * rare])
    people = np.maximum(1, rng.multinomial(45_000, rng.dirichlet(np.full(a, 0.5))))
    counts = np.stack([rng.multinomial(n, p_s) for n in people], axis=1)
    return pf.Joint(counts[counts.sum(axis=1) > 0])


def run() -> list[dict[str, object]]:
    rows = [against_listing()]
    rows += two_secrets()
    for name, shape, epsilon, gap, limit in (
        ("random", (3, 200), 0.5, 1e-6, 60),
        ("random", (3, 200), 0.1, 1e-6, 60),
        ("random", (5, 50), 0.5, 1e-6, 60),
        ("random", (5, 50), 0.1, 1e-6, 60),
        ("random", (10, 200), 2.0, 1e-3, 120),
        ("random", (10, 200), 1.0, 1e-3, 120),
        ("random", (10, 200), 0.5, 1e-3, 120),
    ):
        rows.append(measured(name, {"shape": shape}, epsilon, gap, limit))
    rows.append(measured("sparse, rare secrets", {"shape": (43, 1_000), "sparse": True}, 0.5, 1e-3, 120))
    return rows + real_tables()


def two_secrets() -> list[dict[str, object]]:
    """Random p; the exponent is that of seconds against values, from the size before."""
    rows: list[dict[str, object]] = []
    for a, gap in ((1_000, 1e-6), (10_000, 1e-6), (100_000, 1e-4)):
        row = measured("random", {"shape": (2, a)}, 0.5, gap, 180)
        if rows:
            row["growth"] = math.log(float(str(row["cpu s"])) / float(str(rows[-1]["cpu s"])), 10)
        rows.append(row)
    return rows


def real_tables() -> list[dict[str, object]]:
    """Skipped with a word where the tables are not there."""
    if not DATA.is_dir():
        return [{"problem": "real tables", "how": "not there; set FUNNEL_DATA to their folder"}]
    adult = {"table": "adult.csv.gz", "secret": "income", "attributes": ADULT}
    race = {"table": "adult.csv.gz", "secret": "race", "attributes": RACE}
    diabetes = {"table": "diabetes130.csv.gz", "secret": "readmitted", "attributes": DIABETES}
    return [
        measured("adult income", adult, 0.1, 1e-4, 60),
        measured("adult income", adult, 0.5, 1e-4, 60),
        measured("adult race", race, 0.5, 1e-4, 120),
        measured("diabetes130 readmitted", diabetes, 0.1, 1e-4, 120),
        measured("diabetes130 readmitted", diabetes, 0.5, 1e-4, 120),
    ]


def measured(name: str, spec: dict[str, object], epsilon: float, gap: float, limit: float) -> dict[str, object]:
    """One problem in a process of its own."""
    spec = spec | {"epsilon": epsilon, "gap": gap, "limit": limit}
    command = [sys.executable, "-c", PROBLEM, json.dumps(spec)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return {"problem": name, "ε": epsilon, "asked": gap} | json.loads(answer.stdout)


def against_listing() -> dict[str, object]:
    """c=2, a=300: pairing values against listing all posteriors, which is what was there before."""
    import threading

    import numpy as np

    import privacyfunnel as pf
    from benchmarks.optimiser import timed
    from privacyfunnel.optimiser.program.listing import list_vertices
    from privacyfunnel.optimiser.program.polytope import Polytope
    from privacyfunnel.optimiser.program.state import Search
    from privacyfunnel.optimiser.two_secrets.pairing import pair_values

    joint = pf.Joint(np.random.default_rng(1).random((2, 300)))
    polytope = Polytope.of(joint, pf.LIP(0.5))

    def state() -> Search:
        return Search.within(polytope, joint.entropy, 1e-6, None, None, threading.Event())

    pair_values(state())
    _, ours = timed(lambda: pair_values(state()), 20)
    _, theirs = timed(lambda: list_vertices(state(), 2), 3)
    return {
        "problem": f"pairing is {theirs / ours:.0f} times faster than listing",
        "ε": 0.5,
        "values": 300,
        "secrets": 2,
        "s": ours,
    }


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.__main__ import show

    show(Console(width=220), "large", run())
