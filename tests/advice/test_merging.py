"""Merging for side channels: what is chosen keeps the most of what was tried, and says whom it does not cover."""

import math
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

import privacyfunnel as pf
from optimiser.test_side_channels import tables
from privacyfunnel.advice import merging
from privacyfunnel.advice.accepting import CHOOSING, picked
from privacyfunnel.advice.merging import DOWN_TO, Climb, coarsened
from privacyfunnel.advice.people import People
from privacyfunnel.errors import InvalidInput, InvalidPromise, InvalidTable
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.proof.finer import level_for_finer
from privacyfunnel.tables.counting import Counted, count_table
from privacyfunnel.tables.fitting import FittedColumn

pytestmark = pytest.mark.usefixtures("compiled_loops")
CLOSE = 0.02
"""Quick figures are within this share of H(X) of the best on small tables."""


def parity() -> pf.Joint:
    """S is the parity of a and b: released as they are, one tells the secret to who knows the other."""
    p = np.zeros((2, 8, 4), dtype=int)
    for a, b in np.ndindex(8, 4):
        p[(a + b) % 2, a, b] = 100
    return pf.Joint(p, attributes=["a", "b"])


def alone(joint: pf.Joint, name: str) -> pf.Joint:
    """One of its columns."""
    counted = counted_of(joint)
    return picked(counted, People.of(counted, False), [(joint.attributes.index(name), 0)]).joint


@given(tables(most=2))
@settings(max_examples=5)
def test_the_choice_keeps_no_less_than_all_columns_and_than_any_single_one(p):
    joint = pf.Joint(p)
    found = pf.coarsen(joint, pf.SRLIP(0.4), seconds=60)
    assert found.best.kept >= found.as_read.kept
    for one in joint.attributes:
        kept = pf.optimise(alone(joint, one), pf.SRLIP(0.4), gap=1e-3).utility
        assert found.best.kept >= kept - CLOSE * joint.entropy
    assert all(way.kept <= way.at_most + 1e-9 for way in found.tried)
    best = pf.optimise(found.joint, pf.SRLIP(0.4), gap=1e-3, time_limit=10)
    assert found.best.kept <= best.upper_bound
    assert best.utility <= found.best.at_most + 1e-9


def test_probabilities_that_take_more_bits_than_an_integer_has_are_merged_too():
    joint = pf.Joint([[[0.1, 1e-14], [0.2, 0.1]], [[0.3, 0.2], [0.05, 0.05]]], attributes=["a", "b"])
    assert joint.weights.dtype == object
    found = pf.coarsen(joint, pf.SRLIP(0.3), seconds=60)
    assert found.best.kept >= found.as_read.kept > 0
    protocol = pf.optimise(found.joint, pf.SRLIP(0.3))
    assert pf.certify(protocol, found.joint).holds
    assert found.level_for_finer(protocol) > 0


def test_between_the_extremes_more_is_kept_than_at_either():
    joint = parity()
    found = pf.coarsen(joint, pf.SRLIP(0.5), seconds=60)
    assert found.best.coarser in ({"a": "4 ranges"}, {"b": "2 ranges"})
    assert found.best.kept == pytest.approx(math.log(16), abs=1e-2)
    assert found.as_read.kept < math.log(16) - 0.1
    assert max(pf.optimise(alone(joint, name), pf.SRLIP(0.5)).utility for name in "ab") < math.log(16) - 0.1
    ((name, ranges),) = found.best.coarser.items()
    assert f"{name}: {ranges}" in found.words()
    protocol = pf.optimise(found.joint, pf.SRLIP(0.5))
    assert pf.certify(protocol, found.joint).holds
    assert protocol.columns["ab".index(name)].edges[1:-1] == {"a": (2.0, 4.0, 6.0), "b": (2.0,)}[name]


def test_who_knows_columns_more_finely_may_learn_everything_and_the_steward_is_told():
    found = pf.coarsen(parity(), pf.SRLIP(0.5), seconds=60)
    protocol = pf.optimise(found.joint, pf.SRLIP(0.5))
    assert found.level_for_finer(protocol) == math.inf


