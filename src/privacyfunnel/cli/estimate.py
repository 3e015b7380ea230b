"""funnel estimate: what a released table tells of the original one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from privacyfunnel.cli import options, show
from privacyfunnel.cli.compared import as_dict, associations, comparisons
from privacyfunnel.cli.compared import show as show_contrasts
from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.answer import Estimates
from privacyfunnel.estimates.answer import estimate as estimate_table
from privacyfunnel.estimates.associate import Association
from privacyfunnel.estimates.compare import Comparison
from privacyfunnel.estimates.frequencies import Estimate, Frequencies
from privacyfunnel.estimates.opened import Opened
from privacyfunnel.estimates.summaries import Summary
from privacyfunnel.estimates.which_rows import Rows
from privacyfunnel.protocols.protocol import Protocol

MOST_NAMED = 4
"""Values that a row which counts several together lists."""


def estimate(
    released: Annotated[Path, typer.Argument(help="The released table: CSV, CSV.GZ, Parquet or JSON lines.")],
    protocol: Annotated[Path, typer.Option(help="The protocol that was published with it.")],
    of: Annotated[
        str | None, typer.Option(help="Attributes, joined by commas; age:sex for combinations (default: every one).")
    ] = None,
    by: Annotated[str | None, typer.Option(help="A table for every value of these attributes.")] = None,
    where: Annotated[
        list[str] | None, typer.Option(help="Only those with a value: sex=female or town=A|B. Repeatable.")
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(help="Which rows were released: fitted (those of the fitted table) or other (default: find out)."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="How often intervals hold the truth.")] = 0.95,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="All intervals of a table at once, not each by itself.")
    ] = False,
    project: Annotated[
        bool, typer.Option("--project", help="Move shares to the nearest distribution (no longer unbiased).")
    ] = False,
    compare: Annotated[
        str | None, typer.Option(help="Differences and ratios between the values of this attribute instead.")
    ] = None,
    association: Annotated[
        bool, typer.Option("--association", help="How strongly the pairs in --of sex:town go together instead.")
    ] = False,
    earlier: Annotated[
        list[Path] | None,
        typer.Option(
            "--released", help="For a follow-up: what was released before, all of it, the first first. Repeatable."
        ),
    ] = None,
    person: Annotated[
        str | None, typer.Option(help="For a follow-up: the column that says which rows are one person's.")
    ] = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    json: options.Json = False,
) -> None:
    """Estimate frequencies in the original table, with intervals, from a released table and its protocol alone.

    Example: funnel estimate open.csv --protocol protocol.json --of town,age --by sex
    """
    if compare is not None or association:
        if by or simultaneous or project or (compare is not None and association):
            raise InvalidInput(
                "--compare and --association go with --of and --where, not with each other or with others"
            )
        asked = _asked(of) if of is not None else []
        source = released, protocol, where, rows, confidence, delimiter, encoding, earlier or None, person
        _contrasts(source, asked, compare, json)
        return
    fixed = {name: value.split("|") for name, value in options.pairs(where, "--where").items()}
    with show.working(f"working back what {released.name} tells"):
        found = estimate_table(
            released,
            Protocol.load(protocol),
            of=_asked(of) if of is not None else None,
            by=options.names(by or ""),
            where=fixed,
            rows=cast(Rows | None, rows),
            confidence=confidence,
            simultaneous=simultaneous,
            project=project,
            delimiter=delimiter,
            encoding=encoding,
            earlier=earlier or None,
            person=person,
        )
    if json:
        show.as_json(found.as_dict())
        return
    _show(show.console(), found)


def _contrasts(source: tuple[Any, ...], asked: list[list[str]], compare: str | None, json: bool) -> None:
    """Comparisons between groups, or associations."""
    released, protocol, where, rows, confidence, delimiter, encoding, earlier, person = source
    names = list(dict.fromkeys([*(name for names in asked for name in names), *([compare] if compare else [])]))
    fixed = {name: value.split("|") for name, value in options.pairs(where, "--where").items()}
    with show.working(f"working back what {released.name} tells"):
        loaded = Protocol.load(protocol)
        opened = Opened.of(released, loaded, fixed, rows, confidence, delimiter, encoding, names, earlier, person)
        found: Sequence[Comparison | Association] = (
            comparisons(opened, asked, compare) if compare else associations(opened, asked)
        )
    if json:
        show.as_json(as_dict(opened, found, "comparisons" if compare else "associations"))
        return
    show_contrasts(show.console(), opened, found)


def _asked(text: str) -> list[list[str]]:
    found = [[name.strip() for name in part.split(":") if name.strip()] for part in options.names(text)]
    if not found or not all(found):
        raise InvalidInput(f"--of takes attributes such as age,sex or age:sex; got {text!r}")
    return found


def _show(screen: Console, found: Estimates) -> None:
    sure = f"{found.confidence:.12g}".removeprefix("0.")
    each = "all intervals of a table hold at once" if found.simultaneous else "each interval holds"
    screen.print(f"{found.rows:,} released rows; {each} with {found.confidence:.4g} confidence.")
    screen.print(found.why, markup=False)
    for table in found.tables:
        screen.print(_table(table, f"{sure}%" if len(sure) == 2 else "interval"))
        for line in _remarks(table):
            screen.print(line, markup=False)
    if found.summaries:
        screen.print(_summaries(found.summaries))
    for line in dict.fromkeys(f"{s.attribute}: {s.note}." for s in found.summaries if s.note):
        screen.print(line, markup=False)
    for empty in found.empty:
        screen.print(f"No table for {_group(empty.group)}: {empty.reason}.", markup=False)


def _table(found: Frequencies, interval: str) -> Table:
    title = " and ".join(found.attributes) + (f", where {_group(found.group)}" if found.group else "")
    table = Table(title=escape(title), title_justify="left", header_style="bold")
    table.add_column("value", overflow="fold")
    headings = ("estimate", "± error", f"{interval} from", "to", "most likely", "(labels counted)")
    shown = len(headings) if found.way == "channel" else headings.index("most likely")
    for heading in headings[:shown]:
        table.add_column(heading, justify="right")
    for row in found.estimates:
        table.add_row(escape(_words(row)), *_numbers(row)[:shown])
    return table


def _numbers(row: Estimate) -> list[str]:
    numbers = (row.share, row.error, row.low, row.high, row.likely, row.counted)
    return ["–" if number is None else f"{number:.2%}" for number in numbers]


def _words(row: Estimate) -> str:
    names = [", ".join(map(_word, values)) for values in row.values[:MOST_NAMED]]
    more = [f"{len(row.values) - MOST_NAMED} more"] if len(row.values) > MOST_NAMED else []
    return " or ".join([*names, *more])


def _word(value: Any) -> str:
    if isinstance(value, tuple):
        return " or ".join(map(_word, value))
    return show.value(value)


def _group(group: dict[str, Any]) -> str:
    return " and ".join(f"{name} is {_word(value)}" for name, value in group.items())


def _remarks(found: Frequencies) -> list[str]:
    lines = []
    if found.untold:
        lines.append(
            f"– {len(found.untold)} of these are not told by the released rows; the most likely share is a model's."
        )
    unsure = sum(row.likely is None for row in found.estimates if not row.told)
    if found.untold and unsure:
        lines.append(f"{unsure} of them have no most likely share, either: it would be a matter of luck.")
    if found.projected:
        lines.append("Shares were moved to the nearest distribution; intervals are those of the unmoved ones.")
    if found.doubt:
        lines.append("Some shares are far below 0% or above 100%: is this really the protocol of this table?")
    return lines


def _summaries(found: tuple[Summary, ...]) -> Table:
    table = Table(title="Numbers", title_justify="left", header_style="bold")
    for heading in ("attribute", "among", "mean", "from", "to", "quarter below", "half below", "three quarters below"):
        table.add_column(heading, justify="left" if heading in ("attribute", "among") else "right")
    for row in found:
        quarters = [f"{_number(q.value)} ({_number(q.low)} … {_number(q.high)})" for q in row.quantiles]
        among = _group(row.group) if row.group else "all"
        cells = [_number(number) for number in (row.mean, row.low, row.high)]
        table.add_row(escape(row.attribute), escape(among), *cells, *(quarters or ["–"] * 3))
    return table


def _number(number: float | None) -> str:
    return "–" if number is None else f"{number:.4g}"
