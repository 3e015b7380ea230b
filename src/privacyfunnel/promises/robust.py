"""Robust promises: kept for every distribution that the counts leave open, not for the counted people alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.promises.confidence import FAMILIES, Within, confidence_set, words_for
from privacyfunnel.promises.limits import Limits, View
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.sets import Possible

DEFAULT_WITHIN: Within = "intervals"
"""Files do not mention it: it was the only one once."""


@dataclass(frozen=True)
class Robust(Notion):
    """A promise that holds for every distribution in the confidence set of a joint's counts.

    If the people are a random sample, the promise is kept for the population they come from with probability at
    least `confidence`, over the drawing of the sample.
    """

    promise: Notion
    """What is promised."""
    confidence: float = 0.95
    within: Within = DEFAULT_WITHIN
    """Which set of distributions."""
    chosen: Sequence[str] = field(default=(), repr=False)
    """Columns whose ranges or values were chosen from the same people, which the set does not account for."""
    epsilon: float = field(init=False, repr=False, compare=False)
    name: ClassVar[str] = "robust"

    def __post_init__(self) -> None:
        if not isinstance(self.promise, Notion):
            raise InvalidPromise(f"robust needs a notion such as LIP(0.5), not {type(self.promise).__name__}")
        if self.promise.confidence is not None:
            raise InvalidPromise("the promise is robust already")
        limits = self.promise.limits
        if min(limits.lower, limits.upper, limits.spread) <= 0:
            raise InvalidPromise("over several distributions only a constant keeps ε = 0; give a positive ε")
        object.__setattr__(self, "confidence", checked_confidence(self.confidence))
        if not isinstance(self.within, str) or self.within not in FAMILIES:
            raise InvalidPromise(f"within must be one of {', '.join(FAMILIES)}; got {self.within!r}")
        names: Any = self.chosen
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise InvalidPromise("chosen is a list of columns")
        object.__setattr__(self, "chosen", tuple(names))
        if not all(isinstance(name, str) for name in self.chosen):
            raise InvalidPromise("chosen is a list of columns")
        object.__setattr__(self, "epsilon", self.promise.epsilon)

    @property
    def limits(self) -> Limits:
        return self.promise.limits

    def views(self, joint: Joint) -> list[View]:
        return self.promise.views(joint)

    def possible(self, joint: Joint) -> list[Possible]:
        return confidence_set(joint, self.views(joint), self.confidence, self.within)

    def made_for(self, joint: Joint) -> Self:
        return replace(self, chosen=joint.chosen)

    @classmethod
    def at(cls, epsilon: float) -> Self:
        raise InvalidPromise(f"robust needs to know which promise it makes; use robust(LIP({epsilon:g}))")

    def times(self, share: float) -> Self:
        return replace(self, promise=self.promise.times(share))

    def as_dict(self) -> dict[str, Any]:
        content = {"notion": self.name, "confidence": self.confidence, "promise": self.promise.as_dict()}
        content = content if self.within == DEFAULT_WITHIN else {**content, "within": self.within}
        return {**content, "chosen": list(self.chosen)} if self.chosen else content

    def words(self) -> str:
        how = (
            "" if self.within == DEFAULT_WITHIN else f"; what chance leaves open is bounded by {words_for(self.within)}"
        )
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


def robust(notion: Notion, confidence: float = 0.95, within: Within = DEFAULT_WITHIN) -> Robust:
    """The promise of `notion` for every distribution in the confidence set of a joint's counts.

    The set is made of "intervals", one for each share, of a "ball" around all shares together, or of "both".

    >>> robust(LIP(0.5), confidence=0.99)
    Robust(promise=LIP(epsilon=0.5), confidence=0.99, within='intervals')
    """
    return Robust(notion, confidence, within)


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
