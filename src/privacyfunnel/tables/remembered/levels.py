"""Levels: what everything that has been released of people comes to, history by history, and whether it may be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, OverLimit
from privacyfunnel.promises.limits import PERFECT_LEVEL
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.certificate import certify
from privacyfunnel.proof.public import published_joint
from privacyfunnel.proof.together import certify_together, promised
from privacyfunnel.protocols.by_history import about_the_same
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.counting import count
from privacyfunnel.tables.fitting import fit_reading
from privacyfunnel.tables.grouping import Grouping
from privacyfunnel.tables.remembered.settling import History

PROMISED = "as promised, proven when it was fitted"
PUBLISHED = "exact, on the protocol's own noisy counts"
EXACT = "exact, on this table"
MOST_OF = 0.9
"""Of the people that protocols were fitted on: in parts of their table, secrets and values go together otherwise."""
SHOWN = 12
"""Digits of a digest that tell protocols apart for people."""


@dataclass(frozen=True)
class Level:
    """What a history comes to, for how many people, and how that is known."""

    draws: tuple[tuple[str, int], ...]
    """Protocols, by their drawing's digest, and how often each was drawn from."""
    people: int
    level: float
    kept: bool
    """Whether it is within what the steward fixed."""
    how: str

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for the ledger."""
        draws = [{"protocol": digest, "draws": n} for digest, n in self.draws]
        return {"people": self.people, "level": _finite(self.level), "how": self.how, "draws": draws}


@dataclass(eq=False)
class Levels:
    """Computes the levels of histories of these protocols, today's first."""

    protocols: Sequence[Protocol]
    digests: Sequence[str]
    follows: Sequence[int]
    """The number of the protocol that each follows; −1 if it follows none."""
    notion: Notion
    """The kind of promise that levels are of, at the ε that the steward fixed, if one was."""
    limited: bool
    source: Grouping
    _joints: dict[tuple[int, ...], Joint] = field(default_factory=dict)

    def of(self, history: History, people: int) -> Level:
        """The level of a history; refused if it cannot be known."""
        drawn = [p for p, n in enumerate(history) if n]
        followed = {q for p in drawn for q in self._followed(p)}
        if any(history[q] > 1 for q in followed):
            raise OverLimit(
                f"{people:,} people were drawn twice by a protocol that another follows: nothing is known",
                steward_only=True,
            )
        used = tuple(p for p in drawn if p not in followed)  # a follow-up's level is of all that it follows, too
        listed = [self.protocols[p] for p in used for _ in range(history[p])]
        self._check_secrets(used)
        level, kept, how = self._known(used, listed, people)
        own = [promise for protocol in listed if (promise := promised(protocol, self.notion)) is not None]
        least = max(map(self.notion.level_of, own), default=0.0)
        if level < least:  # one release alone is promised to tell as much
            level, kept, how = self._compared(least, PROMISED)
        draws = tuple((self.digests[p], max(1, history[p])) for p in sorted({*used, *followed}))
        return Level(draws, people, level, kept or not self.limited, how)

    def _check_secrets(self, used: tuple[int, ...]) -> None:
        """Refuse follow-ups that are not about the secrets of what they follow."""
        for p in used:
            own = self.protocols[p]
            names = own.secret.split(" and ")
            if not all(about_the_same(self.protocols[q], own.secret_readings, names) for q in self._followed(p)):
                raise OverLimit("what was released cannot be put together: the protocols are not about the same secret")

    def _followed(self, p: int) -> Iterator[int]:
        """The protocols that one follows, the last first."""
        while self.follows[p] >= 0:
            p = self.follows[p]
            yield p

    def _known(self, used: tuple[int, ...], listed: list[Protocol], people: int) -> tuple[float, bool, str]:
        """The level, whether it is kept, and how it is known.

        Of one protocol, and of what it follows, by its promise or its published counts. Several that are drawn
        independently are put together on the exact counts, so that a refusal is for the steward alone, and a release
        tells of these that their level is within the limit (docs/over-time.md).
        """
        own = promised(listed[0], self.notion)
        if len(listed) == 1 and own is not None:
            return self._compared(self.notion.level_of(own), PROMISED)
        if len(listed) == 1 and listed[0].noise is not None and self._by_number(listed[0]):
            certificate = certify(listed[0], published_joint(listed[0]), self.notion)
            return certificate.level, bool(certificate), PUBLISHED
        try:
            certificate = certify_together(listed, self._joint(used), self.notion)
        except OverLimit:
            raise
        except InvalidInput as reason:
            raise OverLimit(
                f"what everything that was released of {people:,} people comes to cannot be computed: {reason}",
                steward_only=True,
            ) from None
        return certificate.level, bool(certificate), EXACT

    def _by_number(self, protocol: Protocol) -> bool:
        """Whether the promise finds its values in published counts, which have numbers for them, not names."""
        return self.notion.simple or self.notion == protocol.notion

    def _compared(self, level: float, how: str) -> tuple[float, bool, str]:
        return level, level <= max(self.notion.epsilon, PERFECT_LEVEL), how

    def _joint(self, used: tuple[int, ...]) -> Joint:
        """p(s, x) of today's table, x being all columns of these protocols, each as it is cut by any of them."""
        if used not in self._joints:
            protocols = [self.protocols[q] for p in used for q in (p, *self._followed(p))]
            readings = protocols[0].secret_readings
            if not readings or any(protocol.secret_readings != readings for protocol in protocols):
                raise OverLimit("what was released cannot be put together: the protocols are not about the same secret")
            columns = dict.fromkeys(column for protocol in protocols for column in protocol.columns)
            names = [column.name for column in columns]
            if getattr(self.notion, "known", None) is not None and len(set(names)) < len(names):
                raise OverLimit(
                    "what attackers know is not clear where protocols cut a column differently; promise it for all"
                )
            secrets = [fit_reading(self.source, reading) for reading in readings]
            joint = count(self.source, secrets, list(columns))
            fitted = max(protocol.people or 0 for protocol in protocols)
            if joint.total < MOST_OF * fitted:
                raise OverLimit(
                    f"levels of several releases are computed on the table of all people, and this one has "
                    f"{joint.total:,} of {fitted:,}: release all of them in one run, without --where",
                    steward_only=True,
                )
            self._joints[used] = joint
        return self._joints[used]


def _finite(level: float) -> float | None:
    return level if level < float("inf") else None
