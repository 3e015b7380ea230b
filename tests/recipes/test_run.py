"""funnel run: what the commands do, in one go, with a log; all of it or nothing."""

import hashlib
import json
import shlex

import pytest
import typer

import privacyfunnel as pf
from privacyfunnel.cli import running
from privacyfunnel.cli.app import run
from privacyfunnel.publishing.described import OWN
from recipes.test_recipe import table


def recipe(folder, *, fit="", rest="", output="out"):
    if not (folder / "people.csv").exists():
        table(600).to_csv(folder / "people.csv", index=False)
    path = folder / "recipe.toml"
    head = f'recipe = 1\ntable = "people.csv"\noutput = "{output}"\n'
    asked = '[fit]\nsecret = "ill"\ncolumns = ["age", "town"]\nepsilon = 0.5\nbins = { age = [0, 40, 60, 120] }\n'
    path.write_text(f"{head}{asked}{fit}\n{rest}\n", encoding="utf-8")
    return path


def log(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


PUBLISH = (
    "[report]\ncurves = false\n[publish]\ntitle = 'T'\nlicence = 'CC0-1.0'\npublisher = 'P'\ncontact = 'a@b.org'\n"
)


def test_a_run_does_what_the_commands_do_and_says_so(tmp_path, capsys):
    path = recipe(tmp_path, fit="private = 2\n", rest=PUBLISH)
    assert run(["run", str(path), "--json"]) == 0
    told, out = json.loads(capsys.readouterr().out), tmp_path / "out"
    assert list(told["steps"]) == ["fit", "sanitise", "audit", "report", "publish"]
    assert told["steps"]["audit"]["certificate"]["holds"]
    assert {one.name for one in out.iterdir()} == {
        *("protocol.json", "open.csv", "report.html", "published", "log.jsonl", "recipe.toml")
    }
    assert {one.name for one in (out / "published").iterdir()} == OWN
    assert (out / "published" / "protocol.json").read_bytes() == (out / "protocol.json").read_bytes()
    assert (out / "recipe.toml").read_bytes() == path.read_bytes()
    first, *steps, last = log(out)
    assert first["recipe"] == digest(path)
    assert first["inputs"] == {"table": digest(tmp_path / "people.csv")}
    assert {"privacyfunnel", "python", "numpy", "opendp", "duckdb"} <= set(first["versions"])
    assert [shlex.split(step["command"])[1] for step in steps] == list(told["steps"])
    assert all(step["exit"] == 0 for step in steps)
    for name, sha in last["digests"].items():
        assert digest(out / name) == sha
    assert "person 1" not in (out / "log.jsonl").read_text()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out", "people.csv", "recipe.toml"]


def test_runs_agree_where_they_must_and_differ_where_they_must(tmp_path):
    domain = {
        "schema": "privacyfunnel-domain/1",
        "columns": [
            {"name": "ill", "kind": "text", "values": ["yes", "no"]},
            {"name": "town", "kind": "text", "values": ["Ash", "Birch, Hill", "Dún", "Elsewhere"]},
        ],
    }
    (tmp_path / "domain.json").write_text(json.dumps(domain), encoding="utf-8")
    path = recipe(tmp_path)
    text = path.read_text(encoding="utf-8").replace('"age", ', "").replace("bins = { age = [0, 40, 60, 120] }", "")
    path.write_text(text + 'domain = "domain.json"\nprivate = 2\n', encoding="utf-8")
    logs, protocols = [], []
    for _ in range(2):
        assert run(["run", str(path), "--force"]) == 0
        logs.append(log(tmp_path / "out"))
        protocols.append(pf.Protocol.load(tmp_path / "out" / "protocol.json"))
    (first, *_, end), (again, *_, other) = logs
    for key in ("recipe", "inputs", "versions"):
        assert first[key] == again[key]
    assert "fit.domain" in first["inputs"]
    assert protocols[0].block.columns == protocols[1].block.columns  # the domain, whatever the noise
    for name in ("protocol.json", "open.csv"):
        assert end["digests"][name] != other["digests"][name]


def test_an_exact_fit_is_the_same_every_time_and_rows_are_only_if_seeded(tmp_path):
    seen = {}
    for seeded in (False, True):
        rest = "[sanitise]\nseed = 5\n" if seeded else ""
        path = recipe(tmp_path, fit="exact-fit = true\n", rest=rest)
        for turn in range(2):
            assert run(["run", str(path), "--force"]) == 0
            seen[seeded, turn] = log(tmp_path / "out")[-1]["digests"]
    assert len({digests["protocol.json"] for digests in seen.values()}) == 1
    assert seen[True, 0] == seen[True, 1]
    assert seen[False, 0]["open.csv"] != seen[False, 1]["open.csv"]
    by_hand = ["fit", str(tmp_path / "people.csv"), "--secret", "ill", "--columns", "age,town", "--epsilon", "0.5"]
    by_hand += ["--set", "bins=age=0,40,60,120", "--set", "exact-fit", "-o", str(tmp_path / "p.json")]
    assert run(by_hand) == 0
    assert digest(tmp_path / "p.json") == seen[True, 0]["protocol.json"]
    released = ["sanitise", str(tmp_path / "people.csv"), "--protocol", str(tmp_path / "p.json"), "--seed", "5"]
    assert run([*released, "-o", str(tmp_path / "o.csv")]) == 0
    assert digest(tmp_path / "o.csv") == seen[True, 0]["open.csv"]


def test_a_step_that_fails_leaves_nothing_and_says_where(tmp_path, capsys):
    path = recipe(tmp_path, fit="private = 2\n")
    path.write_text(path.read_text(encoding="utf-8").replace('"town"', '"street"'), encoding="utf-8")
    assert run(["run", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("funnel: recipe.toml [fit]: ")
    assert "street" in said
    assert said.count("\n") == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["people.csv", "recipe.toml"]


def test_a_promise_that_is_broken_ends_the_run_with_nothing(tmp_path, monkeypatch, capsys):
    real = running.function
    monkeypatch.setattr(running, "function", lambda name: Broken if name == "audit" else real(name))
    assert run(["run", str(recipe(tmp_path, fit="private = 2\n"))]) == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["people.csv", "recipe.toml"]


class Broken:
    """A command that finds the promise broken."""

    @staticmethod
    def asked(*_, **__):
        raise typer.Exit(1)


def test_an_existing_folder_needs_force_and_is_kept_while_a_run_fails(tmp_path, capsys):
    path = recipe(tmp_path, fit="exact-fit = true\n")
    assert run(["run", str(path)]) == 0
    before = digest(tmp_path / "out" / "open.csv")
    assert run(["run", str(path)]) == 2
    assert "--force" in capsys.readouterr().err
    path.write_text(path.read_text(encoding="utf-8").replace('"town"', '"street"'), encoding="utf-8")
    assert run(["run", str(path), "--force"]) == 2
    assert digest(tmp_path / "out" / "open.csv") == before
    (tmp_path / "out" / "mine.txt").write_text("mine")
    assert run(["run", str(path), "--force"]) == 2
    assert "other files" in capsys.readouterr().err


@pytest.mark.parametrize("output", [".", "..", "people.csv"])
def test_no_folder_is_taken_for_our_own_that_is_not(output, tmp_path, capsys):
    path = recipe(tmp_path, fit="exact-fit = true\n", output=output)
    assert run(["run", str(path), "--force"]) == 2
    assert (tmp_path / "people.csv").exists()


@pytest.mark.parametrize(("inside", "output"), [(".", "."), ("out", "out"), ("out/deep", "out")])
def test_no_run_replaces_its_own_table(inside, output, tmp_path, capsys):
    """A table called as what is written would have been replaced by its release."""
    path = recipe(tmp_path, fit="exact-fit = true\n", output=output)
    (tmp_path / inside).mkdir(parents=True, exist_ok=True)
    original = tmp_path / inside / "open.csv"
    (tmp_path / "people.csv").rename(original)
    text = path.read_text(encoding="utf-8").replace('"people.csv"', f'"{inside}/open.csv"')
    path.write_text(text, encoding="utf-8")
    before = digest(original)
    for options in ([], ["--force"], ["--force", "--dry-run"]):
        assert run(["run", str(path), *options]) == 2
        assert "lies in this folder" in capsys.readouterr().err
    assert digest(original) == before


def test_a_folder_that_no_run_made_is_never_replaced(tmp_path, capsys):
    path, out = recipe(tmp_path, fit="exact-fit = true\n"), tmp_path / "out"
    (out / "published").mkdir(parents=True)
    (out / "protocol.json").write_text("somebody's")
    assert run(["run", str(path), "--force"]) == 2
    assert "are not ours" in capsys.readouterr().err
    (out / "published" / "thesis.txt").write_text("somebody's")
    assert run(["run", str(path), "--force"]) == 2
    assert "other files (1)" in capsys.readouterr().err
    assert (out / "protocol.json").read_text() == "somebody's"


def test_a_recipe_may_begin_with_a_byte_order_mark(tmp_path):
    path = recipe(tmp_path, fit="exact-fit = true\n")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert run(["run", str(path), "--dry-run"]) == 0
