"""What funnel estimate does: work back what a released table tells of the original one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from privacyfunnel.cli import show
from privacyfunnel.cli.compared import as_dict, associations, comparisons
from privacyfunnel.cli.compared import show as show_contrasts
from privacyfunnel.cli.read_release import reading_of
from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.answer import Estimates
from privacyfunnel.estimates.answer import estimate as estimate_table
from privacyfunnel.estimates.associate import MOST_NAMED, Association
from privacyfunnel.estimates.compare import Comparison
from privacyfunnel.estimates.frequencies import Estimate, Frequencies
from privacyfunnel.estimates.opened import Opened
from privacyfunnel.estimates.summaries import Summary
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.spec.of_readers import EstimateSpec
from privacyfunnel.spec.step_rules import checked
from privacyfunnel.spec.written import names as names_in


def estimate_release(spec: EstimateSpec, json: bool) -> None:
    """Estimate, and say what was found."""
    spec = checked(spec)
    if spec.compare is not None or spec.association:
        _contrasts(spec, _asked(spec.of) if spec.of is not None else [], json)
        return
    released, protocol = Path(str(spec.released)), Path(str(spec.protocol))
    with show.working(f"working back what {released.name} tells"):
        found = estimate_table(
            released,
            Protocol.load(protocol),
            of=_asked(spec.of) if spec.of is not None else None,
            by=spec.by or (),
            where=_fixed(spec),
            simultaneous=bool(spec.simultaneous),
            project=bool(spec.project),
            **reading_of(spec),
        )
    if json:
        show.as_json(found.as_dict())
        return
    _show(show.console(), found)


def _contrasts(spec: EstimateSpec, asked: list[list[str]], json: bool) -> None:
    """Comparisons between groups, or associations."""
    released, compare, read = Path(str(spec.released)), spec.compare, reading_of(spec)
    names = list(dict.fromkeys([*(name for names in asked for name in names), *([compare] if compare else [])]))
    with show.working(f"working back what {released.name} tells"):
        loaded = Protocol.load(Path(str(spec.protocol)))
        opened = Opened.of(
            released, loaded, _fixed(spec), read["rows"], read["confidence"], read["delimiter"], read["encoding"],
            names, read["earlier"], read["person"],
        )  # fmt: skip
        found: Sequence[Comparison | Association] = (
            comparisons(opened, asked, compare) if compare else associations(opened, asked)
        )
    if json:
        show.as_json(as_dict(opened, found, "comparisons" if compare else "associations"))
        return
    show_contrasts(show.console(), opened, found)


def _fixed(spec: EstimateSpec) -> dict[str, list[str]]:
    """The values that rows are to have."""
    return {name: value.split("|") for name, value in (spec.where or {}).items()}


def _asked(text: str) -> list[list[str]]:
    found = [[name.strip() for name in part.split(":") if name.strip()] for part in names_in(text)]
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
