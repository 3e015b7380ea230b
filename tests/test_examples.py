"""The examples run, from beginning to end."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from spark_parts import environment, require_spark

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


@pytest.mark.long
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example, tmp_path):
    if "pyspark" in example.read_text():
        require_spark()
    command = [sys.executable, str(example)]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_there_is_an_example_for_everybody():
    stewards, analysts, researchers = {"choosing_epsilon"}, {"estimating"}, {"side_channels"}
    assert {path.stem for path in EXAMPLES} >= stewards | analysts | researchers | {"scikit_learn", "spark"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_whose_question_it_answers_and_how_to_run_it(example):
    words = ast.get_docstring(ast.parse(example.read_text(encoding="utf-8")))
    assert f"python examples/{example.name}" in words
    question = words.splitlines()[0]
    assert question.startswith("I ")
    assert question.endswith("?")
