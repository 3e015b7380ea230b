"""The tests draw the same every time, whatever ran before them; a search draws anew, and keeps what it finds."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from tools import searching

TESTS = Path(__file__).parent
DRAWING = """
import sys
sys.path.insert(0, sys.argv[1])
import conftest
if sys.argv[2:]:
    import privacyfunnel.optimiser.optimise
from hypothesis import given, strategies as st

@given(st.integers() | st.floats() | st.text())
def test(drawn):
    print(repr(drawn))

test()
"""


def draws(*arguments: str, profile: str = "steady") -> str:
    """What Hypothesis draws in a new process."""
    command = [sys.executable, "-c", DRAWING, str(TESTS), *arguments]
    around = {**os.environ, "HYPOTHESIS_PROFILE": profile}
    return subprocess.run(command, env=around, capture_output=True, text=True, check=True).stdout


def test_draws_are_the_same_whatever_was_loaded_before():
    once = draws()
    assert len(once.splitlines()) == 40
    assert once == draws("after our modules")


def test_past_failures_are_not_needed_to_pass():
    assert settings().derandomize
    assert settings().database is None


FALSE_AT_TIMES = """
import time
from hypothesis import given, strategies as st

@given(st.integers(0, 10**6))
def test_no_number_is_large(n):
    assert n < 900_000

def test_nothing_ends():
    time.sleep(600)
"""


@pytest.mark.long
def test_a_search_keeps_what_it_finds_and_ends_in_time(tmp_path, monkeypatch, capsys):
    file = tmp_path / "test_numbers.py"
    file.write_text(FALSE_AT_TIMES, encoding="utf-8")
    monkeypatch.setattr(searching, "FINDS", tmp_path / "finds")
    tests = [f"{file}::test_no_number_is_large"]
    found = searching.tried_with(1, tests, 600)
    assert re.search(r"n=900_?000\b", found)
    searching.keep(1, tests, found)
    again, words = (tmp_path / "finds" / "1.txt").read_text(encoding="utf-8").split("\n\n", 1)
    assert again.endswith(f"--hypothesis-seed=1 {tests[0]}")
    assert words == found
    assert "1.txt" in capsys.readouterr().out
    assert searching.tried_with(1, [f"{file}::test_nothing_ends"], 8) is None


def test_seeds_and_tests_of_a_search_are_drawn_at_random():
    tests = [f"tests/test_{i}.py::test" for i in range(30)]
    first, second = (next(searching.draws(tests)) for _ in range(2))
    assert first != second
    assert set(first[1]) <= set(tests)
    seen = searching.draws(tests)
    assert sorted(test for _ in range(3) for test in next(seen)[1]) == sorted(tests)


def test_the_long_tests_and_the_others_are_all_tests():
    lines = (TESTS.parent / "Makefile").read_text(encoding="utf-8").splitlines()
    assert {f"\t$(PYTEST) --timeout $(TIMEOUT) -m {chosen}" for chosen in ("'not long'", "long")} <= set(lines)
    gate = (TESTS.parent / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    stages = {line.split()[2] for line in gate if line.startswith("stage make ")}
    assert {"test", "check"} <= stages
