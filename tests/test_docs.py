"""What the documentation shows is what happens: docstring examples, Python blocks, and every command."""

import doctest
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.cli import app
from privacyfunnel.cli.app import run
from privacyfunnel.cli.demonstration import PEOPLE
from privacyfunnel.population import as_csv, people
from r_parts import require_r
from spark_parts import environment, require_spark

ROOT = Path(__file__).resolve().parents[1]
FUNNEL = [sys.executable, "-c", "from privacyfunnel.cli.main import main; main()"]
SOURCE = Path(pf.__file__).parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
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


def fenced(page):
    """The (language, text) of every fenced block of a page, in order; indented ones too."""
    found, language, lines = [], None, []
    for line in page.read_text(encoding="utf-8").splitlines():
        mark = line.strip()
        if language is None and mark.startswith("```"):
            language, lines = mark[3:].strip(), []
        elif language is not None and mark == "```":
            found.append((language, "\n".join(lines) + "\n"))
            language = None
        elif language is not None:
            lines.append(line)
    assert language is None, f"{page.name} has a block that does not end"
    return found


@pytest.mark.parametrize("document", PAGES, ids=lambda document: document.name)
def test_every_block_is_python_shell_or_r_so_that_none_goes_untried(document):
    assert {language for language, _ in fenced(document)} <= {"python", "sh", "r"}


def long_if_spark(page):
    """Spark takes a minute to start and to end."""
    return [pytest.mark.long] if page.name == "spark.md" else []


PYTHON = [
    pytest.param(text, id=f"{page.name}-{number}", marks=long_if_spark(page))
    for page in PAGES
    for number, (language, text) in enumerate(fenced(page))
    if language == "python"
]


@pytest.mark.parametrize("code", PYTHON)
def test_python_in_the_documentation_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "spark" in code:
        require_spark()
        in_a_process([sys.executable, "-c", code])
    else:
        exec(compile(code, "documentation", "exec"), {})  # noqa: S102 - our own pages


