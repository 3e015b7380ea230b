"""Sheet: what a notebook shows of a value, as data: a title, sentences, a table, and marks for its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Mark:
    """A number on the scale of a picture, and how far from it the truth may be."""

    value: float | None
    low: float | None = None
    high: float | None = None
    limit: float | None = None
    """What it is to be compared with, such as a promise or a bound."""


@dataclass(frozen=True)
class Sheet:
    """A title, sentences, a table, and a picture with a mark for every row."""

    title: str
    lines: Sequence[str]
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    marks: Sequence[Mark]


def number(value: float | None, digits: int = 4) -> str:
    """A number in few digits; a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}g}"


def share(value: float | None) -> str:
    """A share in percent."""
    return "–" if value is None else f"{value:.1%}"


def between(low: float | None, high: float | None, percent: bool = False) -> str:
    """An interval."""
    if low is None and high is None:
        return "–"
    words = share if percent else number
    return f"{words(low)} to {words(high)}"


def in_group(group: Mapping[str, object]) -> str:
    """Among whom, in words."""
    return "".join(f", {name} = {value}" for name, value in group.items())
