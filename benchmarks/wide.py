"""Wide tables: rows redrawn by a private model, beside what else can be done with eight to eleven columns.

For each table: a model at ε = 0.5 and ε₀ = 1, its CPU time and memory; one release; errors of single and pair
shares in standard errors of the original table; and learned attackers who know the secrets of half of the people and
are scored on the other half: how often the secret occurs among the 5% of rows that they find least and most telling,
over its overall share, with intervals of two standard errors; and the area under the curve. Synthetic rows have
nobody's row in them: their attacker learns from them, with the secret among their columns, and is scored on real rows.

WIDE_TABLES, a list with commas, and WIDE_METHODS, with semicolons, choose what is run.
Rows are printed as soon as they are known.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import privacyfunnel as pf
from privacyfunnel.attacks.on_wide import _off as shares_off
from privacyfunnel.attacks.on_wide import calibration_of
from privacyfunnel.distribution.fitting import fitted_model
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.tables.wide.fit import fit_wide, noisy_marginals
from privacyfunnel.tables.wide.redrawing import Redrawing

EPSILON, E0, DELTA = 0.5, 1.0, 1e-9
EXTREME, NEIGHBOURS, FOR_NEIGHBOURS = 0.05, 100, 6_000
"""Of the rows; and rows that the slow attacker is scored on."""
DATA = Path(os.environ.get("PRIVACYFUNNEL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
Row = dict[str, object]


@dataclass(frozen=True)
class Table:
    """A file, its secret, and how that gets two values; the columns that are released."""

    file: str
    secret: str
    attributes: tuple[str, ...]
    yes: str | None = None
    bins: tuple[tuple[str, tuple[float, ...]], ...] = ()


TABLES = {
    "adult": Table(
        "adult.csv.gz",
        "income",
        ("age", "education", "marital_status", "occupation", "relationship", "sex", "hours_per_week", "race"),
    ),
    "diabetes130": Table(
        "diabetes130.csv.gz",
        "readmitted",
        ("race", "gender", "age", "admission_type_id", "A1Cresult", "max_glu_serum", "metformin", "insulin", "change",
         "diabetesMed", "number_inpatient"),
        "NO",
        (("number_inpatient", (0, 1, 2, 3, 5, 100)),),
    ),
    "dutch": Table(
        "dutch_census2001.csv.gz",
        "occupation",
        ("sex", "age", "household_position", "household_size", "prev_residence_place", "country_birth", "edu_level",
         "economic_status", "cur_eco_activity", "marital_status"),
    ),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class People:
    """codes[i, j] and secret[i] of everybody, and the joint that they were counted into."""

    joint: pf.Joint
    codes: np.ndarray
    secret: np.ndarray

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(column) for column in self.joint.columns)


def read(table: Table) -> People:
    frame = pd.read_csv(DATA / table.file, dtype=str, keep_default_na=False)[[table.secret, *table.attributes]]
    if table.yes is not None:
        frame[table.secret] = np.where(frame[table.secret] == table.yes, "yes", "no")
    bins: dict[str, object] = {name: list(edges) for name, edges in table.bins}
    joint = pf.Joint.from_table(frame, table.secret, list(table.attributes), bins=bins or None, missing=["?"])
    counts = joint.weights.astype(np.int64)
    x = np.concatenate([np.repeat(np.arange(joint.n_x), row) for row in counts])
    return People(joint, joint.codes[x], np.repeat([False, True], counts.sum(axis=1)))


def run() -> list[Row]:
    rows = []
    wanted = os.environ.get("WIDE_TABLES", ",".join(TABLES)).split(",")
    for name in wanted:
        if not (DATA / TABLES[name].file).exists():
            rows.append({"table": name, "method": f"{TABLES[name].file} is not here; set PRIVACYFUNNEL_DATA"})
            continue
        for row in on_table(read(TABLES[name])):
            rows.append({"table": name, **row})
            print(json.dumps(rows[-1], ensure_ascii=False, default=float), flush=True)
    return rows


def on_table(people: People) -> Iterator[Row]:
    methods: dict[str, Callable[[], tuple[Row, np.ndarray]]] = {
        "original": lambda: ({"cells": int(np.prod(people.sizes))}, people.codes),
        "model": lambda: by_model(people, E0),
        "model, Laplace noise": lambda: by_model(people, E0, 0.0),
        "model, no noise": lambda: by_model(people, None),
        "columns dropped": lambda: fewer_columns(people),
        "randomised response": lambda: randomised(people),
        "MST": lambda: synthetic(people, "MST"),
        "AIM": lambda: synthetic(people, "AIM"),
    }
    for name in os.environ.get("WIDE_METHODS", ";".join(methods)).split(";"):
        try:
            found, codes = methods[name]()
        except subprocess.CalledProcessError:
            yield {"method": name, "note": "dpmm is not installed here, or failed; FUNNEL_DPMM may name a python"}
            continue
        made_up = codes.shape[1] > len(people.sizes)
        released = codes[:, : len(people.sizes)]
        for size, kind in ((1, "singles off"), (2, "pairs off")):
            if released.shape[1] == len(people.sizes):
                found[kind] = float(np.median(shares_off(people.codes, released, people.sizes, size)))
        yield {
            "method": name,
            **found,
            **(attacked_by_synthetic(people, codes) if made_up else attacked(people, codes)),
        }


def by_model(people: People, e0: float | None, delta: float | None = None) -> tuple[Row, np.ndarray]:
    begun, wall = time.process_time(), time.perf_counter()
    protocol = fit_wide(people.joint, pf.LIP(EPSILON), e0, delta=delta)
    used = {"CPU s": time.process_time() - begun, "s": time.perf_counter() - wall}
    cells = np.ravel_multi_index(tuple(people.codes.T), people.sizes)
    drawn = Redrawing(protocol.by_model.plan).drawn(np.asarray(cells), Randomness.secure())
    after = np.stack(np.unravel_index(drawn, people.sizes), axis=1)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    kept = protocol.by_model.kept.information / protocol.by_model.kept.entropy
    same = {"rows same": float((cells == drawn).mean()), "cells same": float((people.codes == after).mean())}
    return {**used, "GiB so far": most, "kept": kept, **same, "held out": held_out(people, e0, delta)}, after


def held_out(people: People, e0: float | None, delta: float | None) -> str:
    """P(s|x) of a model of one half of the people against the other half: where twentieths of them are furthest off."""
    known, tested = halves(len(people.codes), "")
    half = SimpleNamespace(
        columns=people.joint.columns,
        codes=people.codes[known],
        weights=np.stack([~people.secret[known], people.secret[known]]).astype(np.int64),
        n_s=2,
        total=len(known),
    )
    joint = cast(pf.Joint, half)
    model = fitted_model(noisy_marginals(joint, pf.LIP(EPSILON), e0, 0.0, delta)[0])
    groups = calibration_of(model.p_s_given_x(people.codes[tested])[1], people.secret[tested])
    worst = max(groups, key=lambda one: abs(one.predicted - one.found))
    ends = ", ".join(f"{one.predicted:.3f} → {one.found:.3f}" for one in (groups[0], groups[-1]))
    return f"furthest {worst.predicted:.3f} → {worst.found:.3f}±{2 * worst.error:.3f}; ends {ends}"


def fewer_columns(people: People) -> tuple[Row, np.ndarray]:
    """As many columns as can stay, the least telling first, before the boosted attacker is beyond e^±ε."""
    told = [mutual(column, people.secret) for column in people.codes.T]
    order, kept = [int(j) for j in np.argsort(told)], 0
    for number in range(1, len(order) + 1):
        found = attack(boosted, people.codes[:, order[:number]], people.secret)
        if found["low"] < np.exp(-EPSILON) or found["high"] > np.exp(EPSILON):
            break
        kept = number
    left = sorted(order[: max(1, kept)])
    names = ", ".join(people.joint.attributes[j] for j in left)
    return {"left": names}, people.codes[:, left]


def mutual(column: np.ndarray, secret: np.ndarray) -> float:
    p = np.histogram2d(column, secret, bins=(int(column.max()) + 1, 2))[0] / len(secret)
    expected = np.outer(p.sum(axis=1), p.sum(axis=0))
    return float((p[p > 0] * np.log(p[p > 0] / expected[p > 0])).sum())


def randomised(people: People) -> tuple[Row, np.ndarray]:
    """Every column by itself, by k-ary randomised response at ε/m each: together the row is ε-private."""
    rng, each, codes = np.random.default_rng(0), EPSILON / len(people.sizes), people.codes.copy()
    for j, size in enumerate(people.sizes):
        stays = rng.random(len(codes)) < (np.exp(each) - 1) / (np.exp(each) - 1 + size)
        codes[:, j] = np.where(stays, codes[:, j], rng.integers(0, size, len(codes)))
    return {"cells same": float((codes == people.codes).mean())}, codes


def synthetic(people: People, method: str) -> tuple[Row, np.ndarray]:
    """Rows of MST or AIM, the secret their last column; at the same ε₀, with δ = 10⁻⁹."""
    task = {
        "codes": np.column_stack([people.codes, people.secret]).astype(int).tolist(),
        "sizes": [*people.sizes, 2],
        "method": method,
        "epsilon": E0,
        "delta": DELTA,
        "tables": 1,
    }
    begun = time.perf_counter()
    answer = subprocess.run(
        [os.environ.get("FUNNEL_DPMM", sys.executable), "-W", "ignore", str(Path(__file__).with_name("_synthetic.py"))],
        input=json.dumps(task),
        check=True,
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    return {"s": time.perf_counter() - begun}, np.array(json.loads(answer.stdout)[0])


def boosted(seed: int) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(max_iter=100, max_leaf_nodes=15, learning_rate=0.07, random_state=seed)


def logistic(seed: int) -> object:
    return make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=300, random_state=seed))


def nearest(seed: int) -> object:
    return make_pipeline(OneHotEncoder(handle_unknown="ignore"), KNeighborsClassifier(NEIGHBOURS, algorithm="brute"))


ATTACKERS = {"boosted": boosted, "logistic": logistic, "nearest": nearest}


def attacked(people: People, codes: np.ndarray) -> Row:
    return {name: told(attack(make, codes, people.secret)) for name, make in ATTACKERS.items()}


def attacked_by_synthetic(people: People, codes: np.ndarray) -> Row:
    """Learnt from rows that were made up, scored on the real rows of half of the people."""
    found = {}
    for name, make in ATTACKERS.items():
        _, tested = halves(len(people.codes), name)
        learnt = make(0).fit(codes[:, :-1], codes[:, -1] == 1)
        found[name] = told(scored(learnt.predict_proba(people.codes[tested])[:, 1], people.secret[tested]))
    return found


def halves(number: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(0).permutation(number)
    known, tested = order[: number // 2], order[number // 2 :]
    return known, tested[:FOR_NEIGHBOURS] if name == "nearest" else tested


def attack(make: Callable[[int], object], codes: np.ndarray, secret: np.ndarray) -> dict[str, float]:
    known, tested = halves(len(codes), make.__name__)
    learnt = make(0).fit(codes[known], secret[known])
    return scored(learnt.predict_proba(codes[tested])[:, 1], secret[tested])


def scored(chance: np.ndarray, secret: np.ndarray) -> dict[str, float]:
    ranked, prior = np.argsort(chance, kind="stable"), float(secret.mean())
    extreme = round(EXTREME * len(ranked))
    found: dict[str, float] = {"AUC": float(roc_auc_score(secret, chance))}
    for side, rows in (("low", ranked[:extreme]), ("high", ranked[-extreme:])):
        having = (secret[rows].sum() + 0.5) / (extreme + 1)
        found[side] = float(secret[rows].mean()) / prior
        found[f"{side} error"] = 2 * float(np.sqrt(having * (1 - having) / extreme)) / prior
    return found


def told(found: dict[str, float]) -> str:
    low, high = (f"{found[side]:.2f}±{found[f'{side} error']:.2f}" for side in ("low", "high"))
    return f"{low} to {high}, AUC {found['AUC']:.3f}"
