"""funnel regress: a model of the original rows, from the released ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from privacyfunnel.cli import following, options, show
from privacyfunnel.estimates.models.regress import Regression
from privacyfunnel.estimates.models.regress import regress as fitted_model
from privacyfunnel.estimates.which_rows import Rows
from privacyfunnel.protocols.protocol import Protocol

LEAST_P = 1e-3
"""Smaller p-values are not told apart."""


def regress(
    released: Annotated[Path, typer.Argument(help="The released table: CSV, CSV.GZ, Parquet or JSON lines.")],
    formula: Annotated[str, typer.Argument(help='The model, such as "active ~ age + C(town) + age:sex".')],
    protocol: Annotated[Path, typer.Option(help="The protocol that was published with it.")],
    family: Annotated[
        str, typer.Option(help="gaussian (linear), binomial (logistic, for two values) or poisson (counts).")
    ] = "gaussian",
    rows: Annotated[
        str | None,
        typer.Option(help="Which rows were released: fitted (those of the fitted table) or other (default: find out)."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="How often intervals hold the truth.")] = 0.95,
    earlier: following.Released = None,
    person: Annotated[
        str | None, typer.Option(help="For a follow-up: the column that says which rows are one person's.")
    ] = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    json: options.Json = False,
) -> None:
    """Fit a linear, logistic or Poisson model, with honest errors, from a released table and its protocol alone.

    Example: funnel regress open.csv "weight ~ height + sex" --protocol protocol.json
    """
    with show.working(f"fitting {formula}"):
        found = fitted_model(
            released,
            Protocol.load(protocol),
            formula,
            family=family,
            rows=cast(Rows | None, rows),
            confidence=confidence,
            delimiter=delimiter,
            encoding=encoding,
            earlier=earlier or None,
            person=person,
        )
    if json:
        show.as_json(found.as_dict())
        return
    _show(show.console(), found)


def _show(screen: Console, found: Regression) -> None:
    missing = f"; {1 - found.used:.1%} have a missing value and are left out" if found.used < 1 else ""
    screen.print(f"{found.rows:,} released rows{missing}. Response: {found.response} ({found.family}).", markup=False)
    screen.print(found.why, markup=False)
    screen.print(_coefficients(found))
    several = [test for test in found.terms if test.df > 1]
    if several:
        screen.print(_tests(found))
    for note in found.notes:
        screen.print(f"{note}.", markup=False)


def _coefficients(found: Regression) -> Table:
    table = Table(title=escape(found.formula), title_justify="left", header_style="bold")
    table.add_column("coefficient", overflow="fold")
    for heading in ("value", "± error", "z", "p", f"{100 * found.confidence:.4g}% from", "to"):
        table.add_column(heading, justify="right")
    for each in found.coefficients:
        numbers = [f"{number:.4g}" for number in (each.value, each.error)]
        ends = [f"{number:.4g}" for number in (each.low, each.high)]
        table.add_row(escape(each.name), *numbers, f"{each.z:.2f}", _p(each.p_value), *ends)
    return table


def _tests(found: Regression) -> Table:
    table = Table(title="Is any coefficient of a term not 0? (Wald)", title_justify="left", header_style="bold")
    table.add_column("term", overflow="fold")
    for heading in ("χ²", "coefficients", "p"):
        table.add_column(heading, justify="right")
    for each in found.terms:
        table.add_row(escape(each.term), f"{each.chi2:.2f}", str(each.df), _p(each.p_value))
    return table


def _p(value: float) -> str:
    return f"< {LEAST_P:g}" if value < LEAST_P else f"{value:.3f}"
