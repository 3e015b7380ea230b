"""Fits of models: a wide table from fit to audit, what goes with it and what does not, and a model that is too poor."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import privacyfunnel as pf
from privacyfunnel.attacks.on_wide import Calibrated
from privacyfunnel.cli.app import run
from privacyfunnel.distribution.column import Column
from privacyfunnel.population import people
from privacyfunnel.spec.counting import is_modelled
from privacyfunnel.spec.spec import Spec
from small_models import small_models

ROWS = 3_000
PUBLISHED = ["--title", "T", "--licence", "CC-BY-4.0", "--publisher", "P", "--contact", "a@example.org"]


def write(path, parity=False):
    rng = np.random.default_rng(0)
    a, b, c, d = (rng.integers(0, size, ROWS) for size in (2, 2, 2, 3))
    if parity:
        ill = (a + b + c) % 2
    else:
        d = (a + rng.integers(0, 2, ROWS)) % 3
        ill = (rng.random(ROWS) < 0.15 + 0.5 * a * b + 0.1 * d).astype(int)
    lines = [
        f"{w}{x}{y}{z},{w},{x},{y},{z},{'yes' if i else 'no'}" for w, x, y, z, i in zip(a, b, c, d, ill, strict=True)
    ]
    path.write_text("\n".join(["note,a,b,c,d,ill", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wide")
    write(folder / "people.csv")
    given = ["--secret", "ill", "--columns", "a,b,c,d", "--epsilon", "0.4", "--json"]
    with small_models():
        assert run(["fit", str(folder / "people.csv"), *given, "-o", str(folder / "wide.json")]) == 0
    return folder


def fit(table, output, *more, secret="ill", attributes="a,b,c,d"):
    given = ["--secret", secret, "--columns", attributes, "--epsilon", "0.4"]
    with small_models():
        return run(["fit", str(table), *given, "-o", str(output), *more])


@pytest.mark.long
def test_a_fit_tells_both_promises_and_what_became_of_rows(folder, tmp_path, capsys):
    assert fit(folder / "people.csv", tmp_path / "wide.json", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["private"] == 1.0
    assert told["delta"] == 1e-6
    assert told["noise"]["kind"] == "discrete Gaussian"
    assert told["noise"]["tables"] == 6
    assert told["everything_published"]["delta"] == 1e-6
    assert told["combinations"] == 24
    assert 0.5 < told["kept_share"] <= 1
    assert 0.5 < told["rows_unchanged"] <= told["cells_unchanged"] <= 1
    assert told["steward_only"]["on_the_table"]["factor"] >= 1
    assert fit(folder / "people.csv", tmp_path / "again.json") == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "only the published model" in words
    assert "δ₀ is by how much this may fail: a belief moves by more than 2% beyond these factors" in words
    own = words.index("For you alone: in your table")
    assert own < words.index("By the model,")  # the own table first
    assert told["steward_only"]["own_table"]["vanished"] == {}
    assert 0.5 < told["steward_only"]["own_table"]["cells_unchanged"] <= 1
    assert "twentieths of the people, by what the model says of them" in words
    assert len(told["steward_only"]["on_the_table"]["calibration"]) == 20
    assert 1 <= told["steward_only"]["calibration_off"] < 1.16


@pytest.mark.parametrize(("more", "delta"), [(("--set", "delta=0"), 0.0), (("--set", "delta=1e-9"), 1e-9)])
def test_the_delta_that_is_asked_for_is_that_of_the_file(folder, tmp_path, capsys, more, delta):
    assert fit(folder / "people.csv", tmp_path / "wide.json", *more, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["delta"] == delta
    assert told["noise"]["kind"] == ("discrete Gaussian" if delta else "discrete Laplace")
    assert run(["audit", str(tmp_path / "wide.json"), "--json"]) == 0
    audited = json.loads(capsys.readouterr().out)
    assert (audited["everything_published"]["delta"], audited["noise"]) == (delta, told["noise"])
    assert run(["audit", str(tmp_path / "wide.json")]) == 0
    assert f"δ₀ = {delta:g})" in " ".join(capsys.readouterr().out.split())


def test_few_columns_have_laplace_noise_unless_a_delta_is_given(folder, tmp_path, capsys):
    for more, delta in (((), 0.0), (("--set", "delta=1e-6"), 1e-6)):
        assert fit(folder / "people.csv", tmp_path / "w.json", "--force", "--json", *more, attributes="a,b,d") == 0
        assert json.loads(capsys.readouterr().out)["delta"] == delta


@pytest.mark.parametrize("delta", ["-1", "1", "0.01", "nan", "1e-40"])
def test_a_delta_that_makes_no_sense_is_refused_in_a_line(folder, tmp_path, capsys, delta):
    assert fit(folder / "people.csv", tmp_path / "wide.json", "--set", f"delta={delta}") == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert fit(folder / "people.csv", tmp_path / "wide.json", "--set", "exact-fit", "--set", "delta=1e-6") == 2
    assert not (tmp_path / "wide.json").exists()


def test_rows_are_released_and_anybody_can_audit(folder, tmp_path, capsys):
    released = tmp_path / "open.csv"
    assert (
        run(["sanitise", str(folder / "people.csv"), "--protocol", str(folder / "wide.json"), "-o", str(released)]) == 0
    )
    assert "lean a little towards the published model" in " ".join(capsys.readouterr().out.split())
    lines = released.read_text().splitlines()
    assert lines[0] == "a,b,c,d"
    assert len(lines) == ROWS + 1
    before = sum(line.split(",")[1] == "1" for line in (folder / "people.csv").read_text().splitlines())
    assert abs(sum(line.split(",")[0] == "1" for line in lines) - before) < 250
    assert run(["audit", str(folder / "wide.json"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["certificate"]["holds"]
    assert told["certificate"]["level"] <= 0.4
    assert run(["audit", str(folder / "wide.json")]) == 0
    assert "Checked: all 24 combinations" in capsys.readouterr().out


@pytest.mark.parametrize(
    "more",
    [
        ["--confidence", "0.95"],
        ["--set", "at-least=5"],
        ["--set", "keep=0.9"],
        ["--notion", "srlip"],
        ["--set", "objective=information"],
        ["--keep-exact", "c"],
    ],
    ids=" ".join,
)
def test_what_needs_a_list_of_combinations_is_fitted_with_one(folder, tmp_path, capsys, more):
    epsilon = [] if "keep=0.9" in more else ["--epsilon", "0.4"]
    given = ["--secret", "ill", "--columns", "a,b,c,d", *epsilon, "--time-limit", "1", *more]
    with small_models():
        assert run(["fit", str(folder / "people.csv"), *given, "-o", str(tmp_path / "listed.json"), "--json"]) == 0
    content = json.loads((tmp_path / "listed.json").read_text(encoding="utf-8"))
    assert content["chain"][0]["step"] == "channel"


def test_combinations_alone_say_whether_a_fit_makes_a_model():
    spec = Spec(secret=(("ill",),), epsilon=0.5)
    codes, ill = [[0, 0], [1, 1]], (Column(name="ill", kind="text", labels=("no", "yes")),)
    for size, modelled in ((64, False), (65, True)):
        columns = tuple(Column(name=name, kind="text", labels=tuple(map(str, range(size)))) for name in "ab")
        for counts in ([[1, 1], [1, 1]], [[70_000, 1], [2, 90_000]]):
            joint = pf.Joint.from_codes(np.array(counts), np.array(codes), columns, "ill", ("no", "yes"), ill)
            assert is_modelled(spec, joint) == modelled
            assert not is_modelled(spec.model_copy(update={"exact_fit": True}), joint)


@pytest.mark.long
def test_a_secret_with_three_values_goes_from_fit_to_audit(folder, tmp_path, capsys):
    given = (folder / "people.csv", tmp_path / "three.json", "--epsilon", "0.1")
    assert fit(*given, secret="d", attributes="a,b,c,ill") == 0
    assert "finds '" in " ".join(capsys.readouterr().out.split())
    assert fit(*given, "--json", "--force", secret="d", attributes="a,b,c,ill") == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["value"] for one in told["steward_only"]["by_value"]] == ["0", "1", "2"]
    assert 0.3 < told["rows_unchanged"] <= told["cells_unchanged"] <= 1
    released = tmp_path / "open.csv"
    assert run(["sanitise", str(given[0]), "--protocol", str(given[1]), "-o", str(released)]) == 0
    assert len(released.read_text().splitlines()) == ROWS + 1
    capsys.readouterr()
    assert run(["audit", str(given[1])]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "with 3 values" in words
    assert "Checked: all 16 combinations" in words
    assert "ways to release them that the file lists" in words
    assert fit(*given, "--force", "--time-limit", "0", secret="d", attributes="a,b,c,ill") == 0
    assert run(["audit", str(given[1])]) == 0
    assert re.search(r"Checked: all 16 combinations and \d+ groups\.", " ".join(capsys.readouterr().out.split()))


def test_fit_and_audit_say_what_redraws_rows_and_a_time_limit_of_nothing_means_groups(folder, tmp_path, capsys):
    told = {}
    for seconds in ("60", "0"):
        path = tmp_path / f"{seconds}.json"
        assert fit(folder / "people.csv", path, "--epsilon", "0.1", "--private", "20", "--time-limit", seconds) == 0
        words = " ".join(capsys.readouterr().out.split())
        assert ("a program over all pairs of combinations" in words) is (seconds == "60")
        assert ("in groups of values few columns apart" in words) is (seconds == "0")
        assert run(["audit", str(path), "--json"]) == 0
        told[seconds] = json.loads(capsys.readouterr().out)
    assert told["60"]["redrawn_by"] == "program"
    assert told["0"]["redrawn_by"] == "groups"
    assert told["60"]["cells_unchanged"] > told["0"]["cells_unchanged"]
    assert fit(folder / "people.csv", tmp_path / "no.json", "--time-limit", "-1") == 2
    assert "--time-limit" in capsys.readouterr().err


@pytest.mark.long
def test_the_demo_with_three_secrets_goes_from_fit_to_estimates_by_a_list(tmp_path, capsys):
    """Body-mass index in three ranges is nearly determined by the columns: groups leave ten points less of cells."""
    frame = pd.DataFrame(people(5_000, 1))
    index = frame["weight"] / (frame["height"] / 100) ** 2
    frame = frame.assign(index=np.where(index < 25, "slim", np.where(index < 30, "heavy", "obese")))
    columns = ["sex", "town", "height", "weight"]
    frame[[*columns, "index"]].to_csv(tmp_path / "people.csv", index=False)
    protocol, released = str(tmp_path / "wide.json"), str(tmp_path / "open.csv")
    given = [
        "--secret",
        "index",
        "--columns",
        ",".join(columns),
        "--epsilon",
        "0.5",
        "--private",
        "20",
    ]
    with small_models():
        assert run(["fit", str(tmp_path / "people.csv"), *given, "--json", "-o", protocol]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["redrawn_by"] == "program"
    assert told["cells_unchanged"] > 0.85
    assert abs(told["steward_only"]["on_the_table"]["cells_unchanged"] - told["cells_unchanged"]) < 0.02
    assert run(["sanitise", str(tmp_path / "people.csv"), "--protocol", protocol, "-o", released]) == 0
    assert run(["audit", protocol]) == 0
    capsys.readouterr()
    assert run(["estimate", released, "--protocol", protocol, "--of", "sex", "--json"]) == 0
    estimates = json.loads(capsys.readouterr().out)["tables"][0]["estimates"]
    for one, (_, share) in zip(estimates, sorted(frame["sex"].value_counts(normalize=True).items()), strict=True):
        assert abs(one["share"] - share) < 0.05
        assert one["low"] <= one["share"] <= one["high"]
    for command in (["estimate", released, "--of", "town", "--compare", "sex"], ["regress", released, "height ~ sex"]):
        assert run([*command, "--protocol", protocol, "--json"]) == 0


def test_a_table_beyond_what_can_be_laid_out_loses_columns_only_if_asked(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("privacyfunnel.tables.wide.fit.MOST_CELLS", 12)
    monkeypatch.setattr("privacyfunnel.tables.wide.choosing.MOST_CELLS", 12)
    monkeypatch.setattr("privacyfunnel.tables.wide.choosing.MOST_COMBINATIONS", 12)
    assert fit(folder / "people.csv", tmp_path / "no.json") == 2
    assert "--columns auto" in capsys.readouterr().err
    assert fit(folder / "people.csv", tmp_path / "some.json", attributes="auto") == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "Left out: " in words
    assert "5% of ε₀" in words
    assert fit(folder / "people.csv", tmp_path / "some.json", "--json", "--force", attributes="auto") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["private"] == 1.0
    assert told["combinations"] <= 12
    assert {*told["left_out"], *told["attributes"]} == {"a", "b", "c", "d", "note"}
    assert run(["audit", str(tmp_path / "some.json")]) == 0


def test_a_secret_with_too_many_values_for_a_model_is_fitted_from_cells(tmp_path):
    table = tmp_path / "many.csv"
    table.write_text("a,s\n" + "".join(f"{i % 3},v{i % 13}\n" for i in range(400)), encoding="utf-8")
    assert fit(table, tmp_path / "listed.json", "--time-limit", "1", secret="s", attributes="a") == 0
    content = json.loads((tmp_path / "listed.json").read_text(encoding="utf-8"))
    assert content["chain"][0]["step"] == "channel"


def test_a_fit_predicts_how_far_shares_will_be_off(folder, tmp_path, capsys):
    assert fit(folder / "people.csv", tmp_path / "wide.json", "--json") == 0
    expected = json.loads(capsys.readouterr().out)["steward_only"]["expected_errors"]
    assert set(expected) == {"singles", "pairs"}
    for one in expected.values():
        assert 1 <= one["counted"] <= one["worst"]
        assert one["worst_columns"]
    assert fit(folder / "people.csv", tmp_path / "wide.json", "--force") == 0
    assert "For you alone: predicted from the table" in " ".join(capsys.readouterr().out.split())


def test_a_model_is_audited_by_itself_and_on_a_table_the_steward_is_told_what_attackers_learn(folder, capsys):
    assert run(["audit", str(folder / "wide.json"), "--json"]) == 0
    assert "steward_only" not in json.loads(capsys.readouterr().out)
    asked = ["audit", str(folder / "wide.json"), "--table", str(folder / "people.csv"), "--json"]
    assert run(asked) == 0
    assert {"own_table", "on_the_table", "expected_errors"} <= set(json.loads(capsys.readouterr().out)["steward_only"])
    assert run([*asked, "--attack"]) == 2
    assert "no theorem says" in capsys.readouterr().err


def test_a_page_with_the_table_tells_its_owner_what_a_trial_release_leaves_of_it(folder, tmp_path, capsys):
    page = tmp_path / "report.html"
    asked = ["report", str(folder / "wide.json"), "--table", str(folder / "people.csv"), "-o", str(page)]
    assert run([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["steward_only"]
    assert {"own_table", "on_the_table", "expected_errors"} <= set(told)
    assert "three_risks" not in told
    text = page.read_text(encoding="utf-8")
    assert "For you alone: do not publish this page." in text
    assert "An attacker who already knows half of the secrets" in text
    assert run([*asked, "--force"]) == 0
    assert "For you alone: an attacker" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["estimate", "{table}", "--protocol", "{protocol}"], "the secret of this protocol"),
        (["regress", "{table}", "a ~ b", "--protocol", "{protocol}"], "the secret of this protocol"),
        (["publish", "{table}", "--protocol", "{protocol}", "-o", "{output}", *PUBLISHED], "called like the secret"),
        (["sanitise", "{table}", "--protocol", "{protocol}", "-o", "{output}", "--unseen", "draw"], "cannot draw rows"),
        (["sanitise", "{table}", "--protocol", "{protocol}", "-o", "{output}", "--engine", "spark"], ".parquet"),
    ],
    ids=lambda given: given[0] if isinstance(given, list) else "",
)
def test_what_does_not_take_models_says_so_in_a_line_and_what_to_do(folder, tmp_path, capsys, command, words):
    places = {"table": folder / "people.csv", "protocol": folder / "wide.json", "output": tmp_path / "out"}
    assert run([part.format(**places) for part in command]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert len(error.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_recipe_with_a_model_goes_from_the_table_to_a_published_folder(folder, tmp_path, capsys):
    recipe = tmp_path / "recipe.toml"
    lines = [
        "recipe = 1",
        f'table = "{folder / "people.csv"}"',
        'output = "out"',
        "[fit]",
        'secret = "ill"',
        'columns = ["a", "b", "c", "d"]',
        "epsilon = 0.4",
        "private = 1.0",
        "time-limit = 0.0",
        "[report]",
        "[publish]",
        'title = "People"',
        'licence = "CC-BY-4.0"',
        'publisher = "Office"',
        'contact = "data@example.org"',
    ]
    recipe.write_text("\n".join(lines), encoding="utf-8")
    with small_models():
        assert run(["run", str(recipe)]) == 0, capsys.readouterr().err
    published = tmp_path / "out" / "published"
    assert json.loads((published / "protocol.json").read_text())["chain"][0]["step"] == "by_model"
    assert run(["audit", str(published / "protocol.json")]) == 0


def test_rows_with_values_that_the_protocol_does_not_know_are_refused(folder, tmp_path, capsys):
    strange = tmp_path / "strange.csv"
    strange.write_text("a,b,c,d\n0,1,0,9\n", encoding="utf-8")
    released = tmp_path / "open.csv"
    assert run(["sanitise", str(strange), "--protocol", str(folder / "wide.json"), "-o", str(released)]) == 2
    assert "1 rows in d" in capsys.readouterr().err
    assert not released.exists()


def test_an_edited_file_is_refused(folder, tmp_path, capsys):
    edited = tmp_path / "edited.json"
    edited.write_text((folder / "wide.json").read_text().replace('"people": 3000', '"people": 3001'), encoding="utf-8")
    assert run(["audit", str(edited)]) == 2
    assert "digest" in capsys.readouterr().err


def test_a_secret_that_is_the_parity_of_three_columns_is_noticed(tmp_path, capsys):
    table = write(tmp_path / "parity.csv", parity=True)
    assert fit(table, tmp_path / "wide.json") == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "THE MODEL IS TOO POOR" in words
    assert all(f" {name}" in words for name in "abc")
    assert "Release fewer of these columns" in words
    assert fit(table, tmp_path / "wide.json", "--json", "--force") == 0
    assert json.loads(capsys.readouterr().out)["steward_only"]["misfit"] is True


def test_a_model_whose_probabilities_are_off_is_called_so(folder, tmp_path, monkeypatch, capsys):
    wrong = (Calibrated(0.2, 0.2, 0.01), Calibrated(0.3, 0.6, 0.01))
    monkeypatch.setattr("privacyfunnel.attacks.on_wide.calibration_of", lambda predicted, secret: wrong)
    assert fit(folder / "people.csv", tmp_path / "wide.json") == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "expects the secret in 30.0%: 60.0% (±2.0%) have it" in words
    assert "THE MODEL IS OFF" in words
    assert fit(folder / "people.csv", tmp_path / "wide.json", "--json", "--force") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["steward_only"]["calibration_off"] == pytest.approx(0.7 / 0.43, rel=0.2)
    assert told["steward_only"]["misfit"] is True
