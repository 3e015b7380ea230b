"""The promises: how they relate, their levels and rows, and what is refused."""

import math
import re
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute
import privacyfunnel as pf
from privacyfunnel.errors import InvalidChannel, InvalidPromise
from privacyfunnel.numeric.information import mutual_information
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notions import factor
from strategies import UNIT, epsilons, joints, joints_with_channels, notions, numerators

ROUND_OFF = 1e-9
ONE_EPSILON = [pf.LDP, pf.LIP, pf.PML]


def levels(joint, Q):
    """The level of every kind of promise: LDP, LIP, PML, and ALIP with limits 1 : 2."""
    return [notion.level(joint, Q) for notion in (pf.LDP(1), pf.LIP(1), pf.PML(1), pf.ALIP(1, 2), pf.PerfectPrivacy())]


def no_higher(after, before):
    return all(a <= b + ROUND_OFF * max(1.0, b) for a, b in zip(after, before, strict=True) if math.isfinite(b))


# --- relations (MATHS 2) ---------------------------------------------------------------------------


@given(joints_with_channels())
def test_ldp_implies_lip_implies_pml_and_twice_as_much_ldp(pair):
    joint, N = pair
    ldp, lip, pml, _, perfect = levels(joint, N / UNIT)
    assert pml <= lip + ROUND_OFF
    assert lip <= ldp + ROUND_OFF or math.isinf(ldp)
    assert ldp <= 2 * lip + ROUND_OFF or math.isinf(lip)
    assert perfect == lip


@given(joints_with_channels())
def test_lip_bounds_what_y_says_about_s(pair):
    joint, N = pair
    assert mutual_information((N / UNIT) @ joint.p.T) <= pf.LIP(1).level(joint, N / UNIT) + ROUND_OFF


@given(joints_with_channels())
def test_pml_bounds_how_often_the_best_guess_is_right(pair):
    joint, N = pair
    told = (N / UNIT) @ joint.p.T  # P(y, s)
    pml = pf.PML(1).level(joint, N / UNIT)
    assert told.max(axis=1).sum() <= math.exp(pml) * joint.p_s.max() * (1 + ROUND_OFF)


@given(joints_with_channels())
def test_no_belief_leaves_the_range_that_its_limits_allow(pair):
    """The second proposition of docs/theory.md, for every output and every value of the secret."""
    joint, N = pair
    told = (N / UNIT) @ joint.p.T
    told = told[told.sum(axis=1) > 0]
    beliefs = told / told.sum(axis=1, keepdims=True)
    lifts = beliefs / joint.p_s
    falls = -math.log(lifts.min()) if lifts.min() > 0 else math.inf
    apart = math.log((lifts.max(axis=1) / lifts.min(axis=1)).max()) if lifts.min() > 0 else math.inf
    for limits in (Limits(lower=falls, upper=math.log(lifts.max())), Limits(spread=apart)):
        for s, prior in enumerate(joint.p_s):
            least, most = limits.belief_range(float(prior))
            assert beliefs[:, s].min() >= least - ROUND_OFF
            assert beliefs[:, s].max() <= most + ROUND_OFF


@given(joints_with_channels(), epsilons())
def test_the_relations_hold_for_exact_certificates(pair, epsilon):
    joint, N = pair
    Q = N / UNIT
    holds = {kind: pf.certify(Q, joint, kind(epsilon)).holds for kind in ONE_EPSILON}
    assert holds[pf.LIP] or not holds[pf.LDP]
    assert holds[pf.PML] or not holds[pf.LIP]
    assert pf.certify(Q, joint, pf.LDP(2 * epsilon)).holds or not holds[pf.LIP]
    assert pf.certify(Q, joint, pf.ALIP(epsilon, epsilon)).holds == holds[pf.LIP]


@given(joints_with_channels(), st.data())
def test_merging_outputs_never_raises_a_level(pair, data):
    joint, N = pair
    if len(N) < 2:
        N = np.vstack([N // 2, N - N // 2])
    merged = N[1:].copy()
    merged[data.draw(st.integers(0, len(N) - 2))] += N[0]
    assert no_higher(levels(joint, merged / UNIT), levels(joint, N / UNIT))


@given(joints_with_channels(), st.data())
def test_a_random_channel_afterwards_never_raises_a_level(pair, data):
    joint, N = pair
    after = data.draw(numerators(len(N))) / UNIT
    assert no_higher(levels(joint, after @ (N / UNIT)), levels(joint, N / UNIT))


@given(joints_with_channels(), st.floats(0, 1), st.data())
def test_mixing_with_a_constant_never_raises_a_level(pair, share, data):
    joint, N = pair
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(N), max_size=len(N)))
    constant = np.array(weights)[:, None] / sum(weights)
    mixed = (1 - share) * (N / UNIT) + share * constant
    assert no_higher(levels(joint, mixed), levels(joint, N / UNIT))


