"""The model of filled columns: what it counts, how much a row moves it, and that it knows people by noise only."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from filled_people import FILLED, filled, kept, people
from privacyfunnel.distribution.column import Column
from privacyfunnel.model.columns import by_date, by_label, by_number, cells_of
from privacyfunnel.model.fitting import SENSITIVITY, _outliers, _Rows, _without, fit_fill, grouped
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.file import to_text
from privacyfunnel.protocols.shrinking import in_parts, nearest_counts, raked, shrunk


def score(a, b):
    rows = _Rows({"a": a, "b": b}, {"a": 3, "b": 4}, 0.0, 1.0, len(a))
    return rows._score(("a", "b"))


@given(st.integers(2, 12), st.integers(0, 10**6))
def test_one_changed_row_moves_a_score_by_no_more_than_is_said(n, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 3, n), rng.integers(0, 4, n)
    before = score(a, b)
    a[0], b[0] = rng.integers(0, 3), rng.integers(0, 4)
    assert abs(score(a, b) - before) <= SENSITIVITY + 2 / n + 1e-9


def test_a_row_can_move_a_score_by_nearly_as_much():
    n = 1_000
    a, b = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    before = score(a, b)
    a[0], b[0] = 1, 1
    assert score(a, b) - before > 1.9


class Replayed:
    """The noise of a first fit, drawn again for others."""

    def __init__(self, monkeypatch):
        self.drawn, self.place = [], None
        for name in ("gaussian_noised", "noisy_largest"):
            own = __import__("privacyfunnel.model.fitting", fromlist=[name])
            monkeypatch.setattr(own, name, self.by(getattr(own, name)))

    def by(self, mechanism):
        def draw(*given):
            if self.place is None:
                self.drawn.append(mechanism(*given))
                return self.drawn[-1]
            self.place += 1
            return self.drawn[self.place - 1]

        return draw


def test_the_same_noisy_tables_and_choices_give_the_same_fill_whoever_was_counted(monkeypatch):
    table = people(1_500)
    protocol = kept(table)
    replayed = Replayed(monkeypatch)
    first = to_text(filled(table, protocol))
    assert len(replayed.drawn) > 10
    other = table
    order = np.random.default_rng(2).permutation(len(table))
    for name in FILLED:  # the same values and numbers of people, gone with other columns
        other = other.set_column(table.schema.get_field_index(name), name, table[name].take(order))
        order = np.random.default_rng(len(name)).permutation(len(table))
    replayed.place = 0
    assert to_text(filled(other, protocol)) == first
    assert replayed.place == len(replayed.drawn)
    replayed.place = None
    assert to_text(filled(other, protocol)) != first


def test_with_hardly_any_noise_pairs_of_columns_are_as_in_the_table():
    rng = np.random.default_rng(0)
    n = 20_000
    a = rng.integers(0, 3, n)
    b = (a + rng.integers(0, 2, n)) % 3
    column = by_label(Column(name="b", kind="text", labels=("p", "q", "r")))
    fill = fit_fill({"a": (a, 3)}, [column], {"b": b}, ["a", "b"], 50.0, 1e-3, 0.1, 0.1)
    (one,) = fill.filled
    assert one.parents == ("a",)
    table = np.zeros((3, 3))
    np.add.at(table, (a, b), 1)
    assert np.abs(one.weights / UNIT - table / table.sum(axis=1, keepdims=True)).max() < 0.02


def test_nothing_to_fill_is_no_fill():
    assert fit_fill({"a": (np.zeros(5, dtype=np.int64), 1)}, [], {}, ["a"], 1.0, 1e-6, 0.5, 1.0) is None


def test_a_range_is_counted_in_parts_that_follow_from_its_borders():
    column = Column(name="x", kind="bins", edges=(0, 10, 20, 1e308), labels=("a", "b", "c", None))
    counted = by_number(column, 0, 4, False)
    first = [(code, a, b) for code, a, b in zip(counted.code, counted.first, counted.last, strict=True) if code == 0]
    assert [part[1:] for part in first] == [(0, 1), (2, 4), (5, 7), (8, 9)]
    assert counted.code[-1] == counted.gone == 3
    open_end = counted.first[counted.code == 2]
    assert open_end[0] == 20
    assert (np.diff(open_end) > 0).all()
    found = cells_of(counted, np.array([0, 0, 2, 3]), np.array([0, 9, 1e9, np.nan]))
    assert found[0] == 0
    assert found[1] == 3
    assert counted.code[found[2]] == 2
    assert found[3] == len(counted) - 1


def test_numbers_below_nothing_are_counted_apart():
    column = Column(name="x", kind="bins", edges=(-1e308, 5, 10, 1e308), labels=("a", "b", "c"))
    counted = by_number(column, 0, 4, False)
    below = counted.code == 0
    assert ((counted.last[below] < 0) | (counted.first[below] >= 0)).all()


def test_a_month_is_written_as_its_days():
    counted = by_date(Column(name="m", kind="month", labels=("2024-02", None)))
    assert (counted.last - counted.first)[0] == 28
    assert counted.gone == 1


def test_rare_values_are_put_together_and_missing_ones_are_not():
    column = by_label(Column(name="x", kind="text", labels=("a", "b", "c", "d", None)))
    groups = grouped(column, np.array([900.0, 5, 800, 3, 2]), 10.0)
    assert groups[1] == groups[3]
    assert len({groups[0], groups[2], groups[1], groups[4]}) == 4


def test_neighbours_are_put_together():
    column = by_number(Column(name="x", kind="bins", edges=(0, 4, 8), labels=("a", "b")), 0, 4, False)
    groups = grouped(column, np.array([1.0, 1, 1, 100, 100, 1, 1, 1]), 5.0)
    assert (np.diff(groups) >= 0).all()
    assert groups[0] == groups[2]
    assert groups.max() == 1


def test_noise_is_shrunk_away_and_signal_is_not():
    rng = np.random.default_rng(1)
    alone = np.array([600.0, 400.0])
    nothing = shrunk(np.outer([500, 500], [0.6, 0.4]) + rng.normal(0, 30, (2, 2)), alone, 900.0, 1_000)
    assert np.abs(nothing - [0.6, 0.4]).max() < 0.1
    signal = shrunk(np.array([[4_900.0, 100], [1_000, 4_000]]), alone, 100.0, 10_000)
    assert signal[0] == pytest.approx([0.98, 0.02], abs=0.02)


def test_a_filled_column_has_the_shares_of_its_own_noisy_counts_whatever_its_table_says():
    rng = np.random.default_rng(4)
    given, alone = np.array([30_000.0, 15_000, 5_000]), np.array([20_000.0, 15_000, 10_000, 4_900, 100])
    tied = np.array([[1.2, 0.9, 0.7, 1.1, 1], [0.7, 1.2, 1.4, 0.8, 1], [0.7, 1.0, 1.6, 1.0, 1]])
    table = np.outer(given, alone / 50_000) * tied + rng.normal(0, 90, (3, 5))
    chances = shrunk(table, alone, 90.0**2, 50_000)
    have = nearest_counts(table.sum(axis=1), 50_000) @ chances
    assert np.abs(have - alone).max() < 1
    assert chances.sum(axis=1) == pytest.approx(np.ones(3))
    kept = raked(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([1.0, 3.0]), np.array([2.5, 1.5]))
    odds = kept[:, 0] / kept[:, 1]
    assert odds[0] / odds[1] == pytest.approx(36)  # what columns have to do with each other stays
    assert np.array([1.0, 3.0]) @ kept == pytest.approx([2.5, 1.5])


def test_noise_far_out_costs_the_people_of_a_tail_nothing():
    column = by_number(Column(name="x", kind="bins", edges=(0, 10, 1e308), labels=("a", "b")), 0, 4, False)
    counts = np.zeros(len(column))
    tail = int(np.flatnonzero(column.code == 1)[0])
    counts[:tail], counts[tail] = 2_000.0, 45.0
    counts[tail + 1 :] = np.where(np.arange(len(counts) - tail - 1) % 2, 20.0, -20.0)
    ends = _outliers(column, counts, 10.0)
    assert ends == (0, len(counts) - tail - 1)
    found = _without(column, counts, ends, int(2_000 * tail + 45))
    assert found[tail] == 45
    assert found[tail + 1 :].sum() == 0
    assert _outliers(column, np.where(counts == 45, 39.0, counts), 10.0)[1] == ends[1]  # each range keeps a cell
    far = counts.copy()
    far[tail + 3] = 41.0
    assert _outliers(column, far, 10.0)[1] == ends[1] - 3


def test_parts_of_a_distribution_are_whole():
    found = in_parts(np.array([[1 / 3, 1 / 3, 1 / 3], [1.0, 0, 0]]))
    assert (found.sum(axis=1) == UNIT).all()
    assert np.abs(found / UNIT - [[1 / 3] * 3, [1, 0, 0]]).max() < 1e-9


def test_counts_are_moved_to_the_nearest_of_as_many_people():
    assert nearest_counts(np.array([10.0, 3, -2]), 11).tolist() == [9.0, 2.0, 0.0]


def test_a_kept_range_is_a_parent_by_its_ranges_and_not_by_what_is_drawn_in_them():
    rng = np.random.default_rng(0)
    n = 20_000
    numbers = rng.integers(0, 40, n)
    column = Column(name="x", kind="bins", edges=(0, 20, 40), labels=("low", "high"))
    codes, b = (numbers >= 20).astype(np.int64), (numbers >= 20).astype(np.int64)
    ranges, other = by_number(column, 0, 4, True), by_label(Column(name="b", kind="text", labels=("p", "q")))
    cells = {"x": cells_of(ranges, codes, numbers.astype(float)), "b": b}
    fill = fit_fill({"x": (codes, 2)}, [ranges, other], cells, ["x", "b"], 10.0, 1e-3, 0.1, 0.1)
    (one,) = fill.filled
    assert one.parents == ("x",)
    assert len(one.weights) == 2
