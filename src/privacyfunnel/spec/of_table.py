"""What can be asked of a table: how it is read, and the roles of its columns."""

from __future__ import annotations

from typing import Annotated, Literal

from privacyfunnel.spec.key import (
    Borders,
    ByValue,
    Key,
    Keyed,
    ListsOfNames,
    Name,
    Names,
    PositiveCount,
    Table,
    Text,
    Values,
    Way,
)
from privacyfunnel.spec.reading import TABLES, Delimiter, Encoding, Where

REST = "rest"
"""All other columns, among those that are to be filled."""


class OfTable(Keyed):
    """What can be asked of a table: how it is read, and the roles of its columns."""

    table: Annotated[
        Name | None,
        Key(
            f"The table: {TABLES}",
            "basics", "the path of a table", ("people.csv",), top=True, argument=True, path=True, label="Table",
            drawn=True,
        ),
    ] = None  # fmt: skip
    secret: Annotated[
        ListsOfNames | None,
        Key(
            "The secret column. Several, joined by commas, are one secret together. Repeated, each is a secret by "
            "itself, with a promise of its own: weaker, and cheaper.",
            "basics", "the name of a column, or several", ((("diagnosis",),), (("income", "sex"),)),
            shown=True, label="The secret", drawn=True,
        ),
    ] = None  # fmt: skip
    columns: Annotated[
        Literal["auto"] | Names | None,
        Key(
            "The columns to release, joined by commas (default: all but the secret and what looks like identifiers); "
            "auto: those of them that can be released together, privately chosen.",
            "columns", "names of columns, or auto", (("age", "sex", "town"), "auto"), shown=True,
            label="Columns to release", drawn=True,
        ),
    ] = None  # fmt: skip
    keep_exact: Annotated[
        Names | None,
        Key(
            "Columns that are released exactly as they are.",
            "columns", "names of columns", (("town", "sex"),),
            shown=True, label="Columns that stay exactly as they are", drawn=True,
        ),
    ] = None  # fmt: skip
    leave_out: Annotated[
        Names | None,
        Key(
            "Columns that are not released, where the others are not named.",
            "columns", "names of columns", (("name", "phone"),), shown=True, label="Columns to leave out",
        ),
    ] = None  # fmt: skip
    fill: Annotated[
        Names | None,
        Key(
            "Columns that are drawn from a private model, given the released values of the row; rest: all others that "
            "are not left out. They tell nothing more about the secret, and half of ε₀ is theirs.",
            "columns", "names of columns, or rest", (("rest",), ("job", "wage")), label="Columns to fill",
        ),
    ] = None  # fmt: skip
    ranges: Annotated[
        bool | None,
        Key(
            "With fill: kept columns of numbers are released as ranges, not as numbers drawn in them.",
            "columns", "true or false", (True,), label="Release numbers as ranges",
        ),
    ] = None  # fmt: skip
    never: Annotated[
        Text | None,
        Key(
            "With fill: a condition that no released row fulfils, as for where, such as age < 15 and income is not "
            "missing. The column named last is filled, and drawn so that it holds.",
            "columns", "a condition in SQL", ("age < 15 and income is not missing",), label="Rows that never occur",
        ),
    ] = None  # fmt: skip
    allow_secret_attribute: Annotated[
        bool | None,
        Key("Let the secret itself be among the columns.", "columns", "true or false", (True,)),
    ] = None
    where: Where = None
    domain: Annotated[
        Name | None,
        Key(
            "Take every value and border from this file, which funnel domain begins, not from the table.",
            "columns", "the path of a domain file", ("domain.json",), shown=True, path=True, label="Domain file",
        ),
    ] = None  # fmt: skip
    bins: Annotated[
        Table[PositiveCount | Borders | Way] | None,
        Key(
            "Ranges of a column of numbers: how many, their borders, width:5 or each.",
            "columns", "for each column a number of ranges, borders, width:… or each",
            ({"age": (0.0, 18.0, 65.0)}, {"age": 6}, {"age": "width:5"}), label="Ranges", drawn=True,
        ),
    ] = None  # fmt: skip
    top: Annotated[
        Table[PositiveCount] | None,
        Key(
            "Keep the most frequent values of a column: this many.",
            "columns", "for each column a positive whole number", ({"town": 20},), label="Most frequent values",
            drawn=True,
        ),
    ] = None  # fmt: skip
    dates: Annotated[
        Table[Literal["year", "month", "day"]] | None,
        Key(
            "Keep dates by year, month or day.",
            "columns", "for each column year, month or day", ({"born": "year"},), label="Dates", drawn=True,
        ),
    ] = None  # fmt: skip
    written: Annotated[
        Table[Literal["point", "comma", "dmy", "mdy", "ymd", "hours"]] | None,
        Key(
            "How a column is written: point (1,234.5), comma (1.234,5), dmy (31.12.2024), mdy (12/31/2024), ymd "
            "(2024/12/31) or hours (8:30 is 8.5), where the column itself does not tell.",
            "columns", "for each column point, comma, dmy, mdy, ymd or hours", ({"born": "dmy"},),
            label="How numbers and dates are written",
        ),
    ] = None  # fmt: skip
    group: Annotated[
        Table[ByValue[Values]] | None,
        Key(
            "Read some texts of a column, or of the secret, as one value. With coarsen = search, if that keeps more.",
            "columns", "for each column names of groups, and the texts in them",
            ({"town": {"north": ("Ashford", "Birch")}},), label="Groups of values",
        ),
    ] = None  # fmt: skip
    missing: Annotated[
        Values | None,
        Key(
            "Texts that mean “missing” in any column, beside empty ones.",
            "columns", "texts", (("NA", "?", "-"),), label="Texts that mean missing",
        ),
    ] = None  # fmt: skip
    coarsen: Annotated[
        Literal["auto", "search"] | None,
        Key(
            "auto: wider ranges and fewer values where columns are too fine. search, for srlip and srldp: whatever "
            "keeps the most for people who know columns as they are then read.",
            "columns", "auto or search", ("auto",), label="Make columns coarser",
        ),
    ] = None  # fmt: skip
    unit: Annotated[
        Literal["row"] | None,
        Key(
            "row: each row is a person of its own, or what is protected is a row, such as a visit, and not a person. "
            "Where a column numbers people who have several rows, this has to be said.",
            "columns", "row", ("row",), label="What the promise is about",
        ),
    ] = None  # fmt: skip
    delimiter: Delimiter = None
    encoding: Encoding = None
