"""Encoders: every value of a column finds its code, whatever kind of table it came in."""

import datetime
import decimal
import math
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from privacyfunnel.distribution.column import OPEN, OTHER, UNSEEN, Column, bin_labels, column_of
from privacyfunnel.errors import InvalidTable
from privacyfunnel.tables.counting import count_table
from privacyfunnel.tables.fitting import MOST_CATEGORIES, Wishes

SECRET = "secret"


def fit(values, *, name="x", **wishes):
    """The column fitted on raw values (a list becomes text, as in a CSV; an Arrow array stays typed)."""
    array = values if isinstance(values, pa.Array) else pa.array(values, pa.string())
    table = pa.table({SECRET: pa.array(["a", "b"] * len(array))[: len(array)], name: array})
    (fitted,) = count_table(table, SECRET, [name], wishes=Wishes(**wishes)).attributes
    return fitted


def codes(column, values, kind=None):
    return column.encode(pa.array(values, kind or pa.string())).tolist()


# --- categories, booleans ----------------------------------------------------------------------------


def test_a_category_keeps_its_values_in_order_with_missing_last():
    column = fit(["b", "", "a", None, "c"]).column
    assert (column.kind, column.labels) == ("text", ("a", "b", "c", None))
    assert codes(column, ["a", "b", "c", "", None, "d"]) == [0, 1, 2, 3, 3, UNSEEN]


def test_a_category_without_missing_values_has_no_code_for_them():
    assert codes(fit(["a", "b"]).column, ["a", None, ""]) == [0, UNSEEN, UNSEEN]


def test_text_is_compared_as_it_stands():
    column = fit(["a", " a", "A", "a ", "á"]).column
    assert len(column) == 5
    assert codes(column, list(column.labels)) == [0, 1, 2, 3, 4]


def test_words_for_missing_stay_categories_in_a_text_column():
    column = fit(["None", "?", "NA", "high"]).column
    assert set(column.labels) == {"None", "?", "NA", "high"}


def test_words_for_missing_are_missing_when_the_steward_says_so():
    column = fit(["None", "?", "NA", "high"], missing=("?", "NA")).column
    assert column.labels == ("None", "high", None)
    assert codes(column, ["?", "NA", "None"]) == [2, 2, 0]


def test_a_quote_in_a_word_for_missing_is_only_a_letter():
    assert fit(["it's", "a"], missing=("it's",)).column.labels == ("a", None)


def test_booleans_keep_true_and_false_and_missing():
    column = fit(pa.array([True, False, None])).column
    assert (column.kind, column.labels) == ("boolean", (False, True, None))
    assert codes(column, [True, False, None], pa.bool_()) == [1, 0, 2]
    assert codes(column, ["TRUE", "false", "", "yes"]) == [1, 0, 2, UNSEEN]


def test_an_entirely_missing_column_has_one_value():
    assert fit(["", ""]).column.labels == (None,)
    assert fit(pa.nulls(3)).column.labels == (None,)


# --- top k -------------------------------------------------------------------------------------------


def test_top_k_keeps_the_most_frequent_and_calls_the_rest_other():
    fitted = fit(["a"] * 3 + ["b"] * 2 + ["c", "d", ""], top={"x": 2})
    assert fitted.column.labels == ("a", "b", OTHER, None)
    assert codes(fitted.column, ["a", "b", "c", "never seen", None]) == [0, 1, 2, 2, 3]
    assert "2 most frequent of 4" in fitted.notice


def test_a_value_called_other_counts_with_the_others():
    column = fit([OTHER] * 5 + ["a", "a", "b"], top={"x": 1}).column
    assert column.labels == ("a", OTHER)
    assert codes(column, [OTHER, "a", "b"]) == [1, 0, 1]


def test_many_categories_are_cut_with_a_notice_that_suspects_an_identifier():
    fitted = fit([f"person {i}" for i in range(MOST_CATEGORIES + 1)])
    assert len(fitted.column) == MOST_CATEGORIES
    assert fitted.column.other
    assert "identifier" in fitted.notice


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 1, 1, 2, 3]),
        pa.array([1.0, 1.0, 1.0, 2.5, 3.0]),
        pa.array([0.1, 0.1, 0.1, 2.5, 3.0], pa.float32()),
        pa.array([datetime.date(2020, 1, 1)] * 3 + [datetime.date(2021, 1, 1), datetime.date(2022, 1, 1)]),
        pa.array([datetime.datetime(2020, 1, 1)] * 3 + [datetime.datetime(2021, 1, 1), datetime.datetime(2022, 1, 1)]),
    ],
    ids=lambda array: str(array.type),
)
def test_top_k_of_a_typed_column_finds_the_frequent_value(values):
    column = fit(values, top={"x": 1}).column
    assert column.encode(values).tolist() == [0, 0, 0, 1, 1]


