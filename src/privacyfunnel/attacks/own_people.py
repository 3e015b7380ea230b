"""Own people: what an attacker finds in a release of one's own table, on exact counts, for the steward alone."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.optimiser.rehearsed_lifts import (
    SURE,
    Group,
    clauses_of,
    groups_found,
    share_within,
    together,
)
from privacyfunnel.protocols.aim import GROUP
from privacyfunnel.protocols.protocol import Protocol

SEED = 0
"""Of who is in which half of the people: the same table is always told the same."""


@dataclass(frozen=True)
class Found:
    """The lift of a value of the secret in a group of 5% of the rows, with a 95% interval."""

    lift: float
    least: float
    most: float

    @classmethod
    def of(cls, group: Group) -> Found:
        """K of n rows have the value, give or take two times √k."""
        count, prior = float(group.own[group.about]), float(group.whole[group.about] / group.whole.sum())
        error = SURE * math.sqrt(max(count, 1.0)) / (float(group.own.sum()) * prior) if prior else 0.0
        return cls(group.lift, max(0.0, group.lift - error), group.lift + error)

    def words(self) -> str:
        """It, with its interval."""
        return f"{self.lift:.2f} ({self.least:.2f} to {self.most:.2f})"


@dataclass(frozen=True)
class OwnPeople:
    """The lifts that somebody finds who knows the secrets of one half of the people, in the rows of the other half."""

    within: float
    """The share of rows whose lifts are within the promise, or beyond it by no more than chance."""
    lowest: Found
    highest: Found
    promised: str
    beyond: bool
    """Whether a group is beyond the promise by more than chance."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    def words(self) -> str:
        """All of it, marked as the steward's; what is beyond the promise says so first."""
        first = "For you alone: BEYOND THE PROMISE. An" if self.beyond else "For you alone: an"
        return (
            f"{first} attacker who knows half of the secrets of your table finds groups of {GROUP:.0%} of the rows in "
            f"which beliefs change by factors of {self.lowest.words()} to {self.highest.words()}; promised: "
            f"{self.promised}."
        )


def own_people(protocol: Protocol, joint: Joint) -> OwnPeople:
    """Measure a protocol on the exact counts of a table whose columns are read as its own are."""
    faint = None if protocol.noise is None or len(protocol.noise.counts) != joint.n_s else protocol.noise.faint
    clauses = clauses_of(protocol.notion.made_for(joint), joint, faint)
    drawn = protocol.step.drawn(joint)
    groups = together([groups_found(drawn, clauses, np.random.default_rng(SEED))])
    low, high = min(groups, key=lambda group: group.lift), max(groups, key=lambda group: group.lift)
    return OwnPeople(
        share_within(drawn, joint.total, clauses),
        Found.of(low),
        Found.of(high),
        protocol.notion.in_short(),
        any(group.surely_beyond for group in groups),
    )
