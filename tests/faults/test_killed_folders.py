"""Killed without a warning at random moments, publish and run leave a whole folder or none."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from privacyfunnel.cli.app import run
from privacyfunnel.publishing.described import OWN
from publishing.conftest import GIVEN, fitted
from recipes.test_run import PUBLISH, recipe

pytestmark = [pytest.mark.long, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]
TIMES = 30
"""Moments at which each command is killed."""


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def whole_publication(folder):
    assert {one.name for one in folder.iterdir()} == OWN
    for resource in json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))["resources"]:
        assert resource["hash"] == f"sha256:{sha256(folder / resource['path'])}"
    for name in ("croissant.json", "dcat.jsonld"):
        json.loads((folder / name).read_text(encoding="utf-8"))


def whole_run(folder):
    *_, end = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert end["what"] == "end"
    there = {one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file()}
    assert there == {*end["digests"], "log.jsonl", "recipe.toml"}
    assert all(sha256(folder / name) == digest for name, digest in end["digests"].items())
    whole_publication(folder / "published")


def killed(arguments, folder, look):
    """Kill the command again and again; after each time, look at what is there."""
    driver = Path(__file__).with_name("killing.py")
    command = [sys.executable, str(driver), "1", str(TIMES), "go on", *map(str, arguments)]
    states, died = set(), 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert "whole" in json.loads(process.stdout.readline())
        look(folder)
        for _ in range(TIMES):
            died += json.loads(process.stdout.readline())["killed"]
            strange = {one.name for one in folder.parent.iterdir() if one.name.startswith(f".{folder.name}.")}
            assert all(name.endswith((".part", ".old")) for name in strange)
            look(folder)  # the old one or the new one, and whole
            states.add(sha256(next(iter(sorted(folder.rglob("table.csv"))))))
            process.stdin.write("go on\n")
            process.stdin.flush()
    assert process.returncode == 0
    return states, died


def test_publish_killed_at_30_moments_leaves_a_whole_folder(tmp_path):
    fitted(tmp_path)
    options = [word for name, text in GIVEN.items() for word in (f"--{name}", text)]
    command = ["publish", tmp_path / "open.csv", "--protocol", tmp_path / "protocol.json", "-o", tmp_path / "out"]
    _, died = killed([*command, *options], tmp_path / "out", whole_publication)
    assert died > TIMES / 2
    assert run([*map(str, command), *options, "--force"]) == 0
    whole_publication(tmp_path / "out")


def test_run_killed_at_30_moments_leaves_a_whole_folder(tmp_path):
    path = recipe(tmp_path, fit="private = 2\n", rest=PUBLISH.replace("[report]\ncurves = false\n", ""))
    _, died = killed(["run", path], tmp_path / "out", whole_run)
    assert died > TIMES / 2
    assert run(["run", str(path), "--force"]) == 0
    whole_run(tmp_path / "out")


@pytest.mark.parametrize("what", ["publish", "run"])
def test_killed_before_the_first_folder_is_whole_there_is_none(what, tmp_path):
    """The first time: at every moment before its end there is nothing under the name."""
    path = recipe(tmp_path, fit="private = 2\n", rest=PUBLISH.replace("[report]\ncurves = false\n", ""))
    command = ["run", str(path)]
    if what == "publish":
        fitted(tmp_path / "desk")
        options = [word for name, text in GIVEN.items() for word in (f"--{name}", text)]
        desk = tmp_path / "desk"
        command = ["publish", desk / "open.csv", "--protocol", desk / "protocol.json", *options, "-o", tmp_path / "out"]
    watcher = (
        "import os, signal, sys, threading, time\n"
        "from pathlib import Path\n"
        "from privacyfunnel.cli import app\n"
        "def look():\n"
        "    while not [one for one in Path(sys.argv[1]).glob('.out.*.part/*') if one.name == sys.argv[2]]:\n"
        "        time.sleep(0.001)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "threading.Thread(target=look, daemon=True).start()\n"
        "app.run(sys.argv[3:])\n"
    )
    for last in ("protocol.json", "open.csv", "log.jsonl") if what == "run" else ("table.csv", "CITATION.cff"):
        arguments = [sys.executable, "-c", watcher, tmp_path, last, *command]
        done = subprocess.run(list(map(str, arguments)), capture_output=True, check=False)
        assert done.returncode == -9
        assert not (tmp_path / "out").exists()
