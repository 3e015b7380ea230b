"""Lifts in private fits: what attackers find in releases of real tables, made for the promise and inside it.

Each fit has noise of ε₀ = 1 of its own and is made twice from the same noisy counts: for the whole promise ("aim" 1),
and for the part of it that rehearsals say holds. "boosted" are the least and the greatest lift of a value of the secret
in the 5% of released rows that gradient-boosted trees (scikit-learn, four folds, three splits) find to tell least and
most; "learned" those of the package's own attacker, who knows half of the secrets and whom the steward is told of;
"rehearsed" what rehearsals foretold. "cells" are unchanged ones of the exact table, "exact fit" those without noise;
errors of counted shares of single columns are in points. "red" is said where no aim does. "within" says whether
boosted lifts, with their 95% intervals, reach no further than e^±(ε + 0.15).

`FUNNEL_FITS=10 python -m benchmarks private_lifts` makes ten fits of each setting; one is the default.
"""

import math
import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.large import DATA

FITS = int(os.environ.get("FUNNEL_FITS", "1"))
EPSILONS = tuple(map(float, os.environ.get("FUNNEL_EPSILONS", "0.5,0.2").split(",")))
TIME_LIMIT = 60.0
ROWS = 20_000
"""That trees are grown from, as many as the package's own attackers use."""
SLACK = 0.15
FOLDS, SPLITS, GROUP = 4, 3, 0.05
TABLES = {
    "adult": ("income", ["sex", "race", "marital_status", "education", "age", "hours_per_week", "workclass",
                         "relationship"]),
    "compas": ("two_year_recid", ["age_cat", "sex", "c_charge_degree", "race", "score_text", "juv_fel_count",
                                  "priors_count", "v_score_text"]),
    "dutch_census2001": ("occupation", ["sex", "age", "edu_level", "marital_status", "household_size", "citizenship",
                                        "country_birth", "prev_residence_place"]),
    "diabetes130": ("readmitted", ["race", "gender", "age", "insulin", "A1Cresult", "change", "diabetesMed",
                                   "max_glu_serum"]),
}  # fmt: skip
SETTINGS = tuple(os.environ.get("FUNNEL_SETTINGS", "compas:4,adult:4,dutch_census2001:4,diabetes130:4").split(","))
"""Table and number of columns; with more of them than 4,096 combinations many people are read as others."""


def run() -> list[dict[str, object]]:
    return [row for setting in SETTINGS for row in measured(*setting.split(":"))]


def measured(name: str, columns: str) -> Iterator[dict[str, object]]:
    """The rows of a table: both aims of every fit, beside the exact fit."""
    import privacyfunnel as pf
    from privacyfunnel.errors import TooManyReadAsOthers
    from privacyfunnel.optimiser.aiming import optimise_inside
    from privacyfunnel.protocols.own_table import own_table
    from privacyfunnel.tables.counting import count_table
    from privacyfunnel.tables.fitting import Wishes
    from privacyfunnel.tables.frequency_threshold import usual_where_any

    secret, attributes = TABLES[name]
    counted = count_table(DATA / f"{name}.csv.gz", secret, attributes[: int(columns)], wishes=Wishes(missing="?"))
    for epsilon in EPSILONS:
        promise = pf.LIP(epsilon)
        best = pf.optimise(counted.joint, promise, objective="faithful", time_limit=TIME_LIMIT)
        exact = own_table(best, counted.joint).cells_unchanged
        for fit in range(FITS):
            about: dict[str, object] = {"table": f"{name}, {columns} columns", "ε": epsilon, "exact fit": exact}
            try:
                noisy = counted.safely(1.0, at_least=usual_where_any(counted.joint.combinations)).joint
            except TooManyReadAsOthers:
                yield {**about, "aim": "refused: too many would be read as others"}
                break
            for make in (pf.optimise, optimise_inside):
                begun = time.process_time()
                protocol = make(noisy, promise, objective="faithful", time_limit=TIME_LIMIT)
                spent = time.process_time() - begun
                yield about | found(protocol, counted.joint, epsilon, fit) | {"cpu s": spent}


def found(protocol: Any, exact: Any, epsilon: float, seed: int) -> dict[str, object]:
    """What is left of the exact table, and what is found in its release."""
    from privacyfunnel.attacks.own_people import own_people
    from privacyfunnel.protocols.own_table import own_table

    own, people, aim = own_table(protocol, exact), own_people(protocol, exact), protocol.aim
    low, high, within = boosted(protocol, exact, epsilon, seed)
    rehearsed = f"{aim.lowest:.2f}-{aim.highest:.2f}" if aim else ""
    return {
        "aim": aim.share if aim else 1.0,
        "red": bool(aim) and not aim.holds,
        "rehearsed": rehearsed,
        "learned": f"{people.lowest.lift:.2f}-{people.highest.lift:.2f}",
        "boosted": f"{low:.2f}-{high:.2f}",
        "within": within,
        "cells": own.cells_unchanged,
        "read as others": own.read_as_others,
        "mean share error": 100 * own.mean_error,
        "worst share error": 100 * own.worst_error,
    }


def boosted(protocol: Any, exact: Any, epsilon: float, seed: int) -> tuple[float, float, bool]:
    """The extreme lifts of 5% of the rows, means over splits, and whether none is surely further out than ε + SLACK."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    from privacyfunnel.attacks.learned import draw

    rng = np.random.default_rng(seed)
    cells = np.repeat(np.arange(exact.p.size), exact.weights.ravel().astype(np.int64))
    s, x = np.divmod(rng.permutation(cells)[:ROWS], exact.n_x)
    block = protocol.block
    rows = block.codes[block.labels[draw(block, block.inputs_of(exact)[x], rng)]]
    counts = np.zeros((exact.n_s, 2, 2))
    for _ in range(SPLITS):
        fold, belief = rng.permutation(len(s)) % FOLDS, np.zeros((len(s), exact.n_s))
        for k in range(FOLDS):
            trees = HistGradientBoostingClassifier(max_iter=60, categorical_features=list(range(rows.shape[1])))
            trees.fit(rows[fold != k], s[fold != k])
            belief[np.ix_(fold == k, trees.classes_)] = trees.predict_proba(rows[fold == k])
        size = int(GROUP * len(s))
        for v in range(exact.n_s):
            order = np.argsort(belief[:, v])
            counts[v] += [[(s[part] == v).sum(), size] for part in (order[:size], order[-size:])]
    prior = np.bincount(s, minlength=exact.n_s)[:, None] / len(s)
    lift = counts[..., 0] / counts[..., 1] / prior
    error = 2 * np.sqrt(np.maximum(counts[..., 0] / SPLITS, 1)) / (counts[..., 1] / SPLITS) / prior
    most = math.exp(epsilon + SLACK)
    return float(lift.min()), float(lift.max()), bool((lift - error <= most).all() and (lift + error >= 1 / most).all())
