"""funnel tradeoff: how much is kept at every ε. What reads a table is loaded only to read it."""

from __future__ import annotations

from typing import Annotated

import typer

from privacyfunnel.cli import shared
from privacyfunnel.cli.asking import asked, table_of
from privacyfunnel.cli.loading import loaded
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.spec.key import PANELS
from privacyfunnel.spec.spec import Spec
from privacyfunnel.spec.written import names

KEYS = (
    *("table", "secret", "columns", "leave_out", "allow_secret_attribute", "where", "domain", "bins", "top", "dates"),
    *("group", "missing", "delimiter", "encoding", "notion", "known", "ordered", "objective", "weight", "gap"),
    *("time_limit", "engine", "master"),
)
"""What a curve can be asked for."""
Epsilons = Annotated[
    str | None,
    typer.Option(
        help="The ε to try, joined by commas (default: 0.05,0.1,0.2,0.5,1,2).", rich_help_panel=PANELS["promise"],
        show_default=False,
    ),
]  # fmt: skip


@asked(*KEYS)
def tradeoff(spec: Spec, epsilons: Epsilons = None, json: shared.Json = False) -> None:
    """Show how much of a table can be kept at several ε; --time-limit is for each of them.

    Several secrets, each by itself, have the same ε. Levels for single values and limits on belief have no curve.

    Example: funnel tradeoff people.csv --secret diagnosis --columns age,sex,town --epsilons 0.1,0.5,1
    """
    with loaded():
        from privacyfunnel.cli import curve, next_command, show
        from privacyfunnel.cli.columns import left_out, with_columns
        from privacyfunnel.cli.proposing import proposed
        from privacyfunnel.cli.steward import marked, marked_table
    try:
        tried = None if epsilons is None else [float(text) for text in names(epsilons)]
    except ValueError:
        raise InvalidPromise(f"--epsilons takes numbers joined by commas; got {epsilons!r}") from None
    table = table_of(spec, "tradeoff")
    spec, why = with_columns(spec, table)
    counted, found = curve.found(spec, table, tried)
    epsilon, kept = proposed(found)
    then = next_command.fit(spec, epsilon)
    if json:
        told = curve.data(counted, found)
        told["steward_only"] |= {"left_out": why, **next_command.data(then)}
        show.as_json(told)
        return
    screen = show.console()
    screen.print(show.columns_table(counted))
    for line in [] if why else show.dropped_lines(counted):
        screen.print(line, markup=False)
    if why:
        screen.print(marked_table(left_out(why)))
    curve.say(screen, counted, found)
    next_command.say(then, marked(f"Next, with ε = {epsilon:g}, which keeps {kept:.0%}:"))
