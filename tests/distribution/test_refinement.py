"""Refinement: values of an earlier column are read from those of a finer one, or the later column is refused."""

import pytest

from privacyfunnel.distribution.column import Column, bin_labels
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