def test_the_level_for_finer_people_is_that_of_the_channel_on_fine_values():
    rng = np.random.default_rng(4)
    fine = pf.Joint(rng.integers(1, 40, (2, 8, 3)), attributes=["age", "town"])
    counted = counted_of(fine)
    joint = picked(counted, People.of(counted, True, DOWN_TO), [(0, 1)]).joint  # ages by two, no town
    protocol = pf.optimise(joint, pf.SRLIP(0.1))
    level = level_for_finer(protocol, fine, pf.SRLIP(0.1))
    p, Q = np.asarray(fine.p), np.asarray(protocol.channel)[:, fine.codes[:, 0] // 2]
    worst = 0.0
    for known in ([], [0], [1], [0, 1]):
        for values in {tuple(row) for row in fine.codes[:, known].tolist()}:
            inside = (fine.codes[:, known] == values).all(axis=1)
            belief = p[:, inside].sum(axis=1) / p[:, inside].sum()
            seen = Q[:, inside] @ p[:, inside].T
            seen = seen[seen.sum(axis=1) > 0]
            lift = seen / seen.sum(axis=1, keepdims=True) / belief
            worst = max(worst, float(np.abs(np.log(lift)).max()))
    assert worst > 0.1
    assert level == pytest.approx(worst, rel=1e-6)


@pytest.mark.parametrize("known", [0, 1, ("a",), ("b",)])
def test_people_with_finer_knowledge_know_all_columns_whatever_the_promise_takes_to_be_known(known):
    found = pf.coarsen(parity(), pf.SRLIP(0.5), seconds=60)
    protocol = pf.optimise(found.joint, pf.SRLIP(0.5))
    assert replace(found, notion=pf.SRLIP(0.5, known=known)).level_for_finer(protocol) == math.inf


@pytest.mark.parametrize("known", [None, ("c",)])
def test_however_little_time_there_is_more_than_all_columns_as_they_are_read_is_tried(known):
    p = np.ceil(4 / np.random.default_rng(9).random((2, 3, 4, 5))).astype(int)
    found = pf.coarsen(pf.Joint(p, attributes=["a", "b", "c"]), pf.SRLIP(0.3, known=known), seconds=0)
    alone = {way.columns for way in found.tried if len(way.columns) == 1}
    assert alone == ({("a",), ("b",), ("c",)} if known is None else {("c",)})


def test_columns_that_attackers_are_named_to_know_are_not_left_out():
    p = np.zeros((2, 2, 2), dtype=int)
    for a, b in np.ndindex(2, 2):
        p[a ^ b, a, b] = 50
    joint = pf.Joint(p, attributes=["a", "b"])
    assert len(pf.coarsen(joint, pf.SRLIP(0.5), seconds=60).best.columns) == 1
    named = pf.coarsen(joint, pf.SRLIP(0.5, known=["b"]), seconds=60)
    assert "b" in named.best.columns


def test_columns_that_attackers_know_may_tell_less_than_was_kept_before_they_were_looked_at():
    p = np.random.default_rng(0).integers(20, 30, (2, 6, 2, 2))
    found = pf.coarsen(pf.Joint(p, attributes=["a", "b", "c"]), pf.SRLIP(1.0, known=["b"]), seconds=60)
    assert found.best.kept >= found.as_read.kept > math.log(2)
    assert "b" in found.best.columns


@pytest.mark.parametrize("wrong", [{"joint": "people"}, {"seconds": None}, {"seconds": -1}])
def test_what_cannot_be_searched_is_refused_in_a_line(wrong):
    asked = {"joint": parity(), "notion": pf.SRLIP(0.5), "seconds": 0.1} | wrong
    with pytest.raises(pf.PrivacyFunnelError):
        pf.coarsen(**asked)


@pytest.mark.long
def test_more_columns_keep_no_less():
    """Even one that only makes cells thin."""
    p = np.ceil(4 / np.random.default_rng(9).random((2, 3, 4, 5))).astype(int)
    few = pf.coarsen(pf.Joint(p.sum(axis=3), attributes=["a", "b"]), pf.SRLIP(0.3), seconds=60)
    more = pf.coarsen(pf.Joint(p, attributes=["a", "b", "c"]), pf.SRLIP(0.3), seconds=60)
    assert more.best.kept >= few.best.kept - CLOSE * few.best.entropy


def test_declared_groups_are_merged_if_that_keeps_more():
    rng = np.random.default_rng(0)
    n = 6_000
    town, job = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1]), rng.integers(0, 8, n)
    ill = np.where((town + job) % 2, "yes", "no")
    ill = np.where(rng.random(n) < 0.05, "no", ill)
    table = pd.DataFrame(
        {"ill": ill, "town": np.array(["A", "B", "C", "D"])[town], "job": np.array(list("efghijkl"))[job]}
    )
    joint = pf.Joint.from_table(table, "ill", ["town", "job"])
    groups = {"town": {"north": ["A", "B"], "south": ["C", "D"]}}
    found = pf.coarsen(joint, pf.SRLIP(0.5), groups=groups, seconds=60)
    assert found.best.coarser == {"town": "grouped as north, south"}
    assert found.joint.columns[0].labels == ("north", "south")
    assert found.best.options[2:] == ("--set", "group=town:north=A,B", "--set", "group=town:south=C,D")
    again = pf.Joint.from_table(table, "ill", **found.best.arguments)
    assert again.columns == found.joint.columns
    assert np.array_equal(again.weights, found.joint.weights)


