"""The released table: its schema, its exact distribution, its order, and what it refuses."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from scipy.stats import chi2

import privacyfunnel as pf
from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.errors import InvalidInput, InvalidTable, OutputRefused, UnseenValues
from privacyfunnel.optimiser.program.finishing import finished
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.labels import greedy
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.release import PILES, shuffled
from privacyfunnel.tables.release_note import Release
from privacyfunnel.tables.sanitiser import Sanitiser
from privacyfunnel.tables.sources import open_source
from strategies import joints_with_channels

PLAUSIBLE, ABSURD = 1e-6, 1e-9
NAMES = ["town", "age", "smoker"]


def people(n=4_000, seed=0):
    rng = np.random.default_rng(seed)
    town, age = rng.integers(0, 4, n), rng.integers(18, 90, n)
    sick = rng.random(n) < 0.1 + 0.1 * town + 0.004 * (age - 18)
    return pa.table(
        {
            "name": [f"person {i}" for i in range(n)],
            "sick": np.where(sick, "yes", "no"),
            "town": pa.array(np.array(["Ash", "Birch, Hill", 'C "q"', None], dtype=object)[town], pa.string()),
            "age": age,
            "smoker": rng.random(n) < 0.3,
        }
    )


@pytest.fixture(scope="module")
def table():
    return people()


@pytest.fixture(scope="module")
def protocol(table):
    joint = pf.Joint.from_table(table, "sick", NAMES, bins={"age": [18, 40, 65, 90]})
    return pf.optimise(joint, pf.LIP(0.3))


@pytest.fixture(scope="module")
def faithful(table):
    joint = pf.Joint.from_table(table, "sick", NAMES, bins={"age": [18, 40, 65, 90]})
    return pf.optimise(joint, pf.LIP(0.3), objective="faithful", gap=0.01, time_limit=5)


def with_channel(joint, N):
    """A protocol with the channel N[y, x] / 2³², whatever it promises."""
    return Protocol(pf.LIP(50), block_of(joint, Channel.from_numerators(N)), 0.0, 0.0, 0.0, "by hand", "S")


def p_value(observed, expected):
    """Of Pearson's chi-square, cells with less than 5 expected put together."""
    small = expected < 5
    cells = [(o, e) for o, e in zip(observed[~small], expected[~small], strict=True)]
    if expected[small].sum() >= 5:
        cells.append((observed[small].sum(), expected[small].sum()))
    elif observed[small].sum() > 50:
        return 0.0
    statistic = sum((o - e) ** 2 / e for o, e in cells)
    return chi2.sf(statistic, len(cells) - 1)


def channel_fits(x, y, Q):
    """The smallest p-value of the outputs of each input against its column of Q[y, x], for all inputs."""
    least = 1.0
    for value in np.unique(x):
        observed = np.bincount(y[x == value], minlength=len(Q)).astype(float)
        if observed[Q[:, value] == 0].any():
            return 0.0
        possible = Q[:, value] > 0
        least = min(least, p_value(observed[possible], Q[possible, value] * observed.sum()) * len(np.unique(x)))
    return least


# --- labels ------------------------------------------------------------------------------------------


def test_the_released_table_has_the_names_and_values_of_the_attributes(table, protocol):
    released = protocol.sanitise(table)
    assert released.column_names == NAMES
    assert released.num_rows == table.num_rows
    assert released.schema.types == [pa.string(), pa.string(), pa.bool_()]
    assert set(released["town"].to_pylist()) <= {"Ash", "Birch, Hill", 'C "q"', None}
    assert set(released["age"].to_pylist()) <= {"[18, 40)", "[40, 65)", "[65, 90]"}
    assert released["smoker"].null_count == 0
    labels = {tuple(row) for row in protocol.block.values[protocol.block.labels].tolist()}
    assert {tuple(row.values()) for row in released.to_pylist()} <= labels


def test_no_two_outputs_share_a_label(protocol):
    block = protocol.block
    assert len(set(block.labels.tolist())) == block.channel.n_outputs


