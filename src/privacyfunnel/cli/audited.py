"""What an audit measured beside the verdict, by the step of the protocol: for machines and for people."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from privacyfunnel.attacks.findings import findings
from privacyfunnel.cli import found_follow_up, show
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput
from privacyfunnel.numeric.information import NATS_PER_BIT
from privacyfunnel.proof.certificate import certify
from privacyfunnel.proof.fill_file import flaw_in_filled
from privacyfunnel.proof.level_of_history import levels_of_history
from privacyfunnel.proof.public import checked_joint
from privacyfunnel.proof.verdict import Certificate
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.step import Kind


@dataclass(frozen=True, eq=False)
class Audited:
    """The certificate of a protocol on some counts, and what it comes to there."""

    certificate: Certificate
    joint: Joint | None
    """The counts; None where they are those of all combinations of a model."""
    secret_values: int
    data: dict[str, Any]
    lines: tuple[str, ...] = ()
    table: Table | None = None


def audited_alone(protocol: Protocol) -> Audited:
    """On the counts that the protocol carries."""
    return ALONE[protocol.step.kind](protocol)


def _model_alone(protocol: Protocol) -> Audited:
    certificate = certify(protocol)
    return Audited(certificate, None, protocol.by_model.model.n_s, *_of_model(protocol, certificate))


def _counts_alone(protocol: Protocol) -> Audited:
    joint, certificate = checked_joint(protocol), certify(protocol)
    people = joint.before_gathering or joint
    if flaw_in_filled(protocol) is not None:  # its tables were not made as it says, so nothing is measured by them
        return Audited(certificate, joint, joint.n_s, _kept(protocol, certificate))
    return Audited(certificate, joint, joint.n_s, *MEASURED[protocol.step.kind](protocol, joint, people, certificate))


def audited_on(protocol: Protocol, joint: Joint) -> Audited:
    """On the counts of a table."""
    certificate = certify(protocol, joint)
    return Audited(certificate, joint, joint.n_s, *MEASURED[protocol.step.kind](protocol, joint, joint, certificate))


Measured = tuple[dict[str, Any], tuple[str, ...], Table | None]


def _of_channel(protocol: Protocol, joint: Joint, people: Joint, certificate: Certificate) -> Measured:
    found = findings(protocol, joint, certificate)
    lines = list[str]()
    if certificate.worst is not None:
        lift = certificate.worst.lift
        about = f" ≈ {float(lift):.6g}" if lift is not None else ""
        lines.append(f"Tightest at output {certificate.worst.output}, where the exact factor is {lift}{about}.")
    lines += show.about_table(certificate.notion)
    return found.as_dict(), tuple(lines), show.findings_table(found)


def _of_histories(protocol: Protocol, joint: Joint, people: Joint, certificate: Certificate) -> Measured:
    levels = levels_of_history(protocol, people) if certificate.worst is not None else ()
    data = found_follow_up.measured(protocol, certificate, levels)
    return data, tuple(found_follow_up.level_lines(levels)), None


def _of_model(protocol: Protocol, certificate: Certificate) -> Measured:
    """What is kept by the model: of nearly everything, where it hardly knows how columns go with the secret."""
    step, data = protocol.by_model, _kept(protocol, certificate)
    if not certificate:
        return data, (), None
    kept = step.kept
    data["pairs_of_columns"] = [[protocol.attributes[j] for j in own] for own in step.model.sets if len(own) > 1]
    data |= {"combinations": step.n_outputs, "redrawn_by": step.redrawn_by, "noise": step.noise_stated()}
    data |= {
        "rows_unchanged": kept.rows,
        "cells_unchanged": kept.cells,
        "columns_unchanged": dict(zip(protocol.attributes, kept.columns, strict=True)),
    }
    lines = (
        f"Checked: all {step.n_outputs:,} combinations and {step.ways_words()}.",
        f"By the model, {kept.rows:.1%} of rows and {kept.cells:.1%} of cells stay as they are.",
    )
    return data, lines, None


def _kept(protocol: Protocol, certificate: Certificate) -> dict[str, Any]:
    return {
        "promise": protocol.notion.words(),
        "notion": protocol.notion.as_dict(),
        "level": certificate.level if math.isfinite(certificate.level) else None,
        "holds": bool(certificate),
        "kept_bits": protocol.utility / NATS_PER_BIT,
        "entropy_bits": protocol.entropy / NATS_PER_BIT,
        "kept_share": protocol.utility / protocol.entropy if protocol.entropy else 1.0,
    }


def _no_joint(protocol: Protocol, joint: Joint, people: Joint, certificate: Certificate) -> Measured:
    raise InvalidInput("the promise of a model is about the distribution that its file carries")


ALONE: dict[Kind, Callable[[Protocol], Audited]] = {
    "channel": _counts_alone,
    "by_history": _counts_alone,
    "by_model": _model_alone,
}
"""On what the file carries, by the step."""
MEASURED: dict[Kind, Callable[[Protocol, Joint, Joint, Certificate], Measured]] = {
    "channel": _of_channel,
    "by_history": _of_histories,
    "by_model": _no_joint,
}
"""By the step: what it comes to on the counts `joint`, of which people have the combinations that `people` has."""