# --- dates -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "labels"),
    [
        ("year", ("2023", "2024")),
        ("month", ("2023-12", "2024-01", "2024-02")),
        ("day", ("2023-12-31", "2024-01-01", "2024-02-29")),
    ],
)
def test_dates_are_kept_by(by, labels):
    days = ["2023-12-31", "2024-01-01", "2024-02-29"]
    typed = pa.array([datetime.date.fromisoformat(day) for day in days])
    times = pa.array([datetime.datetime.fromisoformat(day + "T23:59:59.999999") for day in days])
    column = fit(days, dates={"x": by}).column
    assert column.labels == labels
    expected = codes(column, days)
    assert UNSEEN not in expected
    for array in (typed, times, typed.cast(pa.date64()), times.cast(pa.timestamp("ns"))):
        assert fit(array, dates={"x": by}).column.labels == labels
        assert column.encode(array).tolist() == expected


def test_nanoseconds_of_a_time_do_not_hide_its_day():
    array = pa.array([1_700_000_000_123_456_789, None], pa.timestamp("ns"))
    assert fit(array, dates={"x": "day"}).column.labels == ("2023-11-14", None)


def test_dates_over_many_years_are_kept_by_year_and_over_few_by_month():
    assert fit(["2000-01-01", "2024-01-01"]).notice == "dates kept by year"
    assert fit(["2023-01-01", "2024-01-01"]).notice == "dates kept by month"


def test_white_space_around_dates_does_not_matter():
    for days in (["2023-01-01", " 2024-01-01"], ["2023-01-01", "\t2024-01-01"]):
        fitted = fit(days)
        assert fitted.notice == "dates kept by month"
        assert fitted.column.labels == ("2023-01", "2024-01")


def test_texts_that_are_neither_dates_nor_numbers_get_no_such_advice():
    assert "look like" not in fit(["1.1", "Ash, 5", "31.05.", "Birch"] * 3).notice


@pytest.mark.parametrize(
    ("values", "what"), [([f"{i}.5" for i in range(30)], "numbers"), ([f"20{i}-01-31" for i in range(10, 40)], "dates")]
)
def test_numbers_or_dates_with_a_few_other_texts_stay_texts_with_a_word_of_advice(values, what):
    fitted = fit([*values, "not said", "k.A."])
    assert fitted.column.kind == "text"
    assert f"most of them are {what}" in fitted.notice
    assert "(missing)" in fitted.notice
    assert "most of them" not in fit([*values, *[f"Ash {i}" for i in range(30)]]).notice
    assert "most of them" not in fit(values, top={"x": 3}).notice  # as was asked for


@pytest.mark.parametrize("wishes", [{"bins": {"x": 3}}, {"bins": {"x": "each"}}])
def test_texts_among_numbers_that_must_be_cut_are_refused_with_their_number(wishes):
    with pytest.raises(InvalidTable, match=r"2 values of column 'x' are no numbers.*--set missing="):
        fit([*AGES, "not said", "k.A.", "?"], **wishes)
    assert fit([*AGES, "not said", "k.A.", "?"], **wishes, missing=("not said", "k.A.")).column.labels[-1] is None


def test_texts_among_dates_that_must_be_kept_by_year_are_refused_with_their_number():
    with pytest.raises(InvalidTable, match=r"1 values of column 'x' are no dates.*--set missing="):
        fit(["2001-01-01", "2002-01-01", "k.A."], dates={"x": "year"})


def test_dates_cannot_be_cut_into_bins_and_the_message_says_what_can_be_done():
    with pytest.raises(InvalidTable, match=r"holds dates.*\(dates\).*column of the years"):
        fit(["2001-01-01", "2002-01-01"], bins={"x": 2})


