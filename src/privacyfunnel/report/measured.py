"""What is measured of a protocol: by who has the original table and, of a private fit, by anybody who has its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privacyfunnel.attacks.attack import Attack, attack
from privacyfunnel.attacks.exposure import Exposure, exposure
from privacyfunnel.attacks.findings import Findings, findings
from privacyfunnel.attacks.repetition import Repeated, repeated
from privacyfunnel.distribution.column import Label
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.certificate import audit_publicly, certify
from privacyfunnel.proof.over_population import PopulationFindings, population_findings
from privacyfunnel.proof.verdict import Certificate
from privacyfunnel.protocols.own_table import OwnTable, own_table
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.readers import ShareErrors, errors_data, share_errors
from privacyfunnel.protocols.released import released
from privacyfunnel.tables.frequency_threshold import Threshold, of_noisy, thresholded
from privacyfunnel.typing import Integers, Matrix, Vector

MISSING = "(missing)"
"""How pages call a value that is not there."""
SAME_LEVEL = 1e-9
"""Nats: lifts in float64 that are above a limit by less are at the limit."""
RELEASES = (1, 2, 3)
"""How often the same table might be released."""


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed of one value of the secret: before, and after each output."""

    secret: str
    prior: float
    posterior: Vector
    """P(s|y), for every output y that occurs."""
    lowest: float
    """What the promise allows at least, and at most."""
    highest: float


@dataclass(frozen=True, eq=False)
class FromTable:
    """What only somebody with the original table can say."""

    protocol: Protocol
    joint: Joint
    certificate: Certificate
    findings: Findings
    beliefs: tuple[Belief, ...]
    outputs: Vector
    """P(y), for every output that occurs; as long as each `posterior`."""
    numbers: Integers
    """The number of each of these outputs."""
    attack: Attack | None
    repeated: tuple[Repeated, ...]
    """What several releases of the same table would give away."""
    remarks: tuple[str, ...] = ()
    """What was too much to compute."""
    population: PopulationFindings | None = None
    """What the promise comes to for the population of which the people are a sample, if it was made to it."""
    exposed: Exposure | None = None
    """Whom the protocol file may give away, if it was fitted on people."""
    errors: ShareErrors | None = None
    """How far counted shares of single values are off by drawing, where rows can be counted."""
    threshold: Threshold | None = None
    """What a frequency threshold did to the exact counts, if the protocol has one."""
    own: OwnTable | None = None
    """What is left of the table: cells, rows, shares and values."""

    @property
    def aside(self) -> bool:
        """Whether the promise is not about these counts: that of a private fit is about the published ones."""
        return self.protocol.noise is not None

    @property
    def beyond(self) -> float:
        """The share of released rows that move a belief further than the promise says, to who knows these counts.

        For somebody who knows no columns beforehand.
        """
        if not self.protocol.notion.simple:
            return _beyond(self.protocol, self.joint)
        limits = self.protocol.notion.limits.granted()
        with np.errstate(divide="ignore"):
            logs = np.log(np.stack([belief.posterior / belief.prior for belief in self.beliefs]))
        grows, falls = logs.max(axis=0), -logs.min(axis=0)
        over = (grows > limits.upper + SAME_LEVEL) | (falls > limits.lower + SAME_LEVEL)
        return float(self.outputs[over | (grows + falls > limits.spread + SAME_LEVEL)].sum())

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON. The values of the secret are not listed."""
        return {
            **_checked(self.findings, self.certificate),
            "marginal_error": self.certificate.marginal_error,
            **errors_data(self.errors),
            **_attacked(self.attack, self.remarks),
            "repeated": [each.as_dict() for each in self.repeated],
            "population": self.population.as_dict() if self.population else None,
            "exposed": self.exposed.as_dict() if self.exposed else None,
            "own_table": self.own.as_dict() if self.own else None,
            "threshold": self.threshold.as_dict() if self.threshold else None,
        }

    def output_name(self, i: int) -> str:
        """What the i-th of these outputs is written as."""
        block = self.protocol.block
        return " · ".join(map(text_of, block.values[block.labels[int(self.numbers[i])]]))


@dataclass(frozen=True, eq=False)
class FromFile:
    """What anybody can say of a private fit: measured on the noisy counts that its file carries, without the table."""

    joint: Joint
    certificate: Certificate
    """Of the promise: it is about these counts."""
    findings: Findings
    attack: Attack | None
    remarks: tuple[str, ...] = ()
    """What was too much to compute."""
    population: PopulationFindings | None = None
    """What the promise comes to for the population, if it was made to it."""
    threshold: Threshold | None = None
    """What the frequency threshold did, if there is one."""
    own: OwnTable | None = None
    """What is left of a table with these counts."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            **_checked(self.findings, self.certificate),
            **_attacked(self.attack, self.remarks),
            "population": self.population.as_dict() if self.population else None,
            "shares": self._shares(),
            "threshold": self.threshold.as_dict() if self.threshold else None,
        }

    def _shares(self) -> dict[str, Any] | None:
        """By how much shares of single values are off, and which vanish; how many cells stay, the file says."""
        own = self.own.as_dict() if self.own is not None else {}
        return {name: own[name] for name in ("mean_error", "worst_error", "worst_column", "vanished")} if own else None


