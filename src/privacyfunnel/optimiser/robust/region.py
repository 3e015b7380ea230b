"""Rows on demand: the worst distribution of a confidence set for a given posterior, and the row of G it gives.

Let w = v/p_x be a row of the channel up to scale. Given a cell, P(y|s) = Σ_x P(x|s) w[x]; over the set it ranges
between least[s] and most[s], each a knapsack: fill P(·|s) up from its lower ends, the largest (or smallest) w first.
With P(S) likewise, the promise over the set is, for every s,

    most[s] ≤ e^upper · min over P(S) of (P(s) most[s] + Σ_t≠s P(t) least[t]),
    least[s] ≥ e^-lower · max over P(S) of (P(s) least[s] + Σ_t≠s P(t) most[t]),
    most[s] ≤ e^spread · least[t] for t ≠ s,
    max over P(S) of ((1 − b) P(s) most[s] − b Σ_t≠s P(t) least[t]) ≤ 0 where the belief in s may be b at most.

Each is the worst of finitely many rows that are linear in w: the one that the extreme P(·|s) and P(S) give.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.optimiser.program.polytope import without_dust
from privacyfunnel.optimiser.program.tolerances import AT_ONCE, FEASIBLE
from privacyfunnel.optimiser.robust.demands import Demand
from privacyfunnel.promises.limits import SMALLEST_FACTOR
from privacyfunnel.promises.sets import SCALE, Possible, Shares
from privacyfunnel.typing import Integers, Matrix, Vector


@dataclass(frozen=True, eq=False)
class _Extreme:
    """Distributions over a last axis that make a mean extreme, and that mean."""

    value: NDArray[np.float64]
    at: NDArray[np.float64]


class Leeway:
    """Sets of distributions r over a last axis k, in float64: lower ≤ r ≤ upper, Σr = 1."""

    def __init__(self, shares: Shares) -> None:
        self.lower, self.upper = shares.lower / SCALE, shares.upper / SCALE

    def extreme(self, costs: NDArray[np.float64], sign: int) -> _Extreme:
        """The largest (sign 1) or smallest (sign −1) Σ_k r[k]·costs[k], and the r that attains it.

        The axes of the costs are those of the sets, or more of them in front; 1 stands for any number of sets.
        """
        order = np.argsort(-sign * costs, axis=-1, kind="stable")
        base = _taken(self.lower, order)
        room = _taken(self.upper, order) - base
        left = 1.0 - base.sum(axis=-1, keepdims=True)
        before = np.cumsum(room, axis=-1) - room
        filled = base + np.clip(left - before, 0.0, room)

        r = np.empty_like(filled)
        np.put_along_axis(r, np.broadcast_to(order, filled.shape), filled, axis=-1)
        return _Extreme((r * costs).sum(axis=-1), r)


def _taken(ends: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """The ends along their last axis in some order, for all places of both."""
    shape = (*np.broadcast_shapes(ends.shape[:-1], order.shape[:-1]), ends.shape[-1])
    return np.take_along_axis(np.broadcast_to(ends, shape), np.broadcast_to(order, shape), axis=-1)


@dataclass(frozen=True, eq=False)
class _Broken:
    """Rows of one kind, where they are overstepped: g·w with g = Σ_t factor[t]·P(·|t), for the columns `which`."""

    which: Integers
    cell: Integers
    rows: Matrix


class Region:
    """Δ over a confidence set: {v ≥ 0, Σv = 1, g·v ≤ 0 for the rows g of every distribution in the set}."""

    def __init__(self, demands: list[Demand], p_x: Vector) -> None:
        self.demands, self.p_x = demands, p_x
        self._parts = [_Part(demand) for demand in demands if len(demand.part.cells)]

    @property
    def sets(self) -> list[Possible]:
        """The sets of all clauses, view by view."""
        return [demand.part for demand in self.demands]

    @property
    def n_x(self) -> int:
        """The number of values of X."""
        return len(self.p_x)

    def cuts(self, V: Matrix, tolerance: float = FEASIBLE) -> tuple[Matrix, Vector]:
        """For each posterior in V the rows it oversteps most, scaled to a largest entry of 1, and by how much.

        The second array holds for every row of V the largest (g·v) / (−g·p_x) found, 0 if no row is overstepped:
        how far v must be drawn to p_x.
        """
        rows: list[Matrix] = []
        theta = np.zeros(len(V))
        for found, start, members in self._broken(V, tolerance):
            G = self._rows(found, members)
            here = start + found.which
            over = (G * V[here]).sum(axis=1)
            whole = over - np.minimum(G @ self.p_x, 0.0)  # where p_x touches the row, only p_x itself will do
            np.maximum.at(theta, here, np.divide(over, whole, out=np.zeros_like(over), where=over > 0))
            rows.append(G)
        return np.concatenate([np.empty((0, self.n_x)), *rows]), theta

    def _rows(self, found: _Broken, members: Integers) -> Matrix:
        """What is overstepped, as rows about v."""
        G = np.zeros((len(found.which), self.n_x + 1))
        np.add.at(G, (np.arange(len(G))[:, None], members[found.cell]), found.rows)
        G = G[:, :-1] / self.p_x
        return np.asarray(G / np.abs(G).max(axis=1, keepdims=True))

    def given(self, x: Integers, p: Vector) -> Region:
        """The same for posteriors on the values x alone, around p instead of p_x."""
        return _Given(self, x, p)

    def _broken(self, V: Matrix, tolerance: float) -> Iterator[tuple[_Broken, int, Integers]]:
        """What is overstepped, for some of V at a time: the rows, where these begin, and the members of cells."""
        W = V / self.p_x
        W = W / W.max(axis=1, keepdims=True)
        for part in self._parts:
            step = max(1, AT_ONCE // part.size)
            for start in range(0, len(W), step):
                for found in part.broken(W[start : start + step], tolerance):
                    if len(found.which):
                        yield found, start, part.members

    def oversteps(self, V: Matrix, tolerance: float = FEASIBLE) -> NDArray[np.bool_]:
        """Which posteriors overstep a row."""
        over = np.zeros(len(V), dtype=bool)
        for found, start, _ in self._broken(V, tolerance):
            over[start + found.which] = True
        return over

    def draw_in(self, V: Matrix) -> Matrix:
        """Each v moved towards p_x until it keeps the promise over the whole set: the rows are convex in v."""
        V = without_dust(V)
        _, theta = self.cuts(V)
        return np.asarray((1 - theta[:, None]) * V + theta[:, None] * self.p_x)


class _Given(Region):
    """Posteriors on some values that keep the promise, drawn in towards a point on these values."""

    def __init__(self, whole: Region, x: Integers, p: Vector) -> None:
        super().__init__([], p)
        self._whole, self._x = whole, x

    def _rows(self, found: _Broken, members: Integers) -> Matrix:
        G = self._whole._rows(found, members)[:, self._x]
        return np.asarray(G / np.abs(G).max(axis=1, keepdims=True))

    def _broken(self, V: Matrix, tolerance: float) -> Iterator[tuple[_Broken, int, Integers]]:
        everywhere = np.zeros((len(V), self._whole.n_x))
        everywhere[:, self._x] = V
        return self._whole._broken(everywhere, tolerance)


class _Part:
    """What is asked in one view of the set, in float64. NOBODY, as a member, points behind the last value."""

    def __init__(self, demand: Demand) -> None:
        part = demand.part
        self._asked, self._events = demand, demand.events
        self.members = part.members  # NOBODY = −1 is the extra last place
        self._given, self._prior = Leeway(part.given), Leeway(part.prior)
        self._n_s = part.prior.lower.shape[1]
        self.size = int(part.given.lower.size)

    def broken(self, W: Matrix, tolerance: float) -> list[_Broken]:
        """Every limit that a row of W oversteps, with the extreme distributions' rows."""
        w = np.concatenate([W, np.zeros((len(W), 1))], axis=1)[:, self.members]  # [column, cell, k]
        w = w[:, :, None, :]  # [column, cell, s, k]
        most, least = self._given.extreme(w, 1), self._given.extreme(w, -1)
        found = []
        n_s, events, limits = self._n_s, self._events, self._asked.limits
        if self._asked.most is not None:
            found += [self._believed(most, least, s, self._asked.most, tolerance) for s in events]
        if math.isfinite(limits.upper):
            up = math.exp(-limits.upper)
            found += [self._one_sided(most, least, s, up, 1, tolerance) for s in events]
        if math.isfinite(limits.lower):
            down = math.exp(min(limits.lower, -math.log(SMALLEST_FACTOR)))
            found += [self._one_sided(least, most, s, down, -1, tolerance) for s in events]
        if math.isfinite(limits.spread):
            apart = math.exp(-limits.spread)
            pairs = ((s, t) for s in range(n_s) for t in range(n_s) if s != t)
            found += [self._two_sided(most, least, s, t, apart, tolerance) for s, t in pairs]
        return found

    def _one_sided(
        self, own: _Extreme, others: _Extreme, s: int, factor: float, sign: int, tolerance: float
    ) -> _Broken:
        """sign·(factor·P(y|s) − P(y)) ≤ 0, with P(y|s) at its own extreme and all else at the other."""
        costs = others.value.copy()
        costs[..., s] = own.value[..., s]
        prior = self._prior.extreme(costs, -sign)
        mean = prior.value
        over = sign * (factor * own.value[..., s] - mean)
        which, cell = np.nonzero(over > tolerance * (factor * own.value[..., s] + mean))
        P_s = prior.at[which, cell, :, None]
        P_x = others.at[which, cell]
        P_x[:, s] = own.at[which, cell, s]
        rows = sign * (factor * own.at[which, cell, s] - (P_s * P_x).sum(axis=1))
        return _Broken(which, cell, rows)

    def _believed(self, most: _Extreme, least: _Extreme, s: int, limit: float, tolerance: float) -> _Broken:
        """Σ_t factor[t]·P(t) P(y|t) ≤ 0 with factor 1 − b for s and −b for others, and P(y|s) at its most."""
        factor = np.where(np.arange(self._n_s) == s, 1.0 - limit, -limit)
        costs = least.value * factor
        costs[..., s] = most.value[..., s] * (1.0 - limit)
        prior = self._prior.extreme(costs, 1)
        which, cell = np.nonzero(prior.value > tolerance * (prior.at * np.abs(costs)).sum(axis=-1))
        P_x = least.at[which, cell]
        P_x[:, s] = most.at[which, cell, s]
        rows = ((prior.at[which, cell] * factor)[:, :, None] * P_x).sum(axis=1)
        return _Broken(which, cell, rows)

    def _two_sided(self, most: _Extreme, least: _Extreme, s: int, t: int, factor: float, tolerance: float) -> _Broken:
        """factor·P(y|s) − P(y|t) ≤ 0, with P(y|s) at its most and P(y|t) at its least."""
        over = factor * most.value[..., s] - least.value[..., t]
        which, cell = np.nonzero(over > tolerance * (factor * most.value[..., s] + least.value[..., t]))
        rows = factor * most.at[which, cell, s] - least.at[which, cell, t]
        return _Broken(which, cell, rows)
