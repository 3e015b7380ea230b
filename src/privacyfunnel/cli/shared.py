"""Options of nearly every command, and lists of names as they are typed. It loads nothing that reads a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacyfunnel.spec.written import names as names

Table = Annotated[Path, typer.Argument(help="CSV, CSV.GZ, Parquet or JSON lines, with column names.")]
Missing = Annotated[
    list[str] | None,
    typer.Option(help="Texts that mean “missing” in any column, beside empty ones: NA,?,- (or repeat it)."),
]
Delimiter = Annotated[str | None, typer.Option(help="What separates the fields of a CSV (default: found out).")]
Encoding = Annotated[str, typer.Option(help="utf-8 or latin-1.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, for machines.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")]


def texts(typed: list[str] | None) -> tuple[str, ...]:
    """Texts as typed, in lists that are joined by commas; one in double quotes is taken as it is.

    >>> texts(['NA,?,-', '"not said, or refused"'])
    ('NA', '?', '-', 'not said, or refused')
    """
    return tuple(dict.fromkeys(text for one in typed or () for text in names(one)))
