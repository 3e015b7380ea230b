"""The optimiser: proven optimal against independent oracles, certified, and honest when stopped early."""

import importlib
import importlib.util
import json
import math
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import brute
import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput, InvalidJoint, InvalidPromise
from privacyfunnel.numeric.clock import ticks
from strategies import UNIT, arrays, epsilons, joints, notions
from ways import HOME

pytestmark = pytest.mark.usefixtures("compiled_loops")


GAP = 1e-6
FILE_ROUNDING = 1e-9
GRANTED = 1e-7
"""What a level of 1e-8 instead of 0 may be worth on these tables."""
ORACLE = 2e-8
"""What the linear program of the oracle may be off by."""

AGES = 120
"""A time limit in seconds that a search which ends by itself never comes near."""

KINDS = {"lip": pf.LIP, "ldp": pf.LDP, "pml": pf.PML, "perfect": lambda _: pf.PerfectPrivacy()}


def checked(joint, notion, **options):
    """optimise, with everything that must hold of any protocol, by independent arithmetic."""
    protocol = pf.optimise(joint, notion, **options)
    N = protocol.channel * UNIT
    assert (np.rint(N) == N).all()
    assert (N >= 0).all()
    assert (N.sum(axis=0) == UNIT).all()
    assert N.shape[1] == joint.n_x
    assert 1 <= len(N) <= joint.n_x
    assert (N.sum(axis=1) > 0).all()
    lifts = brute.exact_lifts(brute.fractions(joint.weights), N.astype(np.int64).tolist())
    assert brute.keeps(notion, lifts)
    certificate = pf.certify(protocol, joint)
    assert certificate.holds
    assert certificate.level <= (notion.epsilon or 1e-8)
    kept = brute.information(joint.p_x.tolist(), protocol.channel.tolist())
    assert protocol.utility == pytest.approx(kept, abs=1e-12)
    assert 0 <= protocol.utility <= protocol.upper_bound
    assert protocol.utility <= brute.entropy(joint.p_x.tolist()) + 1e-12
    assert protocol.gap == protocol.upper_bound - protocol.utility
    assert protocol.notion == notion
    return protocol


@contextmanager
def working_at_most(seconds):
    """So many seconds of the processor, whoever else uses the machine; compiling is not counted."""

    def worked():
        return time.process_time() - (time.monotonic() - ticks())

    started = worked()
    yield
    assert worked() - started < seconds


@pytest.fixture
def by_generation(monkeypatch):
    """Forces column generation with branch and bound, also where all vertices could be listed."""
    for name in ("LIST_VERTICES", "SWEEP_SUPPORTS"):
        monkeypatch.setattr(HOME[name], name, -1)
    monkeypatch.setattr(HOME["PAIR_VALUES"], "PAIR_VALUES", 10**9)


# --- the reference optima -------------------------------------------------------------------------------


def reference(shared):
    cases = json.loads((shared / "reference" / "optima.json").read_text(encoding="utf-8"))
    single = [case for case in cases if not case["notion"].startswith("sr")]
    assert len(single) > 60
    return single


def notion_of(case):
    if case["notion"] == "alip":
        return pf.ALIP(lower=case["epsilon"], upper=case["epsilon_upper"])
    return KINDS[case["notion"]](case["epsilon"])


def test_every_reference_optimum_is_met_and_enclosed(shared):
    for case in reference(shared):
        protocol = checked(pf.Joint(case["p"]), notion_of(case))
        assert protocol.utility == pytest.approx(case["utility_nats"], abs=GAP)
        granted = 0.0 if case["epsilon"] else GRANTED
        assert protocol.utility <= case["utility_nats"] + FILE_ROUNDING + granted
        assert protocol.upper_bound >= case["utility_nats"] - FILE_ROUNDING
        assert protocol.gap <= GAP


@pytest.mark.usefixtures("by_generation")
def test_column_generation_meets_the_reference_optima_as_well(shared):
    for case in reference(shared)[::3]:
        protocol = checked(pf.Joint(case["p"]), notion_of(case), time_limit=AGES)
        granted = 0.0 if case["epsilon"] else GRANTED
        assert protocol.utility <= case["utility_nats"] + FILE_ROUNDING + granted
        assert protocol.upper_bound >= case["utility_nats"] - FILE_ROUNDING
        assert protocol.gap <= GAP


# --- properties -----------------------------------------------------------------------------------------


