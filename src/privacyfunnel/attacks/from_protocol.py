"""From the protocol alone: how many people's secrets a protocol file names, without a single released row.

A protocol that was fitted on exact counts is a function of the secrets (docs/security.md). These attacks
read them back: *two colours* and *balance of pairs* from the file and public statistics, *testing both
secrets* with everybody else's record in hand, and *learned*, a model trained on other people's secrets. Of a private
fit they can only read what noise left: *noisy counts* does so best. They only look at the protocol.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privacyfunnel.attacks.balance import by_balance
from privacyfunnel.attacks.both_secrets import Trial
from privacyfunnel.attacks.noisy_counts import NoisyTrial
from privacyfunnel.attacks.outcomes import Outcomes
from privacyfunnel.attacks.partners import Partners
from privacyfunnel.attacks.two_colours import by_two_colours
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Integers

GROUPS = {"alone": (1, 1), "2 to 5": (2, 5)}
"""Groups of people: how many share their combination of values, at least and at most."""
MOST_TESTED = 2_000
"""People of a group on whom every secret is tried, evenly spread over all: more would tell the same share."""
MOST_COUNTED = 10_000_000
"""People whose counts the balance works out one number at a time: the numbers that are open take 8 bytes each."""
LARGEST = 2**53
"""A count that float64 still holds; who shares their values with more is not rare."""
FEWEST_EXAMPLES = 20
"""Values of X: a model that sees fewer learns nothing."""


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


def from_protocol(
    protocol: Protocol, joint: Joint, *, learned: bool = False, seed: int | None = None
) -> tuple[Named, ...]:
    """Whose secrets `protocol` tells by itself, counted over the people in `joint` whose combination few share.

    `joint` has the exact counts of the table; of probabilities, which are nobody's, nothing is told. `learned` also
    trains a model, which needs scikit-learn and at least FEWEST_EXAMPLES values; `seed` makes its folds repeatable.
    Balance of pairs is for two secrets. Of a promise with a confidence, both secrets are tested on a few people only.
    Groups that nobody is in are left out.

    >>> joint = Joint([[30, 9, 1, 0], [10, 50, 0, 1]])
    >>> tuple((found.attack, found.right, found.people) for found in from_protocol(optimise(joint, LIP(0.1)), joint))
    (('two colours', 2, 2), ('balance of pairs', 2, 2), ('testing both secrets', 2, 2))
    """
    people = np.minimum(joint.weights.sum(axis=0), LARGEST).astype(np.int64)
    groups = {name: np.flatnonzero((people >= few) & (people <= most)) for name, (few, most) in GROUPS.items()}
    groups = {name: members for name, members in groups.items() if members.size}
    if not (joint.counted and groups):
        return ()
    outcomes = Outcomes.of(protocol, joint)
    names = _names(protocol, joint, outcomes, people, learned, seed)
    trial, found = Trial.of(protocol, joint, outcomes), []
    noisy = NoisyTrial(protocol.noise, joint) if protocol.noise is not None else None
    for group, members in groups.items():
        weights = joint.weights[:, members].astype(np.int64)
        found += [_named(attack, group, weights, named[members]) for attack, named in names.items()]
        usual = np.argsort(-joint.p_s, kind="stable")
        found.append(_tested("testing both secrets", trial, trial.affordable, group, weights, members, usual))
        if noisy is not None:
            found.append(_tested("noisy counts", noisy, MOST_TESTED, group, weights, members, usual))
    return tuple(found)


def _names(
    protocol: Protocol, joint: Joint, outcomes: Outcomes, people: Integers, learned: bool, seed: int | None
) -> dict[str, Integers]:
    """For each attack that names one secret for everybody who has x, these secrets."""
    partners = Partners.of(outcomes, people)
    names = {"two colours": by_two_colours(partners, joint, people)}
    if joint.n_s == 2 and joint.total <= MOST_COUNTED and protocol.notion.simple:
        names["balance of pairs"] = by_balance(outcomes, partners, joint, people, protocol.notion)
    if learned and joint.n_x >= FEWEST_EXAMPLES:
        from privacyfunnel.attacks.learned_from_protocol import by_learning

        names["learned"] = by_learning(partners, joint, people, seed)
    return names


def _named(attack: str, group: str, weights: Integers, named: Integers) -> Named:
    """One secret was named for all who have the same value: weights[s, i] people have the i-th one and s."""
    right = int(weights[named, np.arange(len(named))].sum())
    return Named(attack, group, int(weights.sum()), right, int(weights.sum(axis=1).max()))


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
