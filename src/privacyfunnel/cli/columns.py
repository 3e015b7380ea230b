"""Columns that can be released together, for a fit that is asked for without columns and without a promise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from privacyfunnel.cli import show
from privacyfunnel.spec import as_flags
from privacyfunnel.spec.spec import Spec
from privacyfunnel.tables.domain import opened
from privacyfunnel.tables.sources import open_source
from privacyfunnel.tables.suggesting import suggest


def with_columns(spec: Spec, table: Path) -> tuple[Spec, dict[str, str]]:
    """The same with the columns that are suggested, where it names none; and why each other column is left out."""
    if spec.columns is not None or spec.cluster is not None:
        return spec, {}
    with show.working(f"looking at {table.name}"):
        source = open_source(table, **spec.layout, secrets=spec.secret_columns)
        if not {*spec.secret_columns, *(spec.leave_out or ())} <= {*source.columns}:
            return spec, {}  # what is not there is refused where columns are read
        domain = opened(None if spec.domain is None else Path(spec.domain))
        declared = None if domain is None else domain.names
        each = [suggest(source, secret=name, declared=declared) for name in spec.secret_columns]
    why = {column.column: column.how for found in reversed(each) for column in found if column.part == "leave out"}
    why = {name: how for name, how in why.items() if name not in spec.secret_columns}
    gone = {*why, *spec.secret_columns, *(spec.leave_out or ())}
    names = tuple(name for name in source.columns if name not in gone)
    if not names:
        return spec, {}
    said = {key: value for key, value in spec.said().items() if key != "leave_out"}
    return as_flags.again(type(spec), said | {"columns": names}), why


def left_out(why: Mapping[str, str]) -> Table:
    """Which columns are left out, and why: found in the table, so it is for the steward."""
    table = Table(title="Left out, unless --columns names them", title_justify="left", header_style="bold")
    for heading in ("column", "why"):
        table.add_column(heading, overflow="fold")
    for name, how in why.items():
        table.add_row(escape(name), escape(how))
    return table
