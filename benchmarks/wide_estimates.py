"""Intervals from releases of a model: how often 95% intervals hold the population's number, over whole fits.

Each time people are drawn from a population (the made-up one, or a shared table taken for one), a model is fitted with
noise, their rows are redrawn, and all shares of single columns, pairs and triples, shares of columns within the values
of another one, and coefficients of regressions are estimated. Some populations are made so that no pairs of columns
describe them. Beside it: intervals that know only of sampling, and of
sampling and drawing. What is there for fewer than 20 people is left out. WIDE_FITS says how many fits, WIDE_CASES,
with semicolons, which cases, WIDE_SEED where random numbers begin, WIDE_PROGRAM_SECONDS how long the program over all
pairs may take where combinations are few (0: groups).
"""

import itertools
import os
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import privacyfunnel as pf
from privacyfunnel.distribution.column import Column
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.errors import InvalidTable
from privacyfunnel.estimates.cell_shares import cell_shares
from privacyfunnel.estimates.counted import CountingMeter
from privacyfunnel.estimates.frequencies import Presentation, frequencies
from privacyfunnel.estimates.models.families import family_named
from privacyfunnel.estimates.models.formula import Formula
from privacyfunnel.estimates.models.regress import _solved
from privacyfunnel.estimates.models.solving import Equations
from privacyfunnel.estimates.wide.meters import WideMeters
from privacyfunnel.population import people
from privacyfunnel.tables.wide.fit import fit_wide
from privacyfunnel.tables.wide.reading_back import ReleasedRows
from privacyfunnel.tables.wide.redrawing import Redrawing

