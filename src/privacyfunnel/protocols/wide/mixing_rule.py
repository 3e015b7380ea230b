"""The rule for three secrets and more: values that tell too much are mixed with values of other classes.

What a promise allows is a set of posteriors between planes: with lifts ℓ_s = P(s|x)/P(s), it asks for ℓ_s ≤ up,
ℓ_s ≥ down, and ℓ_s ≤ apart·ℓ_t. Each is positive_f(v) ≤ negative_f(v) with sums of positive terms of the measure
v_s = Σ_g m(x) P(s|x), so that groups may be weighed in any units. Values fall into classes by the nearest of some
centres, those inside what is allowed apart from those outside. A mixture takes values of a class outside, and as little
as it can of values of other classes, in a fixed proportion to each other, until they are inside together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.protocols.wide.groups import Groups
from privacyfunnel.protocols.wide.mixing import in_classes, mix_up
from privacyfunnel.protocols.wide.partners import Pairs, along, differing
from privacyfunnel.protocols.wide.rule import RARE, RESERVE_BITS, SHARE_BITS, Plan
from privacyfunnel.typing import Integers, Matrix, Vector

MOST_MEMBERS = 16
"""Classes in a mixture that a file may have; ours have as many as there are secrets, or fewer."""
MOST_SECRETS = 12
"""Values of the secret: with more, posteriors fall into too few classes to be near each other."""
NOWHERE = -1
"""The class of values that are too rare, or have no weight: they are in the group of everything."""
REST_ROOM = 1e-5
"""By which part the group of everything is inside: more than its proof, a sum of millions of terms, asks for."""
ALL_SPARE, NO_SPARE = 0, 62
"""Bits of what stays alone that go into the group of everything: all of it, and nothing."""


@dataclass(frozen=True)
class Mixture:
    """Values of the first class outside, with those of other classes in a fixed proportion to each other."""

    classes: tuple[int, ...]
    proportions: tuple[float, ...]
    """Of the others, the first of them 1."""
    shares: tuple[int, ...]
    """2³⁰ times the share of each class that is used here."""


@dataclass(frozen=True)
class MixingRule:
    """What is done with the values of each class of posteriors."""

    prior: tuple[float, ...]
    """P(s)."""
    up: float | None
    """The largest lift that groups are aimed at, …"""
    down: float | None
    """… the least, …"""
    apart: float | None
    """… and the largest quotient of two."""
    centres: tuple[tuple[float, ...], ...]
    """centres[k][s]: lifts. Those inside and those outside are told apart by the limits."""
    stages: tuple[tuple[Mixture, ...], ...]
    """Mixtures; those of a later stage divide what the stages before it left over."""
    reaches: tuple[int, ...]
    """For each stage, in how many columns the values of a group may differ."""
    to_rest: tuple[int, ...]
    """For each class, 2³⁰ times the share of what the last stage finds that is in the group of everything."""
    spare_bits: int
    """2^−spare_bits of what would stay as it is joins the group of everything, so that that keeps the promise."""
    order: tuple[int, ...]
    """Columns, those first in which partners differ first."""


def planes(rule: MixingRule) -> tuple[Matrix, Matrix]:
    """P[f, s] and N[f, s], none negative: a measure v is inside if Σ_s P[f, s] v_s ≤ Σ_s N[f, s] v_s for every f."""
    return planes_by(rule.prior, rule.up, rule.down, rule.apart)


def planes_by(
    prior: tuple[float, ...], up: float | None, down: float | None, apart: float | None
) -> tuple[Matrix, Matrix]:
    """The same for limits on lifts, and on the quotient of two."""
    n_s, positive, negative = len(prior), [], []
    lift = np.diag([1.0 / p for p in prior])
    for s in range(n_s):
        if up is not None:
            positive.append(lift[s])
            negative.append(np.full(n_s, up))
        if down is not None:
            positive.append(np.full(n_s, down))
            negative.append(lift[s])
        if apart is not None:
            positive += [lift[s] for t in range(n_s) if t != s]
            negative += [lift[t] * apart for t in range(n_s) if t != s]
    return np.array(positive), np.array(negative)


def inside(P: Matrix, N: Matrix, v: Matrix) -> NDArray[np.bool_]:
    """Which measures v[i, s] are allowed, by sums in the order of the secrets."""
    found = np.ones(len(v), dtype=np.bool_)
    for positive, negative in zip(P, N, strict=True):
        over, under = np.zeros(len(v)), np.zeros(len(v))
        for s in range(v.shape[1]):
            over += positive[s] * v[:, s]
            under += negative[s] * v[:, s]
        found &= over <= under
    return found


def posteriors(weights: Integers) -> Matrix:
    """v[x, s] = P(s|x); 0 where the weights are 0."""
    W = np.maximum(weights.sum(axis=0), 1)
    return np.ascontiguousarray((weights / W).T)


def classes_of(rule: MixingRule, W: Integers, v: Matrix) -> Integers:
    """The class of every value: the nearest centre, among those inside for values inside."""
    prior, centres = np.array(rule.prior), np.array(rule.centres)
    P, N = planes(rule)
    return np.asarray(in_classes(v, prior, centres, inside(P, N, centres * prior), inside(P, N, v), W < RARE))


def mixed_plan_of(rule: MixingRule, weights: Integers, sizes: tuple[int, ...]) -> Plan:
    """The groups that the rule makes of a model's weights."""
    mixing = Mixing(rule, weights, sizes)
    for mixtures, reach in zip(rule.stages, rule.reaches, strict=True):
        mixing.mix(mixtures, reach)
    return mixing.plan(rule.to_rest, rule.spare_bits)


