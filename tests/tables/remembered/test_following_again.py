"""Follow-ups drawn with a key: the same row again, new people with their first steps, and what the ledger says."""

import hmac
import struct

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.ciphers.algorithms import AES128
from cryptography.hazmat.primitives.cmac import CMAC

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput, OverLimit, UnseenValues
from privacyfunnel.protocols.drawn import drawing_digest
from privacyfunnel.tables.remembered.ledger import read_ledger
from privacyfunnel.tables.remembered.memory import Remember, in_batches, people_of_table
from privacyfunnel.tables.sources import open_source
from privacyfunnel.tables.spark.workers import Drawing

ROWS = 2000


def people(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {"id": rng.permutation(rows) + 5, "town": rng.choice(list("ABCD"), rows), "sex": rng.choice(["m", "f"], rows)}
    )
    ill = rng.random(rows) < 0.2 + 0.2 * (table.town == "A") + 0.1 * (table.sex == "m")
    return table.assign(ill=np.where(ill, "yes", "no"))


@pytest.fixture(scope="module")
def chain():
    """Towns first; then towns and sexes; then these once more."""
    both = pf.Joint.from_table(people(), "ill", ["town", "sex"])
    first = pf.optimise(both.over(["town"]), pf.LIP(0.1), objective="faithful")
    second = pf.optimise(both, pf.LIP(0.25), after=first)
    return first, second, pf.optimise(both, pf.LIP(0.4), after=second)


@pytest.fixture
def again(tmp_path):
    return {"remember": tmp_path / "people.key", "person": "id", "keep_order": True}


def last(key):
    return read_ledger(key).releases[-1]


