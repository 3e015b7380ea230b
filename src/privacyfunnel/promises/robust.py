"""Robust promises: kept for every distribution that the counts leave open, not for the counted people alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.promises.clause import Clause
from privacyfunnel.promises.confidence import KINDS_OF_SETS, Chains, Within, confidence_set, words_for
from privacyfunnel.promises.confidence_bounds import OUTWARDS
from privacyfunnel.promises.limits import PERFECT_LEVEL, Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.sets import SCALE, Possible
from privacyfunnel.promises.views import View

MOST_COMBINATIONS = 5_000
"""Of the attributes' values, for nested sets, which speak of all, seen or not: protocols have a row for each."""


@dataclass(frozen=True)
class Robust(Notion):
    """A promise that holds for every distribution in the confidence set of a joint's counts.

    If the people are a random sample, the promise is kept for the population they come from with probability at
    least `confidence`, over the drawing of the sample.
    """

    promise: Notion
    """What is promised."""
    confidence: float = 0.95
    within: Within | None = None
    """Which set of distributions. None: nested, if there are several attributes with not too many combinations of
    values, else intervals; `made_for` decides."""
    chains: Chains = field(default=(), repr=False)
    """Of a nested set: orders of attributes, by which tables are cut finer and finer. None: in every order."""
    chosen: Sequence[str] = field(default=(), repr=False)
    """Columns whose ranges or values were chosen from the same people, which the set does not account for."""
    epsilon: float = field(init=False, repr=False, compare=False)
    name: ClassVar[str] = "robust"

    def __post_init__(self) -> None:
        if not isinstance(self.promise, Notion):
            raise InvalidPromise(f"robust needs a notion such as LIP(0.5), not {type(self.promise).__name__}")
        if self.promise.confidence is not None:
            raise InvalidPromise("the promise is robust already")
        if self.promise.strictest <= 0:
            raise InvalidPromise("over several distributions only a constant keeps ε = 0; give a positive ε")
        object.__setattr__(self, "confidence", checked_confidence(self.confidence))
        if self.within is not None and (not isinstance(self.within, str) or self.within not in KINDS_OF_SETS):
            raise InvalidPromise(f"within must be one of {', '.join(KINDS_OF_SETS)}; got {self.within!r}")
        object.__setattr__(self, "chosen", _names(self.chosen, "chosen is a list of columns"))
        what = 'chains are lists of columns, such as [["sex", "town"]]'
        if isinstance(self.chains, str) or not isinstance(self.chains, Iterable):
            raise InvalidPromise(what)
        object.__setattr__(self, "chains", tuple(_names(chain, what) for chain in self.chains))
        if self.chains and self.within not in (None, "nested"):
            raise InvalidPromise("chains of columns are for nested sets")
        object.__setattr__(self, "epsilon", self.promise.epsilon)

    @property
    def limits(self) -> Limits:
        return self.promise.limits

    def views(self, joint: Joint) -> list[View]:
        return self.promise.views(joint)

    def sets_known(self, joint: Joint) -> int:
        return self.promise.sets_known(joint)

    @property
    def simple(self) -> bool:
        return self.promise.simple

    def clauses(self, joint: Joint) -> list[Clause]:
        return self.promise.clauses(joint)

    def possible(self, joint: Joint) -> list[Possible]:
        return confidence_set(joint, self.views(joint), self.confidence, self.kind_of_set(joint), self.chains)

    def possible_clauses(self, joint: Joint) -> list[tuple[Clause, list[Possible]]]:
        """Each clause with its set. All sets hold at once: different ones share the doubt.

        Clauses that tell the same events apart, for the same attackers, have the same set, whatever each says of them.
        How many sets there are follows from the promise and the values of the secret, never from counts.
        """
        if self.simple:
            return super().possible_clauses(joint)
        clauses, kind = self.clauses(joint), self.kind_of_set(joint)
        if self.promise.beliefs_limited and joint.n_x < 2:  # a set is about what values of X tell
            raise InvalidPromise("a limit on belief for the population needs several values of X to be released")
        if sum(clause.most is not None for clause in clauses) < self.promise.beliefs_limited:
            raise InvalidPromise(
                "nobody in this table has some value that beliefs are limited in: nothing is known of the population's"
            )
        doubt = (1 - self.confidence) * (1 - OUTWARDS) / len({_told_apart(clause) for clause in clauses})
        return [
            (clause, confidence_set(clause.joint, list(clause.views), 1 - doubt, kind, self.chains))
            for clause in clauses
        ]

    def kind_of_set(self, joint: Joint) -> Within:
        """Which set is meant for channels from the values of `joint`: nested only where there is one for each."""
        whole = (len(joint.columns) > 1 or joint.noise is not None) and joint.n_x == joint.combinations
        return self.within or ("nested" if whole or self.chains else "intervals")

    def of_values_that_occur(self) -> Self:
        return replace(self, within=self.within or "intervals")

    def made_for(self, joint: Joint) -> Self:
        few = joint.combinations <= MOST_COMBINATIONS
        several = joint.noise is not None or (len(joint.columns) > 1 and few)
        usual: Within = "nested" if self.chains or several else "intervals"

        made = replace(self, promise=self.promise.made_for(joint), chosen=joint.chosen, within=self.within or usual)
        domain = made.domain(joint)  # refused before anything is sought
        if self.promise.beliefs_limited:
            made._check_shares(domain)
        return made

    def _check_shares(self, joint: Joint) -> None:
        """Refuse limits on belief that the population's own share of a value may be above: any release tells it."""
        for clause, parts in self.possible_clauses(joint):
            if clause.most is None:
                continue
            (event,) = clause.about or ()
            for part in parts:
                order = [event, *(s for s in range(clause.joint.n_s) if s != event)]
                most = Fraction(part.prior.leaning((0,), order)[event], SCALE)
                if clause.most <= most * (1 + Fraction(PERFECT_LEVEL)):
                    raise InvalidPromise(
                        f"up to {_percent_above(most)} of the population may have {clause.subject} at "
                        f"{full_percent(self.confidence)} confidence, which any release tells; no row can keep the "
                        f"belief at {float(clause.most):.4g} or below: allow more, or go without a confidence"
                    )

    def domain(self, joint: Joint) -> Joint:
        if self.within != "nested":
            return joint
        if joint.combinations > MOST_COMBINATIONS:
            raise InvalidPromise(
                f"there are {joint.combinations:,} combinations of values, too many for a nested set "
                f"({MOST_COMBINATIONS:,}); use fewer or coarser columns, or another set"
            )
        return joint.completed

    @classmethod
    def at(cls, epsilon: float) -> Self:
        raise InvalidPromise(f"robust needs to know which promise it makes; use robust(LIP({epsilon:g}))")

    def times(self, share: float) -> Self:
        return replace(self, promise=self.promise.times(share))

    def as_dict(self) -> dict[str, Any]:
        content: dict[str, Any] = {"notion": self.name, "confidence": self.confidence, "within": self.within}
        content["promise"] = self.promise.as_dict()
        content = {**content, "chains": [list(chain) for chain in self.chains]} if self.chains else content
        return {**content, "chosen": list(self.chosen)} if self.chosen else content

    def asked(self) -> dict[str, Any] | None:
        plain = self.promise.asked()
        if plain is None:
            return None
        chance = {"confidence": self.confidence, "within": self.within, "chain": self.chains or None}
        return {**plain, **{name: value for name, value in chance.items() if value is not None}}

    def parts(self) -> list[tuple[str, str]]:
        return self.promise.parts()

    def words(self) -> str:
        nested = self.within == "nested"
        how = f"; what chance leaves open is bounded by {words_for('nested')}" if nested else ""
        return (
            f"{self.promise.words()} This holds not for the counted people alone, but with "
            f"{full_percent(self.confidence)} confidence for the population of which they are a random sample"
            f"{how}.{self._but()}"
        )

    def _but(self) -> str:
        """What the confidence leaves out."""
        if not self.chosen:
            return ""
        which = f"The ranges or values of {', '.join(self.chosen)} were chosen from the same people"
        return f" {which}, which this confidence does not account for."


