"""An account holds the same numbers as the definitions give, for single channels and for products."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from privacyfunnel.attacks import findings
from privacyfunnel.promises.limits import Limits
from privacyfunnel.protocols.readers import share_errors
from privacyfunnel.report import measured
from privacyfunnel.report.account import account
from strategies import epsilons, joints


def entropy(p):
    p = np.asarray(p)[np.asarray(p) > 0]
    return -(p * np.log2(p)).sum()


def people(seed=0):
    rng = np.random.default_rng(seed)
    return pf.Joint(rng.integers(1, 50, (3, 2, 3, 2)), attributes=["a", "b", "c"])


PROTOCOLS = {
    "one channel": lambda joint: pf.optimise(joint, pf.LIP(0.3)),
    "a faithful one": lambda joint: pf.optimise(joint, pf.LIP(0.3), objective="faithful"),
}


@pytest.mark.parametrize("make", PROTOCOLS.values(), ids=PROTOCOLS)
def test_what_became_of_a_column_is_what_counting_all_rows_gives(make):
    joint = people()
    protocol = make(joint)
    pairs = {name: {} for name in joint.attributes}  # P(original value, released value), the slow way
    for x in range(joint.n_x):
        here = dict(zip(joint.attributes, joint.values[x].tolist(), strict=True))
        block = protocol.block
        own = tuple(here[name] for name in block.attributes)
        (i,) = [i for i, values in enumerate(block.values.tolist()) if tuple(values) == own]
        for y, q in enumerate(block.channel.dense()[:, i]):
            there = dict(zip(block.attributes, block.values[block.labels[y]].tolist(), strict=True))
            for name in block.attributes:
                key = here[name], there[name]
                pairs[name][key] = pairs[name].get(key, 0.0) + q * joint.p_x[x]
    for attribute in account(protocol, joint).attributes:
        found, labels = pairs[attribute.name], range(len(attribute.labels))
        before = [sum(p for (a, _), p in found.items() if a == label) for label in labels]
        after = [sum(p for (_, b), p in found.items() if b == label) for label in labels]
        assert attribute.before == pytest.approx(before)
        assert attribute.after == pytest.approx(after)
        assert attribute.unchanged == pytest.approx(sum(p for (a, b), p in found.items() if a == b))
        assert attribute.entropy_bits == pytest.approx(entropy(before))
        kept = entropy(before) + entropy(after) - entropy(list(found.values()))
        assert attribute.kept_bits == pytest.approx(kept, abs=1e-9)


@pytest.mark.parametrize("make", PROTOCOLS.values(), ids=PROTOCOLS)
def test_beliefs_are_posteriors_of_the_secret_and_stay_within_the_promise(make):
    joint = people()
    protocol = make(joint)
    told = account(protocol, joint).measured
    Q = protocol.channel_on(joint)
    together = Q @ joint.p.T  # [y, s]
    for s, belief in enumerate(told.beliefs):
        assert belief.prior == pytest.approx(joint.p_s[s])
        assert np.sort(belief.posterior) == pytest.approx(np.sort(together[:, s] / together.sum(axis=1)))
        assert belief.lowest - 1e-9 <= belief.posterior.min()
        assert belief.posterior.max() <= belief.highest + 1e-9
    assert told.outputs.sum() == pytest.approx(1)


@pytest.mark.parametrize("make", PROTOCOLS.values(), ids=PROTOCOLS)
def test_attackers_who_know_columns_have_the_levels_of_the_definition(make):
    joint = people()
    protocol = make(joint)
    Q = protocol.channel_on(joint)
    told = account(protocol, joint).measured
    found = {attacker.known: attacker.level for attacker in told.attack.attackers}
    assert {(), ("a",), ("b",), ("c",)} <= set(found)
    for known in [(), ("a",), ("b",), ("c",)]:
        worst = max(level for some, level in found.items() if set(some) <= set(known))
        assert worst == pytest.approx(pf.SRLIP(1.0, known=known).level(joint, Q), abs=1e-7)
    assert told.repeated[0].level == pytest.approx(told.certificate.level, abs=1e-7)
    assert told.repeated[1].level >= told.repeated[0].level


def test_an_account_without_a_table_knows_only_what_the_protocol_says(tmp_path):
    joint = people()
    pf.optimise(joint, pf.LIP(0.3)).save(tmp_path / "protocol.json")
    protocol = pf.Protocol.load(tmp_path / "protocol.json")
    told = account(protocol)
    assert told.measured is None
    shares = {"cells_unchanged", "kept_share", "gap_share"}
    about = {"digest", "promise", "notion", "fitted", "objective", "countable", "likeness", "encoders", "at_least"}
    about |= {"everything_published", "emptied"}
    assert set(told.as_dict()) == about | shares
    assert (told.objective, told.countable, told.cells_unchanged) == ("information", False, None)
    for attribute in told.attributes:
        assert attribute.before is attribute.kept_bits is attribute.unchanged is None
        # The released distribution follows from the protocol's own marginal, which is coarse on purpose.
        block = protocol.block
        j, after = block.attributes.index(attribute.name), np.zeros(len(attribute.labels))
        for y, units in enumerate(block.marginal):
            after[block.codes[block.labels[y], j]] += units / 2**32
        assert attribute.after == pytest.approx(after, abs=1e-12)
        real = next(a for a in account(protocol, joint).attributes if a.name == attribute.name)
        assert attribute.after == pytest.approx(real.after, abs=0.02)


def test_a_faithful_release_has_the_shares_of_the_original_and_the_cells_that_it_says():
    joint = people()
    protocol = pf.optimise(joint, pf.LIP(0.3), objective="faithful", weights={"b": 2})
    told = account(protocol, joint)
    for attribute in told.attributes:
        assert attribute.after == pytest.approx(attribute.before, abs=1e-8)
        assert attribute.miscounted <= 1e-8
    assert told.countable
    assert told.cells_unchanged == pytest.approx(protocol.likeness.cells_unchanged)
    found = told.as_dict()
    assert found["objective"] == "faithful"
    assert found["likeness"]["weights"] == {"b": 2.0}
    assert found["gap_share"] == protocol.fidelity_bound - protocol.fidelity
    assert found["marginal_error"] == pf.certify(protocol, joint).marginal_error <= 2**-30
    errors = share_errors(protocol, joint)
    told_errors = found["typical_error"], found["worst_error"], found["worst_column"]
    assert told_errors == (errors.typical, errors.worst, errors.column)
    assert errors.worst > errors.typical > 0
    json.loads(told.as_json())


def test_of_an_informative_release_the_account_says_how_far_counting_is_off():
    joint = people()
    protocol = pf.optimise(joint, pf.LIP(0.3))
    told = account(protocol, joint)
    block = protocol.block
    released = np.bincount(block.labels, weights=protocol.channel @ joint.p_x, minlength=joint.n_x)
    for j, attribute in enumerate(told.attributes):
        off = [abs((released - joint.p_x)[joint.codes[:, j] == a].sum()) for a in range(len(attribute.labels))]
        assert attribute.miscounted == pytest.approx(max(off))
    assert max(attribute.miscounted for attribute in told.attributes) > 0.01
    assert not told.countable
    assert told.as_dict()["typical_error"] is told.as_dict()["marginal_error"] is None
    assert told.as_dict()["worst_error"] is told.as_dict()["worst_column"] is None


def test_rows_of_another_table_are_not_said_to_be_countable():
    protocol = pf.optimise(people(), pf.LIP(0.3), objective="faithful")
    assert account(protocol, people()).countable
    assert not account(protocol, people(seed=1)).countable


def test_without_a_table_a_faithful_protocol_tells_about_how_many_cells_stay(tmp_path):
    joint = pf.Joint(people().weights.reshape(3, 2, 3, 2) * 50, attributes=["a", "b", "c"])
    protocol = pf.optimise(joint, pf.LIP(0.3), objective="faithful")
    protocol.save(tmp_path / "protocol.json")
    told, real = account(pf.Protocol.load(tmp_path / "protocol.json")), account(protocol, joint)
    assert told.cells_unchanged <= real.cells_unchanged  # rounded down
    for attribute, known in zip(told.attributes, real.attributes, strict=True):
        assert attribute.before is attribute.miscounted is None
        assert attribute.unchanged == pytest.approx(known.unchanged, abs=0.02)
    assert account(protocol).as_json() == told.as_json()


@settings(max_examples=25)
@given(joints(min_s=2, min_x=2, max_x=5), epsilons(high=3.0), st.sampled_from([pf.LIP, pf.LDP, pf.PML]))
def test_no_belief_leaves_the_range_that_a_promise_allows(joint, epsilon, kind):
    protocol = pf.optimise(joint, kind(epsilon))
    told = account(protocol, joint).measured
    for belief in told.beliefs:
        assert belief.lowest - 1e-9 <= belief.posterior.min()
        assert belief.posterior.max() <= belief.highest + 1e-9


@pytest.mark.parametrize(
    ("limits", "prior", "expected"),
    [
        (Limits(lower=math.log(2), upper=math.log(2)), 0.1, (0.05, 0.2)),
        (Limits(lower=math.log(2), upper=math.log(2)), 0.8, (0.6, 0.9)),  # the other value's belief binds
        (Limits(upper=math.log(3)), 0.5, (0.0, 1.0)),
        (Limits(spread=math.log(4)), 0.5, (0.2, 0.8)),  # odds of 1 become 1/4 … 4
        (Limits(), 0.3, (0.0, 1.0)),
        (Limits(lower=0.1, upper=0.1), 1.0, (1.0, 1.0)),
    ],
)
def test_ranges_of_beliefs_known_by_hand(limits, prior, expected):
    assert limits.belief_range(prior) == pytest.approx(expected)


def test_a_broken_certificate_that_is_given_is_not_computed_again(monkeypatch):
    joint = people()
    protocol = pf.optimise(people(seed=1), pf.LIP(0.01))
    broken = pf.certify(protocol, joint)
    assert not broken
    for module in (findings, measured):
        monkeypatch.setattr(module, "certify", None)
    assert measured.measure(protocol, joint, broken).certificate is broken
    assert not findings.findings(protocol, joint, broken).holds
