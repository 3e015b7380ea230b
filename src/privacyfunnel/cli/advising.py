"""What fit says of wide tables once it is done, and what --columns auto and --set coarsen=auto take of it."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from privacyfunnel.advice.advise import FOR_YOU_ALONE, Advice, Asked, Subset, advice_on, rare_share
from privacyfunnel.cli import show
from privacyfunnel.cli.steward import marked, marked_table
from privacyfunnel.tables.counting import Counted
from privacyfunnel.tables.too_fine import FEW, MUCH

WIDE = 6
"""Columns: with more, there may be advice."""
MOST_CARRIERS = 12
"""Columns that a table on a terminal lists by what they tell about the secret."""


def advice_for(counted: Counted, asked: Asked, private: bool) -> Advice | None:
    """Advice on a table with many columns that are too fine together; none if there is no need."""
    if len(counted.attributes) <= WIDE or rare_share(counted) <= MUCH:
        return None
    with show.working("looking for columns that can be released together"):
        return advice_on(counted, asked, private)


def say(advice: Advice, screen: Console) -> None:
    """The advice, for the steward alone: it is measured on the table."""
    if advice.private:
        screen.print(marked(FOR_YOU_ALONE), markup=False)
    screen.print(marked(advice.words()), markup=False)
    screen.print(marked_table(carriers_table(advice)))
    if advice.proposals:
        screen.print(marked_table(proposals_table(advice)))
    for proposal in advice.proposals:
        if not _is_short(proposal):
            screen.print(marked(f"{_named(advice, proposal)}: {proposal.option}"), markup=False, soft_wrap=True)


def carriers_table(advice: Advice) -> Table:
    """What each column tells about the secret."""
    title = "What each column tells about the secret"
    table = Table(title=title, title_justify="left", header_style="bold")
    for heading in ("column", "alone, bits", "of the secret", "beside the proposed others, bits"):
        table.add_column(heading, justify="left" if heading == "column" else "right", overflow="fold")
    for one in advice.carriers[:MOST_CARRIERS]:
        beside = "too fine to tell" if one.beside_others is None else f"{one.beside_others:.3f}"
        table.add_row(escape(one.column), f"{one.alone:.3f}", f"{one.share:.1%}", beside)
    rest = advice.carriers[MOST_CARRIERS:]
    if rest:
        table.add_row(f"{len(rest)} more", f"at most {rest[0].alone:.3f}", f"{rest[0].share:.1%}", "")
    return table


def proposals_table(advice: Advice) -> Table:
    """Which columns could be released together, and at which cost."""
    table = Table(title="What could be released together", title_justify="left", header_style="bold")
    for heading in ("with", "columns (values)", "combinations", f"people in rare ones (< {FEW})", "kept"):
        left = heading in ("with", "columns (values)")
        table.add_column(heading, justify="left" if left else "right", overflow="fold")
    for proposal in advice.proposals:
        listed = ", ".join(
            f"{name} ({proposal.coarser[name]})" if name in proposal.coarser else name for name in proposal.columns
        )
        table.add_row(
            _named(advice, proposal),
            escape(listed),
            f"{proposal.combinations:,}",
            f"{proposal.share:.1%}",
            _kept(proposal),
        )
    return table


def _named(advice: Advice, proposal: Subset) -> str:
    """The option, or a number where that is long."""
    return proposal.option if _is_short(proposal) else f"[{advice.proposals.index(proposal) + 1}]"


def _is_short(proposal: Subset) -> bool:
    """Whether its option leaves the choice of columns and ranges to the fit."""
    return proposal.option.endswith("auto")


def _kept(proposal: Subset) -> str:
    if proposal.information_kept is None:
        return "–"
    least = "at least " if proposal.at_least else ""
    kept = f"{proposal.information_kept:.1%} of the information"
    cells = "" if proposal.cells_unchanged is None else f"{proposal.cells_unchanged:.1%} of cells, "
    return f"{least}{cells}{kept}"
