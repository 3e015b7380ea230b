"""What a list of the program over all pairs gains over a model's groups, and both beside the usual private fit.

A model (ε₀ = 1) of columns with a few hundred to a few thousand combinations, two and three secrets. On the same model,
as `fit` makes models: groups, and the list that the program over all pairs finds within WIDE_PROGRAM_SECONDS
(default: 60). Cells and rows unchanged and information kept of H(X), by the model; how many numbers are listed, and CPU
time. Then the usual private fit of the same columns (`fit --private 1`, which adds noise to all combinations, and
leaves those with fewer than ten people to others), and one release of the table by each: cells unchanged, shares of
single values and pairs off in standard errors of the table (medians), and what somebody finds who knows half of the
secrets and counts rows by up to three columns, or learns from them by boosted trees: the least and the largest lift of
any value of the secret among the extreme 5% of rows. WIDE_PROGRAM_PARTS=program leaves the private fit out, and
"program borders" adds lists that aim at the wider borders of groups instead of their own. WIDE_PROGRAM_CASES gives the
numbers of the cases that are run, WIDE_PROGRAM_DRAWS of how many draws of noise means are given (default: 1).
"""

import os
import time

import numpy as np
import pandas as pd

import privacyfunnel as pf
from benchmarks.wide import DATA, Row, attack, boosted
from privacyfunnel.attacks.by_tables import tell_most
from privacyfunnel.attacks.on_wide import _off
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.errors import PrivacyFunnelError
from privacyfunnel.optimiser.wide.listing import listed_for
from privacyfunnel.optimiser.wide.margin import aimed_at, lists_aim_at
from privacyfunnel.population import people
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.wide.kept import kept_by
from privacyfunnel.tables.wide.fit import fit_wide
from privacyfunnel.tables.wide.redrawing import Redrawing

SECONDS = float(os.environ.get("WIDE_PROGRAM_SECONDS", "60"))
FAILED = ("by", "CPU s", "wall s")
"""What is told where nothing was found."""
PARTS = os.environ.get("WIDE_PROGRAM_PARTS", "program private").split()
DRAWS = int(os.environ.get("WIDE_PROGRAM_DRAWS", "1"))
EPSILONS = (0.5, 0.2)
CASES = (
    ("demo", "obese", "sex,town,height,weight"),
    ("demo", "index", "sex,town,height,weight"),
    ("adult.csv.gz", "income", "education,sex,race"),
    ("adult.csv.gz", "income", "education,occupation,sex"),
    ("adult.csv.gz", "income", "sex,race,marital_status,education"),
    ("diabetes130.csv.gz", "readmitted", "race,gender,age"),
    ("diabetes130.csv.gz", "readmitted", "race,gender,age,A1Cresult"),
    ("adult.csv.gz", "income", "education,occupation,sex,relationship"),
    ("diabetes130.csv.gz", "readmitted", "race,gender,age,A1Cresult,insulin"),
)


def run() -> list[Row]:
    rows: list[Row] = []
    wanted = os.environ.get("WIDE_PROGRAM_CASES", " ".join(map(str, range(len(CASES))))).split()
    for name, secret, names in (CASES[int(number)] for number in wanted):
        frame = read(name)
        if frame is None:
            rows.append({"table": name, "columns": f"{name} is not here; set PRIVACYFUNNEL_DATA"})
            continue
        for epsilon in EPSILONS:
            for row in repeated(frame[[secret, *names.split(",")]], secret, epsilon):
                rows.append({"table": name.split(".")[0], "columns": names, "ε": epsilon, **row})
                print(rows[-1], flush=True)
    return rows


def read(name: str) -> pd.DataFrame | None:
    """The demo's people, with their body-mass index in three ranges, or a real table where it is there."""
    if name == "demo":
        frame = pd.DataFrame(people(10_000, 1))
        index = frame["weight"] / (frame["height"] / 100) ** 2
        return frame.assign(index=np.where(index < 25, "slim", np.where(index < 30, "heavy", "obese")))
    path = DATA / name
    return pd.read_csv(path, dtype=str, keep_default_na=False) if path.exists() else None


def repeated(frame: pd.DataFrame, secret: str, epsilon: float) -> list[Row]:
    """Means over some draws of noise, each with a model, a private fit and releases of its own."""
    draws = [measured(frame, secret, epsilon) for _ in range(DRAWS)]
    return [
        {"by": same[0]["by"], "draws": sum(len(row) > len(FAILED) for row in same), **means(list(same))}
        for same in zip(*draws, strict=True)
    ]


def means(rows: list[Row]) -> Row:
    keys = dict.fromkeys(key for row in rows for key in row if key != "by")
    found = {key: [row[key] for row in rows if key in row] for key in keys}
    return {key: each[0] if isinstance(each[0], str) else float(np.mean(each)) for key, each in found.items()}


