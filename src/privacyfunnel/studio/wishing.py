"""How columns are to be cut, as chosen on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from privacyfunnel.errors import InvalidTable
from privacyfunnel.spec.form import texts_of
from privacyfunnel.spec.spec import Spec
from privacyfunnel.studio.others import Page
from privacyfunnel.tables.cutting import Bins
from privacyfunnel.tables.fitting import Precision, Wishes
from privacyfunnel.tables.suggesting import Suggestion
from privacyfunnel.tables.typed import read_bins, whole_number

AUTOMATIC, BINS, EACH, TOP = "automatic", "bins", "each", "top"
DATES: tuple[Precision, ...] = get_args(Precision)

Cut = tuple[str, str]
"""How a column is cut, and the number or the borders that were typed for it."""


def cuts_on(page: Page, columns: Sequence[Suggestion]) -> dict[str, Cut]:
    """How every column is to be cut, as chosen."""
    return {
        column.column: (str(page[f"cut_{i}"]()), str(page[f"cut_at_{i}"]()) if f"cut_at_{i}" in page else "")
        for i, column in enumerate(columns)
        if f"cut_{i}" in page
    }


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


def typed(cuts: Mapping[str, Cut]) -> dict[str, str]:
    """The same as the controls of keys would hold it.

    >>> typed({"age": ("bins", "18, 65"), "town": ("top", "5"), "sex": ("automatic", "")})
    {'bins': 'age=18,65', 'top': 'town=5'}
    """
    wishes = wishes_of(cuts)
    asked = {name: tuple(one) if isinstance(one, list | tuple) else one for name, one in wishes.bins.items()}
    found = {"bins": asked, "top": dict(wishes.top), "dates": dict(wishes.dates)}
    return {name: "\n".join(texts_of(Spec, name, table)) for name, table in found.items() if table}
