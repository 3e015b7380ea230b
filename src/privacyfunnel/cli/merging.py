"""coarsen = search: which ranges, groups and columns are merged for people who know columns beforehand."""

from __future__ import annotations

import math
from typing import Any

from rich.markup import escape
from rich.table import Table

from privacyfunnel.advice.accepting import CHOOSING
from privacyfunnel.advice.attackers import takes_known
from privacyfunnel.advice.merging import USUAL_SECONDS, Coarsening, Way, coarsened
from privacyfunnel.cli import show
from privacyfunnel.errors import InvalidInput, InvalidJoint, TooManyAttackers
from privacyfunnel.optimiser.program.task import check_task
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.counting import Counted
from privacyfunnel.tables.private_counts import MOST_CELLS
from privacyfunnel.tables.public_part import secret_values

SHARE = 0.5
"""Of the time limit, for this search; the rest is for the protocol."""
SHOWN = 5
"""Of the ways that were tried, how many are listed."""


def merged_for(
    counted: Counted, promise: object, private: float | None, time_limit: float | None
) -> tuple[Counted, Coarsening, float]:
    """The table with columns merged, what was tried, and how much of ε₀ that spent.

    A private fit goes by noisy counts of their own, for a part of ε₀, and by nothing else.
    """
    if not takes_known(promise):
        raise InvalidInput(
            "coarsen = search is for one promise to people who know columns, --notion srlip or srldp, for all columns "
            "together"
        )
    check_task(counted.joint, promise, 1.0, time_limit, None)
    seconds = USUAL_SECONDS if time_limit is None else SHARE * time_limit
    with show.working("looking for what to merge"):
        seen, spent = (counted, 0.0) if private is None else _noisy(counted, CHOOSING * private)
        found = coarsened(seen, promise, seconds)
    return found.of(counted), found, spent


def _noisy(counted: Counted, spent: float) -> tuple[Counted, float]:
    """Counts to choose by, which spend this of ε₀."""
    cells = counted.joint.combinations * len(secret_values(counted.joint))
    if cells > MOST_CELLS:
        raise InvalidInput(
            f"coarsen = search goes by noise on each of {cells:,} cells, and does so up to {MOST_CELLS:,}; name fewer "
            "columns (--columns), or cut them more coarsely (bins, top)"
        )
    try:
        return counted.safely(spent, insist=True), spent
    except InvalidJoint as trouble:
        raise InvalidInput(
            f"coarsen = search chooses by noisy counts for {spent:g} of ε₀, and {trouble}; or say yourself what to "
            "merge (bins, top, group) and what to release (--columns)"
        ) from None


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
