"""Groups of texts: what was asked for, checked, and the column in which each group is one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from privacyfunnel.distribution.column import grouped
from privacyfunnel.errors import InvalidTable
from privacyfunnel.tables.fitting import FittedColumn, Wishes


def with_groups(fitted: FittedColumn, wishes: Wishes) -> FittedColumn:
    """The column with the groups of its texts that were asked for, merged unless that is left open."""
    checked = checked_groups(fitted, wishes.groups.get(fitted.column.name, {}))
    if wishes.open_groups or not checked.groups:
        return checked
    merged, of = grouped(fitted.column, checked.groups)
    own = len(np.unique(of))
    return replace(checked, column=merged, groups={}, notice=f"{checked.notice}; groups make {own} values of them")


def secret_groups(fitted: FittedColumn, wishes: Wishes) -> FittedColumn:
    """The secret with groups of its values, each of which is one value that the promise is about."""
    found = with_groups(fitted, replace(wishes, open_groups=False))
    if found.column.groups == fitted.column.groups:
        return found
    words = "; the promise is about groups: which value of a group somebody has is not protected"
    return replace(found, notice=found.notice + words)


def checked_groups(fitted: FittedColumn, asked: object) -> FittedColumn:
    """The column with groups of its texts that may be merged, unless they make no sense.

    Texts of groups that are none of its values are pointed out: they may come later, or be misspelt.
    """
    column = fitted.column
    groups = _listed(column.name, asked)
    if groups and column.kind != "text":
        raise InvalidTable(f"column {column.name!r} is not one of texts, so it has no groups; cut numbers with bins")
    try:
        grouped(column, groups)
    except ValueError:
        raise InvalidTable(
            f"the groups of column {column.name!r} contradict each other or its values: each value can be in one "
            "group, and a group needs a name that no value has and that does not mean missing"
        ) from None
    known = {*column.labels, *(text for group in column.groups for text in group.values)}
    absent = sorted({text for texts in groups.values() for text in texts} - known)
    notice = f"; groups name {', '.join(map(repr, absent))}, which it does not have" if absent else ""
    return replace(fitted, groups=groups, notice=fitted.notice + notice)


def _listed(column: str, asked: object) -> dict[str, tuple[str, ...]]:
    """The texts of every group; a single text in the place of a list would be taken letter by letter."""
    if not isinstance(asked, Mapping) or not all(isinstance(label, str) for label in asked):
        raise InvalidTable(f"groups of column {column!r} are given by their names, {{'north': ['Ashford', 'Birch']}}")
    groups: dict[str, tuple[str, ...]] = {}
    for label, texts in asked.items():
        listed = tuple(texts) if isinstance(texts, Iterable) and not isinstance(texts, str | bytes | Mapping) else ()
        if not listed or not all(isinstance(text, str) for text in listed):
            raise InvalidTable(f"group {label!r} of column {column!r} needs a list of texts, ['Ashford', 'Birch']")
        groups[label] = tuple(map(str, listed))
    if any("\ud800" <= letter <= "\udfff" for label in groups for text in (label, *groups[label]) for letter in text):
        raise InvalidTable(f"groups of column {column!r} hold letters that no text has; type them in UTF-8")
    return groups
