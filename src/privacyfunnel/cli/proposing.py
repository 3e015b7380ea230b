"""funnel fit without a promise: what every ε would keep, and the command for one of them. Nothing is written."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from privacyfunnel.cli import curve, next_command, show
from privacyfunnel.cli.columns import left_out, with_columns
from privacyfunnel.cli.steward import marked, marked_table
from privacyfunnel.errors import InvalidInput
from privacyfunnel.numeric.information import share_kept
from privacyfunnel.optimiser.tradeoff import Point, Tradeoff
from privacyfunnel.promises.notion import factor
from privacyfunnel.spec import as_flags
from privacyfunnel.spec.form import impossible
from privacyfunnel.spec.impossible import Impossible
from privacyfunnel.spec.promising import kind_of
from privacyfunnel.spec.spec import Spec

ENOUGH = 0.9
"""The share that a proposal keeps: one cell of ten changes, about as much as surveys impute."""
MOST = 1.0
"""No larger ε is proposed: there beliefs change by up to a factor e."""


def propose(spec: Spec, table: Path, output: Path | None, json: bool) -> None:
    """What every ε would keep, and a command. All of it is measured on the exact table, so it is for you alone."""
    _check_has_a_curve(spec)
    spec, why = with_columns(spec, table)
    counted, found = curve.found(spec, table, None)
    epsilon, kept = proposed(found)
    then = next_command.fit(spec, epsilon, output)
    if json:
        told = curve.data(counted, found)
        own = {"proposed": {"epsilon": epsilon, "kept": kept}, "left_out": why}
        told["steward_only"] |= own | next_command.data(then)
        show.as_json(told)
        return
    screen = show.console()
    screen.print(show.columns_table(counted))
    for line in [] if why else show.dropped_lines(counted):
        screen.print(line, markup=False)
    if why:
        screen.print(marked_table(left_out(why)))
    curve.say(screen, counted, found)
    of = "of cells stay as they are" if found.objective == "faithful" else "of the information is kept"
    screen.print(marked(f"ε = {epsilon:g} is proposed: beliefs change by at most ×{factor(epsilon)}, {kept:.0%} {of}."))
    screen.print("Nothing was written.")
    next_command.say(then)


def _check_has_a_curve(spec: Spec) -> None:
    """Refuse a kind of promise that is not said by one ε, by what it needs."""
    if any(kind_of(kind).required() != ("epsilon",) for kind in spec.kinds):
        try:
            spec.promise()
        except Impossible as trouble:
            raise InvalidInput(impossible(type(spec), trouble, partial(as_flags.flag, type(spec)))) from None


def proposed(found: Tradeoff) -> tuple[float, float]:
    """The smallest ε that keeps enough or, if none does, the largest that may be proposed; and what it keeps."""
    points = sorted(found.points, key=lambda point: point.epsilon)
    points = [point for point in points if point.epsilon <= MOST] or points[:1]
    shares = [(point.epsilon, _kept(point, found)) for point in points]
    return next((each for each in shares if each[1] >= ENOUGH), shares[-1])


def _kept(point: Point, found: Tradeoff) -> float:
    """The share of cells that stay as they are, or of the information."""
    like = point.protocol.likeness
    return share_kept(point.utility, found.entropy) if like is None else float(like.cells_unchanged)
