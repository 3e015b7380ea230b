"""Rehearsing tables: people drawn from a model, counted in the same noisy tables again, and modelled anew."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from privacyfunnel.distribution.fitting import fitted_model
from privacyfunnel.distribution.gaussian import GaussianNoise, noise_for
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.laplace_split import LaplaceNoise, LaplaceSplit
from privacyfunnel.distribution.marginals import Marginals, Own, all_pairs, all_tables
from privacyfunnel.distribution.pair_model import PairModel
from privacyfunnel.optimiser.rehearsal import Published, Rehearsal
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.public_part import PublicPart
from privacyfunnel.typing import Integers, Vector


@dataclass(frozen=True, eq=False)
class PublishedTables(Published):
    """Noisy tables of columns and pairs of them, and the model that follows."""

    public: PublicPart
    weights: Integers
    """weights[s, x] of the model."""
    tables: tuple[Own, ...]
    """The columns of the tables that have noise of their own."""
    noise: GaussianNoise | LaplaceNoise
    private: float
    level: float
    """ε of the promise, on which δ₀ of Gaussian noise depends."""
    make: Callable[[PublishedTables, Marginals, PairModel, Notion], tuple[Protocol, bool]]
    """Makes the protocol of a model for a promise, and says whether time ran out."""

    @property
    def epsilon(self) -> float:
        """ε₀ of the noise."""
        return self.private

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns."""
        return self.public.attributes

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each of them has."""
        return tuple(len(column) for column in self.public.columns)

    @property
    def combinations(self) -> int:
        """Of values in the domain."""
        return math.prod(self.sizes)

    def at(self, epsilon: float) -> PublishedTables:
        """The same model with the noise of another ε₀."""
        choosing = self.noise.choosing * epsilon / self.private
        return replace(self, private=epsilon, noise=self._noise(len(self.tables), epsilon, choosing))

    def _noise(self, tables: int, epsilon: float, choosing: float) -> GaussianNoise | LaplaceNoise:
        if isinstance(self.noise, LaplaceNoise):
            return LaplaceNoise(choosing)
        return noise_for(tables, epsilon, self.noise.delta, self.level, choosing)

    def without(self, name: str) -> PublishedTables:
        """The same with a column less."""
        gone, sizes = self.attributes.index(name), self.sizes
        whole = self.weights.reshape(len(self.weights), *sizes).sum(axis=gone + 1)
        fewer = self._tables([tuple(j - (j > gone) for j in own) for own in self.tables if gone not in own])
        columns = tuple(column for column in self.public.columns if column.name != name)
        return replace(
            self,
            public=replace(self.public, columns=columns),
            weights=whole.reshape(len(whole), -1),
            tables=fewer,
            noise=self._noise(len(fewer), self.private, self.noise.choosing),
        )

    def _tables(self, left: list[Own]) -> tuple[Own, ...]:
        """Of one column less, when these are left: all pairs, or as many as Laplace noise is drawn on, and columns."""
        columns = len(self.sizes) - 1
        if not isinstance(self.noise, LaplaceNoise):
            return tuple(all_tables(columns))
        pairs = [own for own in left if len(own) > 1]
        pairs += [pair for pair in all_pairs(columns) if pair not in pairs]
        return (*((j,) for j in range(columns)), *sorted(pairs[: LaplaceSplit.of(columns, self.private).pairs]))

    def rehearsal(self, i: int) -> Rehearsal:
        """As many people, noise of the same kind, and the model anew."""
        seed = self._seed(i)
        rng = np.random.default_rng(seed)
        p = self.weights.astype(np.float64)
        counts = rng.multinomial(self.public.people, (p / p.sum()).ravel()).reshape(p.shape)
        for s in np.flatnonzero(counts.sum(axis=1) == 0):  # every value of the secret has somebody
            counts[s, p[s].argmax()] = 1
        marginals = self._noised(counts, rng)
        model = fitted_model(marginals)
        nobody = np.zeros(0, dtype=np.int64)  # of the secret: such a model is not fitted
        return Rehearsal(self._people(counts), lambda notion: self.make(self, marginals, model, notion), nobody, seed)

    def _people(self, counts: Integers) -> Joint:
        there, public = np.flatnonzero(counts.sum(axis=0)), self.public
        codes = np.stack(np.unravel_index(there, self.sizes), axis=1).astype(np.int64)
        values, columns = public.secret_values, public.secret_columns
        return Joint.from_codes(counts[:, there], codes, public.columns, public.secret, values, columns)

    def _noised(self, counts: Integers, rng: np.random.Generator) -> Marginals:
        whole, sizes = counts.reshape(len(counts), *self.sizes), self.sizes
        every = range(len(sizes))
        exact = {own: whole.sum(axis=tuple(j + 1 for j in every if j not in own)) for own in self.tables}
        if isinstance(self.noise, GaussianNoise):
            sigma, variance = self.noise.sigma, self.noise.variance
            drawn = {own: table + _whole(rng.normal(0.0, sigma, table.shape)) for own, table in exact.items()}
            return Marginals.of(self.public.people, sizes, drawn, variance, variance)
        split = LaplaceSplit.of(len(sizes), self.noise.left(self.private))
        parts = {own: split.for_single if len(own) == 1 else split.for_pair for own in exact}
        drawn = {own: table + _laplace(parts[own], table.shape, rng) for own, table in exact.items()}
        return Marginals.of(self.public.people, sizes, drawn, *split.variances)

    def _seed(self, i: int) -> int:
        about = f"{self.private!r} {self.public.people} {i}".encode()
        return int.from_bytes(hashlib.sha256(about + self.weights.astype("<i8").tobytes()).digest()[:8], "little")


def _whole(noise: Vector) -> Integers:
    return np.asarray(np.rint(noise), dtype=np.int64)


def _laplace(epsilon: float, shape: tuple[int, ...], rng: np.random.Generator) -> Integers:
    """Discrete Laplace noise of the scale 2/ε."""
    stop = -math.expm1(-epsilon / 2)
    return np.asarray(rng.geometric(stop, shape) - rng.geometric(stop, shape), dtype=np.int64)
