"""What surrounds the code: the version, the citation, the lowest dependencies, their audit, the files of an sdist."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from privacyfunnel.cli.app import run

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def test_funnel_tells_its_version(capsys: pytest.CaptureFixture[str]):
    assert run(["--version"]) == 0
    assert re.fullmatch(r"funnel \d+\.\d+\.\d+\S*\n", capsys.readouterr().out)


def test_the_version_to_cite_is_that_of_the_package():
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert f"version: {PROJECT['version']}" in lines
    assert f"  - name: {PROJECT['authors'][0]['name']}" in lines
    assert f"license: {PROJECT['license']}" in lines
    given = {line.split(":")[0] for line in lines if not line.startswith(" ")}
    assert given >= {"cff-version", "message", "title", "authors"}  # what the format asks for


def test_the_lowest_versions_are_those_of_every_dependency():
    command = [sys.executable, str(ROOT / ".ci" / "lowest.py")]
    pins = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert [pin.replace("==", ">=") for pin in pins] == PROJECT["dependencies"]


UNKNOWN = {"name": "c", "skip_reason": "not found"}


def package(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "version": "1.0", "vulns": []} | more


@pytest.mark.parametrize(
    ("answer", "code", "line"),
    [
        ([package("a"), package("b")], 0, "2 packages, none with a known weakness"),
        ([package("a", vulns=[{"id": "PYSEC-1"}]), package("b")], 1, "known weaknesses: a 1.0 (PYSEC-1)"),
        (
            [{"name": "a", "skip_reason": "unknown"}],
            2,
            "not audited: the advisory service knows none of the 1 packages",
        ),
        (
            [package("a"), {"name": "b", "skip_reason": "unknown"}],
            2,
            "1 packages without known weakness; not audited: b",
        ),
        (None, 2, "not audited: pip-audit gave no answer"),
    ],
)
def test_an_audit_that_looked_nothing_up_does_not_pass(answer: list[object] | None, code: int, line: str):
    told = "" if answer is None else json.dumps({"dependencies": answer, "fixes": []})
    command = [sys.executable, str(ROOT / ".ci" / "audit.py")]
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert (done.stdout + done.stderr).startswith(line)
    assert (done.stdout + done.stderr).count("\n") == 1


def test_a_source_distribution_holds_files_that_exist_and_every_page_for_people():
    included = PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert [name for name in included if not (ROOT / name).exists()] == []
    assert {path.name for path in ROOT.glob("*.md")} <= set(included)


@pytest.mark.parametrize(
    "target",
    [
        "demo",
        "test",
        "check",
        "search",
        "fuzz",
        "coverage",
        "lint",
        "bench",
        "docs",
        "dist",
        "minimal",
        "audit",
    ],
)
def test_make_knows_what_the_documentation_speaks_of(target: str):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
