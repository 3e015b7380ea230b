"""Faithful releases: rows keep their distribution, the promise holds, and no other release changes less."""

import threading
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import privacyfunnel as pf
from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.similarity import NEAR, Similarity
from privacyfunnel.errors import InvalidChannel, InvalidInput, InvalidJoint, InvalidPromise
from privacyfunnel.optimiser.faithful import task
from privacyfunnel.optimiser.faithful.bands import Bands
from privacyfunnel.optimiser.faithful.best_release import faithful
from privacyfunnel.optimiser.faithful.plan_rounding import round_plan
from privacyfunnel.optimiser.faithful.program import Limited, Prices, Program
from privacyfunnel.optimiser.faithful.search import POOLINGS, Plan, Standing, generate, mend, polished
from privacyfunnel.optimiser.robust.search import region_of
from privacyfunnel.population import people
from privacyfunnel.proof.certificate import certify_channel
from privacyfunnel.proof.invariance import MARGINAL_ERROR, marginal_error
from privacyfunnel.protocols.channel import UNIT, Channel
from strategies import arrays, epsilons, joints, notions

GAP = 1e-7
several_columns = st.integers(0, 2**32 - 1).map(
    lambda seed: pf.Joint(np.random.default_rng(seed).integers(1, 60, (2, 2, 3, 2)), attributes=["a", "b", "c"])
)