def test_texts_that_differ_in_capitals_or_spaces_are_pointed_out():
    for values in (["Bonn", "BONN"], ["Bonn", "Bonn "], ["St. Ives", "St.  Ives"]):
        assert "only in capitals or spaces" in fit(values).notice
    assert "capitals" not in fit(["Bonn", "Köln", OTHER]).notice
    assert "capitals" not in fit(["Other"] * 5 + ["a", "b"], top={"x": 1}).notice


def test_the_notice_says_that_missing_is_one_of_the_values():
    assert "missing is a value of its own" in fit(["a", "b", ""]).notice
    assert "missing" not in fit(["a", "b"]).notice


def test_a_day_outside_the_fitted_ones_is_unseen():
    column = fit(["2024-01-01", "2024-02-01"]).column
    assert codes(column, ["2024-03-01", "no date", "2024-01-31"]) == [UNSEEN, UNSEEN, 0]


# --- numbers -----------------------------------------------------------------------------------------

AGES = [str(age) for age in range(18, 90)]


def test_numbers_are_cut_into_eight_bins_of_about_equal_counts():
    fitted = fit(AGES)
    counts = np.bincount(fitted.column.encode(pa.array(AGES)))
    assert fitted.column.kind == "bins"
    assert len(counts) == 8
    assert counts.min() >= 6
    assert "8 bins of about equal counts" in fitted.notice


def test_few_numbers_are_kept_as_they_are():
    assert fit(["3", "1", "2"]).column.labels == (1, 2, 3)
    assert fit(["3", "1.5", "2"]).column.labels == (1.5, 2.0, 3.0)


def test_given_edges_cut_at_the_edges_and_the_last_bin_is_closed():
    column = fit(["0", "17", "18", "120"], bins={"x": [0, 18, 30, 120]}).column
    assert column.labels == ("[0, 18)", "[18, 30)", "[30, 120]")
    assert codes(column, ["0", "17.999", "18", "29", "30", "120"]) == [0, 0, 1, 1, 2, 2]
    assert codes(column, ["-0.001", "120.001", "", "old"]) == [UNSEEN] * 4


def test_numbers_outside_given_edges_are_refused_with_their_count():
    with pytest.raises(InvalidTable, match="3 values of column 'x' lie outside"):
        fit(["1", "2", "3", "4"], bins={"x": [0, 1.5]})


def test_bins_of_equal_width_have_about_equal_width_and_round_edges():
    column = fit([str(v) for v in range(101)], bins={"x": "width:5"}).column
    assert column.edges == (-OPEN, 20.0, 40.0, 60.0, 80.0, OPEN)
    assert column.labels == ("<20", "[20, 40)", "[40, 60)", "[60, 80)", ">=80")
    rough = fit([str(v) for v in range(101)], bins={"x": "width:4"}).column
    assert np.abs(np.array(rough.edges[1:-1]) - [25, 50, 75]).max() <= 0.2 * 25


def test_quantile_bins_can_be_asked_for_by_number_or_by_word():
    assert fit(AGES, bins={"x": 3}).column == fit(AGES, bins={"x": "quantile:3"}).column
    assert len(fit(AGES, bins={"x": 3}).column) == 3
    assert len(fit(AGES, bins={"x": 1}).column) == 1


def test_edges_may_come_as_a_numpy_array_or_numpy_integers():
    assert fit(AGES, bins={"x": np.array([0, 50, 100])}).column.edges == (0.0, 50.0, 100.0)
    assert len(fit(AGES, bins={"x": np.int64(3)}).column) == 3


def test_each_number_can_be_kept():
    assert fit(AGES, bins={"x": "each"}).column.labels == tuple(range(18, 90))


def test_constant_numbers_need_at_most_two_bins():
    for bins in (4, "width:4"):
        column = fit(["7", "7", "7"], bins={"x": bins}).column
        assert len(column) <= 2
        assert codes(column, ["7"])[0] >= 0


@pytest.mark.parametrize("bins", ["7.5", "width:", "width:0", "quantile:-1", "quantile:²", "", [1], [2, 1], [1, 1]])
def test_nonsense_for_bins_is_refused(bins):
    with pytest.raises(InvalidTable, match=r"bins|edges"):
        fit(AGES, bins={"x": bins})


@pytest.mark.parametrize("edges", [[0, math.nan], [0, math.inf], [math.nan, 1]])
def test_edges_that_are_not_finite_are_refused(edges):
    with pytest.raises(InvalidTable, match="edges"):
        fit(AGES, bins={"x": edges})