@given(joints(), notions())
@settings(max_examples=150)
def test_the_best_protocol_is_certified_exact_and_proven_best(joint, notion):
    assert checked(joint, notion).gap <= GAP


@given(joints(skewed=True), notions())
@settings(max_examples=100)
def test_probabilities_over_twelve_orders_of_magnitude_give_certified_protocols(joint, notion):
    checked(joint, notion)


@given(joints(), notions(st.sampled_from([0.0, 5e-324, 1e-300, 1e-17, 1e-15, 1e-12, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5])))
@settings(max_examples=150)
def test_a_tiny_epsilon_never_breaks_its_promise(joint, notion):
    checked(joint, notion)


@given(joints(skewed=True), notions(st.sampled_from([0.0, 1e-12, 1e-9, 1e-6, 0.1, 50.0, 1000.0])))
@settings(max_examples=100)
def test_skewed_probabilities_and_extreme_epsilons_together_never_break_a_promise(joint, notion):
    checked(joint, notion)


@given(joints(), st.sampled_from([pf.LDP, pf.LIP, pf.PML, pf.ALIP.at]), epsilons(), epsilons())
def test_a_larger_epsilon_keeps_at_least_as_much(joint, kind, one, other):
    small, large = sorted((one, other))
    assert pf.optimise(joint, kind(small)).utility <= pf.optimise(joint, kind(large)).utility + GAP


@given(joints(), epsilons())
def test_a_stronger_promise_keeps_no_more(joint, epsilon):
    perfect, ldp, lip, pml, wide = (
        pf.optimise(joint, notion)
        for notion in (pf.PerfectPrivacy(), pf.LDP(epsilon), pf.LIP(epsilon), pf.PML(epsilon), pf.LDP(2 * epsilon))
    )
    assert perfect.utility <= ldp.upper_bound + 1e-7
    assert ldp.utility <= lip.upper_bound
    assert lip.utility <= pml.upper_bound
    assert lip.utility <= wide.upper_bound


@given(arrays(min_s=2, min_x=2), notions(), st.randoms(use_true_random=False))
def test_relabelling_the_secret_or_x_changes_nothing(array, notion, random):
    rows, columns = list(range(len(array))), list(range(array.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    plain = pf.optimise(pf.Joint(array), notion)
    shuffled = pf.optimise(pf.Joint(array[rows][:, columns]), notion)
    assert shuffled.utility == pytest.approx(plain.utility, abs=GAP)


@given(joints(max_x=5), notions(), st.integers(0, 4))
def test_splitting_a_value_in_two_of_the_same_posterior_loses_nothing(joint, notion, which):
    """Twins are interchangeable, so what X says through them is kept in full: utility cannot fall."""
    x = which % joint.n_x
    weights = np.array(joint.weights.tolist(), dtype=float) * 2
    split = np.column_stack([weights, weights[:, x] / 2])
    split[:, x] /= 2
    before, after = pf.optimise(joint, notion), pf.optimise(pf.Joint(split), notion)
    assert after.utility >= before.utility - GAP


# --- the exact oracle -----------------------------------------------------------------------------------


def enclosed(joint, notion, protocol):
    """The optimum by exact vertices, with e^ε from below and from above, lies where the protocol says."""
    if importlib.util.find_spec("ppl") is None:
        pytest.skip("pplpy enumerates vertices exactly, and is not installed")
    assert protocol.upper_bound >= brute.optimum(joint.weights, notion) - ORACLE
    if notion.epsilon and 0 not in brute.limits(notion):
        assert protocol.utility <= brute.optimum(joint.weights, notion, above=True) + ORACLE


@given(joints(max_s=3), notions(epsilons(low=0.001)))
@settings(max_examples=100)
def test_the_optimum_is_that_of_exact_vertex_enumeration(joint, notion):
    protocol = checked(joint, notion)
    enclosed(joint, notion, protocol)
    assert protocol.gap <= 3 * GAP


@given(joints(max_s=3, max_x=5, skewed=True), notions(epsilons(low=0.1)))
@settings(max_examples=60)
def test_the_bound_is_never_below_the_optimum_where_probabilities_span_twelve_orders(joint, notion):
    enclosed(joint, notion, checked(joint, notion))


@given(joints(max_s=3), st.sampled_from([pf.PerfectPrivacy(), pf.LIP(0), pf.LDP(0), pf.PML(0), pf.ALIP(0, 1)]))
@settings(max_examples=60)
def test_the_bound_is_never_below_the_optimum_of_perfect_privacy(joint, notion):
    enclosed(joint, notion, checked(joint, notion))


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([pf.PerfectPrivacy(), pf.LDP(0), pf.LIP(1e-6), pf.LIP(0.1), pf.LDP(1.0), pf.PML(0.1)]),
)
@settings(max_examples=60)
def test_rare_secrets_are_bounded_correctly(seed, notion):
    """Where nearly everybody has the same secret, its lift is within 1e-6 or 1e-9 of 1 at every x."""
    rng = np.random.default_rng(seed)
    n_s, n_x = rng.integers(2, 4), rng.integers(2, 6)
    weights = rng.dirichlet(np.ones(n_s * n_x)).reshape(n_s, n_x) * 10.0 ** rng.choice([0, -6, -9], (n_s, 1))
    joint = pf.Joint(weights)
    enclosed(joint, notion, checked(joint, notion))


@given(st.integers(0, 2**32 - 1), notions(st.sampled_from([0.0, 1e-3, 0.1, 1.0])))
@settings(max_examples=60)
def test_nearly_equal_columns_are_bounded_correctly(seed, notion):
    rng = np.random.default_rng(seed)
    n_s, n_x = rng.integers(2, 4), rng.integers(2, 6)
    base = rng.integers(1, 6, (n_s, 2)).astype(float)
    array = base[:, rng.integers(0, 2, n_x)] * 10.0 ** rng.uniform(-3, 0, n_x)
    joint = pf.Joint(array * (1 + rng.choice([0, 1e-12, 1e-9, 1e-6], array.shape)))
    enclosed(joint, notion, checked(joint, notion))


# --- column generation ----------------------------------------------------------------------------------


@given(arrays(max_s=4, max_x=5), notions(epsilons(low=0.05)))
@settings(max_examples=60)
def test_generating_columns_finds_what_listing_vertices_finds(array, notion):
    joint = pf.Joint(array)
    listed = pf.optimise(joint, notion)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HOME["LIST_VERTICES"], "LIST_VERTICES", 0)
        patch.setattr(HOME["SWEEP_SUPPORTS"], "SWEEP_SUPPORTS", -1)
        generated = checked(joint, notion, time_limit=20)
    assert "column generation" in generated.how
    assert "column generation" not in listed.how
    assert generated.utility == pytest.approx(listed.utility, abs=GAP)
    assert generated.gap <= GAP
    assert generated.utility <= listed.upper_bound + 1e-10
    assert listed.utility <= generated.upper_bound + 1e-10


