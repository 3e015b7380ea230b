"""What people were beside what they are: joined by person, counted, and followed up with everything covered."""

from datetime import datetime, timedelta
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import privacyfunnel as pf
from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.raw import as_text
from privacyfunnel.errors import InvalidInput, InvalidTable, OutputRefused, OverLimit
from privacyfunnel.proof.rows_kept import rows_kept
from privacyfunnel.tables.changes import joined, write_changes
from privacyfunnel.tables.release import sanitise
from privacyfunnel.tables.remembered.ledger import read_ledger
from privacyfunnel.tables.sources import open_source

ROWS = 3000


def then(seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"id": rng.permutation(ROWS) + 5, "town": rng.choice(list("ABC"), ROWS)})
    ill = rng.random(ROWS) < 0.2 + 0.2 * (table.town == "A")
    return table.assign(ill=np.where(ill, "yes", "no"), age=rng.integers(20, 60, ROWS))


def now(table, seed=1):
    """Ill people move far more often; some are new, some gone."""
    rng = np.random.default_rng(seed)
    moves = rng.random(ROWS) < np.where(table.ill == "yes", 0.4, 0.05)
    later = table.assign(town=np.where(moves, rng.choice(list("ABC"), ROWS), table.town)).iloc[:-100]
    return pd.concat([later, later.iloc[:60].assign(id=lambda rows: rows.id + 10_000)])


@pytest.mark.parametrize("names", [("t.csv", "n.csv", "o.csv"), ("t.parquet", "n.parquet", "o.parquet"),
                                   ("t.parquet", "n.csv", "o.parquet")], ids=str)  # fmt: skip
def test_old_and_new_values_stand_side_by_side_in_the_order_of_today(names, tmp_path):
    old = then()
    new = now(old)
    for table, name in ((old, names[0]), (new, names[1])):
        table.to_csv(tmp_path / name, index=False) if name.endswith("csv") else table.to_parquet(tmp_path / name)
    found = write_changes(
        tmp_path / names[1], tmp_path / names[0], tmp_path / names[2], person="id", columns=["town", "age"]
    )
    before = old.set_index("id").town.reindex(new.id)
    changed = int((before.notna().to_numpy() & (before.to_numpy() != new.town.to_numpy())).sum())
    assert (found.new, found.changed, found.unchanged, found.gone) == (60, changed, len(new) - 60 - changed, 100)
    both = pd.read_csv(tmp_path / names[2]) if names[2].endswith("csv") else pd.read_parquet(tmp_path / names[2])
    expected = before.fillna(pd.Series(new.town.to_numpy(), index=new.id))
    # One by one, since pytest takes minutes to show how two lists of thousands differ.
    assert (both["id"].astype(int).to_numpy() == new.id.to_numpy()).all()
    assert (both["town now"].to_numpy() == new.town.to_numpy()).all()
    assert (both["town"].to_numpy() == expected.to_numpy()).all()
    assert (both["age"].astype(int).to_numpy() == new.age.to_numpy()).all()
    assert (both["age now"].astype(int).to_numpy() == new.age.to_numpy()).all()
    assert (tmp_path / names[2]).stat().st_mode & 0o077 == 0


def test_new_unchanged_and_changed_people_are_followed_in_one_run_and_everything_is_covered(tmp_path):
    old = then()
    new = now(old)
    old.to_csv(tmp_path / "then.csv", index=False)
    new.to_csv(tmp_path / "now.csv", index=False)
    again = {"remember": tmp_path / "people.key", "person": "id", "keep_order": True}
    first = pf.optimise(pf.Joint.from_table(old, "ill", ["town"]), pf.LIP(0.1), objective="faithful")
    first.sanitise(tmp_path / "then.csv", tmp_path / "first.csv", **again)
    write_changes(tmp_path / "now.csv", tmp_path / "then.csv", tmp_path / "both.parquet", person="id", columns=["town"])
    joint = pf.Joint.from_table(tmp_path / "both.parquet", secret="ill", attributes=["town", "town now"])
    second = pf.optimise(joint, pf.LIP(0.5), after=first)
    assert 0 < pf.certify(second, joint).level <= 0.5
    both = pd.read_parquet(tmp_path / "both.parquet")
    wrong = both.assign(town=np.where(both.index < 500, both["town now"], both.town))  # not what was released
    mistaken = int((wrong.town != both.town).sum())
    with pytest.raises(OverLimit, match=f"{mistaken} people changed since"):
        second.sanitise(wrong, **again)
    release = second.sanitise(tmp_path / "both.parquet", tmp_path / "second.csv", **again)
    assert (release.remembered.new, release.remembered.followed) == (60, len(new) - 60)
    assert max(level["level"] for level in read_ledger(again["remember"]).releases[-1]["histories"]) == 0.5


