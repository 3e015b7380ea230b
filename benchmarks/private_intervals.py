"""Intervals of private fits: how often 95% of them hold the population's number, over whole fits of 20 kinds of tables:
the mean of these, of how many intervals, and the lowest with its standard error.

Each time people are drawn from a known population, a protocol is fitted privately as `funnel fit` does (faithful,
combinations of fewer than 10 people read as others, refused where these are more than 5% of the people), rows are
released, and everything is asked that `estimate` answers: shares, tables, shares in groups, means, quantiles,
differences, ratios, odds ratios, Cramér's V, correlations. Rows are those of the fitted table, counted; the same,
worked back; and those of other people from the same population. What is refused counts as no interval. Cramér's V is
that of the values which it is told among. Of a follow-up, what `estimate` answers is asked of both releases together.

Intervals of one table depend on each other, so the error of a coverage is that of means over tables. PRIVATE_FITS says
how many fits of each case, PRIVATE_CASES which of them, joined by semicolons. A line says NO where coverage is below
94% by more than chance explains (99%), for all questions of a kind together or for one of them alone.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import privacyfunnel as pf
from privacyfunnel.distribution.column import Column
from privacyfunnel.errors import PrivacyFunnelError
from privacyfunnel.estimates.associate import association
from privacyfunnel.estimates.cell_shares import cell_shares
from privacyfunnel.estimates.compare import comparison
from privacyfunnel.estimates.contrasts import Figure
from privacyfunnel.estimates.frequencies import Presentation, frequencies
from privacyfunnel.estimates.meters import Meters
from privacyfunnel.estimates.opened import Opened
from privacyfunnel.estimates.questions import Asker
from privacyfunnel.estimates.read_release import ReadRelease
from privacyfunnel.estimates.strength import surely_there
from privacyfunnel.estimates.summaries import summary
from privacyfunnel.estimates.together import for_estimates, tally_together
from privacyfunnel.estimates.which_rows import check_contrasts, way_of
from privacyfunnel.tables.frequency_threshold import of_noisy
from privacyfunnel.tables.private_counts import private
from privacyfunnel.tables.reading_back import Tally

NAMES = ("a", "b", "c", "d", "e")
SECRETS = tuple("uvwxyz")
WAYS = COUNTED, WORKED_BACK, OTHERS = (
    "rows of the fitted table, counted",
    "the same, worked back",
    "rows of other people, worked back",
)
LEAST, ONE_PERCENT = 0.94, 2.33
"""What must hold, and the standard errors that chance exceeds in 1% of all cases, to one side."""
FEWEST = 50
"""Intervals of a question of which the coverage is looked at by itself."""
EXCEPTIONS = 0.01
"""The share of people of whom one column says nothing about another that nearly copies it."""
SECONDS = 20.0
MOST_TIMES = 1e6
"""A larger ratio is no answer."""


@dataclass(frozen=True)
class Case:
    """A population, how many people are drawn from it, and how they are protected."""

    population: str
    sizes: tuple[int, ...]
    people: int
    epsilon: float = 0.3
    noise: float = 1.0
    secrets: int = 2
    insist: bool = False
    objective: str = "faithful"
    delta: float | None = None
    """δ₀: only large counts are told."""
    twice: bool = False
    """Released at half of ε first, and followed up."""
    others: int | None = None
    """How many other people have their rows worked back; as many, unless told."""


CASES = {
    "two columns, 500": Case("even", (2, 3), 500),
    "two columns, 500, uneven": Case("uneven", (3, 4), 500),
    "three columns, 500, three secrets": Case("uneven", (2, 3, 3), 500, secrets=3, insist=True),
    "two columns, 500, dependent": Case("dependent", (3, 3), 500, 1.0),
    "three columns, 2,000, dependent": Case("uneven, dependent", (3, 4, 2), 2_000),
    "two columns, 2,000, three secrets": Case("dependent", (3, 4), 2_000, secrets=3),
    "values of 1%, 2,000": Case("rare", (3, 4), 2_000),
    "two columns, 10,000, dependent": Case("uneven, dependent", (4, 5), 10_000),
    "two columns, 200,000, dependent": Case("uneven, dependent", (3, 4), 200_000),
    "20 values, 10,000": Case("uneven", (20, 3), 10_000),
    "values of 1%, 10,000, three secrets": Case("rare", (2, 5), 10_000, 0.5, secrets=3),
    "most cells rare, 10,000": Case("sparse", (5, 6), 10_000),
    "for information, 2,000": Case("uneven, dependent", (3, 4), 2_000, objective="information"),
    "much noise, 2,000": Case("uneven, dependent", (3, 4), 2_000, noise=0.3, insist=True),
    "large counts only, 10,000": Case("uneven, dependent", (3, 4), 10_000, delta=1e-6, insist=True),
    "nearly a copy, 500": Case("nearly copied", (2, 2), 500),
    "nearly a copy, 5,000": Case("nearly copied", (3, 3), 5_000),
    "many other people, 500": Case("even", (2, 3), 500, others=20_000),
    "many other people, values of 1%": Case("rare", (3, 4), 2_000, others=50_000),
    "followed up, 2,000": Case("uneven, dependent", (3, 4), 2_000, 0.6, twice=True),
}


def population(case: Case, seed: int = 1) -> np.ndarray:
    """p[s, a, b, …]."""
    rng, sizes = np.random.default_rng(seed), case.sizes
    if case.population in ("dependent", "sparse"):
        thin = 1.0 if case.population == "dependent" else 0.3
        p = rng.dirichlet(np.full(int(np.prod(sizes)), thin)).reshape(sizes)
    else:
        p = np.ones(())
        for k in sizes:
            own = {
                "even": rng.dirichlet(np.full(k, 10.0)),
                "rare": np.append(np.full(k - 1, 0.99 / (k - 1)), 0.01),
            }.get(case.population, 1 / np.arange(1, k + 1))
            p = np.multiply.outer(p, own / own.sum())
        if case.population == "uneven, dependent":
            p = p * np.exp(rng.normal(0, 0.7, sizes))
        if case.population == "nearly copied":
            p = EXCEPTIONS * p + (1 - EXCEPTIONS) * np.diag(np.diag(p)) / np.trace(p)
    secret = np.exp(rng.normal(0, 1, (case.secrets, *sizes)))
    return p / p.sum() * secret / secret.sum(axis=0)


def joint_of(counts: np.ndarray) -> pf.Joint:
    """The table of as many people, every value of the columns declared."""
    weights = counts.reshape(len(counts), -1)
    seen = np.flatnonzero(weights.any(axis=0))
    codes = np.stack(np.unravel_index(seen, counts.shape[1:]), axis=1).astype(np.int64)
    columns = tuple(
        Column(name=name, kind="integer", labels=tuple(range(k)))
        for name, k in zip(NAMES, counts.shape[1:], strict=False)
    )
    secret = Column(name="ill", kind="text", labels=SECRETS[: len(counts)])
    return pf.Joint.from_codes(weights[:, seen], codes, columns, "ill", list(secret.labels), (secret,))


def released(protocol: pf.Protocol, joint: pf.Joint, rng: np.random.Generator) -> Tally:
    """How often each output is drawn for these people."""
    block = protocol.block
    people = np.bincount(block.inputs_of(joint), joint.weights.sum(axis=0).astype(float), block.channel.n_inputs)
    Q = block.channel.dense()
    counts = sum(rng.multinomial(int(n), q / q.sum()) for n, q in zip(people, Q.T, strict=True))
    return Tally(np.flatnonzero(counts), counts[counts > 0])


def followed_up(protocol: pf.Protocol, joint: pf.Joint, seed: int) -> Tally:
    """The same of both releases together."""
    codes = np.repeat(joint.codes, joint.weights.sum(axis=0).astype(np.int64), axis=0)
    table = pa.table({"id": np.arange(len(codes)), **dict(zip(joint.attributes, codes.T, strict=True))})
    first = protocol.before.sanitise(table, keep_order=True, seed=seed).append_column("id", table["id"])
    second = protocol.sanitise(table, released=first, person="id", keep_order=True, seed=seed + 1)
    return tally_together(protocol, second.append_column("id", table["id"]), first, "id")


def releases(
    protocol: pf.Protocol, fitted: pf.Joint, others: pf.Joint, rng: np.random.Generator
) -> Iterator[tuple[str, Opened]]:
    """Whose rows, and how they are looked at."""
    if protocol.before is not None:
        both = for_estimates(protocol)
        for way, joint in ((WORKED_BACK, fitted), (OTHERS, others)):
            yield way, opened(both, followed_up(protocol, joint, int(rng.integers(2**31))), "other")
        return
    tally = released(protocol, fitted, rng)
    if protocol.objective == "faithful":
        yield COUNTED, opened(protocol, tally, "fitted")
    yield WORKED_BACK, opened(protocol, tally, "other")
    yield OTHERS, opened(protocol, released(protocol, others, rng), "other")


def opened(protocol: pf.Protocol, tally: Tally, rows: str) -> Opened:
    """A release that can be asked, whose rows are known to be these."""
    way, why = way_of(protocol, tally, None if protocol.objective == "information" else rows)
    asker = Asker(protocol)
    meters, noisy = Meters(protocol, tally, way, asker), protocol.noise is not None
    read = ReadRelease(tally.rows, way, why, asker, meters, protocol.objective == "faithful", noisy)
    return Opened(read, {}, Presentation(model=False))


@dataclass
class Found:
    """Which intervals held, of one kind of question."""

    tables: list[float]
    """The share of them that held, for each table."""
    each: dict[object, list[bool]]
    """For each question."""
    untold: int = 0
    absurd: int = 0


def run() -> list[dict[str, object]]:
    wanted = os.environ.get("PRIVATE_CASES", ";".join(CASES)).split(";")
    fits = int(os.environ.get("PRIVATE_FITS", "300"))
    return by_question([line for name in wanted for line in measured(name, CASES[name], fits)])


def measured(name: str, case: Case, fits: int) -> list[dict[str, Any]]:
    """Everything of a case, a line for each kind of question."""
    begun = time.process_time()
    found, fitted = asked(case, fits)
    lines = []
    for (way, kind), one in found.items():
        lines.append({"case": name, "fits": fitted, "rows": way, "question": kind, **summed_up(one)})
        print(*(f"{v:.3f}" if isinstance(v, float) else v for v in lines[-1].values()), sep=" | ", flush=True)
    print(f"{name}: {(time.process_time() - begun) / max(fitted, 1):.2f} CPU s a fit", flush=True)
    return lines


def by_question(lines: list[dict[str, Any]]) -> list[dict[str, object]]:
    """All cases together."""
    told = [line for line in lines if line["told"]]
    kinds = dict.fromkeys(line["question"] for line in told)
    return [
        {"95% intervals of": kind}
        | {way: together([line for line in told if (line["rows"], line["question"]) == (way, kind)]) for way in WAYS}
        for kind in kinds
    ]


def together(lines: list[dict[str, Any]]) -> str:
    """The mean, and the lowest of the cases that have enough of them."""
    if not lines:
        return ""
    low = min((line for line in lines if line["told"] >= FEWEST), key=lambda line: line["held"], default=lines[0])
    lowest = f"{low['held']:.1%} ± {low['±']:.1%} ({low['case']})"
    return f"{np.mean([line['held'] for line in lines]):.1%} of {sum(line['told'] for line in lines):,}; {lowest}"


def asked(case: Case, fits: int, seed: int = 0) -> tuple[dict[tuple[str, str], Found], int]:
    """What held of each kind of question, and in how many fits something was published."""
    rng, p, fitted = np.random.default_rng(seed), population(case), 0
    found: dict[tuple[str, str], Found] = defaultdict(lambda: Found([], defaultdict(list)))
    for _ in range(fits):
        joint = joint_of(rng.multinomial(case.people, p.ravel()).reshape(p.shape))
        others = joint_of(rng.multinomial(case.others or case.people, p.ravel()).reshape(p.shape))
        try:
            protocol = fit(joint, case)
        except PrivacyFunnelError:  # nothing is published, and nothing is asked
            continue
        fitted += 1
        for way, table in releases(protocol, joint, others, rng):
            ask(table, protocol, p.sum(axis=0), found, way)
    return found, fitted


def fit(joint: pf.Joint, case: Case) -> pf.Protocol:
    """By the defaults of the command."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        noisy = private(joint, case.noise, delta=case.delta, at_least=10 if case.delta else 0)
        threshold = of_noisy(noisy)
        if threshold is not None and not case.insist:
            threshold.refuse_many()
        first = pf.optimise(noisy, pf.LIP(case.epsilon / 2), time_limit=SECONDS) if case.twice else None
        objective = "information" if case.twice else case.objective
        return pf.optimise(noisy, pf.LIP(case.epsilon), objective=objective, after=first, time_limit=SECONDS)


