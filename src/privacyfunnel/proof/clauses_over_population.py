"""What a promise of several clauses comes to: each part for the counted people, and for the population."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.promises.clause import Clause
from privacyfunnel.promises.confidence import Within
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.robust import Robust, full_percent
from privacyfunnel.proof import worst_case
from privacyfunnel.proof.certificate import certify
from privacyfunnel.proof.lifts import Entries
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Integers


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


def broken_outputs(channel: Channel, joint: Joint, notion: Notion) -> Integers:
    """The outputs of a channel from the values of `joint` that break a robust promise somewhere in its set."""
    entries, broken = Entries.of(channel), set()
    for clause, parts in notion.possible_clauses(joint):
        for part in parts:
            for shown in worst_case.each_output(entries.inputs, entries.outputs, entries.numerators, part):
                if _breaks(shown, clause):
                    broken.add(shown.output)
    return np.array(sorted(broken), dtype=np.int64)


def _breaks(shown: worst_case.OneOutput, clause: Clause) -> bool:
    """Whether an output may break a clause somewhere in its set."""
    if clause.most is not None:
        (event,) = clause.about or ()
        believed = shown.belief(event)
        return believed.over > clause.most * believed.under
    kinds = [kind for kind in worst_case.SIDES if np.isfinite(clause.limits.named()[kind])]
    extremes = [(kind, shown.extreme(kind, clause.about)) for kind in kinds]
    reached = [
        clause.level_of(replace(Limits(0.0, 0.0, 0.0), **{kind: one.log()}))
        for kind, one in extremes
        if one is not None
    ]
    return max(reached, default=0.0) > clause.epsilon
