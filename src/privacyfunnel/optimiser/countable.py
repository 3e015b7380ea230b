"""Rows that can be counted: the release that changes fewest cells, found by its program or from what another one tells.

With hundreds of values and attackers who know columns, the program over pairs of values hardly begins in the time there
is. What keeps information is found there by splitting, and its outputs can be replaced by rows: after y comes x′ drawn
from P(x|y), which needs nothing but y, so that the promise is kept, and rows have the distribution that they had.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, NotCertified
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.optimiser.faithful.best_release import faithful
from privacyfunnel.optimiser.faithful.redrawing import redrawn
from privacyfunnel.optimiser.faithful.task import MOST_ENTRIES
from privacyfunnel.optimiser.program.state import Progress, interruptible
from privacyfunnel.optimiser.program.task import check_task
from privacyfunnel.optimiser.splitting.search import can_split, split_search
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.protocol import Protocol

TELLING = 0.5
"""Of the time, for what is told; the rest is for the program."""


def countable(
    joint: Joint | Sequence[Joint],
    notion: Notion,
    weights: Mapping[str, float] | None,
    gap: float,
    time_limit: float | None,
    progress: Callable[[Progress], None] | None,
) -> Protocol:
    """The better of what the program finds and, where there are too many values for it, of what can be redrawn."""
    started, told = ticks(), None
    if isinstance(joint, Joint):
        check_task(joint, notion, gap, time_limit, progress)
        if notion.confidence is None and joint.n_x**2 <= MOST_ENTRIES and can_split(joint, notion.made_for(joint)):
            told, interrupted = _redrawn(joint, notion.made_for(joint), weights, time_limit, started)
            left = None if time_limit is None else max(0.0, time_limit - (ticks() - started))
            time_limit = 0.0 if interrupted else left
    try:
        found = faithful(joint, notion, weights=weights, gap=gap, time_limit=time_limit, progress=progress).protocol()
    except (InvalidInput, NotCertified):
        if told is None:
            raise
        return told
    if told is None or cast(float, found.fidelity) >= cast(float, told.fidelity):
        return found
    if told.likeness is None or found.likeness is None:
        raise TypeError("rows that can be counted say how alike they are")
    bound = max(found.likeness.fidelity_bound, told.likeness.fidelity)
    return replace(told, likeness=replace(told.likeness, fidelity_bound=bound))


def _redrawn(
    joint: Joint, notion: Notion, weights: Mapping[str, float] | None, time_limit: float | None, started: float
) -> tuple[Protocol | None, bool]:
    """What an informative protocol tells, as rows, if that can be rounded; and whether somebody asked to stop."""
    seconds = None if time_limit is None else TELLING * time_limit
    with interruptible() as interrupted:
        protocol = split_search(joint, notion, seconds, None, interrupted, started)[0]
        try:
            return redrawn(protocol, joint, weights), interrupted.is_set()
        except NotCertified:
            return None, interrupted.is_set()
