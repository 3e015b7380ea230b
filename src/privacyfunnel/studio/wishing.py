"""How columns are to be cut, as chosen on the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from privacyfunnel.errors import InvalidTable
from privacyfunnel.tables.cutting import Bins
from privacyfunnel.tables.fitting import Precision, Wishes
from privacyfunnel.tables.typed import read_bins, whole_number

AUTOMATIC, BINS, EACH, TOP = "automatic", "bins", "each", "top"
DATES: tuple[Precision, ...] = get_args(Precision)

Cut = tuple[str, str]
"""How a column is cut, and the number or the borders that were typed for it."""


def wishes_of(cuts: Mapping[str, Cut]) -> Wishes:
    """What is asked for, by column.

    >>> wishes_of({"age": ("bins", "18, 65"), "town": ("top", "5"), "sex": ("automatic", "")}).top
    {'town': 5}
    """
    bins: dict[str, Bins] = {}
    top: dict[str, int] = {}
    dates: dict[str, Precision] = {}
    for column, (way, typed) in cuts.items():
        text = typed.strip()
        if way == BINS and not text:
            raise InvalidTable(f"say into how many ranges column {column!r} is cut, or at which borders")
        if way == BINS:
            bins[column] = read_bins(text)
        elif way == EACH:
            bins[column] = EACH
        elif way == TOP:
            top[column] = whole_number(text, f"the number of values that column {column!r} keeps")
        elif way in DATES:
            dates[column] = next(by for by in DATES if by == way)
        elif way != AUTOMATIC:
            raise InvalidTable(f"choose from the list how column {column!r} is cut")
    return Wishes(bins, top, dates)


def key_of(wishes: Wishes) -> tuple[Any, ...]:
    """What tells wishes apart: counts with the same are the same."""
    asked = (wishes.bins, wishes.top, wishes.dates, wishes.groups, {"missing": wishes.missing})
    return tuple(tuple(sorted((name, str(one)) for name, one in some.items())) for some in asked)
