"""What a protocol tells by itself: exact fits name people, and protocols that know nothing of the secrets do not."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import privacyfunnel as pf
from privacyfunnel.attacks.both_secrets import Trial
from privacyfunnel.attacks.from_protocol import MOST_TESTED, from_protocol
from privacyfunnel.attacks.outcomes import Outcomes
from privacyfunnel.cli.app import run
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.protocol import Protocol
from strategies import notions

BOTH = "testing both secrets"
CLOSE = 1e-9
"""Between a level in float64 and the exact one, which is rounded up."""


def thin_table(seed, c=2, common=30, rare=150, pairs=40):
    """Counts by secret and value: some that many people have, and many that one person has, or a few."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(c, 2.0), common)
    many = np.stack([rng.multinomial(rng.integers(40, 400), share) for share in shares]).T
    alone = np.eye(c, dtype=int)[:, rng.integers(0, c, rare)]
    few = [rng.multinomial(rng.integers(2, 6), share) for share in rng.dirichlet(np.ones(c), pairs)]
    return np.concatenate([many, alone, np.reshape(few, (pairs, c)).T.astype(int)], axis=1)


def by_name(found, group="alone"):
    return {each.attack: each for each in found if each.group == group}


def by_luck(each):
    """The chance that somebody who guesses names so many right."""
    return binom.sf(each.right - 1, each.people, each.guessing / each.people)


def shuffled(weights, seed):
    """The same people with the secrets dealt out anew: values keep their people, secrets their frequency."""
    rng = np.random.default_rng(seed)
    left, dealt = weights.sum(axis=1), []
    for people in weights.sum(axis=0):
        dealt.append(rng.multivariate_hypergeometric(left, people))
        left = left - dealt[-1]
    return np.stack(dealt, axis=1)


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_an_exact_fit_tells_the_secret_of_everybody_who_is_alone(seed, epsilon):
    joint = pf.Joint(thin_table(seed))
    found = by_name(from_protocol(pf.optimise(joint, pf.LIP(epsilon)), joint))
    assert set(found) == {BOTH}
    assert (found[BOTH].right, found[BOTH].people) == (150, 150)
    assert found[BOTH].guessing < 100


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_a_faithful_exact_fit_tells_as_much(epsilon):
    joint = pf.Joint(thin_table(3))
    found = by_name(from_protocol(pf.optimise(joint, pf.LIP(epsilon), objective="faithful"), joint))
    assert found[BOTH].right == 150


@pytest.mark.parametrize("epsilon", [0.1, 0.5])
def test_whoever_knows_all_others_finds_the_secret_of_those_who_share_their_values_too(epsilon):
    joint = pf.Joint(thin_table(4))
    found = by_name(from_protocol(pf.optimise(joint, pf.LIP(epsilon)), joint), "2 to 5")
    assert found[BOTH].right == found[BOTH].people


@pytest.mark.parametrize("notion", [pf.LDP(0.4), pf.ALIP(0.2, 0.5), pf.PML(0.3)], ids=lambda notion: notion.name)
def test_other_promises_tell_as_much(notion):
    joint = pf.Joint(thin_table(5, rare=40, pairs=5))
    found = by_name(from_protocol(pf.optimise(joint, notion), joint))
    assert found[BOTH].right == 40


@pytest.mark.long
@pytest.mark.parametrize("within", ["nested", "intervals"])
def test_a_confidence_is_no_cure_for_those_whose_neighbours_are_all_known(within):
    joint = pf.Joint(thin_table(5, common=6, rare=10, pairs=0))
    found = by_name(from_protocol(pf.optimise(joint, pf.robust(pf.LIP(0.5), within=within), time_limit=3), joint))
    assert found[BOTH].right == found[BOTH].people == 10


def test_of_more_than_two_secrets_all_are_tried():
    joint = pf.Joint(thin_table(6, c=3, common=10, rare=40, pairs=5))
    found = by_name(from_protocol(pf.optimise(joint, pf.LIP(0.3), time_limit=5), joint))
    assert found[BOTH].right == 40


@pytest.mark.long
@pytest.mark.parametrize("objective", ["information", "faithful"])
@pytest.mark.parametrize("seed", range(3))
def test_a_protocol_made_for_other_secrets_is_no_better_than_guessing(seed, objective):
    """People with the same values, whose secrets have nothing to do with the fitted ones."""
    weights = thin_table(seed)
    protocol = pf.optimise(pf.Joint(shuffled(weights, seed)), pf.LIP(0.3), objective=objective)
    joint = pf.Joint(weights)
    found = from_protocol(protocol, joint)
    assert len(found) == 2
    assert min(by_luck(each) for each in found if each.group == "alone") > 1e-3


def test_randomised_response_tells_nothing_by_itself():
    joint = pf.Joint(thin_table(8))
    lie = 2**32 // (2 * joint.n_x)
    N = np.full((joint.n_x, joint.n_x), lie) + np.eye(joint.n_x, dtype=int) * (2**32 - lie * joint.n_x)
    block = block_of(joint, Channel.from_numerators(N))
    protocol = Protocol(pf.LIP(0.5), block, 0.0, 0.0, 0.0, "by hand", "S")
    found = from_protocol(protocol, joint)
    assert min(by_luck(each) for each in found if each.group == "alone") > 1e-3


