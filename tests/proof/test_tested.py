"""The test on people who were set aside: who they are, what it says, and how often it errs."""

import hashlib
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

import privacyfunnel as pf
from privacyfunnel.errors import InvalidJoint, InvalidPromise
from privacyfunnel.proof import tested
from privacyfunnel.proof.certificate import limits_to_test
from privacyfunnel.proof.lifts import Entries
from privacyfunnel.proof.setting_aside import CHOOSING, SetAside
from privacyfunnel.protocols.channel import UNIT, Channel

ALARM = 1e-6
"""A simulation fails by chance this often."""
DOUBT = 0.05


def counts(seed=0, n=3_000, shape=(2, 3, 4)):
    rng = np.random.default_rng(seed)
    return rng.multinomial(n, rng.dirichlet(np.ones(math.prod(shape)))).reshape(shape)


def entries(Q):
    return Entries.of(Channel.from_dense(Q))


# --- who is set aside -----------------------------------------------------------------------------


def test_who_is_set_aside_stays_the_same():
    parts = SetAside.of(pf.Joint([[[30, 5], [7, 11]], [[3, 20], [0, 9]]]).completed)
    assert parts.choosing.tolist() == [[8, 1, 3, 3], [1, 9, 0, 4]]
    assert (parts.choosing + parts.testing).tolist() == [[30, 5, 7, 11], [3, 20, 0, 9]]
    halves = entries([[0.5, 1.0, 0.25, 0.0], [0.5, 0.0, 0.75, 1.0]])
    assert parts.drawn(halves).tolist() == [[15, 23], [13, 5]]


def test_words_are_those_of_the_streams_that_are_described():
    """Written out for one cell, from the description alone."""
    parts = SetAside.of(pf.Joint([[30, 5], [7, 11]]).completed)
    numbers = [2, 2, 0, 1, 30, 5, 7, 11]
    key = hashlib.sha256(
        b"privacyfunnel: people who are set aside, 1" + b"".join(number.to_bytes(8, "little") for number in numbers)
    ).digest()
    place = (1).to_bytes(8, "little") + (0).to_bytes(8, "little")
    stream = hashlib.shake_256(key + b"split" + place).digest(4 * 7)
    words = [int.from_bytes(stream[i : i + 4], "little") for i in range(0, 28, 4)]
    assert parts.choosing[1, 0] == sum(word < int(0.3 * 2**32) for word in words)


def test_neither_the_order_of_rows_nor_of_attributes_nor_names_of_outputs_matter():
    table = counts()
    joint, turned = pf.Joint(table, attributes=["a", "b"]), pf.Joint(table.swapaxes(1, 2), attributes=["b", "a"])
    one, other = SetAside.of(joint.completed), SetAside.of(turned.completed)
    assert (one.choosing.reshape(2, 3, 4) == other.choosing.reshape(2, 4, 3).swapaxes(1, 2)).all()
    Q = np.random.default_rng(1).integers(0, 2, 12)
    Q = np.stack([Q == 0, Q == 1]).astype(float) * 0.75 + 0.125
    across = Q.reshape(2, 3, 4).swapaxes(1, 2).reshape(2, 12)
    assert (one.drawn(entries(Q)) == other.drawn(entries(across))).all()
    assert (one.drawn(entries(Q))[:, ::-1] == one.drawn(entries(Q[::-1]))).all()


def test_rows_in_another_order_are_the_same_people():
    table = {"s": ["a", "b"] * 50, "x": [str(i % 7) for i in range(100)]}
    back = {name: column[::-1] for name, column in table.items()}
    pd = pytest.importorskip("pandas")
    one, other = (SetAside.of(pf.Joint.from_table(pd.DataFrame(rows), "s").completed) for rows in (table, back))
    assert (one.choosing == other.choosing).all()