@pytest.mark.usefixtures("by_generation")
@pytest.mark.parametrize(
    "array",
    [
        [[2, 3, 2, 0, 2], [2, 3, 2, 0, 0], [2, 3, 2, 0, 0], [3, 1, 1, 3, 1]],
        [[2, 1, 0, 2, 3, 3], [1, 2, 3, 2, 1, 0], [0, 0, 2, 3, 0, 1]],
        [[30, 10, 5, 7], [10, 50, 20, 7]],
        [[0.036, 0.307, 0.0008, 0.0067, 0.0375], [6.7e-06, 0.373, 0.097, 0.0164, 0.126]],
    ],
    ids=str,
)
def test_column_generation_ends_under_perfect_privacy(array):
    """With equalities, a point is drawn in all the way to p_x by the least rounding error."""
    joint = pf.Joint(array)
    with working_at_most(4.5):
        protocol = checked(joint, pf.PerfectPrivacy(), time_limit=AGES)
    enclosed(joint, pf.PerfectPrivacy(), protocol)
    assert protocol.gap <= 1e-5


@pytest.mark.usefixtures("by_generation")
@pytest.mark.parametrize("notion", [pf.LIP(1e-12), pf.LDP(1e-9), pf.PML(1e-6), pf.ALIP(1e-9, 50)], ids=repr)
def test_column_generation_ends_at_a_tiny_epsilon(notion):
    with working_at_most(4.5):
        checked(pf.Joint([[4, 5, 3, 9, 1, 2], [4, 4, 1, 9, 8, 6], [6, 9, 2, 2, 9, 1]]), notion, time_limit=AGES)


