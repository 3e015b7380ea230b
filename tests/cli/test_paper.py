"""funnel paper, as typed."""

import importlib.util
import json

import pytest

from privacyfunnel.cli.app import run

if importlib.util.find_spec("ppl") is None:
    pytest.skip("pplpy, which lists vertices exactly, is not installed", allow_module_level=True)

QUICK = ["paper", "--figure", "1", "--draws", "1", "--epsilons", "2", "--jobs", "1"]


def test_the_files_are_written_and_named(tmp_path, capsys):
    assert run([*QUICK, "-o", str(tmp_path / "new" / "results")]) == 0
    files = sorted(path.name for path in (tmp_path / "new" / "results").iterdir())
    assert files == ["figure1.png", "figure1.svg", "results.csv", "tables.md"]
    out = capsys.readouterr().out
    assert all(name in out for name in files)
    assert "1. ε-LDP against ε-LIP" in out


def test_machines_get_every_row(capsys):
    assert run([*QUICK, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert len(content["rows"]) == 4
    assert content["files"] == []
    assert {row["draw"] for row in content["rows"]} == {0}


def test_existing_files_are_kept_and_nothing_is_run(tmp_path, capsys):
    (tmp_path / "results.csv").write_text("mine")
    assert run([*QUICK, "-o", str(tmp_path)]) == 2
    assert "--force" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["results.csv"]
    assert (tmp_path / "results.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["--figure", "4"], "1, 2, 3"),
        (["--epsilons", "half"], "joined by commas"),
        (["--epsilons", "-1"], "positive"),
        (["--draws", "0"], "draw"),
    ],
)
def test_what_makes_no_sense_is_one_line(wrong, told, capsys):
    assert run(["paper", *wrong]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1


def test_a_file_is_no_folder(tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    assert run([*QUICK, "-o", str(tmp_path / "taken")]) == 2
    assert "folder" in capsys.readouterr().err
