"""From a plan over pairs in float64 to a list of whole weights that keeps the promise and the distribution exactly.

Every value has a small part in the group of everything, which makes good what roundings leave uneven. What the plan
releases as a value beyond what that value has, and what takes its group beyond a limit, goes there as well: so whatever
the program found becomes a list, and what is not exact in it costs cells, not the promise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.optimiser.faithful.plan_rounding import scaled
from privacyfunnel.optimiser.faithful.search import Plan as PairPlan
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.wide import certify_plan
from privacyfunnel.protocols.wide.listed import Listed
from privacyfunnel.protocols.wide.rule import Plan, listed_plan
from privacyfunnel.typing import Integers, Matrix, Vector

RESERVES = (2.0**-13, 2.0**-9, 2.0**-6, 2.0**-3)
"""Shares of every value in the group of everything, the first for which that keeps the promise."""
DUST = (1e-7, 1e-5, 1e-4, 1e-3, 1e-2)
"""Of the rarer of its two values: less is what an interior point leaves behind where the optimum has none. The first
with which the list is short enough is taken."""
MOST_LISTED = 60_000
"""Numbers that are listed, in a file of 2 MB."""
LOST = 0.5
"""Of a value's share: the solver forgot those of which it has less."""
SHRUNK = 1 - 2.0**-40
"""By which a part is multiplied so that sums of rounded ones are below what they were to be."""
ROUNDS = 30
"""In which what is released as a value is brought inside; what is not inside then goes into the group of everything."""


@dataclass(frozen=True, eq=False)
class Listing:
    """The values `at` of a model that a list is made for."""

    weights: Integers
    """weights[s, x] of all values."""
    at: Integers
    rows: Matrix
    """G[f, i]: what is released as one value is inside if Σ_i a(i) G[f, i] ≤ 0, i the places in `at`."""
    similarity: Similarity

    def fidelity(self, plan: Plan) -> float:
        """Σ π(x, x′) sim(x, x′) without the group of everything."""
        place = np.full(plan.W.size, -1)
        place[self.at] = np.arange(len(self.at))
        x, o = place[plan.listed.source], place[plan.listed.target]
        return float(plan.listed.mass / float(plan.W.sum(dtype=np.float64)) @ self.similarity.at(x, o))


def whole_plan(listing: Listing, found: PairPlan, notion: Notion) -> Plan | None:
    """The plan as a list that is proven to keep the promise; None if there is none, or it is too long."""
    W = listing.weights.sum(axis=0)[listing.at]
    p = W / float(W.sum(dtype=np.float64))
    o, x, mass = _cleaned(found, p, DUST[0])
    for dust in DUST[1:]:
        if len(mass) > MOST_LISTED:
            o, x, mass = _cleaned(found, p, dust)
    if len(mass) > MOST_LISTED:
        return None
    share = mass / np.maximum(np.bincount(x, weights=mass, minlength=len(p)), np.finfo(np.float64).tiny)[x]
    for reserve in RESERVES:
        part = (1 - max(reserve, found.constant)) * SHRUNK * W[x] * share
        a = _inside(listing.rows, o, x, _no_more_than(W, o, part.astype(np.int64)))
        plan = listed_plan(Listed.of(listing.at[x], listing.at[o], a), listing.weights)
        if len(plan.listed) and certify_plan(plan, notion):
            return plan
    return None


def _cleaned(found: PairPlan, p: Vector, dust: float) -> tuple[Integers, Integers, Vector]:
    """Pairs that are used, of values that the solver did not forget, with both marginals near p."""
    o, x = np.divmod(found.keys, len(p))
    mass = found.mass / max(dust, 1 - found.constant)
    used = mass > dust * np.minimum(p[x], p[o])
    o, x, mass = o[used], x[used], mass[used]
    known = np.bincount(x, weights=mass, minlength=len(p)) > LOST * p
    o, x, mass = o[known[x]], x[known[x]], mass[known[x]]
    return o, x, scaled(o, x, mass, np.where(known, p, 0.0))


def _no_more_than(W: Integers, o: Integers, a: Integers) -> Integers:
    """No more is released as a value than that has."""
    given = np.bincount(o, weights=a, minlength=len(W))
    less = np.minimum(1.0, SHRUNK * W / np.maximum(given, 1.0))
    return np.asarray(np.where(less[o] < 1, np.floor(a * less[o]), a), dtype=np.int64)


def _inside(rows: Matrix, o: Integers, x: Integers, a: Integers) -> Integers:
    """Less of what takes a value furthest beyond a limit, until what is released as it is within all of them."""
    n = rows.shape[1]
    for last in (*[False] * ROUNDS, True):
        over = np.stack([np.bincount(o, weights=a * row[x], minlength=n) for row in rows])
        worst = over.argmax(axis=0)
        beyond = over[worst, np.arange(n)] > 0
        if not beyond.any():
            break
        charge = rows[worst[o], x] * a
        excess, room = (np.bincount(o, weights=np.maximum(sign * charge, 0.0), minlength=n) for sign in (1, -1))
        less = np.divide(SHRUNK * room, excess, out=np.zeros(n), where=beyond & (not last))
        fewer = beyond[o] & (last | (charge > 0))
        a = np.where(fewer, np.floor(a * less[o]), a).astype(np.int64)
    return np.asarray(a)