def brute(joint, notion, sim):
    """The program on all pairs, by another solver's interface and straight from the rows G."""
    n, p, G = joint.n_x, joint.p_x, notion.granted_rows(joint)
    each = np.eye(n)
    A_eq = np.vstack([np.kron(each, np.ones(n)), np.kron(np.ones(n), each)])  # π[x, o], x first
    A_ub = np.vstack([np.kron(g[:, None], each).T for g in G] or [np.empty((0, n * n))])
    scale = np.append(p, p)
    answer = linprog(
        -sim.ravel(),
        A_ub=A_ub,
        b_ub=np.zeros(len(A_ub)),
        A_eq=A_eq / scale[:, None],
        b_eq=np.ones(2 * n),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert answer.status == 0, answer.message
    return -answer.fun


def released(channel, joint):
    """P(Y = o) in fractions."""
    weights = [sum(int(w) for w in column) for column in joint.weights.T.tolist()]
    found = [Fraction(0)] * joint.n_x
    for x, o, numerator in zip(channel.inputs, channel.outputs, channel.numerators.tolist(), strict=True):
        found[o] += Fraction(weights[x] * numerator, UNIT * joint.total)
    return found, [Fraction(w, joint.total) for w in weights]


# --- the optimum ----------------------------------------------------------------------------------


@given(joints(min_s=2, max_s=3, min_x=2, max_x=6), notions(epsilons(0.05, 3.0)))
@settings(max_examples=40)
def test_the_optimum_is_that_of_the_program_on_all_pairs(joint, notion):
    release = faithful(joint, notion, gap=GAP)
    best = brute(joint, notion, release.similarity.dense())
    assert release.fidelity_bound == pytest.approx(best, abs=1e-6)
    assert release.fidelity <= best + 1e-8


@given(st.integers(0, 10**6), notions(epsilons(0.1, 2.0)))
@settings(max_examples=20)
def test_exact_releases_of_well_filled_tables_lose_nothing_to_rounding(seed, notion):
    joint = pf.Joint(np.random.default_rng(seed).integers(5, 200, (2, 7)))
    release = faithful(joint, notion, gap=GAP)
    assert release.gap <= 1e-6


@given(several_columns, st.sampled_from([pf.SRLIP(0.4), pf.SRLDP(0.5, known=1), pf.SRLIP(0.3, known=["a"])]))
@settings(max_examples=10)
def test_side_channels_are_guarded_at_the_least_cost(joint, notion):
    release = faithful(joint, notion, gap=1e-4)
    best = brute(joint, notion, release.similarity.dense())
    assert release.fidelity_bound >= best - 1e-8
    assert release.fidelity == pytest.approx(best, abs=1e-3)
    assert certify_channel(release.channel, joint, notion).holds


@given(joints(min_s=2, max_s=3, min_x=2, max_x=6), notions(epsilons(0.05, 3.0)))
@settings(max_examples=15)
def test_with_one_column_without_order_rows_unchanged_are_the_most_possible(joint, notion):
    release = faithful(joint, notion, ordered=(), gap=GAP)
    assert release.rows_unchanged == pytest.approx(release.fidelity, abs=1e-12)
    assert release.fidelity_bound == pytest.approx(brute(joint, notion, np.eye(joint.n_x)), abs=1e-6)


def test_two_values_and_two_secrets_are_known_by_hand():
    """π = [[½−f, f], [f, ½−f]] has P(s|y) = .8 − 1.2f, and LIP(0.3) allows 1 − ½e^-0.3."""
    release = faithful(pf.Joint([[40, 10], [10, 40]]), pf.LIP(0.3), ordered=(), gap=GAP)
    assert 1 - release.rows_unchanged == pytest.approx(2 * (0.8 - 1 + 0.5 * np.exp(-0.3)) / 1.2, abs=1e-7)


def test_a_promise_that_binds_nobody_changes_nothing():
    release = faithful(pf.Joint([[3, 1, 2], [1, 2, 3]]), pf.LIP(5.0))
    assert release.rows_unchanged == 1.0
    assert release.fidelity == pytest.approx(1.0, abs=1e-12)


@given(several_columns, notions(epsilons(0.05, 1.0)))
@settings(max_examples=15)
def test_redrawing_from_the_posterior_of_the_information_optimum_is_never_better(joint, notion):
    Q = pf.optimise(joint, notion).channel
    q = Q @ joint.p_x
    redrawn = (Q * joint.p_x / q[:, None]).T @ Q  # P(x′|x) = Σ_y P(x′|y) P(y|x)
    assert redrawn @ joint.p_x == pytest.approx(joint.p_x, abs=1e-12)
    release = faithful(joint, notion, gap=1e-5)
    kept = float((redrawn * joint.p_x * release.similarity.dense()).sum())
    assert kept <= release.fidelity + 2e-5
    assert kept <= release.fidelity_bound + 1e-9


def test_pairs_are_generated_until_none_is_missing(monkeypatch):
    monkeypatch.setattr("privacyfunnel.optimiser.faithful.first_program.ALL_PAIRS", 1)
    monkeypatch.setattr("privacyfunnel.optimiser.faithful.search.ALL_PAIRS", 1)
    monkeypatch.setattr("privacyfunnel.optimiser.faithful.first_program.MOST_SIMILAR", 2)
    monkeypatch.setattr("privacyfunnel.optimiser.faithful.first_program.GROUPS", 2)
    joint = pf.Joint(np.random.default_rng(5).integers(1, 99, (3, 4, 5)), attributes=["a", "b"])
    notion = pf.LIP(0.2)
    release = faithful(joint, notion, gap=1e-6)
    assert release.fidelity_bound == pytest.approx(brute(joint, notion, release.similarity.dense()), abs=1e-6)
    assert "linear programs" in release.how
    assert release.gap <= 1e-6


# --- bounds ---------------------------------------------------------------------------------------


@given(several_columns, notions(epsilons(0.05, 2.0)), st.integers(0, 10**6))
@settings(max_examples=30)
def test_any_prices_give_a_bound(joint, notion, seed):
    rng = np.random.default_rng(seed)
    bands = Bands.of(notion.granted_rows(joint))
    program = Program(joint.p_x, Similarity.of(joint), bands, 0.0)
    n = joint.n_x
    outputs, rows = (part.ravel() for part in np.indices((n, len(bands))))
    mu = rng.normal(size=len(rows)) * rng.random()
    mu = np.where(np.isfinite(bands.high)[rows], mu.clip(0), 0) + np.where(
        np.isfinite(bands.low)[rows], mu.clip(None, 0), 0
    )
    prices = Prices(rng.normal(size=n), rng.normal(size=n), mu, Limited.of(outputs, rows))
    assert program.price(prices, 3).bound >= brute(joint, notion, program.similarity.dense()) - 1e-9


@given(arrays(min_s=2, max_s=4, min_x=2, max_x=5), notions(epsilons(0.05, 3.0)), st.integers(0, 10**6))
@settings(max_examples=50)
def test_bands_say_what_the_rows_say(array, notion, seed):
    joint = pf.Joint(array)
    G = notion.rows(joint)
    bands = Bands.of(G)
    rng = np.random.default_rng(seed)
    V = 0.5 * rng.dirichlet(np.full(joint.n_x, 0.7), size=50) + rng.choice([0, 0.5], (50, 1)) * joint.p_x
    V /= V.sum(axis=1, keepdims=True)
    clear = np.abs(V @ G.T).min(axis=1, initial=1.0) > 1e-9
    kept = (V @ G.T <= 0).all(axis=1)
    got = V @ bands.D.T
    assert np.array_equal(((got <= bands.high) & (got >= bands.low)).all(axis=1)[clear], kept[clear])


def test_four_rows_about_two_secrets_are_one_band():
    joint = pf.Joint(np.random.default_rng(0).integers(1, 50, (2, 9)))
    assert len(pf.LIP(0.2).rows(joint)) > 1
    assert len(Bands.of(pf.LIP(0.2).rows(joint))) == 1


# --- exactness ------------------------------------------------------------------------------------


@given(joints(min_s=2, max_s=3, min_x=2, max_x=6), notions(epsilons(0.05, 3.0)))
@settings(max_examples=25)
def test_the_promise_and_the_distribution_are_kept_exactly(joint, notion):
    release = faithful(joint, notion)
    certificate = certify_channel(release.channel, joint, notion)
    assert certificate.holds
    assert certificate.level <= notion.epsilon
    found, original = released(release.channel, joint)
    worst = max(abs(a - b) for a, b in zip(found, original, strict=True))
    assert worst <= Fraction(1, 2**30)
    assert worst == marginal_error(release.channel, joint)
    assert worst <= release.marginal_error


@given(joints(skewed=True, min_s=2, max_s=2, min_x=2, max_x=6), epsilons(0.1, 2.0))
@settings(max_examples=15)
def test_values_of_very_different_frequency_are_released_exactly_too(joint, epsilon):
    release = faithful(joint, pf.LIP(epsilon))
    assert certify_channel(release.channel, joint, pf.LIP(epsilon)).holds
    assert marginal_error(release.channel, joint) <= MARGINAL_ERROR


def test_a_channel_with_another_distribution_is_caught():
    joint = pf.Joint([[40, 10, 5], [10, 40, 5]])
    channel = faithful(joint, pf.LIP(0.3)).channel
    N = (channel.dense() * UNIT).astype(np.int64)
    N[0, 0] -= 64
    N[1, 0] += 64
    moved = Channel.from_numerators(N)
    assert marginal_error(channel, joint) <= MARGINAL_ERROR < marginal_error(moved, joint)
    assert marginal_error(channel.with_outputs_in(np.array([2, 1, 0])), joint) > MARGINAL_ERROR


def test_a_plan_that_is_a_little_off_is_balanced_before_it_is_rounded():
    p = np.array([0.5, 0.3, 0.2])
    mass = (0.9 * np.diag(p) + 0.1 * np.outer(p, p)) * (1 + 1e-6 * np.array([[1, -2, 3], [0, 4, -1], [2, 0, 1]]))
    channel = round_plan(Plan(np.arange(9), mass.ravel(), 0.0), p)
    assert marginal_error(channel, pf.Joint([[25, 15, 10], [25, 15, 10]])) <= MARGINAL_ERROR


def test_an_exact_channel_that_keeps_the_promise_and_not_the_distribution_is_not_returned(monkeypatch):
    def to_the_first(plan, p):
        N = np.zeros((len(p), len(p)), dtype=np.int64)
        N[0] = UNIT  # tells nothing, so it keeps any promise
        return Channel.from_numerators(N)

    monkeypatch.setattr("privacyfunnel.optimiser.faithful.task.round_plan", to_the_first)
    joint = pf.Joint([[40, 10, 5], [10, 40, 5]])
    assert marginal_error(faithful(joint, pf.LIP(0.3)).channel, joint) <= MARGINAL_ERROR


def test_a_plan_is_read_with_its_axes_in_order():
    p = np.full(3, 1 / 3)
    plan = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]) / 3  # π(o, x): the values go round, and not back
    channel = round_plan(Plan(np.arange(9), plan.ravel(), 0.0), p)
    assert np.array_equal(channel.dense(), 3 * plan)


