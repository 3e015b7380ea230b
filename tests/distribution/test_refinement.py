"""Refinement: values of an earlier column are read from those of a finer one, or the later column is refused."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacyfunnel.distribution.column import UNSEEN, Column, Group, bin_labels
from privacyfunnel.distribution.refinement import read_from
from privacyfunnel.errors import InvalidInput


def bins(*edges, missing=False):
    labels = (*bin_labels(edges), *([None] if missing else []))
    return Column(name="age", kind="bins", labels=labels, edges=tuple(map(float, edges)))


def texts(*labels, other=False):
    return Column(name="town", kind="text", labels=labels, other=other)


def test_the_same_column_is_read_as_it_is():
    assert read_from(texts("a", "b"), texts("a", "b")).tolist() == [0, 1]


def test_ranges_within_ranges_are_read_as_those():
    assert read_from(bins(0, 10, 20, 30, 40), bins(0, 20, 40)).tolist() == [0, 0, 1, 1]


def test_a_range_across_a_border_is_refused():
    with pytest.raises(InvalidInput, match="not cut more finely"):
        read_from(bins(0, 15, 40), bins(0, 20, 40))


def test_the_upper_end_of_the_last_range_belongs_to_it():
    with pytest.raises(InvalidInput, match="not cut more finely"):
        read_from(bins(0, 10, 20), bins(0, 20, 40))  # 20 itself is in the next range of the earlier column
    assert read_from(bins(0, 10, 20), bins(0, 20)).tolist() == [0, 0]


def test_a_range_outside_of_all_has_none():
    assert read_from(bins(50, 60), bins(0, 20, 40)).tolist() == [-1]
    with pytest.raises(InvalidInput, match="not cut more finely"):
        read_from(bins(0, 20, 40, 60), bins(0, 20, 40))  # 40 itself was in the last range before


def test_missing_values_are_missing():
    assert read_from(bins(0, 10, 20, missing=True), bins(0, 20, missing=True)).tolist() == [0, 0, 1]
    assert read_from(bins(0, 10, 20, missing=True), bins(0, 20)).tolist() == [0, 0, -1]


def test_numbers_are_put_into_ranges():
    fine = Column(name="age", kind="integer", labels=(5, 20, 99))
    assert read_from(fine, bins(0, 20, 40)).tolist() == [0, 1, -1]


def test_values_without_a_label_of_their_own_were_others():
    assert read_from(texts("a", "b", "c"), texts("a", "other", other=True)).tolist() == [0, 1, 1]
    assert read_from(texts("a", "b", "other", other=True), texts("a", "other", other=True)).tolist() == [0, 1, 1]
    assert read_from(texts("a", "b"), texts("a")).tolist() == [0, -1]


def test_others_that_may_hold_an_earlier_value_are_refused():
    with pytest.raises(InvalidInput, match="not cut more finely"):
        read_from(texts("a", "other", other=True), texts("a", "b", "other", other=True))


def test_days_are_read_as_their_months_and_years():
    days = Column(name="born", kind="day", labels=("2001-02-03", "2001-02-28", "2002-01-01"))
    months = Column(name="born", kind="month", labels=("2001-02", "2002-01"))
    years = Column(name="born", kind="year", labels=("2001", "2002"))
    assert read_from(days, months).tolist() == [0, 0, 1]
    assert read_from(days, years).tolist() == [0, 0, 1]
    with pytest.raises(InvalidInput, match="not cut more finely"):
        read_from(years, months)


NUMBERS = ("-1", "0", "5", "5.0", "20", "40", "99")
TEXTS = ("NA", "?", "Ash", "Birch", "Cole", "other", "north", "true")
DAYS = ("2001-02-03", "2001-02-28", "2002-01-01", "2002-01-01T10:00", "2001", "2001-02")
ENTRIES = pa.array(["", *NUMBERS, *TEXTS, *DAYS])
"""Whatever may stand in a table."""


@st.composite
def columns(draw):
    """A column that reads some of these entries, in any way in which a column may be read."""
    kind = draw(st.sampled_from(["text", "text", "text", "integer", "number", "bins", "year", "month", "day"]))
    missing = tuple(draw(st.lists(st.sampled_from(["NA", "?", "-1"]), unique=True, max_size=2)))
    there = draw(st.booleans())
    if kind == "bins":
        inner = sorted(draw(st.sets(st.sampled_from([-1.0, 0.0, 5.0, 20.0, 40.0, 100.0]), min_size=1, max_size=4)))
        edges = draw(st.sampled_from([(*inner, 1e308), (-1e308, *inner), (-1e308, *inner, 1e308)]))
        labels = (*bin_labels(edges), *([None] if there else []))
        return Column(name="c", kind=kind, edges=edges, labels=labels, missing=missing)
    pool = {
        "text": [text for text in (*TEXTS, "5", "2001") if text not in missing],
        "integer": [-1, 0, 5, 20, 99],
        "number": [-1.0, 0.0, 5.0, 20.0, 99.0],
        "year": ["2001", "2002"],
        "month": ["2001-02", "2002-01"],
        "day": ["2001-02-03", "2001-02-28", "2002-01-01"],
    }[kind]
    own = draw(st.lists(st.sampled_from(pool), unique=True, min_size=1, max_size=5))
    other, groups = kind == "text" and draw(st.booleans()), ()
    own = [label for label in own if not other or label != "other"] or ["Ash"]
    members = [text for text in ("Ash", "Birch", "Cole", "NA") if text not in own and text not in missing]
    if kind == "text" and members and "north" not in own and draw(st.booleans()):
        groups = (Group(label="north", values=tuple(members[: draw(st.integers(1, len(members)))])),)
        own.append("north")
    labels = (*own, *(["other"] if other else []), *([None] if there else []))
    return Column(name="c", kind=kind, labels=labels, other=other, groups=groups, missing=missing)


@settings(max_examples=300)
@given(columns(), columns())
def test_an_entry_is_read_from_a_finer_column_as_the_earlier_one_reads_it(fine, coarse):
    """Whatever stands in a table: what proof says the earlier protocol drew from is what it drew from, or refused."""
    try:
        found = read_from(fine, coarse)
    except InvalidInput:
        return
    for entry, own, then in zip(ENTRIES.to_pylist(), fine.encode(ENTRIES), coarse.encode(ENTRIES), strict=True):
        # The text of a group's name is read as the group by the one column, and may be nothing to the other.
        if own >= 0 and found[own] >= 0 and entry != "north":
            assert then in (found[own], UNSEEN), (entry, fine, coarse)


def test_numbers_that_were_texts_among_others_are_refused():
    codes = Column(name="code", kind="text", labels=("1", "2", "other"), other=True)
    with pytest.raises(InvalidInput, match="not cut more finely"):
        read_from(Column(name="code", kind="integer", labels=(1, 2, 3)), codes)  # 1 was no other


def test_a_text_that_meant_missing_and_is_a_value_is_refused_and_the_other_way_round():
    towns = Column(name="town", kind="text", labels=("Ash", "other", None), other=True)
    told = Column(name="town", kind="text", labels=("Ash", "NA", "other", None), other=True)
    marked = towns.model_copy(update={"missing": ("NA",)})
    for fine, coarse in ((told, marked), (marked, towns), (towns, marked)):
        with pytest.raises(InvalidInput, match=r"read it as it was \(missing\)"):
            read_from(fine, coarse)
    assert read_from(told, towns).tolist() == [0, 1, 1, 2]


def test_others_that_hold_a_text_of_an_earlier_group_are_refused():
    north = Group(label="north", values=("Ash", "Birch"))
    grouped = Column(name="town", kind="text", labels=("north", "other"), other=True, groups=(north,))
    part = north.model_copy(update={"values": ("Ash",)})
    with pytest.raises(InvalidInput, match="not cut more finely"):
        read_from(grouped.model_copy(update={"groups": (part,)}), grouped)  # Birch is an other now
