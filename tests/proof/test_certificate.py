"""The exact check against an oracle in fractions; mutations past the bound are all rejected."""

import ast
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import brute
import privacyfunnel as pf
from privacyfunnel.errors import InvalidChannel, InvalidJoint, InvalidPromise, PrivacyFunnelError
from privacyfunnel.proof.exponentials import e_to, log_above
from privacyfunnel.protocols.channel import Channel
from strategies import UNIT, epsilons, joints, joints_with_channels, notions, numerators

MUTATIONS = 1_000


def oracle(joint, N):
    """Exact lifts from the joint's exact weights."""
    return brute.exact_lifts(brute.fractions(joint.weights), N.tolist())


def in_units(Q):
    N = Q * UNIT
    assert (np.rint(N) == N).all()
    return N.astype(np.int64)


# --- e^ε and ln, rounded on purpose -------------------------------------------------------------------


@given(st.one_of(st.floats(1e-20, 100), st.sampled_from([1e-300, 1e-8, 0.5, 50.0, 700.0, 1000.0, 1e4])))
@settings(max_examples=100)
def test_e_to_epsilon_is_from_below_and_closer_than_fifty_digits(epsilon):
    with localcontext(prec=100) as context:
        context.Emax = 10**6
        true = Fraction(Decimal(epsilon).exp())
    value = e_to(epsilon)
    assert value <= true
    assert value >= true * (1 - Fraction(1, 10**50))


def test_e_to_zero_is_at_most_one():
    assert 1 - Fraction(1, 10**50) <= e_to(0.0) <= 1


@given(st.integers(1, 2**200), st.integers(0, 2**200))
@example(2**31, 1)
@example(10**30, 1)
@example(1, 0)
@example(2**64, 2**64 - 1)
@settings(max_examples=200)
def test_logarithms_are_rounded_up_by_less_than_1e_12(denominator, excess):
    ratio = Fraction(denominator + excess, denominator)
    low, high = brute.log_between(ratio)
    assert Decimal(log_above(ratio)) >= low
    assert Decimal(log_above(ratio)) <= high + Decimal("1e-12")
    if excess:
        assert log_above(ratio) > 0


# --- verdicts ----------------------------------------------------------------------------------------


@given(joints_with_channels(), notions(st.one_of(st.just(0.0), epsilons())))
@settings(max_examples=200)
def test_the_verdict_is_the_oracles(pair, notion):
    joint, N = pair
    assert pf.certify(N / UNIT, joint, notion).holds == brute.keeps(notion, oracle(joint, N))


@given(joints_with_channels(skewed=True), notions())
def test_the_verdict_is_the_oracles_over_twelve_orders_of_magnitude(pair, notion):
    joint, N = pair
    assert pf.certify(N / UNIT, joint, notion).holds == brute.keeps(notion, oracle(joint, N))


@given(joints_with_channels(min_s=2, min_x=2), st.sampled_from([pf.LDP, pf.LIP, pf.PML]), st.integers(-2, 3))
@settings(max_examples=200)
def test_the_verdict_is_right_at_the_last_digit_of_epsilon(pair, kind, steps):
    """ε is put within a few units in the last place of the level actually reached."""
    joint, N = pair
    lifts = oracle(joint, N)
    down, up, apart = brute.levels(lifts)
    level = {pf.LDP: apart, pf.LIP: max(down, up), pf.PML: up}[kind][0]
    assume(Decimal("1e-9") < level < 100)
    epsilon = float(level)
    for _ in range(abs(steps)):
        epsilon = math.nextafter(epsilon, math.inf if steps > 0 else 0.0)
    notion = kind(epsilon)
    assert pf.certify(N / UNIT, joint, notion).holds == brute.keeps(notion, lifts)


