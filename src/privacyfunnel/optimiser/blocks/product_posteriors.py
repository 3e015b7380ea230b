"""Posteriors that are products over blocks, v[x] ∝ p_x[x] Π_b f_b[x_b], and the best factor of a block given the rest.

That is what an output tells if blocks are drawn one after the other, each from its own x_b and the outputs before:
P(y|x) = Π_b Q_b(y_b|x_b, y_before) has one factor for each block. Given the factors of the other blocks, with
r[x] = p_x[x] Π_{k≠b} f_k[x_k] and R[a] = Σ r[x] over the x with x_b = a, the posterior is r[x]/R[x_b]·u[x_b] for some
u[a] = P(x_b = a|y). Its rows G v ≤ 0 are rows in u, and H(v) − y·v = H(u) − Σ_a u[a]·price[a] with
price[a] = Σ_x (r[x]/R[a])·(y[x] + ln(r[x]/R[a])): the pricing of one small polytope.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from privacyfunnel.errors import SolverFailure
from privacyfunnel.numeric.information import entropy
from privacyfunnel.optimiser.generation.pricing import Oracle, descend
from privacyfunnel.optimiser.program import supports
from privacyfunnel.optimiser.program.polytope import DUST, FEASIBLE, Polytope
from privacyfunnel.typing import Integers, Matrix, Vector

LIST_VERTICES = 50_000
"""Up to this many candidates, all extreme factors of a block are listed; beyond, some are searched for."""
FIRST_ROWS = 64
"""Rows that a search among more of them knows at first: for every value of the block, those that bind the soonest."""
MORE_ROWS = 16
"""Rows that are added at a time, when what was found breaks them."""
REPAIRS = 8
"""Times that broken rows are added; what still breaks some is dropped."""
SAME_DIGITS = 12
"""Rows that agree to so many digits are the same."""
CANCELLED = 1e-13
"""Of the terms that a coefficient is the sum of: what is left below this is rounding error."""
CYCLES = 6
"""Times that all blocks are gone through, at most; one that gains nothing ends them."""
IMPROVES = 1e-9
"""Nats: what lowers a reduced cost by less is not worth a further cycle."""

Factors = list[Vector]
"""f_b[a] for every block b and each of its values a."""


@dataclass(frozen=True, eq=False)
class ProductPosteriors:
    """The posteriors of a polytope that are products over blocks; inputs[b][x] is the value of block b that x has."""

    polytope: Polytope
    inputs: list[Integers]

    def __len__(self) -> int:
        return len(self.inputs)

    @cached_property
    def _rows(self) -> csr_array:
        return csr_array(self.polytope.G)

    @cached_property
    def sizes(self) -> list[int]:
        """How many values each block has."""
        return [int(x.max()) + 1 for x in self.inputs]

    def constant(self) -> Factors:
        """The factors of p_x itself."""
        return [np.ones(n) for n in self.sizes]

    def occurs(self, factors: Factors) -> bool:
        """Whether an output with these factors has a probability above 0: blocks may exclude each other's values."""
        return bool(self._others(factors, None).any())

    def posterior(self, factors: Factors) -> Vector:
        """v[x] ∝ p_x[x] Π_b f_b[x_b]."""
        v = self._others(factors, None)
        return np.asarray(v / v.sum())

    def improved(
        self, factors: Factors, y: Vector, order: Integers, threshold: float, stopped: Callable[[], bool]
    ) -> list[Factors]:
        """Factors that undercut their price by more than `threshold`, met on the way down from these.

        One block after the other takes its best factor given the others', until no block can do better.
        """
        found: list[Factors] = []
        best = np.inf
        for _ in range(CYCLES):
            before = best
            for b in order:
                if stopped():
                    return found
                U, costs, R = self._choices(factors, int(b), y)
                if not len(U):
                    continue
                with np.errstate(divide="ignore", invalid="ignore"):
                    W = np.where(R > 0, U / R, 0.0)
                better = np.flatnonzero(costs < min(-threshold, best))
                found += [[*factors[:b], W[i] / W[i].max(), *factors[b + 1 :]] for i in better]
                i = int(costs.argmin())
                if costs[i] < best - IMPROVES:
                    best = float(costs[i])
                    factors = [*factors[:b], W[i] / W[i].max(), *factors[b + 1 :]]
            if not best < before - IMPROVES:
                break
        return found

    def _others(self, factors: Factors, b: int | None) -> Vector:
        """p_x times the factors of all blocks but b."""
        r = self.polytope.p_x.copy()
        for k, (f, x) in enumerate(zip(factors, self.inputs, strict=True)):
            if k != b:
                r *= f[x]
        return r

    def _choices(self, factors: Factors, b: int, y: Vector) -> tuple[Matrix, Vector, Vector]:
        """Extreme u[a] of block b given the other factors, as rows; their reduced costs H(v) − y·v; and R[a]."""
        r, of, n = self._others(factors, b), self.inputs[b], self.sizes[b]
        R = np.bincount(of, weights=r, minlength=n).astype(np.float64)
        alive = np.flatnonzero(R / R.sum() > DUST)
        share = np.divide(r, R[of], out=np.zeros_like(r), where=R[of] > 0)
        logs = np.log(share, out=np.zeros_like(share), where=share > 0)
        price = np.bincount(of, weights=share * (y + logs), minlength=n)[alive].astype(np.float64)
        place = csr_array((share, (np.arange(len(of)), of)), shape=(len(of), n))
        G = _different((self._rows @ place).toarray()[:, alive], (abs(self._rows) @ place).toarray()[:, alive])
        small = Polytope(G, R[alive] / R[alive].sum())
        now = factors[b][alive] * R[alive]
        some = _extreme(small, price, now / now.sum())
        U = np.zeros((len(some), n))
        U[:, alive] = some
        return U, np.asarray(entropy(some) - some @ price), R


def _extreme(small: Polytope, price: Vector, now: Vector) -> Matrix:
    """All vertices where they are few; else the local minima below the present point and below every value alone."""
    n = small.n_x
    if supports.candidates(small, n) <= LIST_VERTICES:
        return supports.vertices(small, n).dense(n)
    used = _binding_first(small)
    for _ in range(REPAIRS):
        try:
            oracle = Oracle(small.with_rows(used))
            V = np.stack([descend(oracle, price, v) for v in (now, 0.5 * now + 0.5 / n, np.full(n, 1 / n))])
        except SolverFailure:
            break
        over = (V @ small.G.T - FEASIBLE * (V @ np.abs(small.G).T)).max(axis=0)
        worst = np.argsort(-over, kind="stable")[:MORE_ROWS]
        broken = worst[over[worst] > 0]
        if not len(broken):
            return V
        used = np.union1d(used, broken)
    return np.empty((0, n))


def _binding_first(small: Polytope) -> Integers:
    """For every value, the rows with the largest coefficients at it."""
    each = max(1, FIRST_ROWS // small.n_x)
    return np.unique(np.argsort(-small.G, axis=0, kind="stable")[:each].ravel())


def _different(G: Matrix, size: Matrix) -> Matrix:
    """The rows that can be broken, scaled to a largest coefficient of 1, each once; size[i, a] is that of its terms."""
    G = G[G.max(axis=1, initial=0.0) > CANCELLED * size.max(axis=1, initial=0.0)]
    G = G / np.abs(G).max(axis=1, initial=0.0, keepdims=True)
    _, first = np.unique(np.round(G, SAME_DIGITS), axis=0, return_index=True)
    return np.asarray(G[np.sort(first)])