@pytest.mark.parametrize("top", [0, -1])
def test_at_least_one_value_must_be_kept(top):
    with pytest.raises(InvalidTable, match="at least one"):
        fit(["a"], top={"x": top})


def test_all_ways_to_write_a_number_mean_it():
    column = fit(["5", "+5", " 5 ", "5.0", "5.", "50e-1", "0.05E+2", "1e3", "1000", "-.5", "-0.5"]).column
    assert column.labels == (-0.5, 5.0, 1000.0)
    assert codes(column, ["+5", "5.", "\t5", "1E3", "+1000.0", "-0.50"]) == [1, 1, 1, 2, 2, 0]


def test_zero_is_zero_whatever_its_sign():
    column = fit(["0.0", "-0.0", "1.5"]).column
    assert len(column) == 2
    assert codes(column, ["0", "-0", "+0.0", "0e5"]) == [0, 0, 0, 0]


def test_huge_integers_do_not_break_the_reading():
    values = ["9223372036854775807", "123456789012345678901234567890", "-9223372036854775808", "5"]
    column = fit(values).column
    assert UNSEEN not in codes(column, values)
    assert UNSEEN not in fit(pa.array([2**64 - 1, 1, 2], pa.uint64())).column.encode(
        pa.array([2**64 - 1, 1, 2], pa.uint64())
    )


def test_an_integer_too_large_for_the_column_is_unseen():
    column = fit(["1", "2"]).column
    assert column.encode(pa.array([1, 2**64 - 1], pa.uint64())).tolist() == [0, UNSEEN]
    assert codes(column, ["99999999999999999999999"]) == [UNSEEN]
    assert column.encode(pa.array([1.0, 1e300, 1.5])).tolist() == [0, UNSEEN, UNSEEN]


def test_a_number_beyond_floating_point_is_refused_with_a_clear_error_or_kept():
    try:
        column = fit(["1e400", "1", "2.5"]).column
    except InvalidTable:
        return
    assert UNSEEN not in codes(column, ["1e400", "1", "2.5"])


def test_a_number_beyond_floating_point_is_unseen_later():
    assert codes(fit(["1", "2.5"]).column, ["1e400", "-1e999", "1"]) == [UNSEEN, UNSEEN, 0]


def test_markers_among_numbers_are_missing_and_the_notice_says_so():
    fitted = fit([*AGES, "?", "NA"])
    assert fitted.column.kind == "bins"
    assert fitted.column.labels[-1] is None
    assert codes(fitted.column, ["?", "NA", ""]) == [len(fitted.column) - 1] * 3
    assert "'?'" in fitted.notice
    assert "'NA'" in fitted.notice
    assert codes(fitted.column, ["null"]) == [UNSEEN]


def test_a_column_with_one_word_that_is_no_number_is_text():
    assert fit([*AGES[:20], "many"]).column.kind == "text"


def test_a_column_that_is_mostly_markers_is_text():
    assert fit(["1", "?", "?", "?"]).column.kind == "text"


def test_nan_and_none_are_missing_in_typed_columns():
    column = fit(pa.array([1.5, math.nan, None])).column
    assert column.labels == (1.5, None)
    assert column.encode(pa.array([math.nan, None, 1.5])).tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([0.1, 0.2, 0.3, 1.1], pa.float32()),
        pa.array([decimal.Decimal(text) for text in ("0.10", "0.30", "1.10", "2.30")]),
        pa.array([1, 2, 3], pa.int8()),
        pa.array([1.0, math.inf, -math.inf, math.nan]),
        pa.array([datetime.time(1, 2, 3), datetime.time(4, 5, 6)]),
        pa.array([b"abc", b"\xff\x00"]),
        pa.array([datetime.timedelta(days=1), datetime.timedelta(hours=2)]),
        pa.array(["a", "b", None]).dictionary_encode(),
        pa.array([1, 2, None]).dictionary_encode(),
        pa.array(["a", "b"], pa.large_string()),
        pa.array(["a", "b"], pa.string_view()),
        pa.array([datetime.datetime(2020, 1, 1, 23)] * 2, pa.timestamp("s", tz="Asia/Tokyo")),
    ],
    ids=lambda array: str(array.type),
)
def test_a_typed_column_is_encoded_without_loss_or_refused_in_words(values):
    try:
        column = fit(values).column
    except InvalidTable as refused:
        if "when fitting" in str(refused):  # it has just been fitted on these very values
            raise
        return
    found = column.encode(values)
    assert (found >= 0).all()
    present = [value for value in values.to_pylist() if value is not None and value == value]
    assert len(set(found.tolist())) == len(set(present)) + (len(present) < len(values))