@given(joints_with_channels())
def test_the_level_is_from_above_and_within_1e_12(pair):
    joint, N = pair
    down, up, apart = brute.levels(oracle(joint, N))
    expected = {pf.LDP(1.0): apart, pf.LIP(1.0): max(down, up), pf.PML(1.0): up, pf.PerfectPrivacy(): max(down, up)}
    for notion, (low, high) in expected.items():
        level = Decimal(pf.certify(N / UNIT, joint, notion).level)
        if low.is_infinite():
            assert level.is_infinite()
        else:
            assert low <= level <= high + Decimal("1e-12") * max(1, high)


@given(joints_with_channels(), notions())
def test_the_certificates_level_agrees_with_the_notions(pair, notion):
    joint, N = pair
    certificate = pf.certify(N / UNIT, joint, notion)
    limits = [limit for limit in vars(notion.limits).values() if 0 < limit < math.inf]
    stretch = max([1.0, *(notion.epsilon / limit for limit in limits)])  # of round-off, by ALIP's proportion
    assert certificate.level == pytest.approx(notion.level(joint, N / UNIT), rel=1e-9, abs=1e-12 * stretch)
    if abs(certificate.level - notion.epsilon) > 1e-9:
        assert certificate.holds == (certificate.level <= notion.epsilon)


@given(joints_with_channels())
def test_what_is_reached_covers_every_lift(pair):
    joint, N = pair
    reached = pf.certify(N / UNIT, joint, pf.LIP(1)).reached
    for got, (low, _) in zip(
        (reached.lower, reached.upper, reached.spread), brute.levels(oracle(joint, N)), strict=True
    ):
        assert Decimal(got) >= low


@given(joints(), notions(st.one_of(st.just(0.0), st.sampled_from([5e-324, 1e-300, 1e-60, 1e-20]), epsilons())))
def test_releasing_nothing_keeps_every_promise_however_small(joint, notion):
    assert pf.certify(np.ones((1, joint.n_x)), joint, notion).holds
    assert pf.certify(np.full((2, joint.n_x), 0.5), joint, notion).level == 0


def test_a_certificate_is_as_true_as_it_holds():
    joint = pf.Joint([[3, 1], [1, 3]])
    assert pf.certify(np.eye(2), joint, pf.LIP(1.0))
    assert not pf.certify(np.eye(2), joint, pf.LIP(0.1))


def test_perfect_privacy_passes_up_to_1e_8_and_not_beyond():
    joint = pf.Joint([[1, 0], [0, 1]])
    half = UNIT // 2
    for units, holds in ((0, True), (21, True), (22, False), (100, False)):
        N = np.array([[half + units, half - units], [half - units, half + units]])
        certificate = pf.certify(N / UNIT, joint, pf.PerfectPrivacy())
        lifts = oracle(joint, N)
        assert certificate.holds is brute.keeps(pf.PerfectPrivacy(), lifts) is holds
        assert (certificate.level <= 1e-8) is holds


# --- the worst place -----------------------------------------------------------------------------------


@given(joints_with_channels(min_s=2), st.sampled_from([pf.LIP(1.0), pf.PML(1.0), pf.LDP(1.0)]))
@settings(max_examples=100)
def test_the_worst_place_is_named_with_its_exact_lift(pair, notion):
    joint, N = pair
    labelled = pf.Joint.from_support(
        np.array(joint.weights, dtype=np.int64) if joint.weights.dtype != object else joint.p,
        joint.values,
        secret_values=[f"secret {s}" for s in range(joint.n_s)],
    )
    lifts = oracle(labelled, N)
    assume(lifts.least > 0)
    worst = pf.certify(N / UNIT, labelled, notion).worst
    s = labelled.secret_values.index(worst.secret)
    row = lifts.rows[worst.output]
    if isinstance(notion, pf.LDP):
        assert worst.lift == row[s] / row[labelled.secret_values.index(worst.against)] == lifts.apart
    elif isinstance(notion, pf.PML):
        assert worst.lift == row[s] == lifts.most
        assert worst.against is None
    else:
        assert worst.lift == row[s]
        assert max(worst.lift, 1 / worst.lift) == max(lifts.most, 1 / lifts.least)