@pytest.mark.usefixtures("by_generation")
@pytest.mark.parametrize(
    ("array", "notion"),
    [
        ([[0.00067, 0.0947, 0.00435], [0, 0, 9.25e-7], [0.000409, 0.894, 0.00562]], pf.LDP(20)),
        ([[6e-5, 0.977, 1.9e-8, 0], [0.0021, 5.5e-8, 0.02, 7.6e-11], [0, 0, 1.6e-9, 0.00035]], pf.LDP(0.5)),
        (np.diag([1, 2, 3, 4]), pf.LDP(50)),
    ],
    ids=str,
)
def test_column_generation_ends_where_coefficients_span_orders_of_magnitude(array, notion):
    joint = pf.Joint(array)
    with working_at_most(4.5):
        protocol = checked(joint, notion, time_limit=AGES)
    enclosed(joint, notion, protocol)
    assert protocol.gap <= 1e-5


@pytest.mark.parametrize("gap", [1e-3, 1e-9, 1e-12, 1e-300])
@pytest.mark.parametrize("limit", [10**6, 0], ids=["listing", "generating"])
def test_any_gap_can_be_asked_for_and_the_search_ends(monkeypatch, gap, limit):
    monkeypatch.setattr(HOME["LIST_VERTICES"], "LIST_VERTICES", limit)
    monkeypatch.setattr(HOME["SWEEP_SUPPORTS"], "SWEEP_SUPPORTS", limit - 1)
    joint = pf.Joint(np.random.default_rng(1).dirichlet(np.ones(15)).reshape(3, 5))
    with working_at_most(4.5):
        protocol = checked(joint, pf.LIP(0.3), gap=gap, time_limit=AGES)
    assert protocol.gap <= max(gap, GAP)


def test_more_vertices_than_go_into_the_program_at_once():
    joint = pf.Joint(np.random.default_rng(0).dirichlet(np.ones(75)).reshape(3, 25))
    assert checked(joint, pf.LIP(0.5)).gap <= GAP
    assert checked(joint, pf.LDP(0.5)).gap <= GAP


@pytest.mark.parametrize("gap", [1e-9, 1e-12])
def test_a_gap_finer_than_the_solvers_tolerance_ends_the_search_all_the_same(gap):
    joint = pf.Joint(np.random.default_rng(0).dirichlet(np.ones(75)).reshape(3, 25))
    with working_at_most(5.5):
        checked(joint, pf.LIP(0.5), gap=gap, time_limit=AGES)


# --- ordinary LDP: S = X ----------------------------------------------------------------------------------


def weights_of_x(max_x):
    return st.lists(st.integers(1, 20), min_size=2, max_size=max_x)


@given(weights_of_x(5), epsilons(low=0.05, high=5.0))
@settings(max_examples=30)
def test_ordinary_ldp_is_never_below_randomised_response_or_the_best_binary_mechanism(weights, epsilon):
    p = np.array(weights) / sum(weights)
    best = checked(pf.Joint(np.diag(weights)), pf.LDP(epsilon))
    rivals = [brute.randomised_response(len(p), epsilon), *brute.binary_mechanisms(len(p), epsilon)]
    assert best.utility >= max(brute.information(p.tolist(), Q.tolist()) for Q in rivals) - GAP


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_ordinary_ldp_on_six_values_beats_the_classical_mechanisms(epsilon):
    weights = [1, 2, 3, 4, 5, 6]
    p = [w / 21 for w in weights]
    best = checked(pf.Joint(np.diag(weights)), pf.LDP(epsilon))
    rivals = [brute.randomised_response(6, epsilon), *brute.binary_mechanisms(6, epsilon)]
    assert best.utility >= max(brute.information(p, Q.tolist()) for Q in rivals) - GAP
    assert best.gap <= GAP


def test_on_two_equal_values_randomised_response_is_the_optimum():
    for epsilon in (0.1, 1.0, 3.0):
        expected = brute.information([0.5, 0.5], brute.randomised_response(2, epsilon).tolist())
        assert pf.optimise(pf.Joint(np.eye(2)), pf.LDP(epsilon)).utility == pytest.approx(expected, abs=GAP)


def test_at_a_large_epsilon_uniform_values_are_best_served_by_randomised_response():
    expected = brute.information([0.25] * 4, brute.randomised_response(4, 5.0).tolist())
    assert pf.optimise(pf.Joint(np.eye(4)), pf.LDP(5.0)).utility == pytest.approx(expected, abs=GAP)


# --- fine cases -------------------------------------------------------------------------------------------

NO_EPSILON = [pf.PerfectPrivacy(), pf.LIP(0), pf.LDP(0), pf.PML(0), pf.ALIP(0, 0), pf.ALIP(0.0, 1.0)]


