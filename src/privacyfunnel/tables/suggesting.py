"""Suggestions: which columns of a table may be the secret, which to release, and which to leave out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from privacyfunnel.errors import InvalidTable
from privacyfunnel.tables.fitting import Wishes, fit_columns
from privacyfunnel.tables.profiling import NEARLY_ALL
from privacyfunnel.tables.sources import Source

Role = Literal["secret", "release", "leave out"]
SENSITIVE = re.compile(
    r"diagnos|diseas|illness|disab|health|hiv|diabet|obes|cancer|pregnan|medic|income|salar|wage|debt|credit|default"
    r"|religio|faith|ethnic|race|orientation|party|vote|crime|convict|recid|secret",
    re.IGNORECASE,
)
"""Names of columns that are often secret. Only a suggestion: the steward chooses."""
FEW_ROWS = 20
"""In tables this small, values differ in nearly every row by chance."""
MOST_TOGETHER = 20_000
"""Columns are suggested for release while their values have at most this many combinations."""


@dataclass(frozen=True)
class Suggestion:
    """What is known of a column, and what it might be used for."""

    column: str
    values: int
    """Different values as they would be released."""
    distinct: int
    """Different entries in the table."""
    how: str
    """What would be done to it, or why it cannot be used."""
    part: Role
    usable: bool = True


def suggest(source: Source) -> tuple[Suggestion, ...]:
    """Look at every column of a table."""
    usable = [name for name in source.columns if name.strip() and name not in source.unusable]
    if not usable:
        raise InvalidTable(f"{source.name} has no column that can be used")
    source.hold(usable)
    rows, distinct = source.distinct(usable)
    looks = {name: _look(source, name, rows, n) for name, n in zip(usable, distinct, strict=True)}
    secret = next((name for name, look in looks.items() if look.part == "secret"), None)
    found, together = [], 1
    for name in source.columns:
        look = looks.get(name) or Suggestion(name, 0, 0, source.unusable.get(name, "has no name"), "leave out", False)
        part = look.part
        if part == "secret" and name != secret:
            part = "release"
        if part == "release":
            part = "release" if together * look.values <= MOST_TOGETHER else "leave out"
            together *= look.values if part == "release" else 1
        found.append(Suggestion(name, look.values, look.distinct, look.how, part, look.usable))
    return tuple(found)


def _look(source: Source, name: str, rows: int, distinct: int) -> Suggestion:
    try:
        (fitted,) = fit_columns(source, [name], Wishes())
    except InvalidTable as trouble:
        return Suggestion(name, 0, distinct, str(trouble), "leave out", False)
    values, ranged = len(fitted.column), fitted.column.kind == "bins"
    if distinct <= 1:
        return Suggestion(name, values, distinct, "the same in every row", "leave out")
    if fitted.identifier or (distinct > NEARLY_ALL * rows and rows > FEW_ROWS and not ranged):
        return Suggestion(name, values, distinct, "differs in nearly every row: does it name people?", "leave out")
    part: Role = "secret" if SENSITIVE.search(name) else "release"
    return Suggestion(name, values, distinct, fitted.notice, part)
