"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from privacyfunnel.cli.shared import Delimiter as Delimiter
from privacyfunnel.cli.shared import Encoding as Encoding
from privacyfunnel.cli.shared import Force as Force
from privacyfunnel.cli.shared import Json as Json
from privacyfunnel.cli.shared import Missing as Missing
from privacyfunnel.cli.shared import Table as Table
from privacyfunnel.cli.shared import names as names
from privacyfunnel.cli.shared import unquoted
from privacyfunnel.distribution.column import Column
from privacyfunnel.errors import InvalidInput, InvalidPromise, InvalidTable
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import KINDS, notion_from
from privacyfunnel.protocols.protocol import Objective
from privacyfunnel.tables.counting import Counted, count_table
from privacyfunnel.tables.domain import opened
from privacyfunnel.tables.fitting import Wishes
from privacyfunnel.tables.sources import Source, open_source
from privacyfunnel.tables.typed import is_whole

SecretToFit = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        help="The secret column; several, joined by commas, are one secret together. Repeated, each is a secret by "
        "itself, with a promise of its own: weaker, and cheaper.",
    ),
]
EpsilonText = Annotated[
    str | None,
    typer.Option(
        "--epsilon",
        help="ε: beliefs change by at most the factor e^ε. One for each of several secrets, income=0.2,illness=0.1, or "
        "for each value of one, ill=0.1,well=1; with --notion belief the most belief in values, ill=0.05.",
    ),
]
OrderedFlag = Annotated[
    bool,
    typer.Option(
        "--ordered",
        help="Promise on which side of a border between two ranges the secret lies, for every border, rather than "
        "each range: weaker, and cheaper.",
    ),
]
PerRange = Annotated[
    float | None, typer.Option("--per-range", help="With --ordered: an ε for single ranges as well, such as 1.")
]
ExactOption = Annotated[
    list[str] | None,
    typer.Option("--exact", help="Columns that are released as they are: town, or town,sex. Repeatable."),
]
Attributes = Annotated[
    str | None,
    typer.Option(
        help="The columns to release, joined by commas (default: all but the secret and what looks like identifiers)."
    ),
]
NotionName = Annotated[
    str,
    typer.Option(
        "--notion",
        help=f"The kind of promise: {', '.join(KINDS)}, belief; or for several secrets income=lip,illness=ldp.",
    ),
]
AllowSecret = Annotated[
    bool, typer.Option("--allow-secret-attribute", help="Let the secret itself be among the attributes.")
]
Where = Annotated[
    str | None,
    typer.Option(help="Only rows that meet a condition on columns other than the secret: \"age >= 18 and sex = 'f'\"."),
]
Engine = Annotated[str, typer.Option(help="What does the work: duckdb, on this machine, or spark, on a cluster.")]
SparkMaster = Annotated[
    str | None, typer.Option(help="For spark: where, such as spark://host:7077 (default: local[*]).")
]
ObjectiveName = Annotated[
    str,
    typer.Option(
        "--objective",
        help="What to keep the most of: faithful (cells; rows can be counted as they stand) or information.",
    ),
]
ReadersName = Annotated[
    str,
    typer.Option(
        "--readers",
        help="With --objective information: estimates of these are to be sharp, whatever the table: shares of single "
        "columns, pairs of columns, too, or none in particular.",
    ),
]
GiveUp = Annotated[
    float, typer.Option("--give-up", help="With --readers: the share of information that may be given up for it.")
]
ErrorOption = Annotated[
    list[str] | None,
    typer.Option(
        "--error",
        help="Instead of ε: the standard error that shares of a column may have, such as town=0.01; finds the smallest "
        "ε. Repeatable.",
    ),
]
WeightOption = Annotated[
    list[str] | None,
    typer.Option("--weight", help="With faithful: cells of a column count more, or less: town=3,age=0.5. Repeatable."),
]
Insist = Annotated[
    bool,
    typer.Option("--insist", help="Fit even if more than 5% of the people are read as having another combination."),
]
Gap = Annotated[
    float | None,
    typer.Option(help="Stop when at most this can be gained: a share of cells (0.001), or nats (1e-6)."),
]
TimeLimit = Annotated[float | None, typer.Option(help="Stop after so many seconds, with the best found so far.")]
PAIRS = re.compile(r'(?:"[^"]*"|[^,"])+')
"""The column=value in a list that is joined by commas; quoted names may hold some."""


def pairs(texts: list[str] | None, option: str) -> dict[str, str]:
    """Options of the form column=value."""
    found: dict[str, str] = {}
    for text in texts or []:
        name, equals, value = text.rpartition("=")
        if not equals or not unquoted(name) or not value.strip():
            raise InvalidTable(f"{option} takes column=value; got {text!r}")
        if unquoted(name) in found:
            raise InvalidTable(f"{option} is given twice for {unquoted(name)!r}; once will do")
        found[unquoted(name)] = value.strip()
    return found


def pairs_in(text: str, option: str) -> dict[str, str]:
    """Several name=value in one text, joined by commas.

    >>> pairs_in('ill=0.1,"well, as ever"=1', "--epsilon")
    {'ill': '0.1', 'well, as ever': '1'}
    """
    return pairs(PAIRS.findall(text), option)


def objective(text: str) -> Objective:
    """What to keep the most of, as typed."""
    if text not in get_args(Objective):
        raise InvalidInput(f"--objective is faithful or information; got {text!r}")
    return cast(Objective, text)