# --- level ------------------------------------------------------------------------------------------


@given(joints_with_channels(), epsilons(), epsilons())
def test_level_matches_exact_arithmetic(pair, lower, upper):
    joint, N = pair
    lifts = brute.exact_lifts(brute.fractions(joint.weights), N.tolist())
    down, up, apart = (float(high) for _, high in brute.levels(lifts))
    Q = N / UNIT
    expected = {
        pf.LDP(1.0): apart,
        pf.LIP(1.0): max(down, up),
        pf.PML(1.0): up,
        pf.PerfectPrivacy(): max(down, up),
        pf.ALIP(lower, upper): max(down / lower, up / upper) * max(lower, upper),
    }
    for notion, level in expected.items():
        assert notion.level(joint, Q) == pytest.approx(level, rel=1e-9, abs=1e-12)


@given(joints_with_channels(), st.floats(0.001, 30))
def test_the_level_does_not_depend_on_the_epsilon_of_the_notion(pair, epsilon):
    joint, N = pair
    for kind in ONE_EPSILON:
        assert kind(epsilon).level(joint, N / UNIT) == pytest.approx(kind(0).level(joint, N / UNIT), rel=1e-12)


@given(joints())
def test_a_constant_channel_says_nothing(joint):
    Q = np.outer([0.25, 0.75], np.ones(joint.n_x))
    assert levels(joint, Q) == pytest.approx([0] * 5, abs=1e-14)


def test_releasing_a_copied_secret_has_level_infinity_and_pml_of_the_rarest_value():
    joint = pf.Joint(np.diag([1, 3]))
    ldp, lip, pml, _, _ = levels(joint, np.eye(2))
    assert math.isinf(ldp)
    assert math.isinf(lip)
    assert pml == pytest.approx(math.log(4))


def test_randomised_response_on_the_secret_has_the_level_it_is_built_for():
    for k, epsilon in ((2, 0.3), (4, 1.0), (5, 3.0)):
        joint = pf.Joint(np.diag(np.arange(1, k + 1)))
        Q = brute.randomised_response(k, epsilon)
        assert pf.LDP(1).level(joint, Q) == pytest.approx(epsilon, rel=1e-12)


def test_outputs_that_never_occur_do_not_count():
    joint = pf.Joint([[3, 1], [1, 3]])
    Q = np.array([[0.5, 0.5], [0.0, 0.0], [0.5, 0.5]])
    assert levels(joint, Q) == pytest.approx([0] * 5, abs=1e-14)


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 1.0), (1.0, 0.0)], ids=["no lowering", "no raising"])
def test_a_channel_that_breaks_a_limit_of_zero_has_a_level_above_epsilon(lower, upper):
    joint = pf.Joint([[5, 4], [4, 5]])
    notion = pf.ALIP(lower, upper)
    assert not pf.certify(np.eye(2), joint, notion).holds
    assert notion.level(joint, np.eye(2)) > notion.epsilon


@pytest.mark.parametrize(
    "channel",
    [np.ones(2), np.ones((1, 3)), np.ones((1, 1, 2)), "ab", [["a", "b"]], None, [[1], [1, 2]], np.zeros((2, 2))],
    ids=["a vector", "three columns", "a cube", "a string", "strings", "None", "ragged", "no output"],
)
def test_the_level_of_what_is_no_channel_is_an_invalid_channel(channel):
    with pytest.raises(InvalidChannel):
        pf.LIP(1).level(pf.Joint([[3, 1], [1, 3]]), channel)


# --- rows -------------------------------------------------------------------------------------------


