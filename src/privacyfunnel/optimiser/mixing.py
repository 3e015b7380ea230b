"""Mixing: a point of Δ as the mixture of posteriors of Δ with the least entropy, by whichever way takes the problem."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy import sparse

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.information import entropy
from privacyfunnel.optimiser.bounds.chain_rule import bound_by_chains
from privacyfunnel.optimiser.bounds.fewer_secrets import bound_by_fewer
from privacyfunnel.optimiser.bounds.one_view import bound_by_views
from privacyfunnel.optimiser.few_secrets.search import can_sweep, few_supports, sweeps
from privacyfunnel.optimiser.generation.search import Otherwise, generate
from privacyfunnel.optimiser.program.listing import can_list, list_vertices
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.reduce import Classes
from privacyfunnel.optimiser.program.state import Progress, Search, State, before_rounding, despite_trouble
from privacyfunnel.optimiser.splitting.halves import Piece
from privacyfunnel.optimiser.splitting.remixing import Remixing, columns_of
from privacyfunnel.optimiser.two_secrets.pairing import bound_by_pairs, can_pair, pair_values
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.views import View
from privacyfunnel.typing import Integers, Vector


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be mixed, and of which posteriors: the polytopes all speak of the same values and the same point."""

    inside: Polytope
    """Where posteriors are sought."""
    granted: Polytope
    """What a certificate lets pass."""
    outer: Callable[[], Polytope]
    """What contains that for sure, for bounds; it is laid out where it is used."""
    rank: int
    """Extreme posteriors have at most so many values."""
    views: list[View]
    entropy: float
    """Of what is to be mixed."""
    one_view: bool
    """Whether the promise is about attackers who know nothing beforehand."""
    by_views: Callable[[Search], None] | None = None
    """Another way to bound promises with several views, if there is one."""

    @classmethod
    def of(cls, joint: Joint, notion: Notion, share: float) -> Problem:
        """p_x itself, where nothing was released before; `share` is of what is granted where ε = 0."""
        granted, clauses = Polytope.granted(joint, notion), notion.clauses(joint)
        inside = granted if share == 1 else Polytope.granted(joint, notion, share)
        views = [view for clause in clauses for view in clause.views]
        bound, single = partial(bound_by_views, clauses), all(clause.one_view for clause in clauses)
        outer = cache(partial(Polytope.outer, joint, notion))
        return cls(inside, granted, outer, notion.rank(joint), views, joint.entropy, single, bound)

    def given(self, x: Integers, posterior: Vector) -> Problem:
        """The same promise for another point, a posterior on the values x."""
        granted = self.granted.given(x, posterior)
        inside = granted if self.inside is self.granted else self.inside.given(x, posterior)
        views = [View(view.known, np.unique(view.cell[x], return_inverse=True)[1].ravel()) for view in self.views]
        rank, whole = min(self.rank, len(x)), max(0.0, float(entropy(posterior)))
        return Problem(inside, granted, lambda: self.outer().given(x, posterior), rank, views, whole, self.one_view)


@dataclass(frozen=True, eq=False)
class Mixture:
    """What was found: Σ q_i v_i is what was to be mixed."""

    columns: Columns
    q: Vector
    upper_bound: float
    """No mixture of posteriors of Δ keeps more, in nats."""
    how: str
    stopped: bool
    """Whether there was no time for more."""


AROUND_FROM = 100
"""Values of X from which on a search among all of them begins with what is found around single ones."""
AROUND_SHARE, AROUND_SECONDS = 0.1, 10.0
"""Of the time there is, and seconds at most, for that."""


@dataclass(frozen=True, eq=False)
class Mixing:
    """A search for the best mixture."""

    problem: Problem
    gap: float
    time_limit: float | None
    progress: Callable[[Progress], None] | None
    interrupted: threading.Event
    started: float

    def solved(self, start: Columns | None = None) -> Mixture:
        """The best mixture that is found, started from the posteriors `start`."""
        problem = self.problem
        classes = Classes.find(problem.inside)
        outer = None
        if problem.one_view or can_list(classes.polytope, problem.rank):
            outer = classes.outer(problem.outer())
        elif problem.granted is not problem.inside:
            outer = classes.outer(problem.granted)
        state = Search.within(
            classes.polytope, problem.entropy, before_rounding(self.gap), self.time_limit, self.progress,
            self.interrupted, started=self.started, around=outer, rank=problem.rank, one_view=problem.one_view,
        )  # fmt: skip
        if not problem.one_view and problem.by_views is not None:
            problem.by_views(state)
        chains = None if problem.one_view else partial(bound_by_chains, problem.granted, problem.views, state)
        how = despite_trouble(lambda: _route(state, chains, lambda: None if start is None else classes.merge(start)))
        columns, q = classes.split(state.columns, state.q)
        return Mixture(columns, q, state.upper_bound, how, state.stopped())


def _route(state: Search, chains: Otherwise | None, start: Callable[[], Columns | None]) -> str:
    """Ask the ways in turn whether they take the problem; what was done, in words.

    `chains` is a way to bound promises with several views, and None for one view.
    """
    listed = can_list(state.polytope, state.rank)
    if can_pair(state):
        how = pair_values(state)
        if state.closed() or not listed:
            return how
    if listed:
        return list_vertices(state, state.rank)
    otherwise = chains
    if state.one_view and state.rank > 2:
        pencils = bound_by_pairs(state)
        faces = can_sweep(state)
        if faces is not None:
            return sweeps(state, faces)
        otherwise = partial(bound_by_fewer, state, pencils)
        if few_supports(state) and not state.stopped():
            return f"{generate(state, start(), otherwise)}; too many extreme posteriors, or too alike, to sweep"
    return generate(state, start() or _around_values(state), otherwise)


def _around_values(state: Search) -> Columns | None:
    """Posteriors to begin with where there are many values: found around single ones, for a part of the time."""
    p_x = state.polytope.p_x
    if state.one_view or len(p_x) < AROUND_FROM:
        return None
    part = State(p_x, state.entropy, 0.0, min(AROUND_SECONDS, AROUND_SHARE * state.left()), None, state.interrupted)
    remixing = Remixing(sparse.csr_array(state.polytope.G), p_x, state.entropy, part)
    found = columns_of(remixing.better([Piece(np.arange(len(p_x)), p_x)]))
    return Columns.from_dense(state.polytope.draw_in(found.dense(len(p_x))))
