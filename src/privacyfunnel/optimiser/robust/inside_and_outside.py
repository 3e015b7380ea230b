"""From inside and outside: posteriors that surely keep a promise over the set, and a bound that surely holds.

*Inside.* With P(x|s) at its upper end for every x at once (or its lower), P(y|s) is at least (at most) what any
distribution of the set gives, so a few fixed rows are sufficient for the promise. For posteriors with few
non-zeros they are also necessary: the other values absorb what is left of the sum. So their vertices are listed.

*Outside.* Each distribution of the set gives rows that are necessary. With P(·|s) fixed, those of all P(S) lie in the
span of c vectors, so a vertex has at most c non-zeros and all can be listed. The distribution chosen is the most
revealing one: every P(·|s) leans as far as it can towards the values that speak for s.
"""

from __future__ import annotations

import math

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import SolverFailure
from privacyfunnel.optimiser.program import supports
from privacyfunnel.optimiser.program.listing import LIST_VERTICES, list_vertices
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.state import Search, State
from privacyfunnel.optimiser.program.tolerances import COLUMN_DIGITS
from privacyfunnel.optimiser.robust.region import Leeway
from privacyfunnel.promises.limits import SMALLEST_FACTOR, Limits, OuterRows, hair_widths
from privacyfunnel.promises.sets import Possible
from privacyfunnel.typing import Matrix, Vector

PRIORS = 24
"""Directions in which corners of the set of P(S) are looked for: both ends of every secret, and random ones with few
secrets. Each corner brings rows, and more rows make every program larger."""


def listed_inside(part: Possible, limits: Limits, p_x: Vector) -> Columns | None:
    """Posteriors with few non-zeros that keep the limits over the set of a view with a single cell."""
    given = Leeway(part.given)
    lower, upper = given.lower[0], given.upper[0]  # all intervals together contain the set
    rows = [row for prior in priors_of(part) for row in _sufficient(limits, lower, upper, prior)]
    if math.isfinite(limits.spread):
        apart = math.exp(-limits.spread)
        secrets = range(len(lower))
        rows += [apart * upper[s] - lower[t] for s in secrets for t in secrets if s != t]
    polytope = Polytope(_scaled(np.array(rows), p_x), p_x)
    for rank in range(min(len(lower), len(p_x)), 0, -1):
        if supports.candidates(polytope, rank) <= LIST_VERTICES:
            return supports.vertices(polytope, rank)
    return None


def _sufficient(limits: Limits, lower: Matrix, upper: Matrix, prior: Vector) -> list[Vector]:
    rows = []
    for s, own in enumerate(prior):
        others = np.where(np.arange(len(prior)) == s, 0.0, prior)
        if math.isfinite(limits.upper):  # (e^-upper − P(s)) P(y|s) ≤ Σ_t≠s P(t) P(y|t)
            rows.append(max(0.0, math.exp(-limits.upper) - own) * upper[s] - others @ lower)
        if math.isfinite(limits.lower):
            rows.append(others @ upper - (_e_to(limits.lower) - own) * lower[s])
    return rows


def bound_by_revealing(joint: Joint, part: Possible, limits: Limits, state: State) -> None:
    """Lower the bound of `state` to what could be kept if the promise were to hold for revealing distributions only."""
    P = Leeway(part.given).extreme(joint.p_x_given_s / joint.p_x, 1).at[0]
    everything = _necessary(limits, P, priors_of(part), range(joint.n_s), joint.p_x)
    rank = min(joint.n_s, joint.n_x)
    if supports.candidates(everything, rank) <= LIST_VERTICES:
        _bound(everything, rank, state)
        return
    # Too many secrets to list: the promise about one of them alone is a bound as well, with two vectors.
    middle = _middle(part)
    for s in range(joint.n_s):
        alone = _necessary(limits, P, middle[None], [s], joint.p_x)
        if supports.candidates(alone, 2) <= LIST_VERTICES:
            _bound(alone, 2, state)


def _bound(polytope: Polytope, rank: int, state: State) -> None:
    if state.stopped():
        return
    inner = Search.within(
        polytope, state.entropy, state.gap, state.time_limit, None, state.interrupted, started=state.started
    )
    try:
        list_vertices(inner, rank)
    except SolverFailure:
        return
    state.lower(inner.upper_bound)


def _necessary(limits: Limits, P: Matrix, priors: Matrix, secrets: range | list[int], p_x: Vector) -> Polytope:
    """What distributions P(x|s) = P[s, x] with every one of several P(S) allow, for some of the secrets; hardly more.

    Limits are a hair's breadth wider: a distribution that rounding errors led out of the set is then none too strict.
    """
    wider = hair_widths()
    larger: list[Vector] = []
    smaller: list[Vector] = []
    terms: list[tuple[int, int, int, int]] = []
    for number, prior in enumerate(priors):
        mean = prior @ P
        for s in secrets:
            if math.isfinite(limits.upper):
                larger.append(math.exp(-limits.upper - next(wider)) * P[s])
                smaller.append(mean)
            if math.isfinite(limits.lower):
                larger.append(math.exp(-limits.lower - next(wider)) * mean)
                smaller.append(P[s])
            terms += [(s, len(P) + number, 0, len(P) - 1)] * (len(larger) - len(terms))
    if math.isfinite(limits.spread):
        pairs = [(s, t) for s in secrets for t in secrets if s != t]
        if len(secrets) == 1:
            other = (secrets[0] + 1) % len(P)
            pairs = [(secrets[0], other), (other, secrets[0])] if len(P) > 1 else []
        larger += [math.exp(-limits.spread - next(wider)) * P[s] for s, _ in pairs]
        smaller += [P[t] for _, t in pairs]
        terms += [(s, t, 0, len(P) - 1) for s, t in pairs]
    more, less = (np.array(rows).reshape(-1, P.shape[1]) / p_x for rows in (larger, smaller))
    rows = OuterRows.of(more - less, more + less, np.array(terms, dtype=np.int64).reshape(-1, 4), p_x)
    return Polytope(rows.G, p_x, rows.size, rows.terms)


def priors_of(part: Possible, place: int = 0) -> Matrix:
    """Corners of the set of P(S) in a cell, all of them for two secrets."""
    n_s = part.prior.lower.shape[1]
    first = np.eye(n_s)
    orders = np.concatenate([first, -first, np.random.default_rng(0).random((max(0, PRIORS - 2 * n_s), n_s))])
    corners = Leeway(part.prior).extreme(orders[:, None], 1).at[:, place]
    return np.unique(corners.round(COLUMN_DIGITS), axis=0)


def _middle(part: Possible) -> Vector:
    """Some P(S) from the middle of its set."""
    return np.asarray(priors_of(part).mean(axis=0))


def _scaled(rows: Matrix, p_x: Vector) -> Matrix:
    """Rows about w = v/p_x as rows about v, each with a largest coefficient of 1; void ones are left out."""
    G = rows.reshape(-1, len(p_x)) / p_x
    G = G[G.max(axis=1, initial=0.0) > 0]
    return np.asarray(G / np.abs(G).max(axis=1, initial=0.0, keepdims=True))


def _e_to(limit: float) -> float:
    return math.exp(min(limit, -math.log(SMALLEST_FACTOR)))