def weights(texts: list[str] | None) -> dict[str, float] | None:
    """How much the cells of some columns count, as typed.

    >>> weights(['town=3,age=0.5', '"Name, first name"=2'])
    {'town': 3.0, 'age': 0.5, 'Name, first name': 2.0}
    """
    typed = pairs([pair for text in texts or [] for pair in PAIRS.findall(text)], "--weight")
    try:
        return {column: float(weight) for column, weight in typed.items()} or None
    except ValueError:
        raise InvalidInput("--weight takes column=number, such as town=3") from None


def notion(
    name: str, epsilon: float | None, lower: float | None, upper: float | None, known: str | None = None
) -> Notion:
    """The promise that --notion, --epsilon, --lower, --upper and --known ask for."""
    if name not in KINDS:
        raise InvalidPromise(f"--notion is one of {', '.join(KINDS)}; got {name!r}")
    given = {"epsilon": epsilon, "lower": lower, "upper": upper, "known": known_by(known)}
    for field, value in given.items():
        if field in KINDS[name].required() and value is None:
            raise InvalidPromise(f"--notion {name} needs --{field}")
        if field not in KINDS[name].parameters() and value is not None:
            raise InvalidPromise(f"--notion {name} takes no --{field}")
    return notion_from({"notion": name} | {field: value for field, value in given.items() if value is not None})


def promise(
    name: str,
    epsilon: float | None,
    lower: float | None,
    upper: float | None,
    known: str | None,
    keep: float | None,
    error: list[str] | None = None,
) -> Notion | Callable[[float], Notion]:
    """The promise that is asked for or, with --keep or --error, those among which the smallest ε is sought."""
    if keep is None and not error:
        return notion(name, epsilon, lower, upper, known)
    by = "--keep" if keep is not None else "--error"
    if keep is not None and error:
        raise InvalidPromise("--keep and --error each find an ε; ask for one of them")
    if any(value is not None for value in (epsilon, lower, upper)):
        raise InvalidPromise(f"{by} finds the smallest ε, so it goes without --epsilon, --lower and --upper")
    if known is None:
        return kind(name).at
    return lambda sought: notion(name, sought, None, None, known)


def readers(text: str, objective: Objective) -> str | None:
    """What readers ask for, as typed."""
    if text not in ("shares", "pairs", "none"):
        raise InvalidInput(f"--readers is shares, pairs or none; got {text!r}")
    if text != "none" and objective != "information":
        raise InvalidInput("--readers is for --objective information; rows of a faithful release can be counted")
    return None if text == "none" else text


def errors(texts: list[str] | None) -> dict[str, float]:
    """The standard errors that shares of columns may have, as typed."""
    found: dict[str, float] = {}
    for text in texts or []:
        name, _, number = text.rpartition("=")
        try:
            found[name] = float(number)
        except ValueError:
            found[name] = math.nan
        if not name or not 0 < found[name] < 1:
            raise InvalidInput(f"--error takes a column and a standard error of its shares, town=0.01; got {text!r}")
    return found


def known_by(text: str | None) -> int | list[str] | None:
    """A number of attributes, or their names."""
    if text is None:
        return None
    found = int(text) if is_whole(text.strip()) else names(text)
    if found == []:
        raise InvalidPromise("--known is empty; name columns, or say 0 for attackers who know none")
    return found


def kind(name: str) -> type[Notion]:
    """The kind of promise called `name`."""
    if name not in KINDS:
        raise InvalidPromise(f"--notion is one of {', '.join(KINDS)}; got {name!r}")
    return KINDS[name]


def counted(
    table: Path | Source,
    secret: str | list[str],
    attributes: str | list[str] | None,
    asked: Wishes,
    allow_secret_attribute: bool,
    delimiter: str | None,
    encoding: str,
    cluster: str | None = None,
    domain: Path | None = None,
    where: str | None = None,
    as_before: Mapping[str, Column] | None = None,
) -> Counted:
    """The table, counted here or by the Spark `cluster`; by a domain, if there is one; some of its rows, if asked."""
    declared, secrets = opened(domain), names(secret) if isinstance(secret, str) else secret
    columns = names(attributes) if isinstance(attributes, str) else attributes
    here_only(where, cluster)
    if cluster is None or isinstance(table, Source):
        return count_table(
            open_source(table, delimiter=delimiter, encoding=encoding, where=where, secrets=secrets),
            secrets,
            columns,
            wishes=asked,
            allow_secret_attribute=allow_secret_attribute,
            domain=declared,
            with_identifiers=False,
            as_before=as_before,
        )
    if as_before:
        raise InvalidInput("a follow-up joins tables on this machine, so it goes without --engine spark")
    from privacyfunnel.tables.spark.files import open_spark, spark_session
    from privacyfunnel.tables.spark.source import count_spark

    with spark_session(cluster) as session:
        source = open_spark(session, table, delimiter, encoding)
        return count_spark(
            source,
            secrets,
            columns,
            wishes=asked,
            allow_secret_attribute=allow_secret_attribute,
            domain=declared,
            with_identifiers=False,
        )


def here_only(where: str | None, cluster: str | None) -> None:
    """Refuse a condition on rows for Spark."""
    if where is not None and cluster is not None:
        raise InvalidInput("--where is for --engine duckdb; let Spark filter the table beforehand")


def cluster(engine: str, master: str | None) -> str | None:
    """The Spark master that --engine and --master ask for; none for DuckDB."""
    if engine not in ("duckdb", "spark"):
        raise InvalidInput(f"--engine is duckdb or spark; got {engine!r}")
    if engine == "duckdb" and master is not None:
        raise InvalidInput("--master goes with --engine spark")
    return None if engine == "duckdb" else master or "local[*]"
