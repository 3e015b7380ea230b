"""Estimates on Adult: mean squared errors of shares, against counting labels, plain inversion and multi-freq-ldpy.

The people of Adult are released many times through each protocol, and every method estimates the shares of single
attributes. multi-freq-ldpy's MI takes one probability of telling the truth and one of each lie, so it applies to
randomised response only; its IBU multiplies by the channel where its transpose belongs, which is the same for
symmetric channels only. Where they do not apply, IBU is run all the same and called so; it can end in nan there.

And what `estimate` takes for wide tables of random columns, worked back, in time and memory of a process of its own.
"""

import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import privacyfunnel as pf
from privacyfunnel.attacks.learned import draw
from privacyfunnel.attacks.outcomes import inputs_on
from privacyfunnel.estimates.frequencies import Presentation, Reader, frequencies
from privacyfunnel.estimates.measuring import Meter
from privacyfunnel.estimates.questions import Asker
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.protocol import Objective, Protocol
from privacyfunnel.tables.reading_back import Tally

ADULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult.csv.gz"
REPEATS = 10
TRUTHFUL = 2.0
"""ε of randomised response on X."""
IBU_STEPS, IBU_STILL = 1_000, 1e-12
MOST_IBU = 100
"""Values beyond which IBU is left out: it works on dense matrices, and does not apply to the large one anyway."""
LARGE = ((15_700, 60_000), (50_000, 200_000))
"""Combinations and rows of wide tables."""
LEVELS = (2, 3, 5, 7, 4, 6, 9, 8)
"""Values of their columns."""


def run(repeats: int = REPEATS) -> list[dict[str, object]]:
    large = [apart(objective, *size) for size in LARGE for objective in ("information", "faithful")]
    if not ADULT.exists():
        return [*large, {"protocol": f"{ADULT.name} is not in the shared folder beside the repository"}]
    adult = [row for name, (joint, protocol) in protocols().items() for row in compare(name, joint, protocol, repeats)]
    return [*adult, *large]


def apart(objective: Objective, combinations: int, rows: int) -> dict[str, object]:
    """`worked_back` in a process of its own, whose memory is its own."""
    call = f"from benchmarks.estimate import worked_back; worked_back({objective!r}, {combinations}, {rows})"
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=True)
    seconds, gigabytes = done.stdout.split()
    name = f"LIP(0.5), {objective}: {combinations:,} combinations, {rows:,} rows"
    return {"protocol": name, "method": "estimate", "seconds": float(seconds), "GB": float(gigabytes)}


def worked_back(objective: Objective, combinations: int, rows: int) -> None:
    """Print seconds of `estimate` and the process's peak of memory in gigabytes, for a wide table."""
    people = wide(combinations, rows)
    names = [name for name in people.column_names if name != "ill"]
    joint = pf.Joint.from_table(people, "ill", names)
    protocol = pf.optimise(joint, pf.LIP(0.5), objective=objective, time_limit=60)
    released = protocol.sanitise(people, seed=1)
    started = time.perf_counter()
    pf.estimate(released, protocol, rows="other")
    seconds = time.perf_counter() - started
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9)


def wide(combinations: int, rows: int) -> pa.Table:
    """A table of columns with uneven shares, of which so many combinations occur."""
    rng = np.random.default_rng(0)
    drawn = [rng.choice(k, size=3 * combinations, p=rng.dirichlet(np.ones(k))) for k in LEVELS]
    pool = rng.permutation(np.unique(np.stack(drawn, axis=1), axis=0))[:combinations]
    share = rng.pareto(1.2, len(pool)) + 0.2
    more = rng.choice(len(pool), size=rows - len(pool), p=share / share.sum())
    x = np.concatenate([np.arange(len(pool)), more])
    ill = rng.random(rows) < rng.beta(1, 3, len(pool))[x]
    return pa.table({"ill": ill.astype(int), **{f"c{j}": pool[x, j] for j in range(len(LEVELS))}})


def protocols() -> dict[str, tuple[pf.Joint, Protocol]]:
    one = pf.Joint.from_table(ADULT, "income", ["education"])
    two = pf.Joint.from_table(ADULT, "income", ["education", "sex"])
    four = pf.Joint.from_table(ADULT, "income", ["sex", "race", "marital_status", "education"])
    return {
        f"randomised response, ε = {TRUTHFUL}: education (16)": (one, randomised_response(one)),
        "best LIP(0.2): education × sex (32)": (two, pf.optimise(two, pf.LIP(0.2))),
        "best LIP(0.2): sex × race × marital status × education (681)": (four, pf.optimise(four, pf.LIP(0.2))),
    }