@pytest.mark.parametrize("bins", [None, {"x": 2}])
def test_a_number_that_means_missing_means_it_in_typed_columns_too(bins):
    wishes = {"missing": ("999",), **({"bins": bins} if bins else {})}
    text = fit(["1", "2", "999", "3"], **wishes).column
    typed = fit(pa.array([1, 2, 999, 3]), **wishes).column
    assert text.labels == typed.labels
    assert codes(text, ["999"]) == [text.labels.index(None)]
    assert typed.encode(pa.array([999])).tolist() == [typed.labels.index(None)]


def test_texts_for_missing_given_as_one_word_are_not_taken_letter_by_letter():
    from privacyfunnel.distribution.joint import Joint

    table = pd.DataFrame({SECRET: ["a", "b"] * 2, "x": ["N", "A", "NA", "b"]})
    try:
        joint = Joint.from_table(table, SECRET, missing="NA")
    except (TypeError, InvalidTable):
        return
    assert joint.columns[0].labels == ("A", "N", "b", None)


# --- the same codes from every kind of table ---------------------------------------------------------


def test_text_and_typed_sources_give_the_same_codes(tmp_path):
    number = [3, 1, None, 2, 40, 5, 6, 7, 8, 9, 10, 11, 12, 13]
    real = [0.5, None, 1.25, -3.0, 1e3, 7.0, 8.0, 9.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.5]
    day = [None if i == 4 else datetime.date(2019 + i % 5, 1 + i % 12, 1 + i) for i in range(14)]
    word = ["a", "b", None, "a b", 'q"', "é", "x,y", "new\nline", "a", "b", "a", "a", "b", "b"]
    typed = pa.table({SECRET: ["s", "t"] * 7, "number": number, "real": real, "day": day, "word": word})
    pq.write_table(typed, tmp_path / "typed.parquet")
    pd.DataFrame(typed.to_pydict()).astype({"number": "Int64"}).to_csv(tmp_path / "text.csv", index=False)
    sources = [
        tmp_path / "text.csv",
        tmp_path / "typed.parquet",
        typed,
        typed.to_pandas(),
        pl.from_arrow(typed),
        typed.cast(pa.schema([(f.name, pa.large_string() if f.name == "word" else f.type) for f in typed.schema])),
    ]
    names = ["number", "real", "day", "word"]
    found = []
    for source in sources:
        counted = count_table(source, SECRET, names, wishes=Wishes(bins={"real": [-3, 0, 1.25, 1000]}))
        found.append(counted)
    first = found[0]
    for other in found[1:]:
        assert [f.column.edges for f in other.attributes] == [f.column.edges for f in first.attributes]
        assert np.array_equal(other.joint.codes, first.joint.codes)
        assert np.array_equal(other.joint.weights, first.joint.weights)
    columns = [f.column for f in first.attributes]
    text = pa.Table.from_pandas(pd.read_csv(tmp_path / "text.csv", dtype=str, keep_default_na=False))
    for column in columns:
        by_text = column.encode(text[column.name].combine_chunks())
        by_type = column.encode(typed[column.name].combine_chunks())
        assert by_text.tolist() == by_type.tolist()
        assert UNSEEN not in by_text


# --- properties --------------------------------------------------------------------------------------

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
labels = st.one_of(
    st.tuples(st.just("text"), st.sets(words, min_size=1, max_size=12)),
    st.tuples(st.just("integer"), st.sets(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=12)),
    st.tuples(st.just("number"), st.sets(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=12)),
    st.tuples(st.just("boolean"), st.sets(st.booleans(), min_size=1)),
    st.tuples(st.just("day"), st.sets(st.dates().map(str), min_size=1, max_size=12)),
)


@given(labels, st.booleans())
def test_encoding_the_labels_is_the_identity(kind_and_labels, missing):
    kind, values = kind_and_labels
    listed = (*sorted(values), None) if missing else tuple(sorted(values))
    column = Column(name="x", kind=kind, labels=listed)
    released = column.released_values
    assert column.encode(released).tolist() == list(range(len(values)))
    assert column.encode(released.dictionary_encode()).tolist() == list(range(len(values)))
    assert column.encode(pa.nulls(1, released.type)).tolist() == [len(values) if missing else UNSEEN]