def robust(notion: Notion, confidence: float = 0.95, within: Within | None = None, chains: Chains = ()) -> Robust:
    """The promise of `notion` for every distribution in the confidence set of a joint's counts.

    The set is made of "intervals", one for each share, or "nested": of intervals for the cells of all marginal tables,
    or of those that `chains` of columns name. By default it is nested wherever there are several columns.

    >>> robust(LIP(0.5), confidence=0.99, within="intervals")
    Robust(promise=LIP(epsilon=0.5), confidence=0.99, within='intervals')
    """
    return Robust(notion, confidence, within, chains)


def _told_apart(clause: Clause) -> tuple[object, ...]:
    """What the set of a clause is about: which values of the secret are told apart, and what attackers know."""
    events = range(clause.joint.n_s) if clause.joint.events is None else clause.joint.events.tolist()
    members: dict[int, list[int]] = {}
    for s, event in enumerate(events):
        members.setdefault(event, []).append(s)
    return frozenset(map(tuple, members.values())), tuple(sorted(view.known for view in clause.views))


def _percent_above(share: Fraction) -> str:
    """A share for people, rounded up to a hundredth of a percent."""
    return f"{math.ceil(10_000 * share) / 100:.2f}%"


def _names(names: Any, what: str) -> tuple[str, ...]:
    """A list of names, or one clear line."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidPromise(what)
    found = tuple(names)
    if not all(isinstance(name, str) for name in found):
        raise InvalidPromise(what)
    return found


def checked_confidence(confidence: float) -> float:
    """A confidence that makes sense, as a float."""
    number = isinstance(confidence, int | float | np.floating) and not isinstance(confidence, bool)
    if not number or not 0 < confidence < 1:
        raise InvalidPromise(f"confidence must be a number between 0 and 1, such as 0.95; got {confidence!r}")
    return float(confidence)


def full_percent(share: float) -> str:
    """A confidence for people, with all its digits.

    >>> full_percent(0.95), full_percent(0.999)
    ('95%', '99.9%')
    """
    return f"{round(100 * share, 10):.12g}%"
