"""Noisy counts of a private fit: what its file tells of the table that it was fitted on, by combinations of values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import log_ndtr

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.noise import Noise, weights_of
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.estimates.intervals import quantile
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Integers, Matrix, Vector

MOST_LISTED = 50_000
"""Combinations of values that are looked at one by one: tables of shares have a number for each of them."""
LAPLACE_KURTOSIS = 3.0
"""Excess kurtosis of Laplace noise; of a sum it is smaller."""
STEPS = 30
"""Of an iteration towards a number that only widens intervals: a rough value will do."""
FISHER = 24.0
"""Cornish and Fisher: a kurtosis κ moves the quantile z by (z³ − 3z)κ/24."""


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Combinations of values, and how many people of the fitted table have each, with noise."""

    codes: Integers = field(repr=False)
    """codes[i, j]: the value of column j in the combination i."""
    counts: Vector = field(repr=False)
    cells: Vector = field(repr=False)
    """How many noisy cells each count is the sum of."""
    read_as: Integers = field(repr=False)
    """The input as which the protocol reads each combination."""
    inputs: Integers = field(repr=False)
    """inputs[x]: which combination the input x is."""
    scale: float
    people: int
    whole: bool
    """Whether these are all combinations of the domain; if not, some people have others."""

    @classmethod
    def of(cls, protocol: Protocol) -> NoisyCounts:
        """What the file tells."""
        noise, block = _noise(protocol), protocol.block
        codes, counts, cells = _marginal(noise, protocol, block)
        whole = noise.codes is None
        inputs = _places(block.codes, codes)
        if len(codes) > MOST_LISTED:
            codes, counts, cells = codes[inputs], counts[inputs], cells[inputs]
            whole, inputs = False, np.arange(len(inputs))
        read_as = np.full(len(codes), -1, dtype=np.int64)
        read_as[inputs] = np.arange(len(inputs))
        other = read_as < 0
        read_as[other] = block.read(codes[other])
        lost = (
            read_as < 0
        )  # nobody is told to have these values of exact columns: what noise says of them goes anywhere
        if lost.any():
            read_as[lost] = replace(block, exact=()).read(codes[lost])
        return cls(codes, counts, cells, read_as, inputs, noise.scale, noise.people, whole)

    @property
    def variance(self) -> float:
        """Of the noise of one cell: 2α/(1 − α)² with α = e^(−1/scale), about 2·scale²."""
        alpha = math.exp(-1 / self.scale)
        return 2 * alpha / (1 - alpha) ** 2

    @cached_property
    def share(self) -> Vector:
        """Of the noisy cells, behind each combination."""
        return np.asarray(self.cells / self.cells.sum())

    def centred(self, rows: Matrix) -> Matrix:
        """rows[t, i] less their mean: how many people there are is known, so noise that all cells share is, too.

        Where people have combinations that are not listed, their number is not known, and rows stay as they are.
        """
        return rows - (rows @ self.share)[:, None] if self.whole else rows

    def sums(self, rows: Matrix) -> Vector:
        """Unbiased estimates of Σ rows[t, x] over the people of the fitted table who have listed combinations."""
        missing = self.people - float(self.counts.sum())
        known = (rows @ self.share) * missing if self.whole else 0.0
        return np.asarray(rows @ self.counts + known)

    @cached_property
    def rare(self) -> NDArray[np.bool_]:
        """Which combinations did not become inputs: they are read as others."""
        rare = np.ones(len(self.codes), dtype=bool)
        rare[self.inputs] = False
        return rare

    @cached_property
    def leaning(self) -> Vector:
        """About the noise that is expected of combinations that did not become inputs; 0 for those that did.

        Where noise decides it, it is too low on average: with normal noise of standard deviation σ and a threshold T,
        E(z | N + z < T) = −σφ(a)/Φ(a), a = (T − N)/σ. They are taken to have all the same N, that which gives them the
        counts that they have on average.
        """
        rare = self.rare
        if not rare.any():
            return np.zeros(len(self.codes))
        least = float(np.sort(self.counts)[int(rare.sum())])  # as many lie below it
        mean, deviation = float(self.counts[rare].mean()), math.sqrt(self.variance * float(self.cells[rare].mean()))
        people = mean
        for _ in range(STEPS):
            a = (least - people) / deviation
            people = mean + deviation * math.exp(-(a**2) / 2 - float(log_ndtr(a))) / math.sqrt(2 * math.pi)
        return np.where(rare, mean - people, 0.0)

    def unlisted(self, tail: float) -> float:
        """No more people have other combinations, but for the chance `tail`."""
        if self.whole:
            return 0.0
        cells = float(self.cells.sum())
        off = reach(math.sqrt(self.variance * cells), LAPLACE_KURTOSIS / max(1.0, cells), tail)
        return min(float(self.people), max(0.0, self.people - float(self.counts.sum())) + float(off))

    def most(self, weights: Matrix, largest: float, tail: float) -> Vector:
        """Σ weights[t, x] N_x ≥ 0 is no more, but for the chance `tail`; anybody who is not listed has the `largest`.

        For people of whom those of the fitted table are a sample, their share of whom varies as counts do.
        """
        people = np.maximum(self.sums(weights) - weights @ self.leaning, 0.0)
        centred = self.centred(weights)
        noise = self.variance * (centred**2 @ self.cells)
        variance = noise + people * weights.max(axis=1)
        fourth = LAPLACE_KURTOSIS * self.variance**2 * (centred**4 @ self.cells)
        kurtosis = np.divide(fourth, variance**2, out=np.zeros(len(weights)), where=variance > 0)
        return np.asarray(people + reach(np.sqrt(variance), kurtosis, tail) + largest * self.unlisted(tail))

    def expected(self, moves: csr_array) -> tuple[Vector, Vector]:
        """The expected number of released rows in A, moves[A, x] = P(x′ in A | input x), and the variance by noise."""
        n = moves.shape[1]
        counts, cells = (np.bincount(self.read_as, values, n) for values in (self.counts, self.cells))
        mean = (moves @ cells) / cells.sum() if self.whole else np.zeros(moves.shape[0])
        near = moves @ counts + mean * (self.people - counts.sum())
        squares = moves.multiply(moves) @ cells - mean**2 * cells.sum()
        return np.asarray(near), np.asarray(self.variance * np.maximum(squares, 0.0))


