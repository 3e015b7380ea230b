"""The master program: the best mixture of the posteriors found so far."""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from privacyfunnel.numeric.information import entropy
from privacyfunnel.numeric.lp import TOLERANCE, LinearProgram
from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.typing import Integers, Vector

DEARER = 4
"""By this factor artificial columns become dearer while a mixture leans on them, up to BANISHED: ten rounds or so."""
BANISHED = 1e6
"""Price of an artificial column, in nats, that is not raised any further."""


class Pool:
    """The columns of a master program. Number 0 is p_x, which is as wide as all others together, and kept apart."""

    def __init__(self, p_x: Vector) -> None:
        self._p_x = Columns(np.arange(len(p_x))[None, :], p_x[None, :].copy())
        self._parts: list[Columns] = []
        self._starts = [1]

    def __len__(self) -> int:
        return self._starts[-1]

    def add(self, columns: Columns) -> None:
        """More columns, numbered on."""
        self._parts.append(columns)
        self._starts.append(len(self) + len(columns))

    def entropy(self) -> Vector:
        """H(v) of every column."""
        return np.concatenate([part.entropy() for part in (self._p_x, *self._parts)])

    def take(self, index: Integers) -> Columns:
        """The columns with these numbers, in increasing order of them."""
        index = np.sort(index)
        edges = np.searchsorted(index, self._starts)
        taken = [self._p_x.take(index[: edges[0]])] if edges[0] else []
        for part, start, low, high in zip(self._parts, self._starts, edges, edges[1:], strict=False):
            if high > low:
                taken.append(part.take(index[low:high] - start))
        return Columns.join(taken or [self._p_x.take(index)])


class Master:
    """min Σ q_v H(v)  s.t.  Σ q_v v = p_x, q ≥ 0.

    Solved as Σ λ_v u_v[x] = 1 with u = v/p_x scaled to a largest entry of 1: λu is then a row of the
    channel, and every coefficient lies in [0, 1] however small p_x is. Two kinds of columns are always
    there: p_x itself, so that the program is feasible, and artificial ones, each a single value at a
    price in nats, which give useful prices before enough real columns are known. With artificial columns `both_ways`
    values can also be given back, so that prices stay between two others.
    """

    def __init__(self, p_x: Vector, *, both_ways: bool = False) -> None:
        n = len(p_x)
        penalty = 2.0 * (1.0 + math.log(n))  # dearer than an honest posterior, whose entropy is at most ln n
        self.p_x = p_x
        self._lp = LinearProgram(np.empty((n, 0)), np.ones(n), np.ones(n))
        self.columns = Pool(p_x)
        self._scale = np.ones(1)
        self._cost = np.array([float(entropy(p_x))])
        self._lp.add_columns(self._cost, np.array([0, n]), np.arange(n), np.ones(n))
        self._lp.add_columns(penalty * p_x, np.arange(n + 1), np.arange(n), np.ones(n))
        if both_ways:
            self._lp.add_columns(penalty * p_x, np.arange(n + 1), np.arange(n), -np.ones(n))
        self._penalty, self._before = penalty, self._lp.n_columns
        self.lent = np.zeros(n)
        """The mass of each value that the last solution leaves to artificial columns."""

    def add(self, columns: Columns) -> None:
        """Offer more posteriors."""
        u = columns.mass / self.p_x[columns.support]
        scale = u.max(axis=1)
        u /= scale[:, None]
        used = u > 0
        cost = columns.entropy() / scale
        starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        self._lp.add_columns(cost, starts, columns.support[used], u[used])
        self.columns.add(columns)
        self._scale = np.concatenate([self._scale, scale])
        self._cost = np.concatenate([self._cost, cost])

    def solve(self) -> tuple[Vector, Vector, float]:
        """q[v] for the columns, the price y[x] of each value in nats, and the mass left to artificial columns."""
        weights, duals = self._lp.solve()
        n = len(self.p_x)
        self.lent = weights[1 : self._before].reshape(-1, n).sum(axis=0) * self.p_x
        return self._real(weights) / self._scale, (duals[:n] - TOLERANCE) / self.p_x, float(self.lent.sum())

    def give_up_after(self, seconds: float) -> None:
        """A program that takes longer from now on is one that failed."""
        self._lp.give_up_after(seconds)

    def lend_together(self, A: sparse.csr_array, upper: Vector, least: float, price: float, *, alone: bool) -> None:
        """From now on what is left to artificial columns meets A f ≤ upper, f[x] ≥ least the share of each value.

        So all of it is one more posterior, at this price in nats. Unless `alone`, there is something beside p_x, and
        p_x itself is no posterior.
        """
        n = len(self.p_x)
        first = sparse.csr_array((A.shape[0], 1))
        self._lp.add_rows(sparse.csr_array(sparse.hstack([first, A])), upper)
        self._set_penalty(price)
        self._lp.set_bounds(
            np.concatenate([[0.0], np.full(n, least)]), np.concatenate([[np.inf if alone else 0.0], np.ones(n)])
        )

    def keep_prices(self, low: Vector, high: Vector) -> None:
        """Prices y with low ≤ y ≤ high from now on, where columns are artificial both ways."""
        box = np.concatenate([high * self.p_x, -low * self.p_x])
        self._lp.set_costs(np.concatenate([self._cost[:1], box, self._cost[1:]]))

    def central_prices(self) -> Vector:
        """Prices that leave every column some room: a proof is easier for them than for a corner's."""
        return self._lp.central_prices() / self.p_x

    def solve_without_artificial(self) -> Vector:
        """q[v] of the best mixture of real columns alone."""
        # Not at a price: that of a value which nearly nobody has would be paid gladly.
        self._let_artificial(0.0)
        try:
            return self.solve()[0]
        finally:
            self._let_artificial(np.inf)

    def mixture(self) -> tuple[Columns, Vector]:
        """The best mixture of real columns alone: those in use, and their weights."""
        q = self.solve_without_artificial()
        used = np.flatnonzero(q > 0)
        return self.columns.take(used), q[used]

    def _real(self, weights: Vector) -> Vector:
        """Of all columns of the program, the weights of those that are no artificial ones."""
        return np.concatenate([weights[:1], weights[self._before :]]).clip(0)

    def raise_penalty(self) -> bool:
        """Make artificial columns dearer, when the optimum still leans on them; False if that is in vain."""
        self._penalty *= DEARER
        self._set_penalty(self._penalty)
        return self._penalty <= BANISHED

    def _let_artificial(self, most: float) -> None:
        upper = np.full(self._before, most)
        upper[0] = np.inf
        self._lp.set_bounds(np.zeros(len(upper)), upper)

    def _set_penalty(self, penalty: float) -> None:
        self._lp.set_costs(np.concatenate([self._cost[:1], penalty * self.p_x, self._cost[1:]]))