def randomised_response(joint: pf.Joint) -> Protocol:
    """The truth with odds e^ε against each single lie."""
    n = joint.n_x
    lie = int(UNIT / (np.exp(TRUTHFUL) + n - 1))
    N = np.full((n, n), lie, dtype=np.int64)
    np.fill_diagonal(N, UNIT - lie * (n - 1))
    block = block_of(joint, Channel.from_numerators(N))
    return Protocol(pf.LDP(TRUTHFUL), block, 0.0, 0.0, 0.0, "randomised response", "income")


def compare(name: str, joint: pf.Joint, protocol: Protocol, repeats: int) -> list[dict[str, object]]:
    """The mean squared error of each method, over all values of all attributes and all releases."""
    rng = np.random.default_rng(1)
    people = np.repeat(np.arange(joint.n_x), joint.weights.sum(axis=0).astype(np.int64))
    inputs = inputs_on(protocol.block, joint)[people]
    scorer, asker = Scorer(protocol.block), Asker(protocol)
    true = {a: {v: float(joint.p_x[joint.values[:, j] == v].sum()) for v in asker.columns[a].labels}
            for j, a in enumerate(joint.attributes)}  # fmt: skip
    inverse = np.linalg.pinv(protocol.channel)
    errors: dict[str, list[float]] = {}
    kept: list[bool] = []
    for _ in range(repeats):
        different, counts = np.unique(draw(protocol.block, inputs, rng), return_counts=True)
        meter = Meter(Tally(different, counts), scorer)
        others = peers(protocol, meter, inverse)
        for attribute, shares in true.items():
            table = frequencies(Reader(meter, asker, {}, Presentation()), [attribute])
            moved = frequencies(Reader(meter, asker, {}, Presentation(project=True, model=False)), [attribute])
            for row, projected in zip(table.estimates, moved.estimates, strict=True):
                (value,) = row.values[0]
                found = {"counting labels": row.counted, "most likely (model)": row.likely}
                if row.told:
                    kept.append(row.low <= shares[value] <= row.high)
                    found |= {"estimate": row.share, "estimate, projected": projected.share}
                for method, p in others.items():
                    found[method] = share_of(protocol, p, attribute, value)
                for method, share in found.items():
                    errors.setdefault(method, []).append((share - shares[value]) ** 2)
    squared = {method: float(np.mean(values)) for method, values in errors.items()}
    return [
        {
            "protocol": name,
            "method": method,
            "mean squared error": error,
            "times counting": error / squared["counting labels"],
            "values told": f"{len(errors[method]) / len(errors['counting labels']):.0%}",
            "intervals hold": f"{np.mean(kept):.1%}" if method == "estimate" else "",
        }
        for method, error in sorted(squared.items(), key=lambda item: item[1])
    ]


def peers(protocol: Protocol, meter: Meter, inverse: np.ndarray) -> dict[str, np.ndarray]:
    """P̂(x) by plain inversion and by multi-freq-ldpy."""
    from multi_freq_ldpy.estimators.Histogram_estimator import IBU, MI

    Q, f = protocol.channel, meter.shares()
    found: dict[str, np.ndarray] = {"plain inversion": inverse @ f}
    square = Q.shape[0] == Q.shape[1]
    symmetric = square and np.array_equal(Q, Q.T)
    off = Q[~np.eye(*Q.shape, dtype=bool)]
    if symmetric and np.ptp(off) < 1e-9:
        found["multi-freq-ldpy MI"] = MI(f * meter.rows, meter.rows, float(Q[0, 0]), float(off[0]))
    if square and len(Q) <= MOST_IBU:
        name = "multi-freq-ldpy IBU" if symmetric else "multi-freq-ldpy IBU (made for symmetric channels)"
        ibu = IBU(len(f), np.ascontiguousarray(Q), f, IBU_STEPS, IBU_STILL, "max_abs")
        found[name] = ibu / ibu.sum()
    return found


def share_of(protocol: Protocol, p: np.ndarray, attribute: str, value: object) -> float:
    """The share of a value of an attribute, from a distribution of the inputs."""
    return float(p[protocol.block.values[:, protocol.attributes.index(attribute)] == value].sum())


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.__main__ import show

    show(Console(width=200), "estimate", run())
