"""What the other steps of a release can be asked for: they draw, audit, report and publish. Every key is an option."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from privacyfunnel.spec.key import AtLeastZero, Key, Keyed, Name, Words
from privacyfunnel.spec.reading import TABLES, Delimiter, Encoding, Engine, Master, Person, Released, Was, Where

Protocol = Annotated[
    Name | None,
    Key(
        "The protocol, as written by funnel fit.",
        "basics", "the path of a protocol", ("protocol.json",), path=True, run=True,
    ),
]  # fmt: skip
TheProtocol = Annotated[
    Name | None,
    Key(
        "The protocol, as written by funnel fit.",
        "basics", "the path of a protocol", ("protocol.json",), argument=True, path=True, run=True,
    ),
]  # fmt: skip


TheTable = Annotated[
    Name | None,
    Key(
        TABLES,
        "basics", "the path of a table", ("people.csv",), argument=True, top=True, path=True,
    ),
]  # fmt: skip


class StepSpec(Keyed):
    """What a step can be asked for."""

    all_shown: ClassVar[bool] = True


class SanitiseSpec(StepSpec):
    """What a drawing of rows can be asked for."""

    part: ClassVar[str] = "sanitise"

    table: TheTable = None
    protocol: Protocol = None
    keep_order: Annotated[
        bool | None,
        Key("Release rows in the order of the table (default: shuffled).", "basics", "true or false", (True,)),
    ] = None
    unseen: Annotated[
        Literal["refuse", "draw"] | None,
        Key(
            "Rows with values not seen when fitting: refuse (all, the default), or draw (them at random).",
            "basics", "refuse or draw", ("draw",),
        ),
    ] = None  # fmt: skip
    seed: Annotated[
        int | None,
        Key(
            "INSECURE: repeatable randomness, for tests only; noted in the output.",
            "advanced", "a whole number", (1,),
        ),
    ] = None  # fmt: skip
    where: Where = None
    delimiter: Delimiter = None
    encoding: Encoding = None
    engine: Engine = None
    master: Master = None
    no_variant: Annotated[
        bool | None,
        Key(
            "No column that tells apart rows with the same values: less sharp estimates.",
            "advanced", "true or false", (True,),
        ),
    ] = None  # fmt: skip
    released: Released = None
    was: Was = None
    person: Person = None
    internal: Annotated[
        Name | None,
        Key(
            "Also keep a copy with the column of person, for internal use only: a follow-up needs it.",
            "advanced", "the path of a table", ("kept.parquet",),
        ),
    ] = None  # fmt: skip
    remember: Annotated[
        Name | None,
        Key(
            "Draw with the key in this file (made if there is none): the same person, the same row.",
            "advanced", "the path of a key", ("people.key",), path=True,
        ),
    ] = None  # fmt: skip
    changed: Annotated[
        Literal["keep", "drop"] | None,
        Key(
            "With remember, people whose values changed: keep (their old row, the default), or drop (no row).",
            "advanced", "keep or drop", ("drop",),
        ),
    ] = None  # fmt: skip


class AuditSpec(StepSpec):
    """What a proof of a promise can be asked for."""

    part: ClassVar[str] = "audit"

    protocol: TheProtocol = None
    table: Annotated[
        Name | None,
        Key(
            "The original table. Needed unless the fit was private: then the protocol carries counts.",
            "basics", "the path of a table", ("people.csv",), path=True, run=True,
        ),
    ] = None  # fmt: skip
    attack: Annotated[
        bool | None,
        Key(
            "Also attack it: exactly, with models that learn, released twice, and the file by itself.",
            "basics", "true or false", (True,),
        ),
    ] = None  # fmt: skip
    after: Annotated[
        Name | None,
        Key(
            "Of a follow-up: a protocol that it must follow, by its digest.",
            "advanced", "the path of a protocol", ("first.json",), path=True,
        ),
    ] = None  # fmt: skip
    was: Was = None
    person: Person = None
    where: Where = None
    delimiter: Delimiter = None
    encoding: Encoding = None


class ReportSpec(StepSpec):
    """What a report can be asked for."""

    part: ClassVar[str] = "report"

    protocol: TheProtocol = None
    table: Annotated[
        Name | None,
        Key(
            "The table that the protocol was made for.",
            "basics", "the path of a table", ("people.csv",), path=True, run=True,
        ),
    ] = None  # fmt: skip
    public: Annotated[
        bool | None,
        Key("A page to publish: nothing in it but what the protocol file tells.", "basics", "true or false", (True,)),
    ] = None
    curves: Annotated[
        bool | None,
        Key("Compare with other promises and other ε (default: yes).", "basics", "true or false", (False,), off=True),
    ] = None
    time_limit: Annotated[
        AtLeastZero | None,
        Key("Seconds for each point of these curves (default: 2).", "basics", "a number of seconds", (2.0,)),
    ] = None
    where: Where = None
    delimiter: Delimiter = None
    encoding: Encoding = None


class PublishSpec(StepSpec):
    """What a folder for a data portal can be asked for."""

    part: ClassVar[str] = "publish"

    released: Annotated[
        Name | None,
        Key(
            "The released table, as funnel sanitise wrote it.",
            "basics", "the path of a released table", ("open.csv",), argument=True, path=True, run=True,
        ),
    ] = None  # fmt: skip
    protocol: Protocol = None
    details: Annotated[
        Name | None,
        Key(
            "A file publish.toml with title, licence, contact, contributors, sources, …",
            "basics", "the path of a file of details", ("publish.toml",), path=True,
        ),
    ] = None  # fmt: skip
    title: Annotated[Words | None, Key("What the table is called.", "basics", "a text", ("People of Ashford",))] = None
    description: Annotated[
        Words | None, Key("What it is (default: its columns and rows).", "basics", "a text", ("A sample.",))
    ] = None
    licence: Annotated[
        Words | None, Key("The licence by its name, or an address.", "basics", "a licence", ("CC-BY-4.0",))
    ] = None
    publisher: Annotated[
        Words | None,
        Key("Who publishes it: a name, or “name <e-mail>”.", "basics", "a name", ("Open data",)),
    ] = None
    contact: Annotated[
        Words | None,
        Key(
            "Whom to ask: an e-mail address, or “name <e-mail>”.",
            "basics", "an e-mail address", ("data@example.org",),
        ),
    ] = None  # fmt: skip
    url: Annotated[
        Words | None, Key("Where the folder will lie on the web.", "basics", "an address", ("https://example.org/",))
    ] = None
    health: Annotated[
        bool | None,
        Key(
            "Also what HealthDCAT-AP asks for, from [health] in the details.",
            "advanced", "true or false", (True,),
        ),
    ] = None  # fmt: skip
    rows: Annotated[
        Literal["fitted", "other"] | None,
        Key(
            "Which rows these are: fitted (those of the fitted table) or other (default: find out).",
            "advanced", "fitted or other", ("other",), run=True,
        ),
    ] = None  # fmt: skip
