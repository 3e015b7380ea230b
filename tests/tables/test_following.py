"""Follow-ups of tables: drawn from exactly the channel of each history, joined by person, and refused with counts."""

from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput, InvalidPromise, InvalidTable, OutputRefused, UnseenValues
from privacyfunnel.protocols.by_history import HISTORY
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.tables import release
from privacyfunnel.tables.earlier_releases import histories_released
from privacyfunnel.tables.internal_copy import Internal
from privacyfunnel.tables.release import sanitise

ROWS = 6000
RARE = 1e-9
"""How rarely a right channel may fail the test; the draws are the same every time."""


def people(n=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.3
    town = np.where(ill, rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1]), rng.choice(4, n, p=[0.1, 0.3, 0.3, 0.3]))
    names = np.array(["A", "B", "C", "D"])
    return pd.DataFrame({"id": 1000 + rng.permutation(n), "ill": np.where(ill, "yes", "no"), "town": names[town]})


@pytest.fixture(scope="module")
def released():
    """A table, its first protocol, its first release with persons, and the protocol that follows."""
    table = people()
    joint = pf.Joint.from_table(table, "ill", ["town"])
    first = pf.optimise(joint, pf.LIP(0.3), objective="faithful")
    kept = first.sanitise(table, keep_order=True, seed=1)
    kept["id"] = table["id"]
    return table, first, kept.sample(frac=1, random_state=3), pf.optimise(joint, pf.LIP(0.8), after=first)


def table_of_draws(table, kept, after):
    """How often every released town comes from every pair of a town and an earlier one."""
    both = table.merge(kept, on="id", suffixes=("", "_before"))
    both["after"] = after["town"].to_numpy()[both.index] if "id" not in after else None
    return both.groupby(["town", "town_before", "after"]).size()


def expected(first, second):
    """P(after|town, before) by names, from the channel's own numerators."""
    steps, names = second.by_history, ["A", "B", "C", "D"]
    written = [names[first.block.codes[label, 0]] for label in first.block.labels]
    own = [names[code] for code in steps.codes[:, 0]]
    channel = {}
    for i, (h, x) in enumerate(steps.pairs.tolist()):
        for j in range(steps.channel.starts[i], steps.channel.starts[i + 1]):
            key = own[x], written[int(steps.histories[h, 0])], own[int(steps.channel.outputs[j])]
            channel[key] = steps.channel.numerators[j] / UNIT
    return channel


def statistic(counts, channel):
    """The largest share of its allowed χ² that any pair of a town and a history reaches."""
    worst = 0.0
    for pair in {key[:2] for key in channel}:
        own = {key[2]: p for key, p in channel.items() if key[:2] == pair}
        seen = np.array([counts.get((*pair, after), 0) for after in own])
        total = sum(n for key, n in counts.items() if key[:2] == pair)
        if total < 50 or len(own) < 2:
            continue
        want = total * np.array(list(own.values()))
        used = want >= 5
        worst = max(worst, ((seen - want)[used] ** 2 / want[used]).sum() / chi2.isf(RARE, max(1, used.sum() - 1)))
        assert seen.sum() == total, "a value was released that this pair never gives"
    return worst


def test_rows_are_drawn_from_the_channel_of_their_history(released):
    table, first, kept, second = released
    after = second.sanitise(table, released=kept, person="id", keep_order=True, seed=2)
    counts = table_of_draws(table, kept, after).to_dict()
    channel = expected(first, second)
    assert statistic(counts, channel) < 1
    moved = {key: (0.9 * p + 0.1 * channel.get((*key[:2], "A"), 0)) for key, p in channel.items()}
    assert statistic(counts, {key: p / 1.1 for key, p in moved.items()}) > 1


def test_the_public_table_is_the_internal_one_without_persons_in_another_order(released, tmp_path):
    table, _, kept, second = released
    source, before = tmp_path / "people.csv", tmp_path / "first.parquet"
    table.to_csv(source, index=False)
    kept.to_parquet(before)
    done = second.sanitise(
        source, tmp_path / "open.csv", released=before, person="id", internal=tmp_path / "kept.parquet"
    )
    public, inside = pd.read_csv(tmp_path / "open.csv"), pq.read_table(tmp_path / "kept.parquet").to_pandas()
    assert list(public.columns) == ["town"]
    assert done.attributes == ("town",)
    assert list(inside["id"].astype(int)) == list(table["id"])
    assert sorted(public["town"]) == sorted(inside["town"])
    assert list(public["town"]) != list(inside["town"])
    histories, counts = histories_released(second, [before, tmp_path / "kept.parquet"], "id")
    assert counts.sum() == ROWS
    assert histories.shape[1] == 2


