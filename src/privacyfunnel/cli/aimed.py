"""What fit says of its aim: what was promised, what was aimed at, and what would do where no aim does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.optimiser.aiming import REMEDIES, late_after, rehearsing
from privacyfunnel.optimiser.rehearsal import Remedy, remedies
from privacyfunnel.protocols.aim import Aim
from privacyfunnel.protocols.protocol import Protocol


@dataclass(frozen=True)
class Aimed:
    """The aim of a private fit, and what would do better."""

    aim: Aim
    remedies: tuple[Remedy, ...]
    all_tried: bool = True
    """Whether there was time to rehearse all that might do."""

    @classmethod
    def of(cls, protocol: Protocol, joint: Joint, time_limit: float | None) -> Aimed | None:
        """Rehearses what would do where the aim does not."""
        if protocol.aim is None:
            return None
        if protocol.aim.holds:
            return cls(protocol.aim, ())
        make = rehearsing(
            protocol.objective, time_limit, dict(protocol.likeness.weights) if protocol.likeness else None
        )
        late = late_after(time_limit, REMEDIES)
        return cls(protocol.aim, tuple(remedies(joint, protocol.notion, make, late)), not late())

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        tried = {"remedies": [each.as_dict() for each in self.remedies], "all_remedies_tried": self.all_tried}
        return {**self.aim.as_dict(), **tried}

    def lines(self, protocol: Protocol) -> list[str]:
        """All of it, in a sentence or two."""
        if protocol.noise is None:
            return []
        said = self.aim.words(protocol.notion, protocol.noise.epsilon)
        if self.aim.holds:
            return [said]
        if not self.remedies and not self.all_tried:
            return [f"{said} What would do was not all tried in the time limit: allow more (--time-limit)."]
        if not self.remedies:
            return [f"{said} No single column less and no --private up to four times as large would do: use fewer "
                    "columns, and fewer values in each (--bins, --top)."]  # fmt: skip
        some = ", ".join(each.words() for each in self.remedies)
        return [f"{said} Aimed further inside, these would do: {some}; or fewer values (--bins, --top)."]