def test_the_worst_place_of_a_channel_known_by_hand():
    joint = pf.Joint([[3, 1], [1, 3]], secret_values=["well", "ill"])
    certificate = pf.certify(np.array([[0.5, 0.0], [0.5, 1.0]]), joint, pf.LIP(1.0))
    assert (certificate.worst.secret, certificate.worst.output) == ("ill", 0)
    assert certificate.worst.lift == Fraction(1, 2)
    assert certificate.level == pytest.approx(math.log(2), abs=1e-14)
    odds = pf.certify(np.array([[0.5, 0.0], [0.5, 1.0]]), joint, pf.LDP(2.0)).worst
    assert (odds.secret, odds.against, odds.output, odds.lift) == ("well", "ill", 0, 3)


def test_a_secret_that_is_ruled_out_breaks_ldp_and_lip_but_not_pml():
    joint = pf.Joint([[1, 0], [1, 1]])
    assert not pf.certify(np.eye(2), joint, pf.LDP(700.0)).holds
    assert not pf.certify(np.eye(2), joint, pf.LIP(700.0)).holds
    assert pf.certify(np.eye(2), joint, pf.LDP(1.0)).level == math.inf
    assert pf.certify(np.eye(2), joint, pf.PML(0.7)).holds


# --- mutations -----------------------------------------------------------------------------------------

TIGHT = [
    ([[30, 10, 5], [10, 50, 20]], pf.LIP(0.3)),
    ([[3, 1, 0, 4], [1, 5, 9, 2]], pf.LDP(0.5)),
    ([[2, 7, 1], [8, 2, 8], [1, 8, 2]], pf.ALIP(lower=0.5, upper=0.2)),
    ([[6, 2, 8, 3], [1, 8, 5, 3]], pf.PML(0.2)),
    ([[40, 10], [10, 40]], pf.LIP(1e-3)),
    (np.diag([1, 2, 3, 4]), pf.LDP(1.0)),
    ([[0.1, 0.2, 0.05], [0.25, 0.3, 0.1]], pf.LIP(0.1)),
    (np.random.default_rng(5).dirichlet(np.ones(24)).reshape(3, 8), pf.LDP(0.7)),
]


def mutants(rng, N, count):
    """Copies of N with some units moved from one output to another in one column."""
    for _ in range(count):
        M = N.copy()
        x = rng.integers(N.shape[1])
        giver = rng.choice(np.flatnonzero(N[:, x]))
        taker = rng.integers(len(N))
        M[giver, x] -= (units := min(N[giver, x], 1 << rng.integers(0, 30)))
        M[taker, x] += units
        yield M


def test_a_thousand_mutations_past_the_bound_are_all_rejected_and_those_within_it_all_accepted():
    rng = np.random.default_rng(0)
    broken = kept = 0
    for array, notion in TIGHT:
        joint = pf.Joint(array)
        N = in_units(pf.optimise(joint, notion).channel)
        for M in mutants(rng, N, 400):
            verdict = brute.keeps(notion, oracle(joint, M))
            assert pf.certify(M / UNIT, joint, notion).holds is verdict
            broken, kept = broken + (not verdict), kept + verdict
    assert broken >= MUTATIONS
    assert kept >= 100


def test_one_entry_moved_by_one_unit_past_the_bound_is_rejected():
    """From a tight channel, single units are moved until the bound is crossed: the last step is what breaks it."""
    crossed = 0
    for array, notion in TIGHT:
        joint = pf.Joint(array)
        N = in_units(pf.optimise(joint, notion).channel)
        for y in range(len(N)):
            for x in range(N.shape[1]):
                if len(N) < 2 or N[y, x] == 0:
                    continue
                M, to = N.copy(), (y + 1) % len(N)
                for _ in range(min(4, int(N[y, x]))):
                    M[y, x] -= 1
                    M[to, x] += 1
                    verdict = brute.keeps(notion, oracle(joint, M))
                    assert pf.certify(M / UNIT, joint, notion).holds is verdict
                    if not verdict:
                        crossed += 1
                        break
    assert crossed >= 10


