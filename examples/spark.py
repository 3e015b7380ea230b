"""I am an engineer with a table on a cluster: how is it released without the rows ever leaving it?

python examples/spark.py [MASTER]        MASTER is local[2] by default, or such as spark://host:7077
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

import privacyfunnel as pf

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the Python in which privacyfunnel is installed
session = (
    SparkSession.builder.master(sys.argv[1] if len(sys.argv) > 1 else "local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "4")
    .getOrCreate()
)
table = session.range(200_000).selectExpr(
    "concat('town ', pmod(hash(id), 5)) AS town",
    "18 + pmod(hash(id, 1), 70) AS age",
    "IF(pmod(hash(id, 2), 100) < 10 + 8 * pmod(hash(id), 5), 'yes', 'no') AS ill",
)

joint = pf.Joint.from_spark(table, secret="ill", attributes=["town", "age"])  # counted on the cluster
protocol = pf.optimise(joint, pf.LIP(0.2))
print(joint)
print(protocol.notion.words())

with TemporaryDirectory() as folder:
    release = protocol.sanitise_spark(table, Path(folder, "open.parquet"))  # one pass, whole or not at all
    print(f"{release.rows:,} rows of {', '.join(release.attributes)}; dropped: {', '.join(release.dropped)}")
    session.read.parquet(str(Path(folder, "open.parquet"))).groupBy("town").count().orderBy("town").show()
session.stop()
