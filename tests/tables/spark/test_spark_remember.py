import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import privacyfunnel as pf
from drawn_law import law, plausibility, rows_with
from privacyfunnel.errors import InvalidInput, InvalidTable, UnseenValues
from privacyfunnel.tables.reading_back import outputs_of_rows
from privacyfunnel.tables.remembered.ledger import read_ledger
from spark_parts import spark

pytestmark = pytest.mark.long
ROWS = 1000


@pytest.fixture(scope="module")
def session():
    with spark() as session:
        yield session


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"id": rng.permutation(ROWS), "town": rng.choice(list("ABCD"), ROWS)})
    return people.assign(ill=np.where(rng.random(ROWS) < 0.2 + 0.2 * (people.town == "A"), "yes", "no"))


@pytest.fixture(scope="module")
def protocol(table):
    return pf.optimise(pf.Joint.from_table(table, "ill", ["town"]), pf.LIP(0.1), objective="faithful")


def collected(frame):
    return pd.DataFrame([row.asDict() for row in frame.collect()], columns=frame.columns)


def test_spark_pandas_and_files_give_the_same_people_the_same_rows(session, table, protocol, tmp_path):
    again = {"remember": tmp_path / "people.key", "person": "id", "keep_order": True}
    first = protocol.sanitise(table, **again)
    frame = session.createDataFrame(table).repartition(3).persist()  # else it deals rows anew for every query
    people = collected(frame.select("id")).id  # in the order of its partitions
    released = collected(protocol.sanitise_spark(frame, **again))
    assert released.set_index(people).loc[table.id].reset_index(drop=True).equals(first)
    in_order = session.createDataFrame(table).coalesce(1)
    release = protocol.sanitise_spark(in_order, tmp_path / "open.parquet", **again)
    assert release.remembered.unchanged == ROWS
    assert pd.read_parquet(tmp_path / "open.parquet").equals(first)
    assert "keyed" in release.metadata()["randomness"]
    shuffled = collected(protocol.sanitise_spark(frame, **again | {"keep_order": False}))
    assert shuffled.value_counts().sort_index().equals(first.value_counts().sort_index())
    lines = read_ledger(again["remember"]).releases
    assert len({line["records"] for line in lines}) == 1
    assert len(lines) == 4


def test_spark_tells_new_changed_and_gone_people_apart(session, table, protocol, tmp_path):
    again = {"remember": tmp_path / "people.key", "person": "id", "keep_order": True}
    first = collected(protocol.sanitise_spark(session.createDataFrame(table).coalesce(1), **again))
    later = table.assign(town=np.where(np.arange(ROWS) < 100, "B", table.town)).iloc[:-20]
    changed = (later.town != table.town.iloc[:-20]).sum()
    later = pd.concat([later, later.iloc[:5].assign(id=lambda rows: rows.id + 10_000)])
    release = protocol.sanitise_spark(session.createDataFrame(later).coalesce(1), tmp_path / "o.parquet", **again)
    found = release.remembered
    assert (found.new, found.unchanged, found.changed, found.left) == (5, ROWS - 20 - changed, changed, 20)
    assert pd.read_parquet(tmp_path / "o.parquet").iloc[:-5].equals(first.iloc[:-20])
    left_out = protocol.sanitise_spark(session.createDataFrame(later), **again, changed="drop")
    assert left_out.count() == len(later) - changed


def test_spark_refuses_people_twice_rows_about_nobody_and_values_never_seen(session, table, protocol, tmp_path):
    again = {"remember": tmp_path / "people.key", "person": "id"}
    with pytest.raises(InvalidTable, match="2 rows of the DataFrame are about somebody who has a row already"):
        protocol.sanitise_spark(session.createDataFrame(pd.concat([table, table.iloc[:2]])), **again)
    ids, towns = [None, *map(str, table.id[1:])], ["Z"] * 3 + table.town.tolist()[3:]
    with pytest.raises(InvalidTable, match="1 rows have no entry in 'id'"):
        protocol.sanitise_spark(session.createDataFrame(table.assign(id=ids)), **again)
    with pytest.raises(UnseenValues, match="3 rows in town"):
        protocol.sanitise_spark(session.createDataFrame(table.assign(town=towns)), **again)
    assert not read_ledger(again["remember"]).releases


