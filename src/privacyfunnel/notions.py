"""The promises: what a released value may say about the secret.

A promise limits the lifts P(s|y) / P(s) for those who know certain things beforehand, so a notion is
data: three limits and a list of views. The optimiser reads them as linear rows, the certificate as exact
inequalities, `level` as numbers; nobody asks which notion it is.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from itertools import combinations
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from privacyfunnel.errors import InvalidChannel, InvalidPromise
from privacyfunnel.joint import Joint
from privacyfunnel.limits import PERFECT_LEVEL, Limits, View
from privacyfunnel.typing import Matrix

MOST_FAMILIES = 4096


class Notion(ABC):
    """A kind of promise together with its ε."""

    name: ClassVar[str]
    epsilon: float
    """The ε of the promise, which is kept exactly when `level` is at most this."""

    @property
    @abstractmethod
    def limits(self) -> Limits:
        """The limits on the lifts."""

    @classmethod
    @abstractmethod
    def at(cls, epsilon: float) -> Self:
        """This kind of promise at another ε."""

    @abstractmethod
    def words(self) -> str:
        """The promise in a sentence for people who know no mathematics."""

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """The names of what can be given."""
        return tuple(f.name for f in fields(cast(Any, cls)) if f.init)

    @classmethod
    def required(cls) -> tuple[str, ...]:
        """The names of what must be given."""
        return tuple(f.name for f in fields(cast(Any, cls)) if f.init and f.default is MISSING)

    def as_dict(self) -> dict[str, Any]:
        """The notion as plain data, for files; `notion_from` reads it back."""
        return {"notion": self.name} | {name: getattr(self, name) for name in self.parameters()}

    def views(self, joint: Joint) -> list[View]:
        """What attackers may know beforehand: nothing, unless a notion says otherwise."""
        return [View.of((), joint)]

    def rows(self, joint: Joint) -> Matrix:
        """G with G v ≤ 0 exactly when the posterior v[x] = P(x|y) keeps the promise."""
        return self.limits.rows(joint, self.views(joint))

    def granted_rows(self, joint: Joint) -> Matrix:
        """The same for what a certificate lets pass, which is a hair's breadth more at ε = 0."""
        return self.limits.granted().rows(joint, self.views(joint))

    def rank(self, joint: Joint) -> int:
        """The most non-zeros a vertex of Δ can have: with one view, tight rows lie in the span of the c lifts."""
        return min(joint.n_s, joint.n_x) if len(self.views(joint)) == 1 else joint.n_x

    def level(self, joint: Joint, channel: ArrayLike) -> float:
        """The smallest ε at which channel[y, x] = P(y|x) keeps this kind of promise.

        Computed in float64, for exploring; `certify` gives the exact answer.
        """
        try:
            Q = np.asarray(channel, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidChannel("a channel is a matrix of numbers Q[y, x]") from None
        if Q.ndim != 2 or Q.shape[1] != joint.n_x:
            raise InvalidChannel(f"the channel needs {joint.n_x} columns, its shape is {Q.shape}")
        if not np.isfinite(Q).all() or (Q < 0).any() or not Q.any(axis=0).all():
            raise InvalidChannel("a column of the channel is not a distribution")
        return self.level_of(self.limits.reached(joint, Q, self.views(joint)))

    def level_of(self, reached: Limits) -> float:
        """The smallest ε whose limits allow what a channel reaches."""
        asked = self.limits
        pairs = ((reached.lower, asked.lower), (reached.upper, asked.upper), (reached.spread, asked.spread))
        return max(0.0, *(self._share(got, limit) for got, limit in pairs if math.isfinite(limit)))

    def _share(self, got: float, limit: float) -> float:
        """The ε that one limit asks for; with two different ones (ALIP), both scale with ε."""
        if self.epsilon == 0:
            return got
        if limit == 0:
            return 0.0 if got <= PERFECT_LEVEL else math.inf
        return got * (self.epsilon / limit)


@dataclass(frozen=True)
class _OneEpsilon(Notion):
    """A notion with a single parameter."""

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _check(self.epsilon, "ε"))

    @classmethod
    def at(cls, epsilon: float) -> Self:
        return cls(epsilon)


@dataclass(frozen=True)
class LDP(_OneEpsilon):
    """ε-LDP with respect to S: P(y|s) ≤ e^ε P(y|s′) for all s, s′ and y.

    Ordinary local differential privacy, which hides X itself, is this with S = X.
    """

    name: ClassVar[str] = "ldp"

    @property
    def limits(self) -> Limits:
        return Limits(spread=self.epsilon)

    def words(self) -> str:
        return (
            "For any two values of the secret, the odds between them change by at most a factor "
            f"{factor(self.epsilon)} when a released row is seen."
        )


