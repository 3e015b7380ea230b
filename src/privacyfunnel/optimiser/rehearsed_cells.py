"""Rehearsing cells: tables drawn from noisy counts of all combinations, and counted in the same way again."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import Noise, noisy_joint, threshold_for
from privacyfunnel.optimiser.rehearsal import Published, Rehearsal
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Integers

Make = Callable[[Joint, Notion], tuple[Protocol, bool]]
"""Makes the protocol for a distribution and a promise, and says whether time ran out."""


@dataclass(frozen=True, eq=False)
class PublishedCells(Published):
    """Noisy counts of combinations of values, and the distribution that follows from them."""

    joint: Joint
    noise: Noise
    faint: Integers
    make: Make

    @classmethod
    def of(cls, joint: Joint, make: Make) -> PublishedCells | None:
        """Those of a distribution, if it follows from such."""
        return None if joint.noise is None else cls(joint, joint.noise, joint.noise.faint, make)

    @property
    def epsilon(self) -> float:
        """ε₀ of the noise."""
        return self.noise.epsilon

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns."""
        return self.joint.attributes

    @property
    def combinations(self) -> int:
        """Of values in the domain."""
        return self.joint.combinations

    def at(self, epsilon: float) -> PublishedCells:
        """The same distribution with the noise of another ε₀."""
        return replace(self, noise=replace(self.noise, epsilon=epsilon))

    def without(self, name: str) -> PublishedCells:
        """The same with a column less."""
        whole, noise = self.joint.before_gathering or self.joint, self.noise
        fewer = whole.over([other for other in whole.attributes if other != name])
        shape = len(noise.counts), fewer.combinations if noise.codes is None else fewer.n_x
        codes = None if noise.codes is None else fewer.codes
        nothing = np.zeros(shape, dtype=np.int64)
        return replace(
            self, joint=fewer, noise=replace(noise, attributes=fewer.attributes, counts=nothing, codes=codes)
        )

    def rehearsal(self, i: int) -> Rehearsal:
        """As many people, noise of the same kind, and the estimate anew."""
        seed = _seed(self.noise, i)
        people, refit = drawn(self.joint, self.noise, seed)
        return Rehearsal(people, lambda notion: self.make(refit, notion), self.faint, seed)


def _seed(noise: Noise, i: int) -> int:
    about = f"{noise.epsilon!r} {noise.people} {i}".encode()
    return int.from_bytes(hashlib.sha256(about + noise.counts.astype("<i8").tobytes()).digest()[:8], "little")


def drawn(joint: Joint, noise: Noise, seed: int) -> tuple[Joint, Joint]:
    """People of the distribution `joint`, and the distribution that follows from their counts with such noise."""
    rng = np.random.default_rng(seed)
    whole = joint.before_gathering or joint
    people = round(noise.share_told * noise.people)
    counts = rng.multinomial(people, (whole.p / whole.p.sum()).ravel()).reshape(whole.p.shape)
    for s in np.flatnonzero(counts.sum(axis=1) == 0):  # every value of the secret has somebody
        counts[s, whole.p[s].argmax()] = 1
    there = counts.sum(axis=0) > 0
    table = Joint.from_codes(
        counts[:, there], whole.codes[there], whole.columns, joint.secret, joint.secret_values, joint.secret_columns
    )
    again = _noised(counts, whole.codes, joint, noise, rng)
    refit = noisy_joint(
        again, joint.columns, joint.secret, joint.at_least, joint.secret_values, joint.secret_columns, joint.exact
    )
    for one in (table, refit, refit.before_gathering):
        if one is not None:
            one.secret_parts, one.numbered, one.declared = joint.secret_parts, joint.numbered, joint.declared
    return table, refit


def _noised(counts: Integers, codes: Integers, joint: Joint, noise: Noise, rng: np.random.Generator) -> Noise:
    """The counts of drawn people as they would be published: with noise everywhere, or those above a threshold."""
    if noise.codes is None:
        sizes = [len(column) for column in joint.columns]
        everywhere = np.zeros(noise.counts.shape, dtype=np.int64)
        everywhere[:, np.ravel_multi_index(tuple(codes.T), sizes)] = counts
        return replace(noise, counts=everywhere + _laplace(noise, everywhere.shape, rng))
    noisy = np.where(counts > 0, counts + _laplace(noise, counts.shape, rng), 0)
    told = np.where(noisy >= threshold_for(noise.epsilon, noise.delta), noisy, 0)
    some = told.sum(axis=0) > 0
    return replace(noise, counts=told[:, some], codes=codes[some])


def _laplace(noise: Noise, shape: tuple[int, ...], rng: np.random.Generator) -> Integers:
    """Discrete Laplace noise z with P(z) ∝ e^−|z|/scale, as often in each row as its counts are sums of."""
    stop = -math.expm1(-1 / noise.scale)
    drawn = np.zeros(shape, dtype=np.int64)
    for turn in range(int(noise.terms.max())):
        more = rng.geometric(stop, shape) - rng.geometric(stop, shape)
        drawn += np.where((noise.terms > turn)[:, None], more, 0)
    return drawn
