"""What people type about columns: bins and numbers of values; and names as people mix them up."""

from __future__ import annotations

from privacyfunnel.errors import InvalidTable
from privacyfunnel.tables.cutting import Bins


def read_bins(text: str) -> Bins:
    """Edges, a number of bins, or a word.

    >>> read_bins("6"), read_bins("0, 18, 65"), read_bins("width:5")
    (6, [0.0, 18.0, 65.0], 'width:5')
    """
    if is_whole(text):
        return int(text)
    if "," not in text:
        return text
    try:
        return [float(edge) for edge in text.split(",")]
    except ValueError:
        raise InvalidTable(f"the bin edges {text!r} are not numbers") from None


def whole_number(text: str, what: str) -> int:
    """A positive whole number; `what` takes it."""
    if not is_whole(text) or int(text) < 1:
        raise InvalidTable(f"{what} takes a positive whole number; got {text!r}")
    return int(text)


def alike(name: str) -> str:
    """A name as people mix them up: without regard to capitals, spaces and signs."""
    return "".join(filter(str.isalnum, name.casefold())) or name


def is_whole(text: str) -> bool:
    """Whether a text is a whole number, written in digits alone."""
    return text.isascii() and text.isdigit()