@given(joints(), notions(), st.integers(0, 2**32 - 1), st.floats(0, 1))
@settings(max_examples=100)
def test_a_posterior_meets_the_rows_exactly_when_it_keeps_the_promise(joint, notion, seed, share):
    rng = np.random.default_rng(seed)
    V = rng.dirichlet(np.full(joint.n_x, 0.5), size=20)
    V = np.vstack([share * V + (1 - share) * joint.p_x, np.eye(joint.n_x), joint.p_x])
    G = notion.rows(joint)
    assert G.shape[1] == joint.n_x
    worst = (V @ G.T).max(axis=1, initial=-1.0)
    lower, upper, spread = (math.inf if limit is None else limit for limit in brute.limits(notion))
    lift = V @ (joint.p_s_given_x / joint.p_s[:, None]).T
    logs = np.log(lift.clip(1e-300))  # far below what any ε here allows
    least, most = logs.min(axis=1), logs.max(axis=1)
    excess = np.maximum(np.maximum(-least - lower, most - upper), most - least - spread)
    assert (worst[excess < -1e-7] <= 0).all()
    # A lift far below e^-50 is a row overstepped by less than rounding: only what floats can tell is asked.
    telling = (excess > 1e-7) & (lower < 20) & (spread < 20)
    assert (worst[telling] > 0).all()


@given(joints(), notions(st.one_of(st.just(0.0), epsilons())))
def test_releasing_nothing_meets_every_row(joint, notion):
    G = notion.rows(joint)
    assert (G @ joint.p_x).max(initial=0.0) <= 1e-12
    assert np.isfinite(G).all()


@given(joints(max_s=1), notions(st.one_of(st.just(0.0), epsilons())))
def test_a_secret_with_one_value_needs_no_rows(joint, notion):
    assert len(notion.rows(joint)) == 0


@given(joints(), epsilons(high=5.0))
def test_a_larger_epsilon_allows_more(joint, epsilon):
    V = np.random.default_rng(0).dirichlet(np.full(joint.n_x, 0.5), size=50)
    for kind in ONE_EPSILON:
        tight, loose = kind(epsilon).rows(joint), kind(1.1 * epsilon).rows(joint)
        kept = (V @ tight.T <= 0).all(axis=1)
        assert ((V @ loose.T)[kept] <= 1e-12).all()


@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 1e-9, 1e-6, 0.1])
def test_rows_of_a_rare_secret_are_accurate(epsilon):
    """lift − 1 of a secret that nearly everybody has is 1e-9 or so: it must not be mostly rounding error."""
    counts = np.array([[3, 1, 2, 4], [10**9, 3 * 10**9, 2 * 10**9, 10**9]])
    joint = pf.Joint(counts)
    exact = brute.fractions(counts)
    p_s, whole = [sum(row) for row in exact], sum(map(sum, exact))
    p_x = [sum(column) for column in zip(*exact, strict=True)]
    e = brute.exp_between(epsilon, 40)[0]
    expected = []
    for s in range(2):
        lift = [exact[s][x] * whole / (p_x[x] * p_s[s]) for x in range(4)]
        for row in ([a / e - 1 for a in lift], [1 / e - a for a in lift]):
            largest = max(abs(g) for g in row)
            if max(row) > 0:
                expected.append([float(g / largest) for g in row])
    got = pf.LIP(epsilon).rows(joint)
    assert len(got) == len(expected)
    distance = np.abs(got[:, None] - np.array(expected)).max(axis=2)
    assert distance.min(axis=0).max() < 1e-12
    assert distance.min(axis=1).max() < 1e-12


# --- the parameter ----------------------------------------------------------------------------------

BAD_EPSILONS = {
    "negative": -0.1,
    "tiny negative": -1e-300,
    "NaN": math.nan,
    "infinite": math.inf,
    "minus infinite": -math.inf,
    "a string": "0.5",
    "a boolean": True,
    "a NumPy boolean": np.bool_(True),
    "None": None,
    "complex": 1j,
    "a list": [0.5],
    "an array": np.array([0.5]),
    "a decimal string": "nan",
}


@pytest.mark.parametrize("epsilon", BAD_EPSILONS.values(), ids=BAD_EPSILONS.keys())
@pytest.mark.parametrize(
    "build",
    [pf.LDP, pf.LIP, pf.PML, lambda e: pf.ALIP(e, 1.0), lambda e: pf.ALIP(1.0, e), pf.LIP.at, pf.ALIP.at],
    ids=["LDP", "LIP", "PML", "ALIP lower", "ALIP upper", "LIP.at", "ALIP.at"],
)
def test_a_bad_epsilon_is_an_invalid_promise_and_nothing_else(build, epsilon):
    with pytest.raises(InvalidPromise):
        build(epsilon)


