"""What redrawing by a model's groups loses against the program of faithful releases, where both can be had.

A model (ε₀ = 1) of columns with a few hundred to a few thousand combinations; on its own distribution the wide way's
groups, and `optimise(objective="faithful")` with a bound on what any faithful release could leave unchanged. Two and
three secrets; cells unchanged, rows unchanged, information kept of H(X), and CPU time. WIDE_PROGRAM_SECONDS limits the
program for each table (default: 60).
"""

import os
import time

import numpy as np
import pandas as pd

import privacyfunnel as pf
from benchmarks.wide import DATA, Row
from privacyfunnel.optimiser.wide.mixtures import mixing_rule_for
from privacyfunnel.optimiser.wide.shares import rule_for
from privacyfunnel.population import people
from privacyfunnel.protocols.wide.kept import kept_by
from privacyfunnel.protocols.wide.protocol import plan_by
from privacyfunnel.tables.wide.fit import fit_wide

SECONDS = float(os.environ.get("WIDE_PROGRAM_SECONDS", "60"))
EPSILONS = (0.5, 0.2)
CASES = (
    ("demo", "obese", "sex,town,height,weight"),
    ("demo", "index", "sex,town,height,weight"),
    ("adult.csv.gz", "income", "education,sex,race"),
    ("adult.csv.gz", "income", "education,occupation,sex"),
    ("adult.csv.gz", "income", "sex,race,marital_status,education"),
    ("adult.csv.gz", "income", "education,occupation,sex,relationship"),
    ("diabetes130.csv.gz", "readmitted", "race,gender,age"),
    ("diabetes130.csv.gz", "readmitted", "race,gender,age,A1Cresult"),
    ("diabetes130.csv.gz", "readmitted", "race,gender,age,A1Cresult,insulin"),
)


def run() -> list[Row]:
    rows: list[Row] = []
    for name, secret, names in CASES:
        frame = read(name)
        if frame is None:
            rows.append({"table": name, "columns": f"{name} is not here; set PRIVACYFUNNEL_DATA"})
            continue
        attributes = names.split(",")
        joint = pf.Joint.from_table(frame[[secret, *attributes]], secret, attributes, missing=["?"])
        for epsilon in EPSILONS:
            rows.append({"table": name.split(".")[0], "columns": names, "ε": epsilon, **both(joint, epsilon)})
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


def both(joint: pf.Joint, epsilon: float) -> Row:
    wide = fit_wide(joint, pf.LIP(epsilon), 1.0)
    begun, weights, sizes = time.process_time(), wide.model.weights(), wide.model.sizes
    # groups of a noisy model aim further inside (optimiser/wide/margin.py); here both go as far as they may
    rule = (rule_for if wide.model.n_s == 2 else mixing_rule_for)(pf.LIP(epsilon).limits, weights, sizes)
    kept = kept_by(plan_by(rule, weights, sizes), sizes)
    by_groups = time.process_time() - begun
    domain = {column.name: [str(label) for label in column.labels] for column in joint.columns}
    model = pf.Joint.from_model(wide.model, domain)
    begun = time.process_time()
    protocol = pf.optimise(model, pf.LIP(epsilon), objective="faithful", time_limit=SECONDS)
    entropy = kept.entropy
    return {
        "combinations": int(np.prod(wide.model.sizes)),
        "secrets": wide.model.n_s,
        "cells, groups": kept.cells,
        "cells, program": protocol.likeness.cells_unchanged,
        "cells, at most": protocol.fidelity_bound,
        "rows, groups": kept.rows,
        "rows, program": protocol.likeness.rows_unchanged,
        "kept, groups": kept.information / entropy,
        "kept, program": protocol.utility / entropy,
        "CPU s, groups": by_groups,
        "CPU s, program": time.process_time() - begun,
    }
