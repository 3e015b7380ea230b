"""Statistical files: SPSS, Stata and SAS, read some rows at a time by pyreadstat."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from privacyfunnel.tables.contents import Contents, Held

READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""By the end of a name, what reads it."""
CELLS = 1 << 21
"""Read at a time: they are Python's numbers for a moment, some 100 megabytes of them."""
NUMBERS = re.compile(r"(F|N|Z|E|COMMA|DOT|DOLLAR|PCT|PERCENT|BEST)?[\d.]*|%-?\d*[.,]?\d*[gfe]c?", re.IGNORECASE)
"""How formats of plain numbers are written; all others may be dates or times."""


def opened(path: Path, kind: str, encoding: str) -> Contents:
    """What is in a file: its columns, and their rows, read when they are asked for."""
    import pyreadstat

    read = getattr(pyreadstat, READERS[kind])
    layout: dict[str, Any] = {"encoding": "LATIN1"} if encoding.startswith(("latin", "iso")) and kind != ".por" else {}
    _, found = read(str(path), metadataonly=True, output_format="dict", **layout)
    names = list(found.column_names)
    labels: Mapping[str, Any] = found.variable_value_labels or {}
    columns = []
    for name in names:
        text = found.readstat_variable_types.get(name) == "string"
        plain = NUMBERS.fullmatch(str(found.original_variable_types.get(name) or "")) is not None
        about = " ".join(str(found.column_names_to_labels.get(name) or "").split())
        columns.append(Held(str(name), text, not text and not plain, about, labels.get(name) or {}))

    def rows() -> Iterator[list[Any]]:
        most, done = max(1, CELLS // max(1, len(names))), 0
        while True:
            part, _ = read(str(path), output_format="dict", row_offset=done, row_limit=most, **layout)
            lists = [list(part[name]) for name in names]
            if not lists or not lists[0]:
                return
            yield lists
            done += len(lists[0])
            if len(lists[0]) < most:
                return

    return Contents(columns, rows())
