"""Choosing columns: by what they are worth, within the room there is, and privately if that is promised."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privacyfunnel as pf
from privacyfunnel.advice import choosing
from privacyfunnel.advice.accepting import CHOOSING, accepted, picked
from privacyfunnel.advice.choosing import (
    MOST_DRAWS,
    SCORES,
    PrivateDraws,
    _additions,
    _refinements,
    choose,
    room_for_noise,
    room_for_people,
    until_there_is_room,
)
from privacyfunnel.advice.people import People
from privacyfunnel.drawing.noisy_max import UNIT, noisy_largest
from privacyfunnel.errors import InvalidInput
from privacyfunnel.protocols.everything import everything
from privacyfunnel.tables.counting import count_table
from privacyfunnel.tables.too_fine import FEW, MUCH

pa = pytest.importorskip("pyarrow")


def wide(n=4_000, columns=10, seed=0):
    """A secret, columns that go with it more or less, a copy of one, and one that is nearly constant."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.3
    found = {"ill": np.where(ill, "yes", "no")}
    for j in range(columns):
        found[f"c{j}"] = [f"v{v}" for v in (rng.integers(0, 4, n) + ill * (j == 0) * rng.integers(0, 2, n))]
    found["copy"] = found["c3"]
    found["constant"] = np.where(rng.random(n) < 0.002, "b", "a")
    found["fine"] = rng.integers(0, 4_000, n)
    return pa.table(found)


@pytest.fixture(scope="module")
def counted():
    return count_table(wide(), "ill")


def names(people, places):
    return {people.level(place).column.name for place in places}


def test_chosen_columns_are_not_too_fine_for_the_people(counted):
    people = People.of(counted, True)
    places = choose(people, room_for_people(people))
    assert len(places) > 2
    assert people.rare(people.numbered(places)) <= MUCH
    assert "constant" not in names(people, places)  # it says next to nothing
    assert not {"c3", "copy"} <= names(people, places)  # one says what the other does


def test_columns_chosen_for_noise_leave_enough_people_for_every_cell(counted):
    people = People.of(counted, True)
    places = choose(people, room_for_noise(people))
    assert 2 * math.prod(len(people.level(place)) for place in places) <= 4_000 / FEW


def test_what_is_picked_has_the_counts_of_the_table(counted):
    people = People.of(counted, True)
    places = choose(people, room_for_people(people))
    smaller = picked(counted, people, places)
    again = count_table(wide(), "ill", list(smaller.joint.attributes))
    assert smaller.joint.total == counted.joint.total
    assert set(smaller.dropped) == set(counted.joint.attributes) - set(smaller.joint.attributes)
    assert {fineness for _, fineness in places} == {0}
    assert np.array_equal(smaller.joint.weights, again.joint.weights)


