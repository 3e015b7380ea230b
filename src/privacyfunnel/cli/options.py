"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

from typing import Annotated

import typer

from privacyfunnel.cli.shared import Delimiter as Delimiter
from privacyfunnel.cli.shared import Encoding as Encoding
from privacyfunnel.cli.shared import Force as Force
from privacyfunnel.cli.shared import Json as Json
from privacyfunnel.cli.shared import Missing as Missing
from privacyfunnel.cli.shared import Table as Table
from privacyfunnel.cli.shared import names as names
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.spec.written import unquoted

Where = Annotated[
    str | None,
    typer.Option(help="Only rows that meet a condition on columns other than the secret: \"age >= 18 and sex = 'f'\"."),
]
Engine = Annotated[str, typer.Option(help="What does the work: duckdb, on this machine, or spark, on a cluster.")]
SparkMaster = Annotated[
    str | None, typer.Option(help="For spark: where, such as spark://host:7077 (default: local[*]).")
]


def pairs(texts: list[str] | None, option: str) -> dict[str, str]:
    """Options of the form column=value."""
    found: dict[str, str] = {}
    for text in texts or []:
        name, equals, value = text.rpartition("=")
        if not equals or not unquoted(name) or not value.strip():
            raise InvalidTable(f"{option} takes column=value; got {text!r}")
        if unquoted(name) in found:
            raise InvalidTable(f"{option} is given twice for {unquoted(name)!r}; once will do")
        found[unquoted(name)] = value.strip()
    return found


def here_only(where: str | None, cluster: str | None) -> None:
    """Refuse a condition on rows for Spark."""
    if where is not None and cluster is not None:
        raise InvalidInput("--where is for --engine duckdb; let Spark filter the table beforehand")


def cluster(engine: str, master: str | None) -> str | None:
    """The Spark master that --engine and --master ask for; none for DuckDB."""
    if engine not in ("duckdb", "spark"):
        raise InvalidInput(f"--engine is duckdb or spark; got {engine!r}")
    if engine == "duckdb" and master is not None:
        raise InvalidInput("--master goes with --engine spark")
    return None if engine == "duckdb" else master or "local[*]"
