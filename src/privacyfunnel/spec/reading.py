"""Keys that several commands have: how a table is read and where, and what was released of the same people before."""

from __future__ import annotations

from typing import Annotated, Literal

from privacyfunnel.spec.key import Key, Name, Names, Text

TABLES = "CSV, CSV.GZ, Parquet, JSON lines, SPSS, Stata, SAS, Excel (people.xlsx/SHEET) or ODS."
"""What tables may be."""
Where = Annotated[
    Text | None,
    Key(
        "Only rows that meet a condition on columns other than the secret.",
        "columns", "a condition in SQL", ("age >= 18",),
        shown=True, top=True, label="Only rows where",
    ),
]  # fmt: skip
Delimiter = Annotated[
    Text | None,
    Key("What separates the fields of a CSV (default: found out).", "columns", "one sign", (";",), top=True),
]
Encoding = Annotated[
    Text | None, Key("utf-8 (the default) or latin-1.", "columns", "utf-8 or latin-1", ("latin-1",), top=True)
]
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
