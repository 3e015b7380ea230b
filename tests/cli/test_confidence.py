"""funnel fit --confidence: a promise for the population."""

import json

import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.population import as_csv, people


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(as_csv(people(4_000, seed=3)))
    return path


def fit(table, *more):
    asked = ["fit", table, "--secret", "obese", "--columns", "sex,town", "--epsilon", "0.3", "--set", "gap=0.1", *more]
    return run([str(part) for part in asked])


def test_fit_promises_for_the_population(table, tmp_path, capsys):
    assert fit(table, "--confidence", "0.95", "-o", tmp_path / "p.json", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["notion"]["notion"] == "robust"
    assert found["holds"] is True
    assert found["level"] <= 0.3
    population = found["population"]
    assert population["sample_level"] < population["population_level"] <= 0.3
    assert population["confidence"] == 0.95
    assert population["values"] == 10
    assert 0 <= population["too_rare"] <= 10
    protocol = pf.Protocol.load(tmp_path / "p.json")
    assert "95% confidence" in protocol.notion.words()


@pytest.mark.long
def test_information_can_be_promised_for_the_population_too(table, tmp_path, capsys):
    robustly = ["--confidence", "0.95", "--set", "objective=information", "--set", "gap=0.5", "--time-limit", "5"]
    assert fit(table, *robustly, "-o", tmp_path / "p.json", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["objective"], found["holds"]) == ("information", True)
    assert found["population"]["sample_level"] < found["population"]["population_level"] <= 0.3


def test_the_screen_shows_both_levels(table, tmp_path, capsys):
    assert fit(table, "--confidence", "0.9", "-o", tmp_path / "p.json") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "for the counted people" in out
    assert "population with 90% confidence" in out
    assert "too rare to be released sharply" in out


def test_audit_checks_the_promise_over_the_set(table, tmp_path, capsys):
    assert fit(table, "--confidence", "0.95", "--set", "exact-fit", "-o", tmp_path / "p.json", "--json") == 0
    capsys.readouterr()
    assert run(["audit", str(tmp_path / "p.json"), "--table", str(table), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["certificate"]["holds"] is True
    # few people leave so much open that the same protocol no longer keeps it
    few = tmp_path / "few.csv"
    few.write_text("\n".join(table.read_text().splitlines()[:300]) + "\n")
    assert run(["audit", str(tmp_path / "p.json"), "--table", str(few)]) == 1


@pytest.mark.parametrize("confidence", ["0", "1", "1.2", "-0.5", "nan"])
def test_a_confidence_outside_of_0_and_1_is_refused_in_a_line(table, tmp_path, capsys, confidence):
    assert fit(table, "--confidence", confidence, "-o", tmp_path / "p.json") == 2
    err = capsys.readouterr().err
    assert "--confidence should be a number between 0 and 1" in " ".join(err.split())
    assert "Traceback" not in err
    assert not (tmp_path / "p.json").exists()


def test_perfect_privacy_has_no_robust_kind(table, tmp_path, capsys):
    asked = ["fit", str(table), "--secret", "obese", "--notion", "perfect", "--confidence", "0.95"]
    assert run([*asked, "-o", str(tmp_path / "p.json")]) == 2
    assert "positive" in capsys.readouterr().err


@pytest.mark.parametrize("within", ["intervals", "nested"])
def test_fit_bounds_chance_as_asked(table, tmp_path, capsys, within):
    asked = ["--confidence", "0.9", "--set", f"within={within}", "--set", "exact-fit"]
    assert fit(table, *asked, "-o", tmp_path / "p.json", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["notion"]["within"] == within
    assert found["population"]["within"] == within
    assert found["population"]["population_level"] <= 0.3
    assert ("every marginal table" in found["promise"]) == (within == "nested")
    assert run(["audit", str(tmp_path / "p.json"), "--table", str(table), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["certificate"]["holds"] is True


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--confidence", "0.95", "--set", "within=sphere"], "--set within should be nested or intervals"),
        (["--set", "within=nested"], "--set within needs --confidence"),
    ],
)
def test_sets_that_make_no_sense_are_refused_in_a_line(table, tmp_path, capsys, more, says):
    assert fit(table, *more, "-o", tmp_path / "p.json") == 2
    err = " ".join(capsys.readouterr().err.split())
    assert says in err
    assert "Traceback" not in err
    assert not (tmp_path / "p.json").exists()


def shown(capsys):
    return " ".join(capsys.readouterr().out.split())


def test_ranges_chosen_from_the_same_people_are_named_in_the_promise_and_warned_of(table, tmp_path, capsys):
    chosen = ["--columns", "height", "--set", "bins=height=3", "--confidence", "0.95"]
    assert fit(table, *chosen, "-o", tmp_path / "p.json") == 0
    out = shown(capsys)
    assert "values of height were chosen from the same people, which this confidence does not account for" in out
    assert "Warning: the confidence holds for ranges and values that are fixed beforehand" in out
    notion = pf.Protocol.load(tmp_path / "p.json").notion
    assert notion.chosen == ("height",)
    assert "does not account for" in notion.words()
    assert run(["audit", str(tmp_path / "p.json"), "--table", str(table)]) == 0
    assert "does not account for" in shown(capsys)


@pytest.mark.parametrize("more", [[], ["--columns", "height", "--set", "bins=height=100,160,170,180,250"]])
def test_nothing_is_said_of_a_choice_that_was_not_made(table, tmp_path, capsys, more):
    assert fit(table, *more, "--confidence", "0.95", "-o", tmp_path / "p.json") == 0
    out = shown(capsys)
    assert "account for" not in out
    assert "Warning" not in out


def test_without_a_confidence_a_choice_needs_no_warning(table, tmp_path, capsys):
    assert fit(table, "--columns", "height", "--set", "bins=height=3", "-o", tmp_path / "p.json") == 0
    assert "account for" not in shown(capsys)
