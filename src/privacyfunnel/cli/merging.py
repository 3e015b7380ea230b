"""coarsen = search: which ranges, groups and columns are merged for people who know columns beforehand."""

from __future__ import annotations

import math
from typing import Any

from rich.markup import escape
from rich.table import Table

from privacyfunnel.advice.merging import Coarsening, Way
from privacyfunnel.cli import show
from privacyfunnel.errors import TooManyAttackers
from privacyfunnel.protocols.protocol import Protocol

SHOWN = 5
"""Of the ways that were tried, how many are listed."""


def say(found: Coarsening) -> None:
    """What was tried, for people."""
    table = Table(title="What merging would keep", title_justify="left", header_style="bold")
    for heading in ("columns", "combinations", "in them, nats", "kept at least, nats", "at most"):
        table.add_column(heading, justify="left" if heading == "columns" else "right", overflow="fold")
    listed = list(found.tried[:SHOWN])
    for way in listed if found.as_read in listed else [*listed, found.as_read]:
        chosen = " (chosen)" if way is found.best else " (nothing merged)" if way is found.as_read else ""
        table.add_row(f"{escape(way.words())}{chosen}", *_figures(way))
    screen = show.console()
    screen.print(table)
    screen.print(found.words(), markup=False)


def _figures(way: Way) -> tuple[str, ...]:
    kept = "too many attackers" if way.kept is None else f"{way.kept:.3f}"
    return f"{way.combinations:,}", f"{way.entropy:.3f}", kept, f"{way.at_most:.3f}"


def level_for_finer(found: Coarsening | None, protocol: Protocol) -> float | None:
    """What people with finer knowledge could learn, if something was merged and it is for the steward to see.

    Not a number if there are more sets of columns that they may know than can be gone through.
    """
    if found is None or not found.merged or protocol.noise is not None:
        return None
    try:
        return found.level_for_finer(protocol)
    except TooManyAttackers:
        return math.nan


def level_words(level: float | None) -> str:
    """The same in a sentence, for the steward; nothing if there is nothing to say."""
    if level is None:
        return ""
    if math.isnan(level):
        return (
            "What somebody could learn who knows all columns as finely as the table has them was not computed: there "
            "are too many sets of columns to know. Take it that they could learn everything."
        )
    learn = "rule values of the secret out" if math.isinf(level) else f"learn a factor of {math.exp(level):.3g}"
    return f"Somebody who knows all columns as finely as the table has them could {learn} about single people."


def data(found: Coarsening | None, level: float | None) -> dict[str, Any]:
    """What was tried, for machines."""
    finer = None if level is None or not math.isfinite(level) else level
    told = {"level_for_finer": finer, "for_finer": level_words(level)}  # the words tell ∞ from what was not computed
    return {"coarsened": None if found is None else found.as_dict() | told}
