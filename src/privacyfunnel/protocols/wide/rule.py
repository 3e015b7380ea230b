"""Rule: from a model's weights to the groups in which rows are redrawn, the same on every machine.

Every value x has a whole weight W(x), which is divided among groups: m_g(x) with Σ_g m_g(x) = W(x). A row with value
x goes into group g with probability m_g(x) / W(x), and is released as a value x′ of it with probability m_g(x′) / M_g,
M_g = Σ_x m_g(x). So the model's rows keep their distribution exactly, and what a released row tells is a mixture of
what groups tell. There are three kinds of groups: values by themselves, which stay as they are; pairs; and one group of
everything, in which every value has a small part: what is left over goes there, and values that are too rare. Where
combinations are few, a list stands in the place of the rule (listed.py).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.protocols.wide.groups import Groups
from privacyfunnel.protocols.wide.listed import Listed
from privacyfunnel.protocols.wide.partners import Pairs, partners
from privacyfunnel.typing import Integers, Vector

SHARE_BITS = 30
"""Shares of a class are multiples of 2⁻³⁰."""
RESERVE_BITS = 13
"""2⁻¹³ of every value's weight, one row in 8,192, is in the group of everything: far more than roundings leave over."""
RARE = 2**20
"""Values of a smaller weight, 1e-12 of all, are in the group of everything as a whole: roundings would matter."""
ROOM = 1e-7
"""By which part of them pairs may lie beyond the borders that were aimed at; what is allowed is ten times as far."""


@dataclass(frozen=True)
class Rule:
    """What is done with the values of each class of P(s|x), s the second value of the secret."""

    low: float
    """Borders that P(s|y) of pairs is aimed at."""
    high: float
    cuts: tuple[float, ...]
    """Class k has cuts[k−1] ≤ P(s|x) < cuts[k]; the borders are cuts."""
    to_low: tuple[int, ...]
    """For each class, 2³⁰ times the share of its weight that is in pairs at the lower border, …"""
    to_high: tuple[int, ...]
    """… and at the upper border. The rest stays as it is, if it may."""
    order: tuple[int, ...]
    """Columns, those first in which partners differ first."""


@dataclass(frozen=True, eq=False)
class Plan:
    """All groups: pairs (two secrets), groups of several values (more secrets), `rest` in the group of everything.

    What is then left of each value stays by itself. Or, in their place, what is listed, and the rest.
    """

    weights: Integers
    """weights[s, x]."""
    pairs: Pairs
    rest: Integers
    groups: Groups = field(default_factory=Groups.none)
    listed: Listed = field(default_factory=Listed.none)

    @cached_property
    def W(self) -> Integers:  # noqa: N802 - the letter of the formulas above
        """W[x], the weight of a value."""
        return np.asarray(self.weights.sum(axis=0))

    @cached_property
    def alone(self) -> Integers:
        """What stays as it is."""
        alone = self.W - self.rest
        np.subtract.at(alone, self.pairs.first, self.pairs.m)
        np.subtract.at(alone, self.pairs.second, self.pairs.n)
        np.subtract.at(alone, self.groups.cells, self.groups.mass)
        np.subtract.at(alone, self.listed.source, self.listed.mass)
        return alone

    @cached_property
    def leaving(self) -> Integers:
        """With which weights the group of everything is left: as it was entered, but for what a list has uneven."""
        if not len(self.listed):
            return self.rest
        return self.rest + self.listed.taken(self.W.size) - self.listed.given(self.W.size)

    def digest(self) -> str:
        """Of all its numbers."""
        pairs = self.pairs
        whole = hashlib.sha256()
        several = (self.groups.start, self.groups.cells, self.groups.mass) if len(self.groups) else ()
        listed = (self.listed.source, self.listed.target, self.listed.mass) if len(self.listed) else ()
        for part in (self.weights, pairs.first, pairs.second, pairs.m, pairs.n, self.rest, *several, *listed):
            whole.update(np.ascontiguousarray(part, dtype="<i8").data)
        return f"sha256:{whole.hexdigest()}"


def belief(weights: Integers, s: int = 1) -> Vector:
    """t[x] = P(s|x) of a value of the secret; 0 where the weights are 0."""
    W = weights.sum(axis=0)
    return np.asarray(weights[s] / np.maximum(W, 1))


def plan_of(rule: Rule, weights: Integers, sizes: tuple[int, ...]) -> Plan:
    """The groups that the rule makes of a model's weights."""
    W, t = np.asarray(weights.sum(axis=0)), belief(weights)
    rest = np.where(W < RARE, W, (W >> RESERVE_BITS) + 1)
    part = W - rest
    of = np.searchsorted(np.array(rule.cuts), t, side="right")
    at_low = _share(part, rule.to_low, of)
    at_high = np.minimum(_share(part, rule.to_high, of), part - at_low)
    outside = (t < rule.low) | (t > rule.high)
    rest += np.where(outside, part - at_low - at_high, 0)
    below, above = t < rule.low, t > rule.high
    found = []
    for weight, needs, border in ((at_low, below, rule.low), (at_high, above, rule.high)):
        need, give = np.where(needs, weight, 0), np.where(needs | (t == border), 0, weight)
        pairs, left = partners(sizes, rule.order, need, give, np.abs(t - border))
        rest += weight - need - give + left
        found.append(pairs)
    return _without_outliers(rule, Plan(weights, Pairs.together(found), rest), t)


def listed_plan(listed: Listed, weights: Integers) -> Plan:
    """The plan of a list; refused if more is listed of a value, or as a value, than there is."""
    W = np.asarray(weights.sum(axis=0))
    plan = Plan(weights, Pairs.none(), W - listed.taken(W.size), listed=listed)
    if (plan.rest < 0).any() or (plan.leaving < 0).any():
        raise InvalidProtocol("more is listed of a value, or as a value, than there is")
    if not plan.rest.any() and not W.all():
        raise InvalidProtocol("values of no weight have no group of everything to go through")
    return plan


def _share(part: Integers, shares: tuple[int, ...], of: Integers) -> Integers:
    """⌊part · share⌋, at most the part."""
    share = np.array(shares, dtype=np.int64) * 2.0**-SHARE_BITS
    return np.minimum((part * share[of]).astype(np.int64), part)


def _without_outliers(rule: Rule, plan: Plan, t: Vector) -> Plan:
    """Pairs of so little weight that roundings took them beyond a border go into the group of everything."""
    pairs = plan.pairs
    both = (pairs.m * t[pairs.first] + pairs.n * t[pairs.second]) / (pairs.m + pairs.n)
    beyond = (both < rule.low * (1 - ROOM)) | (both > rule.high * (1 + ROOM))
    rest = plan.rest.copy()
    np.add.at(rest, pairs.first[beyond], pairs.m[beyond])
    np.add.at(rest, pairs.second[beyond], pairs.n[beyond])
    return Plan(plan.weights, pairs.take(~beyond), rest)
