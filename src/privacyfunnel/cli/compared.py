"""How comparisons and associations are asked for on the command line, and shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from privacyfunnel.cli.show import value as in_words
from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.associate import Association, association
from privacyfunnel.estimates.compare import Comparison, comparison
from privacyfunnel.estimates.contrasts import Figure
from privacyfunnel.estimates.opened import Opened

HEADINGS = ("estimate", "± error", "from", "to")
UNKNOWN = ("cannot be estimated", "–", "no limit", "no limit")
"""What is said where a number would be a division by nothing, and where an interval has no end."""


def comparisons(opened: Opened, asked: Sequence[Sequence[str]], by: str) -> list[Comparison]:
    """Each attribute that is asked for, or every one, between the values of another."""
    if any(len(names) > 1 for names in asked):
        raise InvalidInput("--compare is about one attribute at a time: --of town,age, not town:age")
    names = [names[0] for names in asked] or [name for name in opened.asker.columns if name != by]
    return [comparison(opened, name, by) for name in names]


def associations(opened: Opened, asked: Sequence[Sequence[str]]) -> list[Association]:
    """Each pair of attributes that is asked for."""
    if not asked or any(len(names) != 2 for names in asked):
        raise InvalidInput("--association is about pairs of attributes: --of sex:town")
    return [association(opened, *names) for names in asked]


def show(screen: Console, opened: Opened, found: Sequence[Comparison | Association]) -> None:
    """Tables for people."""
    screen.print(f"{opened.rows:,} released rows; each interval holds with {opened.wish.confidence:.4g} confidence.")
    screen.print(opened.why, markup=False)
    for each in found:
        screen.print(_compared(each) if isinstance(each, Comparison) else _associated(each))
        for note in each.notes:
            screen.print(f"– {note}.", markup=False)


def as_dict(opened: Opened, found: Sequence[Comparison | Association], name: str) -> dict[str, Any]:
    """Plain data, for JSON."""
    head = {"rows": opened.rows, "way": opened.way, "why": opened.why, "confidence": opened.wish.confidence}
    return {**head, name: [each.as_dict() for each in found]}


def _compared(found: Comparison) -> Table:
    title = f"{found.attribute} by {found.by}, against {_word(found.contrasts[0].against)}"
    table = _table(title, (found.by, found.attribute), ("difference", *HEADINGS[1:], "ratio", *HEADINGS[2:]))
    for each in found.contrasts:
        what = "mean" if each.mean else _word(each.value)
        ratio = _figure(each.ratio)
        difference = _figure(each.difference, not each.mean)
        table.add_row(escape(_word(each.group)), escape(what), *difference, ratio[0], *ratio[2:])
    return table


def _associated(found: Association) -> Table:
    table = _table(" and ".join(found.attributes), ("",), HEADINGS)
    named = {"Cramér's V": found.cramers_v, "Pearson's correlation": found.pearson, "Spearman's": found.spearman}
    for name, figure in named.items():
        if figure is not None:
            table.add_row(name, *_figure(figure))
    for odds in found.odds_ratios:
        words = map(_word, (odds.value, odds.reference, odds.group, odds.group_reference))
        table.add_row(escape("odds of {} to {}: {} against {}".format(*words)), *_figure(odds.ratio))
    return table


def _table(title: str, first: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(title=escape(title), title_justify="left", header_style="bold")
    for heading in first:
        table.add_column(escape(heading), overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table


def _figure(figure: Figure | None, share: bool = False) -> list[str]:
    if figure is None:
        return ["–"] * len(HEADINGS)
    numbers = (figure.value, figure.error, figure.low, figure.high)
    return [
        words if x is None else f"{x:.2%}" if share else f"{x:.4g}" for x, words in zip(numbers, UNKNOWN, strict=True)
    ]


def _word(value: Any) -> str:
    return in_words(value)
