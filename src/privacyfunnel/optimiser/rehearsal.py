"""Rehearsal: how far inside its promise a private fit is made, so that the promise is true of the people behind noise.

A channel keeps its promise for the distribution p̂ that follows from noisy counts. The people whom these are counts of
have another one: where few people have x, P̂(s|x) is noise, and lifts that are within e^±ε by p̂ are not by theirs. How
far off they are follows from p̂ itself: draw tables of n people from p̂, add the same noise, compute what follows from
that, make the channel for a promise of ε′ ≤ ε in the same way, and look at the lifts of the drawn people. The largest
ε′ is taken at which 95% of their rows, and the groups of 5% of rows that an attacker finds, are within e^±ε.

All this is computed from published numbers, so it tells nothing more of anybody. The same numbers give the same ε′,
unless time runs out in a rehearsal: then how fast the machine is has a say as well, and the aim is marked as hurried.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import MOST_EPSILON, Noise, noisy_joint, threshold_for
from privacyfunnel.errors import PrivacyFunnelError
from privacyfunnel.optimiser.rehearsed_lifts import Drawn, Group, clauses_of, groups_found, share_within, together
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.aim import ENOUGH, Aim
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Integers

REHEARSALS = 2
"""Tables that are drawn: figures of two of them differ by about a point."""
SHARES = (1.0, 0.8, 0.6, 0.4, 0.3, 0.2)
"""Of the promise, that may be aimed at. Below the last, cells are lost and hardly any lift comes within the promise."""
REMEDY = 0.4
"""Of the promise, at which it is tried whether a larger ε₀ or fewer columns would do: what costs more helps nobody."""
LESS_NOISE = (2.0, 4.0)
"""ε₀ that are tried, in multiples of the one at hand."""
MOST_COMBINATIONS = 200_000
"""Of a domain that is rehearsed: what follows from noisy counts of more takes longer than the fit."""

Make = Callable[[Joint, Notion], tuple[Protocol, bool]]
"""Makes the protocol for a distribution and a promise, and says whether time ran out."""
Late = Callable[[], bool]
"""Whether the time for rehearsals is over: what was rehearsed by then counts."""


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """A table drawn from noisy counts, and what follows from its own noisy counts."""

    people: Joint
    refit: Joint
    faint: Integers
    """Values of the secret that do not show through the published counts' noise: no promise is about them."""
    seed: int


def aim_for(joint: Joint, promise: Notion, make: Make, late: Late) -> Aim | None:
    """The largest share of the promise that holds in rehearsals, or the least one if none does.

    None where nothing is rehearsed: without noise, with a confidence, which speaks of all that noise leaves open, for
    ε = 0, and where the domain is too large, there is no time, or noise leaves nothing to go by.
    """
    if joint.noise is None or promise.confidence is not None or not promise.epsilon:
        return None
    if joint.combinations > MOST_COMBINATIONS:
        return None
    return _largest(rehearsals(joint, joint.noise, late), promise, make, late)


def _largest(tables: list[Rehearsal], promise: Notion, make: Make, late: Late) -> Aim | None:
    """All of the promise, or else by halving what is left of the shares; hurried if the clock had a say in any."""
    best = None if late() else rehearsed(tables, promise, SHARES[0], make)
    hurried = best is not None and best.hurried
    low, high = 1, len(SHARES)
    while not (best is not None and best.share == 1 and best.holds) and low < high:
        if late():
            hurried = True
            break
        middle = (low + high) // 2
        found = rehearsed(tables, promise, SHARES[middle], make)
        hurried = hurried or (found is not None and found.hurried)
        if found is not None and found.holds:
            best, high = found, middle
        else:
            best = best if found is None or (best is not None and best.holds) else found
            low = middle + 1
    return None if best is None else replace(best, hurried=hurried)