@dataclass(frozen=True)
class LIP(_OneEpsilon):
    """ε-LIP: e^-ε ≤ P(s|y) / P(s) ≤ e^ε for every secret s and output y."""

    name: ClassVar[str] = "lip"

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", _check(self.lower, "the lower ε"))
        object.__setattr__(self, "upper", _check(self.upper, "the upper ε"))
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
class PML(_OneEpsilon):
    """ε-PML with respect to S: P(s|y) / P(s) ≤ e^ε. Ruling a value out is allowed."""

    name: ClassVar[str] = "pml"

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
class _SideChannels(_OneEpsilon):
    """A promise that also holds for attackers who know some attributes of a person beforehand.

    `known` says which attackers: None, those who know any attributes; a number, those who know at most
    so many; a list of names, those who know some of these.
    """

    known: int | tuple[str, ...] | None = None

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
        for known in self._families(joint):
            view = View.of(known, joint)
            different.setdefault(view.cell.tobytes(), view)
        return list(different.values())

    def _families(self, joint: Joint) -> list[tuple[int, ...]]:
        m = len(joint.attributes)
        usable, most = list(range(m)), m - 1  # who knows everything learns nothing more
        if isinstance(self.known, int):
            most = min(most, self.known)
        elif self.known is not None:
            strange = [name for name in self.known if name not in joint.attributes]
            if strange:
                raise InvalidPromise(f"known names {strange[0]!r}, which is none of the attributes")
            usable = [joint.attributes.index(name) for name in self.known]
        families = [J for size in range(min(most, len(usable)) + 1) for J in combinations(usable, size)]
        if len(families) > MOST_FAMILIES:
            many = f"{len(families):,} sets of attributes that an attacker may know"
            raise InvalidPromise(f"{many} are too many; restrict them with known=2")
        return families

    def _who(self) -> str:
        """The attackers, in words."""
        if self.known is None:
            return "even somebody who already knows any of a person's released attributes"
        if isinstance(self.known, int):
            return f"even somebody who already knows up to {self.known} of a person's released attributes"
        return f"even somebody who already knows any of a person's {', '.join(self.known)}"


@dataclass(frozen=True)
class SRLIP(_SideChannels):
    """ε-SRLIP: ε-LIP given X^J = x^J, for every set J of attributes that attackers may know, and every x^J."""

    name: ClassVar[str] = "srlip"

    @property
    def limits(self) -> Limits:
        return Limits(lower=self.epsilon, upper=self.epsilon)

    def words(self) -> str:
        return (
            f"Whoever sees a released row, {self._who()}, can raise or lower their belief in any value of the "
            f"secret by at most a factor {factor(self.epsilon)}."
        )


@dataclass(frozen=True)
class SRLDP(_SideChannels):
    """ε-SRLDP: ε-LDP given X^J = x^J, for every set J of attributes that attackers may know, and every x^J."""

    name: ClassVar[str] = "srldp"

    @property
    def limits(self) -> Limits:
        return Limits(spread=self.epsilon)

    def words(self) -> str:
        return (
            "For any two values of the secret, the odds between them change by at most a factor "
            f"{factor(self.epsilon)} when a released row is seen, {self._who()}."
        )


KINDS: dict[str, type[Notion]] = {kind.name: kind for kind in (LDP, LIP, ALIP, PML, PerfectPrivacy, SRLIP, SRLDP)}
"""The notions by name."""


def notion_from(data: Mapping[str, Any]) -> Notion:
    """The notion that `as_dict` wrote down."""
    rest = dict(data)
    name = rest.pop("notion", "")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InvalidPromise(f"the notion is not one of {', '.join(KINDS)}")
    try:
        return kind(**rest)
    except TypeError:
        raise InvalidPromise(f"the parameters of {kind.name} are not {', '.join(rest) or 'none'}") from None


def factor(epsilon: float) -> str:
    """e^ε for people, rounded up: a promise may sound weaker than it is, never stronger.

    >>> factor(0.5), factor(0), factor(20.00001)
    ('1.65', '1.00000001', 'e^20.0001')
    """
    epsilon = epsilon or PERFECT_LEVEL
    if epsilon > 13:
        return f"e^{math.ceil(epsilon * 1e4) / 1e4:.10g}"
    excess = math.expm1(epsilon)
    digits = 2 if excess >= 0.1 else min(20, 2 - math.floor(math.log10(excess)))
    if epsilon == PERFECT_LEVEL:
        return "1.00000001"
    whole, rest = divmod(math.ceil(excess * 10**digits), 10**digits)
    return f"{1 + whole:,}.{rest:0{digits}d}"


def _check(epsilon: float, name: str) -> float:
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | np.floating | np.integer):
        raise InvalidPromise(f"{name} must be a number, not {type(epsilon).__name__}")
    try:
        value = float(epsilon)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value) or value < 0:
        raise InvalidPromise(f"{name} must be a finite number that is at least 0; got {value}")
    return value
