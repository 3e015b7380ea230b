"""coarsen = search, as a fit asks for it: what is merged, by noisy counts of their own where the fit is private."""

from __future__ import annotations

from privacyfunnel.advice.accepting import CHOOSING
from privacyfunnel.advice.attackers import takes_known
from privacyfunnel.advice.merging import USUAL_SECONDS, Coarsening, coarsened
from privacyfunnel.errors import InvalidInput, InvalidJoint
from privacyfunnel.optimiser.program.task import check_task
from privacyfunnel.tables.counting import Counted
from privacyfunnel.tables.private_counts import MOST_CELLS
from privacyfunnel.tables.public_part import secret_values

SHARE = 0.5
"""Of the time limit, for this search; the rest is for the protocol."""


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
