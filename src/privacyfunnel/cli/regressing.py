"""What funnel regress does: a model of the original rows, from the released ones."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from privacyfunnel.cli import show
from privacyfunnel.cli.read_release import reading_of
from privacyfunnel.estimates.models.regress import Regression
from privacyfunnel.estimates.models.regress import regress as fitted_model
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.spec.of_readers import RegressSpec
from privacyfunnel.spec.step_rules import checked

LEAST_P = 1e-3
"""Smaller p-values are not told apart."""


def regress_release(spec: RegressSpec, json: bool) -> None:
    """Fit, and say what was found."""
    spec = checked(spec)
    protocol, formula = Path(str(spec.protocol)), str(spec.formula)
    with show.working(f"fitting {formula}"):
        loaded, how = Protocol.load(protocol), reading_of(spec)
        found = fitted_model(Path(str(spec.released)), loaded, formula, family=spec.family or "gaussian", **how)
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