def _checked(found: Findings, certificate: Certificate) -> dict[str, Any]:
    """What was found and proven, for JSON."""
    worst = str(certificate.worst.lift) if certificate.worst else None
    return {"findings": found.as_dict(), "reason": certificate.reason, "worst_lift": worst}


def _attacked(found: Attack | None, remarks: tuple[str, ...]) -> dict[str, Any]:
    """What attackers gain, for JSON."""
    return {"attack": found.as_dict() if found else None, "remarks": list(remarks)}


def measure_publicly(protocol: Protocol) -> FromFile | None:
    """Measure a private fit on the counts that it carries; None if it carries none."""
    if protocol.noise is None:
        return None
    joint, certificate = audit_publicly(protocol)
    found, remarks = _attack(protocol, joint)
    return FromFile(
        joint,
        certificate,
        findings(protocol, joint, certificate),
        found,
        remarks,
        population_findings(protocol, joint) if _has_population(protocol) else None,
        of_noisy(joint),
        own_table(protocol, joint.before_gathering or joint),
    )


def measure(protocol: Protocol, joint: Joint, certificate: Certificate | None = None) -> FromTable:
    """Measure `protocol` on `joint`."""
    certificate = certify(protocol, joint) if certificate is None else certificate
    found = findings(protocol, joint, certificate)
    together = released(protocol, joint)
    occur = np.flatnonzero(together.sum(axis=0) > 0)
    together = together[:, occur]
    beliefs = _beliefs(protocol, joint, together)
    attacked, remarks = _attack(protocol, joint)
    again, more = _repeated(protocol, joint) if attacked is not None else ((), ())
    merged = protocol.at_least and protocol.noise is None  # a private fit says it from its own counts
    return FromTable(
        protocol,
        joint,
        certificate,
        found,
        beliefs,
        together.sum(axis=0),
        occur,
        attacked,
        again,
        (*remarks, *more),
        population_findings(protocol, joint) if _speaks_of_population(protocol) else None,
        exposure(protocol, joint),
        share_errors(protocol, joint),
        thresholded(joint, protocol.at_least)[1] if merged and joint.counted and not joint.at_least else None,
        own_table(protocol, joint),
    )


def _has_population(protocol: Protocol) -> bool:
    """Whether the promise is one about all that counts leave open, and about one secret: others are certified alone."""
    return protocol.notion.confidence is not None and protocol.notion.simple


def _speaks_of_population(protocol: Protocol) -> bool:
    """Whether the promise is about a population of which these people are a sample, rather than about noisy counts."""
    return _has_population(protocol) and protocol.noise is None


def _beliefs(protocol: Protocol, joint: Joint, together: Matrix) -> tuple[Belief, ...]:
    posterior = together / together.sum(axis=0)
    ranges = belief_ranges(protocol.notion, joint)
    return tuple(
        Belief(text_of(value), float(prior), posterior[s], *ranges[s])
        for s, (value, prior) in enumerate(zip(joint.secret_values, joint.p_s, strict=True))
    )


def belief_ranges(notion: Notion, joint: Joint) -> list[tuple[float, float]]:
    """Between what the belief in each value of the secret stays, as far as a promise of several clauses tells."""
    if notion.simple:
        return [notion.limits.granted().belief_range(float(prior)) for prior in joint.p_s]
    found = [(0.0, 1.0)] * joint.n_s
    for clause in notion.clauses(joint):
        events = np.arange(joint.n_s) if clause.joint.events is None else clause.joint.events
        for s, event in enumerate(events.tolist()):
            least, most = clause.belief_range(event)
            alone = int((events == event).sum()) == 1
            found[s] = max(found[s][0], least) if alone else found[s][0], min(found[s][1], most)
    return found


def _beyond(protocol: Protocol, joint: Joint) -> float:
    """The share of released rows that say more than some clause allows."""
    over: Vector | None = None
    for clause in protocol.notion.clauses(joint):
        together = released(protocol, clause.joint)
        emitted = together.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(together / emitted / clause.joint.p_s[:, None])
        logs = logs if clause.about is None else logs[list(clause.about)]
        limits, grows, falls = clause.limits.granted(), logs.max(axis=0), -logs.min(axis=0)
        beyond = (grows > limits.upper + SAME_LEVEL) | (falls > limits.lower + SAME_LEVEL)
        beyond |= grows + falls > limits.spread + SAME_LEVEL
        over = np.where(beyond & (emitted > 0), emitted, 0.0 if over is None else over)
    return float(over.sum()) if over is not None else 0.0


def _attack(protocol: Protocol, joint: Joint) -> tuple[Attack | None, tuple[str, ...]]:
    """What attackers gain, or a remark that it was too much to compute."""
    try:
        return attack(joint, protocol, protocol_alone=False), ()
    except InvalidInput as reason:
        return None, (f"Attackers were not computed: {reason}.",)


def _repeated(protocol: Protocol, joint: Joint) -> tuple[tuple[Repeated, ...], tuple[str, ...]]:
    """What several releases would give away, and remarks on what was too much to compute."""
    again: list[Repeated] = []
    remarks: list[str] = []
    for k in RELEASES:
        try:
            again += repeated(joint, protocol, [k])
        except InvalidInput as reason:
            remarks.append(f"Not computed for {k} releases: {reason}.")
    return tuple(again), tuple(remarks)


def text_of(label: Label | Any) -> str:
    """A value for people."""
    if label is None:
        return MISSING
    return " and ".join(map(text_of, label)) if isinstance(label, tuple) else str(label)
