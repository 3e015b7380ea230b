"""The promises: what a released value may say about the secret.

Everything is said in terms of the lift P(s|y) / P(s) = P(y|s) / P(y): the factor by which seeing y
changes the belief in s. A promise limits the lifts, so a notion is data: three limits (`Limits`).
The optimiser reads them as linear rows, the certificate as exact inequalities, `level` as numbers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from privacyfunnel.errors import InvalidChannel, InvalidPromise
from privacyfunnel.joint import Joint
from privacyfunnel.typing import Matrix

PERFECT_LEVEL = 1e-8
"""ε = 0 asks for equalities that multiples of 2⁻³² cannot meet; they are kept up to this level."""

ROUND_OFF = 1e-14
"""Differences below this, relative to their terms, are equalities blurred by float64."""


@dataclass(frozen=True)
class Limits:
    """−lower ≤ ln lift ≤ upper for every secret, and ln lift − ln lift′ ≤ spread for every two."""

    lower: float = math.inf
    upper: float = math.inf
    spread: float = math.inf

    def rows(self, joint: Joint) -> Matrix:
        """The limits as rows G of G v ≤ 0, for v[x] = P(x|y).

        They say lift ≤ e^upper, lift ≥ e^-lower and lift ≤ e^spread·lift′, with
        lift[s] = Σ_x P(s|x)v[x] / P(s), made homogeneous by Σv = 1. Each is scaled to a largest
        coefficient of 1; rows that every v ≥ 0 meets are left out.
        """
        lift = joint.p_s_given_x / joint.p_s[:, None]
        groups = [np.empty((0, joint.n_x))]
        if math.isfinite(self.upper):
            groups.append(_difference(math.exp(-self.upper) * lift, np.ones_like(lift)))
        if math.isfinite(self.lower):
            groups.append(_difference(np.full_like(lift, math.exp(-self.lower)), lift))
        if math.isfinite(self.spread):
            one, other = np.nonzero(~np.eye(joint.n_s, dtype=bool))
            groups.append(_difference(math.exp(-self.spread) * lift[one], lift[other]))
        G = np.concatenate(groups)
        G = G[G.max(axis=1) > 0]
        return np.asarray(G / np.abs(G).max(axis=1, keepdims=True))

    def granted(self) -> Limits:
        """The limits that a certificate enforces: 0 becomes PERFECT_LEVEL, all else stays."""
        return Limits(*(PERFECT_LEVEL if limit == 0 else limit for limit in (self.lower, self.upper, self.spread)))


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
        """The names of what must be given."""
        return tuple(f.name for f in fields(cast(Any, cls)) if f.init)

    def as_dict(self) -> dict[str, Any]:
        """The notion as plain data, for files; `notion_from` reads it back."""
        return {"notion": self.name} | {name: getattr(self, name) for name in self.parameters()}

    def rows(self, joint: Joint) -> Matrix:
        """G with G v ≤ 0 exactly when the posterior v[x] = P(x|y) keeps the promise."""
        return self.limits.rows(joint)

    def rank(self, joint: Joint) -> int:
        """The most non-zeros a vertex of Δ can have: tight rows lie in the span of the c lifts."""
        return min(joint.n_s, joint.n_x)

    def level(self, joint: Joint, channel: ArrayLike) -> float:
        """The smallest ε at which channel[y, x] = P(y|x) keeps this kind of promise.

        Computed in float64, for exploring; `certify` gives the exact answer.
        """
        Q = np.asarray(channel, dtype=np.float64)
        if Q.ndim != 2 or Q.shape[1] != joint.n_x:
            raise InvalidChannel(f"the channel needs {joint.n_x} columns, its shape is {Q.shape}")
        given_s = Q @ joint.p_x_given_s.T
        given_nothing = Q @ joint.p_x
        emitted = given_nothing > 0
        with np.errstate(divide="ignore"):
            logs = np.log(given_s[emitted] / given_nothing[emitted, None])
        least, most = logs.min(axis=1), logs.max(axis=1)
        reached = Limits(float(-least.min()), float(most.max()), float((most - least).max()))
        return self.level_of(reached)

    def level_of(self, reached: Limits) -> float:
        """The smallest ε whose limits allow what a channel reaches."""
        asked = self.limits
        pairs = ((reached.lower, asked.lower), (reached.upper, asked.upper), (reached.spread, asked.spread))
        # With two different limits (ALIP), ε stands for the larger one and both scale together.
        scale = self.epsilon or 1.0
        return max(0.0, *(got * (scale / limit if limit else 1.0) for got, limit in pairs if math.isfinite(limit)))


@dataclass(frozen=True)
class _OneEpsilon(Notion):
    """A notion with a single parameter."""

    epsilon: float

    def __post_init__(self) -> None:
        _check(self.epsilon, "ε")

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
        _check(self.lower, "the lower ε")
        _check(self.upper, "the upper ε")
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


KINDS: dict[str, type[Notion]] = {kind.name: kind for kind in (LDP, LIP, ALIP, PML, PerfectPrivacy)}
"""The notions by name."""


def notion_from(data: Mapping[str, Any]) -> Notion:
    """The notion that `as_dict` wrote down."""
    rest = dict(data)
    kind = KINDS.get(rest.pop("notion", ""))
    if kind is None:
        raise InvalidPromise(f"the notion is not one of {', '.join(KINDS)}")
    try:
        return kind(**rest)
    except TypeError:
        raise InvalidPromise(f"the parameters of {kind.name} are not {', '.join(rest) or 'none'}") from None


def _difference(a: Matrix, b: Matrix) -> Matrix:
    """A − b, with what is only rounding error set to 0."""
    d = a - b
    d[np.abs(d) <= ROUND_OFF * (a + b)] = 0.0
    return d


def factor(epsilon: float) -> str:
    """e^ε for people, rounded up: a promise may sound weaker than it is, never stronger.

    >>> factor(0.5)
    '1.65'
    """
    if epsilon == 0:
        return f"1.{'0' * (-round(math.log10(PERFECT_LEVEL)) - 1)}1"
    if epsilon > 13:
        return f"e^{epsilon:g}"
    value = math.exp(epsilon)
    digits = 2 if value >= 1.1 else 2 - math.floor(math.log10(value - 1)) if value > 1 else 17
    return f"{math.ceil(value * 10**digits) / 10**digits:,.{digits}f}"


def _check(epsilon: float, name: str) -> None:
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | np.floating | np.integer):
        raise InvalidPromise(f"{name} must be a number, not {type(epsilon).__name__}")
    if not math.isfinite(epsilon) or epsilon < 0:
        raise InvalidPromise(f"{name} must be a finite number that is at least 0; got {epsilon}")