@pytest.mark.long
@given(st.integers(0, 10**6), st.integers(12, 60))
def test_one_row_changes_no_score_by_more_than_the_sensitivity(seed, n):
    """Tables of n rows that differ in one, over the same lists of values, and whatever was chosen before."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(0, 2, n), rng.integers(0, 3, n) % 2, rng.integers(0, 8, (n, 2))])
    other = rows.copy()
    other[rng.integers(n)] = [rng.integers(0, 2), rng.integers(0, 2), *rng.integers(0, 8, 2)]
    everything = [[s, b, x, x] for s in range(2) for b in range(2) for x in range(8)]  # so that the lists are the same

    def scores(table):
        columns = np.vstack([everything, table])
        content = {name: columns[:, j].tolist() for j, name in enumerate(("s", "b", "x", "y"))}
        people = People.of(count_table(pa.table(content), "s"), True)
        chosen = [(1, 1)]
        return np.array([score for part in (_additions, _refinements) for score, _ in part(people, chosen)])

    total = n + len(everything)
    assert np.abs(scores(rows) - scores(other)).max() <= SCORES * (1 + math.log(total)) / total + 1e-12


def test_a_private_choice_spends_what_it_says_and_the_counts_the_rest(counted, tmp_path):
    smaller, spent = accepted(counted, True, True, 1.0)
    assert spent == CHOOSING
    joint = smaller.safely(1.0 - spent, at_least=10, choosing=spent).joint
    assert joint.noise.epsilon == pytest.approx(1 - CHOOSING)
    assert joint.noise.spent == pytest.approx(1.0)
    protocol = pf.optimise(joint, pf.LIP(1.0), objective="faithful", time_limit=5)
    protocol.save(tmp_path / "p.json")
    again = pf.Protocol.load(tmp_path / "p.json")
    assert again.noise.choosing == spent
    assert "ε₀ = 1)" in everything(again).words()


def test_a_private_choice_takes_a_column_whatever_the_noise_says(counted, monkeypatch):
    """Once in some dozen times, the noise preferred no column to every one, and the fit ended there."""
    people = People.of(counted, True)
    for wanted in range(3):
        monkeypatch.setattr(choosing, "noisy_largest", lambda scores, *_, wanted=wanted: min(wanted, len(scores) - 1))
        assert choose(people, room_for_noise(people), PrivateDraws(people.total, 0.2))


def test_exact_choices_and_public_rules_spend_nothing(counted):
    assert accepted(counted, True, True, None)[1] == 0
    few = count_table(wide(), "ill", ["c0", "c1", "fine"])
    assert accepted(few, False, True, 1.0)[1] == 0


def test_draws_divide_epsilon_and_end(counted, monkeypatch):
    asked = []
    monkeypatch.setattr(choosing, "noisy_largest", lambda scores, d, e: asked.append((len(scores), d, e)) or 1)
    people = People.of(counted, True)
    draws = PrivateDraws(people.total, 0.2)
    choose(people, lambda places: True, draws)
    assert len(asked) == MOST_DRAWS
    assert sum(Fraction(e) for _, _, e in asked) <= Fraction(0.2)
    assert all(d >= SCORES * (1 + math.log(4_000)) / 4_000 for _, d, _ in asked)


def test_a_private_choice_looks_at_people_only_through_scores(counted, monkeypatch):
    """With scores that are all alike, whoever is in the table does not matter: which candidates there are does not."""
    seen = []
    monkeypatch.setattr(choosing, "worth", lambda *_: 0.5)
    monkeypatch.setattr(choosing, "noisy_largest", lambda scores, *_: seen.append(tuple(scores)) or len(scores) // 2)
    both = []
    for seed in (0, 1):
        seen.clear()
        table = wide(seed=seed).drop(["fine"])  # whose lists are not the same
        people = People.of(count_table(table, "ill", [f"c{j}" for j in range(1, 10)]), True)
        both.append((choose(people, room_for_noise(people), PrivateDraws(people.total, 0.2)), list(seen)))
    assert both[0] == both[1]


def test_the_noisy_largest_keeps_its_promise_and_finds_large_ones():
    near = [noisy_largest([0.0, 0.1], 0.1, 1.0) for _ in range(3_000)]
    far = [noisy_largest([0.1, 0.0], 0.1, 1.0) for _ in range(3_000)]
    share, other = np.mean(near), np.mean(far)
    assert 0.5 < share < 1
    assert share / other < math.e * 1.15
    assert (1 - other) / (1 - share) < math.e * 1.15
    assert share / other > 1.2  # it can tell them apart at all
    assert all(noisy_largest([0.0, 5.0, 1.0], 1e-4, 1.0) == 1 for _ in range(50))
    assert UNIT > 10**9


def test_coarsening_alone_goes_by_the_numbers_of_values_and_says_when_it_is_not_enough(counted):
    few = count_table(wide(), "ill", ["c0", "c1", "fine"])
    people = People.of(few, True)
    assert until_there_is_room(people, room_for_noise(people)) == [(0, 0), (1, 0), (2, 0)]
    many = count_table(wide(), "ill", ["c0", "c1", "c2", "fine"])
    people = People.of(many, True)
    assert until_there_is_room(people, room_for_noise(people)) is None
    assert not room_for_noise(People.of(few, True), 0.5)([(0, 0), (1, 0), (2, 0)])  # of twice the noise, half the cells
    with pytest.raises(InvalidInput, match="--columns auto"):
        accepted(many, False, True, 1.0)
    with pytest.raises(InvalidInput, match="no column can be released"):
        accepted(count_table(wide(60), "ill", ["c1", "c2"]), True, False, 1.0)
