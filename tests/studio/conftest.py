"""A studio of our own for tests, started as people start it, and a browser to visit it."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import privacyfunnel
from pages import chromium, required
from privacyfunnel.population import as_csv, people

SOURCE = Path(privacyfunnel.__file__).parents[1]
START = "from privacyfunnel.cli.main import main; main()"


@contextmanager
def studio(folder, *arguments):
    """The address of a studio, whose files lie in `folder`; it is ended afterwards."""
    required("shiny")
    command = [sys.executable, "-P", "-c", START, "studio", "--no-browser", "--json", "--folder", str(folder)]
    process = subprocess.Popen(
        [*command, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield json.loads(line)["address"], process
    finally:
        process.terminate()
        said = process.communicate(timeout=60)[1]
    assert "Traceback" not in said
    assert process.returncode == 0


@pytest.fixture
def open_studio(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()

    @contextmanager
    def start(*arguments):
        with studio(folder, *arguments) as started:
            yield started
        assert list(folder.iterdir()) == []  # nothing stays

    return start


@pytest.fixture(scope="session")
def chrome():
    with chromium("shiny", "axe_playwright_python") as browser:
        yield browser


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    """A generated table: people who do not exist."""
    path = tmp_path_factory.mktemp("studio") / "people.csv"
    path.write_text(as_csv(people(2_000, seed=3)))
    return path
