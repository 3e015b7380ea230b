"""A curve, what is kept at every ε: found as a Spec asks for it, for machines and for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from privacyfunnel.cli import show
from privacyfunnel.cli.steward import marked, marked_table
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.numeric.information import NATS_PER_BIT, share_kept
from privacyfunnel.optimiser.optimise import gap_for
from privacyfunnel.optimiser.tradeoff import Point, Tradeoff, tradeoff
from privacyfunnel.promises.notion import Notion, factor
from privacyfunnel.protocols.protocol import Objective
from privacyfunnel.report.curves import EPSILONS
from privacyfunnel.report.rarest import rarest, rarest_words
from privacyfunnel.spec import as_flags
from privacyfunnel.spec.counted import counted as counted_of
from privacyfunnel.spec.spec import Spec
from privacyfunnel.tables.counting import Counted

ON_EXACT_COUNTS = (
    "All of this is measured on the exact counts. A fit adds noise and reads rare combinations as others, which costs "
    "some more."
)
HEADINGS: dict[Objective, tuple[str, ...]] = {
    "faithful": ("cells unchanged", "rows unchanged", "near cells in part", "at most"),
    "information": ("kept", "bits kept", "at most"),
}
"""What is told of what is kept."""


def found(spec: Spec, table: Path, epsilons: Sequence[float] | None) -> tuple[Counted, Tradeoff]:
    """The curve, and the counts that it is of."""
    kind = promise_at(spec)
    with show.working(f"counting {table.name}"):
        counted = counted_of(spec, table)
    limits = {"gap": gap_for(spec.kept, spec.gap, spec.weight), "time_limit": spec.seconds}
    with show.search_progress(spec.kept) as progress:
        tried = list(EPSILONS if epsilons is None else epsilons)
        how: dict[str, Any] = {"objective": spec.kept, "weights": spec.weight, "progress": progress, **limits}
        return counted, tradeoff(counted.joint, kind, tried, **how)


def promise_at(spec: Spec) -> Callable[[float], Notion]:
    """What is promised at every ε."""
    said = {name: value for name, value in spec.said().items() if name in ("secret", "notion", "known", "ordered")}
    at = as_flags.again(type(spec), {**said, "keep": 1.0}).promise()  # the promises among which one would be sought
    if isinstance(at, Notion):
        raise InvalidPromise("a curve is of promises with one ε")
    return at


def data(counted: Counted, curve: Tradeoff) -> dict[str, Any]:
    """All of it for machines."""
    return {
        "notion": curve.kind.name,
        "objective": curve.objective,
        "columns": show.columns_data(counted),
        "not_used": counted.dropped,
        "identifiers": counted.identifiers,
        "steward_only": {"entropy_nats": curve.entropy, "points": [point.as_dict() for point in curve.points]},
    }


def say(screen: Console, counted: Counted, curve: Tradeoff) -> None:
    """The curve, for the steward alone: it is measured on the table."""
    screen.print(marked(ON_EXACT_COUNTS))
    screen.print(marked_table(_render(curve)))
    each = {f"at ε = {point.epsilon:g}": rarest(point.protocol.notion, counted.joint) for point in curve.points}
    limited = {where: found for where, found in each.items() if found is not None}
    if limited:
        screen.print(marked(rarest_words(counted.joint, limited)), markup=False)


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