def test_the_unit_that_crosses_the_bound_is_found_exactly():
    """Binary randomised response: P(y=s|s) = n/2³² keeps ε-LDP up to n = ⌊2³² e^ε/(1+e^ε)⌋ and not one unit more."""
    joint = pf.Joint([[1, 0], [0, 1]])
    for epsilon in (1e-6, 0.01, 0.3, 1.0, 5.0, 20.0):
        low, high = brute.exp_between(epsilon, 60)
        n = math.floor(UNIT * low / (1 + low))
        assert n == math.floor(UNIT * high / (1 + high))
        for units, holds in ((n, True), (n + 1, False)):
            N = np.array([[units, UNIT - units], [UNIT - units, units]])
            assert pf.certify(N / UNIT, joint, pf.LDP(epsilon)).holds is holds


@given(joints_with_channels(min_x=2), st.data())
def test_a_column_that_does_not_sum_to_1_is_rejected(pair, data):
    joint, N = pair
    x, y = data.draw(st.integers(0, joint.n_x - 1)), data.draw(st.integers(0, len(N) - 1))
    N[y, x] += 1 if N[y, x] == 0 or data.draw(st.booleans()) else -1
    certificate = pf.certify(N / UNIT, joint, pf.LIP(1000.0))
    assert not certificate.holds
    assert certificate.level == math.inf
    assert certificate.worst is None


def test_the_right_channel_against_the_wrong_joint_is_rejected():
    right, wrong = pf.Joint([[30, 10, 5], [10, 50, 20]]), pf.Joint([[30, 10, 5], [10, 20, 50]])
    for notion in (pf.LIP(0.3), pf.LDP(0.3), pf.PML(0.3), pf.ALIP(0.3, 0.3)):
        protocol = pf.optimise(right, notion)
        assert pf.certify(protocol, right).holds
        assert not pf.certify(protocol, wrong).holds


@given(joints(min_s=2, min_x=2), joints(min_s=2, min_x=2), st.sampled_from([pf.LIP(0.2), pf.LDP(0.2)]))
def test_a_protocol_passes_on_another_joint_only_if_the_oracle_says_so(joint, other, notion):
    protocol = pf.optimise(joint, notion)
    certificate = pf.certify(protocol, other)
    known = {values: x for x, values in enumerate(map(tuple, joint.values.tolist()))}
    columns = [known.get(values, -1) for values in map(tuple, other.values.tolist())]
    if joint.values.shape[1] != other.values.shape[1] or -1 in columns:
        assert not certificate.holds
    else:
        assert certificate.holds == brute.keeps(notion, oracle(other, in_units(protocol.channel[:, columns])))


def test_columns_belong_to_values_whatever_their_order():
    one = pf.Joint.from_support([[3, 1, 4], [1, 3, 4]], ["north", "south", "west"], attributes=["town"])
    same = pf.Joint.from_support([[4, 3, 1], [4, 1, 3]], ["west", "north", "south"], attributes=["town"])
    other = pf.Joint.from_support([[3, 1, 4], [1, 3, 4]], ["west", "south", "north"], attributes=["town"])
    protocol = pf.optimise(one, pf.LIP(0.2))
    assert pf.certify(protocol, one).holds
    assert pf.certify(protocol, same).holds
    assert not pf.certify(protocol, other).holds


def test_a_protocol_for_other_values_of_x_is_rejected():
    one = pf.Joint.from_support([[3, 1], [1, 3]], ["north", "south"], attributes=["town"])
    other = pf.Joint.from_support([[3, 1], [1, 3]], ["north", "east"], attributes=["town"])
    assert not pf.certify(pf.optimise(one, pf.LIP(0.5)), other).holds


