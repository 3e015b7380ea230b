"""Groups: texts that are read as one value, in every table and in files, and told from all others."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from privacyfunnel.distribution.column import UNSEEN, Column, Group, grouped
from privacyfunnel.distribution.refinement import read_from
from privacyfunnel.errors import InvalidInput

TOWNS = Column(name="town", kind="text", labels=("Ash", "Birch", "Clay", "Dale", None))
NORTH = {"north": ["Ash", "Clay", "Elm"]}


def test_a_group_is_read_as_one_value_and_all_else_as_before():
    coarse, of = grouped(TOWNS, NORTH)
    assert coarse.labels == ("north", "Birch", "Dale", None)
    assert of.tolist() == [0, 1, 0, 2, 3]
    read = coarse.encode(pa.array(["Clay", "Birch", None, "Elm", "north", "Fen"]))
    assert read.tolist() == [0, 1, 3, 0, 0, UNSEEN]


@given(st.lists(st.sampled_from(["Ash", "Birch", "Clay", "Dale", None]), max_size=20), st.data())
def test_codes_are_merged_as_rows_are_read(rows, data):
    names = data.draw(st.lists(st.sampled_from(["u", "v", None]), min_size=4, max_size=4))
    groups: dict[str, list[str]] = {}
    for town, name in zip(TOWNS.labels, names, strict=False):
        if name is not None:
            groups.setdefault(name, []).append(str(town))
    coarse, of = grouped(TOWNS, groups)
    array = pa.array(rows, pa.string())
    assert coarse.encode(array).tolist() == of[TOWNS.encode(array)].tolist()
    assert read_from(TOWNS, coarse).tolist() == of.tolist()


def test_groups_of_groups_hold_all_their_texts():
    once, _ = grouped(TOWNS, NORTH)
    twice, of = grouped(once, {"land": ["north", "Dale"]})
    assert twice.labels == ("land", "Birch", None)
    assert of.tolist() == [0, 1, 0, 2]
    assert twice.encode(pa.array(["Elm", "Dale", "Birch"])).tolist() == [0, 0, 1]
    assert read_from(once, twice).tolist() == of.tolist()


def test_other_stays_before_missing_and_behind_groups_that_nobody_has():
    column = Column(name="town", kind="text", labels=("Ash", "other", None), other=True)
    coarse, of = grouped(column, {"far": ["Elm"]})
    assert coarse.labels == ("Ash", "far", "other", None)
    assert of.tolist() == [0, 2, 3]
    assert coarse.encode(pa.array(["Elm", "Fen"])).tolist() == [1, 2]


def test_a_file_has_groups_and_one_without_them_is_what_it_was():
    coarse, _ = grouped(TOWNS, NORTH)
    again = Column.model_validate_json(json.dumps(coarse.model_dump()))
    assert again == coarse
    assert again.groups == (Group(label="north", values=("Ash", "Clay", "Elm")),)
    assert "groups" not in TOWNS.model_dump()
    assert "groups" not in json.loads(TOWNS.model_dump_json())


@pytest.mark.parametrize(
    "groups",
    [
        [("north", ("Ash",))],  # Ash has a label of its own
        [("north", ("Elm", "Elm"))],
        [("north", ("Elm",)), ("far", ("Elm",))],
        [("south", ("Elm",))],  # which is no label
        [("north", ("",))],
        [("north", ("?",))],
        [("north", ("north",))],
    ],
)
def test_groups_that_contradict_the_column_are_refused(groups):
    listed = tuple(Group(label=label, values=values) for label, values in groups)
    with pytest.raises(ValidationError):
        Column(name="town", kind="text", labels=("north", "far", "Ash"), missing=("?",), groups=listed)
    with pytest.raises(ValidationError):
        Column(name="age", kind="integer", labels=(1, 2), groups=(Group(label="1", values=("3",)),))


def test_the_name_of_a_group_is_none_of_the_values():
    with pytest.raises(ValueError, match="name of a group"):
        grouped(TOWNS, {"Birch": ["Ash", "Clay"]})


def test_a_finer_column_is_read_as_groups_and_one_that_lies_across_is_refused():
    north, _ = grouped(TOWNS, {"north": ["Ash", "Clay"]})
    other, _ = grouped(TOWNS, {"east": ["Ash", "Birch"]})
    assert read_from(north, north).tolist() == np.arange(4).tolist()
    with pytest.raises(InvalidInput, match="not cut more finely"):
        read_from(north, other)
