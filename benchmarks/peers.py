"""What a user would pick instead, on the same real tables, in one run.

Every method makes its protocol from the training rows and releases them once. An analyst trains a model on what was
released and is tested on real rows never used before. The promise is ε-LIP about the secret wherever the method can be
set to one. Levels are exact for our own objects and in float64 for qif's channels. Information is in nats.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import privacyfunnel as pf
from privacyfunnel import baselines

EPSILON = 0.5
SEED = 7
TRAINING = 2 / 3
TIME_LIMIT = 120.0
"""Seconds for our search; the bound it proves is in the last column."""
EM_STEPS = 2_000
MOST_FOR_QIF = 40
"""Values of X: qif's program has a variable for every (x, y) and a row for every (x, x′, y)."""
DATA = Path(os.environ.get("PRIVACYFUNNEL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@dataclass(frozen=True)
class Table:
    """A file, its secret, the attributes to release, and the one that the analyst predicts from the others."""

    file: str
    secret: str
    attributes: tuple[str, ...]
    target: str


TABLES = {
    "adult": Table("adult.csv.gz", "sex", ("education", "occupation", "income"), "income"),
    "compas": Table(
        "compas.csv.gz",
        "race",
        ("age_cat", "sex", "c_charge_degree", "decile_score", "two_year_recid"),
        "two_year_recid",
    ),
    "compas, few": Table(
        "compas.csv.gz", "race", ("age_cat", "sex", "c_charge_degree", "two_year_recid"), "two_year_recid"
    ),
}


@dataclass(frozen=True, eq=False)
class Made:
    """A method's protocol: how it releases rows, and what can be said of it."""

    release: Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]
    """Codes of the values of X that are published, for the rows' codes of S and X."""
    channel: np.ndarray | None
    """Q[y, x], if it is a channel of X; then an analyst can undo it."""
    labels: np.ndarray
    """labels[y]: the value of X that the output is written as."""
    levels: tuple[float, float]
    utility: float
    note: str = ""


def run(folder: Path = DATA, only: tuple[str, ...] = tuple(TABLES)) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for name in only:
        table = TABLES[name]
        path = folder / table.file
        if not path.exists():
            rows.append({"table": name, "method": "", "note": f"{table.file} is not here; set PRIVACYFUNNEL_DATA"})
            continue
        rows += on_table(name, table, path)
    return rows


def on_table(name: str, table: Table, path: Path) -> list[dict[str, object]]:
    people = pd.read_csv(path, dtype=str, keep_default_na=False)[[table.secret, *table.attributes]]
    rng = np.random.default_rng(SEED)
    training = rng.random(len(people)) < TRAINING
    known, unknown = people[training].reset_index(drop=True), people[~training]
    values, x = np.unique(known[list(table.attributes)].to_numpy(dtype=str), axis=0, return_inverse=True)
    secrets, s = np.unique(known[table.secret].to_numpy(dtype=str), return_inverse=True)
    weights = np.zeros((len(secrets), len(values)), dtype=np.int64)
    np.add.at(weights, (s, x.ravel()), 1)
    # The attributes are kept as one, numbered like `values`: none of the methods here looks inside X.
    joint = pf.Joint(weights)
    analyst = Analyst(table, values, unknown)
    promise = pf.LIP(EPSILON)
    ours, own_seconds = timed(lambda: pf.optimise(joint, promise, time_limit=TIME_LIMIT))
    leak = leakage(joint, ours.channel)
    methods: dict[str, Callable[[], Made | str]] = {
        "the table itself": lambda: of_protocol(baselines.greedy_merge(joint, np.inf), joint, "no privacy"),
        "randomised response on X": lambda: of_protocol(baselines.randomised_response(joint, promise), joint),
        "conditional reporting (sees S)": lambda: of_reporting(baselines.conditional_reporting(joint, promise)),
        "greedy merge at our I(S;Y)": lambda: of_protocol(baselines.greedy_merge(joint, leak), joint),
        "watchdog": lambda: of_protocol(baselines.watchdog(joint, promise), joint),
        "qif, S = X": lambda: of_qif(joint, EPSILON),
        "qif, S = X, as bold as ε-LIP allows": lambda: of_qif(joint, None),
        "ours": lambda: of_protocol(ours, joint, None),
    }
    rows: list[dict[str, object]] = []
    for method, make in methods.items():
        made, seconds = timed(make)
        if method == "ours":
            seconds += own_seconds
        row: dict[str, object] = {"table": name, "values": joint.n_x, "method": method}
        if isinstance(made, str):
            rows.append(row | {"note": made})
            continue
        released = made.release(s, x.ravel(), np.random.default_rng(SEED))
        counted = np.bincount(released, minlength=joint.n_x) / len(released)
        fitted = estimated(made, released, joint.n_x)
        rows.append(
            row
            | {
                "LIP level": made.levels[0],
                "LDP level": made.levels[1],
                "I(X;Y)": made.utility,
                "share of H(X)": made.utility / joint.entropy,
                "accuracy, rows as released": analyst.accuracy(counted),
                "accuracy, protocol undone": analyst.accuracy(fitted) if fitted is not None else "",
                "marginals off, rows as released": analyst.off(counted, joint.p_x),
                "marginals off, protocol undone": analyst.off(fitted, joint.p_x) if fitted is not None else "",
                "CPU s": seconds,
                "note": made.note,
            }
        )
    always = {"method": "always the commonest class", "accuracy, rows as released": analyst.commonest()}
    return [*rows, {"table": name, "values": joint.n_x} | always]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it gives, and its CPU seconds."""
    begin = time.process_time()
    return work(), time.process_time() - begin


class Analyst:
    """Predicts one attribute from the others, and counts marginals, from a distribution over the values of X."""

    def __init__(self, table: Table, values: np.ndarray, unknown: pd.DataFrame) -> None:
        self._values = values
        self._target = table.attributes.index(table.target)
        self._others = [j for j in range(values.shape[1]) if j != self._target]
        real = unknown[list(table.attributes)].to_numpy(dtype=str)
        self._inputs, self._answers = real[:, self._others], real[:, self._target]

    def accuracy(self, p: np.ndarray) -> float:
        """Of a logistic regression fitted to values of X with weights p, on real rows."""
        seen = np.flatnonzero(p > 0)
        targets = self._values[seen, self._target]
        if len(np.unique(targets)) == 1:
            return float((self._answers == targets[0]).mean())
        model: Any = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=2_000))
        weights = p[seen] / p[seen].mean()
        model.fit(self._values[seen][:, self._others], targets, logisticregression__sample_weight=weights)
        return float(model.score(self._inputs, self._answers))

    def off(self, p: np.ndarray, truth: np.ndarray) -> float:
        """Total variation between the marginals of p and of the truth, mean over the attributes."""
        apart = []
        for j in range(self._values.shape[1]):
            _, code = np.unique(self._values[:, j], return_inverse=True)
            apart.append(np.abs(np.bincount(code, p) - np.bincount(code, truth)).sum() / 2)
        return float(np.mean(apart))

    def commonest(self) -> float:
        _, counts = np.unique(self._answers, return_counts=True)
        return float(counts.max() / counts.sum())


def of_protocol(protocol: pf.Protocol, joint: pf.Joint, note: str | None = "") -> Made:
    """Without a note of its own, the note is what was proven."""
    Q, labels = protocol.channel, protocol.block.labels
    proven = f"no ε-LIP protocol keeps more than {protocol.upper_bound:.6g}"
    return Made(
        drawing(Q, labels),
        Q,
        labels,
        baselines.levels(protocol, joint),
        protocol.utility,
        proven if note is None else note,
    )


def of_reporting(report: baselines.Reporting) -> Made:
    levels = baselines.levels(report, report.joint)
    everything = np.arange(report.joint.n_x)
    return Made(report.draw, None, everything, levels, report.utility, "needs every row's secret; no channel of X")


def of_qif(joint: pf.Joint, epsilon: float | None) -> Made | str:
    """The channel with the smallest expected 0-1 loss among those that are ε-LDP with respect to X itself.

    Without ε: the largest one whose channel keeps the promise about S, by bisection.
    """
    try:
        import qif
    except ImportError as missing:
        return f"not installed: {missing}"
    n = joint.n_x
    if n > MOST_FOR_QIF:
        return f"not run: a program of {n * n:,} variables and {n * n * (n - 1):,} rows"

    def optimal(at: float) -> np.ndarray:
        C = qif.mechanism.d_privacy.min_loss_given_d(
            np.asarray(joint.p_x), n, lambda a, b: at * (a != b), lambda a, b: float(a != b)
        )
        Q = np.asarray(C).T.clip(0)
        return Q / Q.sum(axis=0)

    if epsilon is None:
        low, high = EPSILON, 16.0
        for _ in range(10):
            middle = (low + high) / 2
            kept = pf.LIP(EPSILON).level(joint, optimal(middle)) <= EPSILON
            low, high = (middle, high) if kept else (low, middle)
        epsilon = low
    Q = optimal(epsilon)
    Q = Q[Q.sum(axis=1) > 0]
    kept = information(joint.p_x, Q)
    levels = pf.LIP(1.0).level(joint, Q), pf.LDP(1.0).level(joint, Q)
    labels = (Q * joint.p_x).argmax(axis=1)
    return Made(drawing(Q, labels), Q, labels, levels, kept, f"{epsilon:.3g}-LDP with respect to X")


def drawing(Q: np.ndarray, labels: np.ndarray) -> Callable[..., np.ndarray]:
    """Releases rows through Q. For measuring only: the randomness is not that of a release."""
    sums = np.cumsum(Q, axis=0)

    def release(s: np.ndarray, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        spot, y = rng.random(len(x)), np.empty(len(x), dtype=np.int64)
        for value in np.unique(x):
            here = x == value
            y[here] = np.searchsorted(sums[:, value], spot[here] * sums[-1, value], side="right").clip(max=len(Q) - 1)
        return labels[y]

    return release


def estimated(made: Made, released: np.ndarray, n: int) -> np.ndarray | None:
    """The most likely distribution of X behind what was released, by EM from the uniform one."""
    if made.channel is None:
        return None
    place = np.full(n, -1)
    place[made.labels] = np.arange(len(made.labels))
    f = np.bincount(place[released], minlength=len(made.channel)) / len(released)
    Q, p = made.channel, np.full(n, 1 / n)
    for _ in range(EM_STEPS):
        told = Q @ p
        p = p * (Q.T @ np.divide(f, told, out=np.zeros_like(f), where=told > 0))
        p /= p.sum()
    return p


def leakage(joint: pf.Joint, Q: np.ndarray) -> float:
    """I(S;Y)."""
    told = joint.p @ Q.T
    independent = told.sum(axis=1, keepdims=True) * told.sum(axis=0)
    some = told > 0
    return float((told[some] * np.log(told[some] / independent[some])).sum())


def information(p_x: np.ndarray, Q: np.ndarray) -> float:
    """I(X;Y)."""
    pairs = Q * p_x
    q = pairs.sum(axis=1, keepdims=True)
    some = pairs > 0
    return float((pairs[some] * np.log((Q / q)[some])).sum())


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.__main__ import show

    show(Console(width=240), "peers", run())
