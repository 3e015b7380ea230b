"""Keys that several commands have: how a table is read and where, and what was released of the same people before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import AfterValidator

from privacyfunnel.errors import InvalidInput
from privacyfunnel.spec.key import Key, Name, Names, Text

TABLES = "CSV, CSV.GZ, Parquet, JSON lines, SPSS, Stata, SAS, Excel (people.xlsx/SHEET) or ODS."
"""What tables may be."""


def _delimiter(text: str) -> str:
    from privacyfunnel.tables.csv_files import checked_delimiter  # --help need not wait for what reads tables

    return _taken(checked_delimiter, text)


def _encoding(text: str) -> str:
    from privacyfunnel.tables.csv_files import known_encoding

    return _taken(known_encoding, text)


def _taken(check: Callable[[str], object], text: str) -> str:
    """The text as it was said; refused with the words of its key."""
    try:
        check(text)
    except InvalidInput:
        raise ValueError from None
    return text


Where = Annotated[
    Text | None,
    Key(
        "Only rows that meet a condition on columns other than the secret.",
        "columns", "a condition in SQL", ("age >= 18",),
        shown=True, top=True, label="Only rows where",
    ),
]  # fmt: skip
Delimiter = Annotated[
    Annotated[Text, AfterValidator(_delimiter)] | None,
    Key(
        "What separates the fields of a CSV (default: found out).",
        "columns", r"one sign of ASCII that is no quote, or \t", (";",), shown=True, top=True, label="Delimiter",
    ),
]  # fmt: skip
Encoding = Annotated[
    Annotated[Text, AfterValidator(_encoding)] | None,
    Key(
        "utf-8 (the default) or latin-1.",
        "columns", "utf-8 or latin-1", ("latin-1",), shown=True, top=True, label="Encoding",
    ),
]  # fmt: skip
Engine = Annotated[
    Literal["duckdb", "spark"] | None,
    Key(
        "What does the work: duckdb, on this machine, or spark, on a cluster.",
        "advanced", "duckdb or spark", ("spark",),
    ),
]  # fmt: skip
Master = Annotated[
    Text | None,
    Key(
        "For spark: where (default: local[*]).",
        "advanced", "the address of a Spark master", ("spark://host:7077",),
    ),
]  # fmt: skip
Released = Annotated[
    Names | None,
    Key(
        "For a follow-up: what was released before, with the column of person; all of it, the first first.",
        "advanced", "paths of tables", (("kept.parquet",),), path=True,
    ),
]  # fmt: skip
Person = Annotated[
    Name | None,
    Key(
        "The column that says whose rows they are: for a follow-up, and to release the same people again.",
        "advanced", "the name of a column", ("id",),
    ),
]  # fmt: skip
Was = Annotated[
    Names | None,
    Key(
        "For people who changed: the table of then, whose values were released; of several, the first first.",
        "advanced", "paths of tables", (("last-year.csv",),), path=True,
    ),
]  # fmt: skip