def summed_up(one: Found) -> dict[str, Any]:
    tables = np.array(one.tables)
    if not len(tables):
        return {"told": 0, "untold": one.untold}
    told = sum(map(len, one.each.values()))
    error = float(tables.std(ddof=1) / math.sqrt(len(tables))) if len(tables) > 1 else 1.0
    error = max(error, math.sqrt(LEAST * (1 - LEAST) / told))  # that of questions that have nothing in common
    each = [(float(np.mean(held)), len(held)) for held in one.each.values() if len(held) >= FEWEST]
    low = [share + ONE_PERCENT * math.sqrt(LEAST * (1 - LEAST) / n) < LEAST for share, n in each]
    enough = tables.mean() + ONE_PERCENT * error >= LEAST
    return {
        "told": told, "untold": one.untold, "held": float(tables.mean()), "±": error,
        "of questions, the least": min(each)[0] if each else math.nan, "at least 94%": "yes" if enough else "NO",
        "questions below": sum(low), "of": len(each), "absurd": one.absurd,
    }  # fmt: skip


def ask(table: Opened, protocol: pf.Protocol, p: np.ndarray, found: dict, way: str) -> None:
    """Everything of one release."""
    held: dict[str, list[bool]] = defaultdict(list)

    def put(kind: str, question: object, figure: Figure | None, true: float, ends: tuple[float, float]) -> None:
        own = found[way, kind]
        if figure is None or (figure.low is None and figure.high is None):
            own.untold += 1
            return
        low, high = (
            end if number is None else number for number, end in zip((figure.low, figure.high), ends, strict=True)
        )
        own.absurd += not ends[0] <= low <= high <= ends[1] or not all(map(sensible, (figure.value, figure.error)))
        holds = bool(low - 1e-12 <= true <= high + 1e-12)
        own.each[question].append(holds)
        held[kind].append(holds)

    contrasts = () if protocol.before is not None else (differences, associations)
    for question in (shares, groups, means, *contrasts):
        try:
            if question in contrasts and table.way == "channel":
                check_contrasts(protocol, table.rows)
            question(table, p, put)
        except PrivacyFunnelError:
            found[way, question.__name__].untold += 1
    for kind, some in held.items():
        found[way, kind].tables.append(float(np.mean(some)))