@pytest.mark.long
def test_a_step_is_left_out_only_if_it_cannot_be_better():
    rng = np.random.default_rng(2)
    joint = pf.Joint(rng.integers(1, 50, (2, 3, 2, 3)), attributes=["a", "b", "c"])
    counted = counted_of(joint)
    people = People.of(counted, True, DOWN_TO)
    climb = Climb(counted, people, pf.SRLIP(0.3), threading.Event())
    climb.run(60.0)
    for now in climb.measured:
        for places in climb._beside(now):
            best = pf.optimise(picked(counted, people, places).joint, pf.SRLIP(0.3), gap=1e-3, time_limit=5)
            assert best.utility <= climb._at_most(places, now) + 1e-6


def test_a_way_that_gains_nothing_more_does_not_end_the_race_for_one_that_does(monkeypatch):
    joint = pf.Joint(np.random.default_rng(2).integers(1, 50, (2, 3, 2)), attributes=["a", "b"])
    counted = counted_of(joint)
    climb = Climb(counted, People.of(counted, True, DOWN_TO), pf.SRLIP(0.3), threading.Event())
    done, grows = ((0, 0),), ((1, 0),)
    kept = {done: 5.0, grows: 4.9}

    def measure(places, _):
        kept[places] += 0.08 * (places == grows) * (kept[grows] < 5.2)
        one = picked(counted, climb.people, places).joint
        climb.measured[places] = climb._way(places, one, kept[places], 9.0)

    for places in (done, grows):
        measure(places, 0.0)
    monkeypatch.setattr(climb, "_measure", measure)
    gained = climb._further(ticks() + 5.0)
    assert kept[grows] > kept[done]
    assert gained == {done: 0.0, grows: pytest.approx(kept[grows] - 4.98)}


def test_ways_for_which_there_was_no_time_have_what_the_best_ones_leave(monkeypatch):
    joint = pf.Joint(np.random.default_rng(2).integers(1, 50, (2, 3, 2, 2, 2)), attributes=["a", "b", "c", "d"])
    counted = counted_of(joint)
    climb = Climb(counted, People.of(counted, True, DOWN_TO), pf.SRLIP(0.3), threading.Event())
    best, closed, grows, hopeless = ((0, 0),), ((1, 0),), ((0, 0), (1, 0)), ((3, 0),)
    kept = {best: 2.0, closed: 1.5, grows: 1e-15, hopeless: 0.1}
    at_most = {best: 9.0, closed: 1.5, grows: 3.0, hopeless: 1.9}
    asked = []

    def measure(places, _):
        asked.append(places)
        kept[places] = max(kept[places], 2.6 * (places == grows) * (asked.count(grows) > 1))
        one = picked(counted, climb.people, places).joint
        climb.measured[places] = climb._way(places, one, kept[places], at_most[places])

    for places in kept:
        measure(places, 0.0)
    monkeypatch.setattr(merging, "AGAIN", 1)
    monkeypatch.setattr(climb, "_measure", measure)
    gained = climb._further(ticks() + 5.0)
    assert asked[4:] == [best, grows, grows]
    assert gained == {best: 0.0}  # and what a first look came to says nothing of the time to come


def counted_of(joint):
    return Counted(joint, (), tuple(FittedColumn(column, "") for column in joint.columns), ())


def test_what_makes_no_sense_is_refused():
    joint = parity()
    with pytest.raises(InvalidPromise, match="srlip and srldp"):
        pf.coarsen(joint, pf.LIP(0.5))
    with pytest.raises(InvalidInput, match="not an attribute"):
        pf.coarsen(joint, pf.SRLIP(0.5), groups={"town": {"north": ["A"]}})
    with pytest.raises(InvalidTable, match="no groups"):
        pf.coarsen(joint, pf.SRLIP(0.5), groups={"b": {"any": ["0", "1"]}})
    with pytest.raises(InvalidInput, match="seconds"):
        pf.coarsen(joint, pf.SRLIP(0.5), seconds=-1)


def test_noisy_counts_choose_and_exact_ones_are_merged(tmp_path):
    rng = np.random.default_rng(1)
    n = 8_000
    age, rooms = rng.integers(0, 8, n), rng.integers(0, 4, n)
    ill = np.where((age + rooms) % 2, "yes", "no")
    table = pd.DataFrame({"ill": ill, "age": age, "rooms": rooms})
    counted = count_table(table, "ill", ["age", "rooms"])
    seen = counted.safely(CHOOSING)
    found = coarsened(seen, pf.SRLIP(0.5), 60.0)
    chosen = found.of(counted)
    assert found.best.coarser in ({"age": "4 ranges"}, {"rooms": "2 ranges"})
    assert chosen.joint.total == n
    assert chosen.joint.counted
    assert found.finer is seen.joint  # nothing exact goes with what was found
    assert not found.joint.counted