def test_a_first_release_keeps_an_internal_copy_too(released, tmp_path):
    table, first, *_ = released
    table.to_csv(tmp_path / "people.csv", index=False)
    kept = Internal(tmp_path / "kept.csv", "id")
    sanitise(first, tmp_path / "people.csv", tmp_path / "open.csv", internal=kept)
    inside = pd.read_csv(tmp_path / "kept.csv")
    assert list(inside.columns) == ["id", "town"]
    assert list(inside["id"]) == list(table["id"])
    with pytest.raises(InvalidInput, match="is a column that is released"):
        sanitise(first, tmp_path / "people.csv", tmp_path / "x.csv", internal=Internal(tmp_path / "y.csv", "town"))
    assert not (tmp_path / "x.csv").exists()
    assert not (tmp_path / "y.csv").exists()


def test_a_third_release_needs_both_before(released):
    table, _, kept, second = released
    joint = pf.Joint.from_table(table, "ill", ["town"])
    third = pf.optimise(joint, pf.LIP(1.0), after=second)
    again = second.sanitise(table, released=kept, person="id", keep_order=True, seed=5)
    again["id"] = table["id"].to_numpy()
    done = third.sanitise(table, released=[kept, again], person="id")
    assert len(done) == ROWS
    with pytest.raises(InvalidInput, match="there were 2 releases before, and 1 released tables"):
        third.sanitise(table, released=kept, person="id")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table, kept: (table, kept.iloc[7:]), "of 7 of 6,000 people"),
        (lambda table, kept: (pd.concat([table, table.iloc[:3]]), kept), "3 of persons who are there twice"),
        (lambda table, kept: (table, pd.concat([kept, kept.iloc[:2]])), "2 of persons who are there twice"),
        (lambda table, kept: (table, kept.drop(columns="id")), "no column 'id' that says whose rows"),
        (lambda table, kept: (table.assign(town="Z"), kept), "6,000 rows in town"),
    ],
)
def test_people_who_cannot_be_followed_are_refused_with_their_number(released, change, words):
    table, _, kept, second = released
    with pytest.raises((InvalidTable, UnseenValues), match=words):
        second.sanitise(*change(table, kept)[:1], released=change(table, kept)[1], person="id")


def test_a_history_that_was_not_fitted_is_refused_with_the_number_of_people(released):
    table, first, kept, _ = released
    joint = pf.Joint.from_table(table, "ill", ["town"])
    histories, counts = histories_released(first, [kept], "id")
    fewer = pf.optimise(joint, pf.LIP(0.8), after=first, histories=histories[1:])
    with pytest.raises(InvalidTable, match=f"of {counts[0]:,} of 6,000 people .* not fitted for"):
        fewer.sanitise(table, released=kept, person="id")


def test_people_whose_values_changed_since_are_refused_with_their_number():
    table = people()
    joint = pf.Joint.from_table(table, "ill", ["town"])
    first = pf.optimise(joint, pf.LIP(0.3))  # with the most information, an output stands for few values
    kept = first.sanitise(table, keep_order=True, seed=1)
    kept["id"] = table["id"]
    second = pf.optimise(joint, pf.LIP(0.8), after=first)
    moved = table.assign(town=table["town"].map({"A": "D", "B": "C", "C": "B", "D": "A"}))
    with pytest.raises(UnseenValues, match="cannot have led to what was released"):
        second.sanitise(moved, released=kept, person="id")


def test_persons_are_joined_as_texts_whatever_file_they_come_from(released, tmp_path):
    table, _, kept, second = released
    pq.write_table(pa.table({"id": pa.array(kept["id"].astype(str)), "town": kept["town"]}), tmp_path / "kept.parquet")
    done = second.sanitise(table, released=tmp_path / "kept.parquet", person="id")
    assert len(done) == ROWS


def test_a_private_follow_up_reads_combinations_that_it_lacks_as_the_nearest_with_their_history():
    rng = np.random.default_rng(4)
    n = 3000
    ill = rng.random(n) < 0.4
    table = pd.DataFrame(
        {
            "id": np.arange(n),
            "ill": np.where(ill, "yes", "no"),
            "sex": rng.choice(["f", "m"], n),
            "age": np.where(ill, rng.integers(20, 60, n), rng.integers(0, 90, n)) // 10 * 10,
        }
    )
    bins = {"age": "each"}
    joint = pf.Joint.from_table(table, "ill", ["sex", "age"], bins=bins, private=1.0, at_least=40)
    first = pf.optimise(joint, pf.LIP(0.4))
    again = pf.Joint.from_table(table, "ill", ["sex", "age"], bins=bins, private=1.0, at_least=10)
    kept = first.sanitise(table, keep_order=True, seed=1)
    kept["id"] = table["id"]
    second = pf.optimise(again, pf.LIP(1.0), after=first)
    assert pf.certify(second, again.before_gathering).holds
    done = second.sanitise(table, released=kept, person="id", keep_order=True, seed=2)
    assert len(done) == n