def test_a_protocol_for_other_attributes_is_rejected():
    one = pf.Joint.from_support([[3, 1], [1, 3]], ["north", "south"], attributes=["town"])
    other = pf.Joint.from_support([[3, 1], [1, 3]], ["north", "south"], attributes=["birthplace"])
    found = pf.certify(pf.optimise(one, pf.LIP(5)), other)
    assert (found.holds, found.level) == (False, math.inf)
    assert "different attributes" in found.reason


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_the_wrong_number_of_columns_is_rejected(columns):
    certificate = pf.certify(np.ones((1, columns)), pf.Joint([[1, 2, 3], [3, 2, 1]]), pf.LIP(1.0))
    assert not certificate.holds
    assert certificate.reason


BAD_CHANNELS = {
    "negative": [[1.5, 1.0], [-0.5, 0.0]],
    "not dyadic": [[1 / 3, 0.5], [2 / 3, 0.5]],
    "finer than 2**-32": [[2.0**-33, 0.5], [1 - 2.0**-33, 0.5]],
    "above 1": [[2.0, 1.0]],
    "NaN": [[math.nan, 1.0]],
    "infinite": [[math.inf, 1.0]],
    "a vector": [1.0, 1.0],
    "empty": np.empty((0, 2)),
    "no columns": np.empty((1, 0)),
    "a zero column": [[1.0, 0.0]],
    "a string": "channel",
    "strings": [["a", "b"]],
    "ragged": [[1.0, 1.0], [0.0]],
    "None": None,
    "complex": [[1j, 1.0]],
}


@pytest.mark.parametrize("channel", BAD_CHANNELS.values(), ids=BAD_CHANNELS.keys())
def test_what_is_no_exact_channel_is_never_certified(channel):
    joint = pf.Joint([[3, 1], [1, 3]])
    try:
        certificate = pf.certify(channel, joint, pf.LIP(1000.0))
    except InvalidChannel:
        return
    assert not certificate.holds


def test_a_bare_channel_needs_a_notion_and_a_joint():
    joint = pf.Joint([[3, 1], [1, 3]])
    with pytest.raises(InvalidPromise):
        pf.certify(np.eye(2), joint)
    with pytest.raises(InvalidPromise):
        pf.certify(np.eye(2), joint, "lip")
    with pytest.raises(InvalidPromise):
        pf.certify(np.eye(2), joint, 0.5)
    with pytest.raises(InvalidJoint):
        pf.certify(np.eye(2), [[3, 1], [1, 3]], pf.LIP(1.0))


def test_a_protocol_can_be_checked_for_another_promise_than_its_own():
    joint = pf.Joint([[30, 10, 5], [10, 50, 20]])
    protocol = pf.optimise(joint, pf.LIP(0.3))
    assert pf.certify(protocol, joint).notion == pf.LIP(0.3)
    assert not pf.certify(protocol, joint, pf.LIP(0.1)).holds
    assert pf.certify(protocol, joint, pf.LDP(0.6)).holds


