"""funnel tradeoff: how much is kept at every ε."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from privacyfunnel.cli import options, show
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.numeric.information import NATS_PER_BIT
from privacyfunnel.optimiser.tradeoff import Tradeoff
from privacyfunnel.optimiser.tradeoff import tradeoff as curve_of
from privacyfunnel.promises.notion import factor
from privacyfunnel.report.curves import EPSILONS

DEFAULT = ",".join(f"{epsilon:g}" for epsilon in EPSILONS)
"""Those of the curves in reports."""


def tradeoff(
    table: options.Table,
    secret: options.Secret,
    attributes: options.Attributes = None,
    notion: options.NotionName = "lip",
    epsilons: Annotated[str, typer.Option(help="The ε to try, joined by commas.")] = DEFAULT,
    bins: options.BinsOption = None,
    top: options.TopOption = None,
    dates: options.DatesOption = None,
    missing: options.Missing = None,
    allow_secret_attribute: options.AllowSecret = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    gap: options.Gap = 1e-6,
    time_limit: options.TimeLimit = 60.0,
    json: options.Json = False,
) -> None:
    """Show how much of a table can be kept at several ε; --time-limit is for each of them.

    Example: funnel tradeoff people.csv --secret diagnosis --attributes age,sex,town --epsilons 0.1,0.5,1
    """
    kind = options.kind(notion)
    try:
        asked = [float(text) for text in options.names(epsilons)]
    except ValueError:
        raise InvalidPromise(f"--epsilons takes numbers joined by commas; got {epsilons!r}") from None
    wishes = options.wishes(bins, top, dates, missing)
    counted = options.counted(table, secret, attributes, wishes, allow_secret_attribute, delimiter, encoding)
    with show.search_progress() as progress:
        curve = curve_of(counted.joint, kind, asked, gap=gap, time_limit=time_limit, progress=progress)
    if json:
        points = [point.as_dict() for point in curve.points]
        columns = show.columns_data(counted)
        show.as_json({"notion": kind.name, "entropy_nats": curve.entropy, "columns": columns, "points": points})
        return
    screen = show.console()
    screen.print(show.columns_table(counted))
    screen.print(_render(curve))


def _render(curve: Tradeoff) -> Table:
    table = Table(title=f"What is kept under {curve.kind.name}", title_justify="left", header_style="bold")
    for heading in ("ε", "factor", "kept", "bits kept", "at most", "bits about the secret", "LIP level", "LDP level"):
        table.add_column(heading, justify="right")
    for point in curve.points:
        share = point.utility / curve.entropy if curve.entropy else 1.0
        table.add_row(
            f"{point.epsilon:g}",
            f"×{factor(point.epsilon)}",
            f"{share:.1%}",
            f"{point.utility / NATS_PER_BIT:.3f}",
            f"{point.upper_bound / NATS_PER_BIT:.3f}",
            f"{point.leakage / NATS_PER_BIT:.3g}",
            f"{point.lip:.4g}",
            f"{point.ldp:.4g}",
        )
    return table