def reach(deviation: Vector | float, kurtosis: Vector | float, tail: float) -> Vector:
    """What noise exceeds with the chance `tail`, from its standard deviation and its excess kurtosis.

    By Cornish and Fisher, and at most as far as noise of a single cell, which has the heaviest tail of all sums.

    >>> [round(float(reach(1.0, kurtosis, 0.025)), 2) for kurtosis in (0.0, 1.5, 3.0)]
    [1.96, 2.06, 2.12]
    """
    z = quantile(tail)
    moved = z + np.asarray(kurtosis) * max(0.0, z**3 - 3 * z) / FISHER
    return np.asarray(deviation * np.minimum(moved, max(z, -math.log(2 * tail) / math.sqrt(2))))


def read_otherwise(protocol: Protocol) -> int:
    """About how many people of the fitted table have a combination that is read as another one, by the noisy counts."""
    noise = _noise(protocol)
    weights, person = weights_of(noise, _columns(noise, protocol))
    return max(0, round(noise.people - float(weights.sum(axis=0)[_inputs(protocol)].sum()) / person))


def most_read_otherwise(protocol: Protocol, tail: float) -> float:
    """No more people have a combination that is read as another one, but for the chance `tail` of the noise."""
    noisy = NoisyCounts.of(protocol)
    found = noisy.most(noisy.rare[None, :].astype(np.float64), 1.0, tail)
    return min(float(noisy.people), float(found.item()))


def _inputs(protocol: Protocol) -> NDArray[np.bool_]:
    """Which combinations of the noisy counts are read as they are."""
    noise = _noise(protocol)
    codes = noise.combinations(_columns(noise, protocol))
    return _places(codes[:, _own(noise, protocol.block)], protocol.block.codes) >= 0


def _noise(protocol: Protocol) -> Noise:
    if protocol.noise is None:
        raise InvalidProtocol("this protocol carries no noisy counts: it was not fitted privately")
    return protocol.noise


def _columns(noise: Noise, protocol: Protocol) -> Sequence[Column]:
    columns = {column.name: column for column in protocol.columns}
    return [columns[name] for name in noise.attributes]


def _own(noise: Noise, block: Block) -> list[int]:
    return [noise.attributes.index(name) for name in block.attributes]


def _marginal(noise: Noise, protocol: Protocol, block: Block) -> tuple[Integers, Vector, Vector]:
    """Combinations of a block's columns, their noisy counts, and of how many cells these are the sums."""
    own, columns = _own(noise, block), _columns(noise, protocol)
    total = noise.counts.sum(axis=0)
    if noise.codes is not None:
        codes, of = np.unique(noise.codes[:, own], axis=0, return_inverse=True)
        told = np.count_nonzero(noise.counts, axis=0)
        counts, cells = (np.bincount(of.ravel(), values).astype(np.float64) for values in (total, told))
        return codes, counts, cells
    sizes = [len(column) for column in columns]
    kept, others = sorted(own), tuple(j for j in range(len(sizes)) if j not in own)
    summed = total.reshape(sizes).sum(axis=others).transpose([kept.index(j) for j in own])
    codes = np.indices(summed.shape).reshape(summed.ndim, -1).T
    cells = noise.counts.size / summed.size
    return codes, summed.ravel().astype(np.float64), np.full(summed.size, cells)


def _places(codes: Integers, among: Integers) -> Integers:
    """Where each combination codes[i, :] is in among[:, :]; −1 where it is not."""
    place = {row: i for i, row in enumerate(map(tuple, among.tolist()))}
    return np.array([place.get(row, -1) for row in map(tuple, codes.tolist())], dtype=np.int64)


def is_share(rows: Matrix) -> NDArray[np.bool_]:
    """Which rows count people, rather than adding up numbers of theirs."""
    return np.asarray(((rows == 0) | (rows == 1)).all(axis=1))