def test_a_whole_number_that_float64_does_not_hold_exactly_is_no_label_of_a_column_of_numbers():
    assert Column(name="x", kind="number", labels=(2**53 - 1, 0.5)).encode(pa.array([0.5])).tolist() == [1]
    with pytest.raises(ValidationError, match="not of its kind"):
        Column(name="x", kind="number", labels=(2**53 + 1, 0.5))


@given(st.sets(st.integers(-(10**15), 10**15), min_size=1, max_size=12))
def test_integers_written_as_text_find_their_labels(values):
    column = Column(name="x", kind="integer", labels=tuple(sorted(values)))
    assert codes(column, [f"{value:+d} " for value in sorted(values)]) == list(range(len(values)))


edges = st.lists(
    st.floats(-1e6, 1e6) | st.integers(-100, 100).map(float), min_size=2, max_size=8, unique_by=lambda x: x + 0.0
).map(sorted)


@given(edges, st.lists(st.floats(allow_nan=False) | st.integers(-110, 110).map(float), max_size=30))
def test_every_number_falls_into_exactly_the_bin_that_contains_it(cuts, numbers):
    column = Column(name="x", kind="bins", edges=tuple(cuts), labels=bin_labels(cuts))
    numbers = [*numbers, *cuts]
    for number, code in zip(numbers, codes(column, numbers, pa.float64()), strict=True):
        containing = [
            i
            for i, (low, high) in enumerate(pairwise(cuts))
            if low <= number < high or (number == high and i == len(cuts) - 2)
        ]
        assert [code] == (containing or [UNSEEN])


@settings(max_examples=20)
@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=60), st.integers(1, 12), st.sampled_from("qw"))
def test_automatic_bins_hold_every_number_they_were_fitted_on(numbers, count, how):
    array = pa.array(numbers, pa.float64())
    column = fit(array, bins={"x": count if how == "q" else f"width:{count}"}).column
    found = column.encode(array)
    assert found.min() >= 0
    assert len(column) <= count + 1
    order = np.argsort(numbers)
    assert (np.diff(found[order]) >= 0).all()


@settings(max_examples=10)
@given(st.lists(st.integers(0, 10**6), min_size=400, max_size=400, unique=True), st.integers(2, 10))
def test_quantile_bins_of_different_numbers_have_about_equal_counts(numbers, count):
    column = fit(pa.array(numbers), bins={"x": count}).column
    people = np.bincount(column.encode(pa.array(numbers)), minlength=count)
    assert len(people) == count
    assert people.max() < 2.5 * 400 / count
    assert people.min() > 0


# --- what a column may be ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "text", "labels": ()},
        {"kind": "text", "labels": ("a", "a")},
        {"kind": "number", "labels": (math.inf,)},
        {"kind": "number", "labels": (math.nan,)},
        {"kind": "bins", "labels": ("a",), "edges": (1.0, 1.0)},
        {"kind": "bins", "labels": ("a",), "edges": (1.0, 2.0, 3.0)},
        {"kind": "bins", "labels": (None, "a"), "edges": (1.0, 2.0)},
        {"kind": "text", "labels": ("a",), "other": True},
        {"kind": "roman", "labels": ("a",)},
        {"kind": "text", "labels": ("a",), "colour": "red"},
        {"kind": "integer", "labels": ("a",)},
        {"kind": "integer", "labels": (10**30,)},
        {"kind": "boolean", "labels": ("true",)},
        {"kind": "text", "labels": (1,)},
        {"kind": "number", "labels": ("1.5",)},
        {"kind": "year", "labels": (2024,)},
    ],
    ids=str,
)
def test_a_column_that_makes_no_sense_is_refused(fields):
    with pytest.raises(ValidationError):
        Column(name="x", **fields)


@pytest.mark.parametrize(
    ("values", "kind"), [([3, 1, 3], "integer"), ([0.5, 0.25], "number"), (["b", "a"], "text"), ([True], "boolean")]
)
def test_the_column_of_an_array_has_its_values_as_labels(values, kind):
    column, found = column_of("x", np.array(values))
    assert column.kind == kind
    assert [column.labels[code] for code in found] == values
