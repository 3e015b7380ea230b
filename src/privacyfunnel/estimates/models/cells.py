"""Shares of combinations of values, and the covariance of any numbers that are sums of them.

Whatever a model asks for is linear in the shares w of the combinations of values of its columns: a sum Σ_t φ_t w_t. How
w is found depends on the release; its covariance, Cov(Φw) for a matrix Φ, is all that standard errors need.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from privacyfunnel.estimates.measuring import FEWEST_EXPECTED, PSEUDO_ROWS, Way, check_size
from privacyfunnel.estimates.noisy_counts import NoisyCounts
from privacyfunnel.estimates.scores import IDENTIFIED, Scorer
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.reading_back import Tally
from privacyfunnel.typing import Integers, Matrix, Vector


class CellShares(ABC):
    """Shares of the combinations of values of some columns."""

    way: Way
    codes: Integers
    """codes[t, j]: the value of the j-th column in the combination t."""
    weights: Vector
    """Their shares: unbiased, so some may be below 0."""

    @property
    @abstractmethod
    def planned(self) -> Vector:
        """The shares that the protocol publishes."""

    @abstractmethod
    def covariance(self, phi: Matrix, planned: bool = False) -> Matrix:
        """Of Σ_t phi[j, t] w[t]; by the protocol alone, if `planned`."""

    def untold(self, phi: Matrix) -> NDArray[np.bool_]:
        """Which of phi[j, :] the released rows do not tell."""
        return np.zeros(len(phi), dtype=bool)

    def tuned(self, phi: Matrix) -> CellShares:
        """The same, as sharp as it can be for some numbers."""
        return self


def cell_shares(protocol: Protocol, tally: Tally, way: Way, names: Sequence[str]) -> CellShares:
    """The shares of the combinations of values of some columns, in the order of their names.

    Columns of several blocks are always worked back: rows of one block are drawn without looking at the others.
    """
    place = {name: (k, j) for k, block in enumerate(protocol.blocks) for j, name in enumerate(block.attributes)}
    blocks = sorted({place[name][0] for name in names})
    own = {k: [place[name][1] for name in names if place[name][0] == k] for k in blocks}
    if way == "counted" and len(blocks) == 1:
        (k,) = blocks
        seen = np.bincount(tally.outputs[:, k], tally.counts, len(protocol.blocks[k].labels)) / tally.rows
        scorer = Scorer(protocol.blocks[k])
        if protocol.noise is not None:
            return _Corrected.of(scorer, NoisyCounts.of(protocol, k), own[k], seen, tally.rows)
        return _Counted.of(scorer, own[k], seen, tally.rows, protocol.people or tally.rows)
    return _WorkedBack.of([Scorer(protocol.blocks[k]) for k in blocks], blocks, own, tally, list(names), place)


def _drawing(Q: csr_array, p: Vector, out: Matrix) -> Matrix:
    """E Cov(φ(X′)|X) by the published p, for φ over outputs."""
    mean = np.asarray((Q.T @ out.T).T)
    return np.asarray((out * (Q @ p)) @ out.T - (mean * p) @ mean.T)


def _spread(out: Matrix, f: Vector) -> Matrix:
    """The covariance of out[j, y] under the distribution f."""
    mean = out @ f
    return np.asarray((out * f) @ out.T - np.outer(mean, mean))


@dataclass(frozen=True, eq=False)
class _Counted(CellShares):
    """Rows of a faithful release of the fitted table, as they stand: sampled once, and drawn."""

    scorer: Scorer
    codes: Integers
    cell: Integers
    """Of each output."""
    seen: Vector
    """Shares of outputs among released rows."""
    rows: int
    people: int
    way: Way = "counted"

    @classmethod
    def of(cls, scorer: Scorer, own: Sequence[int], seen: Vector, rows: int, people: int) -> _Counted:
        codes, cell = np.unique(scorer.block.codes[:, own], axis=0, return_inverse=True)
        return cls(scorer, codes, cell.ravel()[scorer.block.labels], seen, rows, people)

    @cached_property
    def weights(self) -> Vector:  # type: ignore[override]
        return np.bincount(self.cell, self.seen, len(self.codes)).astype(np.float64)

    @property
    def _p(self) -> Vector:
        return np.asarray(self.scorer.marginal / self.scorer.marginal.sum())

    @property
    def planned(self) -> Vector:
        return np.bincount(self.cell, self.scorer.Q @ self._p, len(self.codes)).astype(np.float64)

    def covariance(self, phi: Matrix, planned: bool = False) -> Matrix:
        out = phi[:, self.cell]
        f = self.scorer.Q @ self._p if planned else self.seen
        drawn = _drawing(self.scorer.Q, self._p, out)
        return np.asarray(_spread(out, f) / min(self.rows, self.people) + drawn / max(self.rows, self.people))


@dataclass(frozen=True, eq=False)
class _Corrected(CellShares):
    """Rows of a private faithful release, counted, and set right by the noisy counts: see estimates/corrected.py."""

    scorer: Scorer
    noisy: NoisyCounts
    codes: Integers
    listed: Integers
    """The cell of each combination of the noisy counts."""
    cell: Integers
    """Of each output."""
    seen: Vector
    rows: int
    part: float = 1.0
    """λ: how much of the released rows is in each share."""
    way: Way = "counted"

    @classmethod
    def of(cls, scorer: Scorer, noisy: NoisyCounts, own: Sequence[int], seen: Vector, rows: int) -> _Corrected:
        codes, listed = np.unique(noisy.codes[:, own], axis=0, return_inverse=True)
        listed = listed.ravel()
        return cls(scorer, noisy, codes, listed, listed[noisy.inputs[scorer.block.labels]], seen, rows)

    @property
    def planned(self) -> Vector:
        return np.bincount(self.listed, self._known, len(self.codes)).astype(np.float64)

    @cached_property
    def _known(self) -> Vector:
        """Shares of combinations by the noisy counts alone, with the noise that all cells share taken out."""
        noisy = self.noisy
        missing = noisy.people - float(noisy.counts.sum()) if noisy.whole else 0.0
        return np.asarray((noisy.counts + noisy.share * missing) / noisy.people)

    @cached_property
    def weights(self) -> Vector:  # type: ignore[override]
        size = len(self.codes)
        inputs = np.bincount(self.noisy.read_as, self._known, self.scorer.n_inputs)
        expected = np.bincount(self.cell, self.scorer.Q @ inputs, size)
        counted = np.bincount(self.cell, self.seen, size)
        return np.asarray(self.planned + self.part * (counted - expected))

    def _kept(self, out: Matrix) -> Matrix:
        """E(φ(X′) | x) for every combination x of the noisy counts."""
        return np.asarray((self.scorer.Q.T @ out.T).T)[:, self.noisy.read_as]

    def covariance(self, phi: Matrix, planned: bool = False) -> Matrix:
        noisy, out = self.noisy, phi[:, self.cell]
        kept = self._kept(out)
        left = noisy.centred(phi[:, self.listed]) - self.part * noisy.centred(kept)
        noise = noisy.variance / noisy.people**2 * ((left * noisy.cells) @ left.T)
        p = self.scorer.marginal / self.scorer.marginal.sum()
        drawn = self.part**2 * _drawing(self.scorer.Q, p, out) / max(self.rows, noisy.people)
        lean = self.part * ((kept - phi[:, self.listed]) @ noisy.leaning) / noisy.people
        f = self.scorer.Q @ p if planned else self.seen
        return np.asarray(_spread(out, f) / min(self.rows, noisy.people) + noise + drawn + np.outer(lean, lean))

    def tuned(self, phi: Matrix) -> CellShares:
        """With the λ that has the least sum of variances, each as a multiple of what it is with λ = 1."""
        if not self.noisy.whole:
            return self
        none, half, all_ = (np.diag(replace(self, part=part).covariance(phi)) for part in (0.0, 0.5, 1.0))
        scale = np.maximum(all_, np.finfo(float).tiny)
        square, straight = (
            ((2 * none - 4 * half + 2 * all_) / scale).sum(),
            ((4 * half - 3 * none - all_) / scale).sum(),
        )
        part = float(np.clip(-straight / (2 * square), 0.0, 1.0)) if square > 0 else 1.0
        return replace(self, part=part)


@dataclass(frozen=True, eq=False)
class _Axis:
    """One block of those that a model needs: its cells, their scores, and what of them is hidden."""

    codes: Integers
    G: Matrix
    """G[t, y]: scores of each cell."""
    H: Matrix
    """H[t, x]: what of each cell sticks out of what the channel tells."""
    marginal: Vector
    planned: Vector

    @classmethod
    def of(cls, scorer: Scorer, own: Sequence[int]) -> _Axis:
        codes, cell = np.unique(scorer.block.codes[:, own], axis=0, return_inverse=True)
        check_size((len(codes), max(scorer.n_inputs, scorer.n_outputs)))
        rows = np.zeros((len(codes), scorer.n_inputs))
        rows[cell.ravel(), np.arange(scorer.n_inputs)] = 1.0
        G, H = scorer.solved(rows)
        q = scorer.marginal / scorer.marginal.sum()
        return cls(codes, G, H, q, G @ q)


@dataclass(frozen=True, eq=False)
class _WorkedBack(CellShares):
    """Rows of any release, worked back from how each block draws them."""

    axes: list[_Axis]
    codes: Integers
    seen: Integers
    """seen[s, k]: outputs that occur together."""
    f: Vector
    rows: int
    way: Way = "channel"

    @classmethod
    def of(
        cls,
        scorers: Sequence[Scorer],
        blocks: Sequence[int],
        own: dict[int, list[int]],
        tally: Tally,
        names: list[str],
        place: dict[str, tuple[int, int]],
    ) -> _WorkedBack:
        axes = [_Axis.of(scorer, own[k]) for scorer, k in zip(scorers, blocks, strict=True)]
        shape = tuple(len(axis.codes) for axis in axes)
        check_size((*shape, len(names)))
        at = np.indices(shape).reshape(len(shape), -1)
        joined = np.concatenate([axis.codes[t] for axis, t in zip(axes, at, strict=True)], axis=1)
        order = [(k, j) for k in blocks for j in own[k]]
        codes = joined[:, [order.index(place[name]) for name in names]]
        seen, of = np.unique(tally.outputs[:, blocks], axis=0, return_inverse=True)
        return cls(axes, codes, seen, np.bincount(of.ravel(), tally.counts) / tally.rows, tally.rows)

    @cached_property
    def weights(self) -> Vector:  # type: ignore[override]
        found = np.zeros(self._shape)
        scores = [axis.G[:, self.seen[:, k]] for k, axis in enumerate(self.axes)]
        if len(scores) == 1:
            return np.asarray(scores[0] @ self.f)
        for s in range(len(self.f)):
            cell = np.asarray(self.f[s])
            for G in scores:
                cell = np.multiply.outer(cell, G[:, s])
            found += cell
        return found.ravel()

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(len(axis.codes) for axis in self.axes)

    @property
    def planned(self) -> Vector:
        found = np.ones(())
        for axis in self.axes:
            found = np.multiply.outer(found, axis.planned)
        return np.asarray(found.ravel())

    def covariance(self, phi: Matrix, planned: bool = False) -> Matrix:
        """With a few pseudo-rows; outputs of which few are expected count at least as much as expected."""
        outputs, f = self._mixed(planned)
        scores = self._scores(phi, outputs)
        mean = scores @ f / f.sum()
        centred = scores - mean[:, None]
        return np.asarray((centred * f) @ centred.T / self.rows)

    def _mixed(self, planned: bool) -> tuple[Integers, Vector]:
        """Outputs and their shares. Of several blocks, only those that occur: all would be too many."""
        expected = np.prod([axis.marginal[self.seen[:, k]] for k, axis in enumerate(self.axes)], axis=0)
        if len(self.axes) > 1:
            return self.seen, expected / expected.sum() if planned else self.f
        q = self.axes[0].marginal
        outputs = np.arange(len(q))[:, None]
        if planned:
            return outputs, q
        seen = np.bincount(self.seen[:, 0], self.f, len(q))
        share = PSEUDO_ROWS / (self.rows + PSEUDO_ROWS)
        mixed = (1 - share) * seen + share * q
        return outputs, np.where(self.rows * q < FEWEST_EXPECTED, np.maximum(mixed, q), mixed)

    def _scores(self, phi: Matrix, outputs: Integers) -> Matrix:
        """g[j, s] = Σ_t phi[j, t] Π_k G_k[t_k, y_k(s)]."""
        found = phi.reshape(len(phi), *self._shape)
        if len(self.axes) == 1:
            return np.asarray(found @ self.axes[0].G[:, outputs[:, 0]])
        check_size((*found.shape[:-1], len(outputs)))
        found = np.tensordot(found, self.axes[-1].G[:, outputs[:, -1]], axes=1)  # [j, t, …, s]
        for k in range(len(self.axes) - 2, -1, -1):
            found = np.einsum("...ts,ts->...s", found, self.axes[k].G[:, outputs[:, k]])
        return np.asarray(found)

    def untold(self, phi: Matrix) -> NDArray[np.bool_]:
        found = phi.reshape(len(phi), *self._shape)
        size = np.maximum(np.abs(phi).max(axis=1, initial=0.0), 1.0)
        hidden = np.zeros(len(phi))
        for k, axis in enumerate(self.axes):
            apart = np.moveaxis(found, k + 1, -1) @ axis.H
            hidden = np.maximum(hidden, np.abs(apart).reshape(len(phi), -1).max(axis=1, initial=0.0))
        return np.asarray(hidden > IDENTIFIED * size)
