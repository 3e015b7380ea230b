"""The promise, proven from the protocol's file alone: a row for every part of it. The tests ask whether all hold."""

import json
import subprocess
import sys

import pyarrow as pa


def model(dbt, session):
    dbt.config(materialized="table")
    command = [sys.executable, "-m", "privacyfunnel", "audit", dbt.config.get("protocol"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):  # 1: the promise is broken, which is for the test to say
        raise RuntimeError(done.stderr.strip())
    found = json.loads(done.stdout)
    return pa.table({"promise": [found["promise"]], "holds": [done.returncode == 0], "level": [float(found["level"])]})
