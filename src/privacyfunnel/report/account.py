"""Account: every number that a report or the studio shows, measured once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from privacyfunnel.distribution.column import UNSEEN, Column
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.information import NATS_PER_BIT, entropy, mutual_information, share_kept
from privacyfunnel.numeric.plain import finite
from privacyfunnel.proof.certificate import certify
from privacyfunnel.proof.invariance import MARGINAL_ERROR
from privacyfunnel.proof.over_population import PopulationFindings
from privacyfunnel.proof.verdict import Certificate
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.emptied import Emptied, emptied
from privacyfunnel.protocols.everything import Everything, everything
from privacyfunnel.protocols.file import digest_of
from privacyfunnel.protocols.protocol import Objective, Protocol
from privacyfunnel.protocols.published import published
from privacyfunnel.protocols.step import Kind
from privacyfunnel.protocols.unchanged import as_people_have_them
from privacyfunnel.protocols.wide.of_model import of_model
from privacyfunnel.report.encoders import Encoder, encoder_of
from privacyfunnel.report.measured import FromFile, FromTable, measure, measure_publicly, text_of
from privacyfunnel.tables.frequency_threshold import Threshold
from privacyfunnel.typing import Integers, Matrix, Vector


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


@dataclass(frozen=True)
class Own:
    """What a table tells its owner of a follow-up or of a model: for machines, and in sentences."""

    data: dict[str, Any]
    lines: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Account:
    """A protocol, told from its file alone or, with `measured`, from the table it was made for as well.

    Of a private fit, `public` is what its own counts tell: the promise is about these, and what the exact counts of the
    table tell besides is for its owner alone.
    """

    protocol: Protocol
    digest: str
    encoders: tuple[Encoder, ...]
    attributes: tuple[Attribute, ...]
    measured: FromTable | None = None
    public: FromFile | None = None
    proven: Certificate | None = None
    """Of a follow-up or a model: the promise on what the file carries, of which no attacker's figures are computed."""
    own: Own | None = None
    """Of these, with the table at hand: what is for its owner alone."""

    @property
    def private(self) -> bool:
        """Whether the promise is about published counts, so that anybody can check it."""
        return self.public is not None or (self.proven is not None and self.protocol.private)

    @property
    def verdict(self) -> Certificate | None:
        """Whether the promise is kept, on the counts that it is about; None if these are not at hand."""
        if self.public is not None:
            return self.public.certificate
        if self.proven is not None:
            return self.proven
        return self.measured.certificate if self.measured is not None else None

    @property
    def everything(self) -> Everything | None:
        """What the protocol and all released rows tell together."""
        return everything(self.protocol)

    @property
    def population(self) -> PopulationFindings | None:
        """What a promise about a population comes to."""
        about = self.public or self.measured
        return about.population if about is not None else None

    @property
    def threshold(self) -> Threshold | None:
        """What a frequency threshold did, as far as it can be told."""
        about = self.public or self.measured
        return about.threshold if about is not None else None

    @property
    def objective(self) -> Objective:
        """What the protocol keeps the most of."""
        return self.protocol.objective

    @property
    def merges(self) -> bool:
        """Whether a frequency threshold reads combinations that people have as others; that of one person does not."""
        return self.protocol.at_least > 1

    @property
    def cells_unchanged(self) -> float | None:
        """The expected share of cells that stay as they are; of a private fit and without the table, as the file says.

        Of a private fit that keeps the most information, only the table tells.
        """
        if self.measured is not None and (self.public is None or self.protocol.likeness is None):
            return self.cells_in_table
        return self.protocol.likeness.cells_unchanged if self.protocol.likeness is not None else None

    @property
    def cells_in_table(self) -> float:
        """The expected share of cells of the table that stay as they are."""
        return float(np.mean([attribute.unchanged or 0.0 for attribute in self.attributes]))

    @property
    def emptied(self) -> Emptied:
        """What is left of each column."""
        return emptied(self.protocol, self.measured.joint if self.measured is not None else None)

    @property
    def countable(self) -> bool:
        """Whether released rows can be counted as they stand: those of the table at hand, or of the fitted one."""
        if self.measured is None:
            return self.objective == "faithful" and (self.private or not self.merges)
        error = self.measured.certificate.marginal_error
        return not self.merges and error is not None and error <= MARGINAL_ERROR

    @property
    def kept_share(self) -> float:
        """Of the information in the attributes; of a private fit and without the table, as the file says."""
        if self.public is not None:
            return self.public.findings.kept_share
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
        """Plain data, for JSON, without the values of the secret; what is found on the exact counts is apart."""
        if self.public is not None and self.measured is not None:
            exact = {**self.measured.as_dict(), "attributes": self._attributes(), "countable": self.countable}
            exact["emptied"] = list(self.emptied.columns)
            return {**replace(self, measured=None).as_dict(), "steward_only": exact}
        told = self.everything
        content: dict[str, Any] = {
            "digest": self.digest,
            "promise": self.protocol.notion.words(),
            "notion": self.protocol.notion.as_dict(),
            "fitted": self.protocol.fitted,
            "everything_published": told.as_dict() if told is not None else None,
            "at_least": self.protocol.at_least,
            "objective": self.objective,
            "countable": self.countable,
            "cells_unchanged": self.cells_unchanged,
            "likeness": self._likeness(),
            "emptied": list(self.emptied.columns),
            "kept_share": self.kept_share,
            "gap_share": self.gap_share,
            "encoders": [asdict(encoder) for encoder in self.encoders],
        }
        if self.public is not None:
            content |= self.public.as_dict()
        if self.proven is not None:
            content |= {"level": self.proven.level, "holds": bool(self.proven), "reason": self.proven.reason}
        if self.own is not None:
            content["steward_only"] = self.own.data
        if self.measured is None:
            return content
        return {**content, **self.measured.as_dict(), "attributes": self._attributes()}

    def _attributes(self) -> list[dict[str, Any]]:
        """What became of each column of the table."""
        own = ("name", "entropy_bits", "kept_bits", "kept_share", "unchanged", "miscounted")
        return [{name: getattr(a, name) for name in own} for a in self.attributes]

    def _likeness(self) -> dict[str, Any] | None:
        likeness = self.protocol.likeness
        return asdict(likeness) | {"weights": dict(likeness.weights)} if likeness is not None else None


