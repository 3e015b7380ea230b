"""The exact level of everything that was released of somebody, release by release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.proof.certificate import certify, certify_entries
from privacyfunnel.proof.histories import Past, entries_of_histories
from privacyfunnel.protocols.protocol import Protocol


@dataclass(frozen=True)
class LevelOfHistory:
    """What the first few releases tell together."""

    releases: int
    level: float
    """The smallest ε at which they keep the kind of promise that the last protocol makes, rounded up."""
    kind: str

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {"releases": self.releases, "level": self.level if math.isfinite(self.level) else None}

    def words(self) -> str:
        """The same in a line."""
        which = "The first release" if self.releases == 1 else f"The first {self.releases} releases together"
        return f"{which}: {self.kind} level {self.level:.6g}."


def levels_of_history(follow_up: Protocol, joint: Joint) -> tuple[LevelOfHistory, ...]:
    """The level on `joint` of the first release, of the first two, and so on, for the histories that are followed."""
    notion, levels = follow_up.notion, []
    for k, protocol in enumerate(follow_up.earlier, start=1):
        histories = np.unique(follow_up.by_history.histories[:, : protocol.releases], axis=0)
        found = certify_entries(entries_of_histories(Past(protocol, joint), histories), joint, notion)
        levels.append(LevelOfHistory(k, found.level, notion.name))
    together = certify(follow_up, joint)
    return (*levels, LevelOfHistory(follow_up.releases, together.level, notion.name))
