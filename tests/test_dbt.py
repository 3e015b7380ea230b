"""The dbt project in examples/dbt: it releases, the audit is a test of it, and a second run draws nobody again.

dbt's dependencies do not go with ours for Spark Connect (protobuf), so it has a Python of its own: FUNNEL_DBT names one
in which dbt-duckdb and privacyfunnel are installed.
"""

import os
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest

PROJECT = Path(__file__).resolve().parents[1] / "examples" / "dbt"
DBT = "from dbt.cli.main import cli; cli()"


@pytest.fixture
def project(tmp_path):
    python = os.environ.get("FUNNEL_DBT")
    if not python:
        pytest.skip("FUNNEL_DBT names no Python with dbt-duckdb and privacyfunnel")
    folder = tmp_path / "dbt"
    shutil.copytree(PROJECT, folder)

    def work(*arguments):
        command = [python, *arguments] if arguments[0].endswith(".py") else [python, "-c", DBT, *arguments]
        env = os.environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "DBT_PROFILES_DIR": str(folder)}
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)

    assert work("run", "--select", "people").returncode == 0
    assert work("fit.py").returncode == 0
    return folder, work


def released(folder):
    with duckdb.connect(str(folder / "people.duckdb"), read_only=True) as database:
        return database.sql("SELECT * FROM open_people").fetchall()


@pytest.mark.long
def test_dbt_releases_once_and_the_audit_is_a_test_that_can_fail(project):
    folder, work = project
    done = work("build", "--exclude", "people")
    assert done.returncode == 0, done.stdout
    assert "PASS accepted_values_audit_holds" in done.stdout
    first = released(folder)
    assert len(first) == 6_000
    assert work("build", "--exclude", "people").returncode == 0
    assert released(folder) == first  # nobody was drawn again
    protocol = folder / "protocol.json"
    protocol.write_text(protocol.read_text().replace('"epsilon": 0.2', '"epsilon": 0.1'))
    assert work("build", "--select", "audit").returncode != 0
