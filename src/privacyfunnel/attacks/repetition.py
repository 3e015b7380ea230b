"""Repeated release: what the same table tells when it is released k times, with fresh randomness each time.

Y₁, …, Yₖ are independent given x, but not given s: each narrows down x, and x tells s. So levels do not simply add
up, and can be infinite from the second release on. They are computed, exactly, from the k-fold outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privacyfunnel.attacks.attack import joint_of
from privacyfunnel.attacks.bayes import bayes, level_by, reached_by, told_of_each
from privacyfunnel.attacks.outcomes import Outcomes
from privacyfunnel.errors import InvalidInput
from privacyfunnel.protocols.protocol import Protocol


@dataclass(frozen=True)
class Repeated:
    """What k releases of the same table give away."""

    releases: float
    """K; infinity for ever more releases."""
    level: float
    """The smallest ε at which all of them together keep this kind of promise, rounded up."""
    within: bool
    """Whether they keep the promise of the protocol, in exact arithmetic."""
    best_guess: Fraction
    """How often the best guess of the secret is right for somebody who sees all of them."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "releases": self.releases if math.isfinite(self.releases) else "ever more",
            "level": self.level,
            "within": self.within,
            "best_guess": float(self.best_guess),
        }


def repeated(
    joint_or_table: Any, protocol: Protocol, releases: Sequence[float] = (1, 2, math.inf)
) -> tuple[Repeated, ...]:
    """The exact level when the same table is released k times, for each k in `releases` (math.inf: ever more).

    >>> joint = Joint([[30, 10], [10, 50]])
    >>> tuple(round(found.level, 3) for found in repeated(joint, optimise(joint, LIP(0.1))))
    (0.1, 0.201, 0.875)
    """
    joint = joint_of(joint_or_table, protocol)
    once = Outcomes.of(protocol, joint)
    found = []
    for k in releases:
        outcomes, notion = _together(once, k), protocol.notion
        promised = [a for a in bayes(outcomes, joint, notion) if a.promised or not a.known]
        within = all(a.within for a in promised if a.promised)
        if notion.simple:
            level = notion.level_of(reached_by([a for a in promised if a.promised]))
        else:
            told = told_of_each(outcomes, joint, notion)
            level, within = level_by(told, notion.epsilon), all(one.within for _, _, one in told)
        found.append(Repeated(k, level, within, promised[0].after))
    return tuple(found)


def _together(once: Outcomes, releases: float) -> Outcomes:
    if releases == math.inf:
        return once.forever()
    if isinstance(releases, bool) or releases != int(releases) or releases < 1:
        raise InvalidInput(f"releases are whole numbers from 1 on, or math.inf; got {releases}")
    return once.repeated(int(releases)) if releases > 1 else once