def test_the_optimum_of_information_does_not_keep_the_distribution():
    joint = pf.Joint(np.random.default_rng(1).integers(1, 50, (2, 6)))
    Q = pf.optimise(joint, pf.LIP(0.2)).channel
    square = np.zeros((6, 6))
    square[: len(Q)] = Q
    assert marginal_error(Channel.from_dense(square), joint) > MARGINAL_ERROR


def test_outputs_that_are_no_values_are_refused():
    with pytest.raises(InvalidChannel, match="outputs are the 2 values"):
        marginal_error(Channel.from_dense([[1, 1]]), pf.Joint([[1, 2], [2, 1]]))


def test_perfect_privacy_is_kept_with_the_distribution():
    joint = pf.Joint(np.random.default_rng(2).integers(1, 9, (2, 6)))
    release = faithful(joint, pf.PerfectPrivacy())
    assert certify_channel(release.channel, joint, pf.PerfectPrivacy()).holds
    assert marginal_error(release.channel, joint) <= MARGINAL_ERROR
    assert release.fidelity <= release.fidelity_bound


def test_perfect_privacy_costs_no_more_than_it_must_on_a_table_with_rare_values():
    rng = np.random.default_rng(9)
    joint = pf.Joint(np.maximum(1, rng.pareto(1.5, (2, 40)) * 30).astype(np.int64))
    release = faithful(joint, pf.PerfectPrivacy(), ordered=())
    assert certify_channel(release.channel, joint, pf.PerfectPrivacy()).holds
    assert marginal_error(release.channel, joint) <= MARGINAL_ERROR
    assert release.gap <= 1e-3


