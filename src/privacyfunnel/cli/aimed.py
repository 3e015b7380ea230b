"""What fit says of its aim: what was promised, what was aimed at, and what would do where no aim does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.text import Text

from privacyfunnel.cli import next_command
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.optimiser.aiming import REMEDIES, late_after, rehearsing
from privacyfunnel.optimiser.rehearsal import Published, Remedy, remedies
from privacyfunnel.optimiser.rehearsed_cells import PublishedCells
from privacyfunnel.protocols.aim import Aim
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.report.other_noise import PART, OtherNoise

OTHER_NOISE = "What ε₀ of 0.5 to 3 would give of this table: funnel report with the table, or fit --json."


@dataclass(frozen=True)
class Aimed:
    """The aim of a private fit, and what would do better."""

    aim: Aim
    remedies: tuple[Remedy, ...]
    all_tried: bool = True
    """Whether there was time to rehearse all that might do."""

    @classmethod
    def of(cls, protocol: Protocol, published: Published | None, time_limit: float | None) -> Aimed | None:
        """Rehearses what would do where the aim does not."""
        if protocol.aim is None or published is None:
            return None
        if protocol.aim.holds:
            return cls(protocol.aim, ())
        late = late_after(time_limit, REMEDIES)
        return cls(protocol.aim, tuple(remedies(published, protocol.notion, late)), not late())

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        tried = {"remedies": [each.as_dict() for each in self.remedies], "all_remedies_tried": self.all_tried}
        return {**self.aim.as_dict(), **tried}

    def shown(self, protocol: Protocol) -> list[Text]:
        """The same for a screen: red where the promise does not hold for the people of the table."""
        lines = [Text(line, "" if self.aim.holds else "bold red") for line in self.lines(protocol)]
        return [*lines, Text(OTHER_NOISE)] if lines else []

    def lines(self, protocol: Protocol) -> list[str]:
        """All of it, in a sentence or two."""
        if protocol.spent is None:
            return []
        noise = protocol.noise.epsilon if protocol.noise is not None else protocol.spent.epsilon
        said = self.aim.words(protocol.notion, noise)
        if self.aim.holds:
            return [said]
        if not self.remedies and not self.all_tried:
            return [f"{said} What would do was not all tried in the time limit: allow more (--time-limit)."]
        if not self.remedies:
            return [f"{said} No single column less and no --private up to four times as large would do: use fewer "
                    "columns, and fewer values in each (--bins, --top)."]  # fmt: skip
        some = ", ".join(each.words() for each in self.remedies)
        return [f"{said} Aimed further inside, these would do: {some}; or fewer values (--bins, --top)."]


def cells_of(protocol: Protocol, joint: Joint, time_limit: float | None) -> PublishedCells | None:
    """What a listed protocol was made from."""
    weights = dict(protocol.likeness.weights) if protocol.likeness else {}
    return PublishedCells.of(joint, rehearsing(protocol.objective, time_limit, weights))


def other_noise(protocol: Protocol, published: Published | None, time_limit: float | None) -> dict[str, Any] | None:
    """What other ε₀ would give, for machines; None of a fit that was not rehearsed, and in a run of several steps."""
    if protocol.aim is None or next_command.in_a_run():
        return None
    found = OtherNoise.of(published, protocol.notion, late_after(time_limit, PART))
    return found.as_dict() if found is not None else None
