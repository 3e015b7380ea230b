"""Demands: what each clause of a promise asks in one view, for every distribution of a set.

Of a clause that limits lifts it is the limits; of one that limits the belief in an event E, P(E|y) ≤ b, it is b, since
P(E) differs from one distribution of the set to the other: (1 − b) P(E) P(y|E) ≤ b Σ_t≠E P(t) P(y|t).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.sets import SCALE, Possible


@dataclass(frozen=True, eq=False)
class Demand:
    """What is asked of the events of one clause, over a set of distributions in one view."""

    part: Possible
    limits: Limits
    """On lifts; none where the belief is limited."""
    about: tuple[int, ...] | None = None
    """The events whose lifts are limited; None: all of them."""
    most: float | None = None
    """The most that the belief in the one event it is about may be."""
    counted: Joint | None = None
    """The events and X, as counted."""

    @property
    def n_events(self) -> int:
        return int(self.part.prior.lower.shape[1])

    @property
    def events(self) -> Sequence[int]:
        """The events whose lifts, or whose belief, are limited."""
        return range(self.n_events) if self.about is None else self.about

    @property
    def two_events(self) -> bool:
        """Whether it is about two events, and asked by somebody who knows nothing beforehand."""
        return self.n_events == 2 and not self.part.view.known and len(self.part.cells) == 1

    def over(self, part: Possible) -> Demand:
        """The same over another set."""
        return replace(self, part=part)

    def slack(self) -> float:
        """How far, in logarithms, an output that says nothing is from the nearest limit; about, for a belief."""
        if self.most is None:
            return min(self.limits.named().values())
        (event,) = self.events
        return math.log(self.most) - math.log(float(self.part.prior.upper[:, event].max(initial=1)) / SCALE)


def demands_of(notion: Notion, joint: Joint) -> list[Demand]:
    """All that a promise over a set asks of channels from the values of `joint`."""
    return [
        Demand(part, clause.limits, clause.about, None, clause.joint)
        if clause.most is None
        else Demand(part, Limits(), clause.about, float(clause.most), clause.joint)
        for clause, parts in notion.possible_clauses(joint)
        for part in parts
    ]
