"""Rehearsal: how far inside its promise a private fit is made, so that the promise is true of the people behind noise.

A channel keeps its promise for the distribution p̂ that follows from noisy counts. The people whom these are counts of
have another one: where few people have x, P̂(s|x) is noise, and lifts that are within e^±ε by p̂ are not by theirs. How
far off they are follows from p̂ itself: draw tables of n people from p̂, add the same noise, compute what follows from
that, make the channel for a promise of ε′ ≤ ε in the same way, and look at the lifts of the drawn people. The largest
ε′ is taken at which 95% of their rows, and the groups of 5% of rows that an attacker finds, are within e^±ε. All this is
computed from published numbers, so it tells nothing more of anybody; the same numbers give the same ε′.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import Noise, noisy_joint
from privacyfunnel.drawing.laplace import threshold_for
from privacyfunnel.errors import PrivacyFunnelError
from privacyfunnel.optimiser.rehearsed_lifts import Drawn, Group, groups_found, share_within, together
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.aim import ENOUGH, Aim
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Integers

REHEARSALS = 2
"""Tables that are drawn: figures of two of them differ by about a point."""
SHARES = (1.0, 0.8, 0.6, 0.4, 0.3, 0.2)
"""Of the promise, that may be aimed at. Below the last, cells are lost and hardly any lift comes within the promise."""
MOST_COMBINATIONS = 200_000
"""Of a domain that is rehearsed: what follows from noisy counts of more takes longer than the fit."""

Make = Callable[[Joint, Notion], Protocol]
"""Makes the protocol for a distribution and a promise."""


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """A table drawn from noisy counts, and what follows from its own noisy counts."""

    people: Joint
    refit: Joint
    seed: int


def aim_for(joint: Joint, promise: Notion, make: Make) -> tuple[Aim, ...]:
    """What was rehearsed for a private fit of this promise, the one to aim at last; nothing where it needs no aim.

    The largest share of the promise that holds, or the least one if none does.
    """
    if joint.noise is None or promise.confidence is not None or promise.epsilon == 0:
        return ()
    if joint.combinations > MOST_COMBINATIONS:
        return ()
    tables = rehearsals(joint, REHEARSALS)
    tried: dict[float, Aim | None] = {}

    def holds(share: float) -> bool:
        if share not in tried:
            tried[share] = rehearsed(tables, promise, share, make)
        found = tried[share]
        return found is not None and found.holds

    low, high = 0, len(SHARES) - 1  # shares[low:] may hold
    if not holds(SHARES[0]):
        low = 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(SHARES[middle]) else (middle + 1, high)
        holds(SHARES[low])
    last = tried.pop(SHARES[low])
    if last is None:
        return ()
    return (*(found for found in tried.values() if found is not None), last)


def rehearsed(tables: list[Rehearsal], promise: Notion, share: float, make: Make) -> Aim | None:
    """What a channel for a share of the promise does to the drawn tables; None where none can be made."""
    within: list[float] = []
    groups: list[list[Group]] = []
    for table in tables:
        try:
            protocol = make(table.refit, promise.times(share) if share < 1 else promise)
            asked = promise.made_for(table.people)
            drawn = Drawn.of(protocol, table.people)
            within.append(share_within(drawn, table.people, asked))
            groups.append(groups_found(drawn, table.people, asked, np.random.default_rng(table.seed)))
        except PrivacyFunnelError:  # noise may leave nothing to go by
            continue
    if not within:
        return None
    found, mean = together(groups), float(np.mean(within))
    lifts = [group.lift for group in found]
    holds = mean >= ENOUGH and all(group.within for group in found)
    return Aim(share, mean, min(lifts), max(lifts), holds)


def rehearsals(joint: Joint, number: int) -> list[Rehearsal]:
    """Tables drawn from the distribution that follows from noisy counts; always the same ones for the same counts."""
    noise = joint.noise
    if noise is None:
        raise TypeError("only noisy counts are rehearsed")
    found = []
    for i in range(number):
        seed = _seed(noise, i)
        try:
            found.append(_drawn(joint, noise, seed))
        except PrivacyFunnelError:
            continue
    return found


def _seed(noise: Noise, i: int) -> int:
    about = f"{noise.epsilon!r} {noise.people} {i}".encode()
    return int.from_bytes(hashlib.sha256(about + noise.counts.astype("<i8").tobytes()).digest()[:8], "little")


def _drawn(joint: Joint, noise: Noise, seed: int) -> Rehearsal:
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
    return Rehearsal(table, refit, seed)


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