@given(st.integers(0, 10**6), notions(), st.integers(2, 3))
def test_the_level_with_another_secret_is_that_of_the_certificate(seed, notion, c):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, (c, 3, 2))
    weights[:, 0, 0] += 1
    joint = pf.Joint(weights, attributes=["u", "v"])
    N = rng.multinomial(2**32, rng.dirichlet(np.ones(3)), joint.n_x).T
    protocol = Protocol(notion, block_of(joint, Channel.from_numerators(N)), 0.0, 0.0, 0.0, "by hand", "S")
    trial = Trial.of(protocol, joint, Outcomes.of(protocol, joint))
    for s, x in np.argwhere(joint.weights > 0):
        for other in range(c):
            changed = joint.weights.copy()
            changed[s, x] -= 1
            changed[other, x] += 1
            if not changed.any(axis=1).all():
                continue  # a secret that nobody has is no secret of a table
            table = pf.Joint.from_codes(changed, joint.codes, joint.columns, "S", None)
            exact = pf.certify(protocol, table).level
            assert trial.level(int(x), int(s), other) == pytest.approx(exact, rel=CLOSE, abs=CLOSE)


def test_values_that_nobody_has_any_more_are_attacked_as_well():
    weights = thin_table(10, common=8, rare=10, pairs=6).reshape(2, 8, 3)
    joint = pf.Joint(weights, attributes=["u", "v"])
    protocol = pf.optimise(joint, pf.LIP(0.5))
    fewer = weights.copy()
    fewer[:, 0, 0] = 0
    assert by_name(from_protocol(protocol, pf.Joint(fewer, attributes=["u", "v"])))[BOTH].people >= 9


def test_probabilities_are_nobodys_and_common_values_nobodys_alone():
    joint = pf.Joint([[0.3, 0.2], [0.1, 0.4]])
    assert from_protocol(pf.optimise(joint, pf.LIP(0.5)), joint) == ()
    joint = pf.Joint([[30, 20], [10, 40]])
    assert from_protocol(pf.optimise(joint, pf.LIP(0.5)), joint) == ()


def test_huge_counts_beside_somebody_alone_are_no_trouble():
    joint = pf.Joint(np.array([[2**59, 2**58, 1], [2**58, 2**59, 0]]))
    found = by_name(from_protocol(pf.optimise(joint, pf.LIP(0.5)), joint))
    assert set(found) == {BOTH}


def test_attack_tells_it_beside_what_rows_tell_unless_told_not_to():
    joint = pf.Joint(thin_table(0))
    protocol = pf.optimise(joint, pf.LIP(0.5))
    found = pf.attack(joint, protocol)
    assert found.named == from_protocol(protocol, joint)
    shown = json.loads(json.dumps(found.as_dict()))["named"]
    assert shown[0] == {"attack": BOTH, "group": "alone", "people": 150, "right": 150, "guessing": 76}
    assert pf.attack(joint, protocol, protocol_alone=False).named == ()


@pytest.mark.long
def test_audit_shows_who_is_named(tmp_path, capsys):
    rng = np.random.default_rng(1)
    lines = [f"{rng.integers(2)},t{t}" for t in range(6) for _ in range(60)]
    lines += [f"{rng.integers(2)},rare{i}" for i in range(20)]
    (tmp_path / "people.csv").write_text("\n".join(["ill,town", *lines]), encoding="utf-8")
    protocol = pf.optimise(pf.Joint.from_table(tmp_path / "people.csv", "ill", ["town"]), pf.LIP(0.2))
    protocol.save(tmp_path / "p.json")
    arguments = ["audit", str(tmp_path / "p.json"), "--table", str(tmp_path / "people.csv"), "--attack"]
    assert run(arguments) == 0
    shown = capsys.readouterr().out
    assert "From the protocol file alone" in shown
    assert "20 (100%)" in shown
    assert run([*arguments, "--json"]) == 0
    named = json.loads(capsys.readouterr().out)["steward_only"]["attack"]["named"]
    assert {each["attack"] for each in named} == {BOTH}


REAL = {
    "adult": ("income", ["education", "occupation", "sex"], 45),
    "adult, four columns": ("income", ["sex", "race", "marital_status", "education"], 137),
    "compas": ("two_year_recid", ["age_cat", "sex", "race", "c_charge_degree", "score_text"], None),
}


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [0.5])
@pytest.mark.parametrize("name", REAL)
def test_exact_fits_of_real_tables_tell_the_secret_of_everybody_who_is_alone(name, epsilon, shared):
    secret, attributes, alone = REAL[name]
    file = shared / "data" / f"{name.partition(',')[0]}.csv.gz"
    if not file.exists():
        pytest.skip(f"{file.name} is not among the shared data")
    joint = pf.Joint.from_table(file, secret, attributes)
    found = by_name(from_protocol(pf.optimise(joint, pf.LIP(epsilon)), joint))
    assert found[BOTH].right == found[BOTH].people
    assert alone in (None, found[BOTH].people)
    faithful = from_protocol(pf.optimise(joint, pf.LIP(epsilon), objective="faithful"), joint)
    assert all(each.right == each.people for each in faithful if each.attack == BOTH)


@pytest.mark.long
def test_of_many_people_some_are_tested():
    weights = np.concatenate([[[400, 100], [100, 400]], np.eye(2, dtype=int)[:, np.arange(MOST_TESTED + 50) % 2]], 1)
    joint = pf.Joint(weights)
    found = by_name(from_protocol(pf.optimise(joint, pf.LIP(0.5)), joint))
    assert found[BOTH].people == found[BOTH].right == MOST_TESTED
