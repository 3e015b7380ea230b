"""What fit says of attackers who know columns before it searches for long: what each assumption about them costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from privacyfunnel.advice.attackers import SECONDS, KnownCost, known_costs, takes_known
from privacyfunnel.cli import show
from privacyfunnel.distribution.joint import Joint

LONG = 10.0
"""Seconds: a shorter search is done before quick figures are."""
SHARE = 0.1
"""Of the time limit, what quick figures may take, at most."""


def costs_for(joint: Joint, promise: object, time_limit: float | None) -> list[KnownCost]:
    """Figures for a promise to people who know columns, before a long search; none for any other."""
    long = time_limit is None or time_limit >= LONG
    if not long or not takes_known(promise) or len(joint.attributes) < 2:
        return []
    seconds = SECONDS if time_limit is None else min(SECONDS, SHARE * time_limit)
    with show.working("what each assumption about attackers costs"):
        return known_costs(joint, promise, seconds=seconds)


def say(costs: Sequence[KnownCost]) -> None:
    """The figures, for people."""
    if not costs:
        return
    table = Table(title="What protecting from attackers costs", title_justify="left", header_style="bold")
    for heading in ("attackers know", "kept at least", "at most", "--known"):
        table.add_column(heading, justify="left" if heading in ("attackers know", "--known") else "right")
    for one in costs:
        who = f"{escape(one.who)} (asked for)" if one.asked else escape(one.who)
        kept = "too many to tell" if one.kept is None else _share(one.kept, one)
        table.add_row(who, kept, _share(one.at_most, one), escape(_option(one)))
    screen = show.console()
    screen.print(table)
    screen.print("Shares of the information in the attributes, found in seconds: a longer search may keep more.")


def data(costs: Sequence[KnownCost]) -> dict[str, Any]:
    """The figures, for machines."""
    return {"known_costs": [one.as_dict() for one in costs] or None}


def _share(nats: float, one: KnownCost) -> str:
    return f"{nats / one.entropy:.1%}" if one.entropy > 0 else "–"


def _option(one: KnownCost) -> str:
    if one.known is None:
        return "(left out)"
    return str(one.known) if isinstance(one.known, int) else ",".join(one.known)
