"""The promises: what a released value may say about the secret.

A promise limits the lifts P(s|y) / P(s) for those who know certain things beforehand, so a notion is
data: clauses, each of three limits and a list of views. The optimiser reads them as linear rows, the certificate as
exact inequalities, `level` as numbers; nobody asks which notion it is.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidChannel, InvalidPromise
from privacyfunnel.promises.clause import Clause, level_within, outer_rows_of, rows_of, share_of
from privacyfunnel.promises.limits import PERFECT_LEVEL, Limits, OuterRows
from privacyfunnel.promises.sets import Possible
from privacyfunnel.promises.views import View
from privacyfunnel.typing import Matrix

LARGEST_SPELT = 13
"""Beyond this ε, e^ε has six digits before the point and more: "e^20" says as much."""
LARGEST_STEPPED = 1e8
"""Beyond this ε its steps are none: nine digits say it, the last of them rounded up."""
EXPONENT_STEPS = 1e4
"""In which such an ε is written: it is rounded up to the next ten-thousandth."""
MOST_DIGITS = 20
"""Of a factor behind the point, however little above 1 it is."""


class Notion(ABC):
    """A kind of promise together with its ε."""

    name: ClassVar[str]
    title: ClassVar[str] = ""
    """The kind of promise in a few words, for people who choose one."""
    epsilon: float
    """The ε of the promise, which is kept exactly when `level` is at most this."""
    confidence: float | None = None
    """Where this is a number, the promise holds for every distribution that counts leave open at that confidence."""

    @property
    @abstractmethod
    def limits(self) -> Limits:
        """The limits on the lifts; the widest of all clauses where these differ."""

    @classmethod
    @abstractmethod
    def at(cls, epsilon: float) -> Self:
        """This kind of promise at another ε."""

    @abstractmethod
    def words(self) -> str:
        """The promise in a sentence for people who know no mathematics."""

    def expression(self) -> str:
        """The promise as Python."""
        return f"pf.{self!r}"

    def asked(self) -> dict[str, Any] | None:
        """The keys of a Spec that ask for it, and what they say; None if none do."""
        return {name: value for name, value in self.as_dict().items() if value is not None}

    def parts(self) -> list[tuple[str, str]]:
        """What it speaks of, and how far that may go: a factor, or for a limit on belief itself the most belief."""
        return [("", f"×{factor(self.epsilon)}")]

    def in_short(self) -> str:
        """The promise in half a sentence."""
        if self.simple:
            moves = "moves" if min(self.limits.lower, self.limits.spread) < math.inf else "grows"
            return f"nobody's belief {moves} by more than {self.parts()[0][1]}"
        return f"what rows say stays within {', '.join(' '.join(part) for part in self.parts())}"

    def made_for(self, joint: Joint) -> Self:
        """The promise as it can be made for `joint`: in other words, where what it rests on was looked at before."""
        return self

    def of_values_that_occur(self) -> Self:
        """The promise, about no other values of X than those that occur if that was left open."""
        return self

    def domain(self, joint: Joint) -> Joint:
        """`joint` on all values of X that the promise speaks of: those that occur, unless a notion says otherwise."""
        return joint

    def times(self, share: float) -> Self:
        """The same promise with every ε in proportion."""
        scaled = {
            name: share * getattr(self, name) for name in ("epsilon", "lower", "upper") if name in self.parameters()
        }
        return cast(Self, replace(cast(Any, self), **scaled))

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

    def sets_known(self, joint: Joint) -> int:
        """How many sets of attributes attackers may know, at most: there are no more views, which take time to make."""
        return 1

    def possible(self, joint: Joint) -> list[Possible]:
        """Every distribution that a promise with a confidence holds for, view by view."""
        raise InvalidPromise(
            "this promise speaks of a single distribution; use robust(LIP(0.5)) for what counts leave open"
        )

    def possible_clauses(self, joint: Joint) -> list[tuple[Clause, list[Possible]]]:
        """The clauses of a promise with a confidence, each with every distribution that it holds for, view by view."""
        (clause,) = self.clauses(joint)
        return [(clause, self.possible(joint))]

    def clauses(self, joint: Joint) -> list[Clause]:
        """What is promised: limits on the lifts of every value of the secret, unless a notion says otherwise."""
        return [Clause(joint, self.limits, self.views(joint), subject=joint.secret)]

    @property
    def strictest(self) -> float:
        """The least of its limits."""
        return min(self.limits.named().values())

    @property
    def simple(self) -> bool:
        """Whether it is one clause about the values of the secret as they are."""
        return True

    @property
    def beliefs_limited(self) -> int:
        """Of how many values it limits the belief itself, whose size depends on P(s), and not only its factor."""
        return 0

    def perfect(self, joint: Joint) -> bool:
        """Whether some of it asks for ε = 0, which is kept up to a hair's breadth."""
        return any(clause.limits != clause.limits.granted() for clause in self.clauses(joint))

    def one_view(self, joint: Joint) -> bool:
        """Whether it is about attackers who know nothing beforehand."""
        return all(clause.one_view for clause in self.clauses(joint))

    def rows(self, joint: Joint) -> Matrix:
        """G with G v ≤ 0 exactly when the posterior v[x] = P(x|y) keeps the promise."""
        return rows_of(self.clauses(joint))

    def granted_rows(self, joint: Joint, share: float = 1.0) -> Matrix:
        """The same for what a certificate lets pass, which is a hair's breadth more at ε = 0; or a share of that."""
        return rows_of([clause.granted(share) for clause in self.clauses(joint)])

    def outer_rows(self, joint: Joint) -> OuterRows:
        """Rows met by every posterior that a certificate lets pass, for bounds."""
        return outer_rows_of([clause.granted() for clause in self.clauses(joint)])

    def rank(self, joint: Joint) -> int:
        """The most non-zeros a vertex of Δ can have: with one view, tight rows lie in the span of the lifts.

        Lifts of c events have the mean 1, so k clauses span at most 1 + Σ (c − 1) dimensions, and never more than the
        values of the secret.
        """
        clauses = self.clauses(joint)
        if not all(clause.one_view for clause in clauses):
            return joint.n_x
        different = {id(clause.joint): clause.joint.n_s - 1 for clause in clauses}
        return min(joint.n_s, joint.n_x, 1 + sum(different.values()))

    def level(self, joint: Joint, channel: ArrayLike) -> float:
        """The smallest ε at which channel[y, x] = P(y|x) keeps this kind of promise.

        Computed in float64, for exploring; `certify` gives the exact answer. A protocol may stand for its channel.
        """
        if hasattr(channel, "channel_on"):
            channel = channel.channel_on(joint)
        try:
            Q = np.asarray(channel, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidChannel("a channel is a matrix of numbers Q[y, x]") from None
        if Q.ndim != 2 or Q.shape[1] != joint.n_x:
            raise InvalidChannel(f"the channel needs {joint.n_x} columns, its shape is {Q.shape}")
        if not np.isfinite(Q).all() or (Q < 0).any() or not Q.any(axis=0).all():
            raise InvalidChannel("a column of the channel is not a distribution")
        clauses = self.clauses(joint)
        return level_within(clauses, [clause.reached_by(Q) for clause in clauses], self.epsilon)

    def level_of(self, reached: Limits) -> float:
        """The smallest ε whose limits allow what a channel reaches, all limits in proportion."""
        asked = self.limits
        pairs = ((reached.lower, asked.lower), (reached.upper, asked.upper), (reached.spread, asked.spread))
        return max([0.0, *(share_of(got, limit, self.epsilon) for got, limit in pairs if math.isfinite(limit))])


@dataclass(frozen=True)
class OneEpsilon(Notion):
    """A notion with a single parameter."""

    epsilon: float

    def __post_init__(self) -> None:
        if isinstance(self.epsilon, Mapping | list | tuple):
            raise InvalidPromise(
                f"{self.name} compares values, so it has no levels for single ones; use lip, pml or srlip"
            )
        object.__setattr__(self, "epsilon", checked(self.epsilon, "ε"))

    @classmethod
    def at(cls, epsilon: float) -> Self:
        return cls(epsilon)


def factor(epsilon: float) -> str:
    """e^ε for people, rounded up: a promise may sound weaker than it is, never stronger.

    >>> factor(0.5), factor(0), factor(20.00001), factor(1e300)
    ('1.65', '1.00000001', 'e^20.0001', 'e^1.00000001e+300')
    """
    epsilon = epsilon or PERFECT_LEVEL
    if epsilon > LARGEST_STEPPED:
        return f"e^{epsilon * (1 + 1 / LARGEST_STEPPED):.9g}"
    if epsilon > LARGEST_SPELT:
        return f"e^{math.ceil(epsilon * EXPONENT_STEPS) / EXPONENT_STEPS:.10g}"
    excess = math.expm1(epsilon)
    digits = 2 if excess >= 0.1 else min(MOST_DIGITS, 2 - math.floor(math.log10(excess)))
    if epsilon == PERFECT_LEVEL:
        return "1.00000001"
    whole, rest = divmod(math.ceil(excess * 10**digits), 10**digits)
    return f"{1 + whole:,}.{rest:0{digits}d}"


def checked(epsilon: float, name: str) -> float:
    """An ε that makes sense, as a float."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | np.floating | np.integer):
        raise InvalidPromise(f"{name} must be a number, not {type(epsilon).__name__}")
    try:
        value = float(epsilon)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value) or value < 0:
        raise InvalidPromise(f"{name} must be a finite number that is at least 0; got {value}")
    return value
