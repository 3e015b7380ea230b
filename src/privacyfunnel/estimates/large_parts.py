"""Large parts of a channel: scores from sparse factors, where a singular value decomposition would take a matrix of
all outputs by all inputs.

With A = D⁻¹Q (see `scores`), scores g = D⁻¹h come from the shortest h with Aᵀh nearest to ℓ. Regularised by δ it is

    T(ℓ) = A(AᵀA + δ²)⁻¹ℓ,  the first part of the solution of  [δ A; Aᵀ −δ] (h, z) = (0, ℓ),

a sparse symmetric system with eigenvalues ±√(σ² + δ²), which can be factored in any order without pivoting, as
`elimination` plans it. Directions with σ well above δ are right at once. The others follow by conjugate gradients with
T as preconditioner (CGLS: Hestenes and Stiefel 1952), in a few steps as there are few of them. Directions that nobody
sees never enter h, and what is left of ℓ is what sticks out of the row space.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import block_array, csr_array, dia_array, eye_array
from scipy.sparse.linalg import splu

from privacyfunnel.estimates.tails import TINY
from privacyfunnel.numeric.elimination import Elimination, elimination
from privacyfunnel.numeric.stopping import attentive
from privacyfunnel.typing import Integers, Matrix, Vector

DELTA = 1e-4
"""Singular values above are found by the factors alone. With far smaller ones, factors without pivoting are too rough:
rounding errors grow with (σ/δ)²."""
MOST_STEPS = 40
"""Of conjugate gradients. Channels of real tables take 2 to 8."""
SETTLED = 1e-18
"""Squared, weighed by σ²/(σ² + δ²), and relative to |ℓ|²: what may be left of ℓ in directions that are told. Where σ is
10⁻⁵, the least that counts as told, that is a relative error of 10⁻⁸."""
AT_ONCE = 4_000_000
"""Numbers of the right-hand sides that are solved for together."""
AT_ONCE_WORK = 200_000_000
"""Numbers of the factors times right-hand sides: less than a second, after which signals are heard."""
MOST_NUMBERS = 30_000_000
"""In one factor, both of which take about 1 GiB then, or in a table of outputs or quantities: more would not fit."""
MOST_OPERATIONS = 10**11
"""Of a factorisation: about half a minute."""


class Augmented:
    """The sparse system of a part A = D⁻¹Q, and what its factors will take."""

    def __init__(self, Q: csr_array, weight: Vector) -> None:
        self._weight = weight
        A = dia_array((1 / weight[None, :], [0]), shape=(len(weight), len(weight))).tocsr() @ Q
        self._n_outputs, self._n_inputs = A.shape
        self._back = A.T.tocsr()
        own = [DELTA * eye_array(self._n_outputs), -DELTA * eye_array(self._n_inputs)]
        self._system = block_array([[own[0], A], [self._back, own[1]]], format="csr")
        self.plan: Elimination = elimination(self._system)

    @property
    def fits(self) -> bool:
        """Whether the factors can be had within seconds, and about a gibibyte."""
        return self.plan.numbers <= MOST_NUMBERS and self.plan.operations <= MOST_OPERATIONS

    def factored(self) -> Factored:
        """With its factors."""
        order = self.plan.order
        ordered = self._system[order][:, order].tocsc()
        options = {"SymmetricMode": True}
        lu = attentive(partial(splu, ordered, permc_spec="NATURAL", diag_pivot_thresh=0.0, options=options))
        return Factored(self._system, self._back, self._weight, order, lu)


class Factored:
    """A large part, ready to solve for scores."""

    def __init__(self, system: csr_array, back: csr_array, weight: Vector, order: Integers, lu: Any) -> None:
        self._system, self._back, self._weight, self._order, self._lu = system, back, weight, order, lu

    def __call__(self, targets: Matrix) -> tuple[Matrix, Matrix]:
        """Scores G[t, y] for targets[t, x], and what of these sticks out of the row space."""
        G, R = np.empty((len(targets), len(self._weight))), np.empty(targets.shape)
        at_once = max(1, min(AT_ONCE // len(self._order), AT_ONCE_WORK // self._lu.nnz))
        for start in range(0, len(targets), at_once):
            some = slice(start, start + at_once)
            h, left = self._solved(np.ascontiguousarray(targets[some].T))
            G[some], R[some] = (h / self._weight[:, None]).T, left.T
        return G, R

    def _solved(self, ell: Matrix) -> tuple[Matrix, Matrix]:
        """The shortest h[y, t] with Aᵀh nearest to ell[x, t], and ell − Aᵀh."""
        size = np.maximum((ell**2).sum(axis=0), TINY)
        h, left = np.zeros((len(self._weight), ell.shape[1])), ell.copy()
        ahead, gain = self._regularised(left)
        way = ahead
        for _ in range(MOST_STEPS):
            if (gain <= SETTLED * size).all():
                break
            moved = self._back @ way
            stride = gain / np.maximum((moved**2).sum(axis=0), TINY)
            h += stride * way
            left -= stride * moved
            before = np.maximum(gain, TINY)
            ahead, gain = self._regularised(left)
            way = ahead + gain / before * way
        return h, left

    def _regularised(self, ell: Matrix) -> tuple[Matrix, Vector]:
        """T(ℓ), once refined, and how much of |ℓ|² it accounts for."""
        right = np.concatenate([np.zeros((len(self._weight), ell.shape[1])), ell])
        found = self._by_factors(right)
        found += self._by_factors(right - self._system @ found)
        h = found[: len(self._weight)]
        return h, np.maximum((ell * (self._back @ h)).sum(axis=0), 0.0)

    def _by_factors(self, right: Matrix) -> Matrix:
        found = np.empty_like(right)
        found[self._order] = self._lu.solve(right[self._order])
        return found
