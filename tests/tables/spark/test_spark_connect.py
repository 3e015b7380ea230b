"""Spark Connect, on a real server of this machine: counted, drawn and refused as in a classic session."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from privacyfunnel.errors import InvalidInput
from privacyfunnel.tables.spark.files import spark_session
from spark_parts import environment, require_spark

PATIENCE = 900
"""Seconds: a server starts in a minute on an idle machine."""


@pytest.mark.long
def test_spark_connect_counts_draws_writes_and_refuses_like_a_classic_session(tmp_path):
    require_spark()
    if find_spec("grpc") is None:
        pytest.skip("grpcio is not installed: pip install '.[connect]'")
    script = Path(__file__).with_name("connect_script.py")
    command = [sys.executable, "-W", "ignore", str(script), str(tmp_path)]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    assert "all well" in done.stdout


def test_what_is_no_place_for_spark_is_refused_before_anything_starts():
    pytest.importorskip("pyspark")
    with pytest.raises(InvalidInput, match="sc://host:15002"), spark_session("nowhere"):
        pass
