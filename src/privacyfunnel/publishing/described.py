"""Described: all that the files of a published folder say, put together once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from privacyfunnel.distribution.column import Column, Label
from privacyfunnel.distribution.similarity import ORDERED_KINDS
from privacyfunnel.protocols.fill import Inside
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.step import Kind
from privacyfunnel.publishing.details import Details
from privacyfunnel.report.account import Account
from privacyfunnel.report.counting import how_to_count
from privacyfunnel.report.encoders import encoder_of
from privacyfunnel.tables.published_folder import PACKAGE, sha256_of
from privacyfunnel.tables.release_note import VARIANT, mind_of

Type = Literal["string", "integer", "number", "boolean"]
TABLE, PARQUET, PROTOCOL, REPORT = "table.csv", "table.parquet", "protocol.json", "report.html"
"""The files that everything else is about."""
R_FILE = "privacyfunnel.R"
"""What R users source."""
CHECK = "check.py"
"""With which anybody proves the promise."""
CROISSANT, CATALOGUE, PAGE, CITE = (
    "croissant.json",
    "dcat.jsonld",
    "README.md",
    "CITATION.cff",
)
"""The files that describe."""
OWN = frozenset({TABLE, PARQUET, PROTOCOL, REPORT, R_FILE, CHECK, PACKAGE, CROISSANT, CATALOGUE, PAGE, CITE})
"""All that a published folder holds."""
MEDIA = {
    TABLE: "text/csv",
    PARQUET: "application/vnd.apache.parquet",
    PROTOCOL: "application/json",
    REPORT: "text/html",
}
WHAT = {
    TABLE: "The released table as CSV: UTF-8, commas, missing values are empty.",
    PARQUET: "The same rows as Parquet.",
    PROTOCOL: "The protocol: how rows were drawn, with noisy counts by which anybody can check the promise.",
    REPORT: "What is promised, how it is proven, and what is not promised.",
}
"""What each of them is."""


WORKED_BACK: dict[Kind, str] = {
    "channel": "{listed}",
    "by_history": (
        "Who has the earlier tables, too, with a column that says which rows are one person's, estimates from all of "
        "them: funnel estimate --released."
    ),
    "by_model": (
        "Rows that a model redraws lean towards it, and the file tells how far for the fitted rows only: shares of "
        "other rows are not told."
    ),
}
"""What readers learn from rows that are not counted."""


FILLED = "filled: drawn from a private model, given the released values of the row; no fact about its person"
"""What a published folder says of a filled column."""


@dataclass(frozen=True)
class Field:
    """One column of the released table."""

    name: str
    type: Type
    values: tuple[Label, ...]
    """All that can stand in it, missing aside."""
    missing: bool
    ordered: bool
    words: str


@dataclass(frozen=True)
class File:
    """One file: how long it is, and its digest."""

    name: str
    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> File:
        """Of a file that is there."""
        return cls(path.name, path.stat().st_size, sha256_of(path))


@dataclass(frozen=True, eq=False)
class Described:
    """A released table, its protocol, and what its owner says of it."""

    details: Details
    protocol: Protocol
    account: Account
    rows: int
    fields: tuple[Field, ...]
    files: tuple[File, ...]
    version: str
    """Of this package."""
    fitted: bool
    """Whether these are the rows that the protocol was fitted on: by its owner's word, or as far as their number and
    their counts tell."""
    told: tuple[str, ...]
    """The columns of which all shares can be worked back, if rows are not counted."""

    @property
    def description(self) -> str:
        """In the owner's words, or which columns of how many people."""
        columns = ", ".join(self.protocol.table_columns)
        own = f"{self.rows:,} rows with {columns}. The column {self.protocol.secret} is not released."
        return self.details.description or own

    @property
    def promise(self) -> str:
        """What is promised about a row, and about everything published."""
        told = self.account.everything
        whom = f" {told.whom()} {told.words()}" if told is not None else ""
        return f"{self.protocol.notion.words()}{whom}"

    @property
    def processing(self) -> str:
        """What was done to the data."""
        return (
            f"Every row was drawn at random from the original row, by the protocol in {PROTOCOL} (privacyfunnel "
            f"{self.version}), so that it tells little about {self.protocol.secret}. Rows are shuffled. "
            + "; ".join(f"{field.name}: {field.words}" for field in self.fields)
            + "."
        )

    @property
    def counting(self) -> str:
        """Whether rows can be counted as they stand."""
        if self.protocol.objective == "faithful" and not self.fitted:
            these = f"{self.rows:,}" if self.rows != self.protocol.people else "others"
            return (
                f"The protocol was fitted on {self.protocol.people:,} rows, and these are {these}: counts lean "
                f"towards the fitted ones. {self._worked_back}"
            )
        counting = how_to_count(self.account)
        return counting if self.fitted else f"{counting} {self._worked_back}"

    @property
    def _worked_back(self) -> str:
        """Of which columns funnel estimate tells shares."""
        return WORKED_BACK[self.protocol.step.kind].format(listed=self._told)

    @property
    def _told(self) -> str:
        """The same of rows by a listed channel."""
        others = [name for name in self.protocol.attributes if name not in self.told]
        if not others:
            return "funnel estimate works back the shares of every column, with intervals."
        if not self.told:
            return f"The promise is too strict for {self.rows:,} such rows to tell all shares of any column."
        return (
            f"funnel estimate works back the shares of {' and '.join(self.told)}, with intervals; those of "
            f"{' and '.join(others)} cannot be told from these rows, or not all of them."
        )

    @property
    def mind(self) -> tuple[str, ...]:
        """What must not be done."""
        return mind_of(self.protocol.before is not None)

    @property
    def for_r(self) -> bool:
        """Whether the file for R reads the protocol: it does if this lists its channel."""
        return self.protocol.step.listed and self.protocol.fill is None

    @property
    def personal(self) -> str:
        """What there is about people."""
        return (
            f"The promise takes each row for one person. The column {self.protocol.secret} is not released; what a row "
            f"tells about it is limited. The released columns are not protected, and who is in the table is not "
            f"hidden. {self.promise}"
        )


