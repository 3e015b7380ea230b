"""Suggestions: which columns of a table may be the secret, which to release, and which to leave out."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.raw import Kind
from privacyfunnel.errors import InvalidTable
from privacyfunnel.tables.fitting import Wishes, fit_columns, numbers_in
from privacyfunnel.tables.frequency_threshold import MOST_READ_AS_OTHERS, SURE, USUAL
from privacyfunnel.tables.left_out import FEW_ROWS, numbers_people, repeats, weighs_rows
from privacyfunnel.tables.private_counts import USUAL_EPSILON
from privacyfunnel.tables.profiling import NEARLY_ALL
from privacyfunnel.tables.sources import Source
from privacyfunnel.typing import Integers, Vector

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
MOST_TOGETHER = 20_000
"""Columns are suggested for release while their values have at most this many combinations."""
TOO_MANY = f"with it, there are more than {MOST_TOGETHER:,} combinations of values"
MOST_ALONE = MOST_READ_AS_OTHERS / 2
"""Of the people, those who share their combination with too few: half of what a fit refuses, for noise adds to it."""
TOO_FINE = "with it, too many people share their combination of values with too few others"
NOT_DECLARED = "the domain does not declare it"


@dataclass(frozen=True)
class Suggestion:
    """What is known of a column, and what it might be used for."""

    column: str
    values: int
    """Different values as they would be released."""
    distinct: int
    """Different entries in the table."""
    how: str
    """What would be done to it, or why it is left out or cannot be used."""
    part: Role
    usable: bool = True
    kind: Kind | None = None
    """How it would be read."""
    hint: Hint = ""
    """What its name tells."""

    def without(self, why: str) -> Suggestion:
        """The same, left out."""
        return replace(self, part="leave out", how=f"{why}{'' if why.endswith('?') else ';'} {self.how}")


def suggest(source: Source, secret: str | None = None, declared: Sequence[str] | None = None) -> tuple[Suggestion, ...]:
    """Look at every column of a table. Without `secret`, at most one is suggested: nobody but the steward knows it.

    Others than those that are `declared` cannot be released, if there are any.
    """
    usable = [name for name in source.columns if name.strip() and name not in source.unusable]
    if not usable:
        raise InvalidTable(f"{source.name} has no column that can be used")
    source.hold(usable)
    rows, distinct = source.distinct(usable)
    read: dict[str, Column] = {}
    looks = {name: _look(source, name, rows, n, read) for name, n in zip(usable, distinct, strict=True)}
    if declared is not None:
        looks = {name: look if name in declared else look.without(NOT_DECLARED) for name, look in looks.items()}
    given, secret = secret, secret or likely_secret(list(looks.values()))
    free = [read[name] for name, look in looks.items() if look.part == "release"]
    crowds = Crowds.of(source, free, len(read[secret]) if secret in read else 0)
    found, together = [], 1
    for name in source.columns:
        look = looks.get(name) or Suggestion(name, 0, 0, source.unusable.get(name, "has no name"), "leave out", False)
        if name == secret:
            why = "" if given else f"; {SUGGESTED[look.hint]}"
            look = replace(look, part="secret", how=f"{look.how}{why}")
        elif look.part == "release":
            again = repeats(secret, name, _together(source, read[secret], read[name])) if secret in read else ""
            if again:
                look = look.without(again)
            elif look.hint == "secret":  # what tells the secret by itself is seldom to be told
                look = look.without(LOOKS_SECRET)
            elif together * look.values > MOST_TOGETHER:
                look = look.without(TOO_MANY)
            elif not crowds.has_room_for(name):
                look = look.without(TOO_FINE)
        together *= look.values if look.part == "release" else 1
        found.append(look)
    return tuple(found)


def hint_of(name: str) -> Hint:
    """What the name of a column tells."""
    return next((hint for hint, names in HINTS.items() if names.search(name)), "")


class Crowds:
    """Which people share a combination of the columns that are released, by the first rows of a table."""

    def __init__(self, codes: Mapping[str, Integers], rows: int, secrets: int) -> None:
        self.codes, self.group = codes, np.zeros(rows, dtype=np.int64)
        noise = math.sqrt(2 * max(secrets, 1)) / USUAL_EPSILON  # of a count, summed over the values of the secret
        self.enough = USUAL + SURE * noise

    @classmethod
    def of(cls, source: Source, columns: Sequence[Column], secrets: int) -> Crowds:
        """Of the columns as they are read, none of which is released yet, with so many values of the secret."""
        if not columns:
            return cls({}, 0, secrets)
        first = next(source.batches([column.name for column in columns]))
        codes = {column.name: column.encode(first.column(i)) for i, column in enumerate(columns)}
        return cls(codes, first.num_rows, secrets)

    def has_room_for(self, name: str) -> bool:
        """Whether a column can be released, too, so that a private fit hardly refuses it; if so, it is from now on."""
        both = self.group * (self.codes[name].max() + 1) + self.codes[name]
        _, group, people = np.unique(both, return_inverse=True, return_counts=True)
        if people[people < self.enough].sum() > MOST_ALONE * len(group):
            return False
        self.group = group
        return True


def _together(source: Source, secret: Column, column: Column) -> Vector:
    """counts[s, x] of the rows, as both columns are read."""
    counts = np.zeros((len(secret), len(column)))
    for batch in source.groups([secret.name, column.name]):
        codes = secret.encode(batch.column(0)), column.encode(batch.column(1))
        np.add.at(counts, codes, batch.column(2).to_numpy(zero_copy_only=False))
    return counts


def likely_secret(columns: Sequence[Suggestion]) -> str | None:
    """The column that is most likely the secret, if any looks like one.

    Those named like a secret come before what is to be predicted, and that before traits. Of those alike, it is the
    last one with few values whose name does not go on from that of another (illness_code, illness). If no name tells,
    it is the last column if that has two values.
    """
    there = [column for column in columns if column.part == "release"]
    for hint in HINTS:
        named = [column for column in there if column.hint == hint]
        if named:
            few = [column for column in named if column.values <= FEW_VALUES] or named
            whole = {column.column.lower() for column in few}
            return [one.column for one in few if not _goes_on(one.column.lower(), whole)][-1]
    last = columns[-1] if columns else None
    return last.column if last is not None and last in there and last.values == 2 and len(there) > 1 else None


def _goes_on(name: str, others: Collection[str]) -> bool:
    """Whether a name begins with another one."""
    return any(name != other and name.startswith(other) for other in others)


def _look(source: Source, name: str, rows: int, distinct: int, read: dict[str, Column]) -> Suggestion:
    """What a column looks like by itself; how it is read is put into `read`."""
    try:
        (fitted,) = fit_columns(source, [name], Wishes())
    except InvalidTable as trouble:
        return Suggestion(name, 0, distinct, str(trouble), "leave out", False)
    values, kind = len(fitted.column), fitted.column.kind
    read[name] = fitted.column
    hint = hint_of(name)
    how = fitted.notice
    part: Role = "release"
    if distinct <= 1:
        how, part = "the same in every row", "leave out"
    elif fitted.identifier or (distinct > NEARLY_ALL * rows and rows > FEW_ROWS and kind != "bins"):
        how, part = "differs in nearly every row: does it name people?", "leave out"
    look = Suggestion(name, values, distinct, how, part, True, kind, hint)
    why = _of_rows(source, fitted.column) if part == "release" and distinct > FEW_ROWS else ""
    return look.without(why) if why else look


def _of_rows(source: Source, column: Column) -> str:
    """Why a column weighs rows, or numbers people; nothing if it does not."""
    name, kind = column.name, column.kind
    if kind in ("bins", "integer", "number"):
        numbers, counts = numbers_in(source, name, column.missing, column.written)
        whole = bool((numbers == np.floor(numbers)).all())
        return weighs_rows(name, numbers, counts) or (numbers_people(name, counts) if whole else "")
    return numbers_people(name, _rows_of_each(source, name)) if kind == "text" else ""


def _rows_of_each(source: Source, name: str) -> Integers:
    """How often each entry of a column occurs."""
    batches = (batch.filter(batch.column(0).is_valid()) for batch in source.groups([name]))
    return np.concatenate([batch.column(1).to_numpy(zero_copy_only=False) for batch in batches])
