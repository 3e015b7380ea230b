"""What a fit is asked for: by a recipe and by flags, which win; by columns that are left out; without a promise."""

import json
import os

import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.cli.proposing import ENOUGH, MOST
from privacyfunnel.population import as_csv, people
from spec.typed import typed

RECIPE = """recipe = 1
table = "people.csv"
output = "made"
[fit]
secret = "obese"
columns = ["sex", "town"]
epsilon = 0.3
after = "first.json"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("asking")
    (here / "people.csv").write_text(as_csv(people(1_500, seed=3)), encoding="utf-8")
    (here / "in").mkdir()
    (here / "in" / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    return here


def said(capsys, *words):
    code = run([str(word) for word in words])
    heard = capsys.readouterr()
    return code, " ".join(heard.out.split()), heard.err


def test_what_is_typed_wins_over_a_recipe_whose_paths_are_seen_from_where_it_lies(folder):
    recipe = folder / "in" / "recipe.toml"
    found = typed(["--recipe", recipe, "--epsilon", "0.7", "--set", "gap=0.1"])
    assert (found.epsilon, found.gap, found.columns) == (0.7, 0.1, ("sex", "town"))
    assert found.table == os.fspath(folder / "in" / "people.csv")
    assert found.after == os.fspath(folder / "in" / "first.json")
    assert typed([folder / "people.csv", "--recipe", recipe]).table == os.fspath(folder / "people.csv")


def test_a_refusal_calls_each_key_as_it_was_written(folder, capsys):
    recipe = folder / "in" / "recipe.toml"
    code, _, heard = said(capsys, "fit", "--recipe", recipe, "--set", "keep=0.9", "-o", folder / "no.json")
    assert code == 2
    assert heard == "funnel: --set keep cannot be combined with fit.epsilon: it finds the smallest ε\n"


def test_columns_that_are_left_out_are_not_released(folder, tmp_path, capsys):
    asked = ["fit", folder / "people.csv", "--secret", "obese", "--epsilon", "0.4", "--set", "insist"]
    code, shown, _ = said(capsys, *asked, "--leave-out", "age,height,weight", "-o", tmp_path / "p.json")
    assert code == 0
    assert pf.Protocol.load(tmp_path / "p.json").attributes == ("sex", "town")
    assert "name" in shown
    code, _, heard = said(capsys, *asked, "--leave-out", "agee", "-o", tmp_path / "q.json")
    assert (code, "no column 'agee'" in heard) == (2, True)
    code, _, heard = said(capsys, *asked, "--leave-out", "age", "--columns", "sex", "-o", tmp_path / "q.json")
    assert (code, "--leave-out cannot be combined with --columns" in heard) == (2, True)


@pytest.mark.parametrize("more", [[], ["--set", "objective=information"]], ids=["cells", "information"])
def test_a_fit_without_a_promise_shows_what_each_would_keep_and_proposes_one(
    folder, more, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    asked = ["fit", folder / "people.csv", "--secret", "obese", "--columns", "sex,town", *more]
    code, shown, _ = said(capsys, *asked)
    assert code == 0
    assert list(tmp_path.iterdir()) == []
    assert "For you alone: What is kept under lip" in shown
    assert "For you alone: ε = " in shown
    code, data, _ = said(capsys, *asked, "--json")
    told = json.loads(data)
    alone = told.pop("steward_only")
    assert "points" not in json.dumps(told)
    proposed = alone["proposed"]
    assert proposed["kept"] >= ENOUGH or proposed["epsilon"] == MOST
    assert typed(alone["next"][2:-2]).epsilon == proposed["epsilon"]


def test_columns_that_are_not_named_are_proposed_without_what_nobody_would_release(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = [
        f"P{i},{20 + i % 60},{'mf'[i % 2]},{'yes' if i % 7 < 2 else 'no'},{int(i % 7 < 2)},{0.3 + i % 97 / 30:.3f}"
        for i in range(2_000)
    ]
    head = 'person id,"age, in years",sex,diagnosis,diagnosis_code,survey weight'
    (tmp_path / "people é.csv").write_text("\n".join([head, *made]), encoding="utf-8")
    for asked in (["fit"], ["tradeoff", "--epsilons", "0.2,0.5"]):
        code, data, _ = said(capsys, *asked, "people é.csv", "--secret", "diagnosis", "--json")
        assert code == 0
        told = json.loads(data)["steward_only"]
        assert told["left_out"].keys() == {"person id", "diagnosis_code", "survey weight"}
        assert typed(told["next"][2:-2]).columns == ("age, in years", "sex")
    code, shown, _ = said(capsys, "fit", "people é.csv", "--secret", "diagnosis", "--leave-out", "sex")
    assert "it repeats diagnosis" in shown
    assert "--columns '\"age, in years\"' --epsilon" in shown
    code, _, heard = said(capsys, "fit", "people é.csv", "--secret", "diagnosis", "--leave-out", "size")
    assert (code, "no column 'size'" in heard) == (2, True)


@pytest.mark.parametrize(("kind", "needs"), [("alip", "--set lower"), ("belief", "--epsilon")])
def test_without_a_promise_a_kind_that_is_not_said_by_one_epsilon_says_what_it_needs(folder, kind, needs, capsys):
    code, _, heard = said(capsys, "fit", folder / "people.csv", "--secret", "obese", "--notion", kind)
    assert code == 2
    assert heard.startswith(f"funnel: --notion {kind} needs {needs}")
    assert heard.count("\n") == 1