def sensible(number: float | None) -> bool:
    return number is None or (math.isfinite(number) and abs(number) <= MOST_TIMES)


Put = Callable[[str, object, Figure | None, float, tuple[float, float]], None]


def marginal(p: np.ndarray, *columns: int) -> np.ndarray:
    return p.sum(axis=tuple(j for j in range(p.ndim) if j not in columns))


def shares(table: Opened, p: np.ndarray, put: Put) -> None:
    """Of single columns, of the first two, and of all."""
    columns = list(range(p.ndim))
    asked = [("shares", [j]) for j in columns] + [("tables", columns[:2])]
    for kind, own in asked + ([("tables", columns)] if p.ndim > 2 else []):
        exact = marginal(p, *own)
        for one in frequencies(table.reader([NAMES[j] for j in own]), [NAMES[j] for j in own]).estimates:
            true = float(sum(exact[values] for values in one.values))
            put(kind, (tuple(own), one.values), Figure(one.share, one.error, one.low, one.high), true, (0.0, 1.0))


def groups(table: Opened, p: np.ndarray, put: Put) -> None:
    """Shares of the first column in groups of the second."""
    exact = marginal(p, 0, 1)
    for group in range(p.shape[1]):
        try:
            found = frequencies(table.reader(["a"], {"b": [group]}), ["a"]).estimates
        except PrivacyFunnelError:
            put("in groups", group, None, 0.0, (0.0, 1.0))
            continue
        for one in found:
            true = float(sum(exact[values[0], group] for values in one.values) / exact[:, group].sum())
            figure = Figure(one.share, one.error, one.low, one.high)
            put("in groups", (group, one.values), figure, true, (0.0, 1.0))


