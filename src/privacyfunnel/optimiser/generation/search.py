"""Many secrets or side channels: posteriors are generated where they undercut their price (column generation)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from privacyfunnel.optimiser.generation.branch import prove
from privacyfunnel.optimiser.generation.first_mixture import peel
from privacyfunnel.optimiser.generation.lowered_prices import LoweredPrices
from privacyfunnel.optimiser.generation.pricing import (
    WORTH_ADDING,
    WORTH_FINDING,
    Oracle,
    essential,
    extremes,
    local_search,
    reduced_cost,
)
from privacyfunnel.optimiser.program.master import Master
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.state import Search
from privacyfunnel.typing import Matrix, Vector

RANDOM_STARTS = 16
"""Searches of a round that start anywhere: they find what is unlike all posteriors in use."""
USED_STARTS = 64
"""Searches that start near posteriors in use, where better ones are likely; each takes some linear programs."""
SCATTERED = 400
"""Searches before a proof, at most: a proof that fails takes longer than all of them."""
SCATTER = (0.03, 0.1, 0.3, 1.0)
"""Dirichlet parameters, as many points for each: from nearly single values to all mixtures alike."""
FIRST_EFFORT = 100
"""How often the first proof looks at the clock (every tenth of a second or so) before another bound is tried."""
NEARLY = 0.1
"""Nats: where posteriors undercut their prices by less, artificial columns have done their work and become dearer. Any
earlier, dear ones would only make prices wild. Where programs are small that can wait for the proof, which is quick."""
SHARE = 0.25
"""Of the time there is, when another bound is tried at the latest."""

OTHERWISE = 0.75
"""Of the time that is left then, what it may take."""
LOWERED_TO = 200_000
"""Entries of rows up to which these are tried: boxes take milliseconds then."""


class Otherwise(Protocol):
    """Another way to lower the bound of a state, for when a proof takes too long."""

    def __call__(self, *, seconds: float) -> None: ...


def generate(state: Search, first: Columns | None, otherwise: Otherwise | None = None) -> str:
    """Posteriors are generated where they undercut their price, until none can.

    If the first proof takes too long or time is running out, there are proofs at lowered prices, or `otherwise`, once.
    """
    polytope = Polytope(essential(state.polytope.G), state.polytope.p_x)
    oracle = Oracle(polytope)
    around = oracle if state.around is None else Oracle(Polytope(essential(state.around.G), polytope.p_x))
    rng = np.random.default_rng(0)
    master = Master(polytope.p_x)
    start, weights = peel(polytope, oracle, state.stopped)
    state.keep(start, weights)
    state.report()
    master.add(start)
    if first is not None:
        master.add(first)
    proofs = Proofs(state, around, otherwise)
    rounds = 0
    while not state.stopped() and not state.closed():
        rounds += 1
        q, y, artificial = master.solve()
        if artificial <= 0:
            state.keep(master.columns, q)
        state.report()
        if proofs.late():
            y = master.central_prices()
            better = proofs.in_time(y)
        else:
            starts = starting_points(
                rng, master.columns.take(np.flatnonzero(q > 0)), polytope.p_x, RANDOM_STARTS, USED_STARTS
            )
            better = local_search(oracle, y, starts, WORTH_FINDING * state.gap, state.stopped)
            if (
                artificial > 0
                and not oracle.small
                and _nearly(better, y)
                and master.raise_penalty()
                and not len(better)
            ):
                continue
        if not len(better) and not state.stopped():
            if proofs.largest is None:
                better, proofs.largest = extremes(around)
            else:
                y = master.central_prices()
                anywhere = _scattered(rng, polytope.n_x, SCATTERED // len(SCATTER))  # cheaper than a proof that fails
                for half in np.array_split(anywhere, 2):  # what the first one finds changes prices
                    if not len(better):
                        better = local_search(oracle, y, half, state.gap / 2, state.stopped)
                if not len(better):
                    better = proofs.at(y)
        new = Columns.from_dense(polytope.draw_in(better))
        new = new.take(np.flatnonzero(new.entropy() - new.dot(y) < -WORTH_ADDING * state.gap))
        if len(new):
            master.add(new)
        elif proofs.done and (artificial <= 0 or not master.raise_penalty()):
            break  # proven, or all that is left to gain lies outside of Δ by rounding errors
    state.keep(master.columns, master.solve_without_artificial())
    found = f"{rounds} rounds, {len(master.columns)} posteriors"
    return f"column generation: {found}, {proofs.made} proofs by branch and bound"


@dataclass(eq=False)
class Proofs:
    """Bounds for a search: by branch and bound at the prices there are, and by other ways if that takes too long."""

    state: Search
    around: Oracle
    otherwise: Otherwise | None
    """Another way to lower the bound; None once it was taken."""
    largest: Vector | None = None
    """largest[x] is at least the largest v[x] in Δ."""
    made: int = 0
    lowered: LoweredPrices | None = None
    hurried: bool = False
    """Whether proofs took too long, or time was running out."""
    done: bool = False
    """Whether the last proof left nothing to improve."""

    @property
    def lowers(self) -> bool:
        """Whether proofs at lowered prices are tried: where there are several views, and boxes take milliseconds."""
        return not self.state.one_view and self.state.time_limit is not None and self.around.A.size <= LOWERED_TO

    def late(self) -> bool:
        """Whether it is time for the other ways, converged or not."""
        return not self.hurried and (self.lowers or self.otherwise is not None) and self.state.spent() >= SHARE

    def at(self, y: Vector) -> Matrix:
        """Prove as much as can be at the prices y; posteriors that improve on them."""
        state = self.state
        if self.hurried and self.lowers:
            return self.in_time(y)
        self.made += 1
        effort = math.inf if self.hurried or not (self.lowers or self.otherwise is not None) else FIRST_EFFORT
        proof = prove(self.around, y, self._largest(), state.gap, state.stopped, effort)
        state.bound(y, proof.bound)
        state.report()
        self.done = not len(proof.improving)
        if self.done and proof.bound < -state.gap and effort < math.inf:
            self.done = False
            return self.in_time(y)
        return proof.improving

    def in_time(self, y: Vector) -> Matrix:
        """The other ways: proofs at lowered prices, or `otherwise`, once; posteriors that improve on the prices y."""
        state, self.hurried = self.state, True
        if self.lowers:
            self.made += 1
            if self.lowered is None:
                self.lowered = LoweredPrices(
                    self.around, self._largest(), state.p_x, state.entropy, self._proven, self._ended
                )
            return self.lowered.prove(y, state.left())
        if self.otherwise is not None:
            self.otherwise(seconds=OTHERWISE * state.left())
            self.otherwise = None
        return np.empty((0, self.around.n_x))

    def _proven(self, prices: Vector, least: float) -> None:
        self.state.bound(prices, least)
        self.state.report()

    def _ended(self) -> bool:
        return self.state.stopped() or self.state.closed()

    def _largest(self) -> Vector:
        if self.largest is None:
            self.largest = extremes(self.around)[1]
        return self.largest


def _nearly(better: Matrix, y: Vector) -> bool:
    """Whether the best of these posteriors, the first one, gains little."""
    return not len(better) or reduced_cost(better[0], y) > -NEARLY


def starting_points(rng: np.random.Generator, used: Columns, p_x: Vector, random: int, of_used: int) -> Matrix:
    """Points to search from: some of the posteriors in use, drawn to the middle, and random ones."""
    some = used.take(rng.permutation(len(used))[:of_used]).dense(len(p_x))
    return np.vstack([0.5 * some + 0.5 * p_x, _scattered(rng, len(p_x), random // len(SCATTER))])


def _scattered(rng: np.random.Generator, n: int, each: int) -> Matrix:
    """So many points of each kind, from nearly single values to nearly uniform."""
    kinds = [rng.dirichlet(np.full(n, alpha), size=each) for alpha in SCATTER]
    return np.stack(kinds, axis=1).reshape(-1, n)