def account(protocol: Protocol, joint: Joint | None = None, certificate: Certificate | None = None) -> Account:
    """Tell all there is to tell. Without the distribution of the table, only what the protocol file says."""
    return BY_STEP[protocol.step.kind](protocol, joint, certificate)


def _of_channel(protocol: Protocol, joint: Joint | None, certificate: Certificate | None) -> Account:
    public = measure_publicly(protocol)
    measured = measure(protocol, joint, certificate) if joint is not None else None
    protocol = protocol if measured is not None else published(protocol)
    digest = digest_of(protocol)
    counts = public.joint if public is not None else None
    protocol = as_people_have_them(protocol, counts) if counts is not None else protocol
    faithful, block = protocol.likeness is not None, protocol.block
    attributes = tuple(_attribute(block, j, joint, faithful, counts) for j in range(len(block.columns)))
    encoders = tuple(encoder_of(column) for column in protocol.columns)
    return Account(protocol, digest, encoders, attributes, measured, public)


def _of_model(protocol: Protocol, joint: Joint | None, certificate: Certificate | None) -> Account:
    """With what its groups keep of its model, not as the file states it."""
    found, step = _of_file(protocol, joint, certificate), protocol.by_model
    own = of_model(protocol.notion, step, protocol.secret, ())
    kept = replace(found.protocol, utility=own.utility, entropy=own.entropy, likeness=own.likeness)
    return replace(found, protocol=kept)


def _of_file(protocol: Protocol, joint: Joint | None, certificate: Certificate | None) -> Account:
    """Of a follow-up or a model: what the file says, and whether the promise holds on the counts that it is about."""
    own = None if protocol.carries_counts else joint
    proven = certify(protocol, own) if protocol.carries_counts or own is not None else certificate
    protocol = published(protocol)
    unchanged = protocol.step.unchanged()
    attributes = tuple(
        Attribute(column.name, tuple(map(text_of, column.labels)), shares, unchanged=same)
        for column, shares, same in zip(protocol.columns, protocol.step.column_shares(), unchanged, strict=True)
    )
    encoders = tuple(encoder_of(column) for column in protocol.columns)
    return Account(protocol, digest_of(protocol), encoders, attributes, proven=proven)


BY_STEP: dict[Kind, Callable[[Protocol, Joint | None, Certificate | None], Account]] = {
    "channel": _of_channel,
    "by_history": _of_file,
    "by_model": _of_model,
}


def _attribute(block: Block, j: int, joint: Joint | None, faithful: bool, counts: Joint | None) -> Attribute:
    """What became of the attribute j of a block. Of a faithful one, its marginal is also that of the original rows.

    Without a table, but with published `counts`, cells are those of people as these tell them, before they are read.
    """
    column, written = block.columns[j], block.codes[block.labels, j]
    marginal = block.marginal / UNIT
    labels = tuple(map(text_of, column.labels))
    if joint is None:
        after = np.bincount(written, weights=marginal, minlength=len(column)).astype(np.float64)
        inputs = np.arange(block.channel.n_inputs)
        pairs = _pairs(block, j, block.codes[:, j], inputs, marginal) if faithful else None
        unchanged = float(np.trace(pairs)) if pairs is not None else None
        if counts is not None and counts.noise is not None and faithful:
            people = counts.before_gathering or counts
            pairs = _pairs(block, j, _numbers(column, people), block.inputs_of(people), people.p_x)
            unchanged = counts.noise.share_told * float(np.trace(pairs))
        return Attribute(column.name, labels, after, unchanged=unchanged)
    pairs = _pairs(block, j, _numbers(column, joint), block.inputs_of(joint), joint.p_x)
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


def _numbers(column: Column, joint: Joint) -> Integers:
    """For every value of X in `joint`, the number that its value has in a column of a protocol."""
    place = joint.attributes.index(column.name)
    number = {label: i for i, label in enumerate(column.labels)}
    return np.array([number.get(label, UNSEEN) for label in joint.columns[place].labels])[joint.codes[:, place]]


def _pairs(block: Block, j: int, values: Integers, inputs: Integers, p: Vector) -> Matrix:
    """P(original value, released value) of the attribute j of a block.

    The share p[i] of people have its value number values[i] and are read as the input inputs[i] of the channel: with
    a frequency threshold, an input stands for other values, too.
    """
    size, entries = len(block.columns[j]), block.channel
    read, drawn = np.zeros((size, entries.n_inputs)), np.zeros((entries.n_inputs, size))
    np.add.at(read, (values, inputs), p)
    np.add.at(drawn, (entries.inputs, block.codes[block.labels[entries.outputs], j]), entries.numerators / UNIT)
    return np.asarray(read @ drawn)