class Mixing:
    """The weight of every value while it is divided, stage by stage."""

    def __init__(self, rule: MixingRule, weights: Integers, sizes: tuple[int, ...]) -> None:
        self._rule, self._sizes, self._weights = rule, sizes, weights
        W, self.v = np.asarray(weights.sum(axis=0)), posteriors(weights)
        self._of = classes_of(rule, W, self.v)
        self.outside = ~inside(*planes(rule), self.v)
        self._rest = np.where(self._of == NOWHERE, W, (W >> RESERVE_BITS) + 1)
        self.free = W - self._rest
        """What no group has yet."""
        self._found_by_last = self.free
        self._groups = [Groups.none()]

    def mix(self, mixtures: Sequence[Mixture], reach: int) -> None:
        """One stage: groups of what is free."""
        self._found_by_last = self.free
        self._groups.append(_mixed(mixtures, reach, self._rule, self._sizes, self.free, self._of, self.v))
        self.free = self.free - self._groups[-1].used(len(self.free))

    def plan(self, to_rest: Sequence[int], spare_bits: int) -> Plan:
        """All groups: what is still free stays alone where it may, but for what joins the group of everything."""
        share = np.append(np.array(to_rest, dtype=np.int64) * 2.0**-SHARE_BITS, 0.0)[self._of]
        wanted = np.minimum((self._found_by_last * share).astype(np.int64), self.free)
        rest = self._rest + np.where(self.outside, self.free, wanted)
        alone = np.where(self.outside, 0, self.free - wanted)
        return Plan(self._weights, _no_pairs(), rest + (alone >> spare_bits), Groups.together(self._groups))


