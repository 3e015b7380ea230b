"""Few secrets, too many extreme posteriors to store: sweep through all of them for those that undercut their price."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from math import comb

import numpy as np

from privacyfunnel.numeric.information import entropy
from privacyfunnel.optimiser.few_secrets.all_posteriors import Sweep
from privacyfunnel.optimiser.few_secrets.coarse_to_fine import clusters, interpolated, means, merged
from privacyfunnel.optimiser.few_secrets.faces import Faces, find_faces
from privacyfunnel.optimiser.few_secrets.nearby_prices import bound_surely, generate_nearby
from privacyfunnel.optimiser.generation.first_mixture import peel
from privacyfunnel.optimiser.generation.pricing import Oracle
from privacyfunnel.optimiser.program.master import Master
from privacyfunnel.optimiser.program.polytope import Polytope
from privacyfunnel.optimiser.program.state import Search
from privacyfunnel.optimiser.program.tolerances import IMPROVES
from privacyfunnel.typing import Vector

SWEEP_SUPPORTS = 500_000_000
"""Up to this many choices of values for an extreme posterior, it may pay to go through them all."""
COARSEST = 50
"""Below twice this many values no coarser problem is solved first: a sweep through all posteriors is quick there."""
COARSER = 4
"""Each level has so many times fewer values than the next: with three secrets its sweep costs a 64th."""
COARSE_GAP = 1e-4
"""Nats: the prices of a coarser problem are a start, and carrying them over spoils finer digits."""
OF_THE_GAP = 0.1
"""Posteriors that undercut their price by less than this share of the gap are not worth a round."""
BOUND_EVERY = 16
"""Rounds after which a bound is sought, where sweeps are long, although posteriors that improve are still found."""
STEADINESS = 0.7
"""How much of the last prices is kept: those of the master leap about, and long sweeps are lost on them."""
LONGEST_SWEEP = 2e10
"""About a minute of one core for a complete sweep."""


def sweeps(state: Search, around: Faces) -> str:
    """Column generation; each round sweeps until enough improving posteriors are known, or through all of them.

    `around` are the faces of what contains Δ for sure, which the bound is swept along.
    """
    faces = find_faces(state.polytope, state.stopped, surely=False) or around
    master = Master(state.polytope.p_x, both_ways=True)
    start, weights = peel(state.polytope, Oracle(state.polytope), state.stopped)
    state.keep(start, weights)
    state.report()
    # What peeling left over is no vertex: a mixture that leaned on it would hide that a sweep misses some.
    master.add(start.take(np.arange(len(start) - 1)))
    rounds, complete, _ = _generate(state, faces, around, master, _coarse_prices(state, faces))
    state.keep(master.columns, master.solve_without_artificial())
    return (
        f"few secrets: {rounds} rounds, {len(master.columns):,} of all extreme posteriors with up to "
        f"{faces.rank} values, {complete} complete sweeps"
    )


def _generate(state: Search, faces: Faces, around: Faces | None, master: Master, y: Vector) -> tuple[int, int, Vector]:
    """Rounds, complete sweeps around Δ among them, and the last prices; y are prices to start with.

    Posteriors are those of Δ, and the bound is that of a complete sweep of what contains Δ for sure.
    """
    sweep = Sweep(state.polytope, faces)
    surely = None if around is None else Sweep(state.outer, around)
    worth = -max(IMPROVES, OF_THE_GAP * state.gap)
    if sweep.quick:
        return generate_nearby(state, sweep, surely, master, y, worth)
    new, _ = sweep.under(y, sys.float_info.max if sweep.long else np.inf, state.stopped)
    steady = y
    rounds = complete = 0
    while not state.stopped() and not state.closed():
        rounds += 1
        if len(new):
            master.add(new)
        q, y, artificial = master.solve()
        if artificial <= 0:
            state.keep(master.columns, q)
        # Where sweeps are long, prices that follow those of the master slowly need fewer: the master's own leap about.
        steady = STEADINESS * steady + (1 - STEADINESS) * y if sweep.long and artificial <= 0 and len(new) else y
        new, least = sweep.under(steady, worth, state.stopped)
        near = rounds % BOUND_EVERY == 0 if sweep.long and least is None else least is not None
        if near and surely is not None and not state.stopped():
            complete += bound_surely(state, surely, steady)
        state.report()
        if not len(new) and steady is y and (artificial <= 0 or not master.raise_penalty()):
            break
    return rounds, complete, y


def _coarse_prices(state: Search, faces: Faces) -> Vector:
    """Prices of a coarser problem, carried over: they lead straight to posteriors that matter."""
    n = state.polytope.n_x
    if n < 2 * COARSEST:
        return np.full(n, np.log(n))
    of = clusters(faces.C[1:].T, state.polytope.p_x, n // COARSER)
    polytope = merged(state.polytope, of)
    coarse = replace(faces, C=means(faces.C, state.polytope.p_x, of))
    whole = float(entropy(polytope.p_x))
    inner = Search.within(polytope, whole, max(state.gap, COARSE_GAP), state.left(), None, state.interrupted)
    _, _, y = _generate(inner, coarse, None, Master(polytope.p_x, both_ways=True), _coarse_prices(inner, coarse))
    return interpolated(y, coarse.C[1:].T, faces.C[1:].T)


def few_supports(state: Search) -> bool:
    """Whether secrets are so few, with nothing known beforehand, that a sweep through all supports may pay."""
    return state.one_view and comb(state.polytope.n_x, state.rank) <= SWEEP_SUPPORTS


def can_sweep(state: Search) -> Faces | None:
    """The faces to sweep along; None if supports are too many, or faces, or too alike."""
    return sweep_affordable(state.outer, state.stopped) if few_supports(state) else None


def sweep_affordable(polytope: Polytope, stopped: Callable[[], bool]) -> Faces | None:
    """The faces to sweep along; None if a complete sweep would take minutes."""
    faces = find_faces(polytope, stopped)
    if faces is None:
        return None
    n = polytope.n_x
    steps = comb(n, faces.rank) * (len(faces.points) + faces.rank**2)
    steps += sum(comb(n, k + 1) * len(sets) * (k + 1) for k, sets in faces.sets.items())
    return faces if steps <= LONGEST_SWEEP else None
