"""What sanitise does on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from privacyfunnel.errors import OutputRefused
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.release_note import Release


def on_cluster(
    cluster: str,
    protocol: Protocol,
    table: Path,
    output: Path,
    delimiter: str | None,
    encoding: str,
    drawing: dict[str, Any],
) -> Release:
    """Release a table on a cluster, into a folder of Parquet files."""
    from privacyfunnel.tables.spark.files import address, open_spark, spark_session
    from privacyfunnel.tables.spark.release import sanitise_spark

    if not output.name.endswith(".parquet"):
        raise OutputRefused(f"Spark writes a folder of Parquet files; {output} should end in .parquet")
    with spark_session(cluster) as session:
        source = open_spark(session, table, delimiter, encoding)
        release: Release = sanitise_spark(protocol, source, address(output), **drawing)
        return release