def test_as_many_are_set_aside_and_draw_as_they_should():
    joint = pf.Joint([[400_000, 300_000], [500_000, 200_000]])
    parts = SetAside.of(joint)
    for n, chosen in zip(joint.weights.ravel(), parts.choosing.ravel(), strict=True):
        assert binomtest(int(chosen), int(n), CHOOSING).pvalue > ALARM
    drawn = parts.drawn(entries([[0.25, 1.0], [0.75, 0.0]]))
    expected = parts.testing[:, 0]
    for s in (0, 1):
        assert binomtest(int(drawn[s, 1]), int(expected[s]), 0.75).pvalue > ALARM


def test_one_person_more_makes_other_parts():
    parts = [SetAside.of(pf.Joint([[500 + more, 400], [300, 600]])) for more in (0, 1)]
    assert (parts[0].choosing[:, 1] != parts[1].choosing[:, 1]).any()


def test_probabilities_and_too_many_people_are_refused():
    with pytest.raises(InvalidJoint, match="needs counts of people"):
        SetAside.of(pf.Joint([[0.5, 0.1], [0.2, 0.2]]))
    with pytest.raises(InvalidJoint, match="too many"):
        SetAside.of(pf.Joint([[10**9, 5], [5, 5]]))


# --- tails ----------------------------------------------------------------------------------------


@given(st.integers(1, 60), st.integers(1, 60), st.data(), st.sampled_from([1.0, 1.3, 2.5]))
@settings(max_examples=60)
def test_a_tail_is_at_least_the_p_value_at_every_share(n, n_, data, rho):
    """Against sums over all counts, written out, on p = ρ p′; what is spent covers shares outside of the range."""
    k, k_ = data.draw(st.integers(0, n)), data.draw(st.integers(0, n_))
    spent = DOUBT * tested.FOR_SHARE
    low, high = binomtest(k_, n_).proportion_ci(1 - spent, "exact")
    shares = [share for share in np.linspace(low, high, 23) if rho * share <= 1]
    i, j = np.arange(n + 1), np.arange(n_ + 1)
    inside = i[:, None] / n - rho * j / n_ <= k / n - rho * k_ / n_ + 1e-12
    tails = [float((binom.pmf(i, n, rho * p)[:, None] * binom.pmf(j, n_, p) * inside).sum()) for p in shares]
    for cuts in tested.CUTS:
        found = tested._tail((k, n), (k_, n_), rho, spent, *cuts)
        assert found >= max(tails, default=0.0) + spent - 1e-9


def test_a_tail_is_nearly_that_of_one_binomial_if_all_others_are_known():
    """With very many people to compare with, it is a one-sided test of one share; these break ties."""
    spent = DOUBT * tested.FOR_SHARE
    for k in (30, 40, 45):
        found = tested._tail((k, 100), (5_000_000, 10_000_000), 1.0, spent, 400, 60)
        fewer, exact = (binomtest(count, 100, 0.5, alternative="less").pvalue for count in (k - 1, k))
        assert fewer <= found - spent <= exact * 1.05


def test_nobody_to_compare_with_says_nothing():
    assert tested._tail((0, 0), (5, 10), 1.0, 0.001, 8, 2) == 1.0
    assert tested._tail((5, 10), (0, 0), 1.0, 0.001, 8, 2) == 1.0


def test_a_factor_that_no_share_can_have_is_ruled_out():
    assert tested._tail((50, 100), (900, 1000), 2.0, 0.001, 8, 2) == 0.001


# --- the test itself ------------------------------------------------------------------------------


def at_the_limit(kind, factor, q, having):
    """P(s, y): the first of four outputs is exactly at a limit, the others inside; the second secret is looked at."""
    if kind == "spread":
        here = having * factor / (1 - having + having * factor)
    else:
        here = having * (factor if kind == "upper" else 1 / factor)
    share = np.array([here, *[(having - q * here) / (1 - q)] * 3])
    mass = np.array([q, *[(1 - q) / 3] * 3])
    return np.stack([mass * (1 - share), mass * share])


