"""Draws for values never seen keep the promise, whatever share of rows is drawn and whatever secrets they have."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput
from privacyfunnel.optimiser.program.finishing import simple_draw
from privacyfunnel.proof.certificate import room_of
from privacyfunnel.proof.unseen import Room
from privacyfunnel.protocols.channel import UNIT

NOTIONS = [pf.LIP(0.1), pf.LIP(0.7), pf.LDP(0.2), pf.LDP(1.0), pf.ALIP(0.1, 0.6), pf.ALIP(0.8, 0.2), pf.PML(0.3)]
SHARES = (0, 1, 7, 10**3, 10**9)
"""Numbers of rows with values never seen, for each secret."""
ROUNDING = 1 + 1e-12
"""e^ε in float64 against exact fractions."""


def lifts(weights, Q, draw, strangers):
    """P(y|s), P(y) in exact fractions, when strangers[s] rows with secret s are drawn; the last secret may be new."""
    c, a = weights.shape
    rows = [[int(n) for n in row] for row in weights] + [[0] * a] * (len(strangers) - c)
    together = [
        [sum(n * q for n, q in zip(row, Q[y], strict=True)) + m * Fraction(int(r), UNIT) for y, r in enumerate(draw)]
        for row, m in zip(rows, strangers, strict=True)
    ]
    people = [sum(row) + m for row, m in zip(rows, strangers, strict=True)]
    real = [s for s, n in enumerate(people) if n]
    given = [[value / people[s] for value in together[s]] for s in real]
    overall = [sum(together[s][y] for s in real) / sum(people) for y in range(len(draw))]
    return given, overall


def worst(weights, Q, draw, strangers):
    """The largest 1/lift, lift and lift/lift′, exactly."""
    given, overall = lifts(weights, Q, draw, strangers)
    low = high = apart = Fraction(1)
    for y, mean in enumerate(overall):
        if mean:
            values = [row[y] for row in given]
            high, least = max(high, max(values) / mean), min(values)
            low = max(low, mean / least) if least else math.inf
            apart = max(apart, max(values) / least) if least else math.inf
    return low, high, apart


def kept(notion, reached):
    asked = (notion.limits.lower, notion.limits.upper, notion.limits.spread)
    return all(got <= math.exp(limit) * ROUNDING for got, limit in zip(reached, asked, strict=True) if limit < math.inf)


def exact(protocol):
    return [[Fraction(round(q * UNIT), UNIT) for q in row] for row in protocol.channel]


tables = st.lists(st.lists(st.integers(0, 30), min_size=4, max_size=4), min_size=2, max_size=3).filter(
    lambda rows: all(any(row) for row in rows)
)


@given(tables, st.sampled_from(NOTIONS), st.data())
def test_any_number_of_strangers_with_any_secrets_keep_the_promise(rows, notion, data):
    joint = pf.Joint(np.array(rows))
    protocol = pf.optimise(joint, notion)
    if protocol.draw is None:
        return
    assert pf.certify(protocol, joint).draws
    strangers = data.draw(st.lists(st.sampled_from(SHARES), min_size=joint.n_s + 1, max_size=joint.n_s + 1))
    assert kept(notion, worst(joint.weights, exact(protocol), protocol.draw, strangers))


@pytest.mark.parametrize("notion", NOTIONS, ids=repr)
def test_a_draw_is_found_for_nearly_every_table(notion):
    rng = np.random.default_rng(5)
    found = [pf.optimise(pf.Joint(rng.integers(1, 60, (2, 6))), notion).draw is not None for _ in range(10)]
    assert sum(found) >= 9


@pytest.mark.parametrize("notion", NOTIONS, ids=repr)
def test_the_room_is_what_the_theorem_says(notion):
    """docs/theory.md: an interval for each output by itself."""
    joint = pf.Joint([[40, 30, 20, 9], [5, 20, 60, 14], [11, 3, 8, 25]])
    protocol = pf.optimise(joint, notion)
    room, asked = room_of(protocol, joint), notion.limits
    given, overall = joint.p_x_given_s @ protocol.channel.T, protocol.channel @ joint.p_x
    down, up, apart = (math.exp(-limit) for limit in (asked.lower, asked.upper, asked.spread))
    least = np.max([up * given.max(axis=0), down * overall, apart * given.max(axis=0)], axis=0)
    edges = ((given.min(axis=0), down), (overall, up), (given.min(axis=0), apart))
    ends = [edge / factor for edge, factor in edges if factor > 0]
    assert room.least == pytest.approx(least * UNIT, abs=2)
    assert room.most == pytest.approx(np.minimum(1, np.min(ends, axis=0)) * UNIT, abs=2)


@pytest.mark.parametrize("notion", NOTIONS, ids=repr)
def test_outside_of_the_room_some_strangers_break_the_promise(notion):
    """So the room is not smaller than it must be: the certificate refuses exactly what can go wrong."""
    joint = pf.Joint([[40, 30, 20, 9], [5, 20, 60, 14]])
    protocol = pf.optimise(joint, notion)
    room, Q = room_of(protocol, joint), exact(protocol)
    broken = 0
    for y, (least, most) in enumerate(zip(room.least, room.most, strict=True)):
        for moved in (int(least) - UNIT // 1000, int(most) + UNIT // 1000):
            if 0 < moved < UNIT:
                draw = protocol.draw.copy()
                other = int(np.delete(np.arange(len(draw)), y)[np.delete(draw, y).argmax()])
                draw[y], draw[other] = moved, draw[other] + draw[y] - moved
                bad = replace(protocol, step=replace(protocol.block, draw=draw))
                certificate = pf.certify(bad, joint)
                assert not certificate
                assert certificate.draws is False
                assert "never seen" in certificate.reason
                shares = product(SHARES, repeat=joint.n_s + 1)
                broken += any(not kept(notion, worst(joint.weights, Q, draw, strangers)) for strangers in shares)
                assert broken
    assert broken >= 4


def test_the_coarse_marginal_did_not_keep_it():
    """What was drawn from before: a rare output tells that a value is new, and so whose it is."""
    weights = np.array([[900, 3, 40, 1, 2], [30, 1, 700, 2, 9]])
    joint = pf.Joint(weights)
    protocol = pf.optimise(joint, pf.LIP(0.1))
    strangers = (17, 0, 0)  # one row in a hundred
    assert not kept(pf.LIP(0.1), worst(weights, exact(protocol), protocol.block.marginal, strangers))
    assert kept(pf.LIP(0.1), worst(weights, exact(protocol), protocol.draw, strangers))


def test_several_distributions_are_all_kept():
    joints = [pf.Joint([[40, 30, 20], [5, 20, 60]]), pf.Joint([[38, 33, 20], [6, 20, 55]])]
    protocol = pf.optimise(joints, pf.LIP(0.5))
    assert protocol.draw is not None
    for joint in joints:
        assert pf.certify(protocol, joint).draws
        for strangers in product(SHARES, repeat=3):
            assert kept(pf.LIP(0.5), worst(joint.weights, exact(protocol), protocol.draw, strangers))


@pytest.mark.parametrize("promise", [pf.LIP(0.5), pf.LDP(1.0), pf.PML(0.5), pf.ALIP(0.4, 0.9)], ids=repr)
def test_every_distribution_that_a_confidence_set_holds_is_kept(promise):
    """Members of the set: those where each P(·|s) leans towards some values, and towards others."""
    joint = pf.Joint([[400, 300, 200], [50, 200, 600]])
    notion = pf.robust(promise)
    protocol = pf.optimise(joint, notion)
    assert protocol.draw is not None
    assert pf.certify(protocol, joint).draws
    part = notion.possible(joint)[0]
    Q = exact(protocol)
    orders = [(0, 1, 2), (2, 1, 0), (1, 0, 2)]
    for first, second in product(orders, repeat=2):
        given = [part.given.leaning((0, s), order) for s, order in enumerate((first, second))]
        for lean in ((0, 1), (1, 0)):
            prior = part.prior.leaning((0,), lean)
            weights = np.array([[p * g for g in row] for p, row in zip(prior, given, strict=True)], dtype=object)
            for strangers in product((0, 10**32, 10**45), repeat=3):
                assert kept(promise, worst(weights, Q, protocol.draw, strangers))


def test_a_new_value_would_break_a_promise_about_side_channels_so_it_is_refused(tmp_path):
    joint = pf.Joint(np.random.default_rng(0).integers(1, 40, (2, 3, 3)), attributes=["u", "v"])
    protocol = pf.optimise(joint, pf.SRLIP(5.0))
    assert protocol.draw is None
    import pandas as pd

    table = pd.DataFrame({"u": [0, 9], "v": [1, 1]})
    with pytest.raises(InvalidInput, match="no draw was found that keeps its promise"):
        protocol.sanitise(table, unseen="draw")
    with pytest.raises(InvalidInput, match="no draw was found that keeps its promise"):
        protocol.sanitise(table, tmp_path / "out.csv", unseen="draw")
    assert not list(tmp_path.iterdir())


def test_somebody_who_knows_nothing_is_no_side_channel():
    joint = pf.Joint(np.random.default_rng(0).integers(1, 40, (2, 3, 3)))
    assert pf.certify(pf.optimise(joint, pf.SRLIP(0.5, known=0)), joint).draws


def test_the_transformer_refuses_when_it_is_fitted():
    pytest.importorskip("sklearn")
    X = np.array([["a", "p"], ["a", "q"], ["b", "p"], ["b", "q"]] * 20)
    y = ["yes", "no", "no", "no"] * 20
    assert pf.PrivacyFunnel(unseen="draw").fit(X, y).transform([["c", "p"]]).shape == (1, 2)
    with pytest.raises(InvalidInput, match="no draw was found"):
        pf.PrivacyFunnel("srlip", 0.1, unseen="draw").fit(X, y)


@given(st.lists(st.tuples(st.integers(0, UNIT), st.integers(0, UNIT), st.integers(0, UNIT)), min_size=1, max_size=6))
def test_a_simple_draw_is_in_the_room_or_the_room_is_empty(ends):
    room = Room(np.array([min(a, b) for a, b, _ in ends]), np.array([max(a, b) for a, b, _ in ends]))
    draw = simple_draw(room, np.array([near for _, _, near in ends]))
    if draw is None:
        assert room.least.sum() > UNIT or room.most.sum() < UNIT
    else:
        assert room.holds(draw)
        assert draw.sum() == UNIT


def test_a_draw_is_the_coarse_marginal_where_it_can_be():
    near = np.array([UNIT // 2, UNIT // 4, UNIT // 4])
    room = Room(np.zeros(3, dtype=np.int64), np.full(3, UNIT))
    assert simple_draw(room, near).tolist() == near.tolist()


ADULT = ["sex", "race", "marital_status", "education", "relationship"]


def test_one_stranger_in_a_hundred_of_adult_keeps_lip(shared):
    """With the coarse marginal the level was 0.96, and all of the strangers have one secret."""
    joint = pf.Joint.from_table(shared / "data" / "adult.csv.gz", "income", ADULT)
    protocol = pf.optimise(joint, pf.LIP(0.1))
    assert pf.certify(protocol, joint).draws
    channel = protocol.block.channel
    told = np.zeros((2, channel.n_outputs), dtype=object)
    for s in range(2):
        np.add.at(told[s], channel.outputs, channel.numerators.astype(object) * joint.weights[s, channel.inputs])
    people, few = joint.weights.sum(axis=1).tolist(), joint.total // 99
    for s in range(2):
        for draw, good in ((protocol.draw, True), (protocol.block.marginal, False)):
            together, size = told.copy(), list(people)
            together[s] += few * draw.astype(object)
            size[s] += few
            total, whole = together.sum(axis=0), sum(size)
            lift = np.array(
                [
                    [Fraction(a * whole, b * n) for a, b in zip(row, total, strict=True)]
                    for row, n in zip(together, size, strict=True)
                ]
            )
            assert bool(lift.max() <= math.exp(0.1) * ROUNDING and lift.min() >= math.exp(-0.1) / ROUNDING) is good
