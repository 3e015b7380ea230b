"""The Bayes attacker against brute force in fractions, the promise it cannot break, and models that cannot beat it."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from privacyfunnel.attacks.learned import draw
from privacyfunnel.errors import InvalidInput, InvalidJoint, InvalidPromise
from privacyfunnel.proof.exponentials import e_to
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.protocol import Protocol
from strategies import joints, joints_with_channels, notions, numerators

NOISE = 4.5
"""Standard errors: a fair comparison exceeds this less than once in 100,000 times."""


def with_channel(joint, N, notion=None):
    """A protocol with the channel N[y, x] / 2³²; outputs beyond the number of values become one."""
    N = np.concatenate([N[: joint.n_x - 1], N[joint.n_x - 1 :].sum(axis=0, keepdims=True)])
    N = N[N.any(axis=1)]
    block = block_of(joint, Channel.from_numerators(N))
    return Protocol(notion or pf.LIP(50), block, 0.0, 0.0, 0.0, "by hand", "S")


def dense(protocol, joint):
    """P(y|x) as fractions: a list over outputs of lists over the values of `joint`."""
    places = {values: x for x, values in enumerate(map(tuple, protocol.block.values.tolist()))}
    columns = [places[tuple(values)] for values in joint.values.tolist()]
    return [[Fraction(row[x]) for x in columns] for row in protocol.channel]


def brute(joint, Q, known=()):
    """Every lift, the accuracy and I(S;Y|known), from the definitions; Q a list of rows of fractions."""
    total = joint.total
    cells = {}
    for x, codes in enumerate(joint.codes.tolist()):
        cells.setdefault(tuple(codes[j] for j in known), []).append(x)
    lifts, rows, accuracy, information = [], [], Fraction(0), 0.0
    for members in cells.values():
        prior = [sum(Fraction(int(joint.weights[s, x]), total) for x in members) for s in range(joint.n_s)]
        for row in Q:
            told = [sum(Fraction(int(joint.weights[s, x]), total) * row[x] for x in members) for s in range(joint.n_s)]
            if not sum(told):
                continue
            accuracy += max(told)
            here = [(t / sum(told)) / (p / sum(prior)) for t, p in zip(told, prior, strict=True) if p]
            lifts += here
            rows.append(here)
            information += sum(
                float(t) * math.log2(float((t / sum(told)) / (p / sum(prior))))
                for t, p in zip(told, prior, strict=True)
                if t
            )
    return lifts, rows, accuracy, information


# --- the Bayes attacker --------------------------------------------------------------------------------


@given(joints_with_channels())
def test_beliefs_accuracy_and_information_are_those_of_the_definition(pair):
    joint, N = pair
    protocol = with_channel(joint, N)
    found = pf.attack(joint, protocol).blind
    lifts, rows, accuracy, information = brute(joint, dense(protocol, joint))
    assert (found.rise, found.fall, found.after) == (max(lifts), min(lifts), accuracy)
    assert found.after_bits == pytest.approx(information, abs=1e-9)
    assert found.before == max(Fraction(int(n), joint.total) for n in joint.weights.sum(axis=1))
    assert found.belief[1] / found.belief[0] == found.rise
    if min(lifts) == 0:
        assert found.odds is None
    else:
        assert found.odds == max(max(row) / min(row) for row in rows)


@settings(max_examples=15)
@given(st.data())
def test_side_channels_are_those_of_the_definition(data):
    counts = data.draw(st.lists(st.integers(0, 9), min_size=12, max_size=12))
    array = np.array(counts).reshape(2, 3, 2)
    assume((array.sum(axis=(1, 2)) > 0).all())
    joint = pf.Joint(array)
    protocol = with_channel(joint, data.draw(numerators(joint.n_x, max_y=3)))
    for attacker in pf.attack(joint, protocol, known=2).attackers:
        known = [joint.attributes.index(name) for name in attacker.known]
        lifts, _, accuracy, information = brute(joint, dense(protocol, joint), known)
        assert (attacker.rise, attacker.fall, attacker.after) == (max(lifts), min(lifts), accuracy)
        assert attacker.after_bits == pytest.approx(information, abs=1e-9)


@given(joints(min_s=2), notions())
def test_no_belief_of_the_bayes_attacker_leaves_what_an_optimal_protocol_promises(joint, notion):
    protocol = pf.optimise(joint, notion, time_limit=2)
    found = pf.attack(joint, protocol)
    lifts, rows, _, _ = brute(joint, dense(protocol, joint))
    limits = notion.limits.granted()
    assert found.within
    assert found.level <= max(notion.epsilon, 1e-8)
    if math.isfinite(limits.upper):
        assert max(lifts) <= e_to(limits.upper)
    if math.isfinite(limits.lower):
        assert min(lifts) * e_to(limits.lower) >= 1
    if math.isfinite(limits.spread):
        assert all(max(row) <= min(row) * e_to(limits.spread) for row in rows)


def test_a_belief_that_moves_too_far_is_noticed():
    joint = pf.Joint([[30, 10], [10, 50]])
    loud = np.array([[UNIT, 0], [0, UNIT]])
    found = pf.attack(joint, with_channel(joint, loud, pf.LIP(0.5)))
    assert not found.within
    assert found.blind.rise == Fraction(30, 40) / Fraction(40, 100)
    assert found.level == pytest.approx(math.log(Fraction(40, 100) / Fraction(10, 60)))
    assert found.blind.after == found.blind.original == Fraction(80, 100)
    assert found.blind.after_bits == pytest.approx(found.blind.original_bits)
    assert found.blind.belief == (Fraction(40, 100), Fraction(30, 40))


def test_side_channels_are_tried_even_if_the_promise_is_silent_about_them():
    """S = X¹ xor X²: each attribute alone says nothing, both say all."""
    joint = pf.Joint([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], attributes=["a", "b"])
    only_a = np.kron(np.eye(2, dtype=np.int64), np.ones((1, 2), dtype=np.int64)) * UNIT
    found = pf.attack(joint, with_channel(joint, only_a, pf.LIP(0.1)))
    assert [attacker.known for attacker in found.attackers] == [(), ("a",), ("b",)]
    nothing, a, b = found.attackers
    assert (nothing.after, a.after, b.after) == (Fraction(1, 2), Fraction(1, 2), 1)
    assert nothing.promised
    assert found.within
    assert not b.promised
    assert not b.within
    guarded = pf.attack(joint, with_channel(joint, only_a, pf.SRLIP(0.1)))
    assert not guarded.within
    assert guarded.level == math.inf


@given(joints_with_channels(min_s=2))
def test_attack_and_certificate_agree(pair):
    joint, N = pair
    for notion in (pf.LIP(0.5), pf.LDP(1.0), pf.PML(0.3), pf.SRLIP(0.5)):
        protocol = with_channel(joint, N, notion)
        certificate = pf.certify(protocol, joint)
        found = pf.attack(joint, protocol)
        assert (found.within, found.level) == (certificate.holds, certificate.level)


def test_a_table_is_attacked_as_its_distribution_is(tmp_path):
    rng = np.random.default_rng(0)
    town = rng.integers(0, 3, 600)
    sick = rng.random(600) < 0.2 + 0.2 * town
    lines = [f"{t},{s}\n" for t, s in zip(town, sick, strict=True)]
    (tmp_path / "people.csv").write_text("town,sick\n" + "".join(lines))
    joint = pf.Joint.from_table(tmp_path / "people.csv", "sick", ["town"])
    protocol = pf.optimise(joint, pf.LIP(0.2))
    assert pf.attack(tmp_path / "people.csv", protocol) == pf.attack(joint, protocol)
    assert pf.repeated(tmp_path / "people.csv", protocol, [2]) == pf.repeated(joint, protocol, [2])


def test_the_answer_is_plain_data():
    joint = pf.Joint(np.arange(1, 13).reshape(2, 3, 2))
    found = pf.attack(joint, pf.optimise(joint, pf.LIP(0.2))).as_dict()
    again = json.loads(json.dumps(found))
    assert again["attackers"][0]["best_guess_after"] <= again["attackers"][0]["best_guess_original"]
    assert again["learned"] is None


def test_what_cannot_be_attacked_is_refused_in_a_line():
    joint = pf.Joint([[3, 1], [1, 5]], attributes=["town"])
    protocol = pf.optimise(joint, pf.LIP(0.2))
    with pytest.raises(InvalidJoint, match="'age' is only in one"):
        pf.attack(pf.Joint([[3, 1], [1, 5]], attributes=["age"]), protocol)
    with pytest.raises(InvalidJoint, match="1 of 3 values of X were not there"):
        pf.attack(pf.Joint([[3, 1, 1], [1, 5, 1]], attributes=["town"]), protocol)
    with pytest.raises(InvalidPromise, match="'age', which is none"):
        pf.attack(joint, protocol, known=["age"])
    with pytest.raises(InvalidInput, match="needs a Protocol"):
        pf.attack(joint, "protocol.json")


# --- repeated release ----------------------------------------------------------------------------------


@settings(max_examples=15)
@given(joints_with_channels(max_x=4), st.sampled_from([2, 3]))
def test_k_releases_are_those_of_the_definition(pair, k):
    joint, N = pair
    protocol = with_channel(joint, N)
    Q = dense(protocol, joint)
    together = [[math.prod(q) for q in zip(*rows, strict=True)] for rows in itertools.product(Q, repeat=k)]
    lifts, _, accuracy, _ = brute(joint, together)
    (found,) = pf.repeated(joint, protocol, [k])
    assert found.best_guess == accuracy
    largest = max(max(lifts), 1 / min(lifts)) if min(lifts) else math.inf
    assert found.level == (pytest.approx(math.log(largest), abs=1e-12) if min(lifts) else math.inf)


@settings(max_examples=15)
@given(joints_with_channels(max_x=4))
def test_more_releases_never_tell_less_and_never_more_than_the_limit(pair):
    joint, N = pair
    found = pf.repeated(joint, with_channel(joint, N), [1, 2, 3, math.inf])
    levels = [each.level for each in found]
    guesses = [each.best_guess for each in found]
    assert all(a <= b + 1e-12 for a, b in itertools.pairwise(levels))
    assert guesses == sorted(guesses)


def test_the_limit_of_ever_more_releases_is_approached():
    joint = pf.Joint([[30, 10], [10, 50]])
    protocol = with_channel(joint, np.array([[3, 1], [1, 3]]) * (UNIT // 4))
    some, many, limit = pf.repeated(joint, protocol, [5, 60, math.inf])
    assert limit.level == pytest.approx(math.log(2.4))
    assert many.level == pytest.approx(limit.level, abs=1e-6)
    assert some.level < limit.level - 1e-6


def test_two_releases_can_reveal_a_secret_that_one_keeps_perfectly():
    """Each output covers two values, one of either secret; the two outputs of a value single it out."""
    joint = pf.Joint([[1, 0, 1, 0], [0, 1, 0, 1]])
    half = UNIT // 2
    N = np.array([[half, half, 0, 0], [0, half, half, 0], [0, 0, half, half], [half, 0, 0, half]])
    once, twice = pf.repeated(joint, with_channel(joint, N), [1, 2])
    assert (once.level, twice.level) == (0.0, math.inf)


def test_too_many_releases_are_refused_in_a_line():
    joint = pf.Joint(np.ones((2, 30), dtype=int))
    N = np.full((30, 30), UNIT // 32)
    N[0] += UNIT - N.sum(axis=0)
    with pytest.raises(InvalidInput, match="outcomes are too many"):
        pf.repeated(joint, with_channel(joint, N), [9])
    with pytest.raises(InvalidInput, match="whole numbers from 1 on"):
        pf.repeated(joint, with_channel(joint, N), [1.5])


# --- learned attackers ---------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_learned_attacker_never_beats_the_bayes_attacker_beyond_noise(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 400, (3, 4, 5)) * (rng.random((3, 4, 5)) < 0.7)
    joint = pf.Joint(counts)
    protocol = pf.optimise(joint, pf.LIP(0.4))
    found = pf.attack(joint, protocol, learned=True, seed=seed)
    learned, blind = found.learned, found.blind
    pairs = ((learned.nothing, blind.before), (learned.released, blind.after), (learned.original, blind.original))
    for score, best in pairs:
        assert score.accuracy <= float(best) + NOISE * score.accuracy_error
    entropy = -sum(p * math.log(p) for p in joint.p_s)
    left = entropy - blind.after_bits * math.log(2)
    spread = NOISE * 2 / math.sqrt(learned.rows)
    assert learned.released.log_loss >= left - spread
    assert learned.original.log_loss < learned.released.log_loss < learned.nothing.log_loss + spread


def test_a_learned_attacker_finds_what_there_is_to_find():
    """The check above can fail: from the original rows the models come close to Bayes, far beyond noise from blind."""
    joint = pf.Joint(np.array([[900, 100, 500], [100, 900, 500]]))
    found = pf.attack(joint, pf.optimise(joint, pf.LIP(0.1)), learned=True, seed=1)
    learned = found.learned
    assert learned.original.accuracy > learned.nothing.accuracy + 10 * learned.original.accuracy_error
    assert learned.original.accuracy >= float(found.blind.original) - NOISE * learned.original.accuracy_error


def test_a_learned_attacker_needs_more_than_one_row_of_every_secret():
    joint = pf.Joint([[1, 0], [30, 40]])
    with pytest.raises(InvalidInput, match="at least twice"):
        pf.attack(joint, pf.optimise(joint, pf.LIP(0.4)), learned=True)


def test_draws_for_simulations_follow_the_channel():
    N = np.array([[UNIT // 2, UNIT // 8, 0], [UNIT // 2, UNIT // 8, 0], [0, UNIT * 3 // 4, UNIT]])
    block = block_of(pf.Joint([[1, 1, 1]]), Channel.from_numerators(N))
    x = np.repeat(np.arange(3), 40_000)
    y = draw(block, x, np.random.default_rng(5))
    counts = np.zeros((3, 3))
    np.add.at(counts, (y, x), 1)
    Q = block.channel.dense()
    assert (counts[Q == 0] == 0).all()
    assert np.abs(counts / 40_000 - Q).max() < NOISE * math.sqrt(0.25 / 40_000)


def test_a_second_release_can_tell_what_one_may_not():
    """The example in docs/theory.md: X, S ≠ X and Y ≠ X, each uniform. Two different outputs tell X."""
    others = np.ones((3, 3), dtype=np.int64) - np.eye(3, dtype=np.int64)
    joint = pf.Joint(others)
    once, twice = pf.repeated(joint, with_channel(joint, UNIT // 2 * others), [1, 2])
    assert once.level == pytest.approx(math.log(3 / 2), abs=1e-12)
    assert twice.level == math.inf
