"""Suggestions: which columns of a table may be the secret, which to release, and which to leave out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from privacyfunnel.distribution.raw import Kind
from privacyfunnel.errors import InvalidTable
from privacyfunnel.tables.fitting import Wishes, fit_columns
from privacyfunnel.tables.profiling import NEARLY_ALL
from privacyfunnel.tables.sources import Source

Role = Literal["secret", "release", "leave out"]
Hint = Literal["secret", "outcome", "trait", ""]
HINTS: dict[Hint, re.Pattern[str]] = {
    "secret": re.compile(
        r"diagnos|^diag(_|$)|diseas|illness|^ill$|disab|health|hiv|aids|diabet|obes|cancer|tumou?r|pregnan|abortion"
        r"|depress|addict|suicid|income|earning|salar|wage|debt|credit|loan|default|balance|vote|party|crime|arrest"
        r"|convict|recid|offen[cs]e|secret|sensitiv|krank|einkommen|gehalt",
        re.IGNORECASE,
    ),
    "outcome": re.compile(
        r"(^|[_ .])(class|target|label|outcome|result|response|y)$|readmi|surviv|^died|death|churn|fraud", re.IGNORECASE
    ),
    "trait": re.compile(r"religio|faith|ethnic|race|orientation|gender_identity|nationalit", re.IGNORECASE),
}
"""What names of columns tell: a secret of health, money, law or politics; what tables for learning are made to
predict, which is often one; a trait that laws protect, often one that is to be released. Only for suggestions."""
FEW_VALUES = 20
"""A secret with more values is seldom meant: each brings conditions of its own."""
SUGGESTED: dict[Hint, str] = {
    "secret": "its name is often that of a secret",
    "outcome": "its name is often that of what is to be predicted, which may be secret",
    "trait": "its name is that of a trait that may be secret",
    "": "it has two values, and what matters is often the last column",
}
LOOKS_SECRET = "its name is often that of a secret, too"
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
    kind: Kind | None = None
    """How it would be read."""
    hint: Hint = ""
    """What its name tells."""


def suggest(source: Source) -> tuple[Suggestion, ...]:
    """Look at every column of a table. At most one is suggested as the secret: nobody but the steward knows it."""
    usable = [name for name in source.columns if name.strip() and name not in source.unusable]
    if not usable:
        raise InvalidTable(f"{source.name} has no column that can be used")
    source.hold(usable)
    rows, distinct = source.distinct(usable)
    looks = {name: _look(source, name, rows, n) for name, n in zip(usable, distinct, strict=True)}
    secret = likely_secret(list(looks.values()))
    found, together = [], 1
    for name in source.columns:
        look = looks.get(name) or Suggestion(name, 0, 0, source.unusable.get(name, "has no name"), "leave out", False)
        if name == secret:
            look = replace(look, part="secret", how=f"{look.how}; {SUGGESTED[look.hint]}")
        elif look.part == "release" and look.hint == "secret":  # what tells the secret by itself is seldom to be told
            look = replace(look, part="leave out", how=f"{look.how}; {LOOKS_SECRET}")
        elif look.part == "release" and together * look.values > MOST_TOGETHER:
            look = replace(look, part="leave out")
        together *= look.values if look.part == "release" else 1
        found.append(look)
    return tuple(found)


def likely_secret(columns: Sequence[Suggestion]) -> str | None:
    """The column that is most likely the secret, if any looks like one.

    Those named like a secret come before what is to be predicted, and that before traits; of those alike, the one with
    few values, and the last. If no name tells, it is the last column if that has two values.
    """
    there = [column for column in columns if column.part == "release"]
    for hint in HINTS:
        named = [column for column in there if column.hint == hint]
        if named:
            few = [column for column in named if column.values <= FEW_VALUES]
            return (few or named)[-1].column
    last = columns[-1] if columns else None
    return last.column if last is not None and last in there and last.values == 2 and len(there) > 1 else None


def _look(source: Source, name: str, rows: int, distinct: int) -> Suggestion:
    try:
        (fitted,) = fit_columns(source, [name], Wishes())
    except InvalidTable as trouble:
        return Suggestion(name, 0, distinct, str(trouble), "leave out", False)
    values, kind = len(fitted.column), fitted.column.kind
    hint: Hint = next((hint for hint, names in HINTS.items() if names.search(name)), "")
    how = fitted.notice
    part: Role = "release"
    if distinct <= 1:
        how, part = "the same in every row", "leave out"
    elif fitted.identifier or (distinct > NEARLY_ALL * rows and rows > FEW_ROWS and kind != "bins"):
        how, part = "differs in nearly every row: does it name people?", "leave out"
    return Suggestion(name, values, distinct, how, part, True, kind, hint)
