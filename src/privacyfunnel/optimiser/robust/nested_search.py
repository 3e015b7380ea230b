"""Two secrets over a confidence set: column generation with compiled linear programs (see `nested_programs`)."""

from __future__ import annotations

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.information import entropy
from privacyfunnel.optimiser.generation.pricing import SHARPNESS, WORTH_FINDING, distinct
from privacyfunnel.optimiser.program.master import Master
from privacyfunnel.optimiser.program.polytope import Columns, without_dust
from privacyfunnel.optimiser.program.state import State
from privacyfunnel.optimiser.robust.branch_on_largest import Spikes, largest
from privacyfunnel.optimiser.robust.conditions import Conditions
from privacyfunnel.optimiser.robust.most_revealing import leaning_polytope
from privacyfunnel.optimiser.robust.nested_programs import best_pairs, corners, descents
from privacyfunnel.optimiser.robust.region import Region
from privacyfunnel.optimiser.two_secrets.pairing import priced_pairs
from privacyfunnel.typing import Integers, Matrix, Vector

RANDOM_STARTS = 8
"""Searches of a round that start anywhere, beside one for every posterior in use: for what is unlike them all."""
ALONE = 0.5
"""At first they start from a single value mixed with p_x."""
WIDE_TRIES = 3
"""How often a search that takes its time starts from many more points before it gives up."""
NODES_AT_ONCE = 500
"""Nodes looked at before looking at the clock, so that time limits and Ctrl-C are heard soon."""
MOST_NODES = 60_000
"""Nodes that a proof looks at: it ends with far fewer, or not at all."""
WORTHWHILE = 1e-3
"""The share of the open gap that a posterior must gain to be added, and a round to be followed by another."""