@settings(max_examples=80)
@given(joints_with_channels(max_x=6))
def test_labels_leave_as_much_of_a_row_as_it_was_as_different_labels_can(joint_and_channel):
    joint, N = joint_and_channel
    N = N[N.any(axis=1)]
    if len(N) > joint.n_x:  # there are not as many labels as outputs
        return
    block = block_of(joint, Channel.from_numerators(N))
    alike = (block.channel.dense() * joint.p_x) @ Similarity.of(joint).dense()  # Σ_x P(x, y) sim(x, label)
    outputs = range(len(N))
    assert sorted(set(block.labels.tolist())) == block.labels.tolist()
    got = alike[outputs, block.labels].sum()
    best = max(alike[outputs, list(p)].sum() for p in itertools.permutations(range(joint.n_x), len(N)))
    assert got == pytest.approx(best, abs=1e-12)
    # The same outputs, in another order.
    assert sorted(map(tuple, block.channel.dense().tolist())) == sorted(map(tuple, (N / UNIT).tolist()))


def test_an_output_that_occurs_often_gets_its_value_before_one_that_is_surer():
    """Both outputs are mostly the first value; the rare one is entirely. The frequent one is written as it."""
    N = np.array([[UNIT * 9 // 10, UNIT], [UNIT - UNIT * 9 // 10, 0]])
    block = block_of(pf.Joint([[50, 10], [50, 10]]), Channel.from_numerators(N))
    q = block.channel.dense() @ np.array([100, 20]) / 120
    assert q[block.labels.tolist().index(0)] > 0.9


def test_labels_of_large_channels_are_different_and_close_to_the_best(monkeypatch):
    rng = np.random.default_rng(0)
    n = 60
    N = np.zeros((n, n), dtype=np.int64)
    for x in range(n):
        N[rng.choice(n, 3, replace=False), x] = 1 + rng.multinomial(UNIT - 3, [0.2, 0.3, 0.5])
    N = N[N.any(axis=1)]
    joint = pf.Joint(rng.integers(1, 100, (2, n)))
    dense = block_of(joint, Channel.from_numerators(N))
    monkeypatch.setattr("privacyfunnel.protocols.labels.DENSE_ASSIGNMENT", 0)
    sparse = block_of(joint, Channel.from_numerators(N))

    def quality(block):
        P = block.channel.dense() * joint.p_x
        return (P * Similarity.of(joint).dense()[block.labels]).sum()

    assert len(set(sparse.labels.tolist())) == len(N)
    assert quality(sparse) >= 0.9 * quality(dense)
    channel = Channel.from_numerators(N)
    labels = greedy(channel, channel.numerators / UNIT)
    assert len(set(labels.tolist())) == len(N)


# --- the distribution --------------------------------------------------------------------------------

ROWS = 10**6


@pytest.fixture(scope="module")
def pairs():
    """A channel over two attributes, with the x and y of a million rows, released in order."""
    rng = np.random.default_rng(8)
    sizes = (4, 3)
    joint = pf.Joint(rng.integers(1, 50, (2, *sizes)), attributes=["a", "b"])
    n = joint.n_x
    Q = rng.dirichlet(np.full(7, 0.6), size=n).T
    Q[Q < 0.02] = 0
    N = np.floor(Q / Q.sum(axis=0) * UNIT).astype(np.int64)
    N[N.argmax(axis=0), np.arange(n)] += UNIT - N.sum(axis=0)
    protocol = with_channel(joint, N)
    x = rng.integers(0, n, ROWS)
    codes = joint.codes[x]
    original = pa.table({"b": codes[:, 1], "a": codes[:, 0]})
    released = protocol.sanitise(original, keep_order=True, seed=1)
    block = protocol.block
    names = {tuple(row): y for y, row in enumerate(block.values[block.labels].tolist())}
    y = np.array([names[row] for row in zip(released["a"].to_pylist(), released["b"].to_pylist(), strict=True)])
    return x, y, protocol.channel


def test_released_rows_follow_the_channel(pairs):
    x, y, Q = pairs
    assert channel_fits(x, y, Q) > PLAUSIBLE


def test_the_same_check_rejects_a_channel_that_is_one_percent_off(pairs):
    x, y, Q = pairs
    wrong = Q.copy()
    for column in wrong.T:
        first, second = np.argsort(-column)[:2]
        moved = 0.01 if column[second] > 0 else 0.0
        column[first] -= moved
        column[second] += moved
    assert channel_fits(x, y, wrong) < ABSURD


def test_the_same_check_rejects_rows_in_another_order(pairs):
    x, y, Q = pairs
    assert channel_fits(x, np.roll(y, 1), Q) < ABSURD


def test_shuffled_rows_are_the_released_distribution_but_not_the_order(pairs):
    x, _, Q = pairs
    joint = pf.Joint(np.ones((1, 12), dtype=np.int64))
    protocol = with_channel(joint, (Q * UNIT).astype(np.int64))
    y = protocol.sanitise(pa.table({"X1": x}), seed=2)["X1"].to_numpy()
    labels = protocol.block.labels
    y = np.searchsorted(labels, y)
    Q = protocol.channel
    expected = Q @ np.bincount(x, minlength=12)
    assert p_value(np.bincount(y, minlength=len(Q)).astype(float), expected) > PLAUSIBLE
    assert channel_fits(x, y, Q) < ABSURD


# --- the order ---------------------------------------------------------------------------------------


def batches(n, size):
    rows = np.stack([np.arange(n), np.arange(n) + 7], axis=1).astype(np.int32)
    return iter([rows[i : i + size] for i in range(0, n, size)])


@pytest.mark.parametrize(("n", "size", "rows"), [(0, 5, 9), (1, 5, 9), (1_000, 64, 10**6), (5_000, 100, 1_000)])
def test_shuffling_is_a_permutation_of_whole_rows(n, size, rows):
    out = list(shuffled(batches(n, size), Randomness.secure(), rows=rows))
    y = np.concatenate(out) if out else np.empty((0, 2))
    assert np.array_equal(y[:, 1], y[:, 0] + 7)
    assert np.array_equal(np.sort(y[:, 0]), np.arange(n))
    if n >= 1_000:
        assert not np.array_equal(y[:, 0], np.arange(n))


@pytest.mark.parametrize("rows", [10**6, 300], ids=["in memory", "on disk"])
def test_every_row_comes_to_every_place_equally_often(rows):
    n, runs = 2_048, 16
    randomness = Randomness.seeded(3)
    places = np.empty((runs, n), dtype=np.int64)
    for run in range(runs):
        y = np.concatenate(list(shuffled(batches(n, 100), randomness, rows=rows)))[:, 0]
        places[run, y] = np.arange(n)
    group = n // 16  # 16 groups of rows by 16 groups of places
    table = np.zeros((16, 16))
    np.add.at(table, (np.broadcast_to(np.arange(n) // group, places.shape), places // group), 1)
    assert p_value(table.ravel(), np.full(256, runs * n / 256)) > PLAUSIBLE
    neighbours = (np.abs(np.diff(places, axis=1)) == 1).sum()
    assert neighbours == pytest.approx(2 * runs, abs=5 * np.sqrt(2 * runs))


def test_the_check_of_places_rejects_a_shuffle_within_batches_only():
    n, runs = 256, 50
    rng = np.random.default_rng(0)
    table = np.zeros((16, 16))
    for _ in range(runs):
        order = np.concatenate([start + rng.permutation(64) for start in range(0, n, 64)])
        np.add.at(table, (np.arange(n) // 16, order // 16), 1)
    assert p_value(table.ravel(), np.full(256, runs * n / 256)) < ABSURD


def test_piles_are_many_enough_that_a_byte_is_a_fair_die():
    assert PILES == 256


def test_keep_order_keeps_the_order(table, protocol):
    identity = with_channel(pf.Joint.from_table(table, "sick", ["town"]), np.eye(4, dtype=np.int64) * UNIT)
    assert identity.sanitise(table, keep_order=True)["town"].to_pylist() == table["town"].to_pylist()
    out = identity.sanitise(table)["town"].to_pylist()
    assert out != table["town"].to_pylist()
    assert sorted(out, key=str) == sorted(table["town"].to_pylist(), key=str)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("source", ["csv", "parquet"])
def test_files_keep_the_order_too_over_several_batches(suffix, source, tmp_path):
    n = 300_000
    x = np.arange(n) % 1_000
    original = pa.table({"s": x % 2, "X1": x})
    path = tmp_path / f"in.{source}"
    pq.write_table(original, path) if source == "parquet" else pa_csv.write_csv(original, path)
    joint = pf.Joint(np.ones((1, 1_000), dtype=np.int64))
    identity = with_channel(joint, np.eye(1_000, dtype=np.int64) * UNIT)
    identity.sanitise(path, tmp_path / f"out{suffix}", keep_order=True)
    assert np.array_equal(read(tmp_path / f"out{suffix}")["X1"].to_numpy(), x)


# --- unseen values -----------------------------------------------------------------------------------


def test_unseen_values_are_refused_with_a_count_for_each_column(table, protocol, tmp_path):
    strange = pa.table(
        {
            "town": ["Ash", "CANARY", "CANARY", None, "Ash"],
            "age": [20, 20, 200, 20, None],
            "smoker": [True, True, True, None, False],
        }
    )
    with pytest.raises(UnseenValues, match=r"2 rows in town, 2 rows in age, 1 rows in smoker") as refused:
        protocol.sanitise(strange, tmp_path / "out.csv")
    assert "CANARY" not in str(refused.value)
    assert "--unseen draw" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_unseen_combinations_of_seen_values_are_counted_as_such():
    original = pa.table({"s": ["a", "b"] * 4, "u": list("ppqqppqq"), "v": list("xxxxyyxx")})
    protocol = pf.optimise(pf.Joint.from_table(original, "s", ["u", "v"]), pf.LIP(1))
    with pytest.raises(UnseenValues, match="3 rows in their combination"):
        protocol.sanitise(pa.table({"u": list("qqqp"), "v": list("yyyx")}))
    assert protocol.sanitise(pa.table({"u": list("qqqp"), "v": list("yyyx")}), unseen="draw").num_rows == 4


def test_unseen_values_are_drawn_from_the_protocols_own_draw():
    rng = np.random.default_rng(2)
    joint = pf.Joint(rng.integers(1, 90, (3, 5)))
    protocol = pf.optimise(joint, pf.LIP(0.2))
    block = protocol.block
    q = protocol.draw / UNIT
    assert np.abs(q - protocol.channel @ joint.p_x).max() < 2 / np.sqrt(joint.total)
    n = 300_000
    released = protocol.sanitise(pa.table({"X1": np.full(n, 99)}), unseen="draw", keep_order=True)["X1"].to_numpy()
    observed = np.bincount(np.searchsorted(block.labels, released), minlength=len(q)).astype(float)
    assert set(released.tolist()) <= set(block.labels.tolist())
    assert p_value(observed, q * n) > PLAUSIBLE
    wrong = q + np.where(np.arange(len(q)) == q.argmax(), -0.01, 0.01 / (len(q) - 1))
    assert p_value(observed, wrong * n) < ABSURD


def test_rows_beside_unseen_ones_still_follow_their_own_column():
    joint = pf.Joint([[5, 5], [5, 5]])
    protocol = finished(with_channel(joint, np.eye(2, dtype=np.int64) * UNIT), [joint])
    released = protocol.sanitise(pa.table({"X1": [0, 7, 1, 7, 0]}), unseen="draw", keep_order=True)["X1"].to_pylist()
    assert (released[0], released[2], released[4]) == (0, 1, 0)


def test_how_many_were_drawn_is_told(protocol, tmp_path):
    strange = pa.table({"town": ["?", "Ash"], "age": [20, 20], "smoker": [True, True]})
    release = protocol.sanitise(strange, tmp_path / "out.csv", unseen="draw")
    assert (release.rows, release.drawn) == (2, 1)
    with pytest.raises(InvalidInput, match="unseen"):
        protocol.sanitise(strange, unseen="ignore")


# --- files -------------------------------------------------------------------------------------------


def read(path):
    if path.name.endswith(".parquet"):
        return pq.read_table(path)
    return pa_csv.read_csv(path, parse_options=pa_csv.ParseOptions(newlines_in_values=True))


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_secret_and_other_columns_are_dropped_and_named(suffix, table, protocol, tmp_path):
    release = protocol.sanitise(table, tmp_path / f"out{suffix}")
    assert release.dropped == ("name", "sick")
    assert release.attributes == tuple(NAMES)
    assert (release.rows, release.shuffled, release.secure, release.seed) == (table.num_rows, True, True, None)
    found = read(tmp_path / f"out{suffix}")
    assert found.column_names == NAMES
    assert found.num_rows == table.num_rows


def test_the_released_file_can_be_sanitised_again_by_its_own_labels(tmp_path):
    """Categories, booleans, numbers and dates come out as they went in; only bins are another language."""
    original = pa.table(
        {
            "s": ["a", "b"] * 50,
            "word": [["x, y", 'q"', "new\nline", "é", None][i % 5] for i in range(100)],
            "real": [[0.5, 1e-9, 3.0, None][i % 4] for i in range(100)],
            "day": [f"20{10 + i % 12}-01-0{1 + i % 9}" for i in range(100)],
            "flag": [[True, False, None][i % 3] for i in range(100)],
        }
    )
    protocol = pf.optimise(pf.Joint.from_table(original, "s", dates={"day": "year"}), pf.LIP(0.5))
    kinds = [column.kind for column in protocol.block.columns]
    assert kinds == ["text", "number", "year", "boolean"]
    columns = [c for c in protocol.block.columns if c.kind != "year"]
    for suffix in (".csv", ".csv.gz", ".parquet"):
        protocol.sanitise(original, tmp_path / f"out{suffix}")
        from privacyfunnel.tables.sources import open_source

        source = open_source(tmp_path / f"out{suffix}")
        for batch in source.batches([c.name for c in columns]):
            for column in columns:
                assert (column.encode(batch.column(column.name)) >= 0).all()


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_a_seeded_release_repeats_and_says_that_it_is_insecure(suffix, table, protocol, tmp_path):
    first, second, third = (tmp_path / f"{name}{suffix}" for name in "abc")
    release = protocol.sanitise(table, first, seed=7)
    protocol.sanitise(table, second, seed=7)
    protocol.sanitise(table, third, seed=8)
    assert read(first).equals(read(second))
    assert not read(first).equals(read(third))
    assert (release.secure, release.seed) == (False, 7)
    if suffix == ".parquet":
        note = pq.read_metadata(first).metadata[b"privacyfunnel"].decode()
    else:
        note = (tmp_path / f"a{suffix}.metadata.json").read_text()
    assert "INSECURE" in json.loads(note)["randomness"]
    assert "7" in json.loads(note)["randomness"]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_two_secure_releases_differ_and_do_not_say_insecure(suffix, table, faithful, tmp_path):
    for name in "ab":
        faithful.sanitise(table, tmp_path / f"{name}{suffix}", keep_order=True)
    assert not read(tmp_path / f"a{suffix}").equals(read(tmp_path / f"b{suffix}"))
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"a{suffix}", f"b{suffix}"]
    if suffix == ".parquet":
        assert b"INSECURE" not in pq.read_metadata(tmp_path / "a.parquet").metadata[b"privacyfunnel"]


def test_a_secure_release_over_a_seeded_one_leaves_no_note_that_it_is_insecure(table, protocol, faithful, tmp_path):
    for one, left in ((protocol, ["a.csv", "a.csv.metadata.json"]), (faithful, ["a.csv"])):
        one.sanitise(table, tmp_path / "a.csv", seed=1, force=True)
        one.sanitise(table, tmp_path / "a.csv", force=True)
        assert sorted(p.name for p in tmp_path.iterdir()) == left
        assert all("INSECURE" not in p.read_text() for p in tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_a_released_file_says_whether_its_rows_can_be_counted(suffix, table, protocol, faithful, tmp_path):
    for one, says in ((protocol, "counting rows misleads"), (faithful, "rows can be counted as they stand")):
        path = tmp_path / f"{one.objective}{suffix}"
        release = one.sanitise(table, path)
        assert says in release.metadata()["counting"]
        note = path.with_name(path.name + ".metadata.json")
        if suffix == ".parquet":
            assert says in json.loads(pq.read_metadata(path).metadata[b"privacyfunnel"])["counting"]
        elif one.objective == "information":  # a CSV has no place for it, so it stands beside
            assert says in json.loads(note.read_text())["counting"]
        else:
            assert not note.exists()


def test_the_note_beside_a_seeded_csv_replaces_no_file_without_force(table, protocol, tmp_path):
    beside = tmp_path / "a.csv.metadata.json"
    beside.write_text("precious")
    with pytest.raises(OutputRefused):
        protocol.sanitise(table, tmp_path / "a.csv", seed=1)
    assert beside.read_text() == "precious"
    assert not (tmp_path / "a.csv").exists()


def test_a_seeded_table_in_memory_says_that_it_is_insecure(table, protocol):
    released = protocol.sanitise(table, seed=7)
    assert (
        b"INSECURE"
        in json.dumps({k.decode(): v.decode() for k, v in (released.schema.metadata or {}).items()}).encode()
    )


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_missing_values_come_out_missing(suffix, tmp_path):
    original = pa.table({"s": ["a", "b"] * 20, "x": ["p", None, None, "q"] * 10, "none": pa.nulls(40, pa.string())})
    protocol = pf.optimise(pf.Joint.from_table(original, "s"), pf.LIP(5))
    protocol.sanitise(original, tmp_path / f"out{suffix}")
    if suffix == ".parquet":
        found = pq.read_table(tmp_path / "out.parquet").to_pydict()
    else:
        found = pd.read_csv(tmp_path / f"out{suffix}", dtype=str).astype(object).to_dict("list")
    assert {value for value in found["x"] if isinstance(value, str)} == {"p", "q"}
    assert any(not isinstance(value, str) for value in found["x"])
    assert not any(isinstance(value, str) for value in found["none"])


# --- kinds of tables ---------------------------------------------------------------------------------


def test_the_same_kind_of_table_comes_out_as_went_in(table, protocol, tmp_path):
    frame = table.to_pandas()
    assert isinstance(protocol.sanitise(frame), pd.DataFrame)
    assert isinstance(protocol.sanitise(pl.from_arrow(table)), pl.DataFrame)
    assert isinstance(protocol.sanitise(table), pa.Table)
    connection = duckdb.connect()
    connection.register("t", table)
    relation = protocol.sanitise(connection.sql("FROM t"))
    assert isinstance(relation, duckdb.DuckDBPyRelation)
    assert pa.table(relation).num_rows == table.num_rows
    pq.write_table(table, tmp_path / "t.parquet")
    assert protocol.sanitise(tmp_path / "t.parquet").num_rows == table.num_rows
    assert protocol.sanitise(str(tmp_path / "t.parquet")).num_rows == table.num_rows


def test_the_original_table_is_left_as_it_was(table, protocol):
    frame = table.to_pandas()
    before = frame.copy(deep=True)
    protocol.sanitise(frame)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_kinds_of_pandas_columns_do_not_matter(dtype, table, protocol):
    frame = table.to_pandas().astype({"town": dtype})
    assert len(protocol.sanitise(frame)) == table.num_rows


def test_seeded_draws_do_not_depend_on_the_kind_of_table(table, protocol):
    one = protocol.sanitise(table, seed=1, keep_order=True)
    assert protocol.sanitise(table.to_pandas(), seed=1, keep_order=True).equals(one.to_pandas())
    assert protocol.sanitise(pl.from_arrow(table), seed=1, keep_order=True).to_arrow().to_pydict() == one.to_pydict()


def test_a_table_without_the_secret_can_be_sanitised(table, protocol):
    assert protocol.sanitise(table.select(NAMES[::-1])).column_names == NAMES


def test_a_table_without_an_attribute_is_refused(table, protocol):
    with pytest.raises(InvalidTable, match="no column 'age'"):
        protocol.sanitise(table.drop_columns(["age"]))


@pytest.mark.parametrize("to_file", [False, True])
def test_a_table_without_rows_is_refused(to_file, table, protocol, tmp_path):
    with pytest.raises(InvalidTable, match="no rows"):
        protocol.sanitise(table.slice(0, 0), *([tmp_path / "out.csv"] if to_file else []))
    assert list(tmp_path.iterdir()) == []


def test_columns_that_differ_only_in_case_are_not_mistaken_for_each_other():
    """The wrong column would be released, unprotected by the promise."""
    original = pa.table({"s": ["a", "b"] * 20, "town": ["p", "q"] * 20, "Town": ["CANARY 1", "CANARY 2"] * 20})
    joint = pf.Joint.from_table(original.select(["s", "town"]), "s")
    protocol = with_channel(joint, np.eye(2, dtype=np.int64) * UNIT)
    for names in (["s", "town", "Town"], ["s", "Town", "town"]):
        try:
            released = protocol.sanitise(original.select(names), keep_order=True)
        except InvalidTable:
            continue
        assert released["town"].to_pylist() == ["p", "q"] * 20


# --- memory ------------------------------------------------------------------------------------------

MEASURE = """
import sys
from pathlib import Path
import privacyfunnel as pf
release = pf.Protocol.load(sys.argv[1]).sanitise(sys.argv[2], sys.argv[3], keep_order=sys.argv[4] == "keep", force=True)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(release.rows, status["VmHWM"].split()[0])
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_memory_stays_bounded_while_millions_of_rows_stream(tmp_path):
    n, part = 5_000_000, 500_000
    rng = np.random.default_rng(0)
    with pq.ParquetWriter(tmp_path / "in.parquet", _pieces(rng, 1).schema) as writer:
        for _ in range(n // part):
            writer.write_table(_pieces(rng, part))
    joint = pf.Joint.from_table(_pieces(rng, 20_000), "s", ["a", "b", "c"])
    pf.optimise(joint, pf.LIP(0.5), time_limit=5).save(tmp_path / "p.json")
    for order in ("keep", "shuffle"):
        arguments = [tmp_path / "p.json", tmp_path / "in.parquet", tmp_path / "out.parquet", order]
        command = [sys.executable, "-c", MEASURE, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        rows, kib = map(int, done.stdout.split())
        assert rows == pq.read_metadata(tmp_path / "out.parquet").num_rows == n
        assert kib < 1024**2


def _pieces(rng, n):
    letters = np.array([f"value {i}" for i in range(16)])
    return pa.table(
        {
            "s": rng.integers(0, 2, n),
            "a": letters[rng.integers(0, 2, n)],
            "b": letters[rng.integers(0, 5, n)],
            "c": letters[rng.integers(0, 16, n)],
        }
    )


# --- counted as one value, drawn for the same --------------------------------------------------------


def drawn_as_counted(table, **wishes):
    """Whether every row is drawn for the value of X that it was counted as, secret by secret."""
    joint = pf.Joint.from_table(table, "s", ["v"], **wishes)
    silent = with_channel(joint, np.full((1, joint.n_x), UNIT))
    sanitiser, found = Sanitiser(silent), np.zeros(joint.weights.shape, dtype=np.int64)
    for batch in open_source(table).batches(["v", "s"]):
        s = [joint.secret_values.index(value) for value in batch.column("s").to_pylist()]
        np.add.at(found, (s, sanitiser.inputs(batch)[:, 0]), 1)
    sanitiser.finish()
    return np.array_equal(found, joint.weights)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
@pytest.mark.parametrize("wishes", [{}, {"top": {"v": 1}}, {"bins": {"v": 2}}], ids=["as it is", "top", "bins"])
def test_minus_zero_is_counted_and_drawn_as_zero(kind, wishes, tmp_path):
    """An engine that groups rows takes −0.0 for 0.0; so must whoever draws them, also where numbers are texts."""
    numbers = pa.array([0.0, -0.0, -0.0, 0.0, 1.5, -0.0] * 10, kind)
    table = pa.table({"v": numbers, "s": ["a", "b", "b", "a", "b", "a"] * 10})
    pq.write_table(table, tmp_path / "t.parquet")
    for source in (table, table.to_pandas(), pl.from_arrow(table), tmp_path / "t.parquet"):
        assert drawn_as_counted(source, **wishes)


@pytest.mark.parametrize("wishes", [{}, {"top": {"v": 1}}, {"dates": {"v": "day"}}], ids=["as it is", "top", "days"])
def test_times_of_96_bits_are_counted_and_drawn_alike(wishes, tmp_path):
    """Old writers, Spark's among them, store times so; 9999-12-31 for "never" does not fit into nanoseconds."""
    seconds = [253370764800, 10**9, -(10**10), 10**9 + 1]
    times = pa.array(seconds * 10, pa.timestamp("s")).cast(pa.timestamp("us"))
    table = pa.table({"v": times, "s": ["a", "b", "b", "b"] * 5 + ["b", "a", "a", "b"] * 5})
    pq.write_table(table, tmp_path / "t.parquet", use_deprecated_int96_timestamps=True)
    assert drawn_as_counted(tmp_path / "t.parquet", **wishes)
    assert drawn_as_counted(table, **wishes)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_a_file_holds_the_released_rows_and_nothing_of_its_name_or_time(suffix, protocol, table, tmp_path, monkeypatch):
    """Its bytes would tell, after it was renamed, what the steward had called it."""
    first, second = tmp_path / f"clinic{suffix}", tmp_path / f"open{suffix}"
    protocol.sanitise(table, first, seed=1)
    monkeypatch.setattr("time.time", lambda: 1_000_000_000.0)
    protocol.sanitise(table, second, seed=1)
    assert first.read_bytes() == second.read_bytes()
    assert b"clinic" not in first.read_bytes()
    assert b".part" not in first.read_bytes()


def test_a_release_whose_rows_were_not_counted_beside_the_original_ones_says_why():
    """On a cluster."""
    release = Release(1, ("a",), (), 0, True, True, None, "faithful")
    own = release.as_dict()["steward_only"]
    assert own["own_table"] is None
    assert "is not measured on Spark" in own["own_table_why"]
    assert release.own_words == f"For you alone: {own['own_table_why']}."
