"""Workbooks: Excel and ODS, read by python-calamine: the first sheet, or the one that is named."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

from privacyfunnel.errors import InvalidTable
from privacyfunnel.tables.contents import Contents, Held

SHOWN = 5
"""Names of sheets that a message tells."""


def opened(path: Path, sheet: str | None) -> Contents:
    """The columns of a sheet: its first row names them."""
    from python_calamine import CalamineWorkbook

    book = CalamineWorkbook.from_path(str(path))
    names = list(book.sheet_names)
    if sheet is not None and sheet not in names:
        told = ", ".join(map(repr, names[:SHOWN])) + (" …" if len(names) > SHOWN else "")
        raise InvalidTable(f"{path} has no sheet {sheet!r} among its {len(names)}: {told}")
    if not names:
        raise InvalidTable(f"{path} has no sheets")
    rows = book.get_sheet_by_name(sheet if sheet is not None else names[0]).to_python()
    if not rows:
        raise InvalidTable(f"{path} is empty: its first sheet has no cells" if sheet is None else f"{path} is empty")
    header, cells = rows[0], [row for row in rows[1:] if any(cell != "" for cell in row)]
    columns = [Held(as_text(name) or "", doubtful=True) for name in header]
    lists: list[list[Any]] = [list(column) for column in zip(*cells, strict=True)] or [[] for _ in columns]
    return Contents(columns, iter([[[plain(cell) for cell in column] for column in lists]]))


def plain(cell: Any) -> Any:
    """A cell; empty ones hold nothing."""
    if cell == "":
        return None
    return str(cell) if isinstance(cell, dt.timedelta) else cell


def as_text(cell: Any) -> str | None:
    """A cell as people see it.

    >>> as_text(2024.0), as_text(""), as_text(True)
    ('2024', None, 'true')
    """
    if cell is None or cell == "":
        return None
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
