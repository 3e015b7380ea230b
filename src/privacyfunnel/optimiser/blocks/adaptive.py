"""Adaptive blocks: mixtures of posteriors that are products over blocks, generated where they undercut their price.

If a block's channel may depend on the outputs of the blocks before it, P(y|x) = Π_b Q_b(y_b|x_b, y_before), then what
every output y tells is a product over blocks (`product_posteriors.py`), and it keeps the promise exactly if its rows
do. So all such protocols are mixtures of these posteriors. The search goes further than any one of them: it takes the
best mixture of all that it meets, whatever the order of the blocks, as one channel for all attributes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np

from privacyfunnel.optimiser.blocks.product_posteriors import Factors, ProductPosteriors
from privacyfunnel.optimiser.program.master import Master
from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.optimiser.program.state import State
from privacyfunnel.typing import Integers, Matrix, Vector

ALL_ORDERS = 3
"""Up to so many blocks, every order is gone through; of more, one at random for each start."""
FIRST_STARTS = 600
"""Searches before the first mixture: each towards one value of X, in some order of the blocks."""
TOWARDS = 1e3
"""Nats: the price of the value that such a search goes towards; far above any entropy."""
USED_STARTS = 48
"""Searches of a round that start from posteriors in use, and as many from those nearest to being used."""
FRESH_STARTS = 16
"""Searches of a round that start from p_x."""
AT_ONCE = 400
"""Posteriors that are added in a round, at most: those that undercut their prices the most."""
ROUNDS = 60
"""At most; usually a dozen."""
LEAST_UNDERCUT = 1e-6
"""Nats by which a posterior must undercut its price to be added."""
WORTH_A_ROUND = 1e-4
"""Nats that a round must gain for another to be worth it; twice in a row it may gain less."""
SAME_DIGITS = 10
"""Posteriors that agree to so many decimals are one."""


@dataclass(eq=False)
class AdaptiveSearch:
    """Column generation among posteriors that are products over blocks."""

    products: ProductPosteriors
    state: State
    _known: list[Factors] = field(default_factory=list)
    """The factors of the posteriors of the master program, in their order, from number 1 on."""
    _met: set[bytes] = field(default_factory=set)

    def run(self, first: list[Factors]) -> tuple[Columns, Vector]:
        """The best mixture that is found, from these factors and others."""
        p_x, state = self.products.polytope.p_x, self.state
        self._rng, self._master = np.random.default_rng(0), Master(p_x)
        self._add(first)
        self._add(list(self._towards_values()))
        patience = 2
        for _ in range(ROUNDS):
            q, y, artificial = self._master.solve()
            before = state.utility
            if artificial <= 0:
                state.keep(self._master.columns, q)
            state.report()
            patience = 2 if state.utility > before + WORTH_A_ROUND else patience - (artificial <= 0)
            if state.stopped() or not patience:
                break
            if not self._add(self._undercutting(q, y), y) and (artificial <= 0 or not self._master.raise_penalty()):
                break
        state.keep(self._master.columns, self._master.solve_without_artificial())
        return state.columns, state.q

    def _towards_values(self) -> Iterator[Factors]:
        """Searches that give every value of X as much as can be, or a number of them if there are many."""
        n = self.products.polytope.n_x
        orders = self._orders()
        some = self._rng.permutation(n)[: max(1, FIRST_STARTS // len(orders))]
        for x in some:
            for order in orders:
                y = np.zeros(n)
                y[x] = TOWARDS
                yield from self.products.improved(
                    self.products.constant(), y, order, LEAST_UNDERCUT, self.state.stopped
                )[-1:]

    def _undercutting(self, q: Vector, y: Vector) -> list[Factors]:
        """What searches find that start from posteriors in use, nearly in use, and from p_x."""
        columns = self._master.columns.take(np.arange(len(self._master.columns)))
        costs = (columns.entropy() - columns.dot(y))[1:]
        used = self._rng.permutation(np.flatnonzero(q[1:] > 0))[:USED_STARTS]
        near = np.setdiff1d(np.argsort(costs, kind="stable")[:USED_STARTS], used)
        starts = [self._known[i] for i in (*used, *near)] + [self.products.constant()] * FRESH_STARTS
        found: list[Factors] = []
        for start in starts:
            order = self._rng.permutation(len(self.products))
            found += self.products.improved(start, y, order, LEAST_UNDERCUT, self.state.stopped)
            if self.state.stopped():
                break
        return found

    def _add(self, found: list[Factors], y: Vector | None = None) -> bool:
        """Those that are new, and undercut the prices y; whether there were any."""
        found = [factors for factors in found if self.products.occurs(factors)]
        if not found:
            return False
        V = self.products.polytope.draw_in(np.stack([self.products.posterior(factors) for factors in found]))
        new = Columns.from_dense(V)
        costs = new.entropy() - new.dot(y) if y is not None else np.full(len(V), -np.inf)
        kept = []
        for i in np.argsort(costs, kind="stable"):
            key = np.round(V[i], SAME_DIGITS).tobytes()
            if key not in self._met and costs[i] < -LEAST_UNDERCUT:
                self._met.add(key)
                kept.append(int(i))
        kept = kept if y is None else kept[:AT_ONCE]
        if kept:
            self._master.add(new.take(np.array(kept)))
            self._known += [found[i] for i in kept]
        return bool(kept)

    def _orders(self) -> list[Integers]:
        blocks = np.arange(len(self.products))
        if len(blocks) <= ALL_ORDERS:
            return [np.array(order) for order in permutations(blocks)]
        return [self._rng.permutation(blocks)]


def factors_of_product(channels: list[Matrix], most: int) -> list[Factors]:
    """The outputs of a product of channels Q_b[y, x_b], each as its factors; none if they are too many."""
    shape = [len(Q) for Q in channels]
    if np.prod(shape, dtype=np.float64) > most:
        return []
    outputs = np.stack(np.unravel_index(np.arange(int(np.prod(shape))), shape), axis=1)
    return [[Q[y] for Q, y in zip(channels, output, strict=True)] for output in outputs]
