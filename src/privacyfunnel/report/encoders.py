"""Encoders: how each column was read, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from privacyfunnel.distribution.column import Column, Group


@dataclass(frozen=True)
class Encoder:
    """How a column became finitely many values."""

    column: str
    kind: str
    values: int
    how: str


def encoder_of(column: Column) -> Encoder:
    """What was done to a column, from what the protocol records of it."""
    content = KINDS_IN_WORDS.get(column.kind, column.kind)
    if column.groups:
        content += f"; {len(column.groups)} stand for several: {', '.join(_members(group) for group in column.groups)}"
    if column.other:
        content += "; the rest is “other”"
    if None in column.labels:
        content += "; missing is a value of its own"
    if column.missing:
        content += f"; read as missing: {', '.join(column.missing)}"
    return Encoder(column.name, column.kind, len(column), content)


def _members(group: Group) -> str:
    return f"{group.label} for {' or '.join(group.values)}"


KINDS_IN_WORDS: Mapping[str, str] = {
    "bins": "numbers cut into ranges",
    "text": "texts as they are",
    "integer": "whole numbers as they are",
    "number": "numbers as they are",
    "boolean": "true or false",
    "year": "dates by year",
    "month": "dates by month",
    "day": "dates by day",
}