@given(joints(), st.sampled_from(NO_EPSILON))
@settings(max_examples=80)
def test_an_epsilon_of_zero_is_kept_up_to_1e_8(joint, notion):
    protocol = checked(joint, notion)
    if notion.epsilon == 0:
        assert pf.certify(protocol, joint).level <= 1e-8


@pytest.mark.parametrize("notion", NO_EPSILON, ids=repr)
def test_perfect_privacy_releases_what_is_independent_of_the_secret(notion):
    """X = (A, B), where A is an independent coin and B the secret: A may be told, and nothing else."""
    joint = pf.Joint(np.array([[[3, 0], [3, 0]], [[0, 1], [0, 1]]]))
    protocol = checked(joint, notion)
    assert protocol.utility == pytest.approx(math.log(2), abs=GAP)
    assert protocol.gap <= GAP


SKEWED_PERFECT = [
    [[0.35, 0.016, 0.141, 0.0011], [0.29, 0.151, 0.0492, 0.00015]],
    [[0.42, 1.3e-05, 0.037, 0.0004], [0.455, 0.081, 0.011, 2e-05]],
    [[0.8, 0.005, 1e-07], [0.18, 0.0149, 2e-08]],
    [[0.0589, 7.87e-05, 0.113], [0.472, 0.000119, 0.356]],
]


@pytest.mark.parametrize("array", SKEWED_PERFECT, ids=str)
def test_a_rare_value_does_not_cost_perfect_privacy_the_rest(array):
    """A row of probability 1e-3 may be too coarse at 2⁻³² for level 1e-8; the others are not."""
    assert checked(pf.Joint(array), pf.PerfectPrivacy()).gap <= 0.02


@pytest.mark.parametrize(("epsilon", "loss"), [(1e-6, 1e-3), (1e-5, 1e-3), (1e-4, 1e-5), (1e-3, 1e-5)])
def test_a_small_epsilon_with_zero_cells_loses_little_to_rounding(epsilon, loss):
    joint = pf.Joint([[0, 0, 2, 0], [3, 0, 0, 3], [2, 3, 3, 0]])
    assert checked(joint, pf.LIP(epsilon)).gap <= loss


@pytest.mark.parametrize("common", [10**6, 10**9])
def test_a_rare_secret_by_counts_leaves_perfect_privacy_its_utility(common):
    """[3, 1, 2] against [1, 3, 2]: the third value is neutral, and the first two mix half and half."""
    joint = pf.Joint([[3, 1, 2], [common, 3 * common, 2 * common]])
    assert checked(joint, pf.PerfectPrivacy()).utility == pytest.approx(0.636514, abs=1e-5)


def test_a_value_of_one_in_a_trillion_does_not_cost_the_rest():
    joint = pf.Joint([[0, 0, 4e-10, 0], [0.9, 1.4e-12, 2e-4, 0.098]])
    assert checked(joint, pf.LIP(2.0)).gap <= 1e-5


@given(joints(max_s=1), notions(st.one_of(st.just(0.0), epsilons())))
def test_a_secret_with_one_value_lets_everything_out(joint, notion):
    protocol = checked(joint, notion)
    assert protocol.utility == pytest.approx(brute.entropy(joint.p_x.tolist()), abs=1e-12)
    assert sorted(protocol.channel.tolist()) == sorted(np.eye(joint.n_x).tolist())


@given(joints(max_x=1), notions(st.one_of(st.just(0.0), epsilons())))
def test_one_value_of_x_says_nothing(joint, notion):
    protocol = checked(joint, notion)
    assert protocol.channel.tolist() == [[1.0]]
    assert protocol.utility == pytest.approx(0, abs=1e-15)
    assert protocol.upper_bound <= GAP


@given(st.integers(1, 4), st.integers(1, 7), notions(st.one_of(st.just(0.0), epsilons())))
def test_identical_columns_let_everything_out(n_s, n_x, notion):
    joint = pf.Joint(np.outer(np.arange(1, n_s + 1), np.arange(1, n_x + 1)))
    protocol = checked(joint, notion)
    assert protocol.utility == pytest.approx(joint.entropy, abs=GAP)


@given(weights_of_x(5), st.sampled_from([0.0, 1e-12, 1e-9, 1e-6, 1e-3]), st.sampled_from([pf.LDP, pf.LIP]))
def test_a_copied_secret_leaves_nothing_to_release(weights, epsilon, kind):
    assert checked(pf.Joint(np.diag(weights)), kind(epsilon)).utility <= max(epsilon, 1e-8)


