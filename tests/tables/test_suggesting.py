"""Which columns are suggested for release, and why the others are not: on a census that nobody was asked in."""

import re

import numpy as np
import pyarrow as pa
import pytest

from privacyfunnel.tables.left_out import numbers_people, repeats, told, weighs_rows
from privacyfunnel.tables.sources import open_source
from privacyfunnel.tables.suggesting import suggest

PEOPLE, VISITS = 800, 3
RACES = np.array(["amber", "blue", "coral", "dun"])


def census():
    """Three rows for each person: with weights, numbers of households, and the secret in another spelling, too."""
    rng = np.random.default_rng(3)
    who = np.repeat(np.arange(PEOPLE), VISITS)
    race, age = rng.integers(0, 4, PEOPLE)[who], rng.integers(18, 85, PEOPLE)[who]
    pre = np.where(rng.random(len(who)) < 0.03, rng.integers(0, 4, len(who)), race)
    hours = rng.integers(10, 60, len(who))
    hours[::9] = 999
    expansion = np.exp(rng.normal(4.0, 1.0, PEOPLE)).astype(int)[who] + 1
    return {
        "SERIALNO": [f"2024GQ{i // 2:06d}" for i in who],
        "person_id": who + 50_000,
        "PWGTP": expansion,
        "pweight_normalised": np.round(expansion / expansion.mean(), 4),
        "weight": np.round(rng.normal(75, 15, len(who)).clip(40, 160), 1),
        "region": RACES[rng.integers(0, 4, len(who))],
        "sex": np.array(["f", "m"])[rng.integers(0, 2, PEOPLE)[who]],
        "age": age,
        "preRace": pre + 1,
        "code": np.array(["c1", "c2", "c3", "c4"])[race],
        "hours": hours,
        "race": RACES[race],
    }


@pytest.fixture(scope="module")
def found():
    return {one.column: one for one in suggest(open_source(pa.table(census())))}


def test_weights_numbers_of_people_and_repeats_of_the_secret_are_left_out(found):
    assert found["race"].part == "secret"
    left = {name for name, one in found.items() if one.part == "leave out"}
    assert {"SERIALNO", "person_id", "PWGTP", "pweight_normalised", "preRace", "code"} <= left
    assert {"region", "sex"}.isdisjoint(left)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("SERIALNO", "nearly each of its values is in 6 rows: does it number people or households?"),
        ("person_id", "nearly each of its values is in 3 rows: does it number people or households?"),
        ("PWGTP", "a survey weight: by its name, and some rows have over 5 times the median"),
        ("pweight_normalised", "a survey weight: by its name, and its mean is 1"),
        ("preRace", "it repeats race: whoever knows it nearly knows that"),
        ("code", "it repeats race: whoever knows it nearly knows that"),
    ],
)
def test_beside_each_column_that_is_left_out_stands_why(found, column, words):
    assert found[column].how.startswith(words)


def test_what_a_body_weighs_is_no_survey_weight(found):
    assert "survey" not in found["weight"].how


def test_a_number_far_above_all_others_is_pointed_out(found):
    assert "999 counts as a number: --set missing=999 if it means missing" in found["hours"].how
    assert "counts as a number" not in found["age"].how