def test_a_follow_up_is_the_same_on_spark(session, table, protocol, tmp_path):
    again = {"remember": tmp_path / "people.key", "person": "id", "keep_order": True}
    whole = table.assign(sex=np.where(table.id % 3 > 0, "m", "f"))
    second = pf.optimise(pf.Joint.from_table(whole, "ill", ["town", "sex"]), pf.LIP(0.3), after=protocol)
    protocol.sanitise(whole.iloc[:900], **again)
    frame = session.createDataFrame(whole).coalesce(1)
    release = second.sanitise_spark(frame, tmp_path / "open.parquet", **again)
    assert (release.remembered.new, release.remembered.followed) == (100, 900)
    assert pd.read_parquet(tmp_path / "open.parquet").equals(second.sanitise(whole, **again))
    with pytest.raises(InvalidInput, match="drawn with the key"):
        second.sanitise_spark(frame)
    with pytest.raises(UnseenValues, match="not fitted on some values"):
        second.sanitise_spark(session.createDataFrame(whole.assign(sex="x")), **again)


def test_who_keeps_their_row_is_counted_alike_on_spark(session, table, protocol, tmp_path):
    again = {"remember": tmp_path / "people.key", "person": "id", "keep_order": True}
    today = table.assign(town=np.where(np.arange(ROWS) % 8 == 0, "B", table.town))
    both = table.assign(**{"town now": today.town})
    joint = pf.Joint.from_table(both, "ill", ["town", "town now"])
    second = pf.optimise(joint, pf.LIP(0.3), after=protocol, keep_rows=True)
    protocol.sanitise(table, **again)
    release = second.sanitise_spark(session.createDataFrame(both).coalesce(1), tmp_path / "open.parquet", **again)
    stay = release.remembered.stay
    assert (stay.unchanged, stay.changed) == ((today.town == table.town).sum(), (today.town != table.town).sum())
    assert stay.unchanged_kept > stay.unchanged / 2
    assert pd.read_parquet(tmp_path / "open.parquet").equals(second.sanitise(today, was=table, **again))


def test_rare_combinations_are_drawn_on_spark_from_the_certified_column(session, table, tmp_path):
    """With a key they are drawn as here, where every column is compared; afresh they have the law, and no other."""
    again = {"remember": tmp_path / "people.key", "person": "id", "keep_order": True}
    jobs = np.random.default_rng(2).choice(list("abcd"), ROWS, p=[0.6, 0.3, 0.09, 0.01])
    whole = table.assign(job=jobs)
    joint = pf.Joint.from_table(whole, "ill", ["town", "job"], at_least=10)
    first = pf.optimise(joint, pf.LIP(0.1), gap=1e-3)
    second = pf.optimise(joint, pf.LIP(0.4), after=first, gap=1e-3)
    assert joint.n_x < joint.before_gathering.n_x
    frame = session.createDataFrame(whole).coalesce(1)
    for protocol in (first, second):
        released = collected(protocol.sanitise_spark(frame, **again))
        assert released.equals(protocol.sanitise(whole, **again))
    columns = joint.before_gathering.columns
    codes = np.stack([column.encode(pa.array(whole[column.name])) for column in columns], axis=1)
    different, x = np.unique(codes, axis=0, return_inverse=True)
    found, nothing = law(first, rows_with(columns, different)), [()] * ROWS
    y = outputs_of_rows(first, collected(first.sanitise_spark(frame, keep_order=True)))
    assert plausibility(found, x.ravel().tolist(), nothing, y.tolist(), np.random.default_rng(9)) > 1e-9
    assert plausibility(found, x.ravel().tolist(), nothing, y[::-1].tolist(), np.random.default_rng(9)) < 1e-9