def fields_of(protocol: Protocol) -> Iterator[Field]:
    """The columns of the table that a protocol releases, in its order."""
    fields = {field.name: field for field in _kept_fields(protocol)}
    if protocol.fill is not None:
        fields = {name: replace(field, words=f"kept; {field.words}") for name, field in fields.items()}
        for one in protocol.fill.inside:
            fields[one.name] = _filled_field(one, fields.get(one.name))
    return iter([fields[name] for name in protocol.table_columns])


def _filled_field(one: Inside, kept: Field | None) -> Field:
    """A column that is filled, or a kept one whose numbers are drawn within the range that is kept."""
    words = FILLED if kept is None else f"{kept.words}; written more finely than it is kept, by a value drawn in that"
    if one.column is not None:
        values = tuple(one.column.released_values.to_pylist())
        return Field(one.name, _type(one.column), values, None in one.column.labels, _ordered(one.column), words)
    kinds: dict[str, Type] = {"integer": "integer", "number": "number", "day": "string"}
    return Field(one.name, kinds[one.grid], (), True if kept is None else kept.missing, True, words)


def _kept_fields(protocol: Protocol) -> Iterator[Field]:
    for column in protocol.columns:
        values = tuple(column.released_values.to_pylist())
        words = encoder_of(column).how
        if column.about:
            words = f"{column.about} ({words})"
        yield Field(column.name, _type(column), values, None in column.labels, _ordered(column), words)
    if protocol.variant is not None and protocol.step.variants is not None:
        most = int(protocol.step.variants.max())
        words = VARIANT.format(protocol.variant)
        yield Field(protocol.variant, "integer", tuple(range(most + 1)), False, False, words)


def _ordered(column: Column) -> bool:
    return column.kind in ORDERED_KINDS and not column.other


def _type(column: Column) -> Type:
    kind = column.released_values.type
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return "integer"
    return "number" if pa.types.is_floating(kind) else "string"


def without_nothing(content: dict[str, Any]) -> dict[str, Any]:
    """Without entries that say nothing."""
    return {key: value for key, value in content.items() if value not in (None, [], {}, "")}
