"""Spark in local mode: the joints of DuckDB, draws from the channel, and the same draws whenever work is done twice."""

import json
import subprocess
import sys
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput, InvalidTable, MissingExtra, OutputRefused, UnseenValues
from privacyfunnel.proof.certificate import audit_publicly
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.file import from_text, to_text
from privacyfunnel.protocols.protocol import Protocol
from spark_parts import environment, require_spark, spark

pytestmark = pytest.mark.long

PLAUSIBLE, ABSURD = 1e-6, 1e-9


@pytest.fixture(scope="module")
def session():
    with spark() as session:
        yield session


def same(one, other):
    """Whether two joints are identical: counts, values, their order, and how they are read."""
    assert one.columns == other.columns
    assert one.secret_columns == other.secret_columns
    assert one.secret_values == other.secret_values
    assert np.array_equal(one.codes, other.codes)
    assert np.array_equal(one.weights, other.weights)
    return True


def counts(frame):
    return Counter(map(tuple, frame.collect()))


def people(session, n=20_000, partitions=4):
    """Made-up rows: town (4 values), smoker, and a secret that follows both."""
    return session.range(0, n, 1, partitions).selectExpr(
        "id",
        "concat('town ', pmod(hash(id), 4)) AS town",
        "pmod(hash(id, 1), 3) = 0 AS smoker",
        "IF(pmod(hash(id, 2), 10) < 2 + pmod(hash(id), 4), 'yes', 'no') AS ill",
    )


@pytest.fixture(scope="module")
def table(session):
    return people(session)


@pytest.fixture(scope="module")
def joint(table):
    return pf.Joint.from_spark(table, "ill", ["town", "smoker"])


@pytest.fixture(scope="module")
def protocol(joint):
    return pf.optimise(joint, pf.LIP(0.1))


def by_hand(joint, N):
    """A protocol with the channel N[y, x] / 2³², whatever it promises."""
    return Protocol(pf.LIP(50), block_of(joint, Channel.from_numerators(N)), 0.0, 0.0, 0.0, "by hand", "S")


def count_errors(table, joint, protocol, releases):
    """For every value of X, how far its mean count over some releases is from the original one, in standard errors.

    The variance of a count of all rows is at most that of drawing each of them from all rows: n f (1 − f).
    """
    found = np.zeros(joint.n_x)
    place = {tuple(values): x for x, values in enumerate(joint.values.tolist())}
    for seed in range(releases):
        frame = protocol.sanitise_spark(table, seed=seed)
        for values, count in Counter(tuple(row) for row in frame.select(*joint.attributes).collect()).items():
            found[place[values]] += count / releases
        frame.unpersist()
    n, f = joint.total, joint.p_x
    return (found - n * f) / np.sqrt(n * f * (1 - f) / releases)


def test_rows_released_by_spark_can_be_counted_as_they_stand(table, joint, protocol):
    faithful = pf.optimise(joint, pf.LIP(0.1), objective="faithful")
    assert np.abs(count_errors(table, joint, faithful, 5)).max() < 4.5
    assert np.abs(count_errors(table, joint, protocol, 5)).max() > 20  # the optimum of information cannot


def test_promises_about_several_secrets_with_an_exact_column_are_released_by_spark(table):
    promise = pf.Promises(ill=pf.LIP({"yes": 0.1, "no": 1.0}), smoker=pf.LDP(0.2))
    joint = pf.Joint.from_spark(table, ["ill", "smoker"], ["town"])
    protocol = pf.optimise(joint, promise)
    assert pf.certify(protocol, joint).holds
    assert protocol.sanitise_spark(table, seed=0).count() == table.count()
    loose = pf.Promises(ill=pf.LIP(1.0), smoker=pf.LIP(1.0))
    exact = pf.optimise(joint, loose, objective="faithful", exact=["town"])
    released = exact.sanitise_spark(table, seed=0).select("town")
    assert counts(released) == counts(table.select("town"))