def released_before(folder, objective="information"):
    """Last year's table, released with a key; today's; and the follow-up that leaves people their rows."""
    old = then()
    new = now(old)
    old.to_csv(folder / "then.csv", index=False)
    new.to_csv(folder / "now.csv", index=False)
    again = {"remember": folder / "people.key", "person": "id", "keep_order": True}
    first = pf.optimise(pf.Joint.from_table(old, "ill", ["town"]), pf.LIP(0.1), objective=objective)
    rows = first.sanitise(old, **again)
    both, _ = joined(open_source(new), [open_source(old)], "id", ["town"])
    joint = pf.Joint.from_table(both, secret="ill", attributes=["town", "town now"])
    second = pf.optimise(joint, pf.LIP(0.5), after=first, keep_rows=True)
    return old, new, rows.assign(id=old.id), again, joint, second


@pytest.mark.parametrize("objective", ["information", "faithful"])
def test_in_one_run_new_people_start_unchanged_ones_keep_their_row_and_changed_ones_are_followed_up(
    objective, tmp_path
):
    old, new, rows, again, joint, second = released_before(tmp_path, objective)
    assert pf.certify(second, joint).level <= 0.5
    release = second.sanitise(tmp_path / "now.csv", tmp_path / "o.csv", was=tmp_path / "then.csv", **again)
    told, stay = release.remembered, release.remembered.stay
    assert (told.new, told.followed, told.gone) == (60, len(new) - 60, 100)
    out = pd.read_csv(tmp_path / "o.csv").assign(id=new.id.to_numpy())
    both = out.merge(rows, on="id", suffixes=("", " before")).merge(
        new[["id", "town"]], on="id", suffixes=("", " true")
    )
    both = both.merge(old[["id", "town"]], on="id", suffixes=("", " was"))
    same, kept = both["town true"] == both["town was"], both["town now"] == both["town before"]
    kept &= both["town"] == both["town before"]
    assert (stay.unchanged, stay.unchanged_kept) == (int(same.sum()), int((same & kept).sum()))
    assert (stay.changed, stay.changed_kept) == (int((~same).sum()), int((~same & kept).sum()))
    expected = rows_kept(second, joint)
    assert stay.unchanged_kept / stay.unchanged == pytest.approx(float(expected.of_unchanged), abs=0.03)
    assert expected.of_unchanged > 0.85
    assert expected.of_changed < 0.05


def test_files_and_frames_are_joined_alike_and_a_second_run_gives_the_same_rows(tmp_path):
    old, new, _, again, _, second = released_before(tmp_path)
    second.sanitise(tmp_path / "now.csv", tmp_path / "o.csv", was=tmp_path / "then.csv", **again)
    expected = (tmp_path / "o.csv").read_text().splitlines()
    second.sanitise(tmp_path / "now.csv", tmp_path / "o.csv", was=[tmp_path / "then.csv"], force=True, **again)
    assert (tmp_path / "o.csv").read_text().splitlines() == expected
    for name, like in FRAMES.items():
        found = open_source(second.sanitise(like(new), was=like(old), **again))
        rows = next(found.batches(["town", "town now"], rows=10_000)).to_pylist()
        assert [f'"{row["town"]}","{row["town now"]}"' for row in rows] == expected[1:], name


FRAMES = {"pandas": pd.DataFrame, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}


