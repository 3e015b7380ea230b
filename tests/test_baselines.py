"""What people use instead keeps what it says it keeps, and never more than ours at the same promise."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
import privacyfunnel as pf
from privacyfunnel import baselines
from privacyfunnel.errors import InvalidInput, InvalidPromise
from strategies import epsilons, joints, notions

FLOAT = 1e-9
"""Nats by which sums of float64 may differ."""
TABLES = {
    "adult": ("sex", ["education", "occupation"]),
    "compas": ("two_year_recid", ["age_cat", "sex", "c_charge_degree", "score_text"]),
}


def leakage(joint, channel):
    """I(S;Y), from its definition."""
    told = joint.p @ channel.T
    return sum(
        told[s, y] * math.log(told[s, y] / told[s].sum() / told[:, y].sum())
        for s in range(told.shape[0])
        for y in range(told.shape[1])
        if told[s, y] > 0
    )


def at_own_level(protocol, joint):
    """The promises that a baseline happens to keep, at the levels it reaches, where these are finite."""
    kinds = (pf.LIP, pf.LDP, pf.PML)
    reached = [(kind, pf.certify(protocol, joint, kind(1.0)).level) for kind in kinds]
    return [kind(level) for kind, level in reached if math.isfinite(level)]


def never_above_ours(protocol, joint):
    promises = at_own_level(protocol, joint)
    assert promises
    for promise in promises:
        ours = pf.optimise(joint, promise, gap=1e-5, time_limit=20)
        assert protocol.utility <= ours.upper_bound + FLOAT
        assert protocol.utility <= ours.utility + 1e-5 + FLOAT


@settings(max_examples=25)
@given(joints(min_s=2, max_s=3, min_x=2, max_x=5), notions(epsilons(0.01, 3.0)))
def test_no_channel_of_x_keeps_more_than_ours_at_the_same_promise(joint, notion):
    ours = pf.optimise(joint, notion)
    for baseline in (baselines.randomised_response, baselines.watchdog):
        protocol = baseline(joint, notion)
        assert pf.certify(protocol, joint).holds
        assert protocol.notion == notion
        assert protocol.utility == pytest.approx(brute.information(joint.p_x, protocol.channel), abs=FLOAT)
        assert protocol.utility <= ours.upper_bound + FLOAT
        assert protocol.utility <= ours.utility + 2e-6


@settings(max_examples=20)
@given(joints(min_s=2, max_s=3, min_x=2, max_x=5), st.floats(0.0, 0.5))
def test_no_merging_keeps_more_than_ours_at_the_level_it_happens_to_reach(joint, most):
    merged = baselines.greedy_merge(joint, most)
    assert leakage(joint, merged.channel) <= most + FLOAT
    assert pf.certify(merged, joint).holds
    never_above_ours(merged, joint)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_on_real_tables_ours_keeps_at_least_as_much(table, epsilon, shared):
    secret, attributes = TABLES[table]
    joint = pf.Joint.from_table(shared / "data" / f"{table}.csv.gz", secret, attributes, missing="?")
    ours = pf.optimise(joint, pf.LIP(epsilon))
    for baseline in (baselines.randomised_response, baselines.watchdog):
        protocol = baseline(joint, pf.LIP(epsilon))
        assert pf.certify(protocol, joint).holds
        assert protocol.utility <= ours.utility + 1e-6
        never_above_ours(protocol, joint)
    merged = baselines.greedy_merge(joint, leakage(joint, ours.channel))
    never_above_ours(merged, joint)


@settings(max_examples=25)
@given(joints(min_s=2, min_x=2), notions(epsilons(0.05, 3.0)))
def test_a_more_truthful_response_would_break_the_promise(joint, notion):
    Q = baselines.randomised_response(joint, notion).channel
    k = joint.n_x
    theta = Q.max() - Q.min() if len(Q) > 1 else float(k == 1)
    assert np.allclose(np.sort(Q, axis=0)[:-1], (1 - theta) / k, atol=1e-8)
    if theta < 1:
        bolder = min(1.0, theta + 1e-6)
        assert notion.level(joint, bolder * np.eye(k) + (1 - bolder) / k) > notion.epsilon


def test_a_response_is_the_whole_truth_where_nothing_needs_hiding():
    joint = pf.Joint([[10, 20, 30], [10, 20, 30]])
    assert np.array_equal(baselines.randomised_response(joint, pf.LIP(0.1)).channel, np.eye(3))
    assert np.array_equal(baselines.watchdog(joint, pf.LIP(0.1)).channel, np.eye(3))


def test_the_watchdog_suppresses_what_tells_too_much_and_nothing_else():
    joint = pf.Joint([[100, 100, 30, 1], [100, 100, 1, 30]])
    protocol = baselines.watchdog(joint, pf.LIP(0.1))
    groups = {tuple(np.flatnonzero(row)) for row in protocol.channel}
    assert groups == {(0,), (1,), (2, 3)}


def test_the_watchdog_takes_harmless_values_along_until_its_symbol_is_harmless_too():
    joint = pf.Joint([[100, 50, 30], [100, 60, 1]])
    protocol = baselines.watchdog(joint, pf.LIP(0.2))
    suppressed = max((np.flatnonzero(row) for row in protocol.channel), key=len)
    assert 2 in suppressed
    assert len(suppressed) > 1
    assert pf.certify(protocol, joint).holds


def test_side_channels_are_guarded_by_the_same_functions():
    joint = pf.Joint(np.random.default_rng(3).random((2, 2, 3)))
    ours = pf.optimise(joint, pf.SRLIP(0.4))
    for baseline in (baselines.randomised_response, baselines.watchdog):
        protocol = baseline(joint, pf.SRLIP(0.4))
        assert pf.certify(protocol, joint).holds
        assert protocol.utility <= ours.upper_bound + FLOAT
    with pytest.raises(InvalidPromise, match="side channels"):
        baselines.conditional_reporting(joint, pf.SRLIP(0.4))


def test_the_first_merger_is_the_one_that_hides_most_for_its_price():
    joint = pf.Joint(np.random.default_rng(5).random((3, 5)))
    everything = leakage(joint, np.eye(5))

    def price(pair):
        merged = np.array(
            [row for x, row in enumerate(np.eye(5)) if x not in pair] + [np.eye(5)[list(pair)].sum(axis=0)]
        )
        lost = brute.information(joint.p_x, np.eye(5)) - brute.information(joint.p_x, merged)
        return (everything - leakage(joint, merged)) / lost

    best = max(combinations(range(5), 2), key=price)
    first = baselines.greedy_merge(joint, everything * (1 - 1e-9))
    assert tuple(np.flatnonzero(max(first.channel, key=lambda row: row.sum()))) == best


def test_an_average_case_method_can_give_somebody_away_completely():
    joint = pf.Joint([[1, 500, 500], [0, 500, 500]])
    merged = baselines.greedy_merge(joint, 0.01)
    assert baselines.levels(merged, joint)[0] == math.inf
    assert merged.notion == pf.PML(merged.notion.epsilon)


@pytest.mark.parametrize("bad", [-0.1, math.nan])
def test_a_leakage_that_makes_no_sense_is_refused(bad):
    with pytest.raises(InvalidInput, match="leakage"):
        baselines.greedy_merge(pf.Joint([[1, 2], [2, 1]]), bad)


@given(joints(min_s=2, max_s=4, min_x=2, max_x=5), notions(epsilons(0.01, 3.0)))
def test_conditional_reporting_keeps_its_promise_about_what_is_published(joint, notion):
    report = baselines.conditional_reporting(joint, notion)
    told = np.array([report.given(s) @ joint.p[s] for s in range(joint.n_s)])  # P(s, y)
    assert np.allclose(told.sum(axis=1), joint.p_s)
    occurring = told[:, told.sum(axis=0) > 0]
    level = notion.level(pf.Joint(occurring), np.eye(occurring.shape[1]))
    assert report.level <= notion.epsilon
    assert report.level == pytest.approx(level, abs=1e-6, rel=1e-6)
    pairs = sum(report.given(s) * joint.p[s] for s in range(joint.n_s))
    assert report.utility == pytest.approx(brute.information(joint.p_x, pairs / joint.p_x), abs=FLOAT)


def test_whoever_sees_the_secret_can_beat_every_channel_of_x():
    joint = pf.Joint([[6, 10], [11, 6]])
    report = baselines.conditional_reporting(joint, pf.LIP(0.1))
    assert report.level <= 0.1
    assert report.utility > pf.optimise(joint, pf.LIP(0.1)).upper_bound + 0.1


def test_drawn_reports_follow_their_distribution():
    joint = pf.Joint([[5, 3, 2], [1, 2, 7]])
    report = baselines.conditional_reporting(joint, pf.LDP(0.7))
    rng = np.random.default_rng(11)
    n = 60_000
    for s in range(2):
        for x in range(3):
            y = report.draw(np.full(n, s), np.full(n, x), rng)
            expected = report.given(s)[:, x] * n
            observed = np.bincount(y, minlength=3)
            assert ((observed - expected) ** 2 / expected).sum() < 22.0  # χ² with 2 degrees of freedom, p ≈ 2e-5
            wrong = np.roll(expected, 1)
            assert ((observed - wrong) ** 2 / wrong).sum() > 22.0
