"""How often the intervals of `regress` hold, its bias, and what it costs beside tallying.

The real table stands for the population. Faithful: each of RELEASES samples of it is fitted, released and modelled as
it stands. Corrected: a protocol with `readers="pairs"` is fitted once; samples are released by it, and scores
corrected. "naive" is a model of released rows, with standard errors that do not know of the drawing. Of the
coefficients, the least and the largest share of intervals that hold are shown (the standard error of each is 0.7 points
at 1,000 releases), and the largest bias in standard errors (known to 0.03).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from unittest.mock import patch

import numpy as np
import pandas as pd

from benchmarks.large import DATA

RELEASES = 1_000
GAP = 0.3
"""Of faithful protocols, in cells that stay as they are."""
ROWS = 10_000_000
"""Released rows of which tallying and modelling are timed."""


@dataclass(frozen=True)
class Case:
    """A table, a promise and three models."""

    name: str
    file: str | None
    secret: str
    attributes: tuple[str, ...]
    epsilon: float
    models: dict[str, str]
    rows: int


CASES = (
    Case(
        "demo",
        None,
        "obese",
        ("sex", "town", "height", "weight"),
        0.5,
        {"gaussian": "weight ~ sex + height", "binomial": "sex ~ height", "poisson": "weight ~ sex + town"},
        20_000,
    ),
    Case(
        "compas",
        "compas.csv.gz",
        "two_year_recid",
        ("sex", "age_cat", "decile_score", "c_charge_degree"),
        0.5,
        {
            "gaussian": "decile_score ~ sex + age_cat",
            "binomial": "sex ~ decile_score + age_cat",
            "poisson": "decile_score ~ sex + c_charge_degree",
        },
        7_214,
    ),
    Case(
        "adult",
        "adult.csv.gz",
        "income",
        ("sex", "race", "education_num"),
        0.5,
        {
            "gaussian": "education_num ~ sex + race",
            "binomial": "sex ~ race + education_num",
            "poisson": "education_num ~ sex + race",
        },
        48_842,
    ),
)
BINS = {"demo": {"height": [0, 160, 168, 176, 184, 300], "weight": [0, 60, 75, 90, 105, 300]}}
"""Fixed beforehand, so that the coefficients of every sample are of the same numbers."""


def run(releases: int = RELEASES, *names: str) -> list[dict[str, object]]:
    """All cases, or those that are named."""
    rows: list[dict[str, object]] = []
    for case in CASES:
        if names and case.name not in names:
            continue
        if case.file is not None and not DATA.is_dir():
            rows.append({"measured": f"{case.name}: not there; set FUNNEL_DATA to its folder"})
            continue
        with _made_once():
            rows += held(case, releases)
    return rows if names else [*rows, speed()]


@contextmanager
def _made_once() -> Iterator[None]:
    """What is the same for every release of a case is computed once: designs, and scores of the protocol that stays."""
    from privacyfunnel.estimates import meters
    from privacyfunnel.estimates.models.formula import Formula
    from privacyfunnel.estimates.scores import Scorer

    made: dict[tuple[str, bytes, bool], object] = {}
    design = Formula.design

    def once(self, columns, codes, binary):
        key = self.text, codes.tobytes(), binary
        if key not in made:
            made[key] = design(self, columns, codes, binary)
        return made[key]

    with patch.object(Formula, "design", once), patch.object(meters, "Scorer", lru_cache(maxsize=2)(Scorer)):
        yield


@cache
def _formula(text: str):
    from privacyfunnel.estimates.models.formula import Formula

    return Formula(text)


def held(case: Case, releases: int) -> list[dict[str, object]]:
    import privacyfunnel as pf

    joint = _joint(case, _frame(case))
    rng = np.random.default_rng(1)
    by_readers = pf.optimise(joint, pf.LIP(case.epsilon), readers="pairs", time_limit=120)
    found: dict[tuple[str, str], list] = {}
    refused: dict[tuple[str, str], int] = {}
    for _ in range(releases):
        sample = rng.multinomial(case.rows, joint.weights.ravel() / joint.weights.sum()).reshape(joint.weights.shape)
        for way in ("faithful", "corrected"):
            protocol = _fitted(case, joint, sample) if way == "faithful" else by_readers
            tally = _release(protocol, joint, sample.sum(axis=0), rng)
            for family, formula in case.models.items():
                try:
                    model = _model(protocol, tally, formula, family, "counted" if way == "faithful" else "channel")
                except pf.PrivacyFunnelError:
                    refused[way, family] = refused.get((way, family), 0) + 1
                    continue
                naive = _naive(protocol, tally, formula, family)
                found.setdefault((way, family), []).append(
                    [(c.value, c.error, c.low, c.high, n) for c, n in zip(model.coefficients, naive, strict=True)]
                )
    return [
        _row(case, joint, way, family, found.get((way, family), []), refused)
        for way in ("faithful", "corrected")
        for family in case.models
    ]


def _row(case: Case, joint, way: str, family: str, found: list, refused: dict) -> dict[str, object]:
    label = f"{case.name}, LIP {case.epsilon}, {way}, {family}"
    if not found:
        return {"measured": label, "refused": refused.get((way, family), 0)}
    value, error, low, high, naive = np.moveaxis(np.array(found), -1, 0)
    true = _truth(joint, case.models[family], family)
    holds = ((low <= true) & (true <= high)).mean(axis=0)
    blind = (np.abs(value - true) <= 1.96 * naive).mean(axis=0)
    return {
        "measured": label,
        "releases": len(found),
        "refused": refused.get((way, family), 0),
        "hold, least": f"{holds.min():.1%}",
        "largest": f"{holds.max():.1%}",
        "bias / error": float(np.abs((value - true).mean(axis=0) / value.std(axis=0)).max()),
        "error / naive": float(np.median(error / naive)),
        "naive hold, least": f"{blind.min():.1%}",
    }


def _frame(case: Case) -> pd.DataFrame:
    from privacyfunnel.population import people

    columns = [case.secret, *case.attributes]
    if case.file is None:
        return pd.DataFrame(people(100_000, seed=1))[columns]
    return pd.read_csv(DATA / case.file)[columns]


def _joint(case: Case, table: pd.DataFrame):
    import privacyfunnel as pf

    return pf.Joint.from_table(table, case.secret, list(case.attributes), bins=BINS.get(case.name))


def _fitted(case: Case, joint, sample):
    """A faithful protocol of a sample: any may be used, and one that is found quickly has the larger errors."""
    import privacyfunnel as pf

    there = sample.sum(axis=0) > 0
    own = pf.Joint.from_codes(sample[:, there], joint.codes[there], joint.columns, joint.secret, joint.secret_values)
    return pf.optimise(own, pf.LIP(case.epsilon), objective="faithful", gap=GAP, time_limit=20)


def _release(protocol, joint, people, rng):
    from privacyfunnel.tables.reading_back import Tally

    block = protocol.block
    there = people > 0
    inputs = block.read(joint.codes[there])
    Q = block.channel.dense()[:, inputs]
    counts = sum(rng.multinomial(n, q / q.sum()) for n, q in zip(people[there], Q.T, strict=True))
    return Tally(np.flatnonzero(counts), counts[counts > 0])


def _model(protocol, tally, formula: str, family: str, way: str):
    from privacyfunnel.estimates.models.families import family_named
    from privacyfunnel.estimates.models.regress import regression

    return regression(protocol, tally, _formula(formula), family_named(family), way=way, confidence=0.95)


def _naive(protocol, tally, formula: str, family: str) -> np.ndarray:
    """Standard errors of a model of released rows by their labels, as if they were original ones."""
    from privacyfunnel.estimates.models.families import family_named
    from privacyfunnel.estimates.models.solving import Equations

    block, model = protocol.block, _formula(formula)
    own = [block.attributes.index(name) for name in model.columns]
    codes, place = np.unique(block.codes[block.labels[tally.outputs]][:, own], axis=0, return_inverse=True)
    w = np.bincount(place.ravel(), tally.counts) / tally.rows
    equations = Equations(
        model.design({c.name: c for c in block.columns}, codes, family == "binomial"), family_named(family)
    )
    theta = equations.solved(w)
    influence = np.linalg.solve(equations.information(theta, w), equations.scores(theta))
    return np.sqrt(np.diag((influence * w) @ influence.T) / tally.rows)


def _truth(joint, formula: str, family: str) -> np.ndarray:
    from privacyfunnel.estimates.models.families import family_named
    from privacyfunnel.estimates.models.solving import Equations

    model = _formula(formula)
    own = [list(joint.attributes).index(name) for name in model.columns]
    codes, place = np.unique(joint.codes[:, own], axis=0, return_inverse=True)
    w = np.bincount(place.ravel(), joint.p_x)
    columns = {c.name: c for c in joint.columns}
    return Equations(model.design(columns, codes, family == "binomial"), family_named(family)).solved(w)


def speed() -> dict[str, object]:
    """Seconds of a regression beside those of tallying the same rows."""
    import pyarrow as pa

    import privacyfunnel as pf
    from privacyfunnel.population import people
    from privacyfunnel.tables.reading_back import tally

    table = pd.DataFrame(people(20_000, seed=1))
    joint = pf.Joint.from_table(table, "obese", ["sex", "town", "height", "weight"])
    protocol = pf.optimise(joint, pf.LIP(0.5), objective="faithful", gap=0.02)
    once = pa.Table.from_pandas(protocol.sanitise(table, seed=1), preserve_index=False)
    many = pa.concat_tables([once] * (ROWS // len(table)))
    begun = time.perf_counter()
    tally(protocol, many)
    tallied = time.perf_counter() - begun
    begun = time.perf_counter()
    pf.regress(many, protocol, "weight ~ height + sex", rows="fitted")
    return {
        "measured": f"{ROWS:,} rows: regression, seconds / those of tallying",
        "ratio": (time.perf_counter() - begun) / tallied,
    }


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.__main__ import show

    show(Console(width=200), "models", run(int(sys.argv[1]) if sys.argv[1:] else RELEASES, *sys.argv[2:]))
