"""What tests with Spark share: whether it is there, a small session, and a real cluster on this machine."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

import privacyfunnel as pf

SOURCE = Path(pf.__file__).parents[1]
START_SECONDS = 120
SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "OFF",
}


def require_spark():
    """Skip where Java or pyspark is missing; where CI is set, fail."""
    missing = [name for name, there in (("Java", shutil.which("java")), ("pyspark", find_spec("pyspark"))) if not there]
    if missing and os.environ.get("CI"):
        pytest.fail(f"{' and '.join(missing)} must be installed in CI")
    if missing:
        pytest.skip(f"{' and '.join(missing)} is not installed")


def environment():
    """What the processes of a test need to find this Python and this package."""
    paths = [str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(paths),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "NUMBA_NUM_THREADS": "1",
    }


@contextmanager
def spark(master="local[2,3]", **settings):
    """A session; in local mode with two cores, where a task may fail twice."""
    require_spark()
    from pyspark.sql import SparkSession

    os.environ.update(environment())
    session = SparkSession.builder.master(master).config(map=SETTINGS | settings).getOrCreate()
    try:
        yield session
    finally:
        session.stop()


class Cluster:
    """One master and two workers on the loopback interface, each a process of its own."""

    def __init__(self, folder):
        import pyspark

        self.folder = folder
        self.home = Path(pyspark.__file__).parent
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"spark://127.0.0.1:{self.port}"
        where = ["--host", "127.0.0.1", "--webui-port", "0"]
        self.processes = []
        self.start("master", "org.apache.spark.deploy.master.Master", [*where, "--port", str(self.port)])
        self.wait_for("master", "New state: ALIVE")
        for i in range(2):
            place = ["--work-dir", str(folder / f"work{i}"), "--cores", "1", "--memory", "1g"]
            self.start(f"worker{i}", "org.apache.spark.deploy.worker.Worker", [*where, *place, self.url])
        for i in range(2):
            self.wait_for(f"worker{i}", "Successfully registered with master")

    def start(self, name, main, arguments):
        command = [str(self.home / "bin" / "spark-class"), main, *arguments]
        env = environment() | {"SPARK_HOME": str(self.home), "SPARK_DAEMON_MEMORY": "512m"}
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=env, start_new_session=True)
        self.processes.append(process)

    def wait_for(self, name, words):
        log = self.folder / f"{name}.log"
        deadline = time.monotonic() + START_SECONDS
        while words not in log.read_text(errors="replace"):
            if time.monotonic() > deadline:
                pytest.fail(f"the {name} of the cluster did not start")
            time.sleep(0.1)

    def kill_a_worker(self):
        """As if its machine had lost power: the worker and its executor are gone at once."""
        self.end(self.processes[-1], signal.SIGKILL)

    def end(self, process, how):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, how)  # its own session, started by us
        process.wait(timeout=START_SECONDS)

    def stop(self):
        for process in reversed(self.processes):
            self.end(process, signal.SIGKILL)
