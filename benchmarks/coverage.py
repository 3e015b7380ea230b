"""Coverage: how often 95% intervals of `estimate` hold the true share, and what that costs in width.

Random protocols: optimal ones, randomised response, random channels from nearly the identity to nearly constant,
and shares within a group. Rows come from the fitted distribution, and from another one that the
protocol knows nothing of. A cell is a protocol, a distribution, a number of rows and a share from 0.001 to 0.5 that is
told, which the rows themselves do not decide. Its coverage is counted over SAMPLES releases.

A cell's count has a standard error of about half a percent, so that of thousands of cells with a true coverage of 94%
some come out below 93%. Hence two stages: every group's lowest cells are released again, AGAIN times, and this
second coverage, which no selection touches, must be at least 94% up to 3 of its standard errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import privacyfunnel as pf
from privacyfunnel.estimates.frequencies import SMALLEST_GROUP, VAGUE
from privacyfunnel.estimates.intervals import Scored, quantile, tail
from privacyfunnel.estimates.measuring import Meter
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.protocols.block import Block, block_of
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.tables.reading_back import Tally

PROTOCOLS, SAMPLES, AGAIN = 240, 2_000, 40_000
ROWS = (30, 100, 300, 1_000, 10_000)
SHARES = (1e-3, 0.5)
MEASURED = 40
"""Samples of each cell whose intervals are computed in full, as a check of the counts."""
LOWEST = 4
"""Cells of each group that are released again."""
CONFIDENCE, LEAST = 0.95, 0.94
KINDS = ("optimal", "randomised response", "random channel", "group")


@dataclass(frozen=True, eq=False)
class Cell:
    """A share that is told: its scores over all outputs, and how these are distributed."""

    kind: str
    rows: int
    truth: float
    r: np.ndarray
    """r[y]: the true distribution of the outputs."""
    q: np.ndarray
    """q[y]: the published one."""
    a: np.ndarray
    d: np.ndarray


def run(protocols: int = PROTOCOLS, samples: int = SAMPLES, again: int = AGAIN) -> list[dict[str, object]]:
    rng = np.random.default_rng(17)
    found = [(cell, held(cell, samples, rng)) for cell in cells(protocols, rng)]
    groups: dict[tuple[str, str], list] = {}
    for row in found:
        for key in ((row[0].kind, "all"), ("all", f"{row[0].rows:,}"), ("all", "all")):
            groups.setdefault(key, []).append(row)
    return [summary(kind, n, rows, again, rng) for (kind, n), rows in sorted(groups.items(), key=_order)]


def _order(item: tuple[tuple[str, str], list]) -> tuple[bool, bool, int]:
    (kind, n), _ = item
    return (
        kind == "all",
        n == "all",
        KINDS.index(kind) if kind in KINDS else int(n.replace(",", "").replace("all", "0")),
    )


def summary(kind: str, n: str, rows: list, again: int, rng: np.random.Generator) -> dict[str, object]:
    coverage = np.array([row[1] for row in rows])
    lowest = np.argsort(coverage)[:LOWEST]
    second = [held(rows[i][0], again, rng, ends=False) for i in lowest]
    noise = 3 * np.sqrt(LEAST * (1 - LEAST) / again)
    return {
        "protocols": kind,
        "rows": n,
        "cells": len(rows),
        "mean": f"{coverage.mean():.1%}",
        "1% of cells below": f"{np.quantile(coverage, 0.01):.1%}",
        "lowest": f"{coverage.min():.1%}",
        "lowest, again": f"{min(second):.1%}",
        "at least 94%": "yes" if min(second) >= LEAST - noise else "NO",
    }


def held(cell: Cell, samples: int, rng: np.random.Generator, ends: bool = True) -> float:
    """The coverage; some intervals are computed as a check of it."""
    N = rng.multinomial(cell.rows, cell.r, size=samples).astype(np.float64)
    z = quantile(tail(CONFIDENCE))
    scored = _scored(cell, N)
    truth = np.full(samples, cell.truth)
    refused = _refused(cell, N)
    holds = refused | (np.minimum(scored.surprise(truth, 1), scored.surprise(truth, -1)) >= -z)
    if ends:
        low, high = _scored(cell, N[:MEASURED]).intervals(tail(CONFIDENCE))
        inside = (low <= cell.truth) & (cell.truth <= high)
        if (inside | refused[:MEASURED] != holds[:MEASURED]).any():
            raise AssertionError("an interval is not what its test accepts")
    return float(holds.mean())


def _scored(cell: Cell, N: np.ndarray) -> Scored:
    h = cell.a, cell.a - cell.d
    least, most = (tuple(np.full(len(N), end(x)) for x in h) for end in (np.min, np.max))
    return Scored(N, cell.a[None, :], cell.d[None, :], (0.0, 1.0), least, most)


def _refused(cell: Cell, N: np.ndarray) -> np.ndarray:
    """Where the rows leave open that nobody is in the group: no interval, which is as good as all of [0, 1]."""
    if (cell.d == 1).all():
        return np.zeros(len(N), dtype=bool)
    one = np.ones_like(cell.d)
    size = _scored(Cell(cell.kind, cell.rows, 0, cell.r, cell.q, cell.d, one), N)
    return size.surprise(np.zeros(len(N)), -1) >= -SMALLEST_GROUP


def cells(protocols: int, rng: np.random.Generator) -> Iterator[Cell]:
    """All cells of so many random protocols."""
    for i in range(protocols):
        kind = KINDS[i % len(KINDS)]
        block, fitted = random_block(rng, kind)
        other = rng.dirichlet(np.full(len(fitted), 0.5))
        for p in (fitted, other):
            for rows in ROWS:
                yield from told(kind, rows, Scorer(block), p)


def told(kind: str, rows: int, scorer: Scorer, p: np.ndarray) -> Iterator[Cell]:
    """The shares of single values (in groups, among the first half of the values)."""
    meter = Meter(Tally(np.zeros(1, dtype=np.int64), np.array([rows])), scorer)
    targets, given = np.eye(scorer.n_inputs), None
    if kind == "group":
        given = (np.arange(scorer.n_inputs) < (scorer.n_inputs + 1) // 2).astype(float)[None, :]
        targets = targets[given[0] > 0]
        group = meter.measure(given)
        if not group.identified.all() or group.plan.values.item() < group.plan.reach(1.35e-3).item():
            return
    with np.errstate(all="ignore"):  # only the plan is asked for; the one row that stands for all may be no member
        measured = meter.measure(targets, given)
    good = measured.identified & (measured.plan.reach(tail(CONFIDENCE)) <= VAGUE)
    truth = targets @ p / max((given @ p).item() if given is not None else 1.0, 1e-12)
    A, r, q = scorer.scores(targets), scorer.Q @ p, scorer.marginal
    d = np.ones(len(r)) if given is None else scorer.scores(given)[0]
    for t in np.flatnonzero(good & (truth >= SHARES[0]) & (truth <= SHARES[1])):
        yield Cell(kind, rows, float(truth[t]), r / r.sum(), q, A[t], d)


def random_block(rng: np.random.Generator, kind: str) -> tuple[Block, np.ndarray]:
    """A block of 2 to 8 values, some of them rare, and P(x) that it was fitted on."""
    a = int(rng.integers(2, 9)) if kind != "group" else int(rng.integers(4, 9))
    p = np.maximum(rng.dirichlet(np.full(a, rng.choice([0.3, 1.0, 5.0]))), 1e-3)
    if kind == "group":
        kind = KINDS[rng.integers(3)]
    if kind == "optimal":
        c = int(rng.integers(2, 4))
        weights = rng.dirichlet(np.full(c, rng.choice([0.3, 1.0])), size=a).T * p
        joint = pf.Joint(np.maximum(np.rint(weights * 1e5), 1).astype(np.int64))
        notion = (pf.LIP, pf.LDP)[rng.integers(2)](float(rng.choice([0.1, 0.3, 0.5, 1.0, 2.0])))
        block = pf.optimise(joint, notion).block
    else:
        joint = pf.Joint(np.rint(p[None, :] * 1e6).astype(np.int64))
        truthful = rng.uniform(0.05, 1)
        Q = np.eye(a) * truthful + (1 - truthful) / a
        if kind == "random channel":
            Q = rng.dirichlet(np.full(a, rng.choice([0.1, 0.3, 1.0])), size=a).T + 1e-4
        block = block_of(joint, Channel.from_numerators(dyadic(Q)))
    return block, joint.p_x


def dyadic(Q: np.ndarray) -> np.ndarray:
    """The channel Q[y, x] in multiples of 2⁻³²."""
    N = np.floor(Q / Q.sum(axis=0) * UNIT).astype(np.int64)
    N[np.argmax(N, axis=0), np.arange(N.shape[1])] += UNIT - N.sum(axis=0)
    return N
