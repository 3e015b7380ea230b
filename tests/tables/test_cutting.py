"""Cutting: numbers that many people share keep a bin of their own, and no column becomes one value in silence."""

import gzip
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from privacyfunnel.tables.counting import count_table
from privacyfunnel.tables.fitting import Wishes


def fitted(numbers, bins=None):
    table = pa.table({"s": ["a", "b"] * (len(numbers) // 2) + ["a"] * (len(numbers) % 2), "x": numbers})
    (found,) = count_table(table, "s", wishes=Wishes({} if bins is None else {"x": bins})).attributes
    return found


def test_a_number_that_most_have_gets_a_bin_of_its_own():
    found = fitted([0] * 900 + list(range(5000, 5100)))
    assert found.column.labels == ("<1", ">=1")
    assert found.notice.startswith("2 bins of about equal counts; 0 by itself")


def test_a_frequent_number_in_the_middle_is_alone_in_its_bin():
    hours = [40] * 500 + [h for h in range(1, 90) for _ in range(6) if h != 40]
    column = fitted(hours).column
    assert "[40, 41)" in column.labels
    alone = column.encode(pa.array(hours)) == column.labels.index("[40, 41)")
    assert alone.tolist() == [h == 40 for h in hours]
    assert len(column) <= 8


def test_frequent_fractions_end_at_a_number_with_few_digits_and_before_the_next():
    rng = np.random.default_rng(0)
    column = fitted([0.25] * 500 + (1 + rng.random(200)).tolist()).column
    assert 0.25 < column.edges[1] <= 1
    assert len(str(column.edges[1])) <= 3


def test_more_bins_cut_the_others_finer():
    numbers = [0] * 900 + list(range(5000, 5100))
    assert len(fitted(numbers, 50).column) > len(fitted(numbers, 20).column) > len(fitted(numbers, 8).column)


@pytest.mark.parametrize("bins", [1, "width:1"])
def test_a_column_of_one_bin_is_pointed_out(bins):
    found = fitted(list(range(100)), bins)
    assert found.column.labels == ("any number",)
    assert "tells nothing" in found.notice


@pytest.mark.parametrize("seed", range(20))
def test_every_number_falls_into_a_bin_and_no_bin_is_empty(seed):
    rng = np.random.default_rng(seed)
    numbers = np.round(rng.choice([rng.normal(), 3, -7], 400) + rng.normal(size=400) * rng.integers(0, 2, 400), 2)
    column = fitted(numbers.tolist(), int(rng.integers(2, 30))).column
    codes = column.encode(pa.array(numbers))
    assert set(codes.tolist()) == set(range(len(column)))


def test_capital_gains_of_adult_do_not_vanish(shared):
    table = pd.read_csv(io.BytesIO(gzip.decompress((shared / "data" / "adult.csv.gz").read_bytes())), dtype=str)
    gain = next(name for name in table.columns if "gain" in name)
    table = table[[gain]].assign(s=["a", "b"] * (len(table) // 2) + ["a"] * (len(table) % 2))
    (found,) = count_table(table, "s").attributes
    assert found.column.labels == ("<1", ">=1")
