"""How names, lists and pairs are written in one line of text; in double quotes stands what would be read otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator

SPECIAL = frozenset(',:="+\n')
"""Signs that a name holds only in double quotes."""
MARK = re.compile(r'"(?:[^"]|"")*"(?=\s*(?:$|[,:=+\n]))|.', re.DOTALL)
"""What stands in double quotes, before the end or a sign that divides; or a single letter."""


def quoted(text: str) -> str:
    """A name as it is written in a list.

    >>> quoted("age"), quoted("Name, first"), quoted('5" pipe')
    ('age', '"Name, first"', '"5"" pipe"')
    """
    if text and text == text.strip() and not SPECIAL & set(text):
        return text
    return f'"{text.replace(chr(34), chr(34) * 2)}"'


def is_quoted(text: str) -> bool:
    """Whether all of a text stands in double quotes."""
    found = text.strip()
    return len(found) > 1 and found[0] == '"' and [*_marks(found)] == [found]


def unquoted(text: str) -> str:
    """A name as it is meant.

    >>> unquoted(' age '), unquoted('"Name, first"'), unquoted('"5"" pipe"')
    ('age', 'Name, first', '5" pipe')
    """
    found = text.strip()
    return found[1:-1].replace('""', '"') if is_quoted(found) else found


def divided(text: str, signs: str) -> list[str]:
    """The parts of a text between some signs, those in double quotes apart.

    >>> divided('a,"b, c",d', ",")
    ['a', '"b, c"', 'd']
    """
    parts = [""]
    for mark in _marks(text):
        if len(mark) == 1 and mark in signs:
            parts.append("")
        else:
            parts[-1] += mark
    return parts


def names(text: str) -> list[str]:
    """A list of names that are joined by commas.

    >>> names('age, "Name, first name",town')
    ['age', 'Name, first name', 'town']
    """
    return [unquoted(part) for part in divided(text, ",") if part.strip()]


def _marks(text: str) -> Iterator[str]:
    """What stands in double quotes, as one, and every other letter; quotes open where a part begins."""
    at, opens = 0, True
    while at < len(text):
        found = MARK.match(text, at) if opens else None
        mark = found[0] if found is not None else text[at]
        yield mark
        at += len(mark)
        opens = (len(mark) == 1 and mark in SPECIAL and mark != '"') or (opens and mark.isspace())