DATA = Path(os.environ.get("PRIVACYFUNNEL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SECONDS = float(os.environ.get("WIDE_PROGRAM_SECONDS", "60"))
FEWEST, MOST_TABLES, Z = 20, 12, 1.96
Row = dict[str, object]


@dataclass(frozen=True)
class Case:
    """A population, how many people are drawn from it, the noise, and models that are fitted."""

    secret: str
    attributes: tuple[str, ...]
    rows: int
    private: float | None = 1.0
    file: str | None = None
    epsilon: float = 0.5
    formulas: tuple[tuple[str, str], ...] = ()
    made: int | None = None
    """Of tables that no pairs of columns describe: 0 for a parity, else the seed of a sparse random table."""


DEMO = ("sex", "town", "height", "weight")
ADULT = ("age", "marital_status", "occupation", "sex", "hours_per_week", "race")
OF_DEMO = (
    ("weight ~ height + sex", "gaussian"), ("weight ~ town", "gaussian"), ("height ~ sex", "gaussian"),
    ("sex ~ height + weight", "binomial"),
)  # fmt: skip
OF_ADULT = (
    ("hours_per_week ~ age + sex", "gaussian"), ("age ~ marital_status", "gaussian"),
    ("hours_per_week ~ marital_status", "gaussian"), ("sex ~ hours_per_week + age", "binomial"),
    ("sex ~ race + hours_per_week", "binomial"),
)  # fmt: skip
CASES = {
    "demo": Case("obese", DEMO, 20_000, formulas=OF_DEMO),
    "demo, 0.2": Case("obese", DEMO, 20_000, epsilon=0.2, formulas=OF_DEMO),
    "demo, no noise": Case("obese", DEMO, 20_000, None, formulas=OF_DEMO),
    "demo, few": Case("obese", DEMO, 3_000, formulas=OF_DEMO),
    "adult six": Case("income", ADULT, 48_842, file="adult.csv.gz", formulas=OF_ADULT),
    "adult six, no noise": Case("income", ADULT, 48_842, None, "adult.csv.gz", formulas=OF_ADULT),
    "adult eight": Case(
        "income", (*ADULT, "education", "relationship"), 48_842, file="adult.csv.gz", formulas=OF_ADULT
    ),
}


CASES |= {"parity": Case("ill", ("a", "b", "c", "d"), 20_000, epsilon=0.3, made=0)}
CASES |= {f"sparse {seed}": Case("ill", ("a", "b", "c", "d"), 20_000, epsilon=0.4, made=seed) for seed in (1, 2, 3)}
CASES |= {f"sparse {seed}, many": Case("ill", ("a", "b", "c", "d"), 500_000, epsilon=0.4, made=seed) for seed in (1, 2)}


def made_up(seed: int) -> pf.Joint:
    """c is the parity of a and b, and a tells the secret; or few combinations occur, each with a secret of its own."""
    if seed == 0:
        p = np.zeros((2, 2, 2, 3))
        for a, b in itertools.product(range(2), repeat=2):
            p[a, b, a ^ b] = 1 / 12
        t = np.broadcast_to(np.array([0.1, 0.9])[:, None, None, None], p.shape)
    else:
        rng = np.random.default_rng(seed)
        p = rng.dirichlet(np.full(96, 0.15)).reshape(4, 4, 3, 2)
        t = rng.beta(0.5, 0.5, p.shape)
    weights = np.rint(np.stack([p * (1 - t), p * t]) * 1e7).astype(np.int64).reshape(2, -1)
    seen, sizes = np.flatnonzero(weights.any(axis=0)), p.shape
    codes = np.stack(np.unravel_index(seen, sizes), axis=1).astype(np.int64)
    columns = tuple(
        Column(name=name, kind="integer", labels=tuple(range(k))) for name, k in zip("abcd", sizes, strict=True)
    )
    secret = Column(name="ill", kind="text", labels=("no", "yes"))
    return pf.Joint.from_codes(weights[:, seen], codes, columns, "ill", ["no", "yes"], (secret,))


def population(case: Case) -> pf.Joint:
    if case.made is not None:
        return made_up(case.made)
    if case.file is None:
        return pf.Joint.from_table(pd.DataFrame(people(1_000_000, 7)), case.secret, list(case.attributes))
    frame = pd.read_csv(DATA / case.file, dtype=str, keep_default_na=False)[[case.secret, *case.attributes]]
    return pf.Joint.from_table(frame, case.secret, list(case.attributes), missing=["?"])


def sample(joint: pf.Joint, rows: int, rng: np.random.Generator) -> pf.Joint:
    counts = rng.multinomial(rows, np.asarray(joint.weights / joint.total, dtype=float).ravel()).reshape(2, -1)
    seen = counts.any(axis=0)
    return pf.Joint.from_codes(
        counts[:, seen], joint.codes[seen], joint.columns, joint.secret, joint.secret_values, joint.secret_columns
    )


def run() -> list[Row]:
    fits = int(os.environ.get("WIDE_FITS", "20"))
    wanted = os.environ.get("WIDE_CASES", ";".join(name for name in CASES if name != "adult eight")).split(";")
    rows = []
    for name in wanted:
        case = CASES[name]
        if case.file is not None and not (DATA / case.file).exists():
            rows.append({"case": name, "question": f"{case.file} is not here; set PRIVACYFUNNEL_DATA"})
            continue
        rows += measured(name, case, fits)
    return rows


def measured(name: str, case: Case, fits: int) -> list[Row]:
    rng, truth = np.random.default_rng(int(os.environ.get("WIDE_SEED", "1"))), population(case)
    found, begun, leaning = defaultdict(list), time.process_time(), []
    for _ in range(fits):
        joint = sample(truth, case.rows, rng)
        protocol = fit_wide(joint, pf.LIP(case.epsilon), case.private, seconds=SECONDS)
        rows = released(protocol, joint)
        meters, back = WideMeters(protocol, rows), WideMeters(protocol, rows, "channel")
        leaning.append(meters.leaning)
        for kind, answers in asked(meters, back, truth, case):
            found[kind] += answers
    rows = []
    for kind, answers in found.items():
        if not answers:
            rows.append({"case": name, "question": kind, "fits": fits, "intervals": 0})
            continue
        held, drawn, sampled, times, each = (np.array(column, dtype=float) for column in zip(*answers, strict=True))
        by_question = pd.Series(held).groupby(each).mean()
        rows.append({
            "case": name, "question": kind, "fits": fits, "intervals": len(held), "hold": held.mean(),
            "of questions, the least": by_question.min(), "a tenth below": by_question.quantile(0.1),
            "with drawing only": drawn.mean(), "with sampling only": sampled.mean(),
            "times sampling error": np.median(times),
            "leaning": np.median(leaning), "CPU s": time.process_time() - begun,
        })  # fmt: skip
        print({key: round(v, 4) if isinstance(v, float) else v for key, v in rows[-1].items()}, flush=True)
    return rows


def released(protocol, joint):
    weights = joint.weights.astype(np.int64).sum(axis=0)
    x = np.repeat(np.ravel_multi_index(tuple(joint.codes.T), protocol.by_model.model.sizes), weights)
    numbers, counts = np.unique(Redrawing(protocol.by_model.plan).drawn(x, Randomness.secure()), return_counts=True)
    return ReleasedRows(
        np.stack(np.unravel_index(numbers, protocol.by_model.model.sizes), axis=1).astype(np.int64), counts
    )


def asked(meters, back, truth, case):
    """(held, held with drawing only, with sampling only, error over the sampling error, number of the question)."""
    names, p = truth.attributes, truth.p_x
    for size, kind in ((1, "singles"), (2, "pairs"), (3, "triples")):
        for k, own in enumerate(itertools.combinations(range(len(names)), size)):
            if size == 3 and k >= MOST_TABLES:
                break
            sizes = [len(truth.columns[j]) for j in own]
            if np.prod(sizes) > 2_000:
                continue
            place = np.ravel_multi_index([truth.codes[:, j] for j in own], sizes)
            exact = np.bincount(place, p, int(np.prod(sizes)))
            reader = meters.reader([names[j] for j in own], {}, Presentation(model=False))
            found = frequencies(reader, [names[j] for j in own]).estimates
            reader.meter.leaning = 1.0
            drawn = CountingMeter.measure(reader.meter, np.eye(len(exact))).errors
            reader.meter.leaning = meters.leaning
            for place, (f, one) in enumerate(zip(exact, found, strict=True)):
                if f * case.rows < FEWEST or f > 1 - 1e-9:
                    continue
                sampling, off = np.sqrt(f * (1 - f) / case.rows), abs(one.share - f)
                plain = off <= Z * drawn[place], off <= Z * sampling
                yield kind, [(one.low <= f <= one.high, *plain, one.error / sampling, hash((own, place)))]
    yield "within groups", list(within(meters, truth, case))
    for number, (formula, family) in enumerate(case.formulas):
        yield formula, list(coefficients(back, truth, formula, family, number))


def within(meters, truth, case):
    first = truth.attributes[0]
    sizes = [len(column) for column in truth.columns]
    for j in range(1, len(sizes)):
        table = np.zeros((sizes[0], sizes[j]))
        np.add.at(table, (truth.codes[:, 0], truth.codes[:, j]), truth.p_x)
        for a in range(sizes[0]):
            if table[a].sum() * case.rows < 10 * FEWEST:
                continue
            reader = meters.reader([truth.attributes[j]], {first: [a]}, Presentation(model=False))
            try:
                found = frequencies(reader, [truth.attributes[j]]).estimates
            except InvalidTable:  # not told that anybody is in this group
                continue
            for b, one in enumerate(found):
                if table[a, b] * case.rows >= FEWEST:
                    f = table[a, b] / table[a].sum()
                    error = np.sqrt(f * (1 - f) / case.rows / table[a].sum())
                    yield one.low <= f <= one.high, np.nan, np.nan, one.error / max(error, 1e-9), hash((j, a, b))


def coefficients(meters, truth, formula, family, number):
    """Those of the population are the solution of the same equations for its own shares."""
    model, kind = Formula(formula), family_named(family)
    reader = meters.reader(model.columns, {}, Presentation(model=False))
    try:
        found = _solved(reader, meters.rows, model, kind, why="", faithful=False, noisy=False)
    except InvalidTable:  # not told
        return
    shares = cell_shares(reader, model.columns, 10_000)
    equations = Equations(model.design(reader.asker.columns, shares.codes, family == "binomial"), kind)
    own = [truth.attributes.index(name) for name in model.columns]
    sizes = [len(truth.columns[j]) for j in own]
    place = np.ravel_multi_index([truth.codes[:, j] for j in own], sizes)
    w = np.bincount(place, truth.p_x, int(np.prod(sizes)))[np.ravel_multi_index(tuple(shares.codes.T), sizes)]
    theta = equations.solved(w)
    influence = np.linalg.solve(equations.information(theta, w), equations.scores(theta))
    sampling = np.sqrt((influence**2) @ w / meters.rows)
    for k, (one, exact) in enumerate(zip(found.coefficients, theta, strict=True)):
        plain = abs(one.value - exact) <= Z * sampling[k]
        yield one.low <= exact <= one.high, np.nan, plain, one.error / sampling[k], hash((number, k))
