"""The proof for wide protocols: every group of values, and so every mixture of groups, keeps the promise.

With two values of the secret a promise is an interval for P(s|y) of the second one, between rationals that are rounded
inwards. P(s|g) of a group is a quotient of sums of positive terms m·w(s,x)/W(x). In float64 each conversion, product,
quotient and sum of two is off by at most one part in 2⁵³, so that what is far enough inside is inside; what is not is
computed in fractions. No float decides anything that its error leaves open.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.exponentials import e_to
from privacyfunnel.proof.verdict import Certificate
from privacyfunnel.proof.wide_several import MOST_FRACTIONS, several_reached
from privacyfunnel.protocols.wide.rule import Plan
from privacyfunnel.typing import Vector

FEW_ROUNDINGS = 2.0**-48
"""Of the P(s|g) of a pair or a single value: at most 12 roundings of one part in 2⁵³ each."""
MANY_ROUNDINGS = 2.0**-20
"""Of a sum over at most 10⁷ < 2²⁴ positive terms, in any order, with ten roundings each: below 2²⁴·2⁻⁵² of it."""
MOST_WEIGHT = 2.0**62
"""Of all weights, and of all parts of groups: differences of sums of them fit 64 bits."""
TWO = 2
"""Secrets that pairs of values are for; with more of them, proof/wide_several.py has the groups."""
MOST_LISTED_VALUES = 20_000
"""Values of a list: as many terms as a sum may have in proof/wide_several.py."""
TOO_MUCH = "a group of values tells more than is promised"


def allowed_beliefs(limits: Limits, prior: Fraction) -> tuple[Fraction, Fraction]:
    """The least and the largest P(s|y) that limits allow for the one of two secrets with P(s) = prior, inwards.

    >>> [round(float(t), 3) for t in allowed_beliefs(Limits(lower=math.log(2), upper=math.log(2)), Fraction(4, 5))]
    [0.6, 0.9]
    """
    other = 1 - prior
    least, most = [Fraction(0)], [Fraction(1)]
    if math.isfinite(limits.upper):
        least.append(1 - e_to(limits.upper) * other)
        most.append(e_to(limits.upper) * prior)
    if math.isfinite(limits.lower):
        least.append(prior / e_to(limits.lower))
        most.append(1 - other / e_to(limits.lower))
    if math.isfinite(limits.spread):
        apart = e_to(limits.spread)
        least.append(prior / (prior + other * apart))
        most.append(prior * apart / (prior * apart + other))
    return max(least), min(most)


def certify_plan(plan: Plan, notion: Notion) -> Certificate:
    """Check that the groups divide all weights, and that each of them keeps the promise."""
    weights = plan.weights
    if not notion.simple or notion.confidence is not None or "known" in notion.parameters():
        return refused(
            notion, "the promise is not one about the values of the secret to those who know nothing beforehand"
        )
    if len(weights) < TWO or (weights < 0).any() or weights.sum(dtype=np.float64) >= MOST_WEIGHT:
        return refused(notion, "the weights are not those of two secrets or more")
    totals = [int(row.sum()) for row in weights]
    if min(totals) == 0:
        return refused(notion, "a value of the secret has no weight")
    flaw = _flaw_in_division(plan)
    if flaw is not None:
        return refused(notion, flaw)
    if len(weights) > TWO or len(plan.listed):
        reached = several_reached(plan, notion.limits.granted(), totals)
        return refused(notion, TOO_MUCH) if reached is None else _proven(notion, reached)
    prior = Fraction(totals[1], sum(totals))
    least, most = allowed_beliefs(notion.limits.granted(), prior)
    tightest = [kind(plan, least, most) for kind in (_pairs, _single_values, _everything)]
    if any(found is None for found in tightest):
        return refused(notion, TOO_MUCH)
    beliefs = [float(prior), *(t for found in tightest if found is not None for t in found)]
    return _proven(notion, _reached(min(beliefs), max(beliefs), float(prior)))


def _proven(notion: Notion, reached: Limits) -> Certificate:
    level = notion.level_of(reached)
    return Certificate(
        True, notion, level, None, reached, f"{notion.name} level {level:.9g}, promised {notion.epsilon:g}"
    )


def _flaw_in_division(plan: Plan) -> str | None:
    """Σ_g m_g(x) = W(x), with no negative part, in whole numbers that do not overflow."""
    pairs = plan.pairs
    parts = (pairs.m, pairs.n, plan.rest, plan.groups.mass, plan.listed.mass)
    if any((part < 0).any() for part in parts) or any((part > MOST_WEIGHT / 2).any() for part in parts):
        return "a part of a group is negative or too large"
    if sum(float(part.sum(dtype=np.float64)) for part in parts) > MOST_WEIGHT:
        return "the groups have more weight than there is"
    if (pairs.first == pairs.second).any() or ((pairs.m == 0) & (pairs.n == 0)).any():
        return "a pair is none"
    cells = plan.groups.cells
    if len(plan.listed) and not _is_list(plan):
        return "what is listed is no list of positive weights of different pairs of values, or it is not all there is"
    if len(cells) and (len(plan.weights) == TWO or not 0 <= cells.min() <= cells.max() < len(plan.W)):
        return "a group of several values is none"
    return "the groups have more of a value than there is" if (plan.alone < 0).any() else None


def _is_list(plan: Plan) -> bool:
    """Whether a list and the group of everything are all there is, and each pair of values is listed once at most.

    Since what is listed of x and r(x) are W(x), which is checked with the rest, the group of everything is left with as
    much as it was entered; what is not to be negative is what it is left with for each value.
    """
    listed, values = plan.listed, plan.W.size
    if len(plan.pairs.m) or len(plan.groups) or values > MOST_LISTED_VALUES or (listed.mass <= 0).any():
        return False
    if any(part.min() < 0 or part.max() >= values for part in (listed.source, listed.target)):
        return False
    different = len(np.unique(listed.source * values + listed.target)) == len(listed)
    return bool(different and (plan.alone == 0).all() and (plan.leaving >= 0).all())


def _pairs(plan: Plan, least: Fraction, most: Fraction) -> tuple[float, ...] | None:
    """The least and largest P(s|g) of a pair, if all are allowed."""
    pairs, t = plan.pairs, _beliefs(plan)
    if not len(pairs.m):
        return ()
    found = (pairs.m * t[pairs.first] + pairs.n * t[pairs.second]) / (pairs.m + pairs.n)
    doubtful = np.flatnonzero(_doubtful(found, least, most, FEW_ROUNDINGS))
    if len(doubtful) > MOST_FRACTIONS:
        return None
    w = plan.weights
    for g in doubtful.tolist():
        ones = [(int(pairs.first[g]), int(pairs.m[g])), (int(pairs.second[g]), int(pairs.n[g]))]
        told = sum(Fraction(m * int(w[1, x]), max(1, int(plan.W[x]))) for x, m in ones)
        if not least <= told / sum(m for _, m in ones) <= most:
            return None
    return float(found.min()), float(found.max())


def _single_values(plan: Plan, least: Fraction, most: Fraction) -> tuple[float, ...] | None:
    """The same for values that stay as they are."""
    stay = np.flatnonzero(plan.alone > 0)
    found = _beliefs(plan)[stay]
    if not len(stay):
        return ()
    doubtful = stay[_doubtful(found, least, most, FEW_ROUNDINGS)]
    if len(doubtful) > MOST_FRACTIONS:
        return None
    inside = (least <= Fraction(int(plan.weights[1, x]), int(plan.W[x])) <= most for x in doubtful.tolist())
    return (float(found.min()), float(found.max())) if all(inside) else None


def _everything(plan: Plan, least: Fraction, most: Fraction) -> tuple[float, ...] | None:
    """The same for the group of everything, which must be well inside."""
    total = float(plan.rest.sum(dtype=np.float64))
    if total == 0:
        return ()
    told = float((plan.rest * _beliefs(plan)).sum()) / total
    return None if _doubtful(np.array([told]), least, most, MANY_ROUNDINGS).any() else (told, told)


def _beliefs(plan: Plan) -> Vector:
    """P(s|x) in float64, each off by at most three roundings."""
    return np.asarray(plan.weights[1] / np.maximum(plan.W, 1))


def _doubtful(found: Vector, least: Fraction, most: Fraction, error: float) -> NDArray[np.bool_]:
    """Which numbers, each off by at most this part of itself, are not surely between the limits."""
    room = 2 * error
    return np.asarray(~((found >= float(least) * (1 + room)) & (found <= float(most) * (1 - room))))


def _reached(least: float, most: float, prior: float) -> Limits:
    """How far lifts go down, up and apart if beliefs go from `least` to `most`."""
    lifts = np.array([[least / prior, (1 - least) / (1 - prior)], [most / prior, (1 - most) / (1 - prior)]])
    with np.errstate(divide="ignore"):
        return Limits.around(np.log(lifts).T, np.ones((2, 2), dtype=np.bool_))


def refused(notion: Notion, reason: str) -> Certificate:
    """Nothing is proven, and why not."""
    return Certificate(False, notion, math.inf, None, Limits(), reason)
