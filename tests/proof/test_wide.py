"""Wide protocols: the groups that a rule makes keep the promise and the distribution, checked in fractions."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput
from privacyfunnel.optimiser.wide.shares import rule_for
from privacyfunnel.proof.exponentials import e_to
from privacyfunnel.proof.wide import allowed_beliefs, certify_plan
from privacyfunnel.protocols.wide.kept import kept_by
from privacyfunnel.protocols.wide.partners import Pairs, differing
from privacyfunnel.protocols.wide.rule import Plan, plan_of

SIZES = (3, 2, 4)
NOTIONS = [pf.LIP(0.5), pf.LIP(0.05), pf.LDP(0.4), pf.PML(0.3), pf.ALIP(lower=0.2, upper=0.6)]


def weights_from(seed, spread=2.0, tiny=False):
    rng = np.random.default_rng(seed)
    weights = np.exp(rng.normal(0, spread, (2, math.prod(SIZES))))
    if tiny:
        weights[:, rng.random(weights.shape[1]) < 0.3] *= 1e-17
    return (weights / weights.sum() * 2.0**60).astype(np.int64)


def channel(plan):
    """Q[x′][x] in fractions, and the weight W of every x."""
    n = plan.W.size
    total = [int(w) for w in plan.W]
    Q = [[Fraction(0)] * n for _ in range(n)]
    everything = sum(int(r) for r in plan.rest)
    for x in range(n):
        if not total[x]:
            continue
        Q[x][x] += Fraction(int(plan.alone[x]), total[x])
        for other in range(n):
            Q[other][x] += Fraction(int(plan.rest[x]) * int(plan.rest[other]), total[x] * everything)
    pairs = plan.pairs
    parts = (part.tolist() for part in (pairs.first, pairs.second, pairs.m, pairs.n))
    for x, z, m, k in zip(*parts, strict=True):
        for own, mass in ((x, m), (z, k)):
            Q[x][own] += Fraction(mass * m, total[own] * (m + k))
            Q[z][own] += Fraction(mass * k, total[own] * (m + k))
    return Q, total


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
@given(seed=st.integers(0, 10_000), tiny=st.booleans())
@settings(max_examples=6, deadline=None)
def test_in_fractions_every_released_value_keeps_the_promise_and_its_share(notion, seed, tiny):
    weights = weights_from(seed, tiny=tiny)
    plan = plan_of(rule_for(notion.limits, weights, SIZES), weights, SIZES)
    assert certify_plan(plan, notion).holds
    Q, total = channel(plan)
    n, secrets = len(total), [sum(int(w) for w in row) for row in weights]
    whole, limits = sum(secrets), notion.limits
    for x in range(n):
        if total[x]:
            assert sum(Q[y][x] for y in range(n)) == 1
        assert sum(Q[x][z] * total[z] for z in range(n)) == total[x]  # released rows are distributed as they were
    for y in range(n):
        told = [sum(Q[y][x] * int(weights[s, x]) for x in range(n)) for s in range(2)]
        if sum(told):
            lifts = [told[s] / sum(told) * whole / secrets[s] for s in range(2)]
            if math.isfinite(limits.upper):
                assert max(lifts) <= e_to(limits.upper)
            if math.isfinite(limits.lower):
                assert min(lifts) * e_to(limits.lower) >= 1
            if math.isfinite(limits.spread):
                assert max(lifts) <= e_to(limits.spread) * min(lifts)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=8, deadline=None)
def test_no_less_information_is_kept_than_is_said(seed):
    weights = weights_from(seed)
    plan = plan_of(rule_for(pf.LIP(0.3).limits, weights, SIZES), weights, SIZES)
    Q, total = channel(plan)
    joint = np.array([[float(q) * w for q, w in zip(row, total, strict=True)] for row in Q]) / sum(total)
    p = joint.sum(axis=1)
    some = joint > 0
    information = float((joint[some] * np.log((joint / np.outer(p, p))[some])).sum())
    kept = kept_by(plan, SIZES)
    assert kept.information <= information + 1e-9
    assert kept.information >= information - 0.02
    assert kept.rows <= np.trace(joint) + 1e-9
    codes = np.stack(np.unravel_index(np.arange(len(p)), SIZES), axis=1)
    for j, share in enumerate(kept.columns):
        same = codes[:, None, j] == codes[None, :, j]
        assert share <= float(joint[same].sum()) + 1e-9
        assert share >= float(joint[same].sum()) - 1e-3


def example():
    weights = weights_from(3)
    notion = pf.LIP(0.3)
    return plan_of(rule_for(notion.limits, weights, SIZES), weights, SIZES), notion


def test_a_stricter_promise_is_not_certified():
    plan, notion = example()
    assert certify_plan(plan, notion).level == pytest.approx(0.3, abs=1e-4)
    assert not certify_plan(plan, pf.LIP(0.299))


def changed(plan, **arrays):
    pairs = Pairs(**{name: arrays.pop(name, getattr(plan.pairs, name)) for name in ("first", "second", "m", "n")})
    return Plan(plan.weights, pairs, arrays.pop("rest", plan.rest))


def test_groups_that_do_not_divide_the_weights_are_not_certified():
    plan, notion = example()
    doubled = plan.pairs.m.copy()
    doubled[0] += plan.W[plan.pairs.first[0]]
    assert "more of a value" in certify_plan(changed(plan, m=doubled), notion).reason
    negative = plan.pairs.n.copy()
    negative[0] *= -1
    assert not certify_plan(changed(plan, n=negative), notion)
    assert not certify_plan(changed(plan, rest=-plan.rest), notion)
    assert not certify_plan(changed(plan, second=plan.pairs.first), notion)


def test_a_value_that_tells_too_much_by_itself_is_not_certified():
    plan, notion = example()
    telling = plan.rest.copy()
    x = int(np.argmax(plan.weights[1] / plan.W))
    telling[x] = 0
    assert not certify_plan(changed(plan, rest=telling), notion)


def test_a_pair_beyond_the_border_is_not_certified_by_however_little():
    prior = Fraction(1, 2)
    _, most = allowed_beliefs(pf.LIP(0.5).limits, prior)
    unit = 2**40
    for excess, holds in ((-1, True), (2, False)):
        # one pair of a value without the secret and one with it, at the border but for a part in 2^40, and their mirror
        told = math.floor(most * unit) + excess
        weights = np.array([[unit, 0, unit, 0], [0, unit, 0, unit]], dtype=np.int64)
        pairs = Pairs(*(np.array(part) for part in ([0, 2], [1, 3], [unit - told, told], [told, unit - told])))
        rest = weights.sum(axis=0) - np.array([unit - told, told, told, unit - told])
        assert certify_plan(Plan(weights, pairs, rest), pf.LIP(0.5)).holds is holds


def test_promises_that_are_more_than_an_interval_of_beliefs_are_not_certified():
    plan, _ = example()
    for notion in (pf.SRLIP(5.0), pf.robust(pf.LIP(5.0), 0.95)):
        assert not certify_plan(plan, notion)


def test_weights_of_one_or_three_secrets_are_not_certified():
    plan, notion = example()
    three = np.vstack([plan.weights, plan.weights[:1]])
    assert not certify_plan(replace(plan, weights=three), notion)
    assert not certify_plan(replace(plan, weights=plan.weights * np.array([[1], [0]])), notion)


def test_a_promise_of_next_to_nothing_is_refused_in_a_line():
    with pytest.raises(InvalidInput, match="larger ε"):
        rule_for(pf.PerfectPrivacy().limits, weights_from(1), SIZES)


def test_everything_stays_where_nothing_tells():
    weights = np.tile((np.arange(1, 25) * 2.0**50).astype(np.int64), (2, 1))
    plan = plan_of(rule_for(pf.LIP(0.1).limits, weights, SIZES), weights, SIZES)
    assert len(plan.pairs.m) == 0
    assert kept_by(plan, SIZES).rows > 0.9998
    assert certify_plan(plan, pf.LIP(0.1)).holds


def test_partners_differ_in_one_column_before_they_differ_in_two():
    sets = list(differing(range(12)))
    assert [len(one) for one in sets] == sorted(len(one) for one in sets)
    assert sets[-1] == tuple(range(12))
    assert len(sets) < 400
    assert sorted(differing([0, 1, 2]), key=len)[:3] == [(0,), (1,), (2,)]


def test_the_same_rule_and_weights_give_the_same_groups_to_the_last_bit():
    weights = weights_from(5)
    rule = rule_for(pf.LIP(0.5).limits, weights, SIZES)
    assert plan_of(rule, weights, SIZES).digest() == plan_of(rule, weights.copy(), SIZES).digest()
    other = plan_of(replace(rule, order=rule.order[::-1]), weights, SIZES)
    assert other.digest() != plan_of(rule, weights, SIZES).digest()
