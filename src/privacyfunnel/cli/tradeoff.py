"""funnel tradeoff: how much is kept at every ε."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.table import Table

from privacyfunnel.cli import next_command, options, reading_columns, show
from privacyfunnel.cli.promising import Asked
from privacyfunnel.cli.steward import marked, marked_table
from privacyfunnel.errors import InvalidInput, InvalidPromise
from privacyfunnel.numeric.information import NATS_PER_BIT, share_kept
from privacyfunnel.optimiser.optimise import gap_for
from privacyfunnel.optimiser.tradeoff import ENOUGH, Point, Tradeoff
from privacyfunnel.optimiser.tradeoff import tradeoff as curve_of
from privacyfunnel.promises.belief import Belief
from privacyfunnel.promises.notion import Notion, factor
from privacyfunnel.protocols.protocol import Objective
from privacyfunnel.report.curves import EPSILONS

DEFAULT_EPSILONS = ",".join(f"{epsilon:g}" for epsilon in EPSILONS)
"""Those of the curves in reports."""
ON_EXACT_COUNTS = (
    "All of this is measured on the exact counts. A fit adds noise and reads rare combinations as others, which costs "
    "some more."
)
HEADINGS: dict[Objective, tuple[str, ...]] = {
    "faithful": ("cells unchanged", "rows unchanged", "near cells in part", "at most"),
    "information": ("kept", "bits kept", "at most"),
}
"""What is told of what is kept."""
OWN = ("table", "epsilons", "json")
"""What fit has in another form; it has all other options."""


def tradeoff(
    context: typer.Context,
    table: options.Table,
    secret: options.SecretToFit = None,
    attributes: options.Attributes = None,
    where: options.Where = None,
    notion: options.NotionName = "lip",
    ordered: options.OrderedFlag = False,
    epsilons: Annotated[str, typer.Option(help="The ε to try, joined by commas.")] = DEFAULT_EPSILONS,
    objective: options.ObjectiveName = "faithful",
    weight: options.WeightOption = None,
    bins: reading_columns.BinsOption = None,
    top: reading_columns.TopOption = None,
    dates: reading_columns.DatesOption = None,
    missing: options.Missing = None,
    allow_secret_attribute: options.AllowSecret = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    gap: options.Gap = None,
    time_limit: options.TimeLimit = 60.0,
    json: options.Json = False,
) -> None:
    """Show how much of a table can be kept at several ε; --time-limit is for each of them.

    Several secrets, each by itself, have the same ε. Levels for single values and limits on belief have no curve.
    Example: funnel tradeoff people.csv --secret diagnosis --attributes age,sex,town --epsilons 0.1,0.5,1
    """
    kind = _kind(secret or [], notion, ordered)
    secrets = [name for text in secret or [] for name in options.names(text)]
    try:
        asked = [float(text) for text in options.names(epsilons)]
    except ValueError:
        raise InvalidPromise(f"--epsilons takes numbers joined by commas; got {epsilons!r}") from None
    kept, weights = options.objective(objective), options.weights(weight)
    gap = gap_for(kept, gap, weights)
    wishes = reading_columns.wishes(bins, top, dates, missing)
    with show.working(f"counting {table.name}"):
        counted = options.counted(
            table, secrets, attributes, wishes, allow_secret_attribute, delimiter, encoding, where=where
        )
    with show.search_progress(kept) as progress:
        search: dict[str, Any] = {"gap": gap, "time_limit": time_limit, "progress": progress}
        curve = curve_of(counted.joint, kind, asked, objective=kept, weights=weights, **search)
    same = [str(option.name) for option in context.command.params if option.name not in OWN]
    then = next_command.fit(table, next_command.typed(context, same), curve.proposed())
    if json:
        show.as_json(
            {
                "notion": curve.kind.name,
                "objective": kept,
                "columns": show.columns_data(counted),
                "not_used": counted.dropped,
                "identifiers": counted.identifiers,
                "steward_only": {
                    **next_command.data(then),
                    "entropy_nats": curve.entropy,
                    "points": [point.as_dict() for point in curve.points],
                },
            }
        )
        return
    screen = show.console()
    screen.print(show.columns_table(counted))
    for line in show.dropped_lines(counted):
        screen.print(line, markup=False)
    screen.print(marked(ON_EXACT_COUNTS))
    screen.print(marked_table(_render(curve)))
    enough = f"Next, with the smallest ε that keeps {ENOUGH:.0%} of what the largest one keeps:"
    next_command.say(then, marked(enough))


def _kind(secrets: list[str], notion: str, ordered: bool) -> Callable[[float], Notion]:
    """What is promised at every ε."""
    if not secrets:
        raise InvalidInput("name the secret column: --secret diagnosis")
    if notion == Belief.name:
        raise InvalidPromise("limits on belief have no ε to try; fit them, with --notion belief")
    sought = Asked(secrets, notion, None, None, None, None, 1.0, None, ordered, None).promise()
    if isinstance(sought, Notion):
        raise InvalidPromise("a curve is of promises with one ε")
    return sought


def _render(curve: Tradeoff) -> Table:
    table = Table(title=f"What is kept under {curve.kind.name}", title_justify="left", header_style="bold")
    kept_headings = HEADINGS[curve.objective]
    for heading in ("ε", "factor", *kept_headings, "bits about the secret", "LIP level", "LDP level"):
        table.add_column(heading, justify="right")
    for point in curve.points:
        cells, bits = _cells(point), _bits(point, curve.entropy)
        table.add_row(
            f"{point.epsilon:g}",
            f"×{factor(point.epsilon)}",
            *(cells if curve.objective == "faithful" else bits),
            f"{point.leakage / NATS_PER_BIT:.3g}",
            f"{point.lip:.4g}",
            f"{point.ldp:.4g}",
        )
    return table


def _cells(point: Point) -> list[str]:
    """Cells and rows that stay, and how many cells at most: near ones in part, as the bound is about."""
    like = point.protocol.likeness
    if like is None:
        return []
    return [f"{share:.1%}" for share in (like.cells_unchanged, like.rows_unchanged, like.fidelity, like.fidelity_bound)]


def _bits(point: Point, entropy: float) -> list[str]:
    """The share of the information that is kept, in bits, too, and at most."""
    share = share_kept(point.utility, entropy)
    bits, most = point.utility / NATS_PER_BIT, point.upper_bound / NATS_PER_BIT
    return [f"{share:.1%}", f"{bits:.3f}", f"{most:.3f}"]