@pytest.mark.parametrize("notion", [pf.LDP(50), pf.LIP(50), pf.PML(50), pf.ALIP(50, 50), pf.LDP(700), pf.LIP(1000)])
@pytest.mark.parametrize(
    "array", [[[1, 2, 3], [4, 5, 6]], [[1, 0, 3], [0, 5, 6]], [[1, 0], [0, 1]], np.diag([1, 10, 100, 1000])], ids=str
)
def test_a_huge_epsilon_releases_nearly_everything_also_with_zero_cells(array, notion):
    joint = pf.Joint(array)
    protocol = checked(joint, notion)
    assert protocol.utility == pytest.approx(joint.entropy, abs=GAP)
    assert protocol.gap <= GAP


@pytest.mark.parametrize("notion", [pf.LIP(0.5), pf.LDP(0.5), pf.PML(0.5), pf.LDP(50), pf.PerfectPrivacy()], ids=repr)
@pytest.mark.parametrize("orders", [9, 12, 15])
def test_probabilities_from_tiny_to_one_are_fine(notion, orders):
    p = 10.0 ** np.linspace(-orders, 0, 5)
    for array in (np.vstack([p, p[::-1]]), np.vstack([p, np.roll(p, 1), np.roll(p, 3)]), np.diag(p[:4])):
        joint = pf.Joint(array)
        protocol = checked(joint, notion)
        enclosed(joint, notion, protocol)


@pytest.mark.parametrize("smallest", [1e-20, 1e-50, 1e-150, 1e-280])
@pytest.mark.parametrize("notion", [pf.LIP(0.5), pf.LDP(0.5), pf.PML(0.5), pf.PerfectPrivacy()], ids=repr)
def test_absurdly_small_probabilities_are_certified_all_the_same(smallest, notion):
    for array in ([[smallest, 1.0, 2.0], [smallest, 3.0, 1.0]], [[smallest, 1.0, 0.0], [0.0, 1.0, 2.0]]):
        with working_at_most(4.5):
            checked(pf.Joint(array), notion, time_limit=AGES)


@pytest.mark.parametrize("notion", [pf.LIP(0.5), pf.LDP(0.5), pf.PML(0.5), pf.ALIP(0.1, 2.0), pf.LIP(1e-3)], ids=repr)
def test_a_secret_of_one_in_a_billion_is_protected_as_well(notion):
    for array in ([[1, 0, 0], [10**9, 10**9, 10**9]], [[1, 2, 3], [10**9, 10**9, 2 * 10**9]], [[1, 0], [0, 10**9]]):
        joint = pf.Joint(array)
        protocol = checked(joint, notion)
        enclosed(joint, notion, protocol)


def test_two_symmetric_secrets_by_hand():
    """t_x = ±0.3 around 1/2 and LIP allows 1/2·e^ε − 1/2 on one side: a symmetric binary channel is best."""
    epsilon = 0.3
    joint = pf.Joint([[40, 10], [10, 40]])
    d = (1 - math.exp(-epsilon)) / 2  # P(s|y) may leave 1/2 by this much: the lower bound binds
    flip = 0.5 - d / 0.6
    upward = (math.exp(epsilon) - 1) / 2
    assert d < upward
    expected = brute.information([0.5, 0.5], [[1 - flip, flip], [flip, 1 - flip]])
    assert pf.optimise(joint, pf.LIP(epsilon)).utility == pytest.approx(expected, abs=GAP)


def test_zero_cells_of_x_never_enter_the_channel():
    joint = pf.Joint([[3, 0, 1, 0], [1, 0, 3, 0]])
    assert checked(joint, pf.LIP(0.5)).channel.shape[1] == 2


# --- stopping early ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def larger():
    """A problem of some size, and its optimum."""
    joint = pf.Joint(np.random.default_rng(3).dirichlet(np.ones(90)).reshape(3, 30))
    protocol = pf.optimise(joint, pf.LIP(0.3))
    assert protocol.gap <= GAP
    return joint, pf.LIP(0.3), protocol


@pytest.mark.long
@pytest.mark.parametrize("seconds", [0, 0.0, 1e-9, 0.01, 0.1, 1.0])
@pytest.mark.parametrize("limit", [10**6, 0], ids=["listing", "generating"])
def test_a_time_limit_brings_back_a_certified_protocol_with_an_honest_bound(monkeypatch, larger, seconds, limit):
    monkeypatch.setattr(HOME["LIST_VERTICES"], "LIST_VERTICES", limit)
    monkeypatch.setattr(HOME["SWEEP_SUPPORTS"], "SWEEP_SUPPORTS", limit - 1)
    joint, notion, best = larger
    with working_at_most(seconds + 8):
        protocol = checked(joint, notion, time_limit=seconds)
    assert protocol.utility <= best.upper_bound + 1e-10
    assert protocol.upper_bound >= best.utility - 1e-10


