"""What is for the steward alone, on a terminal: each line and each table says so."""

from __future__ import annotations

from rich.table import Table

MARK = "For you alone: "


def marked(text: str) -> str:
    """A line with the mark.

    >>> marked("Three people changed."), marked("For you alone: three people changed.")
    ('For you alone: three people changed.', 'For you alone: three people changed.')
    """
    if text.startswith(MARK):
        return text
    word = text.split(" ", 1)[0]
    return f"{MARK}{text[0].lower() if word[1:].islower() else text[0]}{text[1:]}"


def marked_table(table: Table) -> Table:
    """A table with the mark in its title."""
    table.title = f"{MARK}{table.title}"
    return table