def passed(found, kind, factor):
    outputs = list(range(found.shape[1]))
    allowed = {kind: Fraction(factor)}
    return all(one.rejected(allowed[kind], DOUBT) for one in tested._statements(found, outputs, allowed, DOUBT))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["upper", "lower", "spread"])
@pytest.mark.parametrize(
    ("n", "samples"),
    [
        (40, 300),
        (300, 300),
        (3_000, 200),
        *[pytest.param(n, 2_000, marks=pytest.mark.long) for n in (300, 3_000, 30_000)],
    ],
)
def test_a_channel_exactly_at_a_limit_passes_at_most_as_often_as_stated(kind, n, samples):
    rng = np.random.default_rng(n)
    factor = math.exp(0.4)
    p = at_the_limit(kind, factor, 0.1, 0.3)
    found = rng.multinomial(n, p.ravel(), size=samples).reshape(-1, 2, 4)
    often = sum(passed(one, kind, factor) for one in found)
    assert binomtest(often, samples, DOUBT, alternative="greater").pvalue > ALARM


def test_the_test_is_not_passed_too_rarely():
    """At the limit it should pass nearly as often as it may, or too much is given away."""
    rng = np.random.default_rng(0)
    p = at_the_limit("upper", math.exp(0.4), 0.1, 0.3)
    found = rng.multinomial(30_000, p.ravel(), size=300).reshape(-1, 2, 4)
    assert sum(passed(one, "upper", math.exp(0.4)) for one in found) >= 4
    inside = at_the_limit("upper", math.exp(0.2), 0.1, 0.3)
    found = rng.multinomial(30_000, inside.ravel(), size=50).reshape(-1, 2, 4)
    assert all(passed(one, "upper", math.exp(0.4)) for one in found)


@pytest.mark.parametrize("notion", [pf.LIP(0.6), pf.PML(0.6), pf.LDP(0.9), pf.ALIP(0.5, 0.8)])
def test_verdict_and_level_agree_and_levels_fall_with_more_people(notion):
    over = pf.robust(notion, within="tested")
    levels = []
    for times in (1, 10):
        joint = pf.Joint(times * np.array([[300, 280], [200, 260]]))
        allowed, doubt = limits_to_test(over)
        found = tested.tightest(entries(np.eye(2)), joint, allowed, doubt)
        for kind, place in found.items():
            assert place.passes == (place.ratio is not None and place.ratio <= allowed[kind])
            assert tested.tightest(entries(np.eye(2)), joint, {kind: place.ratio}, doubt)[kind].passes
        levels.append([math.log(place.ratio) for place in found.values()])
    assert (np.array(levels[1]) < np.array(levels[0])).all()


def test_an_output_that_all_values_have_alike_tells_nothing():
    joint = pf.Joint([[30, 5], [7, 11]])
    found = tested.tightest(entries(np.full((2, 2), 0.5)), joint, {"upper": Fraction(11, 10)}, DOUBT)["upper"]
    assert (found.passes, found.ratio) == (True, 1)


def test_an_output_that_nobody_drew_does_not_pass():
    joint = pf.Joint([[[3000, 0], [2000, 0]], [[2000, 0], [2500, 0]]], attributes=["a", "b"]).completed
    Q = np.array([[1.0, 0, 1, 0], [0, 1, 0, 1]])  # the second for combinations that nobody has
    allowed = {"upper": Fraction(2)}
    assert not tested.passes(entries(Q), SetAside.of(joint), allowed, DOUBT)
    assert tested.tightest(entries(Q), joint, allowed, DOUBT)["upper"].ratio is None


def test_more_than_two_secrets_can_be_tested():
    joint = pf.Joint([[3000, 3100], [2000, 1900], [2500, 2500]])
    allowed = {"upper": Fraction(3, 2), "lower": Fraction(3, 2), "spread": Fraction(2)}
    assert tested.passes(entries(np.eye(2)), SetAside.of(joint), allowed, DOUBT)
    bad = pf.Joint([[3000, 3100], [2000, 1900], [2500, 500]])
    assert not tested.passes(entries(np.eye(2)), SetAside.of(bad), allowed, DOUBT)