def test_every_kind_of_promise_is_released_by_spark(table):
    wider = table.selectExpr("*", "pmod(hash(id, 3), 4) AS income")
    kinds = {
        "ill": (pf.Belief({"yes": 0.9}), pf.LIP({"yes": 0.1, "no": 1.0})),
        "income": (pf.Ordered(pf.LIP(0.1)), pf.Ordered(pf.LIP(0.1), pf.LIP(0.5))),
    }
    for secret, promises in kinds.items():
        joint = pf.Joint.from_spark(wider, secret, ["town"], bins={"income": "each"} if secret == "income" else None)
        for promise in promises:
            protocol = from_text(to_text(pf.optimise(joint, promise, objective="faithful")))
            assert pf.certify(protocol, joint).holds
            assert protocol.sanitise_spark(wider, seed=0).count() == wider.count()


# --- counting ----------------------------------------------------------------------------------------


def test_spark_and_duckdb_give_identical_joints_on_adult(session, shared):
    from privacyfunnel.tables.spark.files import open_spark

    path = shared / "data" / "adult.csv.gz"
    if not path.exists():
        pytest.skip("the Adult table is not there")
    header = pa_csv.read_csv(path).column_names
    secret = next(name for name in header if name in ("income", "class", "target"))
    chosen = [name for name in ("age", "workclass", "education", "sex", "hours_per_week") if name in header]
    assert len(chosen) >= 3
    on_spark = open_spark(session, path, None, "utf-8").frame.toDF(*header)
    assert same(pf.Joint.from_spark(on_spark, secret, chosen), pf.Joint.from_table(path, secret, chosen))


def test_groups_of_texts_are_the_same_in_spark_and_in_duckdb_and_spark_releases_them(session):
    rows = odd_rows().select(["the Secret", "town"])
    groups = {"town": {"north": [f"t{i}" for i in range(60)], "south": [f"t{i}" for i in range(60, 130)]}}
    frame = session.createDataFrame(rows.to_pandas())
    joint = pf.Joint.from_spark(frame, "the Secret", ["town"], top={"town": 149}, groups=groups)
    assert same(joint, pf.Joint.from_table(rows, "the Secret", ["town"], top={"town": 149}, groups=groups))
    protocol = from_text(to_text(pf.optimise(joint, pf.LIP(0.5))))
    released = {row["town"] for row in protocol.sanitise_spark(frame, seed=0).select("town").distinct().collect()}
    assert {"north", "south"} <= released <= {str(label) for label in joint.columns[0].labels}


def odd_rows(n=300):
    rng = np.random.default_rng(3)

    def pick(values):
        return [values[i] for i in rng.integers(0, len(values), n)]

    return pa.table(
        {
            "the Secret": pick(["a", "B", None, ""]),
            "dot.ted `name`": pick(["x", "X", "é", "é", "", None]),
            "number": pa.array(pick([0.1, -0.0, 0.0, float("nan"), None, 7.5]), pa.float64()),
            "short": pa.array(pick([0.1, 0.2, None]), pa.float32()),
            "many": rng.normal(size=n),
            "whole": pa.array(pick([1, 2, 3, None]), pa.int16()),
            "money": pa.array(pick([Decimal("1.10"), Decimal("2.00"), None]), pa.decimal128(10, 2)),
            "day": pa.array(pick([date(2020, 2, 29), date(1969, 12, 31), None]), pa.date32()),
            "moment": pa.array(pick([datetime(2020, 1, 1, 23, 59), datetime(1980, 6, 1)]), pa.timestamp("us", "UTC")),
            "flag": pa.array(pick([True, False, None]), pa.bool_()),
            "town": [f"t{i % 150}" for i in range(n)],
        }
    )


def test_every_type_of_column_means_the_same_in_spark_and_in_duckdb(session, tmp_path):
    pq.write_table(odd_rows(), tmp_path / "odd.parquet")
    frame = session.read.parquet(str(tmp_path / "odd.parquet"))
    for chosen in (
        ["dot.ted `name`", "number", "short"],
        ["many", "whole", "money"],
        ["day", "moment", "flag", "town"],
    ):
        other = pf.Joint.from_table(tmp_path / "odd.parquet", "the Secret", chosen)
        assert same(pf.Joint.from_spark(frame, "the Secret", chosen), other)
    asked = {"bins": {"many": "width:3"}, "top": {"town": 7}, "dates": {"day": "month"}, "missing": ["x"]}
    chosen = ["many", "town", "day", "dot.ted `name`"]
    other = pf.Joint.from_table(tmp_path / "odd.parquet", "the Secret", chosen, **asked)
    assert same(pf.Joint.from_spark(frame, "the Secret", chosen, **asked), other)


