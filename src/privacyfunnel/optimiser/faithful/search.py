"""The search: pairs and limits are generated until no pair gains and no limit is overstepped, or the gap is closed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.numeric.lp import LONGEST_SECONDS, interior
from privacyfunnel.optimiser.faithful.first_plan import redrawn_in_parts
from privacyfunnel.optimiser.faithful.first_program import ALL_PAIRS, first_limits, first_pairs
from privacyfunnel.optimiser.faithful.program import Limited, Prices, Program
from privacyfunnel.optimiser.program.state import UNHURRIED, Progress, Watched
from privacyfunnel.optimiser.program.tolerances import FEASIBLE
from privacyfunnel.optimiser.robust.region import Region
from privacyfunnel.typing import Integers, Matrix, Vector

SLOWLY = 2000
"""With more values, the first program over the most similar pairs takes a minute and more."""
MOST_CUTS = 6
"""Linear programs for a promise over a set of distributions without a time limit: each is slower than the last."""
PER_ROUND = 20
"""Pairs that are added for every value and output, at most: fewer need more rounds, more slow each of them."""
TIGHT_FROM = 0.1
"""Bound and fidelity this close: from here on, programs are solved as tightly as the gap asks for."""
OF_THE_GAP = 0.01
"""The tolerance of a program, as a share of the gap that is to be closed."""
LOOSE, TIGHT = 1e-5, 1e-9
"""The tolerance of the first linear programs, whose prices need only show which pairs to add, and of the last."""
USED = (1e-4, 1e-7, 0.0)
"""A pair with less than this of the mass of its rarer value may be unused; the first of these that does is taken."""
DUST = 2.0**-38
"""Masses that an interior point leaves behind where the optimum has none."""
MOSTLY_PAIRS = 1e-3
"""A plan with less of p pᵀ in it is expected to do without."""
SETTLING = 6
"""Linear programs in which limits that the last pairs meet anew are found."""
HURRIED = 1.0
"""Seconds for the last linear programs, which have few pairs, after Ctrl-C; else as long as one may take."""
POOLINGS, FURTHER = 12, 1.2
"""Rounds in which what oversteps is pooled, and by how much more than the last round asked for: what others give moves
the pool, so that asking for just enough would end only in the limit."""


@dataclass(frozen=True, eq=False)
class Plan:
    """π(x, o) of pairs keys = o·n + x, of which a share `constant` is p pᵀ instead."""

    keys: Integers
    mass: Vector
    constant: float

    def mixed(self, other: Plan, share: float) -> Plan:
        """With so large a share of another plan, which takes the place of p pᵀ as well."""
        if self is other:
            return self
        keys = np.append(self.keys, other.keys)
        given, taken = (1 - share) * self.mass, ((1 - share) * self.constant + share) * other.mass
        both, at = np.unique(keys, return_inverse=True)
        return Plan(both, np.bincount(at.ravel(), weights=np.append(given, taken)).astype(np.float64), other.constant)


@dataclass(eq=False)
class Standing(Watched):
    """The best plan and the best bound so far, and whether to go on."""

    gap: float
    time_limit: float | None
    progress: Callable[[Progress], None] | None
    interrupted: threading.Event
    fidelity: float
    plan: Plan
    limited: Limited | None = None
    """The limits that were met so far."""
    sparse: Plan | None = None
    """Of many values: a plan without p pᵀ that keeps the promise with room to spare."""
    upper_bound: float = 1.0
    started: float = field(default_factory=ticks)

    @classmethod
    def begun(
        cls,
        gap: float,
        time_limit: float | None,
        progress: Callable[[Progress], None] | None,
        interrupted: threading.Event,
        fidelity: float = 0.0,
    ) -> Standing:
        """At the beginning, with nothing but p pᵀ, which has this fidelity."""
        nothing = Plan(np.empty(0, dtype=np.int64), np.empty(0), 1.0)
        return cls(gap, time_limit, progress, interrupted, fidelity, nothing)

    def kept_so_far(self) -> float:
        return self.fidelity

    def left(self) -> float:
        """Seconds until the time limit."""
        return UNHURRIED * 10 if self.time_limit is None else self.time_limit - (ticks() - self.started)

    def polishing(self) -> Callable[[], bool]:
        """Whether the last linear programs, which begin now, took their time; who pressed Ctrl-C waits for little."""
        begun = ticks()
        return lambda: ticks() - begun >= (HURRIED if self.interrupted.is_set() else LONGEST_SECONDS)

    def keep(self, plan: Plan, fidelity: float) -> None:
        if fidelity > self.fidelity:
            self.fidelity, self.plan = fidelity, plan


def generate(
    program: Program, joint: Joint, standing: Standing, region: Region | None, start: Plan | None = None
) -> str:
    """Column and row generation, from a plan that keeps the promise if there is one; what was done, in words."""
    limited = first_limits(program)
    if program.n_x > ALL_PAIRS and region is None:
        _begin(program, limited, standing, start)
    keys = first_pairs(program, joint)
    if start is not None:
        n = program.n_x
        standing.keep(start, float(start.mass @ program.similarity.at(start.keys % n, start.keys // n)))
        standing.report()
        keys = np.union1d(keys, start.keys)
    tolerance = LOOSE
    rounds = 0
    while not standing.stopped() and not standing.closed():
        rounds += 1
        solved = _solve(program, keys, limited, tolerance, standing.left(), standing.stopped)
        if solved is None:
            break
        plan, prices = solved
        priced = program.price(prices, PER_ROUND)
        standing.upper_bound = min(standing.upper_bound, priced.bound)
        outputs, rows = mend(program, plan, standing, region)
        standing.report()
        before = len(keys), len(limited)
        keys, limited = np.union1d(keys, priced.keys), limited.join(outputs, rows)
        standing.limited = limited
        if region is not None and standing.time_limit is None and rounds >= MOST_CUTS:
            break
        if (len(keys), len(limited)) == before:
            if tolerance <= TIGHT:
                break
            tolerance = TIGHT
        elif priced.bound - standing.fidelity < TIGHT_FROM:
            tolerance = max(TIGHT, min(tolerance, OF_THE_GAP * standing.gap))
    return f"{rounds} linear programs over {len(keys):,} of {program.n_x**2:,} pairs"


def _begin(program: Program, limited: Limited, standing: Standing, start: Plan | None) -> None:
    """Rows redrawn in parts; with many values, also the best plan over the same pairs, long before one over others.

    If there is a plan to start from, over its pairs instead: those of parts are more, and no better.
    """
    plan = standing.sparse = Plan(*redrawn_in_parts(program), 0.0)
    n = program.n_x
    standing.keep(plan, float(plan.mass @ program.similarity.at(plan.keys % n, plan.keys // n)))
    standing.report()
    if program.n_x > SLOWLY and not standing.stopped():
        keys = plan.keys if start is None else start.keys
        solved = _solve(program, keys, limited, LOOSE, standing.left(), standing.stopped)
        if solved is not None:
            mend(program, solved[0], standing, None)
            standing.report()


def polished(program: Program, standing: Standing) -> Plan:
    """The best plan over the pairs that the best so far uses, without what an interior point leaves everywhere else."""
    plan = standing.plan
    limited, late = standing.limited, standing.polishing()
    if limited is None or plan.constant > MOSTLY_PAIRS:
        return plan
    n, p = program.n_x, program.p
    o, x = np.divmod(plan.keys, n)
    for least in USED:
        keys = plan.keys[plan.mass > least * np.minimum(p[x], p[o])]
        solved = _settled(program, keys, limited, late)
        if solved is not None:
            fidelity = float(solved.mass @ program.similarity.at(keys % n, keys // n))
            if solved.constant < DUST and fidelity > standing.fidelity - standing.gap / 10:
                return solved
    return plan


def _settled(program: Program, keys: Integers, limited: Limited, late: Callable[[], bool]) -> Plan | None:
    """The best plan over some pairs, for all limits, each met with what rounding may cost."""
    n = program.n_x
    for _ in range(SETTLING):
        solved = None if late() else _solve(program, keys, limited, TIGHT, LONGEST_SECONDS, late)
        if solved is None:
            return None
        plan, _ = solved
        used = plan.mass > DUST
        pi = csr_array((plan.mass[used], (keys[used] // n, keys[used] % n)), shape=(n, n))
        more = limited.join(*program.nearly_overstepped(pi))
        if len(more) == len(limited):
            return plan
        limited = more
    return plan


def _solve(
    program: Program,
    keys: Integers,
    limited: Limited,
    tolerance: float,
    seconds: float,
    stopped: Callable[[], bool],
) -> tuple[Plan, Prices] | None:
    """The best plan over these pairs and limits, and its prices. Masses are in units of 1/n, so they are near 1."""
    n = program.n_x
    low, high = program.limits_of(limited)
    cost = -np.append(program.similarity.at(keys % n, keys // n), n * program.constant)
    answer = interior(
        cost,
        program.columns(keys, limited),
        n * np.concatenate([program.p, program.p, low]),
        n * np.concatenate([program.p, program.p, high]),
        tolerance=tolerance,
        seconds=seconds,
        stopped=stopped,
    )
    if answer is None:
        return None
    z, y = answer[0].clip(0), -answer[1]
    mu = np.where(np.isfinite(high), y[2 * n :].clip(0), 0) + np.where(np.isfinite(low), y[2 * n :].clip(None, 0), 0)
    return Plan(keys, z[:-1] / n, min(1.0, float(z[-1]))), Prices(y[:n], y[n : 2 * n], mu, limited)


def mend(program: Program, plan: Plan, standing: Standing, region: Region | None) -> tuple[Integers, Integers]:
    """Keep the plan, mixed with p pᵀ as far as limits that were not enforced ask for it; return those limits."""
    n = program.n_x
    o, x = np.divmod(plan.keys, n)
    pi = csr_array((plan.mass, (o, x)), shape=(n, n))
    outputs, rows, share = _overstepped(program, pi, plan.constant)
    if region is not None:
        more_outputs, more_rows, more = _cut(program, pi, plan.constant, region)
        outputs, rows, share = np.append(outputs, more_outputs), np.append(rows, more_rows), max(share, more)
        _keep_pooled(program, pi, plan.constant, standing, region)
    fidelity = float(plan.mass @ program.similarity.at(x, o)) + plan.constant * program.constant
    mixed = Plan(plan.keys, (1 - share) * plan.mass, (1 - share) * plan.constant + share)
    standing.keep(mixed, (1 - share) * fidelity + share * program.constant)
    return outputs, rows


def _overstepped(program: Program, pi: csr_array, constant: float) -> tuple[Integers, Integers, float]:
    """The limits overstepped, and the share of p pᵀ that would mend them all."""
    p, bands = program.p, program.bands
    centre = bands.D @ p
    values = program.charges(pi) + constant * p[:, None] * centre
    outputs, rows = bands.overstepped(values, p, FEASIBLE)
    low, high = bands.spans()
    got = values[outputs, rows] / p[outputs]
    limit = np.where(got > centre[rows], high[rows], low[rows])
    share = (got - limit) / (got - centre[rows])
    return outputs, rows, float(share.max(initial=0.0))


def _cut(program: Program, pi: csr_array, constant: float, region: Region) -> tuple[Integers, Integers, float]:
    """The same for the rows of a whole set of distributions: of those that outputs meet, each takes its worst."""
    p = program.p
    V = _rows_of(pi, constant, p)
    G, theta = region.cuts(V)
    outputs = np.flatnonzero(theta > 0)
    if not len(outputs):
        return outputs, outputs, 0.0
    over: Matrix = V[outputs] @ G.T
    worst = (over / (np.maximum(over, 0) - G @ p)).argmax(axis=1)
    used, which = np.unique(worst, return_inverse=True)
    first = len(program.bands)
    program.bands = program.bands.join(G[used])
    return outputs, first + which.ravel(), float(theta.max())


def _keep_pooled(program: Program, pi: csr_array, constant: float, standing: Standing, region: Region) -> None:
    """Keep the plan with what oversteps pooled: outputs give shares θ_o of their rows away, and draw from all given.

    v_o becomes (1 − θ_o) v_o + θ_o t with t = Σ p_o θ_o v_o / Σ p_o θ_o, which leaves both marginals as they are and
    every other output alone. The θ_o grow until no limit is overstepped; what still is, p pᵀ mends.
    """
    n, p = program.n_x, program.p
    V = now = _rows_of(pi, constant, p)
    share = np.zeros(n)
    for _ in range(POOLINGS):
        theta = region.cuts(now)[1]
        rest, pooled = float(theta.max(initial=0.0)), now * p[:, None]
        o, x = np.nonzero(pooled)
        mass = pooled[o, x]
        fidelity = (1 - rest) * float(mass @ program.similarity.at(x, o)) + rest * program.constant
        standing.keep(Plan(o * n + x, (1 - rest) * mass, rest), fidelity)
        if not rest:
            return
        share = 1 - (1 - share) * (1 - np.minimum(1.0, FURTHER * theta))
        given = p * share
        now = (1 - share)[:, None] * V + np.outer(share, given @ V / given.sum())


def _rows_of(pi: csr_array, constant: float, p: Vector) -> Matrix:
    V = pi.toarray() + constant * np.outer(p, p)
    return np.asarray(V / V.sum(axis=1, keepdims=True))
