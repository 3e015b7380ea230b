"""No test can hold up the gate: a test that hangs fails alone, a run ends with its budget, differences stay short."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from limits import BUDGET, LONG, compared

TESTS = Path(__file__).parent
CONFTEST = "from limits import pytest_runtest_call, pytest_runtest_protocol\n"
INTERRUPTED = 2
"""Pytest's exit code for runs that were broken off."""


def run(folder: Path, tests: str, *options: str, **around: str) -> subprocess.CompletedProcess[str]:
    """Pytest on a file of its own, under our limits."""
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "test_it.py").write_text(tests, encoding="utf-8")
    plugins = ("--disable-plugin-autoload", "-p", "xdist", "-p", "pytest_timeout", "-p", "no:cacheprovider")
    quick = (*plugins, "-o", "timeout_func_only=true")
    command = [sys.executable, "-m", "pytest", *quick, *options]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV", BUDGET))}
    env |= {"PYTHONPATH": str(TESTS), "CI": "1", **around}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60)


def failed(done: subprocess.CompletedProcess[str]) -> list[str]:
    return re.findall(r"^FAILED test_it.py::(\w+)", done.stdout, re.MULTILINE)


ENDLESS = """
from collections import deque
from itertools import repeat

def test_before(): pass

def test_python_that_never_ends():
    while True: pass

def test_between(): pass

def test_machine_code_that_never_ends():
    deque(repeat(0), maxlen=0)

def test_after(): pass
"""


def test_an_endless_loop_fails_its_test_and_nothing_else(tmp_path):
    done = run(tmp_path, ENDLESS, "--timeout", "0.5", "-n", "2", "--dist", "worksteal")
    assert sorted(failed(done)) == ["test_machine_code_that_never_ends", "test_python_that_never_ends"], done.stdout
    assert "2 failed, 3 passed" in done.stdout


def test_an_endless_fixture_fails_its_test_and_nothing_else(tmp_path):
    slow = "import pytest, time\n@pytest.fixture\ndef slow(): time.sleep(60)\ndef test_slow(slow): pass\n"
    done = run(tmp_path, slow + "def test_other(): pass\n", "--timeout", "0.5", "-n", "1")
    assert failed(done) == ["test_slow"], done.stdout
    assert "1 failed, 1 passed" in done.stdout


@pytest.mark.parametrize("options", [(), ("-n", "2", "--dist", "worksteal")], ids=["one process", "two processes"])
def test_a_run_ends_with_its_budget_and_says_so(tmp_path, options):
    tests = "import time, pytest\n@pytest.mark.parametrize('i', range(200))\ndef test(i): time.sleep(0.1)\n"
    done = run(tmp_path, tests, *options, **{BUDGET: "1"})
    assert done.returncode in (pytest.ExitCode.TESTS_FAILED, INTERRUPTED)
    assert "the budget of 1 seconds is used up and not all tests ran" in done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) < 100


def test_long_things_are_compared_in_some_lines(tmp_path):
    tests = """
def test_lists(): assert list(range(100_000)) == [-1] * 100_000
def test_texts(): assert "a\\n" * 100_000 == "b\\n" * 100_000
def test_texts_within(): assert "z" in "ab\\n" * 100_000
def test_maps(): assert dict.fromkeys(range(100_000), 1) == {3: 4}
"""
    done = run(tmp_path, tests, "--timeout", "10")
    assert "4 failed" in done.stdout
    assert len(done.stdout) < 10_000
    assert "the first difference is at 0: 0 and -1" in done.stdout


def test_the_first_difference_is_told():
    def told(left, right):
        return compared("==", left, right).split("\n~")[1]

    many = list(range(LONG + 1))
    assert told(many, many[:-1]) == "201 and 200 members; the first difference is at 200: the right one ends"
    assert told(set(many), set(many) - {3}) == "201 and 200 members; only left: {3}; only right: set()"
    assert told(dict.fromkeys(many), {**dict.fromkeys(many), 7: 1}) == "201 and 201 members; 1 keys differ, such as 7"
    assert compared("==", [1], [2]) is None
