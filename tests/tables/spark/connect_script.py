"""Run in a process of its own: Spark Connect on a server of this machine."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import privacyfunnel as pf
from privacyfunnel.errors import InvalidTable, OutputRefused, UnseenValues


def refused(kind, words, work):
    """That something is refused in a line that quotes nothing."""
    with pytest.raises(kind) as found:
        work()
    text = str(found.value)
    assert words in text, text
    assert "4711" not in text, text
    assert "\n" not in text, text


def main(folder):
    session = SparkSession.builder.remote("local[2]").getOrCreate()
    session.conf.set("spark.sql.shuffle.partitions", "4")
    assert type(session).__module__.startswith("pyspark.sql.connect.")
    table = session.range(0, 8_000, 1, 4).selectExpr(
        "concat('town ', pmod(hash(id), 4)) AS town",
        "pmod(hash(id, 1), 3) = 0 AS smoker",
        "IF(pmod(hash(id, 2), 10) < 2 + pmod(hash(id), 4), 'yes', 'no') AS ill",
    )
    joint = pf.Joint.from_spark(table, "ill", ["town", "smoker"])
    here = pf.Joint.from_table(table.toArrow(), "ill", ["town", "smoker"])
    assert joint.columns == here.columns
    assert np.array_equal(joint.weights, here.weights)
    protocol = pf.optimise(joint, pf.LIP(0.2), objective="faithful")

    released = protocol.sanitise_spark(table)
    first = released.collect()
    assert released.collect() == first  # nobody is drawn twice
    assert released.columns == ["town", "smoker"]
    assert len(first) == 8_000
    counts = Counter(map(tuple, first))
    expected = {tuple(v): n for v, n in zip(joint.values.tolist(), joint.weights.sum(axis=0).tolist(), strict=True)}
    assert all(abs(counts[v] - n) < 6 * n**0.5 for v, n in expected.items())
    released.unpersist()

    place = folder / "open.parquet"
    release = protocol.sanitise_spark(table, place)
    assert release.rows == 8_000
    assert (place / "_SUCCESS").exists()
    assert pq.read_table(place).num_rows == 8_000
    refused(OutputRefused, "exists; pass --force", lambda: protocol.sanitise_spark(table, place))
    protocol.sanitise_spark(table, place, force=True, partition_by=["town"])
    assert sorted(path.name for path in place.glob("town=*"))
    mine = folder / "in.parquet"
    table.write.parquet(str(mine))
    read = session.read.parquet(str(mine))
    refused(OutputRefused, "holds the input itself", lambda: protocol.sanitise_spark(read, mine, force=True))
    refused(OutputRefused, "relative", lambda: protocol.sanitise_spark(table, "open.parquet"))

    strangers = table.selectExpr("IF(town = 'town 1', 'patient 4711', town) AS town", "smoker")
    refused(UnseenValues, "town", lambda: protocol.sanitise_spark(strangers))
    drawn = protocol.sanitise_spark(strangers, unseen="draw")
    assert drawn.count() == 8_000
    broken = table.selectExpr("CAST('4711x' AS INT) AS town", "ill")
    refused(InvalidTable, "Spark could not read", lambda: pf.Joint.from_spark(broken, "ill"))
    refused(InvalidTable, "from_spark", lambda: pf.Joint.from_table(table, "ill"))
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    sys.stdout.write("all well\n")
