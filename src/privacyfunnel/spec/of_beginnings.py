"""What the commands before a fit can be asked for: they declare values, write a recipe, or join what people were."""

from __future__ import annotations

from typing import Annotated, Literal

from privacyfunnel.spec.key import Key, Name, Names, Table, Values
from privacyfunnel.spec.of_steps import StepSpec, TheTable
from privacyfunnel.spec.reading import Delimiter, Encoding


class DomainSpec(StepSpec):
    """What a template of a domain can be asked for."""

    table: TheTable = None
    columns: Annotated[
        Names | None,
        Key(
            "The columns to declare, secrets too, joined by commas (default: all but lists of people).",
            "columns", "names of columns", (("diagnosis", "age", "sex"),),
        ),
    ] = None  # fmt: skip
    missing: Annotated[
        Values | None,
        Key(
            "Texts that mean “missing” in any column, beside empty ones; joined by commas, or repeat it.",
            "columns", "texts", (("NA", "?", "-"),),
        ),
    ] = None  # fmt: skip
    delimiter: Delimiter = None
    encoding: Encoding = None


class InitSpec(StepSpec):
    """What a commented recipe can be asked for."""

    table: TheTable = None
    secret: Annotated[
        Name | None,
        Key(
            "The secret column (default: the one that looks like it).",
            "basics", "the name of a column", ("diagnosis",),
        ),
    ] = None  # fmt: skip
    columns: Annotated[
        Names | None,
        Key(
            "The columns to release, joined by commas (default: suggested).",
            "columns", "names of columns", (("age", "sex", "town"),),
        ),
    ] = None  # fmt: skip
    domain: Annotated[
        Name | None,
        Key(
            "A public domain, as funnel domain begins one: only its columns are released.",
            "columns", "the path of a domain file", ("domain.json",), path=True,
        ),
    ] = None  # fmt: skip
    delimiter: Delimiter = None
    encoding: Encoding = None


class ChangesSpec(StepSpec):
    """What a table of changes can be asked for."""

    table: TheTable = None
    was: Annotated[
        Names | None,
        Key(
            "The table that was released before, as it was then; of several, the first first.",
            "basics", "paths of tables", (("last-year.csv",),), path=True,
        ),
    ] = None  # fmt: skip
    person: Annotated[
        Name | None,
        Key("The column that says who rows are about, in both tables.", "basics", "the name of a column", ("id",)),
    ] = None
    columns: Annotated[
        Names | None,
        Key("The columns that were released, joined by commas.", "columns", "names of columns", (("sex", "town"),)),
    ] = None
    delimiter: Delimiter = None
    encoding: Encoding = None


class PersonsSpec(StepSpec):
    """What one row of each person can be asked for."""

    table: TheTable = None
    person: Annotated[
        Name | None,
        Key("The column that says whose rows they are.", "basics", "the name of a column", ("id",)),
    ] = None
    rows: Annotated[
        Literal["first", "last", "random"] | None,
        Key("Which row of each person is kept.", "basics", "first, last or random", ("first",)),
    ] = None
    merge: Annotated[
        Table[Literal["sum", "least", "largest", "most", "any"]] | None,
        Key(
            "Columns that are made of all rows of a person: their sum, the least or largest, the most frequent value, "
            "or any (yes, if one row says yes).",
            "columns", "for each column sum, least, largest, most or any", ({"costs": "sum", "fall": "any"},),
        ),
    ] = None  # fmt: skip
    delimiter: Delimiter = None
    encoding: Encoding = None
