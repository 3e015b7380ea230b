"""Where: which rows of a table are meant, as a condition on its columns that stewards type.

It is read here and written anew for DuckDB, from comparisons of columns with numbers and texts alone. So nothing but
columns, and nothing but this table, can be reached by it.

    condition  = part {"or" part};  part = one {"and" one};  one = "not" one | "(" condition ")" | test
    test       = column ("=" | "!=" | "<" | "<=" | ">" | ">=" | "like") value
               | column ["not"] "in" "(" value {"," value} ")" | column ["not"] "between" value "and" value
               | column "is" ["not"] "missing"
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from privacyfunnel.errors import InvalidInput
from privacyfunnel.tables.database import literal

LONGEST = 10_000
"""Letters; more were not typed."""
DEEPEST = 100
"""Brackets within brackets, and conditions that are turned round."""
TOKEN = re.compile(
    r"""\s*(?:(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)(?![\w.])|'(?P<text>(?:[^']|'')*)'"""
    r"""|"(?P<quoted>[^"]+)"|(?P<word>[^\W\d]\w*)|(?P<sign><=|>=|<>|!=|==|[=<>(),]))"""
)
COMPARED = {"=": "=", "==": "=", "!=": "<>", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
KEYWORDS = {"and", "or", "not", "in", "between", "is", "missing", "null", "like"}


@dataclass(frozen=True)
class Condition:
    """A condition on rows, for DuckDB, in which the columns are called c0, c1, …"""

    sql: str
    columns: frozenset[str]
    """The columns that it is about."""


def condition(text: str, columns: Sequence[str]) -> Condition:
    """Read a condition on rows of a table with these columns.

    >>> condition("age >= 18 and town = 'Ashford'", ["town", "age"]).sql
    "(TRY_CAST(c1 AS DOUBLE) >= 18.0 AND CAST(c0 AS VARCHAR) = 'Ashford')"
    """
    if len(text) > LONGEST:
        raise InvalidInput(
            f"--where has more than {LONGEST:,} letters; make a column of it, or filter the table before"
        )
    reader = _Reader(_tokens(text), tuple(columns))
    sql = reader.either(0)
    if reader.at < len(reader.tokens) - 1:
        reader.refuse("and, or, or its end")
    return Condition(sql, frozenset(reader.used))


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    place: int


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    while text[at:].strip():
        match = TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            _refuse(at + len(text[at:]) - len(text[at:].lstrip()), "a column, a number or a 'text'")
        found.append(_Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
        at = match.end()
    return [*found, _Token("end", "", len(text))]


def _refuse(place: int, expected: str) -> NoReturn:
    raise InvalidInput(
        f"--where cannot be read at letter {place + 1}, where {expected} should be; "
        "it takes conditions such as \"age >= 18 and town = 'Ashford'\""
    )


@dataclass
class _Reader:
    tokens: list[_Token]
    columns: tuple[str, ...]
    at: int = 0
    used: set[str] = field(default_factory=set)

    def refuse(self, expected: str) -> NoReturn:
        _refuse(self.tokens[self.at].place, expected)

    def took(self, *words: str) -> str | None:
        """The word or sign that comes next, if it is one of these; then it is behind us."""
        token = self.tokens[self.at]
        if token.kind not in ("word", "sign") or token.text.lower() not in words:
            return None
        self.at += 1
        return token.text.lower()

    def need(self, word: str) -> None:
        if self.took(word) is None:
            self.refuse(word)

    def either(self, depth: int) -> str:
        parts = [self.all(depth)]
        while self.took("or"):
            parts.append(self.all(depth))
        return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"

    def all(self, depth: int) -> str:
        parts = [self.one(depth)]
        while self.took("and"):
            parts.append(self.one(depth))
        return parts[0] if len(parts) == 1 else f"({' AND '.join(parts)})"

    def one(self, depth: int) -> str:
        if depth > DEEPEST:
            raise InvalidInput(f"--where has more than {DEEPEST} brackets within each other; write it simpler")
        if self.took("not"):
            return f"(NOT {self.one(depth + 1)})"
        if self.took("("):
            inner = self.either(depth + 1)
            self.need(")")
            return inner
        return self.test()

    def test(self) -> str:
        column = self.column()
        if self.took("is"):
            turned = "NOT " if self.took("not") else ""
            if self.took("missing", "null") is None:
                self.refuse("missing")
            return f"({turned}({column} IS NULL OR CAST({column} AS VARCHAR) = ''))"
        turned = "NOT " if self.took("not") else ""
        if self.took("in"):
            return f"({turned}({self.one_of(column)}))"
        if self.took("between"):
            low = self.compared(column, ">=")
            self.need("and")
            return f"({turned}({low} AND {self.compared(column, '<=')}))"
        if turned:
            self.refuse("in or between")
        if self.took("like"):
            return f"CAST({column} AS VARCHAR) LIKE {literal(self.text())}"
        sign = self.took(*COMPARED)
        if sign is None:
            self.refuse("a sign such as =, < or >=, or in, between, like, is missing")
        return self.compared(column, COMPARED[sign])

    def one_of(self, column: str) -> str:
        self.need("(")
        tests = [self.compared(column, "=")]
        while self.took(","):
            tests.append(self.compared(column, "="))
        self.need(")")
        return " OR ".join(tests)

    def compared(self, column: str, sign: str) -> str:
        """The column against the value that comes next: as numbers if that is one, else as texts."""
        if self.tokens[self.at].kind == "number":
            number = float(self.tokens[self.at].text)
            if not math.isfinite(number):
                self.refuse("a smaller number")
            self.at += 1
            return f"TRY_CAST({column} AS DOUBLE) {sign} {number!r}"
        return f"CAST({column} AS VARCHAR) {sign} {literal(self.text())}"

    def text(self) -> str:
        token = self.tokens[self.at]
        if token.kind != "text":
            self.refuse("a number or a 'text' in single quotes")
        self.at += 1
        return token.text.replace("''", "'")

    def column(self) -> str:
        token = self.tokens[self.at]
        is_name = token.kind == "quoted" or (token.kind == "word" and token.text.lower() not in KEYWORDS)
        if not is_name:
            self.refuse("a column")
        if token.text not in self.columns:
            raise InvalidInput(
                f"--where is about a column at letter {token.place + 1} that the table does not have; texts stand in "
                "'single quotes', and names with spaces or signs in \"double quotes\""
            )
        self.at += 1
        self.used.add(token.text)
        return f"c{self.columns.index(token.text)}"
