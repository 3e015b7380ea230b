"""The notions: what a released value may say about the secret, each as limits and views."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import combinations
from typing import Any, ClassVar, Self

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidPromise, TooManyAttackers
from privacyfunnel.numeric.leaving import while_awaited
from privacyfunnel.promises.belief import Belief
from privacyfunnel.promises.by_value import PerValue
from privacyfunnel.promises.limits import PERFECT_LEVEL, Limits
from privacyfunnel.promises.notion import Notion, OneEpsilon, checked, factor
from privacyfunnel.promises.ordered import Ordered
from privacyfunnel.promises.robust import Robust
from privacyfunnel.promises.several import Promises
from privacyfunnel.promises.views import View

MOST_FAMILIES = 4096
"""Sets of attributes that an attacker may know, 2¹²: each brings rows of its own to search with and to prove."""


def numbers_of(known: Sequence[str], joint: Joint) -> list[int]:
    """The numbers of the attributes that an attacker is said to know."""
    strange = [name for name in known if name not in joint.attributes]
    if strange:
        raise InvalidPromise(f"known names {strange[0]!r}, which is none of the attributes")
    return [joint.attributes.index(name) for name in known]


def number_of_families(attributes: int, most: int) -> int:
    """How many sets of at most so many of some attributes there are.

    >>> number_of_families(13, 12), number_of_families(13, 2)
    (8191, 92)
    """
    return sum(math.comb(attributes, size) for size in range(most + 1))


def families(usable: Sequence[int], most: int) -> list[tuple[int, ...]]:
    """Every set of at most so many of these attributes, small ones first.

    >>> families([0, 2], 1)
    [(), (0,), (2,)]
    """
    count = number_of_families(len(usable), most)
    if count > MOST_FAMILIES:
        raise TooManyAttackers(f"{count:,} sets of attributes that an attacker may know are too many", known=2)
    return [J for size in range(min(most, len(usable)) + 1) for J in combinations(usable, size)]


@dataclass(frozen=True)
class LDP(OneEpsilon):
    """ε-LDP with respect to S: P(y|s) ≤ e^ε P(y|s′) for all s, s′ and y.

    Ordinary local differential privacy, which hides X itself, is this with S = X.
    """

    name: ClassVar[str] = "ldp"
    title: ClassVar[str] = "odds between two values of the secret change by at most a factor"

    @property
    def limits(self) -> Limits:
        return Limits(spread=self.epsilon)

    def words(self) -> str:
        return (
            "For any two values of the secret, the odds between them change by at most a factor "
            f"{factor(self.epsilon)} when a released row is seen."
        )


@dataclass(frozen=True)
class LIP(PerValue):
    """ε-LIP: e^-ε ≤ P(s|y) / P(s) ≤ e^ε for every secret s and output y."""

    name: ClassVar[str] = "lip"
    title: ClassVar[str] = "beliefs grow or fall by at most a factor"

    @property
    def limits(self) -> Limits:
        return Limits(lower=self.epsilon, upper=self.epsilon)

    def words(self) -> str:
        return (
            "Whoever sees a released row can raise or lower their belief in any value of the secret "
            f"by at most a factor {factor(self.epsilon)}."
        )


@dataclass(frozen=True)
class ALIP(Notion):
    """(ε_l, ε_u)-ALIP: e^-lower ≤ P(s|y) / P(s) ≤ e^upper.

    Its `epsilon` is the larger of the two; `level` is the smallest ε reached with both in this proportion.
    """

    lower: float
    upper: float
    epsilon: float = field(init=False, repr=False, compare=False)
    name: ClassVar[str] = "alip"
    title: ClassVar[str] = "beliefs grow by at most one factor and fall by at most another"

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", checked(self.lower, "the lower ε"))
        object.__setattr__(self, "upper", checked(self.upper, "the upper ε"))
        object.__setattr__(self, "epsilon", max(self.lower, self.upper))

    @property
    def limits(self) -> Limits:
        return Limits(lower=self.lower, upper=self.upper)

    @classmethod
    def at(cls, epsilon: float) -> Self:
        return cls(epsilon, epsilon)

    def words(self) -> str:
        return (
            "Whoever sees a released row can raise their belief in any value of the secret by at most "
            f"a factor {factor(self.upper)} and lower it by at most a factor {factor(self.lower)}."
        )


@dataclass(frozen=True)
class PML(PerValue):
    """ε-PML with respect to S: P(s|y) / P(s) ≤ e^ε. Ruling a value out is allowed."""

    name: ClassVar[str] = "pml"
    title: ClassVar[str] = "beliefs grow by at most a factor; they may fall to nothing"

    @property
    def limits(self) -> Limits:
        return Limits(upper=self.epsilon)

    def words(self) -> str:
        return (
            "Whoever sees a released row can raise their belief in any value of the secret "
            f"by at most a factor {factor(self.epsilon)}; they may be able to rule values out."
        )


@dataclass(frozen=True)
class PerfectPrivacy(Notion):
    """P(s|y) = P(s): the released value says nothing about the secret."""

    epsilon: float = field(default=0.0, init=False, repr=False)
    name: ClassVar[str] = "perfect"
    title: ClassVar[str] = "beliefs do not change at all"

    @property
    def limits(self) -> Limits:
        return Limits(lower=0.0, upper=0.0)

    @classmethod
    def at(cls, epsilon: float) -> Self:
        if epsilon != 0:
            raise InvalidPromise(f"perfect privacy has no ε, or ε = 0; got {epsilon}")
        return cls()

    def words(self) -> str:
        return (
            "A released row says nothing about the secret: no belief in any value of it changes "
            f"by more than one part in {1 / PERFECT_LEVEL:,.0f}."
        )


@dataclass(frozen=True)
class _SideChannels(OneEpsilon):
    """A promise that also holds for attackers who know some attributes of a person beforehand.

    `known` says which attackers: None, those who know any attributes; a number, those who know at most
    so many; a list of names, those who know some of these.
    """

    known: int | Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        known: Any = self.known
        if known is None or (isinstance(known, int) and not isinstance(known, bool) and known >= 0):
            return
        if isinstance(known, str) or not isinstance(known, Iterable):
            raise InvalidPromise("known is a number of attributes, a list of their names, or nothing")
        names = tuple(known)
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise InvalidPromise("known lists different names of attributes")
        object.__setattr__(self, "known", names)

    def views(self, joint: Joint) -> list[View]:
        """One view for every set of attributes that an attacker may know; sets that tell the same are one."""
        different: dict[bytes, View] = {}
        for known in while_awaited(self._families(joint)):
            view = View.of(known, joint)
            different.setdefault(sha256(view.cell.data).digest(), view)
        return list(different.values())

    def sets_known(self, joint: Joint) -> int:
        usable, most = self._range(joint)
        return number_of_families(len(usable), most)

    def _families(self, joint: Joint) -> list[tuple[int, ...]]:
        return families(*self._range(joint))

    def _range(self, joint: Joint) -> tuple[list[int], int]:
        """The attributes that attackers may know, and how many of them at most."""
        m = len(joint.attributes)
        usable, most = list(range(m)), m - 1  # who knows everything learns nothing more
        if isinstance(self.known, int):
            most = min(most, self.known)
        elif self.known is not None:
            usable = numbers_of(self.known, joint)
        return usable, most

    def _who(self) -> str:
        """The attackers, in words. Who knows a number exactly is not meant where it is cut into ranges."""
        if self.known is None:
            which = "any of a person's released attributes"
        elif isinstance(self.known, int):
            which = f"up to {self.known} of a person's released attributes"
        else:
            which = f"any of a person's {', '.join(self.known)}" if self.known else "none of a person's attributes"
        return f"somebody who already knows {which} (as finely as they are cut)"


@dataclass(frozen=True)
class SRLIP(PerValue, _SideChannels):
    """ε-SRLIP: ε-LIP given X^J = x^J, for every set J of attributes that attackers may know, and every x^J."""

    name: ClassVar[str] = "srlip"
    title: ClassVar[str] = "as lip, also for those who know some of the columns"

    @property
    def limits(self) -> Limits:
        return Limits(lower=self.epsilon, upper=self.epsilon)

    def words(self) -> str:
        return (
            f"Whoever sees a released row, even {self._who()}, can raise or lower their belief in any value of the "
            f"secret by at most a factor {factor(self.epsilon)}."
        )


@dataclass(frozen=True)
class SRLDP(_SideChannels):
    """ε-SRLDP: ε-LDP given X^J = x^J, for every set J of attributes that attackers may know, and every x^J."""

    name: ClassVar[str] = "srldp"
    title: ClassVar[str] = "as ldp, also for those who know some of the columns"

    @property
    def limits(self) -> Limits:
        return Limits(spread=self.epsilon)

    def words(self) -> str:
        return (
            "For any two values of the secret, the odds between them change by at most a factor "
            f"{factor(self.epsilon)} when a released row is seen, even by {self._who()}."
        )


KINDS: dict[str, type[Notion]] = {kind.name: kind for kind in (LDP, LIP, ALIP, PML, PerfectPrivacy, SRLIP, SRLDP)}
"""The notions by name, those that are said by one ε or two."""


def kind_named(name: str) -> type[Notion] | None:
    """The kind of promise about one secret called so, limits on belief among them."""
    return Belief if name == Belief.name else KINDS.get(name)


def notion_from(data: Mapping[str, Any]) -> Notion:
    """The notion that `as_dict` wrote down."""
    rest = dict(data)
    name = rest.pop("notion", "")
    if name == Robust.name and isinstance(rest.get("promise"), Mapping):
        return _with_parameters(Robust, {**rest, "promise": notion_from(rest["promise"])})
    if name == Promises.name:
        return _several(rest)
    if name == Ordered.name:
        inner = {key: notion_from(value) for key, value in rest.items() if isinstance(value, Mapping)}
        return _with_parameters(Ordered, rest | inner)
    if name == Belief.name:
        return _with_parameters(Belief, rest)
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InvalidPromise(f"the notion is not one of {', '.join(KINDS)}")
    return _with_parameters(kind, rest)


def _several(rest: dict[str, Any]) -> Notion:
    """The promises about several secrets that `as_dict` wrote down."""
    try:
        each = tuple((str(name), notion_from(promise)) for name, promise in rest["each"])
        return Promises.of(each, tuple(map(int, rest.get("sizes", ()))))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InvalidPromise("promises about several secrets are not written so") from None


def _with_parameters(kind: type[Notion], parameters: dict[str, Any]) -> Notion:
    try:
        return kind(**parameters)
    except TypeError:
        raise InvalidPromise(f"the parameters of {kind.name} are not {', '.join(parameters) or 'none'}") from None
