"""The examples run, from beginning to end."""

import subprocess
import sys
from pathlib import Path

import pytest

from spark_parts import environment, require_spark

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example, tmp_path):
    if "pyspark" in example.read_text():
        require_spark()
    command = [sys.executable, str(example)]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_there_is_an_example_for_scikit_learn_and_one_for_spark():
    assert {"scikit_learn", "spark"} <= {path.stem for path in EXAMPLES}
