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

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import MOST_EPSILON
from privacyfunnel.errors import PrivacyFunnelError
from privacyfunnel.optimiser.rehearsed_lifts import Group, clauses_of, groups_found, share_within, together
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

Late = Callable[[], bool]
"""Whether the time for rehearsals is over: what was rehearsed by then counts."""


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """A table drawn from what is published of another, and how a protocol is made from its own noisy counts."""

    people: Joint
    make: Callable[[Notion], tuple[Protocol, bool]]
    """Makes the protocol for a promise, and says whether time ran out."""
    faint: Integers
    """Values of the secret that do not show through the published counts' noise: no promise is about them."""
    seed: int


class Published(ABC):
    """What is published of a table: noisy counts, a distribution that follows from them, and how they were made."""

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """ε₀ of the noise."""

    @property
    @abstractmethod
    def attributes(self) -> tuple[str, ...]:
        """The columns."""

    @property
    @abstractmethod
    def combinations(self) -> int:
        """Of values in the domain."""

    @abstractmethod
    def rehearsal(self, i: int) -> Rehearsal:
        """A table drawn from the distribution and counted with such noise: the same one for the same numbers and i."""

    @abstractmethod
    def at(self, epsilon: float) -> Published:
        """The same distribution with the noise of another ε₀."""

    @abstractmethod
    def without(self, name: str) -> Published:
        """The same with a column less."""


def aim_for(published: Published, promise: Notion, late: Late) -> Aim | None:
    """The largest share of the promise that holds in rehearsals, or the least one if none does.

    None where nothing is rehearsed: with a confidence, which speaks of all that noise leaves open, for ε = 0, and where
    the domain is too large, there is no time, or noise leaves nothing to go by.
    """
    if promise.confidence is not None or not promise.epsilon or published.combinations > MOST_COMBINATIONS:
        return None
    return _largest(rehearsals(published, late), promise, late)


def _largest(tables: list[Rehearsal], promise: Notion, late: Late) -> Aim | None:
    """All of the promise, or else by halving what is left of the shares; hurried if the clock had a say in any."""
    best = None if late() else rehearsed(tables, promise, SHARES[0])
    hurried = best is not None and best.hurried
    low, high = 1, len(SHARES)
    while not (best is not None and best.share == 1 and best.holds) and low < high:
        if late():
            hurried = True
            break
        middle = (low + high) // 2
        found = rehearsed(tables, promise, SHARES[middle])
        hurried = hurried or (found is not None and found.hurried)
        if found is not None and found.holds:
            best, high = found, middle
        else:
            best = best if found is None or (best is not None and best.holds) else found
            low = middle + 1
    return None if best is None else replace(best, hurried=hurried)


def rehearsed(tables: list[Rehearsal], promise: Notion, share: float) -> Aim | None:
    """What a channel for a share of the promise does to the drawn tables; None where none can be made."""
    within: list[float] = []
    groups: list[Group] = []
    hurried = False
    for table in tables:
        try:
            protocol, late = table.make(promise.times(share) if share < 1 else promise)
            clauses = clauses_of(promise.made_for(table.people), table.people, table.faint)
            drawn = protocol.step.drawn(table.people)
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


def remedies(published: Published, promise: Notion, late: Late) -> list[Remedy]:
    """What holds at REMEDY of the promise where what is published does not: larger ε₀, or each column left out.

    All is drawn from the published counts, so asking costs nothing.
    """
    found: list[Remedy] = []
    for times in LESS_NOISE:
        if times * published.epsilon <= MOST_EPSILON:
            less = published.at(times * published.epsilon)
            aim = _in_time(rehearsals(less, late), promise, late)
            found += [Remedy(less.epsilon, None, aim)] if aim is not None else []
    for name in published.attributes if len(published.attributes) > 1 else ():
        aim = _in_time(rehearsals(published.without(name), late), promise, late)
        found += [Remedy(None, name, aim)] if aim is not None else []
    return [remedy for remedy in found if remedy.aim.holds]


def _in_time(tables: list[Rehearsal], promise: Notion, late: Late) -> Aim | None:
    return None if late() else rehearsed(tables, promise, REMEDY)


def rehearsals(published: Published, late: Late) -> list[Rehearsal]:
    """Tables drawn from what is published; always the same ones for the same."""
    found = []
    for i in range(REHEARSALS):
        if late():
            break
        try:
            found.append(published.rehearsal(i))
        except PrivacyFunnelError:  # noise may leave nothing to go by
            continue
    return found