def test_a_column_of_the_table_is_never_taken_for_what_was_released(released):
    """A column called history was, and chose the channel: even the secret could."""
    table, first, kept, second = released
    misleading = table.assign(history=0, h=0, y0=0)
    after = second.sanitise(misleading, released=kept, person="id", keep_order=True, seed=2)
    assert after.equals(second.sanitise(table, released=kept, person="id", keep_order=True, seed=2))
    assert statistic(table_of_draws(table, kept, after).to_dict(), expected(first, second)) < 1
    with pytest.raises(InvalidTable, match="a name of ours"):
        second.sanitise(table.assign(**{HISTORY: 0}), released=kept, person="id")


def test_a_follow_up_reads_the_secret_as_it_was_read_before():
    table = people(600).assign(age=np.random.default_rng(1).integers(18, 90, 600))
    first = pf.optimise(pf.Joint.from_table(table, "age", ["town"], bins={"age": [0, 40, 120]}), pf.LIP(0.2))
    other = pf.Joint.from_table(table, "age", ["town"], bins={"age": [0, 60, 120]})
    with pytest.raises(InvalidPromise, match="cut as they were"):
        pf.optimise(other, pf.LIP(0.4), after=first)
    unrelated = pf.Joint.from_table(table.rename(columns={"ill": "age and x"}), "age and x", ["town"])
    with pytest.raises(InvalidPromise, match="would not look at that"):
        pf.optimise(unrelated, pf.LIP(0.4), after=first)


def test_a_private_follow_up_refuses_values_that_cannot_have_led_to_the_earlier_row():
    """They were read as the nearest that can, as rare combinations are, which nobody lists."""
    table = people(3000)
    joint = pf.Joint.from_table(table, "ill", ["town"], private=2.0, at_least=10)
    first = pf.optimise(joint, pf.LIP(0.3), objective="faithful")
    kept = first.sanitise(table, keep_order=True, seed=1).assign(id=table["id"])
    second = pf.optimise(joint, pf.LIP(0.8), after=first)
    possible = {(int(h), int(x)) for h, x in second.by_history.pairs}
    labels = second.by_history.columns[0].labels
    written = [labels.index(first.block.columns[0].labels[first.block.codes[i, 0]]) for i in first.block.labels]
    histories = {written[int(row[0])]: h for h, row in enumerate(second.by_history.histories)}
    codes = second.by_history.codes[:, 0].tolist()
    never = [
        (labels[codes[x]], labels[code])
        for code, h in histories.items()
        for x in range(len(codes))
        if (h, x) not in possible
    ]
    assert never  # some towns are never released as some others
    town, before = never[0]
    changed = table.copy()
    who = changed.index[kept["town"].to_numpy() == before][:5]
    changed.loc[who, "town"] = town
    with pytest.raises(UnseenValues, match="5 people have values that cannot have led"):
        second.sanitise(changed, released=kept, person="id")


def test_a_copy_that_another_protocol_drew_is_refused(released, tmp_path):
    table, first, _, second = released
    joint = pf.Joint.from_table(table, "ill", ["town"])
    other = pf.optimise(joint, pf.LIP(0.5), objective="faithful")
    table.to_csv(tmp_path / "people.csv", index=False)
    for protocol, name in ((first, "right.parquet"), (other, "wrong.parquet")):
        sanitise(
            protocol, tmp_path / "people.csv", tmp_path / "o.csv", internal=Internal(tmp_path / name, "id"), force=True
        )
    assert len(second.sanitise(table, released=tmp_path / "right.parquet", person="id")) == ROWS
    with pytest.raises(InvalidTable, match="drawn by another protocol"):
        second.sanitise(table, released=tmp_path / "wrong.parquet", person="id")
    assert (tmp_path / "right.parquet").stat().st_mode & 0o777 == 0o600


def test_a_release_that_fails_at_its_end_leaves_the_old_copy(released, tmp_path, monkeypatch):
    """A copy of rows that nobody published would be followed, and the published ones be lost."""
    table, first, *_ = released
    table.to_csv(tmp_path / "people.csv", index=False)
    kept = Internal(tmp_path / "kept.parquet", "id", force=True)
    sanitise(first, tmp_path / "people.csv", tmp_path / "open.csv", internal=kept)
    before = [(tmp_path / name).read_bytes() for name in ("kept.parquet", "open.csv")]
    writer = release.table_writer

    @contextmanager
    def full(*given):
        with writer(*given) as write:
            yield write
            raise OutputRefused("the disk is full")

    monkeypatch.setattr(release, "table_writer", full)
    with pytest.raises(OutputRefused, match="disk is full"):
        sanitise(first, tmp_path / "people.csv", tmp_path / "open.csv", internal=kept, force=True)
    assert [(tmp_path / name).read_bytes() for name in ("kept.parquet", "open.csv")] == before
    assert not list(tmp_path.glob(".*.part"))