def how(numbers):
    """What is said of a column with these numbers."""
    table = pa.table({"n": pa.array(numbers), "sex": ["f", "m"] * (len(numbers) // 2)})
    return next(one.how for one in suggest(open_source(table), secret="sex") if one.column == "n")


AGES = [*range(18, 99)] * 10


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [
        (AGES + [99] * 40, "99"),  # next to the oldest
        (AGES + [99] * 10, None),  # as many as of any other age
        ([*range(18, 99)] * 2 + [99] * 4, None),  # more by chance
        (AGES + [-9, -8, -8, 99, 999] * 40, "-9,-8,99,999"),
        (AGES + [-9, -8, -1, -2] * 40, None),  # numbers below 0 are not rare here
        (AGES + [-9, -2, 9999, 9999] * 40, "9999"),
        ([*range(90, 200)] * 10 + [99] * 80, None),  # in the middle
        ([9.5, 99.5, 98.25, 90.0] * 40 + [99.0, 99.0] * 40, None),
    ],
)
def test_codes_at_the_ends_of_a_column_are_pointed_out_together(numbers, codes):
    """By hand: codes below 0 have no others there; at the top they are far above the others, or far more frequent."""
    if codes is None:
        assert "missing" not in how(numbers)
    elif "," in codes:
        text = codes.replace(",", ", ")
        assert f"; {text} count as numbers: --set missing={codes} if they mean missing" in how(numbers)
    else:
        assert f"; {codes} counts as a number: --set missing={codes} if it means missing" in how(numbers)


@pytest.mark.parametrize(("written", "option"), [("{}.0", "99.0"), ("{},0", "'\"99,0\"'"), ("{}", "99"), ("0{}", None)])
def test_a_code_is_shown_as_the_table_spells_it_so_that_the_option_takes_it(written, option):
    said = how([written.format(number) for number in AGES + [99] * 40])
    if option is None:
        assert "missing" not in said  # of 099 nobody says that it is a number
    else:
        assert f"; 99 counts as a number: --set missing={option} if it means missing" in said


def test_a_reason_tells_no_figure_of_the_table(found):
    """It may stand in a recipe that others read: only thresholds of ours, and how many rows everybody has."""
    ours = {"5", "3", "6", "1", "4", "2"}
    for one in found.values():
        if one.part == "leave out":
            digits = {word for word in re.split("[;?] ", one.how)[0].split() if word.isdigit()}
            assert digits <= ours, one


def test_columns_are_left_out_where_too_few_people_would_share_a_combination():
    rng = np.random.default_rng(1)
    table = {name: rng.integers(0, 5, 1_000) for name in "abcdef"} | {"ill": rng.integers(0, 2, 1_000)}
    parts = {one.column: one for one in suggest(open_source(pa.table(table)))}
    released = [name for name, one in parts.items() if one.part == "release"]
    assert released == ["a", "b"]  # 25 combinations of 40 people each; with a third column, 8 would share one
    assert parts["c"].how.startswith("with it, too many people share their combination")


def test_a_secret_that_is_given_is_what_others_may_repeat():
    table = pa.table(census())
    found = {one.column: one for one in suggest(open_source(table), secret="sex")}
    assert found["sex"].part == "secret"
    assert not found["sex"].how.endswith("may be secret")
    assert "repeats" not in found["preRace"].how


def test_columns_that_a_domain_does_not_declare_are_left_out():
    found = {one.column: one for one in suggest(open_source(pa.table(census())), declared=["race", "sex", "region"])}
    assert [name for name, one in found.items() if one.part == "release"] == ["region", "sex"]
    assert found["age"].how.startswith("the domain does not declare it")


# --- single columns ---------------------------------------------------------------------------------------------------

MANY = np.arange(1, 301, dtype=float)
ONES = np.ones(300, dtype=np.int64)


@pytest.mark.parametrize("name", ["weight", "Gewicht", "wt", "body_weight", "final weight kg"])
def test_a_name_alone_makes_no_survey_weight_of_kilograms(name):
    kilograms = np.linspace(40, 160, 300)
    assert bool(weighs_rows(name, kilograms, ONES)) == ("final" in name)
    assert weighs_rows(name, kilograms / kilograms.mean(), ONES)


@pytest.mark.parametrize("name", ["fnlwgt", "PWGTP12", "pspwght", "survey_weight", "Hochrechnungsfaktor", "hh_wt"])
def test_names_of_survey_weights_are_known(name):
    assert weighs_rows(name, MANY, ONES).startswith("a survey weight")
    assert weighs_rows(name, MANY[:5], ONES[:5]) == ""  # a few classes
    assert weighs_rows(name, MANY - 20, ONES)  # replicates may lie below 0
    assert weighs_rows("weight", (MANY - 20) ** 3, ONES) == ""


@pytest.mark.parametrize("name", ["height", "wage", "swt_code", "weekday", "freight"])
def test_other_names_are_none(name):
    assert weighs_rows(name, MANY, ONES) == ""


def test_a_column_with_as_many_rows_for_each_value_numbers_people_and_one_by_chance_does_not():
    chance = np.random.default_rng(0).poisson(3, 2_000) + 1
    assert numbers_people("who", np.full(500, 4))
    assert numbers_people("who", chance) == ""
    assert numbers_people("patient_nbr", chance).startswith("it is called like a number of people")
    assert numbers_people("week", np.full(150, 2_000)) == ""  # more rows for each than there are values
    assert numbers_people("town_id", np.r_[chance, 5_000]) == ""  # one is frequent: places, not people


def test_a_column_repeats_the_secret_whatever_it_is_called_or_half_of_it_by_name():
    same, half = np.diag([300.0, 500.0]), np.array([[300.0, 20.0], [60.0, 500.0]])
    apart = np.array([[150.0, 150.0], [250.0, 250.0]])
    assert repeats("race", "code", same)
    assert repeats("race", "code", half) == ""
    assert repeats("race", "preRace", half)
    assert repeats("race", "preRace", apart) == ""
    assert repeats("a", "ab", half) == ""  # a letter is in most names


def test_chance_alone_tells_nothing_on_average():
    rng = np.random.default_rng(4)
    drawn = [told(rng.multinomial(1_000, np.full(60, 1 / 60)).reshape(2, 30).astype(float)) for _ in range(200)]
    assert abs(np.mean(drawn)) < 0.002  # 0.015 without the correction


def test_the_secret_is_the_column_itself_and_not_its_code():
    table = {"ward": ["A", "B"] * 100, "illness": ["flu", "none"] * 100, "illness_code": [1, 0] * 100}
    parts = {one.column: one for one in suggest(open_source(pa.table(table)))}
    assert parts["illness"].part == "secret"
    assert "repeats illness" in parts["illness_code"].how
