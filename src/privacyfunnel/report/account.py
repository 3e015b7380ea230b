"""Account: every number that a report or the studio shows, measured once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privacyfunnel.attacks.attack import Attack, attack
from privacyfunnel.attacks.exposure import Exposure, exposure
from privacyfunnel.attacks.findings import Findings, findings
from privacyfunnel.attacks.repetition import Repeated, repeated
from privacyfunnel.distribution.column import Column, Label
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput
from privacyfunnel.numeric.information import NATS_PER_BIT, entropy, mutual_information, share_kept
from privacyfunnel.numeric.plain import finite
from privacyfunnel.proof.certificate import Certificate, certify
from privacyfunnel.proof.invariance import MARGINAL_ERROR
from privacyfunnel.proof.over_population import PopulationFindings, population_findings
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.emptied import Emptied, emptied
from privacyfunnel.protocols.file import digest_of
from privacyfunnel.protocols.protocol import Block, Objective, Protocol, published
from privacyfunnel.protocols.readers import ShareErrors, errors_data, share_errors
from privacyfunnel.protocols.released import released
from privacyfunnel.typing import Integers, Matrix, Vector

MISSING = "(missing)"
"""How pages call a value that is not there."""
RELEASES = (1, 2, 3)
"""How often the same table might be released."""


@dataclass(frozen=True)
class Encoder:
    """How a column became finitely many values."""

    column: str
    kind: str
    values: int
    how: str


@dataclass(frozen=True, eq=False)
class Attribute:
    """What became of one released column."""

    name: str
    labels: tuple[str, ...]
    after: Vector
    """P(the released value is this label), from the protocol alone."""
    before: Vector | None = None
    """P(this label) in the table."""
    entropy_bits: float | None = None
    kept_bits: float | None = None
    """What the released column tells of the original one."""
    unchanged: float | None = None
    """How often the released value is the original one; without the table, about so often, if the file tells."""

    @property
    def miscounted(self) -> float | None:
        """How far the counted share of one of its values is from the original one, in expectation and at most."""
        return None if self.before is None else float(np.abs(self.after - self.before).max())

    @property
    def kept_share(self) -> float | None:
        """Of the information in the column."""
        if self.kept_bits is None or self.entropy_bits is None:
            return None
        return self.kept_bits / self.entropy_bits if self.entropy_bits else 1.0


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
class Account:
    """A protocol, told from its file alone or, with `measured`, from the table it was made for as well."""

    protocol: Protocol
    digest: str
    encoders: tuple[Encoder, ...]
    attributes: tuple[Attribute, ...]
    measured: FromTable | None = None

    @property
    def objective(self) -> Objective:
        """What the protocol keeps the most of."""
        return self.protocol.objective

    @property
    def cells_unchanged(self) -> float | None:
        """The expected share of cells that stay as they are; without the table, as the protocol's file says."""
        if self.measured is not None:
            return float(np.mean([attribute.unchanged or 0.0 for attribute in self.attributes]))
        return self.protocol.likeness.cells_unchanged if self.protocol.likeness is not None else None

    @property
    def emptied(self) -> Emptied:
        """What is left of each column."""
        return emptied(self.protocol, self.measured.joint if self.measured is not None else None)

    @property
    def countable(self) -> bool:
        """Whether released rows can be counted as they stand: those of the table at hand, or of the fitted one."""
        if self.measured is None:
            return self.objective == "faithful"
        error = self.measured.certificate.marginal_error
        return error is not None and error <= MARGINAL_ERROR

    @property
    def kept_share(self) -> float:
        """Of the information in the attributes; without the table, as the protocol's file says."""
        if self.measured is not None:
            return self.measured.findings.kept_share
        return share_kept(self.protocol.utility, self.protocol.entropy)

    @property
    def gap_share(self) -> float:
        """How much more a protocol with this promise could keep: of the information or, if it is faithful, of cells."""
        if self.protocol.likeness is not None:
            return self.protocol.likeness.fidelity_bound - self.protocol.likeness.fidelity
        return self.protocol.gap / self.protocol.entropy if self.protocol.entropy else 0.0

    def as_json(self) -> str:
        """The numbers as the text of a file; what is infinite is null."""
        return json.dumps(finite(self.as_dict()), ensure_ascii=False, indent=1) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON. The values of the secret are not listed."""
        content: dict[str, Any] = {
            "digest": self.digest,
            "promise": self.protocol.notion.words(),
            "notion": self.protocol.notion.as_dict(),
            "fitted": self.protocol.fitted,
            "objective": self.objective,
            "countable": self.countable,
            "cells_unchanged": self.cells_unchanged,
            "likeness": self._likeness(),
            "emptied": list(self.emptied.columns),
            "kept_share": self.kept_share,
            "gap_share": self.gap_share,
            "encoders": [asdict(encoder) for encoder in self.encoders],
        }
        if self.measured is None:
            return content
        own = ("name", "entropy_bits", "kept_bits", "kept_share", "unchanged", "miscounted")
        return content | {
            "findings": self.measured.findings.as_dict(),
            "reason": self.measured.certificate.reason,
            "marginal_error": self.measured.certificate.marginal_error,
            **errors_data(self.measured.errors),
            "worst_lift": str(self.measured.certificate.worst.lift) if self.measured.certificate.worst else None,
            "attributes": [{name: getattr(a, name) for name in own} for a in self.attributes],
            "attack": self.measured.attack.as_dict() if self.measured.attack else None,
            "repeated": [each.as_dict() for each in self.measured.repeated],
            "remarks": list(self.measured.remarks),
            "population": self.measured.population.as_dict() if self.measured.population else None,
            "exposed": self.measured.exposed.as_dict() if self.measured.exposed else None,
        }

    def _likeness(self) -> dict[str, Any] | None:
        likeness = self.protocol.likeness
        return asdict(likeness) | {"weights": dict(likeness.weights)} if likeness is not None else None


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
    """The number of each of these outputs, in C order of the blocks that have more than one."""
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

    def output_name(self, i: int) -> str:
        """What the i-th of these outputs is written as."""
        blocks = [block for block in self.protocol.blocks if block.channel.n_outputs > 1] or self.protocol.blocks[:1]
        places = np.unravel_index(int(self.numbers[i]), [block.channel.n_outputs for block in blocks])
        rows = [block.values[block.labels[y]] for block, y in zip(blocks, places, strict=True)]
        return " · ".join(text_of(value) for row in rows for value in row)


def account(protocol: Protocol, joint: Joint | None = None, certificate: Certificate | None = None) -> Account:
    """Tell all there is to tell. Without the distribution of the table, only what the protocol file says."""
    measured = measure(protocol, joint, certificate) if joint is not None else None
    protocol = protocol if measured is not None else published(protocol)
    faithful = protocol.likeness is not None
    attributes = tuple(
        _attribute(block, j, joint, faithful) for block in protocol.blocks for j in range(len(block.columns))
    )
    encoders = tuple(encoder_of(column) for block in protocol.blocks for column in block.columns)
    return Account(protocol, digest_of(protocol), encoders, attributes, measured)


def measure(protocol: Protocol, joint: Joint, certificate: Certificate | None = None) -> FromTable:
    """Measure `protocol` on `joint`."""
    certificate = certify(protocol, joint) if certificate is None else certificate
    found = findings(protocol, joint, certificate)
    together = released(protocol, joint)
    occur = np.flatnonzero(together.sum(axis=0) > 0)
    together = together[:, occur]
    beliefs = _beliefs(protocol, joint, together)
    q, attacked = together.sum(axis=0), _attack(protocol, joint)
    population = population_findings(protocol, joint) if protocol.notion.confidence is not None else None
    exposed, errors = exposure(protocol, joint), share_errors(protocol, joint)
    return FromTable(protocol, joint, certificate, found, beliefs, q, occur, *attacked, population, exposed, errors)


def _beliefs(protocol: Protocol, joint: Joint, together: Matrix) -> tuple[Belief, ...]:
    posterior = together / together.sum(axis=0)
    limits = protocol.notion.limits.granted()
    return tuple(
        Belief(text_of(value), float(prior), posterior[s], *limits.belief_range(float(prior)))
        for s, (value, prior) in enumerate(zip(joint.secret_values, joint.p_s, strict=True))
    )


def _attack(protocol: Protocol, joint: Joint) -> tuple[Attack | None, tuple[Repeated, ...], tuple[str, ...]]:
    """What attackers gain from one release and from several, and remarks on what was too much to compute."""
    remarks: list[str] = []
    again: list[Repeated] = []
    try:
        found = attack(joint, protocol, protocol_alone=False)
    except InvalidInput as reason:
        return None, (), (f"Attackers were not computed: {reason}.",)
    for k in RELEASES:
        try:
            again += repeated(joint, protocol, [k])
        except InvalidInput as reason:
            remarks.append(f"Not computed for {k} releases: {reason}.")
    return found, tuple(again), tuple(remarks)


def _attribute(block: Block, j: int, joint: Joint | None, faithful: bool) -> Attribute:
    """What became of the attribute j of a block. Of a faithful one, its marginal is also that of the original rows."""
    column, written = block.columns[j], block.codes[block.labels, j]
    marginal = block.marginal / UNIT
    after = np.bincount(written, weights=marginal, minlength=len(column)).astype(np.float64)
    labels = tuple(map(text_of, column.labels))
    if joint is None:
        unchanged = float(np.trace(_pairs(block, j, marginal))) if faithful else None
        return Attribute(column.name, labels, after, unchanged=unchanged)
    p_x = np.bincount(block.inputs_of(joint), weights=joint.p_x, minlength=block.channel.n_inputs)
    pairs = _pairs(block, j, p_x.astype(np.float64))
    before = pairs.sum(axis=1)
    return Attribute(
        column.name,
        labels,
        pairs.sum(axis=0),
        before,
        max(0.0, float(entropy(before))) / NATS_PER_BIT,
        mutual_information(pairs) / NATS_PER_BIT,
        float(np.trace(pairs)),
    )


def _pairs(block: Block, j: int, p_x: Vector) -> Matrix:
    """P(original value, released value) of the attribute j of a block, for inputs with the probabilities p_x."""
    entries, codes = block.channel, block.codes[:, j]
    pairs = np.zeros((len(block.columns[j]), len(block.columns[j])))
    mass = entries.numerators / UNIT * p_x[entries.inputs]
    np.add.at(pairs, (codes[entries.inputs], codes[block.labels[entries.outputs]]), mass)
    return pairs


def encoder_of(column: Column) -> Encoder:
    """What was done to a column, from what the protocol records of it."""
    content = KINDS_IN_WORDS.get(column.kind, column.kind)
    if column.other:
        content += "; the rest is “other”"
    if None in column.labels:
        content += "; missing is a value of its own"
    if column.missing:
        content += f"; read as missing: {', '.join(column.missing)}"
    return Encoder(column.name, column.kind, len(column), content)


KINDS_IN_WORDS: Mapping[str, str] = {
    "bins": "numbers cut into ranges",
    "text": "texts as they are",
    "integer": "whole numbers as they are",
    "number": "numbers as they are",
    "boolean": "true or false",
    "year": "dates by year",
    "month": "dates by month",
    "day": "dates by day",
}


def text_of(label: Label | Any) -> str:
    """A value for people."""
    if label is None:
        return MISSING
    return " and ".join(map(text_of, label)) if isinstance(label, tuple) else str(label)
