"""Private fits that aim inside their promise: `optimise`, for as much of the promise as rehearsals say holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.optimiser.optimise import optimise
from privacyfunnel.optimiser.program.state import Progress
from privacyfunnel.optimiser.rehearsal import Make, aim_for
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.protocol import Objective, Protocol

GAPS: dict[Objective, float] = {"information": 1e-3, "faithful": 1e-2}
"""What rehearsed protocols may leave to the best, in nats or cells: their lifts are the same."""
PART = 0.05
"""Of the time limit, for each rehearsed protocol: eight of them then take less than half of it."""
SECONDS = 5.0
"""For each of them, where there is no time limit."""


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
    aims = () if asked.get("exact") else aim_for(joint, promise, _make(objective, time_limit, asked))
    aim = aims[-1] if aims else None
    left = None if time_limit is None else max(0.0, time_limit - (ticks() - begun))
    inside = promise if aim is None or aim.share == 1 else promise.times(aim.share)
    protocol = optimise(joint, inside, objective=objective, time_limit=left, progress=progress, **asked)
    if aim is None:
        return protocol
    whole = protocol.notion if inside is promise else promise.made_for(joint)
    return replace(protocol, notion=whole, aim=aim)


def _make(objective: Objective, time_limit: float | None, asked: dict[str, Any]) -> Make:
    seconds = SECONDS if time_limit is None else min(SECONDS, PART * time_limit)
    weights = asked.get("weights")

    def make(joint: Joint, notion: Notion) -> Protocol:
        return optimise(joint, notion, objective=objective, weights=weights, gap=GAPS[objective], time_limit=seconds)

    return make
