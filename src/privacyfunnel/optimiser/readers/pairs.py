"""Two secrets: every extreme posterior is a single value, or a pair on a boundary, so all of them can be priced."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.numeric.leaving import unless_left
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.tolerances import AT_ONCE
from privacyfunnel.optimiser.two_secrets.low_and_high import Sides
from privacyfunnel.typing import Integers, Matrix, Vector

PARTNERS = 4
"""Partners of every value that are offered at a time: at first those that share the most columns, then the best."""


@dataclass(frozen=True, eq=False)
class _Side:
    """Values beyond a boundary, at distances d, and those on this side of it, at distances e."""

    beyond: Integers
    within: Integers
    d: Vector
    e: Vector

    def pairs(self, i: Integers, j: Integers) -> Columns:
        """Pairs of beyond[i] and within[j], mixed to lie on the boundary."""
        d, e = self.d[i], self.e[j]
        mass = np.stack([e / (d + e), d / (d + e)], axis=1)
        return Columns(np.stack([self.beyond[i], self.within[j]], axis=1), mass)

    def blocks(self) -> Iterator[slice]:
        """Ranges of the values beyond, with as many pairs as are gone through at a time."""
        rows = max(1, AT_ONCE // max(1, len(self.within)))
        for start in range(0, len(self.beyond), rows):
            unless_left()
            yield slice(start, start + rows)


@dataclass(frozen=True, eq=False)
class Pairs:
    """All extreme posteriors of a promise about two secrets."""

    p_x: Vector
    singles: Integers
    sides: tuple[_Side, ...]
    similarity: Similarity
    exact = True
    """Whether no posterior is left out when prices are held against them."""

    @classmethod
    def of(cls, polytope: Polytope, similarity: Similarity) -> Pairs:
        sides = Sides.of(polytope)
        n, order = sides.n, sides.order
        high, low = np.arange(n - sides.n_high, n), np.arange(sides.n_low)
        parts = []
        for over, beyond in ((sides.above, high), (sides.below, low)):
            within = np.flatnonzero(over < 0)
            if beyond.size and within.size:
                parts.append(_Side(order[beyond], order[within], over[beyond], -over[within]))
        singles = order[sides.n_low : n - sides.n_high]
        return cls(polytope.p_x, singles, tuple(parts), similarity)

    def first(self) -> Columns:
        """All single values, and for every value the partners that share the most columns with it."""
        found = [Columns(self.singles[:, None], np.ones((len(self.singles), 1)))]
        for side in self.sides:
            best = _Best(PARTNERS, len(side.within), -math.inf)
            for rows in side.blocks():
                best.meet(self.similarity.at(side.beyond[rows][:, None], side.within[None, :]), rows.start)
            found.append(side.pairs(*best.pairs()))
        return Columns.join(found)

    def better(self, z: Matrix, y: Vector, mu: float) -> tuple[Columns, Vector]:
        """Pairs with |zᵀv|² above y·v + μH(v), and by how much y must be raised, value by value, until none is.

        Of either value of a pair, the price of the one that is rarer in it is raised: that costs the bound less.
        """
        raised = np.zeros(len(self.p_x))
        own = np.square(z).sum(axis=1)
        np.maximum.at(raised, self.singles, own[self.singles] - y[self.singles])
        found = [Columns(np.empty((0, 2), dtype=np.int64), np.empty((0, 2)))]
        for side in self.sides:
            within, best = side.within, _Best(PARTNERS, len(side.within), 0.0)
            for rows in side.blocks():
                beyond = side.beyond[rows]
                products = z[beyond] @ z[within].T
                up, up_within, gains = np.zeros(len(beyond)), np.zeros(len(within)), np.empty(products.shape)
                _priced(
                    products, own[beyond], own[within], y[beyond], y[within], side.d[rows], side.e, mu,
                    self.p_x[beyond], self.p_x[within], up, up_within, gains,
                )  # fmt: skip
                np.maximum.at(raised, beyond, up)
                np.maximum.at(raised, within, up_within)
                best.meet(gains, rows.start)
            found.append(side.pairs(*best.pairs()))
        return Columns.join(found), raised


class _Best:
    """Of gain[i, j], gone through in blocks of rows, the largest few of every row and of every column above `least`."""

    def __init__(self, count: int, n_columns: int, least: float) -> None:
        self._count, self._least = count, least
        self._rows: list[Integers] = []
        self._gain = np.full((count, n_columns), least)
        self._at = np.zeros((count, n_columns), dtype=np.int64)

    def meet(self, gain: Matrix, start: int) -> None:
        """The block of rows from `start` on."""
        few = min(self._count, gain.shape[1])
        right = np.argpartition(-gain, few - 1, axis=1)[:, :few]
        i, j = np.repeat(np.arange(len(gain)), few), right.ravel()
        worth = gain[i, j] > self._least
        self._rows.append(np.stack([start + i[worth], j[worth]]))
        few = min(self._count, len(gain))
        down = np.argpartition(-gain, few - 1, axis=0)[:few]
        gains = np.concatenate([self._gain, np.take_along_axis(gain, down, axis=0)])
        places = np.concatenate([self._at, start + down])
        top = np.argpartition(-gains, self._count - 1, axis=0)[: self._count]
        self._gain, self._at = np.take_along_axis(gains, top, axis=0), np.take_along_axis(places, top, axis=0)

    def pairs(self) -> tuple[Integers, Integers]:
        """The pairs (i, j), each once."""
        worth = self._gain > self._least
        j = np.broadcast_to(np.arange(worth.shape[1]), worth.shape)
        both = np.concatenate([*self._rows, np.stack([self._at[worth], j[worth]])], axis=1)
        i, j = np.unique(both, axis=1)
        return i, j


@compiled
def _priced(
    products: Matrix, own_i: Vector, own_j: Vector, y_i: Vector, y_j: Vector, d: Vector, e: Vector, mu: float,
    p_i: Vector, p_j: Vector, up_i: Vector, up_j: Vector, gains: Matrix,
) -> None:  # fmt: skip
    """Hold prices against all pairs (i, j): what y must be raised by, what each gains at its largest weight."""
    for i in range(len(d)):
        for j in range(len(e)):
            a, b = e[j] / (d[i] + e[j]), d[i] / (d[i] + e[j])
            entropy = -a * math.log(a) - b * math.log(b)
            worth = a * a * own_i[i] + 2 * a * b * products[i, j] + b * b * own_j[j]
            over = worth - a * y_i[i] - b * y_j[j] - mu * entropy
            most_i, most_j = p_i[i] / a, p_j[j] / b
            gains[i, j] = over * min(most_i, most_j)
            if over > 0:
                if most_i <= most_j:
                    up_i[i] = max(up_i[i], over / a)
                else:
                    up_j[j] = max(up_j[j], over / b)