def test_a_follow_up_is_the_same_again_from_tables_of_any_kind(chain, again, tmp_path):
    first, second, third = chain
    table = people()
    first.sanitise(table, **again)
    rows = second.sanitise(table, **again)
    assert second.sanitise(pl.from_pandas(table), **again).to_pandas().equals(rows)
    table.to_csv(tmp_path / "t.csv", index=False)
    for k in range(2):
        release = second.sanitise(tmp_path / "t.csv", tmp_path / f"{k}.csv", **again)
        assert (release.remembered.unchanged, release.remembered.told_anew) == (ROWS, 0)
    assert (tmp_path / "0.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()
    assert pd.read_csv(tmp_path / "0.csv").equals(rows)
    mixed = table.sample(frac=0.5, random_state=1)
    later = third.sanitise(table, **again).set_index(table.id)
    assert third.sanitise(mixed, **again).set_index(mixed.id).equals(later.loc[mixed.id])
    assert read_ledger(again["remember"]).verify() == 7  # the half is another list of people


def mac(key, purpose, x, person):
    derived = hmac.digest(key, b"privacyfunnel key\0draw " + purpose.encode(), "sha256")[:16]
    found = CMAC(AES128(derived))
    found.update(struct.pack("<II", 0, x) + str(person).encode())
    return int.from_bytes(found.finalize()[8:], "little")


@pytest.mark.parametrize("at_least", [0, 10])
def test_a_task_of_a_cluster_gives_people_the_rows_that_they_are_given_here(again, at_least):
    """Spark's tasks write outputs as values by themselves, here without Spark; after a release of the same columns."""
    table = people(seed=3).assign(town=lambda rows: rows.town.where(rows.index % 40 > 0, "E"))
    joint = pf.Joint.from_table(table, "ill", ["town", "sex"], at_least=at_least)
    protocol = pf.optimise(joint, pf.LIP(0.05))
    for epsilon in (None, 0.2, 0.4):
        if epsilon is not None:
            protocol = pf.optimise(joint, pf.LIP(epsilon), after=protocol)
        source = open_source(table)
        asked = Remember(again["remember"], again["person"])
        given = people_of_table(protocol, asked, source, "refuse", in_batches(source)).given
        task = Drawing(protocol, b"", keep_order=True, unseen="refuse", given=given)
        columns = [*(pa.array(table[name]) for name in task.columns), pa.array(np.zeros(ROWS, dtype=np.int64))]
        rows = pa.RecordBatch.from_arrays(columns, [*task.columns, ""])
        released = pa.Table.from_batches(task(iter([rows]))).to_pandas().set_axis(protocol.released_columns, axis=1)
        assert released.equals(protocol.sanitise(table, **again))


def test_a_draw_is_a_function_of_key_person_values_and_earlier_outputs(chain, again):
    """Marks are the last half of the same words by which rows are drawn, so that these are the words they should be."""
    first, second, _ = chain
    table = people()
    second.sanitise(table, **again)
    ledger, steps = read_ledger(again["remember"]), second.by_history
    records = ledger.people(ledger.releases[-1]).records
    place = {tuple(pair): i for i, pair in enumerate(steps.pairs.tolist())}
    labels = [column.labels for column in steps.columns]
    known = {int(mark): tuple(y) for mark, y in zip(records["mark"][:, 0], records["y"].tolist(), strict=True)}
    for row in table.iloc[:60].itertuples():
        town = first.block.columns[0].labels.index(row.town)
        own = mac(ledger.key.secret, drawing_digest(first), town, row.id)
        x = steps.codes.tolist().index([labels[0].index(row.town), labels[1].index(row.sex)])
        found = []
        for h, history in enumerate(steps.histories.tolist()):
            if (h, x) in place:
                mark = own ^ mac(ledger.key.secret, drawing_digest(second), place[h, x], row.id)
                found += [known[mark][:1] == tuple(history)] if mark in known else []
        assert found == [True]


def test_the_earlier_row_that_a_follow_up_is_drawn_from_is_the_one_that_was_released(chain, again, tmp_path):
    first, second, _ = chain
    table = people()
    kept = first.sanitise(table, **again).town
    second.sanitise(table, internal=tmp_path / "kept.csv", **again)
    ledger = read_ledger(again["remember"])
    before, after = (ledger.people(line).records for line in ledger.releases)
    assert np.array_equal(before["y"][:, 0], after["y"][:, 0])
    assert len(pd.read_csv(tmp_path / "kept.csv")) == len(kept) == ROWS


def test_new_people_take_the_first_steps_and_everybody_is_counted(chain, again, tmp_path):
    first, second, third = chain
    table = people()
    first.sanitise(table.iloc[:1500], **again)
    table.to_csv(tmp_path / "t.csv", index=False)
    found = second.sanitise(tmp_path / "t.csv", tmp_path / "o.csv", **again).remembered
    assert (found.new, found.followed, found.again, found.unchanged, found.changed) == (500, 1500, 1500, 0, 0)
    line = last(again["remember"])
    assert line["follows"] == [drawing_digest(first)]
    assert {history["level"] for history in line["histories"]} == {0.25}  # of both, and not one level more
    assert [[draw["draws"] for draw in history["draws"]] for history in line["histories"]] == [[1, 1], [1, 1]]
    whole = first.sanitise(tmp_path / "t.csv", tmp_path / "first.csv", **again).remembered
    assert (whole.unchanged, whole.again, whole.level) == (1500, 500, 0.25)  # nothing that was not counted already
    ledger = read_ledger(again["remember"])
    one, two = (ledger.people(line).records for line in ledger.releases[-2:])
    assert np.array_equal(one["y"][:, 0], two["y"][:, 0])
    assert third.sanitise(tmp_path / "t.csv", tmp_path / "3.csv", **again).remembered.followed == ROWS


def test_changed_people_are_refused_with_their_number_or_left_out(chain, again):
    first, second, _ = chain
    table = people()
    first.sanitise(table, **again)
    moved = table.assign(town=np.where(np.arange(ROWS) < 90, "B", table.town))
    changed = int((moved.town != table.town).sum())
    with pytest.raises(OverLimit, match=f"{changed} people changed since another protocol"):
        second.sanitise(moved, **again)
    assert len(second.sanitise(moved, **again, changed="drop")) == ROWS - changed
    rows = second.sanitise(table.iloc[90:], **again)
    later = table.assign(sex="f").iloc[90:]  # a column of the follow-up alone
    assert second.sanitise(later, **again).equals(rows)


def test_a_follow_up_over_the_limit_is_refused_with_the_number_of_people(chain, again):
    first, second, third = chain
    table = people()
    first.sanitise(table.iloc[:700], **again)
    read_ledger(again["remember"]).fix(pf.LIP(0.25))
    assert len(second.sanitise(table.iloc[:700], **again)) == 700
    before = read_ledger(again["remember"]).lines.head
    with pytest.raises(OverLimit, match=r"700 people would reach lip level 0.4, and the ledger allows 0.25"):
        third.sanitise(table.iloc[:700], **again)
    with pytest.raises(OverLimit, match=r"701 people would reach lip level 0.4"):
        third.sanitise(table.iloc[:701], **again)
    assert read_ledger(again["remember"]).lines.head == before


def test_a_follow_up_and_an_unrelated_release_have_their_exact_level_together(chain, again):
    first, second, _ = chain
    table = people()
    second.sanitise(table, **again)
    joint = pf.Joint.from_table(table, "ill", ["town", "sex"])
    other = pf.optimise(joint.over(["sex"]), pf.LIP(0.02))
    other.sanitise(table, **again)
    (history,) = last(again["remember"])["histories"]
    assert history["level"] == pf.certify_together([other, second], joint, pf.LIP(1.0)).level > 0.25
    first.sanitise(table, **again)
    (history,) = last(again["remember"])["histories"]
    assert history["level"] == pf.certify_together([other, second], joint, pf.LIP(1.0)).level


def test_histories_that_a_follow_up_was_not_fitted_for_are_refused_with_their_number(chain, again):
    first, _, _ = chain
    table = people()
    joint = pf.Joint.from_table(table, "ill", ["town", "sex"])
    some = pf.optimise(joint, pf.LIP(0.25), after=first, histories=np.array([[0], [1]]))
    drawn = first.sanitise(table, **again).town
    others = int((~drawn.isin([first.block.values[y][0] for y in (0, 1)])).sum())
    with pytest.raises(UnseenValues, match=f"of {others:,} people something was released"):
        some.sanitise(table, **again)
    with pytest.raises(UnseenValues, match="not fitted on some values"):
        chain[1].sanitise(table.assign(sex="x"), **again)


def test_what_does_not_fit_together_is_refused(chain, again):
    first, second, _ = chain
    table = people(50)
    kept = first.sanitise(table, keep_order=True).assign(id=table.id)
    with pytest.raises(InvalidInput, match="give one of them"):
        second.sanitise(table, released=kept, **again)
    with pytest.raises(InvalidInput, match="give one of them"):
        second.sanitise(table, person="id")
    with pytest.raises(InvalidInput, match="known again by a key"):
        second.sanitise(table, released=kept, person="id", changed="drop")
    with pytest.raises(InvalidInput, match="a seed or with a key"):
        second.sanitise(table, **again, seed=1)


def test_a_released_follow_up_says_what_its_promise_is_about(chain, again, tmp_path):
    first, second, _ = chain
    table = people()
    kept = first.sanitise(table, keep_order=True).assign(id=table.id)
    table.to_csv(tmp_path / "t.csv", index=False)
    fresh = second.sanitise(tmp_path / "t.csv", tmp_path / "o.csv", released=kept, person="id")
    assert "all that were released of these people before" in fresh.metadata()["mind"][1]
    keyed = second.sanitise(tmp_path / "t.csv", tmp_path / "k.csv", **again)
    assert "the steward's ledger accounts for" in keyed.metadata()["mind"][1]


def test_whether_a_follow_up_appears_does_not_hang_on_exact_counts(chain, again, monkeypatch):
    """Its level, and that of a single protocol, is the promise; only independent draws are put together exactly."""
    first, second, third = chain
    monkeypatch.setattr("privacyfunnel.tables.remembered.levels.count", None)
    for protocol in (first, second, third):
        assert len(protocol.sanitise(people(), **again)) == ROWS
    other = pf.optimise(pf.Joint.from_table(people(), "ill", ["town"]), pf.LIP(0.05))
    with pytest.raises(TypeError):  # counts are asked for
        other.sanitise(people(), **again)