def test_perfect_privacy_on_the_demo_table_is_certified_with_a_closed_gap():
    table = pa.table(people(4_000, seed=1))
    joint = pf.Joint.from_table(table, "obese", ["sex", "town", "height", "weight"])
    protocol = pf.optimise(joint, pf.PerfectPrivacy(), objective="faithful")
    certificate = pf.certify(protocol, joint)
    assert joint.n_x > 300
    assert certificate.holds
    assert certificate.marginal_error <= 2**-30
    assert protocol.fidelity_bound - protocol.fidelity <= 1e-3
    assert protocol.likeness.cells_unchanged > 0.8


def test_side_channels_need_hardly_any_redrawing():
    joint = pf.Joint(np.random.default_rng(7).integers(1, 90, (2, 3, 4, 2)), attributes=["a", "b", "c"])
    release = faithful(joint, pf.SRLIP(0.5, known=1))
    assert certify_channel(release.channel, joint, pf.SRLIP(0.5, known=1)).holds
    assert release.gap <= 1e-3


# --- similarity -----------------------------------------------------------------------------------


def mixed_joint():
    columns = (
        Column(name="town", kind="text", labels=("A", "B", "C")),
        Column(name="age", kind="bins", edges=(0.0, 10.0, 20.0, 30.0, 40.0), labels=("a", "b", "c", "d", None)),
    )
    codes = np.array([[t, a] for t in range(3) for a in range(5)], dtype=np.int64)
    weights = np.random.default_rng(0).integers(1, 40, (2, 15))
    return pf.Joint.from_codes(weights, codes, columns, "S", None)


