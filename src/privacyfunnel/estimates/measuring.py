"""Measuring: quantities of the original rows, from tallies of the released ones and scores.

A quantity is a product of one factor for each block, so its scores are products, too, and all cells of a table of
quantities come from the tally by multiplying one axis at a time: the Kronecker product is never formed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.likelihood import most_likely
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.tables.reading_back import Tally
from privacyfunnel.typing import Matrix, Vector

MOST_CELLS = 30_000_000
"""Numbers in a table of outputs or quantities: more would not fit."""
MOST_MODELLED = 300_000
"""Values of X of which the most likely distribution is found within seconds."""
PSEUDO_ROWS = 4.0
"""Rows of the published marginal that are mixed into variances (Agresti and Coull), so that none is 0 by luck."""

Targets = Mapping[int, Matrix]
"""For each block that matters, rows over its inputs; the quantities are all products of one row of each."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Estimates of products of quantities: arrays with one axis for each block that matters."""

    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    """Standard errors."""
    identified: NDArray[np.bool_]
    rows: float
    """The released rows that come from the people in question: all, or those in the group."""


class Meter:
    """Measures on the tally of a released table."""

    def __init__(self, tally: Tally, scorers: Sequence[Scorer]) -> None:
        self.tally, self.scorers = tally, scorers
        self.rows = tally.rows
        self._likely: dict[tuple[int, ...], NDArray[np.float64]] = {}

    def shares(self, blocks: Sequence[int]) -> NDArray[np.float64]:
        """f[y, y′, …]: the observed frequencies of the outputs of some blocks."""
        shape = tuple(self.scorers[k].n_outputs for k in blocks)
        _check_size(shape)
        f = np.zeros(shape)
        np.add.at(f, tuple(self.tally.outputs[:, k] for k in blocks), self.tally.counts / self.rows)
        return f

    def likely(self, blocks: Sequence[int]) -> NDArray[np.float64] | None:
        """p[x, x′, …]: the most likely distribution of the inputs of some blocks; None if these are too many."""
        key = tuple(blocks)
        if np.prod([self.scorers[k].n_inputs for k in key], dtype=np.float64) > MOST_MODELLED:
            return None
        if key not in self._likely:
            self._likely[key] = most_likely(self.shares(key), [self.scorers[k].Q for k in key])
        return self._likely[key]

    def measure(self, targets: Targets, given: Targets | None = None) -> Measured:
        """Every quantity ℓ·p; with `given` (one row for each block), every quotient ℓ·p / given·p.

        A mean of scores has the variance of the scores over n. A quotient N/D has that of the scores
        (g_N − (N/D)·g_D) / D, to first order.
        """
        blocks = sorted({*targets, *(given or {})})
        told = {k: targets[k] if k in targets else np.ones((1, self.scorers[k].n_inputs)) for k in blocks}
        _check_size(tuple(len(told[k]) for k in blocks))
        f = self.shares(blocks)
        G = [self.scorers[k].scores(told[k]) for k in blocks]
        known = _outer([self.scorers[k].identified(told[k]).astype(np.float64) for k in blocks]) > 0
        N, NN = self._moments(f, G, G, blocks)
        if given is None:
            return Measured(N, np.sqrt(np.maximum(NN - N**2, 0.0) / self.rows), known, self.rows)
        rows = [given[k] if k in given else np.ones((1, self.scorers[k].n_inputs)) for k in blocks]
        H = [self.scorers[k].scores(row) for k, row in zip(blocks, rows, strict=True)]
        D, DD = self._moments(f, H, H, blocks)
        _, ND = self._moments(f, G, [np.broadcast_to(h, g.shape) for g, h in zip(G, H, strict=True)], blocks)
        ratio = N / D
        spread = np.maximum(NN - 2 * ratio * ND + ratio**2 * DD, 0.0)
        each = all(self.scorers[k].identified(row).all() for k, row in zip(blocks, rows, strict=True))
        return Measured(ratio, np.sqrt(spread / self.rows) / np.abs(D), known & each, float(self.rows * D.item()))

    def _moments(
        self, f: NDArray[np.float64], G: list[Matrix], H: list[Matrix], blocks: list[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean of the scores g, and that of g·h with a few pseudo-rows mixed in."""
        products = [g * h for g, h in zip(G, H, strict=True)]
        share = PSEUDO_ROWS / (self.rows + PSEUDO_ROWS)
        expected = _outer([m @ self.scorers[k].marginal for m, k in zip(products, blocks, strict=True)])
        return contract(f, G), (1 - share) * contract(f, products) + share * expected


def contract(f: NDArray[np.float64], matrices: Sequence[Matrix]) -> NDArray[np.float64]:
    """Σ f[y, y′, …]·G[t, y]·G′[t′, y′]·… at [t, t′, …]."""
    for axis, G in enumerate(matrices):
        f = np.moveaxis(np.tensordot(G, f, axes=(1, axis)), 0, axis)
    return np.asarray(f)


def _outer(vectors: Sequence[Vector]) -> NDArray[np.float64]:
    """The product v[t]·w[t′]·… at [t, t′, …]."""
    found = np.ones((1,) * len(vectors))
    for axis, vector in enumerate(vectors):
        found = found * vector.reshape([-1 if i == axis else 1 for i in range(len(vectors))])
    return found


def _check_size(shape: tuple[int, ...]) -> None:
    if np.prod(shape, dtype=np.float64) > MOST_CELLS:
        cells = " × ".join(map(str, shape))
        raise InvalidInput(f"a table of {cells} cells is too large; ask for fewer attributes at a time")
