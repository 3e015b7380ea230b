"""What the documentation shows is what happens: docstring examples, Python blocks, and every command."""

import doctest
import importlib
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.cli import app, run
from privacyfunnel.population import as_csv, people
from spark_parts import require_spark

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(pf.__file__).parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = sorted(
    "privacyfunnel." + ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in SOURCE.rglob("*.py")
    if ">>>" in path.read_text()
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_give_what_they_show(name):
    names = {public: getattr(pf, public) for public in pf.__all__} | {"np": np}
    module = importlib.import_module(name)
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    for test in finder.find(module, extraglobs=names):
        test.globs = names | test.globs
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
    assert runner.tries > 0


def blocks(language):
    pattern = re.compile(rf"^```{language}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return [
        pytest.param(match.group(1), id=f"{page.name}-{number}")
        for page in PAGES
        for number, match in enumerate(pattern.finditer(page.read_text()))
    ]


@pytest.mark.parametrize("code", blocks("python"))
def test_python_in_the_documentation_runs(code, tmp_path, monkeypatch):
    if "spark" in code:
        require_spark()
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "documentation", "exec"), {})  # noqa: S102 - our own pages


@pytest.fixture
def tried(tmp_path, monkeypatch):
    """A folder with the tables that the documentation speaks of."""
    monkeypatch.chdir(tmp_path)
    columns = people(3_000, seed=2)
    columns["diagnosis"] = columns["obese"]
    for path in (Path("people.csv"), Path("demo/people.csv")):
        path.parent.mkdir(exist_ok=True)
        path.write_text(as_csv(columns))
    return tmp_path


@pytest.mark.parametrize("code", blocks("sh"))
def test_commands_in_the_documentation_work(code, tried):
    if "spark" in code:
        require_spark()
    commands = [shlex.split(line) for line in code.splitlines() if line.startswith("funnel ")]
    for command in commands:
        if "demo" in command and "--folder" in command:
            command[-1] = "another-folder"
        if {"sanitise", "audit", "estimate", "report"} & set(command):
            secret, chosen = ("obese", "sex,town,height,weight") if "demo/" in code else ("diagnosis", "age,sex,town")
            fit = ["fit", "people.csv", "--secret", secret, "--attributes", chosen, "--epsilon", "0.5", "-o"]
            assert Path("protocol.json").exists() or run([*fit, "protocol.json"]) == 0
            sanitise = ["sanitise", "people.csv", "--protocol", "protocol.json", "-o", "open.csv"]
            assert "estimate" not in command or Path("open.csv").exists() or run(sanitise) == 0
        assert (
            run(
                [
                    *command[1:],
                    *(
                        ["--time-limit", "1"]
                        if command[1] in ("fit", "tradeoff", "report") and "--time-limit" not in command
                        else []
                    ),
                ]
            )
            == 0
        )


def test_every_command_is_shown_in_the_documentation():
    text = "\n".join(page.read_text() for page in PAGES)
    names = [command.name or command.callback.__name__ for command in app.registered_commands]
    assert names
    assert [name for name in names if f"funnel {name}" not in text] == []


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} → {target}"
