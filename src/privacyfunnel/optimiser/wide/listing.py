"""Listing: the best plan over all pairs of a model's values, where these are few, by the program of faithful releases.

Groups are pairs and small groups of values, by a rule. The program (optimiser/faithful) has no such form: of all plans
with the promise that keep the distribution, it finds the one that leaves most cells as they are. It begins with the
pairs of values that groups use, and what it finds is taken if it is better than groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.errors import SolverFailure
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.optimiser.faithful.bands import Bands
from privacyfunnel.optimiser.faithful.program import Program
from privacyfunnel.optimiser.faithful.search import Plan as PairPlan
from privacyfunnel.optimiser.faithful.search import Standing, generate, polished
from privacyfunnel.optimiser.program.state import interruptible
from privacyfunnel.optimiser.wide.shares import INSIDE
from privacyfunnel.optimiser.wide.whole_plan import Listing, whole_plan
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.wide.kept import ways_of
from privacyfunnel.protocols.wide.mixing_rule import belief_limits, planes_by, posteriors, prior_of
from privacyfunnel.protocols.wide.rule import Plan
from privacyfunnel.typing import Integers, Matrix

MOST_VALUES = 3_000
"""Combinations of values for which the program is tried."""
SECONDS = 60.0
"""For the program; what it has by then is taken, if it is better than groups."""
SEARCHING = 0.7
"""Of that time: what is left is for the last linear programs."""
GAP = 1e-4
"""Of cells: nearer to the best, it stops."""
LEAST_SHARE = 2.0**-30
"""Of a value: rarer ones are in the group of everything as a whole, since the program knows shares up to 1e-11."""


def listed_for(
    notion: Notion, aim: Limits, groups: Plan, columns: tuple[Column, ...], seconds: float | None = SECONDS
) -> Plan | None:
    """The plan of a list that aims at these limits, keeps the promise, and is better than groups; None without one.

    Better is what leaves more cells as they are, near values of ordered columns counting in part.
    """
    weights, W = groups.weights, groups.W
    at = np.flatnonzero(W / float(W.sum(dtype=np.float64)) > LEAST_SHARE)
    if W.size > MOST_VALUES or seconds == 0 or len(at) < 2 or (weights[:, at].sum(axis=1) == 0).any():
        return None
    rows = _rows(aim, weights, at)
    if not len(rows):  # nothing tells too much, and every row may stay
        return None
    sizes = tuple(len(column) for column in columns)
    codes = np.stack(np.unravel_index(at, sizes), axis=1).astype(np.int64)
    joint = Joint.from_exact(weights[:, at].astype(object), codes, columns, "secret")
    listing = Listing(weights, at, rows, Similarity.of(joint))
    program = Program(joint.p_x, listing.similarity, Bands.of(rows), 1 / UNIT)
    start = _pairs_of(groups, at)
    try:
        found = _solved(program, joint, start, seconds)
    except SolverFailure:
        return None
    plan = whole_plan(listing, found, notion)
    before = float(start.mass @ listing.similarity.at(start.keys % len(at), start.keys // len(at)))
    return plan if plan is not None and listing.fidelity(plan) > before else None


def _rows(aim: Limits, weights: Integers, at: Integers) -> Matrix:
    """G[f, x], each with a largest entry of 1: what is released as one value is inside if Σ_x a(x) G[f, x] ≤ 0."""
    limits = aim.granted()
    aimed = belief_limits(limits.upper, limits.lower, limits.spread, INSIDE)
    P, N = planes_by(prior_of(weights), aimed["up"], aimed["down"], aimed["apart"])
    G = (P - N) @ posteriors(weights)[at].T
    G = G[G.max(axis=1, initial=0.0) > 0]
    return np.asarray(G / np.abs(G).max(axis=1, initial=0.0, keepdims=True))


def _pairs_of(plan: Plan, at: Integers) -> PairPlan:
    """π(x, x′) of groups, of the values `at`, without the group of everything."""
    n = len(at)
    x, o, mass = ways_of(plan)
    mass = mass / float(plan.W.sum(dtype=np.float64))
    place = np.full(plan.W.size, -1)
    place[at] = np.arange(n)
    known = (place[x] >= 0) & (place[o] >= 0)
    keys = place[o[known]] * n + place[x[known]]
    order = np.argsort(keys)
    return PairPlan(keys[order], mass[known][order], max(0.0, 1.0 - float(mass.sum())))


def _solved(program: Program, joint: Joint, start: PairPlan, seconds: float | None) -> PairPlan:
    """The best plan that is found in time, over as few pairs as that needs."""
    with interruptible() as interrupted:
        standing = _Hurried.begun(GAP, seconds and seconds * SEARCHING, None, interrupted, program.constant)
        generate(program, joint, standing, None, start)
        return polished(program, standing)


class _Hurried(Standing):
    """A search whose last linear programs, over few pairs, end in time as well."""

    def polishing(self) -> Callable[[], bool]:
        """Whether all of the time is over, or who pressed Ctrl-C waited long enough."""
        late = super().polishing()
        ends = math.inf if self.time_limit is None else self.started + self.time_limit / SEARCHING
        return lambda: late() or ticks() >= ends
