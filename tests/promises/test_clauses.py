"""Promises of several clauses: levels for values, beliefs, several secrets, borders."""

from __future__ import annotations

import importlib.util
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from tests import brute, clauses

import privacyfunnel as pf
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.promises.notions import notion_from

UNIT = 2**32
ORACLE = 2e-8
GAP = 1e-6
KINDS = ("by value", "rise by value", "belief", "several", "odds of several", "borders", "borders and values")
QUICK, MANY = 6, 500
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)

needs_ppl = pytest.mark.skipif(importlib.util.find_spec("ppl") is None, reason="pplpy enumerates vertices exactly")


def counts(rng, *shape):
    """Small counts with zeros, in which every value of every secret occurs."""
    array = rng.integers(0, rng.choice([3, 20, 1000]) + 1, size=shape)
    array[rng.random(shape) < 0.15] = 0
    for axis in range(len(shape)):
        other = tuple(a for a in range(len(shape)) if a != axis)
        for k in np.flatnonzero(array.sum(axis=other) == 0):
            at = [0] * len(shape)
            at[axis] = int(k)
            array[tuple(at)] = 1
    return array


def case(kind, seed):
    """A small joint and a promise of a kind."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    e, f = (float(rng.choice(EPSILONS)) for _ in range(2))
    n_x = int(rng.integers(2, 6))
    if kind in ("several", "odds of several"):
        joint = pf.Joint(counts(rng, 2, int(rng.integers(2, 4)), n_x), secret=["a", "b"])
        return joint, pf.Promises(a=pf.LIP(e), b=(pf.LIP if kind == "several" else pf.LDP)(f))
    n_s = int(rng.integers(2, 5))
    joint = pf.Joint(counts(rng, n_s, n_x))
    match kind:
        case "by value":
            return joint, pf.LIP({s: float(rng.choice(EPSILONS)) for s in range(n_s)})
        case "rise by value":
            return joint, pf.PML({s: float(rng.choice(EPSILONS)) for s in range(n_s)})
        case "belief":
            some = rng.choice(n_s, size=int(rng.integers(1, n_s)), replace=False).tolist()
            room = {s: float(joint.p_s[s]) + (1 - float(joint.p_s[s])) * float(rng.uniform(0.05, 0.9)) for s in some}
            return joint, pf.Belief({s: round(most, 6) for s, most in room.items() if most < 0.999999} or {0: 0.999999})
        case "borders":
            return joint, pf.Ordered((pf.LIP if seed % 2 else pf.LDP)(e))
    return joint, pf.Ordered(pf.LIP(min(e, f)), pf.LIP(max(e, f)))


def of_texts(joint):
    """The same with texts for values of X, of which none are near to each other."""
    values, parts = joint.secret_values, joint.secret_parts
    joint = pf.Joint.from_support(joint.weights, [chr(97 + x) for x in range(joint.n_x)], secret_values=values)
    joint.secret_parts = parts
    return joint


def check_against_brute_force(kind, seed):
    """Utility, bound and level against all vertices in rationals."""
    joint, promise = case(kind, seed)
    said = clauses.statements(promise, joint)
    protocol = pf.optimise(joint, promise)
    assert clauses.optimum(joint.weights, said) - ORACLE <= protocol.upper_bound
    assert protocol.utility <= clauses.optimum(joint.weights, said, above=True) + ORACLE
    assert protocol.gap <= 3 * GAP
    numerators = np.rint(protocol.channel * UNIT).astype(object)
    assert clauses.keeps(said, joint, numerators)
    certificate = pf.certify(protocol, joint)
    assert certificate.holds
    assert certificate.level <= promise.epsilon
    expected = clauses.levels(said, joint, numerators)
    found = {one.subject: one for one in certificate.levels}
    for subject, level in expected.items():
        assert found[subject].level == pytest.approx(level, abs=1e-9)
        assert found[subject].level >= level - 1e-12
    share = max(one.level / one.promised for one in found.values())
    assert certificate.level == pytest.approx(promise.epsilon * share, rel=1e-9)
    assert promise.level(joint, protocol.channel) == pytest.approx(certificate.level, rel=1e-6, abs=1e-9)


@needs_ppl
@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_the_bound_and_the_level_are_those_of_all_vertices(kind):
    for seed in range(QUICK):
        check_against_brute_force(kind, seed)


@needs_ppl
@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_hundreds_of_optima_are_those_of_all_vertices(kind):
    for seed in range(QUICK, QUICK + MANY):
        check_against_brute_force(kind, seed)


def test_what_follows_from_the_parts_of_an_event_is_not_searched_with():
    """P(1 or 2|y) ≤ e^ε P(1 or 2) follows from the same of 1 and of 2, and meets them in a point: gaps stayed open."""
    joint, promise = case("borders and values", 434)
    assert promise == pf.Ordered(pf.LIP(0.05), pf.LIP(0.05))
    assert pf.optimise(joint, promise).gap <= 3 * GAP
    assert len(promise.rows(joint)) == len(pf.LIP(0.05).rows(joint))
    assert len(promise.clauses(joint)) == joint.n_s  # all are proven: a clause for each border, and one for values
    rng = np.random.default_rng(10)
    for _ in range(12):
        joint = pf.Joint(counts(rng, 5, 5))
        for kind in (pf.LIP, pf.PML):
            e = float(rng.choice(EPSILONS))
            both = pf.optimise(joint, pf.Ordered(kind(e), kind(e)))
            assert both.gap <= 3 * GAP
            assert both.utility == pytest.approx(pf.optimise(joint, kind(e)).utility, abs=3 * GAP)


@pytest.mark.parametrize(
    ("promise", "left_out"),
    [
        (pf.Ordered(pf.LIP(0.2), pf.LIP(0.1)), 12),  # borders follow from values
        (pf.Ordered(pf.LIP(0.1), pf.LIP(0.2)), 4),  # the first and the last value are sides of borders
        (pf.Ordered(pf.LIP(0.2), pf.PML(0.1)), 0),  # values may be ruled out, so sides have to be limited
        (pf.Ordered(pf.SRLIP(0.2, known=1), pf.LIP(0.1)), 0),  # to other attackers
    ],
)
def test_only_what_follows_is_left_out_of_the_rows(promise, left_out):
    rng = np.random.default_rng(1)
    joint = pf.Joint(rng.integers(1, 40, size=(4, 2, 3)))
    found = promise.rows(joint)
    said = [clause.limits.rows(clause.joint, clause.views, clause.about) for clause in promise.clauses(joint)]
    every = np.concatenate(said)
    assert len(every) - len(found) == left_out
    v = joint.p_x + rng.random((4000, 1)) * (rng.dirichlet(np.ones(joint.n_x), size=4000) - joint.p_x)
    kept = (v @ found.T <= 0).all(axis=1)
    assert 0 < kept.sum() < len(v)
    assert ((v @ every.T <= 0).all(axis=1) == kept).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_countable_release_is_that_of_a_program_over_all_pairs(kind):
    for seed in range(1000, 1000 + QUICK):
        joint, promise = case(kind, seed)
        joint = of_texts(joint)
        protocol = pf.optimise(joint, promise, objective="faithful")
        most = clauses.fidelity(joint, clauses.statements(promise, joint))
        assert protocol.fidelity <= most + 1e-7
        assert protocol.fidelity >= most - 1.1e-3
        assert protocol.fidelity_bound >= most - 1e-7
        assert pf.certify(protocol, joint)


def mutated(rng, joint, promise):
    """A channel of two outputs, the first of which is past one of the limits by a hair or by far."""
    said = clauses.statements(promise, joint)
    brute.fractions(joint.weights)
    for _ in range(50):
        row = rng.integers(0, UNIT, size=joint.n_x).astype(object)
        if rng.random() < 0.5:  # on the edge of a limit: mixed with a constant row until it is just past it
            inside, outside = [UNIT // 2] * joint.n_x, row.tolist()
            if clauses.keeps(said, joint, [outside]):
                continue
            for _ in range(40):
                middle = [(a + b) // 2 for a, b in zip(inside, outside, strict=True)]
                if clauses.keeps(said, joint, [middle]):
                    inside = middle
                else:
                    outside = middle
            row = np.array(outside, dtype=object)
        rows = [row, UNIT - row]
        if not clauses.keeps(said, joint, rows):
            return np.array(rows, dtype=object)
    return None


def check_mutations(kind, wanted):
    rng, found, seed = np.random.default_rng(5), 0, 5000
    while found < wanted:
        joint, promise = case(kind, seed)
        seed += 1
        for _ in range(4):
            rows = mutated(rng, joint, promise)
            if rows is not None:
                certificate = pf.certify(rows.astype(np.float64) / UNIT, joint, promise)
                assert not certificate.holds, (kind, seed)
                assert certificate.level >= promise.epsilon * (1 - 1e-12)
                found += 1


@pytest.mark.parametrize("kind", KINDS)
def test_no_channel_past_a_limit_is_certified(kind):
    check_mutations(kind, 12)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_of_a_thousand_channels_past_a_limit_none_is_certified(kind):
    check_mutations(kind, 1000)


@pytest.mark.parametrize("kind", KINDS)
def test_verdicts_on_random_channels_are_those_of_fractions(kind):
    rng, holding = np.random.default_rng(3), 0
    for seed in range(2000, 2040):
        joint, promise = case(kind, seed)
        far = UNIT // (2 if kind == "belief" else 8)
        row = (UNIT // 2 + rng.integers(-far, far, size=joint.n_x)).astype(object)
        rows = np.array([row, UNIT - row], dtype=object)
        verdict = clauses.keeps(clauses.statements(promise, joint), joint, rows)
        assert pf.certify(rows.astype(np.float64) / UNIT, joint, promise).holds == verdict
        holding += verdict
    assert 0 < holding < 40


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_down_is_read_back_and_scaled(kind):
    joint, promise = case(kind, 1)
    over_sets = [pf.robust(promise)]
    for one in (promise, promise.made_for(joint), *over_sets):
        assert notion_from(json.loads(json.dumps(one.as_dict()))) == one
    half = promise.times(0.5)
    assert half.level(joint, np.ones((1, joint.n_x))) == pytest.approx(0.0 if kind != "belief" else 1.0, abs=1.0)
    assert pf.optimise(joint, half).utility <= pf.optimise(joint, promise).upper_bound
    assert str(promise.words()).endswith(".")


# --- relations ------------------------------------------------------------------------------------------------------


def test_equal_levels_for_all_values_are_one_level():
    for seed in range(12):
        joint, promise = case("by value", seed)
        e = promise.epsilon
        equal = pf.optimise(joint, pf.LIP(dict.fromkeys(range(joint.n_s), e)))
        plain = pf.optimise(joint, pf.LIP(e))
        assert equal.utility == pytest.approx(plain.utility, abs=3 * GAP)
        assert pf.certify(equal, joint, pf.LIP(e)).holds
        assert pf.certify(plain, joint, pf.LIP(dict.fromkeys(range(joint.n_s), e))).holds


def test_a_promise_about_all_secrets_together_is_one_about_each():
    for seed in range(12):
        joint, promise = case("several", seed)
        e = min(own.epsilon for _, own in promise.each)
        for kind in (pf.LIP, pf.LDP, pf.PML):
            together = pf.optimise(joint, kind(e))
            each = pf.Promises(a=kind(e), b=kind(e))
            assert pf.certify(together, joint, each).holds
            assert together.utility <= pf.optimise(joint, each).upper_bound


def test_a_promise_per_value_is_one_for_every_border():
    for seed in range(12):
        joint, promise = case("borders", seed)
        for kind in (pf.LIP, pf.LDP):
            per_value = pf.optimise(joint, kind(promise.epsilon))
            assert pf.certify(per_value, joint, pf.Ordered(kind(promise.epsilon))).holds
            assert per_value.utility <= pf.optimise(joint, pf.Ordered(kind(promise.epsilon))).upper_bound


def test_with_two_values_a_border_is_the_promise_itself():
    joint = pf.Joint([[40, 10, 7], [10, 40, 9]])
    for kind in (pf.LIP(0.3), pf.LDP(0.3)):
        assert pf.optimise(joint, pf.Ordered(kind)).utility == pytest.approx(pf.optimise(joint, kind).utility, abs=GAP)


def test_each_secret_hidden_and_their_agreement_told():
    """X tells whether two fair bits agree, and nothing else: released as it is, it says nothing of either."""
    joint = pf.Joint([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], secret=["a", "b"])
    each = pf.optimise(joint, pf.Promises(a=pf.LIP(0.1), b=pf.LIP(0.1)))
    assert each.utility == pytest.approx(math.log(2), abs=1e-9)
    assert pf.optimise(joint, pf.LIP(0.1)).utility < 0.01


def test_a_belief_is_compared_with_the_number_that_was_typed():
    """1 of 20 people of the first output has the secret: a belief of exactly 5%, which float64 has no number for."""
    joint = pf.Joint([[1, 0], [19, 980]])
    told = np.eye(2)
    certificate = pf.certify(told, joint, pf.Belief({0: 0.05}))
    assert certificate.holds
    assert certificate.worst.lift == Fraction(1, 20) / Fraction(1, 1000)
    assert not pf.certify(told, joint, pf.Belief({0: 0.04999999999999999})).holds
    assert certificate.levels[0].level == pytest.approx(0.05)


def test_secrets_may_have_different_attackers():
    rng = np.random.default_rng(4)
    joint = pf.Joint(rng.integers(1, 40, size=(2, 2, 2, 3)), secret=["a", "b"])
    promise = pf.Promises(a=pf.SRLIP(0.3, known=["X1"]), b=pf.LIP(0.3))
    protocol = pf.optimise(joint, promise)
    assert pf.certify(protocol, joint).holds
    parts = [joint.of_events(np.array(of), [0, 1], "part") for of in ([0, 0, 1, 1], [0, 1, 0, 1])]
    assert pf.certify(protocol, parts[0], pf.SRLIP(0.3, known=["X1"])).holds
    assert pf.certify(protocol, parts[1], pf.LIP(0.3)).holds
    assert not pf.certify(protocol, parts[1], pf.SRLIP(0.3, known=["X1"])).holds


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("promise", "why"),
    [
        (lambda: pf.LIP({"ill": 0.1}), "has no level; give every value one"),
        (lambda: pf.LIP({"ill": 0.1, "well": 1, "il": 1}), "the promise names 'il'"),
        (lambda: pf.LIP({"ill": -0.1, "well": 1}), "at least 0"),
        (lambda: pf.LIP({}), "levels for values are given as"),
        (lambda: pf.LDP({"ill": 0.1, "well": 1}), "compares values"),
        (lambda: pf.Belief({"ill": 0.4}), "has a share of 50.00% in the statistics,"),
        (lambda: pf.Belief({"ill": 0.5}), "has a share of 50.00% in the statistics,"),
        (lambda: pf.Belief({"ill": 5}), "between 0 and 1"),
        (lambda: pf.Belief({"cold": 0.9}), "never is"),
        (lambda: pf.robust(pf.Belief({"ill": 0.6})), "of the population may have health = ill at 95% confidence"),
        (lambda: pf.robust(pf.Promises(health=pf.Belief({"ill": 0.6}))), "which any release tells"),
        (lambda: pf.Belief({"ill": 0.9}, share=2.0), "above 0 and up to 1"),
        (lambda: pf.Belief({"ill": 0.9}, places=(-1,)), "whole, from 0 on"),
        (lambda: pf.Belief({"ill": 0.9}, places=("1",)), "whole, from 0 on"),
        (lambda: pf.Promises(), "needs a promise for each secret"),
        (lambda: pf.Promises(income=pf.LIP(0.1)), "name the same"),
        (lambda: pf.Promises(health=pf.robust(pf.LIP(0.1))), r"robust\(…\) goes around all"),
        (lambda: pf.Ordered(0.2), "such as Ordered"),
        (lambda: pf.Ordered(pf.LIP({"ill": 0.1, "well": 1})), "one ε for all borders"),
    ],
)
def test_promises_that_make_no_sense_are_refused_in_one_line(promise, why):
    joint = pf.Joint([[40, 10], [10, 40]], secret="health", secret_values=["ill", "well"])
    with pytest.raises(InvalidPromise, match=why) as refused:
        pf.optimise(joint, promise())
    assert "\n" not in str(refused.value)


def test_levels_go_by_the_names_of_values_whatever_their_order():
    array = np.array([[40, 10, 3], [10, 40, 5]])
    one = pf.optimise(pf.Joint(array, secret_values=["ill", "well"]), pf.LIP({"well": 1.0, "ill": 0.1}))
    other = pf.optimise(pf.Joint(array[::-1], secret_values=["well", "ill"]), pf.LIP({"ill": 0.1, "well": 1.0}))
    assert one.utility == pytest.approx(other.utility, abs=GAP)
    assert one.notion.levels == (("ill", 0.1), ("well", 1.0))