FORMS = {
    "csv": lambda table, path: table.to_csv(path.with_suffix(".csv"), index=False) or path.with_suffix(".csv"),
    "parquet": lambda table, path: table.to_parquet(path.with_suffix(".parquet")) or path.with_suffix(".parquet"),
    "pandas": lambda table, path: table,
    "floats": lambda table, path: table.assign(id=table.id.astype(float), code=table.code.astype(float)),
    "texts": lambda table, path: table.astype(str),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("other", ["csv", "floats", "parquet"])
def test_people_and_values_are_known_again_whatever_types_they_come_in(form, other, tmp_path):
    """17, 17.0 and "17" are one person and one value: nobody is taken for new."""
    old = then().assign(code=lambda table: table.age % 7)
    new = now(old).assign(code=lambda table: (table.code + (table.town == "C")) % 7)
    was = old.set_index("id").code.reindex(new.id)
    expected = was.fillna(pd.Series(new.code.to_numpy(), index=new.id)).astype(int)
    source, changes = joined(
        open_source(FORMS[form](new, tmp_path / "n")), [open_source(FORMS[other](old, tmp_path / "o"))], "id", ["code"]
    )
    changed = int((was.notna().to_numpy() & (was.to_numpy() != new.code.to_numpy())).sum())
    assert (changes.new, changes.changed, changes.gone) == (60, changed, 100)
    column = Column(name="code", kind="text", labels=("1", "2", "3", "other"), other=True)
    drawn = np.concatenate([column.encode(batch.column("code")) for batch in source.batches(["code"])])
    assert drawn.tolist() == column.encode(pa.array(expected.astype(str).tolist())).tolist()


def test_what_is_no_number_is_missing_and_midnight_is_its_date_where_tables_are_joined_as_texts():
    day = datetime(2024, 5, 1)
    old = pa.table({"id": [1.0, 2.0], "code": [2.5e-7, float("nan")], "day": [day, day + timedelta(hours=1)]})
    new = pd.DataFrame({"id": ["1", "2", "3"], "code": ["a", "b", "c"], "day": ["e", "f", "g"]})
    source, _ = joined(open_source(new), [open_source(old)], "id", ["code", "day"])
    (batch,) = source.batches(["code", "day"])
    assert batch.column("code").to_pylist() == [as_text(old["code"].combine_chunks())[0].as_py(), None, "c"]
    assert batch.column("day").to_pylist() == [*as_text(old["day"].combine_chunks()).to_pylist(), "g"]


def test_who_was_released_and_is_in_no_table_of_then_is_refused_with_the_number(tmp_path):
    """Their values of then would be taken from today's table, whatever their row was drawn from."""
    old, new, rows, _, _, second = released_before(tmp_path)
    followed = new[new.id.isin(old.id)]
    second.sanitise(followed, was=old, released=rows, person="id")
    with pytest.raises(InvalidTable, match="of 40 people in the table who are not in every table of then"):
        second.sanitise(followed, was=old[~old.id.isin(followed.id.iloc[:40])], released=rows, person="id")


def test_who_keeps_their_row_is_counted_for_people_and_not_for_what_rare_combinations_are_read_as(tmp_path):
    old = then().assign(town=lambda table: table.town.where(np.arange(ROWS) > 60, "D"))  # some of them move
    new = now(old)
    both, _ = joined(open_source(new), [open_source(old)], "id", ["town"])
    joint = pf.Joint.from_table(both, "ill", ["town", "town now"], at_least=40)
    first = pf.optimise(pf.Joint.from_table(old, "ill", ["town"]), pf.LIP(0.1))
    second = pf.optimise(joint, pf.LIP(0.5), after=first, keep_rows=True)
    kept = rows_kept(second, joint.before_gathering)
    was = old.set_index("id").town.reindex(new.id).to_numpy()
    moved = pd.notna(was) & (was != new.town.to_numpy())
    assert len(joint.codes) < len(joint.before_gathering.codes)
    assert kept.changed == Fraction(int(moved.sum()), len(new))
    old.to_csv(tmp_path / "old.csv", index=False)
    again = {"remember": tmp_path / "people.key", "person": "id"}
    first.sanitise(old, **again)
    stay = second.sanitise(new, tmp_path / "open.csv", was=old, **again).remembered.stay
    assert stay.changed == moved.sum()
    assert stay.changed_kept / stay.changed == pytest.approx(float(kept.of_changed), abs=0.1)
    assert stay.unchanged_kept / stay.unchanged == pytest.approx(float(kept.of_unchanged), abs=0.03)


def test_a_table_of_then_that_is_not_what_was_released_is_refused_with_the_number(tmp_path):
    old, new, _, again, _, second = released_before(tmp_path)
    wrong = old.assign(town=old.town.where(old.index >= 40, "C"))
    mistaken = int(((wrong.town != old.town) & old.id.isin(new.id)).sum())
    with pytest.raises(OverLimit, match=f"{mistaken} people changed since"):
        second.sanitise(new, was=wrong, **again)
    with pytest.raises(InvalidInput, match="hold values of 1 tables, and 2 are given"):
        second.sanitise(new, was=[old, old], **again)
    with pytest.raises(InvalidInput, match="was is for a follow-up"):
        sanitise(second.before, new, was=old, **again)


def test_a_year_later_there_are_two_tables_of_then(tmp_path):
    old, new, _, again, _, second = released_before(tmp_path)
    second.sanitise(new, was=old, **again)
    latest = new.assign(town=np.where(np.arange(len(new)) % 10 == 0, "B", new.town)).iloc[5:]
    back = old[~old.id.isin(new.id)].iloc[:7].assign(town="A")  # gone last year, and here again
    latest = pd.concat([latest, back, back.assign(id=back.id + 50_000)])
    both, changes = joined(open_source(latest), [open_source(old), open_source(new)], "id", ["town", "town now"])
    table = next(both.batches(both.columns, rows=10_000)).to_pandas()
    assert changes.columns == ("town now 2",)
    moved = new.set_index("id").town.reindex(latest.id).to_numpy()
    known = pd.notna(moved)
    assert (changes.new, changes.changed) == (7, int((known & (moved != latest.town.to_numpy())).sum()))
    assert changes.gone == len(set(old.id) | set(new.id)) - (len(latest) - 7)
    assert (table["town now 2"].to_numpy() == latest.town.to_numpy()).all()
    assert (table["town now"].to_numpy() == np.where(known, moved, latest.town)).all()
    first = old.set_index("id").town.reindex(latest.id).to_numpy()
    assert (table["town"].to_numpy() == np.where(pd.notna(first), first, table["town now"])).all()
    joint = pf.Joint.from_table(both, secret="ill", attributes=["town", "town now", "town now 2"])
    third = pf.optimise(joint, pf.LIP(0.9), after=second, keep_rows=True)
    release = third.sanitise(latest, tmp_path / "o.csv", was=[old, new], **again)
    assert (release.remembered.new, release.remembered.gone) == (7, changes.gone)
    assert release.remembered.stay.unchanged_kept > 0.9 * release.remembered.stay.unchanged
    assert pf.certify(third, joint).level <= 0.9


def test_a_new_row_for_changed_people_alone_can_tell_the_secret():
    """Why there is no such thing: two values of X, each output as likely as the other, yet who changes is ill."""
    half = Fraction(1, 2)
    people = {("well", 0, 0): half / 2, ("well", 1, 1): half / 2, ("ill", 0, 1): half / 2, ("ill", 1, 0): half / 2}
    seen = {}
    for (s, was, is_now), p in people.items():
        for y1 in (0, 1):  # a channel that tells nothing at all: Q(y|x) = 1/2
            for y2 in (0, 1):
                kept = Fraction(int(y1 == y2)) if was == is_now else half
                row = seen.setdefault((y1, y2), {"well": Fraction(0), "ill": Fraction(0)})
                row[s] += p * half * kept
    lifts = [row[s] / sum(row.values()) / half for row in seen.values() for s in row]
    assert max(lifts) == 2  # the secret itself, for sure
    assert min(lifts) == 0


def test_fresh_draws_of_everybody_add_up_if_each_value_is_nearly_as_likely_to_give_any_output():
    """E[Q₁(y₁|x₁) Q₂(y₂|x₂)|s] for any P(x₁, x₂|s): between the extremes of both, so ratios are at most e^(ε₁+ε₂)."""
    rng, response = np.random.default_rng(0), [[Fraction(3, 5), Fraction(2, 5)], [Fraction(2, 5), Fraction(3, 5)]]
    for _ in range(200):
        counts = rng.integers(0, 5, (2, 2, 2)) + np.eye(2, dtype=int)[:, :, None]
        for y1 in (0, 1):
            for y2 in (0, 1):
                told = [
                    sum(int(n) * response[y1][a] * response[y2][b] for (a, b), n in np.ndenumerate(own))
                    / int(own.sum())
                    for own in counts
                ]
                assert max(told) / min(told) <= Fraction(3, 2) ** 2


def test_what_cannot_be_joined_is_refused_in_a_line(tmp_path):
    old = then()
    ask = {"person": "id", "columns": ["town"]}
    with pytest.raises(InvalidTable, match="1 of persons who are there twice"):
        write_changes(old, pd.concat([old, old.iloc[:1]]), tmp_path / "o.csv", **ask)
    with pytest.raises(InvalidTable, match="2 rows without a person"):
        write_changes(old.assign(id=old.id.astype(str).where(old.index > 1, "")), old, tmp_path / "o.csv", **ask)
    with pytest.raises(InvalidInput, match="'town now' already"):
        write_changes(old.assign(**{"town now": 1}), old, tmp_path / "o.csv", **ask)
    with pytest.raises(InvalidInput, match="not the one that says who"):
        write_changes(old, old, tmp_path / "o.csv", person="id", columns=["id"])
    (tmp_path / "o.csv").touch()
    with pytest.raises(OutputRefused, match="exists"):
        write_changes(old, old, tmp_path / "o.csv", **ask)
    assert len(list(tmp_path.iterdir())) == 1