def test_equal_columns_count_their_weight_and_ranges_their_nearness():
    joint = mixed_joint()
    sim = Similarity.of(joint, {"town": 3.0}).dense()
    x = {tuple(code): i for i, code in enumerate(joint.codes.tolist())}
    assert sim[x[0, 0], x[0, 0]] == 1.0
    assert sim[x[0, 0], x[1, 0]] == pytest.approx(0.25)
    assert sim[x[0, 0], x[0, 1]] == pytest.approx(0.75 + 0.25 * NEAR * (1 - 1 / 3))
    assert sim[x[0, 0], x[0, 3]] == pytest.approx(0.75)
    assert sim[x[0, 0], x[0, 4]] == pytest.approx(0.75)  # a missing age is near none
    assert sim[x[1, 4], x[2, 4]] == pytest.approx(0.25)  # but two of them are equal
    assert np.array_equal(sim, sim.T)
    assert Similarity.of(joint, {"town": 3.0}).of_strangers(joint.p_x) == pytest.approx(joint.p_x @ sim @ joint.p_x)


def test_compiled_pricing_sees_the_same_similarity_with_the_same_axes():
    """Prices that depend on x alone or on the output alone tell the two axes apart."""
    joint = mixed_joint()
    program = Program(joint.p_x, Similarity.of(joint, {"age": 2.0}), Bands.of(pf.LIP(0.3).rows(joint)), 0.0)
    rng = np.random.default_rng(3)
    n = joint.n_x
    w, mu = rng.random(n), rng.random(n)
    prices = Prices(np.zeros(n), w, mu, Limited.of(np.arange(n), np.zeros(n, dtype=np.int64)))
    R = program.similarity.dense() - w[None, :] - np.outer(program.bands.D[0], mu)  # [x, o]
    expected = joint.p_x @ R.max(axis=1) + joint.p_x @ w + program.bands.high[0] * (joint.p_x @ mu)
    assert program.price(prices, 2).bound == pytest.approx(expected, abs=1e-12)
    swapped = program.similarity.dense() - w[:, None] - np.outer(mu, program.bands.D[0])
    assert abs(joint.p_x @ swapped.max(axis=1) - joint.p_x @ R.max(axis=1)) > 1e-3


def test_a_weighty_column_is_changed_less():
    joint = pf.Joint(np.random.default_rng(8).integers(1, 60, (2, 4, 4)), attributes=["a", "b"])

    def changed(release, j):
        x, o = release.channel.inputs, release.channel.outputs
        mass = release.channel.numerators / UNIT * joint.p_x[x]
        return mass @ (joint.codes[x, j] != joint.codes[o, j])

    plain = faithful(joint, pf.LIP(0.1), ordered=())
    heavy = faithful(joint, pf.LIP(0.1), ordered=(), weights={"a": 10.0})
    assert changed(heavy, 0) < changed(plain, 0)


def test_foreign_or_senseless_weights_are_refused():
    joint = mixed_joint()
    with pytest.raises(InvalidInput, match="none of the attributes"):
        faithful(joint, pf.LIP(0.3), weights={"street": 2.0})
    for weight in (0.0, -1.0, float("nan"), True):
        with pytest.raises(InvalidInput, match="positive number"):
            faithful(joint, pf.LIP(0.3), weights={"town": weight})


# --- several distributions, sets of them, interruption --------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from([pf.LIP(0.4), pf.LDP(0.6), pf.SRLIP(0.5)]))
@settings(max_examples=8)
def test_the_promise_is_kept_for_each_of_several_distributions(seed, notion):
    rng = np.random.default_rng(seed)
    several = [pf.Joint(rng.integers(1, 60, (2, 2, 3))) for _ in range(2)]
    release = faithful(several, notion)
    assert all(certify_channel(release.channel, joint, notion).holds for joint in several)
    alone = faithful(several[0], notion)
    assert release.fidelity <= release.fidelity_bound
    assert alone.fidelity > 0


