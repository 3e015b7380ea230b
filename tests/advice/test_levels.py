"""Levels: a coarser column reads rows as the merged codes say, and typing its option gives the same."""

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.advice.levels import levels
from privacyfunnel.tables.counting import count_table
from privacyfunnel.tables.fitting import Wishes

pa = pytest.importorskip("pyarrow")
rng = np.random.default_rng(5)
N = 900
TABLE = pa.table(
    {
        "ill": rng.choice(["yes", "no"], N),
        "town": pa.array([None if t == 11 else f"t{t}" for t in rng.integers(0, 12, N) * rng.integers(0, 2, N)]),
        "weight": pa.array([None if w < 5 else float(w) for w in rng.integers(0, 300, N)]),
        "born": [f"19{y}-{m:02}-01" for y, m in zip(rng.integers(80, 90, N), rng.integers(1, 13, N), strict=True)],
        "rooms": rng.integers(1, 11, N),
        "club": rng.choice(["a", "b"], N),
    }
)
NAMES = ["town", "weight", "born", "rooms", "club"]


def found(name, declared=False):
    counted = count_table(TABLE, "ill", NAMES, wishes=Wishes(dates={"born": "day"}))
    j = NAMES.index(name)
    codes = counted.joint.codes[:, j]
    people = np.bincount(codes, weights=counted.joint.weights.sum(axis=0), minlength=len(counted.joint.columns[j]))
    return levels(counted.attributes[j], people, declared)


@pytest.mark.parametrize("name", NAMES[:-1])
def test_a_coarser_column_reads_the_table_as_its_merged_codes_say(name):
    first, *coarser = found(name)
    assert coarser
    raw = TABLE.column(name).combine_chunks()
    for level in coarser:
        assert len(level) < len(first)
        assert np.array_equal(level.column.encode(raw), level.of[first.column.encode(raw)])


@pytest.mark.parametrize("name", NAMES[:-1])
def test_what_is_typed_for_a_level_gives_its_column(name):
    for level in found(name)[1:]:
        kind, value = level.wish
        joint = pf.Joint.from_table(TABLE, "ill", [name], **{kind: {name: value}})
        assert joint.columns[0].labels == level.column.labels
        assert joint.columns[0].edges == level.column.edges


def test_few_values_are_left_as_they_are():
    assert len(found("club")) == 1


def test_texts_of_a_declared_column_are_not_chosen_by_how_many_people_have_them():
    assert len(found("town", declared=True)) == 1
    assert len(found("weight", declared=True)) > 1
