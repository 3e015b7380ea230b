"""Promises for every distribution that counts leave open: exact levels, optima, and a simulation with known truth."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from tests import robust_brute
from tests.bisection import bisected
from tests.brute import exact_lifts
from tests.strategies import epsilons, notions, numerators

import privacyfunnel as pf
from privacyfunnel.optimiser.generation.pricing import CellOracle
from privacyfunnel.optimiser.robust.oracle import RobustOracle
from privacyfunnel.promises.confidence import KINDS_OF_SETS, confidence_set
from privacyfunnel.promises.notions import notion_from
from privacyfunnel.promises.robust import Robust
from privacyfunnel.proof.certificate import certify_channel
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.protocol import Protocol

ALARM = 1e-6
SETS = list(KINDS_OF_SETS)
sets = st.sampled_from(SETS)
LIP, PML, ALIP = pf.LIP(0.4), pf.PML(0.3), pf.ALIP(0.3, 0.8)


@st.composite
def counts(draw, *, max_s=2, min_x=2, max_x=3, largest=(3, 30, 1000, 10**6)):
    """Counts of people in which every secret and every value occurs, some with zero cells."""
    n_s, n_x = draw(st.integers(2, max_s)), draw(st.integers(min_x, max_x))
    most = draw(st.sampled_from(largest))
    cells = draw(st.lists(st.integers(0, most), min_size=n_s * n_x, max_size=n_s * n_x))
    array = np.array(cells, dtype=np.int64).reshape(n_s, n_x)
    assume((array.sum(axis=1) > 0).all() and (array.sum(axis=0) > 0).all())
    return array


def protocol_of(joint, N, notion):
    block = block_of(joint, Channel.from_numerators(N))
    return Protocol(notion, block, 0.0, joint.entropy, joint.entropy, "by hand", "S")


# --- levels over the set --------------------------------------------------------------------------


@given(counts(max_s=3), st.data(), st.sampled_from([pf.LIP(0.5), pf.LDP(0.5), pf.PML(0.5)]), sets)
@settings(max_examples=40)
def test_the_level_over_the_set_is_the_worst_of_all_its_corners(array, data, notion, within):
    joint = pf.Joint(array)
    N = data.draw(numerators(joint.n_x, max_y=2))
    over = pf.robust(notion, 0.9, within)
    (part,) = over.possible(joint)
    brute = robust_brute.worst_level(notion, part, N.tolist())
    found = certify_channel(Channel.from_numerators(N[N.any(axis=1)]), joint, over)
    assert found.level == pytest.approx(brute, rel=1e-12, abs=1e-12)
    assert found.holds == (brute <= 0.5)


@given(counts(max_s=3), st.data(), notions(st.sampled_from([0.3, 1.0])), sets)
@settings(max_examples=60)
def test_the_distribution_that_is_returned_is_in_the_set_and_attains_the_level(array, data, notion, within):
    joint = pf.Joint(array)
    N = data.draw(numerators(joint.n_x, max_y=3).filter(lambda N: N.any(axis=1).all() and len(N) <= N.shape[1]))
    found = pf.level_over(joint, protocol_of(joint, N, notion), 0.9, within=within)
    assert found.within == within
    assert found.level >= found.sample_level * (1 - 1e-12)
    p = found.distribution
    assert sum(p.ravel().tolist()) == 1
    (part,) = confidence_set(joint, notion.views(joint), 0.9, within)
    given_x, prior = robust_brute.fractions_of(part)
    assert prior.holds([sum(row) for row in p.tolist()])
    for s, row in enumerate(p.tolist()):
        assert sum(row) == 0 or given_x[s].holds([e / sum(row) for e in row])
    if any(sum(row) == 0 for row in p.tolist()):
        return  # in the limit only
    lifts = exact_lifts([[Fraction(e) for e in row] for row in p.tolist()], N.tolist())
    reached = [robust_brute.level_of(kind, lifts) for kind in (pf.PML(1), pf.LIP(1), pf.LDP(1))]
    limits = notion.limits
    attained = notion.level_of(type(limits)(_fall(lifts), reached[0], reached[2]))
    assert attained == pytest.approx(found.level, rel=1e-9)


def _fall(lifts):
    return -float(np.log(float(lifts.least))) if lifts.least else np.inf


def test_level_over_speaks_of_the_protocol_s_own_promise_unless_told_otherwise():
    joint = pf.Joint([[400, 100], [100, 400]])
    protocol = pf.optimise(joint, pf.robust(pf.LIP(0.3), 0.99))
    assert pf.level_over(joint, protocol).confidence == 0.99
    assert pf.level_over(joint, protocol).level == pytest.approx(0.3, abs=1e-6)
    assert pf.level_over(joint, protocol, 0.5).level < pf.level_over(joint, protocol, 0.999).level
    assert pf.level_over(joint, protocol, notion=pf.LDP(1.0)).notion == pf.LDP(1.0)
    with pytest.raises(pf.PrivacyFunnelError, match="between 0 and 1"):
        pf.level_over(joint, protocol, 1.5)


# --- optima over the set ---------------------------------------------------------------------------


@pytest.mark.parametrize("within", SETS)
@given(array=counts(min_x=3, largest=(30, 1000, 10**6)), notion=st.sampled_from([LIP, pf.LDP(0.7), PML, ALIP]))
@settings(max_examples=7)
def test_the_optimum_is_that_of_all_corners_together(array, notion, within):
    joint = pf.Joint(array)
    over = pf.robust(notion, 0.9, within)
    protocol = pf.optimise(joint, over)
    (part,) = over.possible(joint)
    best = robust_brute.optimum(notion, part, joint.p_x)
    assert protocol.utility == pytest.approx(best, abs=2e-6)
    assert protocol.upper_bound >= best - 1e-8
    assert protocol.gap <= 1e-6


@pytest.mark.long
@given(counts(max_s=3, max_x=4), notions(epsilons(0.05, 2.0)), st.sampled_from([0.5, 0.95]), sets)
@settings(max_examples=15)
def test_an_optimum_is_certified_and_lies_between_bisection_and_the_plain_optimum(array, notion, confidence, within):
    joint = pf.Joint(array)
    over = pf.robust(notion, confidence, within)
    protocol = pf.optimise(joint, over, gap=1e-4, time_limit=20)
    certificate = pf.certify(protocol, joint)
    assert certificate.holds
    assert certificate.notion == over
    assert certificate.level <= notion.epsilon
    assert pf.certify(protocol, joint, notion).holds
    assert protocol.utility <= pf.optimise(joint, notion).upper_bound
    simple = bisected(joint, over, steps=6)
    assert pf.certify(simple, joint, over).holds
    assert simple.utility <= protocol.utility + 1e-4
    assert simple.utility <= protocol.upper_bound + 1e-9


@pytest.mark.long
@pytest.mark.parametrize("within", SETS)
@pytest.mark.parametrize("notion", [pf.LDP(0.6), pf.LIP(0.4), pf.ALIP(0.3, 0.6), pf.PML(0.3), pf.SRLIP(0.5)])
def test_with_ever_more_people_the_optimum_tends_to_the_plain_one(notion, within):
    shares = np.array([[[22, 10], [5, 13]], [[6, 12], [20, 12]]])
    plain = pf.optimise(pf.Joint(shares), notion).utility
    kept = [
        pf.optimise(pf.Joint(shares * k), pf.robust(notion, 0.95, within), gap=1e-4, time_limit=20).utility
        for k in (1, 30, 1000, 10**9)
    ]
    assert kept == sorted(kept)
    assert kept[-1] == pytest.approx(plain, abs=2e-3)
    assert kept[0] < plain / 2


@pytest.mark.parametrize("within", SETS)
@pytest.mark.parametrize("notion", [pf.LDP(0.5), pf.LIP(0.5), pf.PML(0.5), pf.SRLIP(0.5)])
def test_with_a_handful_of_people_almost_nothing_is_released(notion, within):
    for array in ([[[1, 0], [1, 0]], [[0, 1], [1, 1]]], [[[1, 0], [0, 0]], [[0, 0], [0, 1]]], [[[2, 1], [1, 0]]] * 2):
        joint = pf.Joint(array)
        protocol = pf.optimise(joint, pf.robust(notion, 0.95, within), gap=1e-3, time_limit=20)
        assert pf.certify(protocol, joint).holds
        # all distributions are possible, so this is ordinary local differential privacy at ε, or nearly
        assert protocol.utility < 0.15


@pytest.mark.parametrize("within", SETS)
def test_side_channels_are_guarded_against_over_the_set(within):
    rng = np.random.default_rng(1)
    joint = pf.Joint(rng.integers(50, 2000, (2, 2, 3)))
    over = pf.robust(pf.SRLIP(0.5), 0.95, within)
    protocol = pf.optimise(joint, over, gap=1e-3, time_limit=30)
    assert pf.certify(protocol, joint).holds
    assert 0 < protocol.utility <= pf.optimise(joint, pf.SRLIP(0.5), gap=1e-3, time_limit=30).upper_bound
    # with fewer cells each statement may be surer, so the set for LIP is the smaller one
    assert protocol.utility <= pf.optimise(joint, pf.robust(pf.LIP(0.5), 0.95, within), gap=1e-3).upper_bound
    # in each cell, all corners of the cell's own set
    Q = (protocol.channel * 2**32).astype(np.int64)
    worst = 0.0
    for part in over.possible(joint):
        for cell, members in enumerate(part.members):
            if (members >= 0).sum() <= 2:
                real = members[members >= 0]
                for p in robust_brute.distributions(part, cell):
                    worst = max(worst, robust_brute.level_at(pf.LIP(0.5), *p, Q[:, real].tolist()))
    assert 0 < worst <= 0.5


@pytest.mark.long
@pytest.mark.parametrize("within", ["intervals"])  # bisection is not for nested sets
@pytest.mark.parametrize(
    ("table", "secret", "attributes"),
    [
        ("adult", "income", ["education"]),
        ("adult", "income", ["education", "sex"]),
        ("compas", "two_year_recid", ["sex", "age_cat"]),
        ("compas", "two_year_recid", ["sex", "age_cat", "score_text"]),
    ],
)
def test_on_real_tables_the_optimum_keeps_at_least_what_bisection_keeps(shared, table, secret, attributes, within):
    path = shared / "data" / f"{table}.csv.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not in the shared folder")
    joint = pf.Joint.from_table(path, secret, attributes, missing="?")
    over = pf.robust(pf.LIP(0.5), 0.95, within)
    best = pf.optimise(joint, over, gap=1e-3, time_limit=10)
    simple = bisected(joint, over, gap=1e-4, steps=6)
    assert pf.certify(best, joint).holds
    assert pf.certify(simple, joint, over).holds
    assert best.utility >= simple.utility - 1e-9
    assert best.utility > 0.2 * joint.entropy


# --- a simulation with known truth --------------------------------------------------------------------

TRUTH = np.array([[0.25, 0.15, 0.10], [0.08, 0.17, 0.25]])


SAMPLES = [(40, 40), (300, 120), (3_000, 120), (30_000, 120)]
"""People in a sample, and samples: 400 in all."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "times"),
    SAMPLES,
)
def test_the_promise_is_kept_for_the_truth_as_often_as_it_says(n, times, record_property):
    """The plain optimum breaks its promise for the population in most samples: reported beside it."""
    rng = np.random.default_rng(n)
    notion, confidence = pf.LIP(0.4), 0.95
    broken = plainly_broken = 0
    for _ in range(times):
        sample = rng.multinomial(n, TRUTH.ravel()).reshape(TRUTH.shape)
        joint = pf.Joint(sample)
        truth = pf.Joint(TRUTH[:, sample.any(axis=0)])
        over = pf.optimise(joint, pf.robust(notion, confidence), gap=0.02, time_limit=10)
        plain = pf.optimise(joint, notion)
        broken += notion.level(truth, over.channel) > notion.epsilon
        plainly_broken += notion.level(truth, plain.channel) > notion.epsilon * (1 + 1e-9)
    record_property("failures of the robust protocol", f"{broken} of {times}")
    record_property("failures of the plain protocol", f"{plainly_broken} of {times}")
    allowed = 1 - confidence
    assert binomtest(broken, times, allowed, alternative="greater").pvalue > ALARM
    # the same test tells a protocol that does not keep its promise
    assert binomtest(plainly_broken, times, allowed, alternative="greater").pvalue < ALARM