@pytest.mark.parametrize("epsilon", [0.1, *BAD_EPSILONS.values()], ids=["positive", *BAD_EPSILONS.keys()])
def test_perfect_privacy_has_no_other_epsilon(epsilon):
    assert pf.PerfectPrivacy.at(0) == pf.PerfectPrivacy()
    with pytest.raises(InvalidPromise):
        pf.PerfectPrivacy.at(epsilon)


@pytest.mark.parametrize(
    "epsilon", [0, 1, 0.5, np.float64(0.5), np.float32(0.5), np.float16(0.5), np.int64(1), np.uint8(1), 50, 1e5, 1e300]
)
@pytest.mark.parametrize("kind", [*ONE_EPSILON, lambda e: pf.ALIP(lower=e, upper=e)], ids=["LDP", "LIP", "PML", "ALIP"])
def test_every_kind_of_number_is_an_epsilon_all_the_way_to_the_certificate(kind, epsilon):
    joint, notion = pf.Joint([[3, 1], [1, 3]]), kind(epsilon)
    assert notion.epsilon == epsilon
    assert pf.certify(np.ones((1, 2)), joint, notion).holds
    assert pf.certify(pf.optimise(joint, notion), joint).holds


def test_notions_are_values():
    assert pf.LIP(0.5) == pf.LIP(0.5)
    assert pf.LIP(0.5) != pf.LDP(0.5)
    assert len({pf.ALIP(0.1, 0.2), pf.ALIP(0.1, 0.2), pf.ALIP(0.2, 0.1)}) == 2
    assert pf.ALIP(lower=0.1, upper=0.2).epsilon == 0.2
    with pytest.raises(AttributeError):
        pf.LIP(0.5).epsilon = 1.0


# --- words ------------------------------------------------------------------------------------------


def stated(text):
    """The number that `factor` writes, exactly."""
    with localcontext(prec=60):
        if match := re.fullmatch(r"e\^([0-9.e+]+)", text):
            return Decimal(match[1]).exp()
        return Decimal(text.replace(",", ""))


@given(st.one_of(st.floats(1e-15, 100), st.floats(1e-15, 1e-3), st.floats(13, 100)))
@settings(max_examples=300)
def test_the_factor_in_words_is_rounded_up_and_not_by_much(epsilon):
    with localcontext(prec=60):
        true, said = Decimal(epsilon).exp(), stated(factor(epsilon))
        assert said >= true * (1 - Decimal("1e-15"))
        assert said - 1 <= (true - 1) * Decimal("1.2") + Decimal("1e-15") or epsilon > 13
        assert said <= true * Decimal("1.02")


@pytest.mark.parametrize("epsilon", [13.12344, 13.1234567, 20.0000004, 49.99999999])
def test_a_large_factor_is_rounded_up_as_well(epsilon):
    with localcontext(prec=60):
        assert stated(factor(epsilon)) >= Decimal(epsilon).exp()


@pytest.mark.parametrize("epsilon", [1e-15, 1e-16, 1e-17, 1e-30, 5e-324])
def test_the_factor_of_a_tiny_epsilon_is_above_1(epsilon):
    assert stated(factor(epsilon)) > 1


def test_the_factor_of_zero_is_the_level_that_is_certified():
    with localcontext(prec=60):
        assert Decimal("1e-8") <= stated(factor(0)) - 1 <= Decimal("2e-8")


@pytest.mark.parametrize(
    ("notion", "expected"),
    [
        (pf.LIP(0.5), ["1.65"]),
        (pf.LDP(1.0), ["2.72"]),
        (pf.PML(2), ["7.39"]),
        (pf.ALIP(lower=0.5, upper=1.0), ["1.65", "2.72"]),
        (pf.LIP(0.01), ["1.0101"]),
        (pf.LIP(10), ["22,026.47"]),
        (pf.LIP(50), ["e^50"]),
        (pf.PerfectPrivacy(), ["100,000,000"]),
    ],
    ids=repr,
)
def test_the_sentence_names_the_factor(notion, expected):
    for text in expected:
        assert text in notion.words()


def test_asymmetric_words_put_each_factor_on_its_own_side():
    words = pf.ALIP(lower=0.5, upper=1.0).words()
    assert words.index("raise") < words.index("2.72") < words.index("lower") < words.index("1.65")