def means(table: Opened, p: np.ndarray, put: Put) -> None:
    for j in range(p.ndim):
        one, own = summary(table.reader([NAMES[j]]), NAMES[j]), marginal(p, j)
        true = float(own @ np.arange(len(own)))
        ends = (0.0, len(own) - 1.0)
        put("means", j, Figure(one.mean, one.error, one.low, one.high), true, ends)
        for each in one.quantiles:
            true = float(np.searchsorted(np.cumsum(own), each.share))
            put("quantiles", (j, each.share), Figure(each.value, None, each.low, each.high), true, ends)


def differences(table: Opened, p: np.ndarray, put: Put) -> None:
    within = marginal(p, 0, 1) / marginal(p, 0, 1).sum(axis=0)
    most = float(p.shape[0] - 1)
    for one in comparison(table, "a", "b").contrasts:
        key = (one.value, one.group, one.against)
        if one.mean:
            first, second = np.arange(p.shape[0]) @ within[:, [one.group, one.against]]
            put("differences of means", key, one.difference, float(first - second), (-most, most))
            continue
        first, second = within[one.value, [one.group, one.against]].tolist()
        put("differences", key, one.difference, first - second, (-1.0, 1.0))
        put("ratios", key, one.ratio, first / second, (0.0, math.inf))


