"""A real cluster on this machine: one master, two workers, and one of them is lost in the middle of the work."""

import threading
import time
from collections import Counter

import pytest

import privacyfunnel as pf
from spark_parts import SOURCE, Cluster, require_spark, spark

pytestmark = pytest.mark.long

ROWS, PARTITIONS = 400_000, 16


@pytest.fixture
def cluster(tmp_path):
    require_spark()
    cluster = Cluster(tmp_path)
    try:
        yield cluster
    finally:
        cluster.stop()


def taking_time():
    """Work that a worker can be lost in the middle of. A function in a function travels to the workers as it is."""

    def work(batches):
        time.sleep(0.5)
        yield from batches

    return work


def people(session):
    return session.range(0, ROWS, 1, PARTITIONS).selectExpr(
        "concat('town ', pmod(hash(id), 4)) AS town",
        "pmod(hash(id, 1), 3) AS class",
        "IF(pmod(hash(id, 2), 10) < 2 + pmod(hash(id), 4), 'yes', 'no') AS ill",
    )


def counts(frame):
    return Counter({tuple(row)[:-1]: row["count"] for row in frame.groupBy(*frame.columns).count().collect()})


def kill_in_the_middle(session, cluster, done):
    """Wait until some tasks of the slow stage have ended on either worker, and some have not begun."""
    tracker = session.sparkContext.statusTracker()
    while not done.is_set():
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        slow = [stage for stage in stages if stage and stage.numTasks == PARTITIONS]
        if any(3 <= stage.numCompletedTasks < PARTITIONS - 4 for stage in slow):
            cluster.kill_a_worker()
            return
        time.sleep(0.05)


def test_a_worker_killed_in_mid_job_costs_no_row_and_draws_none_twice(cluster, tmp_path):
    settings = {
        "spark.executor.memory": "600m",
        "spark.executor.cores": "1",
        "spark.executorEnv.PYTHONPATH": str(SOURCE),
        "spark.network.timeout": "60s",
        "spark.task.maxFailures": "8",
    }
    with spark(cluster.url, **settings) as session:
        while session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:  # the driver and two executors
            time.sleep(0.1)
        table = people(session)
        joint = pf.Joint.from_spark(table, "ill")
        assert joint.total == ROWS
        protocol = pf.optimise(joint, pf.LIP(0.1))
        calm = counts(protocol.sanitise_spark(table, seed=4))
        slow = table.mapInArrow(taking_time(), table.schema)
        done = threading.Event()
        killer = threading.Thread(target=kill_in_the_middle, args=(session, cluster, done))
        killer.start()
        try:
            release = protocol.sanitise_spark(slow, tmp_path / "open.parquet", seed=4)
        finally:
            done.set()
            killer.join()
        assert cluster.processes[-1].poll() is not None  # it was killed, and before the job had ended
        released = session.read.parquet(str(tmp_path / "open.parquet"))
        assert release.rows == ROWS
        assert counts(released) == calm
        assert session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3
