"""The proof for wide protocols about three secrets and more, and for lists: every group keeps the promise.

With lifts ℓ_s = P(s|g)/P(s), a promise asks for ℓ_s ≤ e^upper, ℓ_s ≥ e^−lower, and ℓ_s ≤ e^spread ℓ_t: planes, so that
what is allowed is convex. P(s|g) is a quotient of sums of positive terms m·w(s,x)/W(x). In float64 each conversion,
product, quotient and sum of two is off by at most one part in 2⁵³; what that leaves open is decided in fractions.

A list (protocols/wide/listed.py) is for any number of secrets: all that it releases as one value is a group, and who
sees that value sees a mixture of this group and of the group of everything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.promises.limits import Limits
from privacyfunnel.proof.exponentials import e_to
from privacyfunnel.protocols.wide.groups import Groups
from privacyfunnel.protocols.wide.rule import Plan
from privacyfunnel.typing import Integers, Vector

MOST_MEMBERS = 16
"""Of a group: its lifts have at most 26 roundings, quotients of two of them at most 53."""
FEW_ROUNDINGS = 2.0**-46
"""Of the lifts of a group or a single value, and of quotients of two: 128 roundings of one part in 2⁵³."""
LIST_ROUNDINGS = 2.0**-36
"""Of the same for what is listed as one value, a sum over at most 20,000 < 2¹⁵ positive terms: below 2·2¹⁵·2⁻⁵²."""
MANY_ROUNDINGS = 2.0**-19
"""Of the same for a sum over at most 10⁷ < 2²⁴ positive terms, in any order: below 2·2²⁴·2⁻⁵² of it."""
FINE_BITS = 96
"""Where a list is in doubt, m·P(s|x) is a whole number of parts in 2⁹⁶, rounded down."""
MOST_FRACTIONS = 100_000
"""Groups that are checked in fractions; a plan with more that are as close to a limit is refused."""


@dataclass(frozen=True)
class _Allowed:
    """Limits on lifts as rationals, rounded inwards; None for none."""

    prior: tuple[Fraction, ...]
    most: Fraction | None
    least: Fraction | None
    apart: Fraction | None

    @classmethod
    def by(cls, limits: Limits, totals: list[int]) -> _Allowed:
        prior = tuple(Fraction(total, sum(totals)) for total in totals)
        asked = (limits.upper, limits.lower, limits.spread)
        up, down, apart = (e_to(limit) if math.isfinite(limit) else None for limit in asked)
        return cls(prior, up, None if down is None else 1 / down, apart)

    def doubtful(self, low: Vector, high: Vector, error: float) -> NDArray[np.bool_]:
        """Which groups, with lifts from `low` to `high` that are off by at most this part, are not surely allowed."""
        room, sure = 2 * error, np.ones(len(low), dtype=np.bool_)
        if self.most is not None:
            sure &= high <= float(self.most) * (1 - room)
        if self.least is not None:
            sure &= low >= float(self.least) * (1 + room)
        if self.apart is not None:
            sure &= high <= float(self.apart) * (1 - room) * low
        return np.asarray(~sure)

    def allows(self, told: list[Fraction]) -> bool:
        """Whether a measure over the secrets is allowed, exactly."""
        whole = sum(told)
        lifts = [one / whole / p for one, p in zip(told, self.prior, strict=True)]
        return (
            (self.most is None or max(lifts) <= self.most)
            and (self.least is None or min(lifts) >= self.least)
            and (self.apart is None or max(lifts) <= self.apart * min(lifts))
        )

    def allows_between(self, least: list[int], most: list[int]) -> bool:
        """Whether every measure is allowed that has at least and at most so much of each secret."""
        low = [Fraction(one, sum(most)) / p for one, p in zip(least, self.prior, strict=True)]
        high = [Fraction(one, max(1, sum(least))) / p for one, p in zip(most, self.prior, strict=True)]
        return (
            (self.most is None or max(high) <= self.most)
            and (self.least is None or min(low) >= self.least)
            and (self.apart is None or max(high) <= self.apart * min(low))
        )


def several_reached(plan: Plan, limits: Limits, totals: list[int]) -> Limits | None:
    """How far lifts go, if every group of a plan keeps these limits; None if one may not."""
    if not _is_sound(plan):
        return None
    allowed, widest = _Allowed.by(limits, totals), Limits(0.0, 0.0, 0.0)
    for kind in (_groups, _listed, _single_values, _everything):
        found = kind(plan, allowed)
        if found is None:
            return None
        widest = widest.wider(found)
    return widest


def _is_sound(plan: Plan) -> bool:
    """Whether groups are lists of values that there are, with positive weights."""
    groups, cells = plan.groups, plan.weights.shape[1]
    sizes = np.diff(groups.start)
    return bool(
        len(plan.pairs.m) == 0
        and groups.start[0] == 0
        and groups.start[-1] == len(groups.cells) == len(groups.mass)
        and (sizes >= 1).all()
        and (sizes <= MOST_MEMBERS).all()
        and (groups.cells >= 0).all()
        and (groups.cells < cells).all()
        and (groups.mass > 0).all()
    )


def _groups(plan: Plan, allowed: _Allowed) -> Limits | None:
    """Groups of several values."""
    groups = plan.groups
    if not len(groups):
        return Limits(0.0, 0.0, 0.0)
    low, high = _lifts_of(groups, plan, allowed)
    doubtful = np.flatnonzero(allowed.doubtful(low, high, FEW_ROUNDINGS))
    return _if_all(plan, allowed, doubtful, groups.start, groups.cells, groups.mass, low, high)


def _listed(plan: Plan, allowed: _Allowed) -> Limits | None:
    """What is listed as released as each value; in doubt, whole numbers decide: fractions of so many get too long."""
    groups = plan.listed.by_target()
    if not len(groups):
        return Limits(0.0, 0.0, 0.0)
    low, high = _lifts_of(groups, plan, allowed)
    for g in np.flatnonzero(allowed.doubtful(low, high, LIST_ROUNDINGS)).tolist():
        own = slice(int(groups.start[g]), int(groups.start[g + 1]))
        parts = list(zip(groups.cells[own].tolist(), groups.mass[own].tolist(), strict=True))
        least = [sum((m * int(row[x]) << FINE_BITS) // int(plan.W[x]) for x, m in parts) for row in plan.weights]
        if not allowed.allows_between(least, [told + len(parts) for told in least]):
            return None
    return _as_limits(low, high)


def _lifts_of(groups: Groups, plan: Plan, allowed: _Allowed) -> tuple[Vector, Vector]:
    """The least and the largest lift of each group, in float64."""
    W, total = plan.W[groups.cells], groups.total()
    told = [np.add.reduceat(groups.mass * (row[groups.cells] / W), groups.start[:-1]) / total for row in plan.weights]
    return _lifts(told, allowed)


def _single_values(plan: Plan, allowed: _Allowed) -> Limits | None:
    """Values that stay as they are."""
    stay = np.flatnonzero(plan.alone > 0)
    if not len(stay):
        return Limits(0.0, 0.0, 0.0)
    W = plan.W[stay]
    low, high = _lifts([row[stay] / W for row in plan.weights], allowed)
    doubtful = np.flatnonzero(allowed.doubtful(low, high, FEW_ROUNDINGS))
    return _if_all(plan, allowed, doubtful, np.arange(len(stay) + 1), stay, np.ones_like(stay), low, high)


def _everything(plan: Plan, allowed: _Allowed) -> Limits | None:
    """The group of everything, which must be well inside."""
    total = float(plan.rest.sum(dtype=np.float64))
    if total == 0:
        return Limits(0.0, 0.0, 0.0)
    W = np.maximum(plan.W, 1)
    told = [np.array([float((plan.rest * (row / W)).sum()) / total]) for row in plan.weights]
    low, high = _lifts(told, allowed)
    return None if allowed.doubtful(low, high, MANY_ROUNDINGS).any() else _as_limits(low, high)


def _lifts(told: list[Vector], allowed: _Allowed) -> tuple[Vector, Vector]:
    """The least and the largest lift of each group, from told[s][g] = P(s|g)."""
    lifts = [one / float(p) for one, p in zip(told, allowed.prior, strict=True)]
    low, high = lifts[0].copy(), lifts[0].copy()
    for lift in lifts[1:]:
        np.minimum(low, lift, out=low)
        np.maximum(high, lift, out=high)
    return low, high


def _if_all(
    plan: Plan,
    allowed: _Allowed,
    doubtful: Integers,
    start: Integers,
    cells: Integers,
    mass: Integers,
    low: Vector,
    high: Vector,
) -> Limits | None:
    """How far these groups go, if those that are in doubt are allowed as well."""
    if len(doubtful) > MOST_FRACTIONS:
        return None
    for g in doubtful.tolist():
        own = range(int(start[g]), int(start[g + 1]))
        told = [sum((_part(plan.weights, s, int(cells[i]), int(mass[i])) for i in own), Fraction(0))
                for s in range(len(plan.weights))]  # fmt: skip
        if not allowed.allows(told):
            return None
    return _as_limits(low, high)


def _part(weights: Integers, s: int, x: int, m: int) -> Fraction:
    """m·P(s|x), exactly."""
    return Fraction(m * int(weights[s, x]), sum(int(row[x]) for row in weights))


def _as_limits(low: Vector, high: Vector) -> Limits:
    with np.errstate(divide="ignore"):
        down, up = np.log(low), np.log(high)
    return Limits(max(0.0, float(-down.min())), max(0.0, float(up.max())), max(0.0, float((up - down).max())))