def in_a_process(command):
    """As a reader would: Spark's Java side goes by the folder in which it was started, and stays."""
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def lines(page):
    """The lines of all shell blocks of a page, without comments."""
    text = "".join(text for language, text in fenced(page) if language == "sh")
    return [line.split("  #")[0].strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


SHELL = [page for page in PAGES if lines(page)]


@pytest.fixture
def tried(tmp_path, monkeypatch):
    """A folder with the tables that the documentation speaks of."""
    monkeypatch.chdir(tmp_path)
    columns = people(PEOPLE, seed=2)
    columns["diagnosis"] = columns["obese"]
    Path("people.csv").write_text(as_csv(columns))
    before = {name: np.array(entries)[:-40] for name, entries in columns.items()}
    before["town"][:150] = before["town"][150:300]  # some have moved since
    Path("last-year.csv").write_text(as_csv(before))
    rows = [
        f"P{i};{'mw'[i % 2]};{['Köln', 'Łódź'][i % 3 % 2]};{i % 7}0,5;{['E11', 'I10'][i % 5 > 0]}" for i in range(500)
    ]
    visits = [f"{i // 3},{10 + i % 50},{'yes' if i % 11 == 0 else 'no'},{'ABC'[i % 3]}" for i in range(900)]
    Path("visits.csv").write_text("\n".join(["id,costs,fall,ward", *visits]))
    header = "Nr;Geschlecht;Wohnort;Gewicht, kg;Diagnose (ICD-10)"
    Path("Patienten 2025.csv").write_text("\n".join([header, *rows]), encoding="utf-8-sig")
    return tmp_path


def provide(command, page_lines):
    """What a page takes for granted: the demo's table, a protocol and a release. What it makes itself, it makes."""
    made = " ".join(page_lines)
    if "demo/people.csv" in command and "funnel demo" not in made:
        Path("demo").mkdir(exist_ok=True)
        Path("demo/people.csv").write_text(Path("people.csv").read_text())
    if "protocol.json" in command and "-o protocol.json" not in made and not Path("protocol.json").exists():
        fit = ["fit", "people.csv", "--secret", "diagnosis", "--columns", "age,sex,town", "--epsilon", "0.5"]
        assert run([*fit, "-o", "protocol.json"]) == 0


def work(command):
    """Run one command as it stands; searches are cut short."""
    if "spark" in command:
        in_a_process([*FUNNEL, *command[1:]])
        return
    if command[1] == "studio":
        started = [*FUNNEL, *command[1:], "--no-browser", "--json"]
        process = subprocess.Popen(started, stdout=subprocess.PIPE, env=environment(), text=True)
        try:
            assert "127.0.0.1" in json.loads(process.stdout.readline())["address"]
        finally:
            process.terminate()
            process.communicate()
        return
    long = command[1] in ("fit", "release", "tradeoff", "report") and "--time-limit" not in command
    assert run([*command[1:], *(["--time-limit", "1"] if long else [])]) == 0


FIRST = {"README.md", "index.md"}
"""Pages whose commands newcomers type: the others' are tried by `make check`."""


@pytest.mark.parametrize(
    "document",
    [pytest.param(page, id=page.name, marks=[] if page.name in FIRST else pytest.mark.long) for page in SHELL],
)
def test_the_commands_of_a_page_work_one_after_the_other(document, tried):
    for line in lines(document):
        if re.match(r"python3 \w+/check\.py ", line):
            in_a_process([sys.executable, "-I", "-S", *shlex.split(line)[1:]])
            continue
        if not line.startswith("funnel "):
            assert is_set_up(line), f"{document.name}: nobody tries {line!r}"
            continue
        command = shlex.split(line)
        if "spark" in command:
            require_spark()
        if command[1] == "studio":
            pytest.importorskip("shiny")
        provide(command, lines(document))
        work(command)


WITH_R = [page for page in PAGES if any(language == "r" for language, _ in fenced(page))]


@pytest.mark.long
@pytest.mark.parametrize("document", WITH_R, ids=lambda document: document.name)
def test_r_in_the_documentation_runs_after_the_commands_of_its_page(document, tried):
    rscript = require_r()
    test_the_commands_of_a_page_work_one_after_the_other(document, tried)
    shutil.copytree(ROOT / "r", "r")
    Path("page.R").write_text("".join(text for language, text in fenced(document) if language == "r"))
    done = subprocess.run([rscript, "page.R"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def is_set_up(line):
    """Whether a line that is no command of ours is one that sets things up, and names what there is."""
    make, extra = re.fullmatch(r"make (\w+)", line), re.fullmatch(r"pip install '\.\[(\w+)\]'", line)
    if make:
        return f"\n{make.group(1)}:" in (ROOT / "Makefile").read_text()
    if extra:
        return f"\n{extra.group(1)} = [" in (ROOT / "pyproject.toml").read_text()
    return line in ("python3 -m venv .venv", "source .venv/bin/activate", "pip install .")


def test_what_is_no_command_and_sets_nothing_up_is_noticed():
    assert is_set_up("make demo")
    assert not is_set_up("make coffee")
    assert not is_set_up("rm -rf .")


def test_every_command_is_tried_in_the_documentation():
    shown = {shlex.split(line)[1] for document in SHELL for line in lines(document) if line.startswith("funnel ")}
    assert app.COMMANDS
    assert set(app.COMMANDS) - shown == set()


def test_every_public_name_is_in_the_reference():
    """A name whose docstring nobody can look up is not public."""
    listed = re.findall(r"^::: privacyfunnel\.(\w+)$", (ROOT / "docs/reference.md").read_text(), re.MULTILINE)
    assert sorted(set(pf.__all__) - set(listed)) == []
    assert len(listed) == len(set(listed))
    assert all(getattr(pf, name, None) or importlib.import_module(f"privacyfunnel.{name}") for name in listed)


@pytest.mark.parametrize("document", PAGES, ids=lambda document: document.name)
def test_what_a_page_names_is_there(document):
    """Files, options, commands and public names that pages mention in passing."""
    prose = re.sub(r"(?ms)^\s*```.*?^\s*```$", "", document.read_text(encoding="utf-8"))
    spans = re.findall(r"`([^`\n]+)`", prose)
    assert [span for span in spans if not is_there(span)] == []


def is_there(span):
    """Whether a piece of code in a sentence names things that exist; what names nothing of ours is all right."""
    file = re.match(r"((?:tests|examples|docs|tools|benchmarks|r|\.ci)/[\w./-]+)", span)
    if file:
        return (ROOT / file.group(1)).exists()
    command = re.match(r"funnel (\w+)", span)
    if command and command.group(1) not in app.COMMANDS:
        return False
    public = re.match(r"pf\.(\w+)", span)
    if public and not hasattr(pf, public.group(1)):
        return False
    module = re.fullmatch(r"privacyfunnel((?:\.\w+)+)", span)
    if module and importlib.util.find_spec(span) is None:
        return False
    ours = not span.startswith(("pip ", "git ", "make "))
    return not ours or set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", span)) <= OPTIONS


OPTIONS = {"--help", "--version", "--debug"} | {
    option
    for name in app.COMMANDS
    for part in app.command(name).params
    for option in (*part.opts, *part.secondary_opts)
}


@pytest.mark.parametrize("span", ["tests/test_nothing.py", "funnel fly", "pf.Nothing", "--no-such", "privacyfunnel.no"])
def test_what_is_not_there_is_noticed(span):
    assert not is_there(span)


def test_the_house_is_drawn_as_it_is():
    drawn = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [path.parent.relative_to(SOURCE) for path in SOURCE.rglob("__init__.py")]
    assert all(f" {room.name} " in drawn or f"{room}" in drawn for room in rooms)
    for file in set(re.findall(r"`([a-z_]+(?:/[a-z_]+)+\.py)`", drawn)) - {"tests/test_layers.py"}:
        assert (SOURCE / file).exists() or (SOURCE / "optimiser" / file).exists(), file