def measured(frame: pd.DataFrame, secret: str, epsilon: float) -> list[Row]:
    attributes, notion = [name for name in frame if name != secret], pf.LIP(epsilon)
    joint = pf.Joint.from_table(frame, secret, attributes, missing=["?"])
    begun = time.process_time()
    wide = fit_wide(joint, notion, 1.0, seconds=0)
    rows = [{"by": "groups", **by_model(wide, wide.by_model.plan, joint), "CPU s": time.process_time() - begun}]
    for by, aim in {"list": lists_aim_at, "list at the borders of groups": aimed_at}.items():
        if by != "list" and "borders" not in PARTS:
            continue
        begun, wall = time.process_time(), time.monotonic()
        plan = listed_for(notion, aim(notion.limits), wide.by_model.plan, joint.columns, SECONDS)
        spent = {"CPU s": time.process_time() - begun, "wall s": time.monotonic() - wall}
        rows.append({"by": by, **({} if plan is None else by_model(wide, plan, joint)), **spent})
    if "private" in PARTS:
        begun = time.process_time()
        try:
            rows.append({"by": "private fit", **by_counts(frame, secret, joint, notion)})
        except PrivacyFunnelError as refused:
            rows.append({"by": "private fit", "refused": str(refused)[:200]})
        rows[-1]["CPU s"] = time.process_time() - begun
    return rows


def by_model(wide, plan, joint: pf.Joint) -> Row:
    """What the model says of a plan, and what one release of the table by it is like."""
    kept, (x, value) = kept_by(plan, wide.by_model.model.sizes), rows_of(joint)
    cells = np.ravel_multi_index(tuple(joint.codes[x].T), wide.by_model.model.sizes)
    drawn = Redrawing(plan).drawn(np.asarray(cells), Randomness.secure())
    after = np.stack(np.unravel_index(drawn, wide.by_model.model.sizes), axis=1)
    return {
        "combinations": int(np.prod(wide.by_model.model.sizes)),
        "secrets": wide.by_model.model.n_s,
        "cells": kept.cells,
        "rows": kept.rows,
        "kept": kept.information / kept.entropy,
        "listed": len(plan.listed),
        **on_the_table(joint, joint.codes[x], after, value),
    }


def by_counts(frame: pd.DataFrame, secret: str, joint: pf.Joint, notion: pf.Notion) -> Row:
    """The usual private fit, and one release by it."""
    noisy = pf.Joint.from_table(
        frame, secret, list(joint.attributes), missing=["?"], private=1.0, at_least=10, insist=True
    )
    protocol = pf.optimise(noisy, notion, objective="faithful", time_limit=SECONDS)
    block = protocol.block
    channel, rng, (x, value) = block.channel, np.random.default_rng(), rows_of(joint)
    inputs = block.inputs_of(joint)[x]
    after = np.empty((len(x), len(joint.attributes)), dtype=np.int64)
    for i in np.unique(inputs):
        own = slice(channel.starts[i], channel.starts[i + 1])
        chosen = np.flatnonzero(inputs == i)
        drawn = rng.choice(channel.outputs[own], len(chosen), p=channel.numerators[own] / UNIT)
        after[chosen] = block.codes[block.labels[drawn]]
    likeness = protocol.likeness
    by_counts = {"cells": likeness.cells_unchanged, "rows": likeness.rows_unchanged}
    kept = {"kept": protocol.utility / protocol.entropy, "listed": len(channel.numerators)}
    return {**by_counts, **kept, **on_the_table(joint, joint.codes[x], after, value)}


def rows_of(joint: pf.Joint) -> tuple[np.ndarray, np.ndarray]:
    """The combination and the secret of every person."""
    counts = joint.weights.astype(np.int64)
    x = np.concatenate([np.repeat(np.arange(joint.n_x), row) for row in counts])
    return x, np.repeat(np.arange(len(counts)), counts.sum(axis=1))


def on_the_table(joint: pf.Joint, before: np.ndarray, after: np.ndarray, value: np.ndarray) -> Row:
    """Cells that stayed, how far shares are off, and the least and the largest lift of any value of the secret."""
    sizes = tuple(len(column) for column in joint.columns)
    found = [tell_most(after, value == s, joint.attributes) for s in range(joint.n_s)]
    learned = [attack(boosted, after, value == s) for s in range(joint.n_s)]
    return {
        "table: cells": float((before == after).mean()),
        "table: rows": float((before == after).all(axis=1).mean()),
        "singles off": float(np.median(_off(before, after, sizes, 1))),
        "pairs off": float(np.median(_off(before, after, sizes, 2))),
        "least lift": min(one[0].lift for one in found),
        "largest lift": max(one[1].lift for one in found),
        "boosted, least": min(one["low"] for one in learned),
        "boosted, largest": max(one["high"] for one in learned),
    }