def test_factors_beyond_all_floats_are_no_trouble():
    joint = pf.Joint([[300, 310], [200, 190]])
    assert tested.passes(entries(np.eye(2)), SetAside.of(joint), limits_to_test(pf.robust(pf.LIP(9e3)))[0], DOUBT)


# --- promises -------------------------------------------------------------------------------------


def own(notion=None):
    joint = pf.Joint(counts(3, 6_000))
    return joint, pf.optimise(joint, notion or pf.robust(pf.LIP(0.8), within="tested"))


def test_there_is_no_set():
    joint = pf.Joint(counts())
    over = pf.robust(pf.LIP(0.5), within="tested")
    with pytest.raises(InvalidPromise, match="has no set of distributions"):
        over.possible(joint)
    with pytest.raises(InvalidPromise, match="has no set of distributions"):
        pf.sharpness(joint, over)
    with pytest.raises(InvalidPromise, match="chains"):
        pf.robust(pf.LIP(0.5), within="tested", chains=[["X1"]])
    assert "a test of every output on people who were set aside" in over.words()


def test_a_protocol_chosen_with_the_same_people_is_not_tested():
    joint = pf.Joint(counts())
    plain, over = pf.optimise(joint, pf.LIP(0.1)), pf.robust(pf.LIP(0.5), within="tested")
    for refused in (
        lambda: pf.certify(plain, joint, over),
        lambda: pf.certify(plain.channel, joint, over),
        lambda: pf.level_over(joint, plain, 0.95, within="tested"),
        lambda: pf.population_findings(plain, joint, 0.95, within="tested"),
    ):
        with pytest.raises(InvalidPromise, match="chosen with the same people"):
            refused()
    joint, protocol = own()
    for other in (pf.robust(pf.LIP(0.9), within="tested"), pf.robust(pf.LIP(0.8), 0.9, within="tested")):
        with pytest.raises(InvalidPromise, match="chosen with the same people"):
            pf.certify(protocol, joint, other)


def test_a_protocol_passes_its_own_test_and_says_so():
    joint, protocol = own()
    certificate = pf.certify(protocol, joint)
    assert certificate.holds
    assert certificate.draws is None
    assert pf.certify(protocol, joint, pf.robust(pf.LIP(0.8), within="tested")).holds
    found = pf.level_over(joint, protocol)
    assert found.sample_level < found.level == certificate.level <= 0.8
    assert found.values.size == 0
    findings = pf.population_findings(protocol, joint)
    assert findings.holds
    assert findings.set_aside == SetAside.of(joint.completed).testing.sum()
    assert f"{findings.set_aside:,} people were set aside to test it" in findings.words()
    # a set holds for whatever was chosen, so it may be asked
    assert pf.level_over(joint, protocol, within="nested").level >= found.sample_level


def test_a_saved_protocol_is_audited_and_another_channel_fails(tmp_path):
    joint, protocol = own()
    protocol.save(tmp_path / "protocol.json")
    loaded = pf.Protocol.load(tmp_path / "protocol.json")
    assert pf.certify(loaded, joint).level == pf.certify(protocol, joint).level
    identity = Channel.from_dense(np.eye(joint.combinations))
    marginal = np.array([UNIT - joint.combinations + 1] + [1] * (joint.combinations - 1))
    block = replace(loaded.blocks[0], channel=identity, labels=np.arange(joint.combinations), marginal=marginal)
    replace(loaded, blocks=(block,)).save(tmp_path / "other.json")
    assert not pf.certify(pf.Protocol.load(tmp_path / "other.json"), joint).holds
    drawn = replace(loaded.blocks[0], draw=loaded.blocks[0].marginal)
    assert pf.certify(replace(loaded, blocks=(drawn,)), joint).draws is False
    assert not pf.certify(replace(loaded, blocks=(loaded.blocks[0],) * 2), joint).holds
