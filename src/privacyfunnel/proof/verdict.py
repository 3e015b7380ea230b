"""What a certificate says: whether a promise holds, at which level, and where it is tightest."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.showing.sheet import Mark, Sheet, number
from privacyfunnel.showing.shown import Shown


@dataclass(frozen=True)
class Worst:
    """Where the promise is tightest: the lift P(y|s) / P(y) as an exact fraction.

    For promises about two secrets (LDP), `against` is the other one and `lift` the ratio P(y|s) / P(y|s′);
    the lift is None where that is infinite. `known` is what the attacker knows beforehand.
    """

    secret: Hashable
    output: int
    lift: Fraction | None
    against: Hashable | None = None
    known: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Level:
    """How far one part of a promise is used up: about one secret, one of its values, or the borders in it."""

    subject: str
    level: float
    """The smallest ε at which this part is kept, rounded up; for a limit on belief itself, the largest belief."""
    promised: float
    holds: bool

    def words(self) -> str:
        """The level in a few words."""
        return f"{self.subject}: {self.level:.6g}, promised {self.promised:g}{'' if self.holds else ', BROKEN'}"

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Certificate(Shown):
    """Whether a channel keeps its promise on a distribution, in exact arithmetic."""

    holds: bool
    notion: Notion
    level: float
    """The smallest ε at which the channel keeps this kind of promise, rounded up."""
    worst: Worst | None
    reached: Limits
    """How far lifts go down, up and apart, each rounded up."""
    reason: str
    """Why it holds, or why it does not, in a line."""
    draws: bool | None = None
    """Whether rows drawn for values never seen keep the promise, too; None if the protocol draws none."""
    marginal_error: float | None = None
    """Of a faithful release: the largest |P(Y = x) − P(X = x)| on this distribution, rounded up; at most 2⁻³⁰ on the
    one that it was fitted on."""

    levels: tuple[Level, ...] = ()
    """Of each thing that the promise speaks of, by itself."""

    def __bool__(self) -> bool:
        return self.holds and self.draws is not False

    def sheet(self) -> Sheet:
        """What a notebook shows: whether it holds, and how near the level comes to what was promised."""
        parts = self.levels or (Level("ε", self.level, self.notion.epsilon, self.holds),)
        rows = [[one.subject, number(one.level), number(one.promised)] for one in parts]
        marks = [Mark(one.level, limit=one.promised) for one in parts]
        title = "The promise holds" if self else "The promise is broken"
        return Sheet(title, [self.notion.words(), self.reason], ("level", "reached", "promised"), rows, marks)