# --- promises as data -----------------------------------------------------------------------------------


def test_a_robust_promise_is_saved_and_its_words_say_so(tmp_path):
    joint = pf.Joint([[400, 100, 30], [100, 400, 60]])
    protocol = pf.optimise(joint, pf.robust(pf.LIP(0.3), 0.99))
    protocol.save(tmp_path / "p.json")
    text = json.loads((tmp_path / "p.json").read_text())
    promise = {"notion": "lip", "epsilon": 0.3}
    assert text["promise"] == {"notion": "robust", "confidence": 0.99, "within": "intervals", "promise": promise}
    assert "99% confidence" in text["guarantee"]
    loaded = pf.Protocol.load(tmp_path / "p.json")
    assert loaded.notion == protocol.notion
    assert pf.certify(loaded, joint).holds


@pytest.mark.parametrize("notion", [pf.LDP(0.6), pf.ALIP(0.3, 0.6), pf.SRLIP(0.5, known=1), pf.SRLDP(0.5)])
def test_a_robust_promise_is_read_back_as_it_was_written(notion):
    for within in SETS:
        over = pf.robust(notion, 0.9, within)
        assert notion_from(json.loads(json.dumps(over.as_dict()))) == over
        assert ("marginal table" in over.words()) == (within == "nested")
    assert over.times(0.5).epsilon == pytest.approx(notion.epsilon / 2)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: pf.robust(pf.LIP(0.5), 1.0), "between 0 and 1"),
        (lambda: pf.robust(pf.LIP(0.5), True), "between 0 and 1"),
        (lambda: pf.robust(0.5), "needs a notion"),
        (lambda: pf.robust(pf.LIP(0.5), 0.9, "sphere"), "one of nested, intervals; got"),
        (lambda: pf.robust(pf.LIP(0.5), 0.9, ["nested"]), "one of nested, intervals; got"),
        (lambda: pf.LIP(0.5).possible(pf.Joint([[1, 2], [3, 4]])), "single distribution"),
        (lambda: pf.robust(pf.PerfectPrivacy()), "positive"),
        (lambda: pf.robust(pf.ALIP(0, 1)), "positive"),
        (lambda: pf.robust(pf.robust(pf.LIP(0.5))), "already"),
        (lambda: Robust.at(0.5), "which promise"),
        (lambda: notion_from({"notion": "robust", "confidence": 0.9}), "not one of|parameters"),
        (lambda: pf.sharpness(pf.Joint([[1, 2], [3, 4]]), pf.LIP(1.0)), "robust promise"),
        (lambda: bisected(pf.Joint([[1, 2], [3, 4]]), pf.LIP(1.0)), "robust promise"),
        (lambda: pf.optimise([pf.Joint([[1, 2], [3, 4]])], pf.robust(pf.LIP(1.0))), "one joint"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(make, says):
    with pytest.raises(pf.PrivacyFunnelError, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)


# --- rare values --------------------------------------------------------------------------------------


def test_a_value_is_too_rare_when_only_its_count_forbids_it():
    found = pf.sharpness(pf.Joint([[4_000, 20, 900], [5_000, 30, 10]]), pf.robust(pf.LIP(0.5)))
    assert [value.too_rare for value in found] == [False, True, False]
    common, rare, telling = found
    assert common.sample_level < common.population_level <= 0.5
    assert rare.sample_level < 0.5 < rare.population_level
    assert telling.sample_level > 0.5
    assert rare.people == 50


@given(counts(), st.sampled_from([pf.LIP(0.5), pf.LDP(0.5), pf.PML(0.5)]), sets)
@settings(max_examples=20)
def test_sharpness_is_the_level_of_an_output_that_one_value_alone_gives(array, notion, within):
    joint = pf.Joint(array)
    over = pf.robust(notion, 0.95, within)
    (part,) = over.possible(joint)
    for x, value in enumerate(pf.sharpness(joint, over)):
        alone = [[2**32 if k == x else 0 for k in range(joint.n_x)]]
        brute = robust_brute.worst_level(notion, part, alone)
        assert value.population_level == pytest.approx(brute, rel=1e-9, abs=1e-9)
        lifts = exact_lifts([[Fraction(int(e)) for e in row] for row in array], alone)
        assert value.sample_level == pytest.approx(robust_brute.level_of(notion, lifts), rel=1e-9, abs=1e-9)


def test_population_findings_put_sample_and_population_side_by_side():
    joint = pf.Joint([[4_000, 20, 900], [5_000, 30, 10]])
    plain = pf.population_findings(pf.optimise(joint, pf.LIP(0.5)), joint, 0.95)
    over = pf.population_findings(pf.optimise(joint, pf.robust(pf.LIP(0.5))), joint)
    assert plain.sample_level <= 0.5 < plain.population_level
    assert not plain.holds
    assert over.holds
    assert over.population_level <= 0.5
    assert over.too_rare == 1
    assert over.people_too_rare == 50
    assert "rarest" not in over.as_dict()


def test_programs_over_a_set_or_over_cells_do_not_offer_what_they_cannot_do():
    """Only programs over a single distribution's Δ can be kept to one of its faces."""
    for kind in (RobustOracle, CellOracle):
        assert kind.__bases__ == (object,)
        assert not hasattr(kind, "restrict")


@pytest.mark.parametrize(
    ("counts", "promise"),
    [
        ([[0, 0, 1, 0], [0, 0, 1, 1]], pf.LIP(43.94470264089644)),  # outputs lack less than a unit of some value
        ([[921, 718], [923, 227], [118, 630], [408, 562]], pf.LDP(1.6926112455122265e-08)),  # p_x touches its rows
        ([[0, 1, 5, 5, 0], [0, 1, 2, 4, 0], [5, 0, 5, 3, 0]], pf.LDP(1.5309198305512162e-06)),
        ([[1, 0, 0], [0, 0, 1], [1, 1, 1], [0, 0, 1]], pf.ALIP(0.0031915900270079347, 3.5765790577630624e-07)),
    ],
    ids=str,
)
def test_promises_that_allow_nearly_everything_or_nearly_nothing_are_kept_without_a_warning(counts, promise):
    joint = pf.Joint(counts)
    protocol = pf.optimise(joint, pf.robust(promise), time_limit=2.0)
    assert pf.certify(protocol, joint).holds
    assert protocol.utility <= protocol.upper_bound
