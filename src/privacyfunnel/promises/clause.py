"""Clauses: what a promise is made of. Each limits the lifts of some events about the secret, for some attackers.

An event is a set of values of the secret, "ill", "income above 40,000", or each value by itself. Events of a clause
exclude each other and exhaust the secret, so they are the values of a coarser secret: a clause is a promise about that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.promises.limits import PERFECT_LEVEL, Limits, OuterRows, hair_widths
from privacyfunnel.promises.views import View
from privacyfunnel.typing import Exact, Matrix


@dataclass(frozen=True, eq=False)
class Clause:
    """Limits on the lifts of events, for those who know certain things beforehand."""

    joint: Joint
    """The events and X: the joint with the events for its secret. X is that of the whole promise."""
    limits: Limits
    views: Sequence[View]
    about: tuple[int, ...] | None = None
    """The events whose lifts are limited; None: all of them."""
    most: Fraction | None = None
    """The most that the belief in the one event it is about may be, which `limits.upper` says only up to rounding."""
    subject: str = ""
    """What it speaks of, in a few words for people: the secret, or one of its values."""
    epsilon: float = field(init=False)
    """The ε of the clause by itself, or the most that its belief may be."""

    def __post_init__(self) -> None:
        asked = [limit for limit in self.limits.named().values() if math.isfinite(limit)]
        object.__setattr__(self, "epsilon", max(asked, default=0.0) if self.most is None else float(self.most))

    @property
    def one_view(self) -> bool:
        """Whether it is about attackers who know nothing beforehand."""
        return len(self.views) == 1

    @property
    def limited_alone(self) -> Sequence[int]:
        """The events whose lifts are limited each by itself, and not only in comparison with others."""
        if math.isfinite(self.limits.spread):
            return ()
        return range(self.joint.n_s) if self.about is None else self.about

    def granted(self, share: float = 1.0) -> Clause:
        """What a certificate lets pass: ε = 0 becomes PERFECT_LEVEL, or a share of it; a belief stays what it is."""
        return Clause(self.joint, self.limits.granted(share), self.views, self.about, self.most, self.subject)

    def level_of(self, reached: Limits) -> float:
        """The smallest ε of this clause by itself, its limits in proportion, that allows what a channel reaches."""
        if self.most is not None:
            return not_less(self.epsilon * math.exp(reached.upper - self.limits.upper))
        pairs = zip(reached.named().values(), self.limits.named().values(), strict=True)
        return max([0.0, *(share_of(got, limit, self.epsilon) for got, limit in pairs if math.isfinite(limit))])

    def belief_range(self, event: int) -> tuple[float, float]:
        """The least and the most that the belief in one of its events can be, for somebody who knows nothing else."""
        prior = float(self.joint.p_s[event])
        if self.about is not None and event not in self.about:  # the rest of one event
            others = [self.belief_range(other) for other in self.about]
            return 1 - min(1.0, sum(most for _, most in others)), 1 - sum(least for least, _ in others)
        return self.limits.granted().belief_range(prior)

    def reached_by(self, channel: Matrix) -> Limits:
        """How far down, up and apart the lifts that it is about go with channel[y, x], in float64."""
        return Limits.reached(self.joint, channel, self.views, self.about)


def share_of(got: float, limit: float, epsilon: float) -> float:
    """The ε that one limit asks for; with two different ones (ALIP), both scale with ε."""
    if epsilon == 0:
        return got
    if limit == 0:
        return 0.0 if got <= PERFECT_LEVEL else math.inf
    return got * (epsilon / limit)


def not_less(value: float) -> float:
    """A number that is not below what float64 made of a product and an exponential."""
    return value * (1 + 4 * float(np.finfo(np.float64).eps))


def rows_of(clauses: Sequence[Clause]) -> Matrix:
    """G with G v ≤ 0 exactly when the posterior v[x] = P(x|y) keeps every clause."""
    clauses = without_repetition(clauses)
    parts = [clause.limits.rows(clause.joint, clause.views, clause.about, at_once=len(clauses)) for clause in clauses]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def outer_rows_of(clauses: Sequence[Clause]) -> OuterRows:
    """Rows that are met by every v that keeps the clauses in exact arithmetic, and by hardly any other, for bounds.

    All are widened by different shares of a hair, and no two clauses compare the same numbers.
    """
    wider, clauses = hair_widths(), without_repetition(clauses)
    parts = [clause.limits.outer_rows(clause.joint, clause.views, clause.about, wider) for clause in clauses]
    return parts[0] if len(parts) == 1 else OuterRows.join(parts)


def without_repetition(clauses: Sequence[Clause]) -> Sequence[Clause]:
    """The same without what others say as strictly, to the same attackers, of the same event or of all its parts.

    Σ P(s|y) ≤ e^ε Σ P(s) follows from P(s|y) ≤ e^ε P(s) for each s of an event. Rows that say the same, or that follow
    from others and meet them in one point, would be told apart by rounding errors alone.
    """
    if len(clauses) == 1:
        return clauses
    said = [_Said.of(clause, i, s) for i, clause in enumerate(clauses) for s in clause.limited_alone]
    idle: dict[int, set[int]] = {}
    kept: list[_Said] = []
    for one in sorted(said, key=lambda one: one.strictness):
        if one.follows_from(kept):
            idle.setdefault(one.clause, set()).add(one.event)
        else:
            kept.append(one)
    found = []
    for i, clause in enumerate(clauses):
        events = range(clause.joint.n_s) if clause.about is None else clause.about
        left = tuple(s for s in events if s not in idle.get(i, ()))
        if left == tuple(events):
            found.append(clause)
        elif left:
            found.append(replace(clause, about=left))
    return found


@dataclass(frozen=True)
class _Said:
    """What a clause says of one event."""

    clause: int
    """The number of the clause."""
    event: int
    """The number of the event in its clause."""
    limits: Limits
    views: frozenset[tuple[int, ...]]
    members: frozenset[int]
    """The values of the secret that the event consists of."""
    weights: tuple[int, ...]
    """In proportion to P(event, x)."""

    @classmethod
    def of(cls, clause: Clause, i: int, s: int) -> _Said:
        own, views = clause.joint, frozenset(view.known for view in clause.views)
        members = [s] if own.events is None else np.flatnonzero(own.events == s).tolist()
        return cls(i, s, clause.limits, views, frozenset(members), tuple(own.weights[s].tolist()))

    @property
    def strictness(self) -> tuple[int, float, int]:
        """Smaller where the limits are within others; of equal ones, smaller for the smaller event."""
        limits = (self.limits.lower, self.limits.upper)
        finite = [limit for limit in limits if math.isfinite(limit)]
        return len(limits) - len(finite), sum(finite), len(self.members)

    def follows_from(self, others: Sequence[_Said]) -> bool:
        """Whether it need not be said beside these: one of them says it, or together they say it of its parts."""
        as_strict = [one for one in others if one.views == self.views and one.limits.within(self.limits)]
        if any(one.weights == self.weights for one in as_strict):
            return True
        left = self.members
        for part in sorted((one.members for one in as_strict), key=len):
            left = left - part if part <= left else left
        return not left


def spans_of(clauses: Sequence[Clause]) -> Exact:
    """Integers in proportion to P(event|x) for every event of clauses with one view: what their rows are made of."""
    different = {id(clause.joint): clause.joint.weights for clause in clauses}
    return np.concatenate(list(different.values()))


def level_within(clauses: Sequence[Clause], reached: Sequence[Limits], epsilon: float) -> float:
    """The smallest ε at which all clauses, in proportion, allow what a channel reaches; `epsilon` is theirs together.

    Every clause asks for some multiple of its own ε, and the largest multiple is what all would have to be scaled by.
    """
    levels = [(clause.epsilon, clause.level_of(got)) for clause, got in zip(clauses, reached, strict=True)]
    return max([0.0, *(_scaled(level, own, epsilon) for own, level in levels)])


def _scaled(level: float, own: float, epsilon: float) -> float:
    if own == epsilon:
        return level
    if own == 0:
        return 0.0 if level <= PERFECT_LEVEL else math.inf
    return level * (epsilon / own)
