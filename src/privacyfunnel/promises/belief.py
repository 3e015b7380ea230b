"""Limits on belief itself: whoever sees a released row gives "ill" at most a probability of 5%."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Self, cast

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.promises.by_value import Named, check_names, named, of_value, places_of, text_of
from privacyfunnel.promises.clause import Clause
from privacyfunnel.promises.limits import PERFECT_LEVEL, Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.views import View


@dataclass(frozen=True)
class Belief(Notion):
    """P(s|y) ≤ b_s for some values s of the secret: `Belief({"ill": 0.05})`.

    The release tells P(s) itself, so b_s must be above it. Its `epsilon` is the largest b; `level` is the largest
    belief reached, or with several values the smallest largest b that allows what is reached, all in proportion.
    """

    most: Mapping[Any, float] | Named
    places: tuple[int, ...] = field(default=(), repr=False)
    """The numbers of these values among all of the secret's, where only these are known."""
    share: float = field(default=1.0, repr=False)
    """Of ln b/P(s), what beliefs may grow by: less than 1 for a stricter promise."""
    epsilon: float = field(init=False, repr=False, compare=False)
    name: ClassVar[str] = "belief"
    title: ClassVar[str] = "the belief in a value stays below a limit of its own"

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", named(self.most, "the most belief", _checked))
        object.__setattr__(self, "places", tuple(self.places))
        if any(type(place) is not int or place < 0 for place in self.places):
            raise InvalidPromise("the numbers of the values that beliefs are limited in are whole, from 0 on")
        object.__setattr__(self, "epsilon", max(most for _, most in self._named))
        if isinstance(self.share, bool) or not isinstance(self.share, int | float) or not 0 < self.share <= 1:
            raise InvalidPromise(f"a share of a limit on belief is a number above 0 and up to 1; got {self.share!r}")

    @property
    def _named(self) -> Named:
        return cast(Named, self.most)

    @property
    def simple(self) -> bool:
        return False

    @property
    def beliefs_limited(self) -> int:
        return len(self._named)

    @property
    def limits(self) -> Limits:
        """Only upwards; how far in terms of factors depends on P(s): at most to 1."""
        return Limits(upper=math.inf)

    @classmethod
    def at(cls, epsilon: float) -> Self:
        raise InvalidPromise('a limit on belief is one for values of the secret; use Belief({"ill": 0.05})')

    def times(self, share: float) -> Self:
        return replace(self, share=self.share * share)

    def made_for(self, joint: Joint) -> Self:
        """Refused where the statistics themselves are above the limit: the release tells them anyway."""
        places = self._places(joint)
        for (value, most), s in zip(self._named, places, strict=True):
            prior = Fraction(int(joint.weights[s].sum()), joint.total)
            if exactly(most) <= prior * (1 + Fraction(PERFECT_LEVEL)):
                raise InvalidPromise(
                    f"{joint.secret} = {text_of(value)} has a share of {float(prior):.2%} in the statistics, which any "
                    f"release tells; no row can keep the belief at {most:.4g} or below: allow more"
                )
        return replace(self, places=tuple(places))

    def clauses(self, joint: Joint) -> list[Clause]:
        views = [View.of((), joint)]
        found = []
        for (value, most), s in zip(self._named, self._places(joint), strict=True):
            own = of_value(joint, s)
            prior = float(own.p_s[0])
            upper = self.share * (math.log(most) - math.log(prior))
            allowed = exactly(most) if self.share == 1 else min(exactly(most), Fraction(prior * math.exp(upper)))
            found.append(Clause(own, Limits(upper=upper), views, (0,), allowed, f"{joint.secret} = {text_of(value)}"))
        return found

    def _places(self, joint: Joint) -> list[int]:
        """The number of each named value; one that nobody has is refused, as it may be the name that is wrong."""
        if not joint.numbered:
            check_names(self._named, joint)
            return [cast(int, place) for place in places_of(self._named, joint)]
        if len(self.places) != len(self._named) or max(self.places) >= joint.n_s:
            raise InvalidPromise("the promise does not say which values of the secret it names")
        return list(self.places)

    def as_dict(self) -> dict[str, Any]:
        content: dict[str, Any] = {"notion": self.name, "most": [[value, most] for value, most in self._named]}
        content |= {"places": list(self.places)} if self.places else {}
        return content | ({"share": self.share} if self.share != 1 else {})

    def expression(self) -> str:
        return f"pf.Belief({dict(self._named)!r})"

    def asked(self) -> dict[str, Any] | None:
        limits = {text_of(value): most for value, most in self._named}
        return None if len(limits) < len(self._named) else {"notion": self.name, "epsilon": limits}

    def parts(self) -> list[tuple[str, str]]:
        return [(f"{text_of(value)} believed at most", _percent(most)) for value, most in self._named]

    def words(self) -> str:
        each = ", and ".join(f"{text_of(value)} at most {_percent(most)}" for value, most in self._named)
        return (
            f"Whoever sees a released row, and knows the statistics, gives the secret being {each} probability. "
            "Of other values of the secret, and of beliefs that fall, nothing is promised."
        )


def exactly(most: float) -> Fraction:
    """The number that was typed: 0.05 is 1/20, not the float64 next to it."""
    return Fraction(repr(most))


def _percent(share: float) -> str:
    """A share with all its digits.

    >>> _percent(0.05), _percent(0.125)
    ('5%', '12.5%')
    """
    return f"{float(100 * exactly(share)):.12g}%"


def _checked(most: Any, what: str) -> float:
    if isinstance(most, bool) or not isinstance(most, int | float) or not 0 < most < 1:
        raise InvalidPromise(f"{what} is a number between 0 and 1, such as 0.05; got {most!r}")
    return float(most)
