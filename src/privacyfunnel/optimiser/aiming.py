"""Private fits that aim inside their promise: `optimise`, for as much of the promise as rehearsals say holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.optimiser.optimise import optimise
from privacyfunnel.optimiser.program.state import Progress, cancellable, interruptible, noticing_stops
from privacyfunnel.optimiser.rehearsal import Late, aim_for
from privacyfunnel.optimiser.rehearsed_cells import Make, PublishedCells
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.protocol import Objective, Protocol

GAPS: dict[Objective, float] = {"information": 1e-3, "faithful": 1e-2}
"""What rehearsed protocols may leave to the best, in nats or cells: their lifts are the same."""
PART = 0.06
"""Of the time limit, for each rehearsed protocol: eight of them then take less than half of it."""
SECONDS = 10.0
"""For each of them, at most, however long the limit is."""
REHEARSING, REMEDIES = 0.5, 0.25
"""Of the time limit, after which no more is rehearsed: for the aim, and for what would do where none does."""


def optimise_inside(
    joint: Joint,
    promise: Notion,
    *,
    objective: Objective = "information",
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    **asked: Any,
) -> Protocol:
    """The protocol that `optimise` finds for the part of the promise that holds in rehearsals; `protocol.aim` says it.

    Its promise is the whole one, which it keeps as well. Fits on exact counts, and those with a confidence, aim at all
    of it. Columns that stay exact say what they say, so nothing inside is aimed at for them.
    """
    begun = ticks()
    with interruptible() as stop, cancellable(stop):  # one Ctrl-C ends all searches
        published = PublishedCells.of(joint, rehearsing(objective, time_limit, asked.get("weights")))
        late = late_after(time_limit, REHEARSING)
        aim = None if published is None or asked.get("exact") else aim_for(published, promise, late)
        left = None if time_limit is None else max(0.0, time_limit - (ticks() - begun))
        inside = promise if aim is None else aim.inside(promise)
        protocol = optimise(joint, inside, objective=objective, time_limit=left, progress=progress, **asked)
    if aim is None:
        return protocol
    whole = protocol.notion if inside is promise else promise.made_for(joint)
    return replace(protocol, notion=whole, aim=aim)


def late_after(time_limit: float | None, part: float) -> Late:
    """Whether so much of the time limit has gone by since now."""
    begun = ticks()
    return lambda: time_limit is not None and ticks() - begun >= part * time_limit


def rehearsing(objective: Objective, time_limit: float | None, weights: Mapping[str, float] | None) -> Make:
    """How rehearsed protocols are made: as `optimise` does, with less time and a larger gap."""
    seconds = SECONDS if time_limit is None else min(SECONDS, PART * time_limit)

    def make(joint: Joint, notion: Notion) -> tuple[Protocol, bool]:
        own = {name: weight for name, weight in (weights or {}).items() if name in joint.attributes} or None
        with noticing_stops() as late:
            found = optimise(joint, notion, objective=objective, weights=own, gap=GAPS[objective], time_limit=seconds)
        return found, late.is_set()

    return make
