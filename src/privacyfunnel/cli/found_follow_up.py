"""What a fit of a follow-up found, for machines and for people."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privacyfunnel.cli import next_command, show
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import ExactFit
from privacyfunnel.estimates.expected import expected_errors
from privacyfunnel.numeric.information import NATS_PER_BIT
from privacyfunnel.proof.certificate import certify
from privacyfunnel.proof.level_of_history import LevelOfHistory, levels_of_history
from privacyfunnel.proof.rows_kept import RowsKept, rows_kept
from privacyfunnel.proof.verdict import Certificate
from privacyfunnel.protocols.everything import everything
from privacyfunnel.protocols.file import digest_of
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.spec.following import Past
from privacyfunnel.tables.counting import Counted


@dataclass(frozen=True, eq=False)
class FoundFollowUp:
    """A follow-up, and what was measured of it on the counts that it was fitted on."""

    counted: Counted
    protocol: Protocol
    past: Past
    ending: show.Ending
    certificate: Certificate
    levels: tuple[LevelOfHistory, ...]
    kept: RowsKept | None
    """Whose row stays, if the table has what people were and are."""

    @classmethod
    def of(cls, counted: Counted, protocol: Protocol, past: Past, ending: show.Ending) -> FoundFollowUp:
        """Measure it."""
        people = counted.joint.before_gathering or counted.joint
        certificate = certify(protocol, people)
        levels, kept = levels_of_history(protocol, people), rows_kept(protocol, people)
        return cls(counted, protocol, past, ending, certificate, levels, kept)


def tell(found: FoundFollowUp, output: Path, force: bool, json: bool, then: next_command.Words) -> None:
    """Save a follow-up, and say what it comes to, and what is next."""
    with warnings.catch_warnings():  # what it says is told below
        warnings.simplefilter("ignore", ExactFit)
        found.protocol.save(output, force=force)
    if json:
        show.as_json({"protocol": str(output), **data(found), **next_command.data(then)})
        return
    screen = show.console()
    for line in told(found):
        screen.print(line, markup=False)
    screen.print(f"Written: {output}.", markup=False)
    next_command.say(then)


def data(found: FoundFollowUp) -> dict[str, Any]:
    """All of it for machines."""
    protocol, told = found.protocol, everything(found.protocol)
    return {
        "columns": show.columns_data(found.counted),
        "not_used": found.counted.dropped,
        "found_by": protocol.how,
        "search": {"seconds": found.ending.seconds, "stopped": found.ending.stopped},
        "fitted": protocol.fitted,
        "everything_published": told.as_dict() if told is not None else None,
        "objective": protocol.objective,
        "follows": digest_of(protocol.followed),
        "release": protocol.releases,
        "histories": len(protocol.by_history.histories),
        "people_released_before": found.past.people,
        "expected_errors": expected_errors(protocol, found.counted.joint).as_dict()
        if _counted(found.counted.joint)
        else None,
        "steward_only": {"changes": found.past.changes.as_dict() if found.past.changes is not None else None},
        "rows_before": found.kept.as_dict() if found.kept is not None else None,
        "fidelity": protocol.fidelity,
        "fidelity_bound": protocol.fidelity_bound,
        **measured(protocol, found.certificate, found.levels),
    }


def measured(protocol: Protocol, certificate: Certificate, levels: tuple[LevelOfHistory, ...]) -> dict[str, Any]:
    """What everything together comes to, for machines."""
    return {
        "promise": protocol.notion.words(),
        "notion": protocol.notion.as_dict(),
        "level": certificate.level,
        "holds": bool(certificate),
        "levels": [level.as_dict() for level in levels],
        "kept_bits": protocol.utility / NATS_PER_BIT,
        "upper_bound_bits": protocol.upper_bound / NATS_PER_BIT,
        "entropy_bits": protocol.entropy / NATS_PER_BIT,
    }


def told(found: FoundFollowUp) -> list[str]:
    """All of it for people."""
    protocol, published = found.protocol, everything(found.protocol)
    lines = [f"Promise, for everything released together: {protocol.notion.words()}"]
    if published is not None:
        lines.append(published.words())
    lines += [*level_lines(found.levels), _kept(protocol), _people(found)]
    if found.past.changes is not None:
        lines.append(f"For you alone: {found.past.changes.words()}")
    if found.kept is not None:
        lines.append(found.kept.words())
    if _counted(found.counted.joint):
        words = expected_errors(protocol, found.counted.joint).words()
        lines.append(f"From all releases together, {words}.")
    return [line for line in lines if line]


def level_lines(levels: tuple[LevelOfHistory, ...]) -> list[str]:
    """What was released up to each release, one line for each."""
    return [level.words() for level in levels]


def _kept(protocol: Protocol) -> str:
    """How much more it tells."""
    most = f"no follow-up with this promise tells more than {protocol.upper_bound / NATS_PER_BIT:.4g}"
    if protocol.likeness is not None:
        return (
            f"{protocol.likeness.cells_unchanged:.1%} of all cells stay as they are, and newest rows can be counted as "
            f"they stand; no such follow-up has a larger fidelity than {protocol.likeness.fidelity_bound:.4g} "
            f"(this one: {protocol.likeness.fidelity:.4g})."
        )
    left = protocol.entropy / NATS_PER_BIT
    return f"It tells {protocol.utility / NATS_PER_BIT:.4g} bits of the {left:.4g} that were left untold; {most}."


def _people(found: FoundFollowUp) -> str:
    """Whom it is for."""
    histories = len(found.protocol.by_history.histories)
    if found.past.people is None:
        return f"It has a channel for all {histories:,} outcomes of what was released before."
    return (
        f"It has a channel for the {histories:,} outcomes that {found.past.people:,} people had before, and no others."
    )


def _counted(joint: Joint) -> bool:
    return joint.counted or joint.noise is not None
