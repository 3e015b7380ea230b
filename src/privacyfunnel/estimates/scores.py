"""Scores: a number for every output, whose mean over the released rows is an unbiased estimate.

A quantity ℓ·p = Σ ℓ[x] P(x) is identified exactly when ℓ is in the row space of Q: then there are scores g with
gᵀQ = ℓᵀ, and E g[Y] = gᵀQp = ℓ·p whatever p is. Where several g do, the one with the smallest variance under
the published marginal q of Y is taken, the generalised least squares solution: with D = diag(√q), it is
g = D⁻¹(D⁻¹Q)⁺ᵀℓ. The variance of the estimate is then |Dg|²/n − (ℓ·p)²/n, so a singular value σ of D⁻¹Q means a
direction of p that n rows tell with standard error 1/(σ√n).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.large_parts import Augmented
from privacyfunnel.numeric.stopping import attentive
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.untold import LEAST_SINGULAR
from privacyfunnel.typing import Integers, Matrix, Vector

IDENTIFIED = 1e-7
"""How far ℓ may stick out of the row space: numbers below 1 then change by less than this."""
INVERSE_STEPS = 30
"""The growth nears 1/σ² by (σ₁/σ₂)² a step; LEAST_SINGULAR is an order of size, so a rough value will do."""
MOST_SMALL = 1_000
"""Outputs and inputs of a part up to which dense matrices are the quickest."""
MOST_PARTS = 500
"""Parts up to which each is decomposed by itself, within a second."""
MOST_DENSE = 9_000_000
"""Outputs times inputs of a part up to which a singular value decomposition takes no more than a minute."""
QUICKLY_DENSE = 4_000_000
"""Outputs times inputs up to which it takes seconds, and is taken where sparse factors would have as many numbers."""
DENSE_COPIES = 5
"""Matrices as large as the channel that it holds at once."""
SMALLEST_MARGINAL = 0.5 / UNIT
"""Stands in for a marginal that was rounded to 0."""


@dataclass(frozen=True, eq=False)
class _Part:
    """Outputs and inputs that are connected with each other and with nothing else, and how ℓ becomes scores there."""

    outputs: Integers
    inputs: Integers
    solve: Callable[[Matrix], tuple[Matrix, Matrix]]
    """Scores G[t, y] for targets[t, x], and what of these sticks out of the row space."""


class Scorer:
    """Scores for quantities of one block."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.n_inputs, self.n_outputs = block.channel.n_inputs, block.channel.n_outputs
        self.marginal: Vector = np.maximum(block.marginal / UNIT, SMALLEST_MARGINAL)
        self._last: tuple[Matrix, Matrix, Matrix] | None = None

    @cached_property
    def Q(self) -> csr_array:  # noqa: N802 - a matrix
        """Q[y, x] = P(y|x), sparse."""
        shape = (self.n_outputs, self.n_inputs)
        return coo_array((self.block.channel.numerators / UNIT, self._places), shape=shape).tocsr()

    @property
    def _places(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(y, x) of every entry of the channel. Graphs and factors of older SciPy know only numbers of 32 bits."""
        channel = self.block.channel
        return channel.outputs.astype(np.int32), channel.inputs.astype(np.int32)

    @cached_property
    def _parts(self) -> list[_Part]:
        """A decomposition of every connected part by itself: real channels fall into many small ones.

        If they are very many, sparse factors of all small ones together take less time.
        """
        channel, b = self.block.channel, self.n_outputs
        size = b + self.n_inputs
        outputs, inputs = self._places
        graph = coo_array((channel.numerators, (outputs, b + inputs)), shape=(size, size))
        n_parts, part = connected_components(graph, directed=False)
        if n_parts > MOST_PARTS:
            part = np.where(np.bincount(part)[part] > MOST_SMALL, part, n_parts)
        order = np.argsort(part, kind="stable")
        return [self._decomposed(members) for members in np.split(order, np.flatnonzero(np.diff(part[order])) + 1)]

    def _decomposed(self, members: Integers) -> _Part:
        outputs, inputs = members[members < self.n_outputs], members[members >= self.n_outputs] - self.n_outputs
        Q, weight = self.Q[outputs][:, inputs], np.sqrt(self.marginal[outputs])
        if len(members) > MOST_SMALL:
            large = Augmented(Q, weight)
            if large.fits and len(outputs) * len(inputs) > min(large.plan.numbers, QUICKLY_DENSE):
                return _Part(outputs, inputs, large.factored())
            check_dense(*Q.shape)
            return _Part(outputs, inputs, attentive(partial(_dense, Q, weight)))
        return _Part(outputs, inputs, _dense(Q, weight))

    def solved(self, targets: Matrix) -> tuple[Matrix, Matrix]:
        """Scores G[t, y] for targets[t, x], and R[t, x]: what of the targets sticks out of the row space."""
        if self._last is None or not np.array_equal(self._last[0], targets):  # the same are often asked for again
            G, R = np.zeros((len(targets), self.n_outputs)), np.zeros(targets.shape)
            for part in self._parts:
                G[:, part.outputs], R[:, part.inputs] = part.solve(targets[:, part.inputs])
            self._last = targets, G, R
        return self._last[1:]

    def scores(self, targets: Matrix) -> Matrix:
        """G[t, y], the scores for targets[t, x]; only those of identified targets mean anything."""
        return self.solved(targets)[0]

    def hidden(self, targets: Matrix) -> Matrix:
        """What of targets[t, x] sticks out of the row space: how they change where the released rows do not."""
        return self.solved(targets)[1]

    def identified(self, targets: Matrix) -> NDArray[np.bool_]:
        """Which targets[t, x] the released rows tell."""
        size = np.abs(targets).max(axis=1, initial=0.0)
        return np.asarray(np.abs(self.hidden(targets)).max(axis=1, initial=0.0) <= IDENTIFIED * np.maximum(size, 1.0))

    def groups(self, targets: Matrix) -> list[Integers]:
        """Targets that are told together: singly where identified, else the smallest sets found with a told sum.

        Along the directions of p that nobody sees, targets move by the rows R of `hidden`. These rows fall into sets
        that move independently of each other; if the sum of all targets is told, so is that of each set. Within a
        set, two targets that move in opposite ways are told by themselves.
        """
        R = self.hidden(targets)
        size = np.maximum(np.abs(targets).max(axis=1, initial=0.0), 1.0)
        loose = np.flatnonzero(np.abs(R).max(axis=1, initial=0.0) > IDENTIFIED * size)
        found = [np.array([t]) for t in range(len(targets)) if t not in set(loose.tolist())]
        if loose.size:
            U, sigma, _ = np.linalg.svd(R[loose], full_matrices=False)
            U = U[:, sigma > IDENTIFIED]
            _, part = connected_components(csr_array(np.abs(U @ U.T) > IDENTIFIED), directed=False)
            for label in range(part.max() + 1):
                found += _opposites(loose[part == label], R)
        return sorted(found, key=lambda group: int(group[0]))


def _opposites(members: Integers, R: Matrix) -> list[Integers]:
    """The set, with pairs that move in opposite ways taken out of it."""
    left, pairs = members.tolist(), []
    for i in members.tolist():
        if i not in left or len(left) == 2:
            continue
        against = [j for j in left if j != i and np.abs(R[i] + R[j]).max() <= IDENTIFIED]
        if against:
            pairs.append(np.array([i, against[0]]))
            left = [j for j in left if j not in (i, against[0])]
    return [*pairs, np.array(left)] if left else pairs


def check_dense(n_outputs: int, n_inputs: int) -> None:
    """Refuse a part that is neither sparse enough for factors nor small enough for a dense decomposition."""
    if n_outputs * n_inputs > MOST_DENSE:
        raise InvalidInput(
            f"{n_inputs:,} values that this protocol releases as {n_outputs:,} others are too entangled to work shares "
            f"back: it would take {8 * DENSE_COPIES * n_outputs * n_inputs / 2**30:,.1f} GiB and long; only rows of a "
            "faithful release of the fitted table can be counted (--rows fitted), or publishers use fewer columns"
        )


def _dense(Q: csr_array, weight: Vector) -> Callable[[Matrix], tuple[Matrix, Matrix]]:
    """How targets become scores in a small part, by LU factors or a singular value decomposition."""
    lu = _factors(Q, weight) if Q.shape[0] == Q.shape[1] else None
    if lu is not None:
        return lambda ell: (lu.solve(ell.T, trans="T").T, np.zeros_like(ell))
    U, sigma, V = np.linalg.svd(Q.toarray() / weight[:, None], full_matrices=False)
    told = sigma > LEAST_SINGULAR
    rows, back = V[told], (U[:, told] / sigma[told] / weight[:, None]).T

    def solve(ell: Matrix) -> tuple[Matrix, Matrix]:
        within = ell @ rows.T
        return within @ back, ell - within @ rows

    return solve


def _factors(Q: csr_array, weight: Vector) -> Any:
    """LU factors of a square sparse Q whose every direction is told; None if some is not.

    The smallest singular value of D⁻¹Q comes from inverse iteration: v ← (AᵀA)⁻¹v for A = D⁻¹Q grows by 1/σ².
    """
    try:
        lu = splu(Q.tocsc())
    except RuntimeError:  # exactly singular
        return None
    v = np.random.default_rng(0).standard_normal(len(weight))
    growth = 0.0
    with np.errstate(all="ignore"):  # nearly singular factors overflow, and then growth is not finite
        for _ in range(INVERSE_STEPS):
            v /= np.linalg.norm(v)
            v = lu.solve(weight * (weight * lu.solve(v, trans="T")))
            growth = float(np.linalg.norm(v))
    return lu if np.isfinite(growth) and growth * LEAST_SINGULAR**2 < 1 else None