def rehearsed(tables: list[Rehearsal], promise: Notion, share: float, make: Make) -> Aim | None:
    """What a channel for a share of the promise does to the drawn tables; None where none can be made."""
    within: list[float] = []
    groups: list[Group] = []
    hurried = False
    for table in tables:
        try:
            protocol, late = make(table.refit, promise.times(share) if share < 1 else promise)
            clauses = clauses_of(promise.made_for(table.people), table.people, table.faint)
            drawn = Drawn.of(protocol, table.people)
            within.append(share_within(drawn, table.people.total, clauses))
            groups += together([groups_found(drawn, clauses, np.random.default_rng(table.seed))])
            hurried = hurried or late
        except PrivacyFunnelError:  # noise may leave nothing to go by
            continue
    if not within:
        return None
    lifts = [group.lift for group in groups]
    holds = min(within) >= ENOUGH and all(group.within for group in groups)
    return Aim(share, min(within), min(lifts), max(lifts), holds, hurried)


@dataclass(frozen=True)
class Remedy:
    """What would do where no aim does: another ε₀, or a column less."""

    private: float | None
    """ε₀, if it is another."""
    left_out: str | None
    """The column that is left out, if one is."""
    aim: Aim

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {"private": self.private, "left_out": self.left_out, **self.aim.as_dict()}

    def words(self) -> str:
        """It, with its figures."""
        what = f"--private {self.private:g}" if self.left_out is None else f"without {self.left_out}"
        return f"{what} ({self.aim.lowest:.2f} to {self.aim.highest:.2f})"


def remedies(joint: Joint, promise: Notion, make: Make, late: Late) -> list[Remedy]:
    """What holds at REMEDY of the promise where `joint` does not: larger ε₀, or each column left out.

    All is drawn from the published counts, so asking costs nothing.
    """
    noise = joint.noise
    if noise is None:
        return []
    found: list[Remedy] = []
    for times in LESS_NOISE:
        if times * noise.epsilon <= MOST_EPSILON:
            less = replace(noise, epsilon=times * noise.epsilon)
            aim = _in_time(rehearsals(joint, less, late), promise, make, late)
            found += [Remedy(less.epsilon, None, aim)] if aim is not None else []
    whole = joint.before_gathering or joint
    for name in joint.attributes if len(joint.attributes) > 1 else ():
        fewer = whole.over([other for other in joint.attributes if other != name])
        shape = len(noise.counts), fewer.combinations if noise.codes is None else fewer.n_x
        codes = None if noise.codes is None else fewer.codes
        counted = replace(noise, attributes=fewer.attributes, counts=np.zeros(shape, dtype=np.int64), codes=codes)
        aim = _in_time(rehearsals(fewer, counted, late, noise.faint), promise, make, late)
        found += [Remedy(None, name, aim)] if aim is not None else []
    return [remedy for remedy in found if remedy.aim.holds]


def _in_time(tables: list[Rehearsal], promise: Notion, make: Make, late: Late) -> Aim | None:
    return None if late() else rehearsed(tables, promise, REMEDY, make)


def rehearsals(joint: Joint, noise: Noise, late: Late, faint: Integers | None = None) -> list[Rehearsal]:
    """Tables drawn from the distribution of `joint`, counted with such noise; always the same ones for the same."""
    found, faint = [], noise.faint if faint is None else faint
    for i in range(REHEARSALS):
        if late():
            break
        try:
            found.append(_drawn(joint, noise, faint, _seed(noise, i)))
        except PrivacyFunnelError:  # noise may leave nothing to go by
            continue
    return found


def _seed(noise: Noise, i: int) -> int:
    about = f"{noise.epsilon!r} {noise.people} {i}".encode()
    return int.from_bytes(hashlib.sha256(about + noise.counts.astype("<i8").tobytes()).digest()[:8], "little")


def _drawn(joint: Joint, noise: Noise, faint: Integers, seed: int) -> Rehearsal:
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
    return Rehearsal(table, refit, faint, seed)


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
