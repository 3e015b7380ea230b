"""From the protocol alone: how many people's secrets a protocol file names, without a single released row.

A protocol that was fitted on exact counts is a function of the secrets (docs/security.md). *Testing both secrets* reads
them back, with everybody else's record in hand. Of a private fit it can only read what noise left: *noisy counts* does
so best. They only look at the protocol.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privacyfunnel.attacks.both_secrets import Trial
from privacyfunnel.attacks.noisy_counts import NoisyTrial
from privacyfunnel.attacks.outcomes import Outcomes
from privacyfunnel.distribution.column import EXACT
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Integers

GROUPS = {"alone": (1, 1), "2 to 5": (2, 5)}
"""Groups of people: how many share their combination of values, at least and at most."""
MOST_TESTED = 2_000
"""People of a group on whom every secret is tried, evenly spread over all: more would tell the same share."""


@dataclass(frozen=True)
class Named:
    """How many people of a group had their secret named right by an attack that sees no released row."""

    attack: str
    group: str
    """"alone": nobody shares their combination of values; "2 to 5": so many people have it."""
    people: int
    right: int
    guessing: int
    """How many would be right by naming the same secret for all of them, the best one."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON; no secret is in it."""
        return asdict(self)


def from_protocol(protocol: Protocol, joint: Joint) -> tuple[Named, ...]:
    """Whose secrets `protocol` tells by itself, counted over the people in `joint` whose combination few share.

    `joint` has the exact counts of the table; of probabilities, which are nobody's, nothing is told. Of a promise with
    a confidence, both secrets are tested on a few people only. Groups that nobody is in are left out.

    >>> joint = Joint([[30, 9, 1, 0], [10, 50, 0, 1]])
    >>> tuple((found.attack, found.right, found.people) for found in from_protocol(optimise(joint, LIP(0.1)), joint))
    (('testing both secrets', 2, 2),)
    """
    people = np.minimum(joint.weights.sum(axis=0), EXACT).astype(np.int64)
    groups = {name: np.flatnonzero((people >= few) & (people <= most)) for name, (few, most) in GROUPS.items()}
    groups = {name: members for name, members in groups.items() if members.size}
    if not (joint.counted and groups):
        return ()
    trial, found = Trial.of(protocol, joint, Outcomes.of(protocol, joint)), []
    noisy = NoisyTrial(protocol.noise, joint) if protocol.noise is not None else None
    usual = np.argsort(-joint.p_s, kind="stable")
    for group, members in groups.items():
        weights = joint.weights[:, members].astype(np.int64)
        found.append(_tested("testing both secrets", trial, trial.affordable, group, weights, members, usual))
        if noisy is not None:
            found.append(_tested("noisy counts", noisy, MOST_TESTED, group, weights, members, usual))
    return tuple(found)


def _tested(
    attack: str,
    trial: Trial | NoisyTrial,
    affordable: int,
    group: str,
    weights: Integers,
    members: Integers,
    usual: Integers,
) -> Named:
    """Every secret is tried for every person, or for some of them if that takes too long."""
    s, place = np.nonzero(weights)
    count = weights[s, place]
    s, x = np.repeat(s, count), np.repeat(members[place], count)
    most = min(len(s), MOST_TESTED, affordable)
    tried = np.unique(np.linspace(0, len(s) - 1, most).astype(np.int64))
    right = sum(trial.names(int(x[i]), int(s[i]), usual) == s[i] for i in tried)
    return Named(attack, group, len(tried), int(right), int(np.bincount(s[tried]).max()))