def test_columns_come_back_in_their_types(session):
    frame = session.range(0, 4_000, 1, 2).selectExpr(
        "cast(pmod(hash(id), 3) AS string) AS district",
        "cast(pmod(hash(id, 1), 3) AS tinyint) AS size",
        "IF(pmod(hash(id, 2), 10) < 2 + pmod(hash(id), 3), 'yes', 'no') AS ill",
    )
    joint = pf.Joint.from_spark(frame, "ill", ["district", "size"])
    released = pf.optimise(joint, pf.LIP(0.1), objective="faithful").sanitise_spark(frame)
    assert [item.dataType.simpleString() for item in released.schema.fields] == ["string", "tinyint"]
    assert {row["district"] for row in released.collect()} == {"0", "1", "2"}


def test_what_is_too_much_for_one_piece_is_fetched_in_several(session, table, joint, monkeypatch):
    numbers = table.selectExpr("ill", "town", "id % 1000 AS number")
    whole = pf.Joint.from_spark(numbers, "ill", ["town", "number"])
    monkeypatch.setattr("privacyfunnel.tables.spark.source.PIECE_ROWS", 90)
    assert same(pf.Joint.from_spark(numbers, "ill", ["town", "number"]), whole)


def test_texts_that_a_collation_takes_for_the_same_stay_different(session):
    frame = session.sql("SELECT collate(col1, 'UTF8_LCASE') AS x, col2 AS s FROM VALUES ('a', 1), ('A', 2), ('A', 1)")
    assert pf.Joint.from_spark(frame, "s", ["x"]).values.ravel().tolist() == ["A", "a"]


def test_columns_that_spark_cannot_hand_over_are_refused_by_name(session):
    frame = session.sql("SELECT array(1) AS list, INTERVAL 1 DAY AS span, 'a' AS x, 's' AS s")
    for name in ("list", "span"):
        with pytest.raises(InvalidTable, match=f"column '{name}'"):
            pf.Joint.from_spark(frame, "s", [name])
    with pytest.raises(InvalidTable, match="no column 'nowhere'"):
        pf.Joint.from_spark(frame, "s", ["nowhere"])
    with pytest.raises(InvalidTable, match="no rows"):
        pf.Joint.from_spark(frame.where("x = 'b'"), "s", ["x"])


def test_a_stream_or_something_else_is_refused(session, protocol):
    stream = session.readStream.format("rate").load()
    for bad in (stream, {"a": [1]}, pa.table({"a": [1]})):
        with pytest.raises(InvalidTable):
            pf.Joint.from_spark(bad, "s")
        with pytest.raises(InvalidTable):
            protocol.sanitise_spark(bad)


def test_a_spark_table_in_the_wrong_place_is_shown_the_right_one(table, protocol):
    with pytest.raises(InvalidTable, match="from_spark"):
        pf.Joint.from_table(table, "ill", ["town"])
    with pytest.raises(InvalidTable, match="sanitise_spark"):
        protocol.sanitise(table)


def test_a_folder_of_parquet_files_is_not_called_csv(table, protocol, tmp_path):
    with pytest.raises(OutputRefused, match="Parquet"):
        protocol.sanitise_spark(table, tmp_path / "open.csv")
    assert not list(tmp_path.iterdir())


def test_an_error_of_spark_is_one_line_that_quotes_nothing(session):
    frame = session.sql("SELECT CAST(x AS INT) AS x, 's' AS s FROM VALUES ('1'), ('CANARY') AS t(x)")
    with pytest.raises(InvalidTable) as trouble:
        pf.Joint.from_spark(frame, "s", ["x"])
    assert "CANARY" not in str(trouble.value)
    assert trouble.value.__cause__ is None
    assert "CAST_INVALID_INPUT" in str(trouble.value)