@pytest.mark.parametrize("scale", [1, 2**20, 2**40, 2**58])
def test_large_counts_do_not_overflow(scale):
    """One of 64-bit integers' products wrapping round would turn a broken promise into a kept one, or back."""
    joint = pf.Joint(np.array([[3, 1, 2], [1, 4, 2]]) * scale)
    N = np.array([[UNIT, 0, UNIT // 2], [0, UNIT, UNIT // 2]])
    certificate = pf.certify(N / UNIT, joint, pf.LIP(0.5))
    assert certificate.worst.lift in {lift for row in oracle(joint, N).rows.values() for lift in row}
    assert certificate.level == pf.certify(N / UNIT, pf.Joint([[3, 1, 2], [1, 4, 2]]), pf.LIP(0.5)).level


def test_a_lift_too_large_for_float64_is_compared_all_the_same():
    """A cell may be as rare as 5e-324 where its row and its column are common."""
    joint = pf.Joint([[5e-324, 0.5], [0.25, 0.25]])
    Q = np.array([[1.0, 0.0], [0.0, 1.0]])
    certificate = pf.certify(Q, joint, pf.LDP(700))
    assert not certificate.holds
    assert certificate.level == pytest.approx(1072 * math.log(2))  # 2⁻¹⁰⁷³ against 1/2
    assert certificate.worst.lift > 10**308
    assert pf.certify(Q, joint, pf.LDP(750)).holds
    assert pf.certify(Q, joint, pf.PML(1.0)).holds
    assert pf.optimise(joint, pf.PML(1.0)).utility == pytest.approx(joint.entropy)


@given(st.data())
def test_only_our_own_errors_leave_certify(data):
    joint = data.draw(joints())
    rows = data.draw(st.lists(st.lists(st.one_of(st.floats(), st.integers(0, 1)), max_size=4), max_size=4))
    try:
        certificate = pf.certify(rows, joint, pf.LIP(1.0))
    except PrivacyFunnelError:
        return
    if certificate.holds:
        assert brute.keeps(pf.LIP(1.0), oracle(joint, in_units(np.array(rows, dtype=float))))


# --- owing the optimiser nothing -----------------------------------------------------------------------


def source(module):
    return Path(find_spec(module).origin).read_text(encoding="utf-8")


def imported(module, seen):
    """Every module of ours that `module` imports, directly or not, read from the source."""
    if module in seen:
        return seen
    seen.add(module)
    tree = ast.parse(source(module))
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports would hide from this test"
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            if name.startswith("privacyfunnel."):
                try:
                    found = find_spec(name)
                except ModuleNotFoundError:
                    found = None
                if found is not None:
                    imported(name, seen)
    return seen


def test_the_certifier_shares_no_code_with_the_optimiser():
    modules = imported("privacyfunnel.proof.certificate", set())
    assert "privacyfunnel.protocols.channel" in modules
    assert not {name for name in modules if name.startswith("privacyfunnel.optimiser")}
    # the test can see
    assert "privacyfunnel.numeric.lp" in imported("privacyfunnel.optimiser.optimise", set())


def test_the_certifier_asks_a_solver_for_multipliers_alone():
    """What these prove is in integers; tests/proof/test_multipliers.py has a solver that lies."""
    assert "highspy" in source("privacyfunnel.numeric.lp")  # the test can see
    modules = imported("privacyfunnel.proof.certificate", set())
    assert {name for name in modules if "highspy" in source(name)} == {"privacyfunnel.numeric.lp"}
    asks = {name for name in modules if "numeric.lp" in source(name)}
    assert asks == {"privacyfunnel.proof.multipliers"}


@given(st.data())
def test_numerators_of_the_strategy_are_channels(data):
    """The strategy must not vacuously produce refused channels."""
    N = data.draw(numerators(data.draw(st.integers(1, 5))))
    assert (N.sum(axis=0) == UNIT).all()
    joint = pf.Joint(np.ones((1, N.shape[1])))
    assert pf.certify(N / UNIT, joint, pf.LIP(1.0)).holds


def test_a_channel_whose_parts_do_not_fit_together_is_refused():
    one = np.array([UNIT])
    with pytest.raises(InvalidChannel, match="do not fit together"):
        Channel(1, np.array([0, 2]), np.array([0]), one)
    with pytest.raises(InvalidChannel, match="do not fit together"):
        Channel(1, np.array([0, 1]), np.array([0, 0]), one)


def test_a_matrix_that_would_not_fit_into_memory_is_refused():
    n = 2**17
    wide = Channel(n, np.arange(n + 1), np.arange(n), np.full(n, UNIT))
    with pytest.raises(InvalidChannel, match=f"a dense {n} × {n} matrix would not fit"):
        wide.dense()