def test_values_that_only_one_of_them_has_are_released_too():
    several = [pf.Joint([[30, 10, 0], [10, 30, 0]]), pf.Joint([[0, 10, 30], [0, 30, 10]])]
    release = faithful(several, pf.LIP(0.3))
    assert release.channel.n_inputs == 3
    assert release.rows_unchanged > 0.3


@pytest.mark.parametrize("notion", [pf.LIP(0.5), pf.LDP(0.8), pf.PML(0.5)])
def test_a_promise_over_a_confidence_set_is_kept_over_all_of_it(notion):
    joint = pf.Joint(np.random.default_rng(4).integers(200, 3000, (2, 6)))
    robust = pf.robust(notion, 0.95)
    release = faithful(joint, robust)
    plain = faithful(joint, notion)
    assert certify_channel(release.channel, joint, robust).holds
    assert marginal_error(release.channel, joint) <= MARGINAL_ERROR
    assert release.fidelity <= plain.fidelity_bound + 1e-9
    assert release.fidelity > 0.5 * release.fidelity_bound


def test_what_oversteps_a_promise_over_a_set_is_pooled_and_the_rest_left_alone(monkeypatch):
    joint = pf.Joint(np.random.default_rng(4).pareto(1.0, (2, 30)).clip(0.01, 50) * 40 // 1 + 1)
    promise = pf.robust(pf.LIP(0.5), 0.95).made_for(joint)
    region, n = region_of(joint, promise), joint.n_x
    plain = Program(joint.p_x, Similarity.of(joint), Bands.of(pf.LIP(0.5).rows(joint)), 2.0**-32)
    found = Standing.begun(1e-4, None, None, threading.Event(), plain.constant)
    generate(plain, joint, found, None)
    kept = {}
    for rounds in (0, POOLINGS):
        monkeypatch.setattr("privacyfunnel.optimiser.faithful.search.POOLINGS", rounds)
        program = Program(joint.p_x, plain.similarity, Bands.of(np.empty((0, n))), 2.0**-32)
        kept[rounds] = Standing.begun(1e-4, None, None, threading.Event(), program.constant)
        mend(program, found.plan, kept[rounds], region)
    assert kept[POOLINGS].fidelity > kept[0].fidelity + 0.01
    plan = kept[POOLINGS].plan
    pi = np.zeros(n * n)
    pi[plan.keys] = plan.mass
    pi = pi.reshape(n, n) + plan.constant * np.outer(joint.p_x, joint.p_x)  # [o, x]
    assert pi.sum(axis=0) == pytest.approx(joint.p_x, abs=1e-9)
    assert pi.sum(axis=1) == pytest.approx(joint.p_x, abs=1e-9)
    assert kept[POOLINGS].fidelity == pytest.approx(float((pi * plain.similarity.dense()).sum()), abs=1e-9)
    assert not region.cuts(pi / joint.p_x[:, None])[1].any()


def test_a_robust_promise_is_for_one_joint():
    joint = pf.Joint([[30, 10], [10, 30]])
    with pytest.raises(InvalidPromise, match="one joint"):
        faithful([joint, joint], pf.robust(pf.LIP(0.3)))


def test_without_time_the_rows_are_redrawn_and_the_bound_says_so():
    joint = pf.Joint(np.random.default_rng(6).integers(1, 60, (2, 8)))
    release = faithful(joint, pf.LIP(0.2), time_limit=0)
    assert certify_channel(release.channel, joint, pf.LIP(0.2)).holds
    assert marginal_error(release.channel, joint) <= MARGINAL_ERROR
    assert release.fidelity_bound == 1.0


def test_progress_is_told_and_an_interruption_there_ends_the_search():
    joint = pf.Joint(np.random.default_rng(6).integers(1, 60, (2, 4, 5)))
    told = []

    def stop(progress):
        told.append(progress)
        raise KeyboardInterrupt

    release = faithful(joint, pf.SRLIP(0.3), gap=1e-9, progress=stop)
    assert len(told) == 1
    assert told[0].utility <= told[0].upper_bound
    assert certify_channel(release.channel, joint, pf.SRLIP(0.3)).holds


def test_after_ctrl_c_the_last_linear_programs_get_a_moment_only(monkeypatch):
    """The plan in hand is taken if they are not solved by then; without Ctrl-C, they have the time that they need."""
    joint = pf.Joint(np.random.default_rng(6).integers(1, 60, (2, 4, 5)))
    program = Program(joint.p_x, Similarity.of(joint), Bands.of(pf.LIP(0.3).rows(joint)), 2.0**-32)
    standing = Standing.begun(1e-4, None, None, threading.Event(), program.constant)
    generate(program, joint, standing, None)
    monkeypatch.setattr("privacyfunnel.optimiser.faithful.search.HURRIED", 0.0)
    assert polished(program, standing) is not standing.plan
    standing.interrupted.set()
    assert polished(program, standing) is standing.plan


# --- what a hostile reader found --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "notion"),
    [
        ([[7, 27, 9], [26, 15, 6], [7, 14, 21]], pf.LIP(0.05)),  # mostly p pᵀ: its pairs were taken for lost
        ([[16106, 26, 26, 8025, 0, 1, 40, 0], [2, 88, 1, 2, 7, 4, 1, 1]], pf.LIP(1.0)),  # scaling ends far from p
        ([[9, 0, 7], [57, 50, 3]], pf.ALIP(1.0, 50.0)),
        ([[18, 10, 29], [18, 28, 0], [13, 25, 22]], pf.LIP(0.69)),
    ],
    ids=str,
)
def test_rounding_does_not_fall_back_to_releasing_nothing(counts, notion):
    release = faithful(pf.Joint(counts), notion)
    assert release.gap <= 1e-3
    assert release.marginal_error <= 2**-30


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.1, 0.2, 0.5, 1.0, 2.0]))
@settings(max_examples=150)
def test_the_gap_is_closed_on_small_tables_of_counts(seed, epsilon):
    rng = np.random.default_rng(seed)
    shape = rng.integers(2, 5, 2)
    counts = rng.integers(1, 100, shape) * (rng.random(shape) < 0.9)
    counts[np.arange(shape[0]), np.arange(shape[0]) % shape[1]] += 1  # every secret occurs
    assert faithful(pf.Joint(counts), pf.LIP(epsilon)).gap <= 1e-3


def test_nothing_changed_is_all_kept():
    release = faithful(pf.Joint([[3, 5, 11], [7, 2, 6]]), pf.LIP(700.0))
    assert (release.fidelity, release.cells_unchanged, release.rows_unchanged) == (1.0, 1.0, 1.0)


def test_no_joint_at_all_is_refused_in_a_line():
    with pytest.raises(InvalidJoint, match="no joint"):
        faithful([], pf.LIP(0.5))


@pytest.mark.parametrize("weight", [1e308, 1e-320, 0.0])
def test_weights_that_float64_would_lose_are_refused(weight):
    joint = pf.Joint(np.ones((2, 2, 2)), attributes=["a", "b"])
    with pytest.raises(InvalidInput, match="positive number, from 1e-06 to 1e\\+06"):
        faithful(joint, pf.LIP(0.5), weights={"a": weight})


def test_a_channel_with_too_many_entries_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(task, "MOST_ENTRIES", 3)
    with pytest.raises(InvalidInput, match="give the search more time, or use fewer or coarser columns"):
        faithful(pf.Joint([[40, 10, 5], [10, 40, 20]]), pf.LIP(0.3))
