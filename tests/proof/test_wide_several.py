"""Wide protocols about three secrets and more: groups keep the promise and the distribution, checked in fractions."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput
from privacyfunnel.optimiser.wide.mixtures import mixing_rule_for
from privacyfunnel.proof.exponentials import e_to
from privacyfunnel.proof.wide import certify_plan
from privacyfunnel.protocols.wide.groups import Groups
from privacyfunnel.protocols.wide.kept import kept_by
from privacyfunnel.protocols.wide.mixing_rule import ALL_SPARE, mixed_plan_of
from privacyfunnel.protocols.wide.partners import Pairs
from privacyfunnel.protocols.wide.rule import Plan

SIZES = (3, 2, 4)
NOTIONS = [pf.LIP(0.5), pf.LIP(0.05), pf.LDP(0.4), pf.PML(0.3), pf.ALIP(lower=0.2, upper=0.6)]
NO_PAIRS = Pairs(*(np.zeros(0, np.int64) for _ in range(4)))


def weights_from(seed, secrets=3, spread=1.0, tiny=False):
    rng = np.random.default_rng(seed)
    weights = np.exp(rng.normal(0, spread, (secrets, math.prod(SIZES))))
    if tiny:
        weights[:, rng.random(weights.shape[1]) < 0.3] *= 1e-17
    return (weights / weights.sum() * 2.0**60).astype(np.int64)


def plan_for(notion, weights, sizes=SIZES):
    return mixed_plan_of(mixing_rule_for(notion.limits, weights, sizes), weights, sizes)


def channel(plan):
    """Q[x′][x] in fractions, and the weight W of every x."""
    n, total = plan.W.size, [int(w) for w in plan.W]
    Q = [[Fraction(0)] * n for _ in range(n)]
    everything = sum(int(r) for r in plan.rest)
    for x in range(n):
        if total[x]:
            Q[x][x] += Fraction(int(plan.alone[x]), total[x])
            for other in range(n):
                Q[other][x] += Fraction(int(plan.rest[x]) * int(plan.rest[other]), total[x] * everything)
    for first, end in zip(plan.groups.start[:-1], plan.groups.start[1:], strict=True):
        own = [(int(plan.groups.cells[i]), int(plan.groups.mass[i])) for i in range(first, end)]
        for x, m in own:
            for z, k in own:
                Q[z][x] += Fraction(m * k, total[x] * sum(mass for _, mass in own))
    return Q, total


def check_in_fractions(plan, notion):
    weights = plan.weights
    Q, total = channel(plan)
    n, secrets = len(total), [sum(int(w) for w in row) for row in weights]
    whole, limits = sum(secrets), notion.limits
    for x in range(n):
        if total[x]:
            assert sum(Q[y][x] for y in range(n)) == 1
        assert sum(Q[x][z] * total[z] for z in range(n)) == total[x]  # released rows are distributed as they were
    for y in range(n):
        told = [sum(Q[y][x] * int(weights[s, x]) for x in range(n)) for s in range(len(weights))]
        if sum(told):
            lifts = [told[s] / sum(told) * whole / secrets[s] for s in range(len(weights))]
            assert not math.isfinite(limits.upper) or max(lifts) <= e_to(limits.upper)
            assert not math.isfinite(limits.lower) or min(lifts) * e_to(limits.lower) >= 1
            assert not math.isfinite(limits.spread) or max(lifts) <= e_to(limits.spread) * min(lifts)


@pytest.mark.long
@pytest.mark.parametrize("notion", NOTIONS, ids=str)
@given(seed=st.integers(0, 10_000), tiny=st.booleans(), secrets=st.integers(3, 5), spread=st.sampled_from([0.3, 1, 3]))
@settings(max_examples=3, deadline=None)
def test_in_fractions_every_released_value_keeps_the_promise_and_its_share(notion, seed, tiny, secrets, spread):
    plan = plan_for(notion, weights_from(seed, secrets, spread, tiny))
    certificate = certify_plan(plan, notion)
    assert certificate.holds
    assert certificate.level <= notion.epsilon
    check_in_fractions(plan, notion)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=8, deadline=None)
def test_no_less_information_is_kept_than_is_said(seed):
    plan = plan_for(pf.LIP(0.3), weights_from(seed))
    Q, total = channel(plan)
    joint = np.array([[float(q) * w for q, w in zip(row, total, strict=True)] for row in Q]) / sum(total)
    p, some = joint.sum(axis=1), joint > 0
    information = float((joint[some] * np.log((joint / np.outer(p, p))[some])).sum())
    kept = kept_by(plan, SIZES)
    assert kept.information <= information + 1e-9
    assert kept.rows <= np.trace(joint) + 1e-9
    codes = np.stack(np.unravel_index(np.arange(len(p)), SIZES), axis=1)
    for j, share in enumerate(kept.columns):
        assert share <= float(joint[codes[:, None, j] == codes[None, :, j]].sum()) + 1e-9


def example(notion=None):
    notion = notion or pf.LIP(0.3)
    return plan_for(notion, weights_from(3)), notion


def changed(plan, start=None, cells=None, mass=None, rest=None):
    groups = plan.groups
    parts = (groups.start if start is None else start, groups.cells if cells is None else cells)
    return Plan(plan.weights, plan.pairs, plan.rest if rest is None else rest,
                Groups(*parts, groups.mass if mass is None else mass))  # fmt: skip


def told_exactly(plan, notion):
    """Whether every group keeps a promise about lifts, and no part is negative, by fractions alone."""
    weights, limits = [[int(w) for w in row] for row in plan.weights], notion.limits
    secrets, W = [sum(row) for row in weights], [sum(column) for column in zip(*weights, strict=True)]
    groups = [[(x, int(m))] for x, m in enumerate(plan.alone) if m > 0]
    groups.append([(x, int(m)) for x, m in enumerate(plan.rest) if m > 0])
    for first, end in zip(plan.groups.start[:-1], plan.groups.start[1:], strict=True):
        groups.append([(int(plan.groups.cells[i]), int(plan.groups.mass[i])) for i in range(first, end)])
    for own in groups:
        told = [sum(Fraction(m * row[x], W[x]) for x, m in own) for row in weights]
        lifts = [one / sum(told) * sum(secrets) / total for one, total in zip(told, secrets, strict=True)]
        if max(lifts) > e_to(limits.upper) or min(lifts) * e_to(limits.lower) < 1:
            return False
    return bool((plan.alone >= 0).all() and (plan.rest >= 0).all())


@pytest.mark.long
def test_a_thousand_and_more_changed_plans_are_certified_only_where_fractions_say_so():
    refused = 0
    for seed in range(8):
        notion = pf.LIP(0.25)
        plan, rng = plan_for(notion, weights_from(seed)), np.random.default_rng(seed)
        for _ in range(160):
            mass, rest = plan.groups.mass.copy(), plan.rest.copy()
            i = int(rng.integers(len(mass)))
            x = int(plan.groups.cells[i])
            moved = max(1, int(mass[i] * float(rng.choice([1e-9, 1e-7, 3e-6, 1e-4, 0.01, 0.5]))))
            moved = min(moved, int(mass[i]) - 1)
            mass[i] -= moved  # from a group into that of everything, or back, or to where it may not be alone
            if rng.random() < 0.5:
                rest[x] += moved
            other = changed(plan, mass=mass, rest=rest)
            found, exact = certify_plan(other, notion).holds, told_exactly(other, notion)
            assert exact or not found
            refused += not found
    assert refused > 600


def test_a_group_beyond_a_limit_is_not_certified_by_however_little():
    notion, unit = pf.LIP(math.log(2)), 2**40
    # three values, each with its own secret: a group of them with shares 2/3 and 1/6, 1/6 is at both limits
    weights = np.diag([3 * unit] * 3).astype(np.int64)
    for excess, holds in ((0, False), (-64, True), (1, False)):
        mass = np.array([4 * (unit // 8) + excess, unit // 8, unit // 8])
        groups = Groups(np.array([0, 3]), np.arange(3), mass)
        plan = Plan(weights, NO_PAIRS, weights.sum(axis=0) - np.array(mass), groups)
        assert certify_plan(plan, notion).holds is holds


def test_groups_that_do_not_divide_the_weights_are_not_certified():
    plan, notion = example()
    doubled = plan.groups.mass.copy()
    doubled[0] += plan.W[plan.groups.cells[0]]
    assert "more of a value" in certify_plan(changed(plan, mass=doubled), notion).reason
    assert not certify_plan(changed(plan, mass=-plan.groups.mass), notion)
    assert not certify_plan(changed(plan, rest=-plan.rest), notion)
    elsewhere = plan.groups.cells.copy()
    for cell in (-1, plan.W.size):
        elsewhere[0] = cell
        assert not certify_plan(changed(plan, cells=elsewhere), notion)
    assert not certify_plan(changed(plan, start=plan.groups.start[:-1]), notion)
    assert not certify_plan(changed(plan, start=np.array([0, len(plan.groups.cells)])), notion)


def test_groups_of_several_values_are_not_for_two_secrets_and_pairs_not_for_three():
    plan, notion = example()
    two = np.stack([plan.weights[0], plan.weights[1] + plan.weights[2]])
    assert not certify_plan(replace(plan, weights=two), notion)
    x, z = (int(cell) for cell in plan.groups.cells[:2])
    pairs = Pairs(*(np.array([one]) for one in (x, z, 1, 1)))
    assert not certify_plan(replace(plan, pairs=pairs), notion)


def test_a_stricter_promise_is_not_certified():
    plan, notion = example()
    assert certify_plan(plan, notion).level == pytest.approx(0.3, abs=1e-4)
    assert not certify_plan(plan, pf.LIP(0.299))


def test_where_each_value_has_its_own_secret_three_are_mixed():
    weights = np.diag([2**50, 2**50, 2**51]).astype(np.int64)
    weights = np.repeat(weights, 4, axis=1)
    plan = plan_for(pf.LIP(0.4), weights, (3, 4))
    assert certify_plan(plan, pf.LIP(0.4)).holds
    check_in_fractions(plan, pf.LIP(0.4))
    assert np.diff(plan.groups.start).max() == 3
    assert kept_by(plan, (3, 4)).rows > 0.3


def test_seven_secrets_are_not_all_put_into_one_group():
    plan = plan_for(pf.LIP(0.3), weights_from(5, secrets=7))
    assert certify_plan(plan, pf.LIP(0.3)).holds
    assert np.diff(plan.groups.start).max() > 4
    assert kept_by(plan, SIZES).rows > 0.2


def test_everything_stays_where_nothing_tells():
    weights = np.tile((np.arange(1, 25) * 2.0**50).astype(np.int64), (3, 1))
    plan = plan_for(pf.LIP(0.1), weights)
    assert len(plan.groups) == 0
    assert kept_by(plan, SIZES).rows > 0.9998
    assert certify_plan(plan, pf.LIP(0.1)).holds


def test_a_rule_without_mixtures_puts_everything_into_one_group_and_holds():
    weights = weights_from(1, spread=3)
    rule = mixing_rule_for(pf.LIP(0.1).limits, weights, SIZES)
    plan = mixed_plan_of(replace(rule, stages=(), reaches=(), spare_bits=ALL_SPARE), weights, SIZES)
    assert (plan.alone == 0).all()
    assert certify_plan(plan, pf.LIP(0.1)).holds
    assert kept_by(plan, SIZES).information < 0.01


def test_a_promise_of_next_to_nothing_is_refused_in_a_line():
    with pytest.raises(InvalidInput, match="larger ε"):
        mixing_rule_for(pf.PerfectPrivacy().limits, weights_from(1), SIZES)


def test_the_same_rule_and_weights_give_the_same_groups_to_the_last_bit():
    weights = weights_from(5)
    rule = mixing_rule_for(pf.LIP(0.3).limits, weights, SIZES)
    assert mixed_plan_of(rule, weights, SIZES).digest() == mixed_plan_of(rule, weights.copy(), SIZES).digest()
    other = mixed_plan_of(replace(rule, stages=(), reaches=()), weights, SIZES)
    assert other.digest() != mixed_plan_of(rule, weights, SIZES).digest()
