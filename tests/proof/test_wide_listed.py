"""Lists of how each value is released: they keep the promise and the distribution, checked in fractions."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.optimiser.faithful.search import Plan as PairPlan
from privacyfunnel.optimiser.wide.listing import listed_for
from privacyfunnel.optimiser.wide.margin import aimed_at, lists_aim_at
from privacyfunnel.optimiser.wide.mixtures import mixing_rule_for
from privacyfunnel.optimiser.wide.shares import rule_for
from privacyfunnel.optimiser.wide.whole_plan import Listing, whole_plan
from privacyfunnel.proof.exponentials import e_to
from privacyfunnel.proof.wide import allowed_beliefs, certify_plan
from privacyfunnel.protocols.wide.by_model import plan_by
from privacyfunnel.protocols.wide.kept import kept_by
from privacyfunnel.protocols.wide.listed import Listed
from privacyfunnel.protocols.wide.partners import Pairs
from privacyfunnel.protocols.wide.rule import Plan, listed_plan

SIZES = (3, 2, 4)
COLUMNS = tuple(Column(name=n, kind="text", labels=tuple("abcd"[:k])) for n, k in zip("xyz", SIZES, strict=True))
NOTIONS = [pf.LIP(0.5), pf.LIP(0.05), pf.LDP(0.4), pf.PML(0.3), pf.ALIP(lower=0.2, upper=0.6)]


def weights_from(seed, secrets=2, spread=1.5, tiny=False):
    rng = np.random.default_rng(seed)
    weights = np.exp(rng.normal(0, spread, (secrets, math.prod(SIZES))))
    if tiny:
        weights[:, rng.random(weights.shape[1]) < 0.3] *= 10.0 ** rng.uniform(-20, -6)
    return (weights / weights.sum() * 2.0**60).astype(np.int64)


def groups_for(limits, weights):
    rule = (rule_for if len(weights) == 2 else mixing_rule_for)(limits, weights, SIZES)
    return plan_by(rule, weights, SIZES)


def channel(plan):
    """Q[x′][x] in fractions, from the definition of a list, and the weight W of every x."""
    n, total = plan.W.size, [int(w) for w in plan.W]
    Q = [[Fraction(0)] * n for _ in range(n)]
    left = [total[y] - sum(int(m) for m in plan.listed.mass[plan.listed.target == y]) for y in range(n)]
    for x in range(n):
        own = plan.listed.source == x
        for y, m in zip(plan.listed.target[own], plan.listed.mass[own], strict=True):
            Q[y][x] += Fraction(int(m), total[x])
        rest = total[x] - sum(int(m) for m in plan.listed.mass[own])
        for y in range(n):
            Q[y][x] += Fraction(rest * left[y], total[x] * sum(left)) if total[x] else Fraction(left[y], sum(left))
    return Q, total


def check_in_fractions(plan, notion):
    weights, (Q, total) = plan.weights, channel(plan)
    n, secrets, limits = len(total), [sum(int(w) for w in row) for row in plan.weights], notion.limits
    for x in range(n):
        assert sum(Q[y][x] for y in range(n)) == 1
        assert all(Q[y][x] >= 0 for y in range(n))
        assert sum(Q[x][z] * total[z] for z in range(n)) == total[x]  # released rows are distributed as they were
    for y in range(n):
        told = [sum(Q[y][x] * int(weights[s, x]) for x in range(n)) for s in range(len(weights))]
        if sum(told):
            lifts = [told[s] / sum(told) * sum(secrets) / secrets[s] for s in range(len(weights))]
            assert not math.isfinite(limits.upper) or max(lifts) <= e_to(limits.upper)
            assert not math.isfinite(limits.lower) or min(lifts) * e_to(limits.lower) >= 1
            assert not math.isfinite(limits.spread) or max(lifts) <= e_to(limits.spread) * min(lifts)


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
@given(seed=st.integers(0, 10_000), tiny=st.booleans(), secrets=st.integers(2, 4), noisy=st.booleans())
@settings(max_examples=3, deadline=None)
def test_in_fractions_every_released_value_keeps_the_promise_and_its_share(notion, seed, tiny, secrets, noisy):
    weights = weights_from(seed, secrets, tiny=tiny)
    groups = groups_for(aimed_at(notion.limits) if noisy else notion.limits, weights)
    plan = listed_for(notion, lists_aim_at(notion.limits) if noisy else notion.limits, groups, COLUMNS)
    if plan is None:
        return
    certificate = certify_plan(plan, notion)
    assert certificate.holds
    assert certificate.level <= notion.epsilon
    check_in_fractions(plan, notion)
    assert kept_by(plan, SIZES).cells >= kept_by(groups, SIZES).cells - 1e-9


def test_a_list_is_found_for_most_models_and_is_better_than_groups():
    gained = []
    for seed in range(12):
        weights = weights_from(seed, 2 + seed % 3, tiny=seed % 2 == 0)
        groups = groups_for(pf.LIP(0.4).limits, weights)
        plan = listed_for(pf.LIP(0.4), pf.LIP(0.4).limits, groups, COLUMNS)
        gained.append(0.0 if plan is None else kept_by(plan, SIZES).cells - kept_by(groups, SIZES).cells)
    assert sum(gain > 0 for gain in gained) >= 10
    assert np.median(gained) > 0.02


def test_a_list_leaves_as_many_cells_as_the_program_of_faithful_releases_allows():
    weights, notion = weights_from(5), pf.LIP(0.4)
    codes = np.stack(np.unravel_index(np.arange(math.prod(SIZES)), SIZES), axis=1).astype(np.int64)
    joint = pf.Joint.from_exact(weights.astype(object), codes, COLUMNS, "secret")
    best = pf.optimise(joint, notion, objective="faithful", gap=1e-6)
    plan = listed_for(notion, notion.limits, groups_for(notion.limits, weights), COLUMNS)
    assert best.fidelity_bound - 1e-3 < kept_by(plan, SIZES).cells <= best.fidelity_bound + 1e-9


def test_a_list_of_a_noisy_model_aims_further_inside_at_the_lower_border():
    weights, notion = weights_from(7, spread=2.5), pf.LIP(0.4)
    prior = weights[1].sum() / weights.sum()
    for aim, of_groups in ((notion.limits, notion.limits), (lists_aim_at(notion.limits), aimed_at(notion.limits))):
        plan = listed_for(notion, aim, groups_for(of_groups, weights), COLUMNS)
        groups = plan.listed.by_target()
        t = np.add.reduceat(groups.mass * (weights[1] / plan.W)[groups.cells], groups.start[:-1]) / groups.total()
        assert np.log(t.min() / prior) == pytest.approx(-aim.lower, abs=1e-4)


@given(seed=st.integers(0, 10_000), secrets=st.integers(2, 3))
@settings(max_examples=8, deadline=None)
def test_no_less_information_is_kept_than_is_said(seed, secrets):
    weights, limits = weights_from(seed, secrets), pf.LIP(0.3).limits
    plan = listed_for(pf.LIP(0.3), limits, groups_for(limits, weights), COLUMNS)
    if plan is None:
        return
    Q, total = channel(plan)
    joint = np.array([[float(q) * w for q, w in zip(row, total, strict=True)] for row in Q]) / sum(total)
    p, some = joint.sum(axis=1), joint > 0
    information = float((joint[some] * np.log((joint / np.outer(p, p))[some])).sum())
    kept = kept_by(plan, SIZES)
    assert information - 0.02 <= kept.information <= information + 1e-9
    assert kept.rows <= np.trace(joint) + 1e-9
    codes = np.stack(np.unravel_index(np.arange(len(p)), SIZES), axis=1)
    for j, share in enumerate(kept.columns):
        same = float(joint[codes[:, None, j] == codes[None, :, j]].sum())
        assert same - 1e-3 <= share <= same + 1e-9


@given(seed=st.integers(0, 10_000), secrets=st.integers(2, 4))
@settings(max_examples=10, deadline=None)
def test_whatever_a_solver_says_becomes_a_list_that_keeps_the_promise_or_none(seed, secrets):
    """Rounding is not what the promise rests on: plans made of chance are put right, or refused."""
    rng, weights = np.random.default_rng(seed), weights_from(seed, secrets, tiny=True)
    at = np.flatnonzero(weights.sum(axis=0) > 2**30)
    codes = np.stack(np.unravel_index(at, SIZES), axis=1).astype(np.int64)
    joint = pf.Joint.from_exact(weights[:, at].astype(object), codes, COLUMNS, "secret")
    n, notion = len(at), pf.LIP(0.3)
    listing = Listing(weights, at, notion.rows(joint), Similarity.of(joint))
    keys = np.flatnonzero(rng.random(n * n) < 0.3)
    plan = whole_plan(
        listing, PairPlan(keys, rng.random(len(keys)) / len(keys), float(rng.random() < 0.5) * 0.2), notion
    )
    if plan is not None:
        check_in_fractions(plan, notion)


def example():
    weights, notion = weights_from(3), pf.LIP(0.3)
    return listed_for(notion, notion.limits, groups_for(notion.limits, weights), COLUMNS), notion


def changed(plan, **parts):
    listed = replace(plan.listed, **parts)
    return Plan(plan.weights, Pairs.none(), plan.W - listed.taken(plan.W.size), listed=listed)


def test_a_stricter_promise_is_not_certified():
    plan, notion = example()
    assert certify_plan(plan, notion).level == pytest.approx(0.3, abs=1e-4)
    assert not certify_plan(plan, pf.LIP(0.299))


def test_a_weight_that_is_moved_past_the_promise_is_not_certified():
    """Some of a value that tells too much stays, and what was released as it in its place goes where that went."""
    plan, notion = example()
    listed, mass = plan.listed, plan.listed.mass
    x = int(np.argmax(np.abs(np.log(plan.weights[1] / plan.weights[0]))))
    away = np.flatnonzero((listed.source == x) & (listed.target != x))
    others = np.flatnonzero((listed.source != x) & (listed.target == x))
    first, second = away[np.argmax(mass[away])], others[np.argmax(mass[others])]
    moved = min(mass[first], mass[second]) // 2
    source = np.r_[listed.source, x, listed.source[second]]
    target = np.r_[listed.target, x, listed.target[first]]
    less = mass.copy()
    less[[first, second]] -= moved
    table = np.zeros((plan.W.size, plan.W.size), dtype=np.int64)
    np.add.at(table, (source, target), np.r_[less, moved, moved])
    forged = listed_plan(Listed.of(*np.nonzero(table), table[table > 0]), plan.weights)
    assert "more than is promised" in certify_plan(forged, notion).reason


def test_what_is_no_list_is_not_certified():
    plan, notion = example()
    listed, values = plan.listed, plan.W.size
    negative = listed.mass.copy()
    negative[0] *= -1
    twice = np.r_[0, np.arange(len(listed))]
    outside = listed.target.copy()
    outside[0] = -1
    for forged in (
        changed(plan, mass=negative),
        changed(plan, **{name: getattr(listed, name)[twice] for name in ("source", "target", "mass")}),
        changed(plan, mass=listed.mass * 3),
        Plan(plan.weights, Pairs.none(), plan.rest // 2, listed=listed),  # not all of what there is
        Plan(plan.weights, Pairs(*(np.array([k]) for k in (0, 1, 1, 1))), plan.rest, listed=listed),
    ):
        assert not certify_plan(forged, notion)
    assert not certify_plan(Plan(plan.weights, Pairs.none(), plan.rest, listed=replace(listed, target=outside)), notion)
    crowded = replace(listed, target=np.zeros_like(listed.target))  # more is released as one value than there is
    with pytest.raises(InvalidProtocol, match="than there is"):
        listed_plan(crowded, plan.weights)
    assert values == len(plan.leaving)


def test_a_list_that_does_not_keep_the_distribution_is_not_certified_even_if_it_tells_nothing():
    weights = np.full((2, 2), 2**40, dtype=np.int64)  # no value tells anything
    stays = Listed.of(np.array([0, 1]), np.array([0, 1]), np.array([2**40, 2**40]))
    assert certify_plan(listed_plan(stays, weights), pf.LIP(0.1))
    for listed, rest in (
        (replace(stays, target=np.array([1, 1]), mass=np.array([2**41, 2**41])), [0, 0]),  # all rows have one value
        (stays, [0, 0]),  # what is neither listed nor in the group of everything
        (Listed(np.array([0, 0]), np.array([0, 0]), np.array([2**40, 2**40])), [0, 2**41]),  # the same pair twice
    ):
        assert not certify_plan(Plan(weights, Pairs.none(), np.array(rest), listed=listed), pf.LIP(0.1))


def test_a_list_beyond_the_border_is_not_certified_by_however_little():
    prior, unit = Fraction(1, 2), 2**40
    _, most = allowed_beliefs(pf.LIP(0.5).limits, prior)
    weights = np.array([[unit, 0], [0, unit]], dtype=np.int64)
    for excess, holds in ((-1, True), (2, False)):
        told = math.floor(most * unit) + excess  # who is released as the second value, of unit, has the second secret
        mass = np.array([told, unit - told, unit - told, told])
        listed = Listed.of(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), mass)
        assert certify_plan(listed_plan(listed, weights), pf.LIP(0.5)).holds is holds


def test_the_group_of_everything_of_a_list_must_keep_the_promise_too():
    unit = 2**50
    weights = np.array([[unit, 0, unit], [0, unit, unit]], dtype=np.int64)
    listed = Listed.of(
        np.array([2]), np.array([2]), np.array([2 * unit])
    )  # 0 and 1 go through everything: told nothing
    assert certify_plan(listed_plan(listed, weights), pf.LIP(0.1)).holds  # 0 and 1 go through it, and tell nothing
    listed = Listed.of(np.array([1, 2]), np.array([2, 2]), np.array([unit // 10, unit]))
    assert not certify_plan(listed_plan(listed, weights), pf.LIP(0.01)).holds


def test_values_of_no_weight_go_through_the_group_of_everything_or_are_refused():
    unit = 2**40
    weights = np.array([[unit, 0], [unit, 0]], dtype=np.int64)
    stays = Listed.of(np.array([0]), np.array([0]), np.array([2 * unit]))
    with pytest.raises(InvalidProtocol, match="no weight"):
        listed_plan(stays, weights)
    assert listed_plan(Listed.of(np.array([0]), np.array([0]), np.array([unit])), weights).leaving.tolist() == [unit, 0]


def test_a_list_is_no_longer_than_it_may_be(monkeypatch):
    """What is left out where a list would be too long costs a little; if that is not enough, groups are used."""
    weights, limits = weights_from(3), pf.LIP(0.3).limits
    groups = groups_for(limits, weights)
    whole = listed_for(pf.LIP(0.3), limits, groups, COLUMNS)
    monkeypatch.setattr("privacyfunnel.optimiser.wide.whole_plan.MOST_LISTED", len(whole.listed) - 1)
    shorter = listed_for(pf.LIP(0.3), limits, groups, COLUMNS)
    assert shorter is None or len(shorter.listed) < len(whole.listed)
    monkeypatch.setattr("privacyfunnel.optimiser.wide.whole_plan.MOST_LISTED", 10)
    assert listed_for(pf.LIP(0.3), limits, groups, COLUMNS) is None
