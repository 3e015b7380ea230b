"""Follow-ups on the command line: fit --after, sanitise --released, audit and estimate for everything together."""

import json
from shutil import copy2, copytree

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from wide_files import wide_protocol

ROWS = 3_000
FAR = 6
"""Standard errors: what is drawn here is drawn afresh every time."""


def people(n=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    town, age = rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.integers(18, 90, n)
    sick = rng.random(n) < 0.1 + 0.3 * (town == 0) + 0.4 * (age > 60)
    towns = np.array(["Ash", "Birch", "Cole"])[town]
    return pa.table({"id": 7000 + rng.permutation(n), "sick": sick, "town": towns, "age": age})


def funnel(*arguments):
    return run([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, its first protocol and release, and the follow-up to it."""
    folder = tmp_path_factory.mktemp("following")
    table, first = folder / "people.csv", folder / "first.json"
    pa_csv.write_csv(people(), table)
    kept = ["--person", "id", "--internal", folder / "kept.parquet"]
    assert funnel("fit", table, "--secret", "sick", "--columns", "town", "--epsilon", "0.2", "-o", first) == 0
    assert funnel("sanitise", table, "--protocol", first, *kept, "-o", folder / "open.csv") == 0
    assert funnel(*followed(folder), "-o", folder / "second.json", "--json") == 0
    again = ["--released", folder / "kept.parquet", "--person", "id", "--internal", folder / "kept2.csv"]
    made = folder / "open2.csv"
    assert funnel("sanitise", table, "--protocol", folder / "second.json", *again, "-o", made, "--json") == 0
    return folder


def followed(folder, epsilon="0.7"):
    """The fit of a follow-up with one column more."""
    asked = ["--secret", "sick", "--columns", "town,age", "--set", "bins=age=18,40,60,90", "--epsilon", epsilon]
    past = ["--set", f"after={folder / 'first.json'}", "--set", f"released={folder / 'kept.parquet'}"]
    past += ["--set", "person=id"]
    return ["fit", folder / "people.csv", *asked, *past]


def told(capsys, *arguments):
    """What a command tells machines."""
    capsys.readouterr()
    assert funnel(*arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def refusal(capsys, *arguments):
    """The one line with which a command refuses."""
    capsys.readouterr()
    assert funnel(*arguments) == 2
    said = capsys.readouterr().err.strip()
    assert "\n" not in said
    return said


def test_fit_finds_a_follow_up_that_keeps_its_promise_together_with_the_first(folder, capsys):
    found = told(capsys, *followed(folder), "-o", folder / "again.json", "--force")
    assert found["holds"] is True
    assert found["level"] <= 0.7
    assert [level["releases"] for level in found["levels"]] == [1, 2]
    assert found["levels"][0]["level"] < 0.7
    assert found["everything_published"]["fit"] == 2.0  # both fits told something
    assert found["people_released_before"] == ROWS
    assert isinstance(pf.Protocol.load(folder / "again.json"), pf.Protocol)


def test_columns_that_were_released_before_are_read_as_then(folder, capsys):
    found = told(capsys, *followed(folder), "-o", folder / "again.json", "--force")
    assert found["columns"][1]["done"] == "as it was released before"


def test_fit_tells_people_what_everything_comes_to(folder, capsys):
    assert funnel(*followed(folder), "-o", folder / "again.json", "--force") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "for everything released together" in said
    assert "The first 2 releases together: lip level 0." in said
    assert "outcomes that 3,000 people had before" in said


def test_what_is_published_says_nothing_of_persons(folder):
    assert (folder / "open2.csv").read_text().splitlines()[0] == "town,age"
    assert (folder / "kept2.csv").read_text().splitlines()[0] == "id,town,age"
    assert len((folder / "open2.csv").read_text().splitlines()) == ROWS + 1


def test_audit_checks_everything_together_and_what_it_follows(folder, capsys):
    found = told(capsys, "audit", folder / "second.json", "--after", folder / "first.json")
    assert found["certificate"]["holds"] is True
    assert found["release"] == 2
    assert found["not_proven"][0].startswith("Not proven: that noise of the stated size was added")
    found = told(capsys, "audit", folder / "second.json", "--table", folder / "people.csv")
    assert len(found["steward_only"]["levels"]) == 2
    assert funnel("audit", folder / "second.json", "--table", folder / "people.csv") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "KEPT, in exact arithmetic" in text
    assert "Not proven: that noise of the stated size was added" in text


def test_audit_refuses_what_does_not_follow_the_protocol_that_is_named(folder, capsys):
    other = folder / "other.json"
    asked = ["--secret", "sick", "--columns", "town", "--epsilon", "0.3"]
    assert funnel("fit", folder / "people.csv", *asked, "-o", other, "--force") == 0
    assert "does not follow" in refusal(capsys, "audit", folder / "second.json", "--after", other)
    assert "follows no earlier release" in refusal(capsys, "audit", other, "--after", folder / "first.json")


def test_a_broken_promise_is_found_on_other_people(folder, capsys):
    table = people(seed=5)
    sick = pa.array(np.asarray(table["town"]) == "Ash")
    pa_csv.write_csv(table.set_column(1, "sick", sick), folder / "others.csv")
    first, strict = folder / "exact.json", folder / "exact2.json"
    asked = ["--secret", "sick", "--columns", "town", "--set", "exact-fit"]
    assert funnel("fit", folder / "people.csv", *asked, "--epsilon", "0.2", "-o", first) == 0
    assert (
        funnel("fit", folder / "people.csv", *asked, "--epsilon", "0.5", "--set", f"after={first}", "-o", strict) == 0
    )
    assert funnel("audit", strict, "--table", folder / "people.csv") == 0
    assert funnel("audit", strict, "--table", folder / "others.csv") == 1
    assert "BROKEN" in capsys.readouterr().out


def test_estimates_are_made_from_both_releases(folder, capsys):
    both = ["--released", folder / "kept.parquet", "--person", "id"]
    found = told(capsys, "estimate", folder / "kept2.csv", "--protocol", folder / "second.json", *both, "--of", "town")
    assert found["rows"] == ROWS
    rows = {row["values"][0][0]: row for row in found["tables"][0]["estimates"]}
    truth = np.mean(np.asarray(people()["town"]) == "Ash")
    assert abs(rows["Ash"]["share"] - truth) < FAR * rows["Ash"]["error"] < 0.5
    assert found["why"].startswith("All releases together")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--set", "released=kept.parquet"], "--set released needs --set person"),
        (["--set", "keep=0.9"], "epsilon"),
        (["--confidence", "0.95"], "cannot be combined with --confidence"),
        (["--epsilon", "0.05"], "no follow-up takes that back"),
    ],
)
def test_what_a_follow_up_is_not_for_is_refused_in_a_line(folder, capsys, more, words, monkeypatch):
    import re

    monkeypatch.chdir(folder)
    asked = ["--secret", "sick", "--columns", "town,age", "--set", "bins=age=18,40,60,90"]
    epsilon = [] if "--epsilon" in more else ["--epsilon", "0.7"]
    said = refusal(capsys, "fit", "people.csv", *asked, *epsilon, "--set", "after=first.json", *more, "-o", "x.json")
    assert re.search(words, said), said
    assert not (folder / "x.json").exists()


def test_sanitise_refuses_a_follow_up_without_what_was_released_and_the_other_way_round(folder, capsys):
    table, made = folder / "people.csv", folder / "x.csv"
    said = refusal(capsys, "sanitise", table, "--protocol", folder / "second.json", "-o", made)
    assert "give what was released then" in said
    past = ["--released", folder / "kept.parquet", "--person", "id"]
    said = refusal(capsys, "sanitise", table, "--protocol", folder / "first.json", *past, "-o", made)
    assert "follows no earlier release" in said
    said = refusal(
        capsys, "sanitise", table, "--protocol", folder / "first.json", "--internal", made, "-o", folder / "y.csv"
    )
    assert "name it with --person" in said
    assert not made.exists()


def test_fit_refuses_the_past_without_a_protocol(folder, capsys):
    asked = ["--secret", "sick", "--columns", "town", "--epsilon", "0.2"]
    past = ["--set", f"released={folder / 'kept.parquet'}"]
    said = refusal(capsys, "fit", folder / "people.csv", *asked, *past, "-o", folder / "x.json")
    assert "--set released needs --set after" in said


def test_a_page_with_the_table_tells_its_owner_the_levels_of_a_follow_up(folder, tmp_path, capsys):
    asked = ["report", folder / "second.json", "--table", folder / "people.csv", "-o", tmp_path / "r.html", "--json"]
    assert funnel(*asked) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["steward_only"]["certificate"]["level"] > 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Privacy report" in page
    assert "For you alone: do not publish this page." in page
    assert "The first 2 releases together: " in page
    assert funnel("report", folder / "second.json", "--public", "-o", tmp_path / "public.html") == 0
    assert "For you alone" not in (tmp_path / "public.html").read_text(encoding="utf-8")


def test_a_follow_up_with_the_key_tells_new_and_followed_people_apart_and_asks_the_ledger(folder, tmp_path, capsys):
    key = ["--remember", tmp_path / "people.key", "--person", "id"]
    some, second = tmp_path / "some.csv", tmp_path / "all.json"
    pa_csv.write_csv(people().slice(0, 2_500), some)
    asked = ["--secret", "sick", "--columns", "town,age", "--set", "bins=age=18,40,60,90", "--epsilon", "0.7"]
    assert funnel("fit", folder / "people.csv", *asked, "--set", f"after={folder / 'first.json'}", "-o", second) == 0
    assert funnel("sanitise", some, "--protocol", folder / "first.json", *key, "-o", tmp_path / "1.csv") == 0
    release = ["sanitise", folder / "people.csv", "--protocol", second, *key, "--keep-order"]
    both = refusal(capsys, *release, "--released", folder / "kept.parquet", "-o", tmp_path / "2.csv")
    assert "give one of them" in both
    found = told(capsys, *release, "-o", tmp_path / "2.csv")["steward_only"]["remembered"]
    assert (found["new"], found["followed"], found["level"]) == (500, 2_500, 0.7)
    assert funnel(*release, "-o", tmp_path / "3.csv") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "3,000 unchanged, who keep their row" in said
    assert "For you alone: nothing new is told of anybody" in said
    assert (tmp_path / "2.csv").read_bytes() == (tmp_path / "3.csv").read_bytes()
    shown = told(capsys, "ledger", "verify", tmp_path / "people.key")
    assert len(shown["steward_only"]["releases"]) == 3
    assert funnel("ledger", "limit", tmp_path / "other.key", "--epsilon", "0.5") == 0
    other = ["--remember", tmp_path / "other.key", "--person", "id", "-o", tmp_path / "4.csv"]
    said = refusal(capsys, "sanitise", folder / "people.csv", "--protocol", second, *other)
    assert "3,000 people would reach lip level 0.7, and the ledger allows 0.5" in said


def test_changes_are_counted_and_put_side_by_side(folder, tmp_path, capsys):
    table = people()
    towns = np.where(np.arange(ROWS) < 300, "Cole", np.asarray(table["town"]))
    moved = int((towns != np.asarray(table["town"])).sum())
    pa_csv.write_csv(table.set_column(2, "town", pa.array(towns)).slice(100), tmp_path / "now.csv")
    ask = ["changes", tmp_path / "now.csv", "--was", folder / "people.csv", "--person", "id", "--columns", "town"]
    found = told(capsys, *ask, "-o", tmp_path / "both.csv")
    early = int((towns != np.asarray(table["town"]))[:100].sum())
    assert (found["new"], found["changed"], found["gone"]) == (0, moved - early, 100)
    assert (tmp_path / "both.csv").read_text().splitlines()[0].replace('"', "") == "id,sick,town,age,town now"
    assert funnel(*ask, "-o", tmp_path / "both.csv", "--force") == 0
    assert f"{moved - early:,} changed, 100 gone, whose old row stays" in " ".join(capsys.readouterr().out.split())
    assert "exists" in refusal(capsys, *ask, "-o", tmp_path / "both.csv")


@pytest.fixture(scope="module")
def changed(folder, tmp_path_factory):
    """Today's table, of the people of `folder` and others, and the release of then with a key."""
    here = tmp_path_factory.mktemp("changed")
    table, rng = people(), np.random.default_rng(4)
    moves = rng.random(ROWS) < np.where(np.asarray(table["sick"]), 0.3, 0.05)
    towns = np.where(moves, rng.choice(["Ash", "Birch", "Cole"], ROWS), np.asarray(table["town"]))
    ids = np.where(np.arange(ROWS) < 50, np.asarray(table["id"]) + 90_000, np.asarray(table["id"]))
    later = table.set_column(2, "town", pa.array(towns)).set_column(0, "id", pa.array(ids))
    pa_csv.write_csv(later, here / "now.csv")
    again = ["--remember", here / "k.key", "--person", "id", "-o", here / "1.csv"]
    assert funnel("sanitise", folder / "people.csv", "--protocol", folder / "first.json", *again) == 0
    return here


def fit_changed(folder, here, *more):
    asked = ["--secret", "sick", "--columns", "town", "--epsilon", "0.7", "--set", f"after={folder / 'first.json'}"]
    return ["fit", here / "now.csv", "--set", f"was={folder / 'people.csv'}", "--set", "person=id", *asked, *more]


@pytest.mark.parametrize(
    "how",
    [
        (),
        ("--set", "cover=0"),
        ("--set", "unchanged=draw"),
        (
            "--set",
            "exact-fit",
        ),
    ],
    ids=str,
)
def test_new_unchanged_and_changed_people_are_released_in_one_run(folder, changed, how, tmp_path, capsys):
    found = told(capsys, *fit_changed(folder, changed, *how), "-o", tmp_path / "3.json")
    assert found["level"] <= 0.7
    assert (found["steward_only"]["changes"]["new"], found["steward_only"]["changes"]["gone"]) == (50, 50)
    kept = found["rows_before"]
    assert kept["rows_kept_of_unchanged"] > (1 - 1e-8 if "cover=0" in how else 0.4)
    key = tmp_path / "k.key"
    for whole in changed.glob("k.key*"):
        (copytree if whole.is_dir() else copy2)(whole, tmp_path / whole.name)
    ask = ["sanitise", changed / "now.csv", "--was", folder / "people.csv", "--protocol", tmp_path / "3.json"]
    ask += ["--remember", key, "--person", "id", "-o", tmp_path / "3.csv"]
    people = told(capsys, *ask)["steward_only"]["remembered"]
    assert (people["new"], people["gone"], people["followed"]) == (50, 50, ROWS - 50)
    stay = people["stay"]
    assert stay["unchanged"] + stay["changed"] == ROWS - 50
    assert stay["unchanged_kept"] == pytest.approx(kept["rows_kept_of_unchanged"] * stay["unchanged"], rel=0.1)
    assert (tmp_path / "3.csv").read_text().splitlines()[0].replace('"', "") == "town,town now"
    if not how:
        assert funnel(*ask, "--force") == 0
        assert f"{ROWS:,} unchanged, who keep their row" in " ".join(capsys.readouterr().out.split())
    if "exact-fit" in how:
        audit = ["audit", tmp_path / "3.json", "--table", changed / "now.csv", "--was", folder / "people.csv"]
        assert told(capsys, *audit, "--person", "id")["holds"] is True


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--set", "unchanged=perhaps"], "--set unchanged should be keep or draw"),
        (["--set", "objective=faithful", "--set", "unchanged=keep"], "do not have today's distribution"),
        (["--set", "cover=-1"], "--set cover should be a number from 0 on"),
        (["--set", "cover=nan"], "--set cover should be a number from 0 on"),
        (["--set", "cover=2", "--set", "unchanged=draw"], "is for --set unchanged keep"),
        (["--columns", "town,age"], "add --set unchanged=draw"),
        (["--set", "was=no.csv"], "there is no file no.csv"),
        (["--set", "engine=spark"], "leave out --set engine spark"),
    ],
    ids=str,
)
def test_what_does_not_go_with_changes_is_refused_in_a_line(folder, changed, more, message, tmp_path, capsys):
    assert message in refusal(capsys, *fit_changed(folder, changed, *more), "-o", tmp_path / "3.json")
    assert not (tmp_path / "3.json").exists()


def test_changes_need_a_release_before_and_the_table_of_then(folder, changed, tmp_path, capsys):
    alone = ["fit", changed / "now.csv", "--secret", "sick", "--epsilon", "0.7", "-o", tmp_path / "3.json"]
    assert "is for a follow-up" in refusal(capsys, *alone, "--set", f"was={folder / 'people.csv'}")
    first = ["--set", f"after={folder / 'first.json'}"]
    assert "is for a follow-up" in refusal(capsys, *alone, *first, "--set", "cover=1")
    assert funnel(*fit_changed(folder, changed, "--set", "exact-fit"), "-o", tmp_path / "3.json") == 0
    key = ["--remember", tmp_path / "k.key", "--person", "id", "-o", tmp_path / "3.csv"]
    said = refusal(capsys, "sanitise", changed / "now.csv", "--protocol", tmp_path / "3.json", *key)
    assert "give the table of then" in said
    was = ["--was", folder / "people.csv"]
    said = refusal(capsys, "sanitise", changed / "now.csv", "--protocol", folder / "first.json", *was, *key)
    assert "without --released and --was" in said
    said = refusal(capsys, "audit", folder / "first.json", "--table", changed / "now.csv", *was, "--person", "id")
    assert "are for a follow-up" in said


def test_new_people_with_values_that_the_first_release_never_knew_are_to_be_left_out(folder, changed, tmp_path, capsys):
    lines = (changed / "now.csv").read_text().splitlines()
    (tmp_path / "now.csv").write_text("\n".join([*lines, '99999,true,"Elsewhere",40', ""]))
    asked = ["fit", tmp_path / "now.csv", *fit_changed(folder, changed)[2:], "-o", tmp_path / "3.json"]
    said = refusal(capsys, *asked)
    assert "For you alone: " in said
    assert "were not there when fitting: 1 in 'town'; leave these rows out (--where)" in said
    assert funnel(*asked, "--where", "town <> 'Elsewhere'") == 0


def test_what_would_follow_a_model_is_refused_before_anything_is_counted(tmp_path, capsys):
    wide_protocol().save(tmp_path / "wide.json")
    typed = ["--secret", "sick", "--columns", "town", "--epsilon", "0.5", "--set", f"after={tmp_path / 'wide.json'}"]
    assert funnel("fit", tmp_path / "no-table.csv", *typed, "-o", tmp_path / "second.json") == 2
    assert "nothing can follow the release of a model" in capsys.readouterr().err
    assert not (tmp_path / "second.json").exists()
