"""Domain: which values columns may have, declared by the steward in public instead of being taken from the people.

A domain file is JSON that people read and edit, so every mistake in it is one line: which column, what, what next.
Values are named by their number, never quoted: a template has them from a table.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from privacyfunnel.distribution import raw
from privacyfunnel.distribution.column import (
    LARGEST_PLAIN,
    LONGEST_NAME,
    MOST_LABELS,
    MOST_MARKERS,
    OPEN,
    OTHER,
    Column,
    Label,
    bin_labels,
    is_of,
)
from privacyfunnel.distribution.raw import Kind
from privacyfunnel.errors import InvalidDomain
from privacyfunnel.protocols.json_file import LONGEST_TEXT, MOST_BYTES, MOST_COLUMNS, SHOWN
from privacyfunnel.tables.cutting import MOST_DECIMALS, decimals_of
from privacyfunnel.tables.mistakes import parsed, words_for

SCHEMA: Literal["privacyfunnel-domain/1"] = "privacyfunnel-domain/1"
MOST_LINES = 1_000
"""Of comments at the top: more are no comments."""
ADDED_LABELS = 2
"""What a domain adds to the values that it lists: "other" and missing."""
LINE_LETTERS = 100
"""A list that is longer stands in the file with one entry a line: easily read, edited and compared."""
A_VALUE = {
    "text": "a text, in quotes",
    "integer": "a whole number of 64 bits, without quotes",
    "number": "a number, without quotes (whole ones below 2^53)",
    "boolean": "true or false, without quotes",
    "year": 'a year like "2024", in quotes',
    "month": 'a month like "2024-05", in quotes',
    "day": 'a day like "2024-05-31", in quotes',
}
"""What a value of each kind looks like in the file."""

STRICT = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


class DeclaredColumn(BaseModel):
    """One column: which values it may have, and what becomes of all others."""

    model_config = STRICT

    name: str = Field(min_length=1, max_length=LONGEST_NAME)
    """The name of the column in the table."""
    kind: Kind
    """What its entries are. Ranges of numbers are bins; year, month and day say how precisely dates are kept."""
    values: tuple[str | int | float | bool, ...] = Field(default=(), max_length=MOST_LABELS - ADDED_LABELS)
    """All values that it may have, in order; for every kind but bins."""
    edges: tuple[float | None, ...] = Field(default=(), max_length=MOST_LABELS)
    """For bins only: their increasing borders, where a bin holds its lower one and the last bin both. Null as the first
    or last leaves that end open."""
    decimals: int | None = Field(default=None, ge=0, le=MOST_DECIMALS)
    """For bins only: how many digits its numbers have behind the point, where numbers are drawn inside of bins. Without
    it, as many as its borders have."""
    outside: Literal["refuse", "other"] = "refuse"
    """What becomes of all other values: the table is refused, or they count as "other". Not for bins, whose outer
    borders can be left open instead, nor for booleans."""
    missing: bool = False
    """Whether an entry may be missing, which then is a value of its own."""
    missing_texts: tuple[str, ...] = Field(default=(), max_length=MOST_MARKERS)
    """Texts that mean missing, beside empty ones."""
    written: raw.Written = ""
    """How numbers and dates are written in the table, if not like 1234.5 and 2024-12-31: "comma" (1.234,5), "point"
    (1,234.5), "dmy" (31.12.2024), "mdy" (12/31/2024), "ymd" (2024/12/31), or "hours" (8:30, which is 8.5)."""
    comment: str = Field(default="", max_length=LONGEST_TEXT)
    """For people; it means nothing."""

    @model_validator(mode="after")
    def _sound(self) -> DeclaredColumn:
        mistake = next(self._mistakes(), None)
        if mistake is not None:
            raise ValueError(mistake)
        return self

    def column(self) -> Column:
        """How the column of a table becomes exactly the declared values, whatever occurs in it."""
        edges = self._ends()
        labels: list[Label] = [*bin_labels(edges), *self.values]
        if self.outside == "other":
            labels.append(OTHER)
        if self.missing:
            labels.append(None)
        return Column(
            name=self.name,
            kind=self.kind,
            edges=edges,
            missing=self.missing_texts,
            written=self.written,
            labels=tuple(labels),
            other=self.outside == "other",
        )

    def _ends(self) -> tuple[float, ...]:
        """The edges, with ±OPEN for an open end."""
        return tuple((OPEN if i else -OPEN) if edge is None else edge for i, edge in enumerate(self.edges))

    def _mistakes(self) -> Iterator[str]:
        """What contradicts itself, in words that follow the name of the column."""
        if not self.name.strip():
            yield '"name" is empty; write the name that the column has in the table'
        if self.kind == "bins":
            yield from self._mistakes_in_bins()
        else:
            yield from self._mistakes_in_values()

    def _mistakes_in_bins(self) -> Iterator[str]:
        if self.values:
            yield 'bins have "edges" and no "values"; delete the values, or choose another kind'
        if self.outside == "other":
            yield 'bins have no "other"; leave the outer borders open instead: null as first and last edge'
        if len(self.edges) < 2:
            yield 'bins need at least two "edges", such as [null, 18, 65, null]'
        if None in self.edges[1:-1]:
            yield f"edge {self.edges.index(None, 1) + 1} is null; only the first and the last may be open"
        for i, edge in enumerate(self.edges, 1):
            if edge is not None and not abs(edge) < OPEN:
                yield f"edge {i} is too far out; write null as the first or last edge to leave that end open"
        for i, (low, high) in enumerate(pairwise(self._ends()), 1):
            if not low < high:
                yield f"the edges do not increase: number {i + 1} is not above number {i}; put them in order"

    def _mistakes_in_values(self) -> Iterator[str]:
        if self.edges:
            yield f'only bins have "edges", and this is {self.kind}; delete them, or make its kind "bins"'
        if self.decimals is not None:
            yield f'only bins have "decimals", and this is {self.kind}; delete them'
        if not self.values and not self.missing:
            yield 'no values are declared; list them in "values"'
        if self.outside == "other" and self.kind == "boolean":
            yield 'what is true or false has no "other"; say "outside": "refuse"'
        for i, value in enumerate(self.values, 1):
            if value == "":
                yield f'value {i} is empty, which means missing; delete it, and say "missing": true'
            if not _is_value(self.kind, value):
                yield f"value {i} is not {A_VALUE[self.kind]}"
        twice = _same(self.values)
        if twice:
            yield f"values {twice[0]} and {twice[1]} are the same; delete one of them"
        if self.outside == "other" and OTHER in self.values:
            yield f'value {self.values.index(OTHER) + 1} is "other", which stands for all that is outside; delete it'
        gone = [i for i, value in enumerate(self.values, 1) if value in self.missing_texts]
        if gone and self.kind == "text":
            yield f'value {gone[0]} is among the "missing_texts", too; delete it in one of the two'


class Domain(BaseModel):
    """The columns of a table and the values they may have, decided without looking at the people in it."""

    model_config = STRICT

    schema_: Literal["privacyfunnel-domain/1"] = Field(alias="schema")
    """Which kind of file this is."""
    about: tuple[str, ...] = Field(default=(), max_length=MOST_LINES)
    """Lines for people; they mean nothing."""
    columns: tuple[DeclaredColumn, ...] = Field(min_length=1, max_length=MOST_COLUMNS)
    """Every column that is a secret or an attribute; others may be declared, too."""

    @model_validator(mode="after")
    def _different(self) -> Domain:
        if twice := _same(self.names):
            first, second = twice
            name = self.names[first - 1][:SHOWN]
            raise ValueError(f"column {name!r} is declared twice (numbers {first} and {second}); delete one of them")
        return self

    @classmethod
    def load(cls, path: str | Path) -> Domain:
        """The domain in a file; any mistake in it is refused in one line that says where it is."""
        path = Path(path)
        try:
            if path.stat().st_size > MOST_BYTES:
                raise InvalidDomain(f"{path} is larger than {MOST_BYTES // 2**20} MiB, so it is no domain")
            text = path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            raise InvalidDomain(f"there is no file {path}") from None
        except OSError as trouble:
            raise InvalidDomain(f"{path} cannot be read: {trouble.strerror}") from None
        except UnicodeDecodeError:
            raise InvalidDomain(f"{path} is not text in UTF-8; save it as that") from None
        return cls.from_text(text, str(path))

    @classmethod
    def from_text(cls, text: str, name: str = "the domain") -> Domain:
        """The domain in the text of a file, which messages call `name`."""
        content = parsed(text, name, SCHEMA)
        try:
            return cls.model_validate_json(text)
        except ValidationError as invalid:
            fields = {"": tuple(_aliases(cls)), "columns": tuple(DeclaredColumn.model_fields)}
            raise InvalidDomain(f"{name}: {words_for(invalid, content, fields)}") from None

    def to_text(self) -> str:
        """The text of the file: a field a line, and so are the entries of long lists."""
        columns = ",\n".join(f"    {_object(_fields(column), 4)}" for column in self.columns)
        head = f'  "schema": {json.dumps(self.schema_)},\n  "about": {_list(self.about, 2)},\n'
        return f'{{\n{head}  "columns": [\n{columns}\n  ]\n}}\n'

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the declared columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def _by_name(self) -> dict[str, DeclaredColumn]:
        return {column.name: column for column in self.columns}

    def require(self, names: Iterable[str]) -> None:
        """Refuse columns that are not declared."""
        lacking = list(dict.fromkeys(name for name in names if name not in self._by_name))
        if lacking:
            raise InvalidDomain(
                f"the domain does not declare {', '.join(map(repr, lacking))}; declare that "
                "(funnel domain writes a template), or leave it out"
            )

    def column(self, name: str) -> Column:
        """How the column of this name becomes the values that are declared for it."""
        self.require([name])
        return self._by_name[name].column()

    def decimals(self, name: str) -> int:
        """How many digits the numbers of a column of bins have behind the point: as is declared, or as its borders."""
        own = self._by_name[name]
        borders = np.array([edge for edge in own.edges if edge is not None])
        return decimals_of(borders) if own.decimals is None else own.decimals


def opened(domain: Domain | str | Path | None) -> Domain | None:
    """A domain that is given itself, or by the path of its file."""
    if domain is None or isinstance(domain, Domain):
        return domain
    if not isinstance(domain, str | Path):
        raise InvalidDomain(f"a domain is a Domain or the path of its file, not {type(domain).__name__}")
    return Domain.load(domain)


def model_columns(
    domain: Domain | str | Path | Mapping[str, Sequence[Label]], secret: str
) -> tuple[tuple[Column, ...], tuple[Label, ...] | None]:
    """The columns of a model's domain, and the values of the secret if the domain declares them."""
    if isinstance(domain, Mapping):
        if not domain:
            raise InvalidDomain("the domain has no columns")
        return tuple(_listed(name, values) for name, values in domain.items()), None
    declared = opened(domain)
    if declared is None:
        raise InvalidDomain("a model needs a domain: the names of its columns, each with its values")
    columns = tuple(declared.column(name) for name in declared.names if name != secret)
    return columns, declared.column(secret).labels if secret in declared.names else None


