"""What a fit found, for machines and for people."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rich.console import RenderableType

from privacyfunnel.attacks.exposure import Exposure, exposure
from privacyfunnel.attacks.findings import Findings, findings
from privacyfunnel.attacks.one_column import OneColumn, one_column
from privacyfunnel.cli import show
from privacyfunnel.cli.aimed import Aimed, cells_of
from privacyfunnel.estimates.error_wish import ErrorWish
from privacyfunnel.estimates.expected import ExpectedErrors, expected_errors
from privacyfunnel.optimiser.smallest_epsilon import Wish
from privacyfunnel.proof.certificate import certify
from privacyfunnel.proof.clauses_over_population import ClauseLevels, clause_levels
from privacyfunnel.proof.over_population import PopulationFindings, population_findings
from privacyfunnel.protocols.emptied import Emptied, emptied
from privacyfunnel.protocols.everything import Everything, everything
from privacyfunnel.protocols.miscounting import counting_words
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.untold import Untold, untold_shares
from privacyfunnel.protocols.variants import without_variants
from privacyfunnel.report.rarest import rarest, rarest_words
from privacyfunnel.tables.counting import Counted
from privacyfunnel.tables.too_fine import Fineness, fineness

ABOUT_A_ROW = (
    "The promise is about one row, and not about one person: what several rows of a person tell together is not "
    "limited by it."
)


@dataclass(frozen=True, eq=False)
class Found:
    """The protocol, and what was measured of it on the counts that it was fitted on: noisy ones, or all is exact."""

    counted: Counted
    protocol: Protocol
    wish: Wish | ErrorWish | None
    ending: show.Ending
    findings: Findings
    population: PopulationFindings | ClauseLevels | None
    fineness: Fineness | None
    untold: Untold | None
    emptied: Emptied
    one_column: OneColumn | None
    exposed: Exposure | None
    everything: Everything | None
    expected: ExpectedErrors | None
    """Where the protocol is for readers of any table."""
    aimed: Aimed | None
    """Of a private fit that was rehearsed."""

    @classmethod
    def of(
        cls,
        counted: Counted,
        protocol: Protocol,
        wish: Wish | ErrorWish | None,
        ending: show.Ending,
        time_limit: float | None = None,
    ) -> Found:
        """Measure a protocol on the counts that it was fitted on."""
        joint, robustly = counted.joint, protocol.notion.confidence is not None
        return cls(
            counted,
            protocol,
            wish,
            ending,
            findings(protocol, joint, certify(protocol, joint)),
            population_findings(protocol, joint)
            if robustly and protocol.notion.simple
            else clause_levels(protocol, joint),
            fineness(joint) if joint.noise is None or joint.noise.codes is None else None,
            untold_shares(protocol, joint),
            emptied(protocol, joint),
            one_column(protocol, joint),
            exposure(protocol, joint),
            everything(protocol),
            expected_errors(protocol, joint) if protocol.precision is not None else None,
            Aimed.of(protocol, cells_of(protocol, joint, time_limit), time_limit),
        )


def data(found: Found) -> dict[str, Any]:
    """All of it for machines."""
    protocol, population = found.protocol, found.population
    return {
        "columns": show.columns_data(found.counted),
        "not_used": found.counted.dropped,
        "identifiers": found.counted.identifiers,
        "found_by": protocol.how,
        "search": asdict(found.ending),
        "fitted": protocol.fitted,
        "exposed": found.exposed.as_dict() if found.exposed else None,
        "everything_published": found.everything.as_dict() if found.everything else None,
        "unit": found.counted.unit or "person",
        "threshold": found.counted.threshold.as_dict() if found.counted.threshold else None,
        "aim": found.aimed.as_dict() if found.aimed else None,
        "fineness": found.fineness.as_dict() if found.fineness else None,
        "untold_shares": asdict(found.untold) if found.untold else None,
        "emptied": found.emptied.as_dict(),
        "one_column_known": found.one_column.as_dict() if found.one_column else None,
        "wish": found.wish.as_dict() if found.wish else None,
        "objective": protocol.objective,
        "readers": show.readers_data(protocol, found.counted.joint),
        "expected_errors": found.expected.as_dict() if found.expected else None,
        "precision": asdict(protocol.precision) if protocol.precision else None,
        "remarks": show.seldom_meant(protocol, found.findings, found.wish is not None),
        **found.findings.as_dict(),
        **({"population": population.as_dict()} if population else {}),
    }


def told(found: Found) -> list[RenderableType]:
    """All of it for people, what matters most to them last."""
    protocol, joint, measured = found.protocol, found.counted.joint, found.findings
    lines: list[RenderableType] = [*show.dropped_lines(found.counted)]
    if found.wish is not None:
        lines.append(found.wish.words())
    lines.append(f"Promise: {measured.promise}{f' {found.everything.whom()}' if found.everything else ''}")
    if found.counted.unit is not None:
        lines.append(ABOUT_A_ROW)
    if found.aimed is not None:
        lines += found.aimed.shown(protocol)
    if found.everything is not None:
        lines.append(found.everything.words())
        lines += show.uncovered_lines(joint)
    if joint.noise is not None and joint.noise.codes is not None:
        lines.append(show.large_domain_line(joint))
    if found.counted.threshold is not None and (found.counted.threshold.people or found.fineness is not None):
        lines.append(found.counted.threshold.words())
    lines += ["By the published counts:"] if joint.noise is not None else []
    lines += show.kept_lines(protocol, measured)
    rare = rarest(protocol.notion, joint)
    lines += [rarest_words(joint, {"": rare})] if rare is not None else []
    remarks = [found.fineness.words() if found.fineness else "", show.untold_line(found.untold)]
    remarks += [found.ending.words(protocol, measured.gap_share), found.emptied.words()]
    lines += show.seldom_meant(protocol, measured, found.wish is not None)
    lines += filter(None, remarks)
    if found.population is not None:
        lines += [show.chosen_line(joint.chosen)] if joint.chosen else []
        lines.append(found.population.words())
    if found.one_column is not None and found.one_column.much_more:
        lines.append(found.one_column.words())
    lines += show.about_table(protocol.notion)
    lines.append(show.findings_table(measured))
    if found.exposed is not None and found.exposed.few:
        lines.append(found.exposed.words())
    if found.expected is not None:
        words = found.expected.words()
        lines.append(f"{words[0].upper()}{words[1:]}.{_without_variants(found)}")
    return [*lines, counting_words(protocol, joint)]


def _without_variants(found: Found) -> str:
    """What sanitise --no-variant would lose."""
    if found.protocol.variant is None:
        return ""
    merged = expected_errors(without_variants(found.protocol), found.counted.joint)
    words = merged.words().removeprefix("estimated whatever the table: ")
    return f" Without the column {found.protocol.variant} (--no-variant): {words}."
