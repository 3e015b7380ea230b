"""What readers of a released table can ask of it: frequencies and models."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from privacyfunnel.spec.key import Between, Key, Name, Names, Table, Text
from privacyfunnel.spec.of_steps import Protocol, StepSpec
from privacyfunnel.spec.reading import Delimiter, Encoding

TheRelease = Annotated[
    Name | None,
    Key(
        "The released table: CSV, CSV.GZ, Parquet or JSON lines.",
        "basics", "the path of a released table", ("open.csv",), argument=True, path=True,
    ),
]  # fmt: skip
Rows = Annotated[
    Literal["fitted", "other"] | None,
    Key(
        "Which rows were released: fitted (those of the fitted table) or other (default: find out).",
        "basics", "fitted or other", ("other",),
    ),
]  # fmt: skip
Confidence = Annotated[
    Between | None,
    Key("How often intervals hold the truth (default: 0.95).", "basics", "a number between 0 and 1", (0.95,)),
]
Earlier = Annotated[
    Names | None,
    Key(
        "For a follow-up: what was released before, all of it, the first first. Repeatable.",
        "advanced", "paths of released tables", (("kept.csv",),), path=True, also=("released",),
    ),
]  # fmt: skip
Person = Annotated[
    Name | None,
    Key(
        "For a follow-up: the column that says which rows are one person's.",
        "advanced", "the name of a column", ("id",),
    ),
]  # fmt: skip


class EstimateSpec(StepSpec):
    """What frequencies can be asked for."""

    part: ClassVar[str] = "estimate"

    released: TheRelease = None
    protocol: Protocol = None
    of: Annotated[
        Text | None,
        Key(
            "Columns, joined by commas; age:sex for combinations (default: every one).",
            "basics", "names of columns", ("age,sex",),
        ),
    ] = None  # fmt: skip
    by: Annotated[
        Names | None, Key("A table for every value of these columns.", "basics", "names of columns", (("sex",),))
    ] = None
    where: Annotated[
        Table[Text] | None,
        Key(
            "Only those with a value: sex=female or town=A|B. Repeatable.",
            "basics", "for each column a value, or several with | between them", ({"town": "A|B"},),
        ),
    ] = None  # fmt: skip
    rows: Rows = None
    confidence: Confidence = None
    simultaneous: Annotated[
        bool | None, Key("All intervals of a table at once, not each by itself.", "basics", "true or false", (True,))
    ] = None
    project: Annotated[
        bool | None,
        Key("Move shares to the nearest distribution (no longer unbiased).", "basics", "true or false", (True,)),
    ] = None
    compare: Annotated[
        Name | None,
        Key(
            "Differences and ratios between the values of this column instead.",
            "basics", "the name of a column", ("sex",),
        ),
    ] = None  # fmt: skip
    association: Annotated[
        bool | None,
        Key("How strongly the pairs in --of sex:town go together instead.", "basics", "true or false", (True,)),
    ] = None
    earlier: Earlier = None
    person: Person = None
    delimiter: Delimiter = None
    encoding: Encoding = None


class RegressSpec(StepSpec):
    """What a model can be asked for."""

    part: ClassVar[str] = "regress"

    released: TheRelease = None
    formula: Annotated[
        Text | None,
        Key(
            'The model, such as "active ~ age + C(town) + age:sex".',
            "basics", "a formula", ("active ~ age",), argument=True,
        ),
    ] = None  # fmt: skip
    protocol: Protocol = None
    family: Annotated[
        Literal["gaussian", "binomial", "poisson"] | None,
        Key(
            "gaussian (linear, the default), binomial (logistic, for two values) or poisson (counts).",
            "basics", "gaussian, binomial or poisson", ("binomial",),
        ),
    ] = None  # fmt: skip
    rows: Rows = None
    confidence: Confidence = None
    earlier: Earlier = None
    person: Person = None
    delimiter: Delimiter = None
    encoding: Encoding = None
