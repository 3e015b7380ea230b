"""How columns are to be read: options for bins, groups, dates, frequent values and a domain, and their texts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from privacyfunnel.cli.options import pairs
from privacyfunnel.cli.shared import texts, unquoted
from privacyfunnel.errors import InvalidTable
from privacyfunnel.tables.fitting import Wishes
from privacyfunnel.tables.typed import read_bins, whole_number

BinsOption = Annotated[
    list[str] | None,
    typer.Option("--bins", help="Bins of a column: age=0,18,30,65 or age=6 or age=width:5 or age=each. Repeatable."),
]
TopOption = Annotated[
    list[str] | None, typer.Option("--top", help="Keep the most frequent values of a column: town=20. Repeatable.")
]
DatesOption = Annotated[
    list[str] | None, typer.Option("--dates", help="Keep dates by year, month or day: born=year. Repeatable.")
]
GroupOption = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        help="Read some texts of a column as one value: town:north=Ashford,Birch. With --coarsen search, if that keeps "
        "more. Repeatable.",
    ),
]
DomainFile = Annotated[
    Path | None,
    typer.Option(
        "--domain", help="Take every value and border from this file, which funnel domain begins, not from the table."
    ),
]
GROUP = re.compile(r'\s*("[^"]*"|[^:="]+):("[^"]*"|[^="]+)=(.*)', re.DOTALL)
"""A column, the name of a group and its texts; quoted names may hold anything."""


def groups(typed: list[str] | None) -> dict[str, dict[str, tuple[str, ...]]]:
    """Texts that are read as one value, by column and name, as typed.

    >>> groups(['town:north=Ashford,"Birch, Upper"'])
    {'town': {'north': ('Ashford', 'Birch, Upper')}}
    """
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for text in typed or []:
        parts = GROUP.fullmatch(text)
        column, label = (unquoted(parts[1]), unquoted(parts[2])) if parts else ("", "")
        values = texts([parts[3]]) if parts else ()
        if not (column and label and values):
            raise InvalidTable(f"--group takes column:name=value,value, such as town:north=Ashford,Birch; got {text!r}")
        if label in found.setdefault(column, {}):
            raise InvalidTable(f"--group names the group {label!r} of {column!r} twice; once will do")
        found[column][label] = values
    return found


def wishes(
    bins: list[str] | None,
    top: list[str] | None,
    dates: list[str] | None,
    missing: list[str] | None,
    group: list[str] | None = None,
    open_groups: bool = False,
) -> Wishes:
    """What the steward asked for, as typed."""
    by_date = pairs(dates, "--dates")
    for column, by in by_date.items():
        if by not in ("year", "month", "day"):
            raise InvalidTable(f"--dates {column} takes year, month or day; got {by!r}")
    return Wishes(
        {column: read_bins(text) for column, text in pairs(bins, "--bins").items()},
        {column: whole_number(text, f"--top {column}") for column, text in pairs(top, "--top").items()},
        cast(Any, by_date),
        texts(missing),
        groups(group),
        open_groups,
    )