@pytest.mark.parametrize("output", [None, "open.parquet", "", "a:b"])
def test_neither_an_error_nor_standard_error_quotes_a_table_that_cannot_be_released(
    session, protocol, output, tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    frame = session.sql("SELECT CAST(x AS INT) = 1 AS smoker, x AS town FROM VALUES ('1'), ('CANARY') AS t(x)")
    with pytest.raises(pf.PrivacyFunnelError) as trouble:
        protocol.sanitise_spark(frame, output)
    assert "CANARY" not in str(trouble.value)
    assert "CANARY" not in "".join(capfd.readouterr())
    assert list(tmp_path.iterdir()) == []


# --- draws -------------------------------------------------------------------------------------------


def fit(observed, expected):
    """P-value of Pearson's chi-square, over the outputs that are expected at least 5 times."""
    likely = expected >= 5
    assert observed[~likely].sum() < 50
    return chi2.sf(((observed - expected)[likely] ** 2 / expected[likely]).sum(), likely.sum() - 1)


def test_released_frequencies_match_the_channel_on_ten_million_rows(session):
    """Each of the 8 partitions holds one value of X, so the partition of a released row tells its x."""
    from pyspark.sql import functions as F

    rows, n = 10_400_000, 8
    frame = (
        session.range(0, rows, 1, n)
        .selectExpr(f"id DIV {rows // n} AS place")
        .selectExpr("concat('town ', place DIV 2) AS town", "place % 2 = 1 AS smoker")
    )
    weights = np.random.default_rng(1).integers(1, 100, (3, n))
    values = [(f"town {i // 2}", i % 2 == 1) for i in range(n)]
    rows_of = [(s, *values[x]) for s in range(3) for x in range(n) for _ in range(weights[s, x])]
    few = pa.table(dict(zip(("S", "town", "smoker"), zip(*rows_of, strict=True), strict=True)))
    joint = pf.Joint.from_table(few, "S")
    protocol = pf.optimise(joint, pf.LIP(0.3))
    released = protocol.sanitise_spark(frame, keep_order=True)
    found = released.groupBy(F.spark_partition_id(), "town", "smoker").count().collect()
    released.unpersist()
    block = protocol.block
    outputs = {tuple(block.values[label].tolist()): y for y, label in enumerate(block.labels)}
    observed = np.zeros((len(outputs), n))
    for place, town, smoker, count in found:
        observed[outputs[town, smoker], place] += count
    assert observed.sum() == rows
    inputs = [[tuple(value) for value in block.values.tolist()].index(tuple(value)) for value in values]
    Q = protocol.channel[:, inputs]
    assert (observed[Q == 0] == 0).all()
    drawn = [x for x in range(n) if Q[:, x].max() < 0.95]  # the others have hardly a choice
    assert len(drawn) >= 3
    assert min(fit(observed[:, x], Q[:, x] * rows / n) for x in drawn) * n > PLAUSIBLE
    for x in drawn:  # the check can fail: five percent more of one output
        tilted = np.where(np.arange(len(Q)) == Q[:, x].argmax(), 1.05, 1) * Q[:, x]
        assert fit(observed[:, x], tilted / tilted.sum() * rows / n) < ABSURD


def released_places(frame):
    """Where each town ends up in the released table: rows of (town, partition, position in it)."""
    from pyspark.sql import functions as F

    rows = frame.select("town", F.spark_partition_id(), F.monotonically_increasing_id().bitwiseAND(2**33 - 1)).collect()
    return np.array([(int(town[-1]), place, position) for town, place, position in rows])


@pytest.mark.parametrize("keep_order", [False, True])
def test_the_place_of_a_row_says_nothing_about_it_unless_the_order_is_kept(session, joint, keep_order):
    """The table is sorted by town, and the channel changes nothing: only the order can be random."""
    identity = by_hand(joint, np.eye(joint.n_x, dtype=np.int64) * UNIT)
    frame = session.range(0, 40_000, 1, 4).selectExpr("concat('town ', id DIV 10000) AS town", "id % 2 = 0 AS smoker")
    released = identity.sanitise_spark(frame, keep_order=keep_order)
    assert counts(released) == counts(frame)
    places = released_places(released)
    by_partition = np.array([np.bincount(places[places[:, 0] == t, 1], minlength=4) for t in range(4)])
    by_partition = by_partition[:, by_partition.any(axis=0)]
    halves = [places[places[:, 0] == t, 2] < np.median(places[:, 2]) for t in range(4)]
    by_position = np.array([[half.sum(), (~half).sum()] for half in halves])
    p_values = [chi2_contingency(t).pvalue for t in (by_partition, by_position) if t.shape[1] > 1]
    if keep_order:
        assert min(p_values) < ABSURD
    else:
        assert min(p_values) > PLAUSIBLE


def runs(towns):
    """How many runs of equal towns there are: of n in random order, with four towns, about 3n/4."""
    return 1 + sum(a != b for a, b in pairwise(towns))


def by_town(session):
    """A table whose rows are sorted by town."""
    return session.range(0, 40_000, 1, 4).selectExpr("concat('town ', id DIV 10000) AS town", "id % 2 = 0 AS smoker")


def test_the_place_of_a_row_in_a_partitioned_folder_says_nothing_about_it(session, joint, tmp_path):
    identity = by_hand(joint, np.eye(joint.n_x, dtype=np.int64) * UNIT)
    identity.sanitise_spark(by_town(session), tmp_path / "open.parquet", partition_by=["smoker"])
    for path in (tmp_path / "open.parquet").rglob("*.parquet"):
        towns = pq.ParquetFile(path).read()["town"].to_pylist()
        assert runs(towns) > 0.7 * len(towns)


def test_the_order_of_a_release_says_nothing_after_it_was_forgotten_and_sorted_by_another_column(session, joint):
    identity = by_hand(joint, np.eye(joint.n_x, dtype=np.int64) * UNIT)
    released = identity.sanitise_spark(by_town(session))
    released.unpersist()
    for asked in (released.orderBy("smoker"), released.sortWithinPartitions("smoker")):
        assert runs([row["town"] for row in asked.collect()]) > 0.7 * 40_000


def test_no_task_hands_over_released_rows_in_the_order_of_their_inputs(session, joint):
    from privacyfunnel.tables.spark.workers import Drawing

    identity = by_hand(joint, np.eye(joint.n_x, dtype=np.int64) * UNIT)
    rows = pa.RecordBatch.from_pydict({"c0": ["town 0", "town 1"] * 500, "c1": [True] * 1_000, "p": [0] * 1_000})
    (out,) = Drawing(identity, b"K" * 32, False, "refuse")(iter([rows]))
    assert runs(out.column("c0").to_pylist()) > 400


# --- work that is done twice -------------------------------------------------------------------------


def test_a_release_that_is_used_twice_shows_the_same_rows(table, protocol):
    released = protocol.sanitise_spark(table)
    first = released.collect()
    assert released.collect() == first
    released.unpersist()  # from the beginning: other tasks, the same draws
    assert released.collect() == first
    assert len(first) == 20_000


def test_a_part_of_a_release_that_was_lost_is_drawn_as_before_whichever_task_does_it(session, joint):
    coin = by_hand(joint, np.full((joint.n_x, joint.n_x), UNIT // joint.n_x))
    released = coin.sanitise_spark(by_town(session), keep_order=True)
    first = released.collect()
    released.unpersist()
    assert released.coalesce(1).collect() == first
    assert released.limit(0).union(released).collect() == first


def test_two_releases_are_drawn_independently(table, protocol):
    one, other = (protocol.sanitise_spark(table, keep_order=True).collect() for _ in range(2))
    assert sum(a != b for a, b in zip(one, other, strict=True)) > 1_000


def test_partitions_with_the_same_rows_are_drawn_independently(session, joint):
    coin = by_hand(joint, np.full((joint.n_x, joint.n_x), UNIT // joint.n_x))
    frame = session.range(0, 2_000, 1, 2).selectExpr("'town 1' AS town", "true AS smoker")
    rows = coin.sanitise_spark(frame, keep_order=True).collect()
    assert sum(a == b for a, b in zip(rows[:1_000], rows[1_000:], strict=True)) < 250


def test_the_order_in_which_rows_arrive_does_not_change_what_is_released(table, protocol):
    one = protocol.sanitise_spark(table, seed=5)
    other = protocol.sanitise_spark(table.sortWithinPartitions("ill", "id", ascending=[False, False]), seed=5)
    assert one.collect() == other.collect()


def failing():
    """Work that fails in its first attempt, and in its second gives the rows in another order."""

    def work(batches):
        from pyspark import TaskContext

        attempt = TaskContext.get().attemptNumber()
        for batch in batches:
            rows = np.arange(batch.num_rows)
            yield batch.take(pa.array(rows[::-1] if attempt else rows))
        if attempt == 0 and TaskContext.get().partitionId() % 2:
            raise RuntimeError("a worker is lost")

    return work


def test_a_task_that_is_tried_again_releases_the_rows_it_would_have_released(session, table, protocol, tmp_path):
    calm = protocol.sanitise_spark(table, seed=9)
    shaky = table.mapInArrow(failing(), table.schema)
    release = protocol.sanitise_spark(shaky, tmp_path / "open.parquet", seed=9)
    assert release.rows == 20_000
    assert counts(session.read.parquet(str(tmp_path / "open.parquet"))) == counts(calm)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12), st.randoms())
def test_the_key_of_a_partition_depends_on_who_is_in_it_and_not_on_their_order(rows, random):
    from privacyfunnel.tables.spark.workers import in_sorted_order, partition_key

    def key(rows, place=3):
        return partition_key(b"K" * 32, place, in_sorted_order(np.array(rows, dtype=np.int32)))

    other = list(rows)
    random.shuffle(other)
    assert key(rows) == key(other)
    assert key(rows) != key([*rows[1:], (3, 3)])
    assert key(rows) != key(rows, place=4)
    assert key([row[:1] for row in rows]) == key([row[:1] for row in other])


def test_the_key_is_shown_nowhere(table, protocol):
    from privacyfunnel.tables.spark.workers import Drawing

    drawing = Drawing(protocol, b"\xab\xcd" * 16, False, "refuse")
    plan = table.select("town", "smoker").mapInArrow(drawing, drawing.schema())._jdf.queryExecution()
    for text in (repr(drawing), plan.toString(), plan.debug().codegenToSeq().toString()):
        assert "abcd" not in text.lower()
        assert "\\xab" not in text.lower()


# --- what is refused, and what is written ------------------------------------------------------------


def test_rows_that_were_not_there_when_fitting_are_refused_with_a_count_of_the_whole_table(table, protocol, tmp_path):
    strange = table.selectExpr("IF(id % 1000 = 0, 'CANARY', town) AS town", "IF(id = 7, NULL, smoker) AS smoker")
    for output in (None, tmp_path / "open.parquet"):
        with pytest.raises(
            UnseenValues, match=r"20 rows in town.*1 rows in smoker|1 rows in smoker.*20 rows in town"
        ) as e:
            protocol.sanitise_spark(strange, output)
        assert "CANARY" not in str(e.value)
    assert list(tmp_path.iterdir()) == []
    release = protocol.sanitise_spark(strange, tmp_path / "open.parquet", unseen="draw")
    assert (release.rows, release.drawn) == (20_000, 21)


def test_a_release_is_written_whole_with_its_metadata(session, table, protocol, tmp_path):
    target = tmp_path / "open.parquet"
    release = protocol.sanitise_spark(table, target)
    assert (release.rows, release.attributes, release.dropped) == (20_000, ("town", "smoker"), ("id", "ill"))
    assert release.shuffled
    assert release.secure
    assert pq.read_table(target).column_names == ["town", "smoker"]
    with pytest.raises(OutputRefused, match="--force"):
        protocol.sanitise_spark(table, target)
    protocol.sanitise_spark(table, target, seed=1, force=True, partition_by=["smoker"])
    assert sorted(path.name for path in target.iterdir() if path.is_dir()) == ["smoker=false", "smoker=true"]
    footer = pq.read_metadata(next(target.rglob("*.parquet"))).metadata
    assert any(b"INSECURE: seeded with 1" in value for value in footer.values())
    assert session.read.parquet(str(target)).count() == 20_000
    with pytest.raises(OutputRefused, match="input itself"):
        protocol.sanitise_spark(session.read.parquet(str(target)), target, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["open.parquet"]


def test_a_failed_release_leaves_the_old_one_in_its_place(session, table, protocol, tmp_path):
    target = tmp_path / "open.parquet"
    protocol.sanitise_spark(table, target)
    before = counts(session.read.parquet(str(target)))
    broken = table.selectExpr("IF(id = 19999, raise_error('CANARY'), town) AS town", "smoker")
    with pytest.raises(InvalidTable) as trouble:
        protocol.sanitise_spark(broken, target, force=True)
    assert "CANARY" not in str(trouble.value)
    assert counts(session.read.parquet(str(target))) == before
    assert [path.name for path in tmp_path.iterdir()] == ["open.parquet"]


def test_options_that_make_no_sense_are_refused(table, protocol):
    for bad in ({"unseen": "guess"}, {"partition_by": ["ill"]}, {"partition_by": ["town", "smoker"]}):
        with pytest.raises(InvalidInput):
            protocol.sanitise_spark(table, **bad)
    with pytest.raises(InvalidTable, match="no column 'smoker'"):
        protocol.sanitise_spark(table.drop("smoker"))
    with pytest.raises(InvalidTable, match="no rows"):
        protocol.sanitise_spark(table.where("id < 0"))


# --- the command line --------------------------------------------------------------------------------


def funnel(*arguments, folder):
    command = [sys.executable, "-c", "from privacyfunnel.cli.main import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment(), check=False)


def test_counts_of_spark_get_noise_as_others_do(table):
    joint = pf.Joint.from_spark(table, "ill", ["town", "smoker"], private=1.0, at_least=10)
    protocol = pf.optimise(joint, pf.LIP(0.1))
    assert protocol.fitted == "private counts"
    assert audit_publicly(protocol)[1]


def test_the_command_line_fits_and_sanitises_with_spark(table, tmp_path):
    pa_csv.write_csv(table.toArrow(), tmp_path / "people.csv")
    spark_keys = ("--set", "engine=spark", "--set", "master=local[2]", "--json")
    spark_options = ("--engine", "spark", "--master", "local[2]", "--json")
    fit = ("fit", "people.csv", "--secret", "ill", "--columns", "town,smoker", "--epsilon", "0.1", "--set", "exact-fit")
    done = funnel(*fit, "-o", "spark.json", *spark_keys, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert funnel(*fit, "-o", "duckdb.json", folder=tmp_path).returncode == 0
    assert (tmp_path / "spark.json").read_bytes() == (tmp_path / "duckdb.json").read_bytes()
    sanitise = ("sanitise", "people.csv", "--protocol", "spark.json")
    done = funnel(*sanitise, "-o", "open.parquet", *spark_options, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["rows"] == pq.read_table(tmp_path / "open.parquet").num_rows == 20_000
    assert told["steward_only"]["own_table"] is None
    assert "is not measured on Spark" in told["steward_only"]["own_table_why"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"ill,town\nyes,A\nno,CANARY,too long\n", "do not fit its header"),
        (b"ill,town\nyes,A\nno,CANARY \xff\n", "latin-1"),
    ],
)
def test_the_command_line_meets_broken_files_with_one_line(content, words, tmp_path):
    require_spark()
    (tmp_path / "people.csv").write_bytes(content)
    fit = ("fit", "people.csv", "--secret", "ill", "--epsilon", "1", "-o", "p.json", "--set", "engine=spark")
    done = funnel(*fit, "--set", "master=local[1]", folder=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert "CANARY" not in done.stderr + done.stdout
    assert not (tmp_path / "p.json").exists()


def test_spark_options_that_make_no_sense_are_refused_before_spark_starts(tmp_path, capsys):
    from privacyfunnel.cli.app import run

    (tmp_path / "people.csv").write_text("ill,town\nyes,A\nno,B\n")
    fit = ["fit", str(tmp_path / "people.csv"), "--secret", "ill", "--epsilon", "1", "-o", str(tmp_path / "p.json")]
    for bad in (["engine=sparc"], ["master=local"], ["engine=spark", "master=nowhere"]):
        assert run([*fit, *(word for key in bad for word in ("--set", key))]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_without_pyspark_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingExtra, match=r"privacyfunnel\[spark\]"):
        pf.Joint.from_spark(None, "s")


def test_the_core_never_imports_spark_or_scikit_learn(tmp_path):
    """The whole way with both of them forbidden."""
    script = """
import sys
sys.modules.update(dict.fromkeys(["pyspark", "py4j", "sklearn"]))  # None: importing them is an error
import privacyfunnel as pf
for name in set(pf.__all__) - {"PrivacyFunnel"}:
    getattr(pf, name)
from privacyfunnel.cli.app import run
open("people.csv", "w").write("ill,town\\n" + "yes,A\\nno,B\\nno,A\\n" * 50)
assert run("fit people.csv --secret ill --epsilon 0.5 -o p.json".split()) == 0
assert run("sanitise people.csv --protocol p.json -o open.csv".split()) == 0
assert run("audit p.json --table people.csv".split()) == 0
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