def _listed(name: str, values: Sequence[Label]) -> Column:
    """A column with these values, in this order."""
    listed = list(values)
    kinds: dict[type, Kind] = {bool: "boolean", int: "integer", float: "number"}
    types = {type(value) for value in listed if value is not None}
    kind = kinds.get(next(iter(types)), "text") if len(types) == 1 else "text"
    try:
        return Column(name=name, kind=kind, labels=tuple(listed))
    except ValidationError:
        raise InvalidDomain(
            f"the values of column {name!r} are not different texts, or different numbers of one kind"
        ) from None


def _aliases(model: type[BaseModel]) -> Iterator[str]:
    """The fields of a model as a file calls them."""
    for name, field in model.model_fields.items():
        yield field.alias or name


def _is_value(kind: Kind, value: Label) -> bool:
    """Whether a value of a file is of its column's kind, and can occur in a table."""
    if not is_of(kind, value) or (isinstance(value, float) and not math.isfinite(value)):
        return False
    if kind not in raw.LETTERS or not isinstance(value, str):
        return True
    whole = value + "0000-01-01"[len(value) :]
    return len(value) == raw.LETTERS[kind] and re.fullmatch(raw.DATE, whole, re.ASCII) is not None


def _same(entries: Sequence[Label]) -> tuple[int, int] | None:
    """The numbers of two entries that are the same, from 1; none if all differ."""
    seen: dict[Label, int] = {}
    for i, entry in enumerate(entries, 1):
        if entry in seen:
            return seen[entry], i
        seen[entry] = i
    return None


def _fields(column: DeclaredColumn) -> dict[str, Any]:
    """What is written of a column: what people may want to change, and no list that its kind does not have."""
    content = column.model_dump()
    content["edges"] = tuple(map(_short, column.edges))
    del content["values" if column.kind == "bins" else "edges"]
    if column.decimals is None:
        del content["decimals"]
    if not column.comment:
        del content["comment"]
    return content


def _short(edge: float | None) -> float | None:
    return int(edge) if edge is not None and abs(edge) < LARGEST_PLAIN and edge == int(edge) else edge


def _object(content: dict[str, Any], indent: int) -> str:
    pad = " " * (indent + 2)
    lines = [
        f"{pad}{json.dumps(key)}: {_list(value, indent + 2) if isinstance(value, tuple) else _json(value)}"
        for key, value in content.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n" + " " * indent + "}"


def _list(entries: Sequence[Any], indent: int) -> str:
    if len(inline := _json(entries)) <= LINE_LETTERS:
        return inline
    pad = " " * (indent + 2)
    return "[\n" + ",\n".join(pad + _json(entry) for entry in entries) + "\n" + " " * indent + "]"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