def test_more_time_never_brings_less(monkeypatch, larger):
    for name in ("LIST_VERTICES", "SWEEP_SUPPORTS"):
        monkeypatch.setattr(HOME[name], name, -1)
    monkeypatch.setattr(HOME["PAIR_VALUES"], "PAIR_VALUES", 10**9)
    joint, notion, best = larger
    assert checked(joint, notion, time_limit=3).utility >= 0.5 * best.utility


LONG = """
import json, sys
import numpy as np
import privacyfunnel as pf
joint = pf.Joint({array})
told = []

def progress(step):
    if not told:
        told.append(1)
        print("searching", flush=True)

protocol = pf.optimise(joint, {notion}, progress=progress, time_limit=600)
certificate = pf.certify(protocol, joint)
print(json.dumps([certificate.holds, protocol.utility, protocol.upper_bound, protocol.gap, joint.entropy]), flush=True)
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("array", "notion"),
    [
        ("np.diag(np.arange(1, 15))", "pf.LDP(1.0)"),
        ("np.random.default_rng(0).dirichlet(np.ones(240)).reshape(6, 40)", "pf.LIP(0.2)"),
    ],
    ids=["ordinary LDP, 14 values", "6 secrets, 40 values"],
)
def test_ctrl_c_in_the_middle_brings_back_a_certified_protocol_with_its_gap(array, notion):
    child = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", LONG.format(array=array, notion=notion)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "searching\n", child.stderr.read()
        time.sleep(1.0)
        assert child.poll() is None, "the problem is too easy for this test"
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)  # long before its own limit
    finally:
        child.kill()
        child.wait()
    assert (child.returncode, err) == (0, "")
    holds, utility, upper_bound, gap, entropy = json.loads(out)
    assert holds
    assert 0 < utility <= upper_bound <= entropy + 1e-9
    assert gap == upper_bound - utility > GAP


@pytest.mark.parametrize("limit", [10**6, 0], ids=["listing", "generating"])
def test_an_interrupt_inside_the_progress_callback_stops_the_search(monkeypatch, larger, limit):
    monkeypatch.setattr(HOME["LIST_VERTICES"], "LIST_VERTICES", limit)
    monkeypatch.setattr(HOME["SWEEP_SUPPORTS"], "SWEEP_SUPPORTS", limit - 1)
    joint, notion, best = larger
    calls = []

    def interrupt(step):
        calls.append(step)
        raise KeyboardInterrupt

    protocol = checked(joint, notion, progress=interrupt)
    assert 1 <= len(calls) <= 2
    assert protocol.utility <= best.upper_bound + 1e-10
    assert protocol.upper_bound >= best.utility - 1e-10


def test_the_handler_of_ctrl_c_is_put_back():
    before = signal.getsignal(signal.SIGINT)
    pf.optimise(pf.Joint([[3, 1], [1, 3]]), pf.LIP(0.5))
    assert signal.getsignal(signal.SIGINT) is before

    def explode(step):
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        pf.optimise(pf.Joint([[3, 1], [1, 3]]), pf.LIP(0.5), progress=explode)
    assert signal.getsignal(signal.SIGINT) is before


def test_optimise_works_outside_the_main_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(pf.optimise(pf.Joint([[3, 1], [1, 3]]), pf.LIP(0.5))))
    thread.start()
    thread.join(30)
    assert found[0].gap <= GAP


@pytest.mark.parametrize("limit", [10**6, 0], ids=["listing", "generating"])
def test_progress_tells_utility_bound_and_gap(monkeypatch, limit):
    monkeypatch.setattr(HOME["LIST_VERTICES"], "LIST_VERTICES", limit)
    monkeypatch.setattr(HOME["SWEEP_SUPPORTS"], "SWEEP_SUPPORTS", limit - 1)
    joint = pf.Joint(np.random.default_rng(2).dirichlet(np.ones(12)).reshape(3, 4))
    steps = []
    best = pf.optimise(joint, pf.LIP(0.5), progress=steps.append)
    assert steps
    for step in steps:
        assert step.gap == step.upper_bound - step.utility
        assert step.utility <= best.upper_bound + 1e-9
        assert step.upper_bound >= best.utility - 1e-12
        assert step.seconds >= 0
    assert [s.utility for s in steps] == sorted(s.utility for s in steps)
    assert [s.upper_bound for s in steps] == sorted((s.upper_bound for s in steps), reverse=True)
    assert steps[-1].gap <= GAP


# --- the curve ----------------------------------------------------------------------------------------------


@given(
    joints(max_s=3, max_x=5), st.lists(epsilons(), min_size=1, max_size=4), st.sampled_from([pf.LDP, pf.LIP, pf.PML])
)
@settings(max_examples=20)
def test_a_curve_has_the_optimum_at_every_epsilon_in_the_order_asked(joint, values, kind):
    curve = pf.tradeoff(joint, kind, values)
    assert curve.column("epsilon") == values
    for point in curve.points:
        alone = pf.optimise(joint, kind(point.epsilon))
        assert point.utility == pytest.approx(alone.utility, abs=GAP)
        assert point.utility <= point.upper_bound
        assert point.protocol.notion == kind(point.epsilon)
        assert pf.certify(point.protocol, joint).holds
        assert point.leakage <= point.lip + 1e-9


def test_a_curve_warm_started_by_column_generation_is_the_same(monkeypatch):
    joint = pf.Joint(np.random.default_rng(4).dirichlet(np.ones(15)).reshape(3, 5))
    listed = pf.tradeoff(joint, pf.LIP, [1.0, 0.1, 0.5]).column("utility")
    for name in ("LIST_VERTICES", "SWEEP_SUPPORTS"):
        monkeypatch.setattr(HOME[name], name, -1)
    monkeypatch.setattr(HOME["PAIR_VALUES"], "PAIR_VALUES", 10**9)
    assert pf.tradeoff(joint, pf.LIP, [1.0, 0.1, 0.5]).column("utility") == pytest.approx(listed, abs=GAP)


@pytest.mark.parametrize("bad", [[], [-1.0], [math.nan], ["a"], [0.1, math.inf]], ids=str)
def test_a_curve_over_bad_epsilons_is_an_invalid_promise(bad):
    with pytest.raises(InvalidPromise):
        pf.tradeoff(pf.Joint([[3, 1], [1, 3]]), pf.LIP, bad)


@pytest.mark.parametrize("kind", [pf.LIP(0.5), "lip", None, int], ids=repr)
def test_a_curve_of_no_kind_of_promise_is_an_invalid_promise(kind):
    with pytest.raises(InvalidPromise):
        pf.tradeoff(pf.Joint([[3, 1], [1, 3]]), kind, [0.5])


# --- wrong arguments ------------------------------------------------------------------------------------------

JOINT = pf.Joint([[3, 1], [1, 3]])


@pytest.mark.parametrize("joint", [[[3, 1], [1, 3]], np.eye(2), None, "joint"], ids=str)
def test_what_is_no_joint_is_an_invalid_joint(joint):
    with pytest.raises(InvalidJoint):
        pf.optimise(joint, pf.LIP(0.5))


@pytest.mark.parametrize("notion", ["lip", 0.5, None, pf.LIP], ids=str)
def test_what_is_no_notion_is_an_invalid_promise(notion):
    with pytest.raises(InvalidPromise):
        pf.optimise(JOINT, notion)


@pytest.mark.parametrize("gap", [0, -1e-6, math.nan, math.inf, "1e-6", [1e-6], 1j], ids=str)
def test_a_bad_gap_is_invalid_input(gap):
    with pytest.raises(InvalidInput):
        pf.optimise(JOINT, pf.LIP(0.5), gap=gap)


@pytest.mark.parametrize("seconds", [-1, -1e-9, math.nan, "1", [1], 1j], ids=str)
def test_a_bad_time_limit_is_invalid_input(seconds):
    with pytest.raises(InvalidInput):
        pf.optimise(JOINT, pf.LIP(0.5), time_limit=seconds)


@pytest.mark.parametrize("progress", [5, "bar"], ids=str)
def test_a_progress_that_cannot_be_called_is_invalid_input(progress):
    with pytest.raises(InvalidInput):
        pf.optimise(JOINT, pf.LIP(0.5), progress=progress)


@given(joints(), notions())
@settings(max_examples=20)
def test_the_same_problem_gives_the_same_channel(joint, notion):
    assume(joint.n_x > 1)
    assert pf.optimise(joint, notion).channel.tolist() == pf.optimise(joint, notion).channel.tolist()