@dataclass(frozen=True, eq=False)
class Slots:
    """How much of every value is left for each use of its class: left[base[x] + i] for the i-th use."""

    base: Integers
    left: Integers
    first: Integers
    """Uses of class k are numbers first[k] to first[k + 1] of the two lists below."""
    mixture: Integers
    role: Integers
    place: Integers
    """place[t, r]: which use of its class role r of mixture t is."""

    @classmethod
    def of(cls, mixtures: Sequence[Mixture], classes: int, part: Integers, of: Integers) -> Slots:
        """All uses, and what they have at first."""
        uses: list[list[tuple[int, int, int]]] = [[] for _ in range(classes)]
        place = np.zeros((len(mixtures), max(len(one.classes) for one in mixtures)), np.int64)
        for t, one in enumerate(mixtures):
            for r, (k, share) in enumerate(zip(one.classes, one.shares, strict=True)):
                place[t, r] = len(uses[k])
                uses[k].append((t, r, share))
        number = np.array([*(len(own) for own in uses), 0], dtype=np.int64)  # the last for NOWHERE
        base = np.concatenate([[0], np.cumsum(number[of])])
        left = np.zeros(int(base[-1]), np.int64)
        free = part.copy()
        for i in range(int(number.max())):
            part_of = np.array([own[i][2] if i < len(own) else 0 for own in [*uses, []]]) * 2.0**-SHARE_BITS
            some = np.flatnonzero(number[of] > i)
            amount = np.minimum((part[some] * part_of[of[some]]).astype(np.int64), free[some])
            left[base[some] + i] = amount
            free[some] -= amount
        flat = [use for own in uses for use in own]
        first = np.concatenate([[0], np.cumsum(number[:-1])])
        mixture, role = (np.array([use[i] for use in flat], dtype=np.int64) for i in range(2))
        return cls(base, left, first, mixture, role, place)


def _mixed(
    mixtures: Sequence[Mixture],
    reach: int,
    rule: MixingRule,
    sizes: tuple[int, ...],
    part: Integers,
    of: Integers,
    v: Matrix,
) -> Groups:
    """Groups within values that differ in few columns first, then in more."""
    if not mixtures:
        return Groups.none()
    slots, (P, N) = Slots.of(mixtures, len(rule.centres), part, of), planes(rule)
    roles = max(len(one.classes) for one in mixtures)
    classes, proportions = np.full((len(mixtures), roles), NOWHERE, np.int64), np.zeros((len(mixtures), roles))
    for t, one in enumerate(mixtures):
        classes[t, : len(one.classes)] = one.classes
        proportions[t, 1 : len(one.classes)] = one.proportions
    active = np.add.reduceat(np.append(slots.left, 0), slots.base[:-1]) * (np.diff(slots.base) > 0) > 0
    most = len(slots.left)  # every group uses one of its slots up
    start, cells = np.empty(most + 1, np.int64), np.empty(most * roles, np.int32)
    mass = np.empty(most * roles, np.int64)
    start[0] = 0
    count = 0
    for changed in differing(rule.order):
        if len(changed) > reach or not active.any():
            break
        offsets, lengths, steps = along(changed, sizes)
        count = mix_up(
            offsets, lengths, steps, of, v, P, N, classes, proportions, slots.first, slots.mixture, slots.role,
            slots.place, slots.base, slots.left, active, start, cells, mass, count,
        )  # fmt: skip
    end = int(start[count])
    return Groups(start[: count + 1].copy(), cells[:end].astype(np.int64), mass[:end].copy())


def _no_pairs() -> Pairs:
    none = np.zeros(0, np.int64)
    return Pairs(none, none, none, none)


def belief_limits(up: float, down: float, apart: float, room: float) -> dict[str, float | None]:
    """Limits e^upper, e^−lower and e^spread as they are aimed at, inside by a part of them; None for none."""
    return {
        "up": math.exp(up) * (1 - room) if math.isfinite(up) else None,
        "down": math.exp(-down) * (1 + room) if math.isfinite(down) else None,
        "apart": math.exp(apart) * (1 - 2 * room) if math.isfinite(apart) else None,
    }


def prior_of(weights: Integers) -> tuple[float, ...]:
    """P(s), rounded once."""
    totals = [int(row.sum()) for row in weights]
    return tuple(float(Fraction(total, sum(totals))) for total in totals)


def rest_inside(rule: MixingRule, rest: Integers, v: Matrix) -> bool:
    """Whether the group of everything is well inside what is aimed at, in float64."""
    P, N = planes(rule)
    told: Vector = np.array([float((rest * v[:, s]).sum()) for s in range(v.shape[1])])
    return bool(inside(P, N * (1 - REST_ROOM), told[None])[0])


def spare(plan: Plan, bits: int) -> Integers:
    """What the group of everything has if 2^−bits of what stays alone joins it."""
    return np.asarray(plan.rest + (plan.alone >> bits))
