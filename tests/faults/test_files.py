"""Files that change while they are read, several runs at once, and names that are anything."""

import os
import subprocess
import time

import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.errors import InvalidTable, PrivacyFunnelError
from privacyfunnel.tables.sources import open_source
from processes import PATIENCE, ROWS, funnel, one_line


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("change", ["cut", "grown", "replaced", "gone"])
def test_a_table_that_changes_while_it_is_read_is_refused(kind, change, desk, tmp_path):
    table = tmp_path / f"people.{kind}"
    table.write_bytes((desk / f"large.{kind}").read_bytes())
    source = open_source(table)
    batches = source.batches(["x", "z"], rows=10_000)
    next(batches)
    if change == "cut":
        os.truncate(table, table.stat().st_size // 2)
    elif change == "grown":
        with table.open("ab") as file:
            file.write(b"0,value number 1,value number 2\n")
    else:
        table.unlink()
        if change == "replaced":
            table.write_bytes((desk / f"large.{kind}").read_bytes())
    with pytest.raises(InvalidTable, match=r"changed while it was read|cannot be read"):
        list(batches)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_that_is_cut_off_during_a_release_leaves_no_release(kind, desk, tmp_path):
    table, output = tmp_path / f"people.{kind}", tmp_path / "open.csv"
    table.write_bytes((desk / f"large.{kind}").read_bytes())
    command = funnel(["sanitise", table, "--protocol", desk / "l.json", "-o", output, "--keep-order"])
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not any(path.suffix == ".part" for path in tmp_path.iterdir()):
        time.sleep(0.002)
    os.truncate(table, table.stat().st_size // 3)
    _, errors = process.communicate(timeout=PATIENCE)
    if process.returncode == 0:  # all had been read before
        assert output.read_bytes().count(b"\n") == ROWS + 1
    else:
        assert process.returncode == 2
        assert f"people.{kind}" in one_line(errors)
        assert [path.name for path in tmp_path.iterdir()] == [table.name]


def test_a_table_that_nobody_changes_is_read_twice_alike(desk):
    source = open_source(desk / "people.csv")
    assert pf.Joint.from_table(source, "s").total == pf.Joint.from_table(source, "s").total == 240


@pytest.mark.long
@pytest.mark.parametrize("force", [False, True])
def test_of_two_fits_at_once_the_file_is_that_of_one(force, desk, tmp_path):
    output = tmp_path / "protocol.json"
    commands = [
        ["fit", desk / "people.csv", "--secret", "s", "--columns", "Größe", "--epsilon", epsilon, "-o", output]
        for epsilon in ("0.25", "0.75")
    ]
    runs = [
        subprocess.Popen(
            funnel([*command, *(["--force"] if force else [])]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in commands
    ]
    errors = [process.communicate(timeout=PATIENCE)[1] for process in runs]
    codes = [process.returncode for process in runs]
    assert sorted(codes) == ([0, 0] if force else [0, 2])
    epsilon = pf.Protocol.load(output).notion.epsilon
    assert epsilon in ((0.25, 0.75) if force else ([0.25, 0.75][codes.index(0)],))
    assert [path.name for path in tmp_path.iterdir()] == ["protocol.json"]
    for code, error in zip(codes, errors, strict=True):
        assert error == "" if code == 0 else "exists" in one_line(error)


NAMES = ["with space", "öffentlich €", "line\nend", "\x1b[31mred", "-o", "a'b\"c;d", "*?[x]", "%41", "\u2028"]


@pytest.mark.parametrize("name", NAMES)
def test_an_output_may_have_any_name_and_is_spoken_of_in_one_line(name, desk, tmp_path, capsys):
    output = tmp_path / f"{name}.csv"
    command = ["sanitise", f"{desk}/people.csv", "--protocol", f"{desk}/p.json", "-o", str(output)]
    assert run(command) == 0
    assert pf.Joint.from_table(output, "born").total == 240
    capsys.readouterr()
    assert run(command) == 2
    said = one_line(capsys.readouterr().err)
    assert "exists" in said
    assert said[:-1].isprintable()
    assert [path.name for path in tmp_path.iterdir()] == [output.name]


@pytest.mark.parametrize("words", ["x" * 10_000, "two\nlines", "\x1b]0;title\x07", "half a letter \ud800"])
def test_every_error_is_a_line_that_a_terminal_only_shows(words):
    said = str(PrivacyFunnelError(f"begins {words} ends"))
    assert said.isprintable()
    assert said.startswith("begins")
    assert said.endswith("ends")
    assert len(said) < 1_000