def associations(table: Opened, p: np.ndarray, put: Put) -> None:
    exact = marginal(p, 0, 1)
    found = association(table, "a", "b")
    cells = cell_shares(table.reader(["a", "b"]), ["a", "b"])
    there = surely_there(cells, cells.grid(list(exact.shape)))
    v = cramers_v(exact[np.ix_(*there)]) if found.cramers_v else math.nan
    put("Cramér's V", all(map(all, there)), found.cramers_v, v, (0.0, 1.0))
    for one in found.odds_ratios:
        odds = [exact[g, one.value] / exact[g, one.reference] for g in (one.group, one.group_reference)]
        put("odds ratios", (one.group, one.value), one.ratio, odds[0] / odds[1], (0.0, math.inf))
    numbers = [np.arange(k) for k in exact.shape]
    ranks = [np.cumsum(own) - own / 2 for own in (exact.sum(axis=1), exact.sum(axis=0))]
    put("correlations", "Pearson", found.pearson, correlation(exact, *numbers), (-1.0, 1.0))
    put("correlations", "Spearman", found.spearman, correlation(exact, *ranks), (-1.0, 1.0))


def cramers_v(p: np.ndarray) -> float:
    p = p / p.sum()
    expected = np.outer(p.sum(axis=1), p.sum(axis=0))
    return math.sqrt(((p - expected) ** 2 / expected).sum() / (min(p.shape) - 1))


def correlation(p: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    a, b = p.sum(axis=1), p.sum(axis=0)
    x, y = x - a @ x, y - b @ y
    return float(x @ p @ y / math.sqrt((a @ x**2) * (b @ y**2)))
