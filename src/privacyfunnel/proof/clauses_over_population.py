"""What a promise of several clauses comes to: each part for the counted people, and for the population."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.promises.confidence import Within
from privacyfunnel.promises.robust import Robust, full_percent
from privacyfunnel.proof.certificate import certify
from privacyfunnel.protocols.protocol import Protocol


@dataclass(frozen=True)
class ClauseLevel:
    """One part of a promise: ε, or the most belief."""

    subject: str
    promised: float
    sample: float
    """Reached for the counted people, rounded up."""
    population: float
    """Reached somewhere in the set, rounded up."""


@dataclass(frozen=True)
class ClauseLevels:
    """All parts of a robust promise."""

    confidence: float
    within: Within
    holds: bool
    levels: tuple[ClauseLevel, ...]

    def words(self) -> str:
        """The levels of sample and population side by side, in a line."""
        each = "; ".join(
            f"{one.subject}: {one.sample:.4g} for the counted people, {one.population:.4g} for the population, "
            f"promised {one.promised:g}"
            for one in self.levels
        )
        return f"Levels with {full_percent(self.confidence)} confidence: {each}."

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return asdict(self)


def clause_levels(protocol: Protocol, joint: Joint) -> ClauseLevels | None:
    """Of every subject, what is reached on the counts and over the set; None for promises of another kind."""
    notion = protocol.notion
    if not isinstance(notion, Robust) or notion.simple:
        return None
    population = certify(protocol, joint)
    sample = {one.subject: one.level for one in certify(protocol, joint, notion.promise).levels}
    levels = tuple(
        ClauseLevel(one.subject, one.promised, sample[one.subject], one.level)
        for one in population.levels
        if one.subject in sample
    )
    return ClauseLevels(notion.confidence, notion.kind_of_set(notion.domain(joint)), population.holds, levels)