class NestedSearch:
    """The posteriors found so far, and their best mixture."""

    def __init__(self, joint: Joint, region: Region, conditions: Conditions, state: State) -> None:
        self._region, self._conditions, self._state = region, conditions, state
        self._rng = np.random.default_rng(0)
        self.master = Master(conditions.p)
        self._found: list[Matrix] = [conditions.p[None]]  # the columns of the master program, dense
        self._entropies: list[Vector] = [np.atleast_1d(entropy(conditions.p))]
        self.rounds = self.proofs = 0
        self.utility = 0.0
        y = _first_prices(joint, region, state)
        self._add(distinct(corners(conditions.p, conditions.K, conditions.M)))
        # Under the prices of a larger polytope nothing improves; what comes closest is good to start with.
        self._price(y, self._alone(), np.inf)
        self._solve()

    def improve(self, *, patiently: bool) -> None:
        """Add posteriors until none is found that undercuts its price, or until it is hardly worth it."""
        state = self._state
        tries = 0
        while not state.stopped() and not self.closed():
            self.rounds += 1
            before = self.utility
            found = self._price(self.y, self._wide_starts() if tries else self._starts(), -self._worthwhile())
            if found:
                tries = 0
                self._solve()
                if not patiently and 0 < self.utility < before + self._worthwhile():
                    break
            elif self._artificial:
                if not self.master.raise_penalty():
                    break
                self._solve()
            elif patiently and tries < WIDE_TRIES:
                tries += 1
            else:
                break

    def prove(self) -> bool:
        """Bound all protocols by prices held against all of Δ; whether better posteriors turned up on the way."""
        state, c = self._state, self._conditions
        if state.stopped() or self.closed() or self._artificial:
            return False
        self.proofs += 1
        y = self.master.central_prices()
        tree = Spikes(c.p, y, largest(c.p, c.K, c.M), c.K, c.M, state.gap)
        nodes = 0
        while tree.grow(NODES_AT_ONCE) and not tree.n_found and not state.stopped() and nodes < MOST_NODES:
            nodes += NODES_AT_ONCE
        state.bound(y, tree.bound)
        state.report()
        if not tree.n_found:
            return False
        r, V = descents(tree.found[: tree.n_found], y, c.p, c.K, c.M)
        better = V[r < -state.gap]
        if len(better):
            self.add(better)
        return len(better) > 0

    def add(self, V: Matrix) -> None:
        """Posteriors found elsewhere."""
        self._add(distinct(V))
        self._solve()

    def closed(self) -> bool:
        return self._state.upper_bound - self.utility <= self._state.gap

    def keep(self) -> None:
        """Hand the mixture over; what a program overstepped by rounding is drawn in first."""
        region, state = self._region, self._state
        q = self.master.solve_without_artificial()
        used = np.flatnonzero(q > 0)
        V = self.master.columns.take(used).dense(region.n_x)
        if region.cuts(V)[1].any():
            inside = Master(region.p_x)
            inside.add(Columns.from_dense(region.draw_in(V)))
            state.keep(*inside.mixture())
        else:
            state.keep(self.master.columns, q)
        state.report()

    def _solve(self) -> None:
        self._q, self.y, artificial = self.master.solve()
        self._artificial = artificial > 0
        self.utility = (
            0.0 if self._artificial else self._state.entropy - float(self._q @ np.concatenate(self._entropies))
        )

    def _add(self, V: Matrix) -> None:
        V = without_dust(V)
        columns = Columns.from_dense(V)
        self.master.add(columns)
        self._found.append(V)
        self._entropies.append(columns.entropy())

    def _used(self) -> Matrix:
        """The posteriors in use."""
        starts = np.cumsum([0, *map(len, self._found)])
        used = np.flatnonzero(self._q > 0)
        parts = zip(self._found, starts, np.searchsorted(used, starts), np.searchsorted(used, starts[1:]), strict=False)
        return np.concatenate([V[used[low:high] - start] for V, start, low, high in parts])

    def _worthwhile(self) -> float:
        return max(WORTH_FINDING * self._state.gap, WORTHWHILE * (self._state.upper_bound - self.utility))

    def _price(self, y: Vector, starts: Matrix, threshold: float) -> bool:
        """Add posteriors with r(v) below a threshold; whether there are any."""
        c = self._conditions
        least, partner, share = best_pairs(y, c.sufficient)
        some = np.flatnonzero(least < threshold)
        if len(some):
            self._add(pairs_of(some, partner, share, c.n_x))
        r, V = descents(starts, y, c.p, c.K, c.M)
        better = np.argsort(r, kind="stable")[: int((r < threshold).sum())]
        if len(better):
            self._add(distinct(V[better]))
        return len(some) + len(better) > 0

    def _alone(self) -> Matrix:
        p = self._conditions.p
        return np.asarray(ALONE * np.eye(len(p)) + (1 - ALONE) * p)

    def _starts(self) -> Matrix:
        p, rng, used = self._conditions.p, self._rng, self._used()
        mixed = (used + used[rng.permutation(len(used))] + p) / 3
        return np.vstack([mixed, rng.dirichlet(np.full(len(p), SHARPNESS), size=RANDOM_STARTS)])

    def _wide_starts(self) -> Matrix:
        p, rng, used = self._conditions.p, self._rng, self._used()
        pairs = [(used + used[rng.permutation(len(used))] + p) / 3 for _ in range(3)]
        return np.vstack([self._alone(), (2 * used + p) / 3, *pairs])


def _first_prices(joint: Joint, region: Region, state: State) -> Vector:
    """A first bound, that of a single distribution, and the prices it rests on."""
    polytope = leaning_polytope(joint, region)
    y = None if polytope is None else priced_pairs(polytope, state)
    state.report()
    return -np.log(joint.p_x) if y is None else y


def pairs_of(some: Integers, partner: Integers, share: Vector, n_x: int) -> Matrix:
    """Posteriors on a value and its partner; a value that is its own partner has a share of 1."""
    V = np.zeros((len(some), n_x))
    rows = np.arange(len(some))
    V[rows, partner[some]] = 1 - share[some]
    V[rows, some] = share[some]
    return V
