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
from typing import Literal, NoReturn

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
class Part:
    """A test of one column, or parts that are joined."""

    sql: str
    joined: Literal["test", "and", "or", "not"]
    parts: tuple[Part, ...] = ()
    column: str = ""
    """Of a test."""
    values: tuple[float | str, ...] = ()
    """What the column is compared with."""


@dataclass(frozen=True)
class Condition:
    """A condition on rows, for DuckDB, in which the columns are called c0, c1, …"""

    whole: Part
    columns: frozenset[str]
    """The columns that it is about."""

    @property
    def sql(self) -> str:
        """For DuckDB."""
        return self.whole.sql


def condition(text: str, columns: Sequence[str], called: str = "--where") -> Condition:
    """Read a condition on rows of a table with these columns.

    >>> condition("age >= 18 and town = 'Ashford'", ["town", "age"]).sql
    "(TRY_CAST(c1 AS DOUBLE) >= 18.0 AND CAST(c0 AS VARCHAR) = 'Ashford')"
    """
    if len(text) > LONGEST:
        raise InvalidInput(
            f"{called} has more than {LONGEST:,} letters; make a column of it, or filter the table before"
        )
    reader = _Reader(_tokens(text, called), tuple(columns), called)
    whole = reader.either(0)
    if reader.at < len(reader.tokens) - 1:
        reader.refuse("and, or, or its end")
    return Condition(whole, frozenset(reader.used))


def names_in(text: str) -> tuple[str, ...]:
    """What stands in a condition as names of columns."""
    tokens = _tokens(text, "the condition")
    found = [
        one.text for one in tokens if one.kind == "quoted" or (one.kind == "word" and one.text.lower() not in KEYWORDS)
    ]
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    place: int


def _tokens(text: str, called: str) -> list[_Token]:
    found, at = [], 0
    while text[at:].strip():
        match = TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            _refuse(called, at + len(text[at:]) - len(text[at:].lstrip()), "a column, a number or a 'text'")
        found.append(_Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
        at = match.end()
    return [*found, _Token("end", "", len(text))]


def _refuse(called: str, place: int, expected: str) -> NoReturn:
    raise InvalidInput(
        f"{called} cannot be read at letter {place + 1}, where {expected} should be; "
        "it takes conditions such as \"age >= 18 and town = 'Ashford'\""
    )


@dataclass
class _Reader:
    tokens: list[_Token]
    columns: tuple[str, ...]
    called: str
    at: int = 0
    used: set[str] = field(default_factory=set)

    def refuse(self, expected: str) -> NoReturn:
        _refuse(self.called, self.tokens[self.at].place, expected)

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

    def either(self, depth: int) -> Part:
        parts = [self.all(depth)]
        while self.took("or"):
            parts.append(self.all(depth))
        return _joined("or", parts)

    def all(self, depth: int) -> Part:
        parts = [self.one(depth)]
        while self.took("and"):
            parts.append(self.one(depth))
        return _joined("and", parts)

    def one(self, depth: int) -> Part:
        if depth > DEEPEST:
            raise InvalidInput(f"{self.called} has more than {DEEPEST} brackets within each other; write it simpler")
        if self.took("not"):
            inner = self.one(depth + 1)
            return Part(f"(NOT {inner.sql})", "not", (inner,))
        if self.took("("):
            inner = self.either(depth + 1)
            self.need(")")
            return inner
        name, begun = self.column(), self.at
        sql = self.test(f"c{self.columns.index(name)}")
        values = [self.value_of(token) for token in self.tokens[begun : self.at] if token.kind in ("number", "text")]
        return Part(sql, "test", (), name, tuple(values))

    def test(self, column: str) -> str:
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
        token = self.tokens[self.at]
        if token.kind == "number":
            number = self.value_of(token)
            if not math.isfinite(float(number)):
                self.refuse("a smaller number")
            self.at += 1
            return f"TRY_CAST({column} AS DOUBLE) {sign} {number!r}"
        return f"CAST({column} AS VARCHAR) {sign} {literal(self.text())}"

    def value_of(self, token: _Token) -> float | str:
        return float(token.text) if token.kind == "number" else token.text.replace("''", "'")

    def text(self) -> str:
        token = self.tokens[self.at]
        if token.kind != "text":
            self.refuse("a number or a 'text' in single quotes")
        self.at += 1
        return str(self.value_of(token))

    def column(self) -> str:
        token = self.tokens[self.at]
        is_name = token.kind == "quoted" or (token.kind == "word" and token.text.lower() not in KEYWORDS)
        if not is_name:
            self.refuse("a column")
        if token.text not in self.columns:
            raise InvalidInput(
                f"{self.called} is about a column at letter {token.place + 1} that the table does not have; texts "
                "stand in 'single quotes', and names with spaces or signs in \"double quotes\""
            )
        self.at += 1
        self.used.add(token.text)
        return token.text


def _joined(how: Literal["and", "or"], parts: list[Part]) -> Part:
    return (
        parts[0] if len(parts) == 1 else Part(f"({f' {how.upper()} '.join(p.sql for p in parts)})", how, tuple(parts))
    )
