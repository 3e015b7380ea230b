"""Side channels: the best joint protocols for SRLIP, what they keep and how far from the best they can be.

The paper's setting (random p, c = 2, three attributes of 3, 3 and 4 values), then tables of real people. Real ones
are looked for in the folder that the environment variable PRIVACYFUNNEL_DATA names, or in shared/data beside the
repository, and left out where they are absent.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy import sparse

import privacyfunnel as pf
from privacyfunnel.numeric.information import entropy
from privacyfunnel.optimiser.program.state import State
from privacyfunnel.optimiser.splitting.halves import Halving, stricter, together
from privacyfunnel.optimiser.splitting.peeling import Peeling
from privacyfunnel.optimiser.splitting.search import PEEL_SHARE
from privacyfunnel.optimiser.splitting.tree import Tree
from privacyfunnel.paper.products import Method, product
from privacyfunnel.promises.sparse_rows import scaled, sparse_rows_of

DRAWS = 10
SHAPE = (3, 3, 4)
GAP = 1e-3
SECONDS = 120.0
REPEATS = 3
REAL = (
    ("adult.csv.gz", "income", ("sex", "education")),
    ("adult.csv.gz", "income", ("sex", "race", "education")),
    ("compas.csv.gz", "two_year_recid", ("sex", "race", "age_cat", "score_text")),
)
METHODS: tuple[Method, ...] = ("paper", "tuned")
FIVE = ["sex", "race", "marital_status", "education", "occupation"]
TEN = ["workclass", *FIVE, "relationship", "native_country", "age", "hours_per_week"]
FIVE_EPSILON = 1.0
EACH_SECONDS = 60.0
SHARE = 0.9995  # of ε, what a search stays within
COARSE: tuple[dict[str, int], ...] = (
    {"education": 6, "occupation": 6, "marital_status": 3},
    {"education": 8, "occupation": 8, "marital_status": 4},
    {"education": 4, "occupation": 4, "marital_status": 2, "race": 2},
    {"race": 1, "marital_status": 1},
    {"race": 2, "marital_status": 2, "education": 8},
)


def run() -> list[dict[str, object]]:
    pf.optimise(pf.Joint(np.random.default_rng(0).random((2, *SHAPE))), pf.SRLIP(1.0), gap=GAP)  # compiles once
    return [*the_papers_setting(), *threads(), *real_tables(), *five_columns(), *merged_columns()]


def the_papers_setting() -> list[dict[str, object]]:
    """Entries of p uniform on [0, 1], rescaled; ten draws for each ε."""
    joints = [pf.Joint(np.random.default_rng(2020 + draw).random((2, *SHAPE))) for draw in range(DRAWS)]
    rows: list[dict[str, object]] = []
    for epsilon in (0.5, 1.0, 1.5, 2.0):
        solved = [_joint_optimum(joint, epsilon) for joint in joints]
        rows.append(
            {
                "problem": f"random, c=2, {SHAPE}",
                "ε": epsilon,
                "H(X)": float(np.mean([joint.entropy for joint in joints])),
                "joint optimum": float(np.mean([protocol.utility for protocol, _, _ in solved])),
                "worst gap": max(protocol.gap for protocol, _, _ in solved),
                "mean s": float(np.mean([seconds for _, seconds, _ in solved])),
                "worst s": max(seconds for _, seconds, _ in solved),
                "worst CPU s": max(busy for _, _, busy in solved),
                **{method: _mean_utility(joints, epsilon, method) for method in METHODS},
            }
        )
    return rows


def threads() -> list[dict[str, object]]:
    """One core and all of them in turn, so that what else the machine does falls on both: the least of some times each.

    Results are the same to the last bit, which is compared.
    """
    if not hasattr(os, "sched_setaffinity"):
        return [{"problem": "threads: left out, a process cannot be kept to one core here"}]
    joints = [pf.Joint(np.random.default_rng(2020 + draw).random((2, *SHAPE))) for draw in range(DRAWS)]
    every = os.sched_getaffinity(0)
    rows: list[dict[str, object]] = []
    for epsilon in (0.5, 1.0):
        seconds, found = np.empty((DRAWS, REPEATS, 2)), [set[tuple[float, float, bytes]]() for _ in joints]
        for draw, repeat, many in np.ndindex(seconds.shape):
            os.sched_setaffinity(0, every if many else {min(every)})
            protocol, seconds[draw, repeat, many], _ = _joint_optimum(joints[draw], epsilon)
            found[draw].add((protocol.utility, protocol.upper_bound, protocol.channel.tobytes()))
        one, all_of_them = seconds.min(axis=1).T
        rows.append(
            {
                "problem": f"random, c=2, {SHAPE}: {len(every)} cores against one",
                "ε": epsilon,
                "the same": max(map(len, found)) == 1,
                "mean s": float(all_of_them.mean()),
                "worst s": float(all_of_them.max()),
                "mean s, one": float(one.mean()),
                "worst s, one": float(one.max()),
                "ratio": float(one.sum() / all_of_them.sum()),
            }
        )
    return rows


def real_tables() -> list[dict[str, object]]:
    """Gaps in per cent of H(X)."""
    folder = _folder()
    rows: list[dict[str, object]] = []
    for file, secret, columns in REAL:
        problem = f"{file.split('.')[0]}: {secret} / {'×'.join(columns)}"
        if not (folder / file).exists():
            rows.append({"problem": f"{problem}: left out, set PRIVACYFUNNEL_DATA to a folder with {file}"})
            continue
        joint = pf.Joint(_counts(folder / file, (secret, *columns)))
        for epsilon in (0.1, 0.5, 1.0):
            protocol, seconds, busy = _joint_optimum(joint, epsilon)
            rows.append(
                {
                    "problem": problem,
                    "ε": epsilon,
                    "H(X)": joint.entropy,
                    "joint optimum": protocol.utility,
                    "worst gap": protocol.gap,
                    "gap % of H(X)": 100 * protocol.gap / joint.entropy,
                    "mean s": seconds,
                    "worst s": seconds,
                    "worst CPU s": busy,
                }
            )
    return rows


def five_columns() -> list[dict[str, object]]:
    """Thousands of values: all five columns, fewer of them and coarser ones, each searched as long.

    Fewer columns are another promise: to attackers who know those alone. They may keep more than all together.
    """
    table = _folder() / "adult.csv.gz"
    if not table.exists():
        return [{"problem": "adult: five columns: left out, set PRIVACYFUNNEL_DATA to a folder with adult.csv.gz"}]
    whole = pf.Joint.from_table(table, "income", FIVE)
    coarse = COARSE[0]
    fewer = [[name for name in FIVE if name != left] for left in FIVE]
    joints = [("all five columns", whole), ("coarser", pf.Joint.from_table(table, "income", FIVE, top=coarse))]
    joints += [("×".join(names), pf.Joint.from_table(table, "income", names)) for names in fewer]
    rows = [_five(problem, joint, lambda joint=joint: _best(joint)) for problem, joint in joints]
    rows += [_released_without(whole, name) for name in FIVE]
    return rows


def merged_columns() -> list[dict[str, object]]:
    """What merging keeps of five columns, and of four of them, beside every subset as it is and coarser ones.

    Each promise is to people who know the columns as they are read. Half of the time goes to the search for what to
    merge; a subset, or a coarser column, has as long as what is merged has for its protocol.
    """
    table = _folder() / "adult.csv.gz"
    if not table.exists():
        return [{"problem": "adult: merged columns: left out, set PRIVACYFUNNEL_DATA to a folder with adult.csv.gz"}]
    some = [names for names in _subsets(FIVE) if len(names) >= len(FIVE) - 1]
    rows = [_merged(pf.Joint.from_table(table, "income", names), names) for names in some]
    for names in _subsets(FIVE):
        joint = pf.Joint.from_table(table, "income", names)
        rows.append(_five(f"as read: {'×'.join(names)}", joint, lambda joint=joint: _best(joint)))
    for top in COARSE:
        joint = pf.Joint.from_table(table, "income", FIVE, top=top)
        rows.append(_five(f"coarser: {top}", joint, lambda joint=joint: _best(joint)))
    return rows


def _subsets(names: list[str]) -> list[list[str]]:
    """All of them, the largest first."""
    return [list(some) for size in range(len(names), 0, -1) for some in combinations(names, size)]


def _merged(joint: pf.Joint, names: list[str]) -> dict[str, object]:
    """A search for what to merge, then one for the protocol."""
    start, busy = time.perf_counter(), time.process_time()
    found = pf.coarsen(joint, pf.SRLIP(FIVE_EPSILON), seconds=SECONDS - EACH_SECONDS)
    protocol = _best(found.joint)
    return {
        "problem": f"adult, merged of {'×'.join(names)}: {found.best.words()}: {found.joint.n_x:,} values",
        "ε": FIVE_EPSILON,
        "H(X)": found.joint.entropy,
        "joint optimum": protocol.utility,
        "worst gap": protocol.gap,
        "worst s": time.perf_counter() - start,
        "worst CPU s": time.process_time() - busy,
    }


def _released_without(whole: pf.Joint, name: str) -> dict[str, object]:
    """One column is merged as a whole, so it is not released, but attackers know it: rows are those of all five.

    What is found before rounding, which costs 1e-5 nats or so.
    """
    start, busy = time.perf_counter(), time.process_time()
    kept = [j for j, attribute in enumerate(whole.attributes) if attribute != name]
    codes, group = np.unique(whole.codes[:, kept], axis=0, return_inverse=True)
    masses = np.bincount(group.ravel(), weights=whole.p_x)
    given = sparse.csr_array((whole.p_x / masses[group.ravel()], (np.arange(whole.n_x), group.ravel())))
    clauses = [clause.granted() for clause in pf.SRLIP(FIVE_EPSILON).clauses(whole)]
    G = stricter(scaled(together(sparse.csc_array(sparse_rows_of(clauses, SHARE)), given)))
    state = State(masses, 0.0, 0.0, EACH_SECONDS, None, threading.Event())
    peeling = Peeling(G, masses)
    peeling.run(state, PEEL_SHARE * EACH_SECONDS)
    tree = Tree(Halving(G, codes, masses), state, told=peeling.told())
    tree.grown(peeling.left)
    return {
        "problem": f"adult, released without {name}, which attackers know: {len(masses):,} values",
        "ε": FIVE_EPSILON,
        "H(X)": float(entropy(masses)),
        "joint optimum": tree.told,
        "worst s": time.perf_counter() - start,
        "worst CPU s": time.process_time() - busy,
    }


def _best(joint: pf.Joint) -> pf.Protocol:
    return pf.optimise(joint, pf.SRLIP(FIVE_EPSILON), time_limit=EACH_SECONDS)


def _five(problem: str, joint: pf.Joint, find: Callable[[], pf.Protocol]) -> dict[str, object]:
    start, busy = time.perf_counter(), time.process_time()
    protocol = find()
    return {
        "problem": f"adult, {problem}: {joint.n_x:,} values",
        "ε": FIVE_EPSILON,
        "H(X)": joint.entropy,
        "joint optimum": protocol.utility,
        "worst gap": protocol.gap,
        "gap % of H(X)": 100 * protocol.gap / joint.entropy,
        "worst s": time.perf_counter() - start,
        "worst CPU s": time.process_time() - busy,
    }


def _mean_utility(joints: list[pf.Joint], epsilon: float, method: Method) -> float:
    return float(np.mean([product(joint, pf.SRLIP(epsilon), method=method).utility for joint in joints]))


def _folder() -> Path:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("PRIVACYFUNNEL_DATA", beside))


def _joint_optimum(joint: pf.Joint, epsilon: float) -> tuple[pf.Protocol, float, float]:
    """The protocol, and the seconds it took: on the wall, and of one processor."""
    start, busy = time.perf_counter(), time.process_time()
    protocol = pf.optimise(joint, pf.SRLIP(epsilon), gap=GAP, time_limit=0.95 * SECONDS)
    return protocol, time.perf_counter() - start, time.process_time() - busy


def _counts(path: Path, columns: tuple[str, ...]) -> np.ndarray:
    """How many rows have each combination of values."""
    import pandas as pd

    table = pd.read_csv(path, usecols=list(columns))
    codes = [pd.factorize(table[column], sort=True)[0] for column in columns]
    counts = np.zeros([code.max() + 1 for code in codes])
    known = np.all([code >= 0 for code in codes], axis=0)
    np.add.at(counts, tuple(code[known] for code in codes), 1)
    return counts


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.__main__ import show

    show(Console(width=200), "sidechannels", run())
