"""The exact recheck: integers in, verdict out. Nothing here is imported from the optimiser."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privacyfunnel import worst_case
from privacyfunnel.channel import Channel
from privacyfunnel.confidence import confidence_set
from privacyfunnel.errors import InvalidChannel, InvalidJoint, InvalidPromise
from privacyfunnel.joint import Joint
from privacyfunnel.limits import Limits, View
from privacyfunnel.promise import Notion
from privacyfunnel.protocol import Protocol
from privacyfunnel.typing import Exact, Integers

PRECISION = 60
"""Digits of e^ε. `Decimal.exp` is correctly rounded, so its error is below one unit in the last."""
LARGEST_EXPONENT = 10_000.0
"""e^ε is not computed beyond this ε; what is smaller is a rational below e^ε all the same."""


@dataclass(frozen=True)
class Worst:
    """Where the promise is tightest: the lift P(y|s) / P(y) as an exact fraction.

    For promises about two secrets (LDP), `against` is the other one and `lift` the ratio P(y|s) / P(y|s′);
    the lift is None where that is infinite. `known` is what the attacker knows beforehand.
    """

    secret: Hashable
    output: int
    lift: Fraction | None
    against: Hashable | None = None
    known: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Certificate:
    """Whether a channel keeps its promise on a distribution, in exact arithmetic."""

    holds: bool
    notion: Notion
    level: float
    """The smallest ε at which the channel keeps this kind of promise, rounded up."""
    worst: Worst | None
    reached: Limits
    """How far lifts go down, up and apart, each rounded up."""
    reason: str
    """Why it holds, or why it does not, in a line."""

    def __bool__(self) -> bool:
        return self.holds


def certify(protocol: Protocol | ArrayLike, joint: Joint, notion: Notion | None = None) -> Certificate:
    """Check in exact arithmetic that `protocol` keeps its promise on `joint`.

    Probabilities are integers over 2³² (the channel) and over the total weight (the joint); e^ε is
    replaced by a rational below it, so a promise that passes holds for the real numbers.
    A bare channel may be given instead of a protocol, with the notion to check it for.
    """
    if not isinstance(joint, Joint):
        raise InvalidJoint(f"certify needs a Joint, not {type(joint).__name__}")
    if not isinstance(notion, Notion | None):
        raise InvalidPromise(f"certify needs a notion such as LIP(0.5), not {type(notion).__name__}")
    if isinstance(protocol, Protocol):
        return _certify_protocol(protocol, joint, notion or protocol.notion)
    if notion is None:
        raise InvalidPromise("certify(channel, joint, notion) needs the notion to check a bare channel for")
    try:
        channel = Channel.from_dense(protocol)
    except InvalidChannel as broken:
        return _refused(notion, str(broken))
    return certify_channel(channel, joint, notion)


def certify_channel(channel: Channel, joint: Joint, notion: Notion) -> Certificate:
    """Whether `channel` keeps `notion` on `joint`, its inputs being the joint's values of X in order."""
    if channel.n_inputs != joint.n_x:
        return _refused(notion, f"the channel takes {channel.n_inputs} values of X, the distribution has {joint.n_x}")
    return _check(_Entries.of(channel), joint, notion)


def _certify_protocol(protocol: Protocol, joint: Joint, notion: Notion) -> Certificate:
    block = protocol.blocks[0]
    if block.attributes != joint.attributes:
        return _refused(notion, "the protocol and the distribution have different attributes")
    inputs = block.inputs_of(joint)
    strangers = int((inputs < 0).sum())
    if strangers:
        return _refused(notion, f"{strangers} of {joint.n_x} values of X were not there when the protocol was fitted")
    return _check(_Entries.of(block.channel).at(inputs), joint, notion)


@dataclass(frozen=True, eq=False)
class _Entries:
    """A channel's non-zero entries as exact integers: P(output|input) ∝ numerator, on a scale common to all."""

    inputs: Integers
    outputs: Integers
    numerators: Exact

    @classmethod
    def of(cls, channel: Channel) -> _Entries:
        return cls(channel.inputs, channel.outputs, channel.numerators)

    def at(self, inputs: Integers) -> _Entries:
        """The entries of the columns `inputs`, renumbered 0, 1, 2, …"""
        starts = np.searchsorted(self.inputs, inputs)
        counts = np.searchsorted(self.inputs, inputs, side="right") - starts
        place = np.repeat(starts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(counts.sum())
        return _Entries(np.repeat(np.arange(len(inputs)), counts), self.outputs[place], self.numerators[place])


@dataclass(frozen=True, eq=False)
class _Ratios:
    """Ratios over[i] / under[i] of exact integers that a promise bounds, and the place of each.

    Where both are 0 there is no ratio; where only `under` is, it is infinite.
    """

    over: Exact
    under: Exact
    places: Integers
    """places[i] = (output, cell, secret, the secret it is compared with or −1)."""

    def keep(self, bound: Fraction) -> bool:
        """Whether every ratio is at most `bound`, in integers."""
        return bool((self.over * bound.denominator <= self.under * bound.numerator).all())

    def largest(self) -> tuple[Fraction | None, Integers]:
        """The largest ratio, None if infinite, and its place."""
        infinite = np.flatnonzero((self.under == 0) & (self.over != 0))
        if infinite.size:
            return None, self.places[infinite[0]]
        real = np.flatnonzero(self.under != 0)
        if not real.size:  # nowhere are two secrets possible
            return Fraction(1), self.places[0]
        over, under = self.over[real], self.under[real]
        # Quotients of Python integers are rounded correctly, so the true largest is among the nearly largest.
        rounded = (over / under).astype(np.float64)
        near = np.flatnonzero(rounded >= rounded.max() * (1 - 4 * np.finfo(np.float64).eps))
        exact = [Fraction(int(over[i]), int(under[i])) for i in near]
        best = exact.index(max(exact))
        return exact[best], self.places[real[near[best]]]


@dataclass(frozen=True, eq=False)
class _Lifts:
    """The lifts over / under in one view: row i for an output y and a cell that go together, column s.

    over[i, s] = N[y, s, cell]·N[cell] and under[i, s] = N[y, cell]·N[s, cell], integers in proportion to P.
    A secret that is impossible in the cell has over = under = 0.
    """

    output: Integers
    cell: Integers
    over: Exact
    under: Exact

    @classmethod
    def of(cls, entries: _Entries, joint: Joint, view: View) -> _Lifts:
        cell = view.cell[entries.inputs]
        order = np.lexsort((cell, entries.outputs))
        outputs, cells, inputs = entries.outputs[order], cell[order], entries.inputs[order]
        first = np.flatnonzero(np.append(True, (np.diff(outputs) != 0) | (np.diff(cells) != 0)))
        weights, numerators = joint.weights, entries.numerators[order]
        bits = joint.total.bit_length() + int(numerators.max()).bit_length()
        if weights.dtype != object and (numerators.dtype == object or bits >= 63):
            weights = weights.astype(object)  # int64 would overflow
        told = [np.add.reduceat(row[inputs] * numerators.astype(row.dtype), first) for row in weights]
        given = np.stack(told, axis=1).astype(object)
        prior = np.zeros((view.n_cells, joint.n_s), dtype=object)
        np.add.at(prior, view.cell, joint.weights.T.astype(object))
        output, cell = outputs[first], cells[first]
        over = given * prior.sum(axis=1)[cell][:, None]
        return cls(output, cell, over, given.sum(axis=1)[:, None] * prior[cell])

    def falls(self) -> _Ratios:
        """1 / lift."""
        return _Ratios(self.under.ravel(), self.over.ravel(), self._places(np.arange(self.over.shape[1]), None))

    def rises(self) -> _Ratios:
        """The lift."""
        return _Ratios(self.over.ravel(), self.under.ravel(), self._places(np.arange(self.over.shape[1]), None))

    def spreads(self) -> _Ratios:
        """Lift / lift′ for every two secrets."""
        s, t = np.nonzero(~np.eye(self.over.shape[1], dtype=bool))
        over, under = self.over[:, s] * self.under[:, t], self.under[:, s] * self.over[:, t]
        return _Ratios(over.ravel(), under.ravel(), self._places(s, t))

    def _places(self, s: Integers, t: Integers | None) -> Integers:
        pair = np.stack([s, t if t is not None else np.full(len(s), -1)], axis=1)
        here = np.stack([self.output, self.cell], axis=1)
        return np.concatenate([np.repeat(here, len(s), axis=0), np.tile(pair, (len(here), 1))], axis=1)


def _check(entries: _Entries, joint: Joint, notion: Notion) -> Certificate:
    """Every limit in every view, and where each is tightest."""
    if notion.confidence is not None:
        return _check_over(entries, joint, notion, notion.confidence)
    asked, reached = notion.limits.granted(), Limits(0.0, 0.0, 0.0)
    holds, worst, share = True, None, -1.0
    for view in notion.views(joint):
        lifts = _Lifts.of(entries, joint, view)
        for name, ratios in (("lower", lifts.falls()), ("upper", lifts.rises()), ("spread", lifts.spreads())):
            if not len(ratios.over):
                continue  # a single secret has nothing to be compared with
            ratio, place = ratios.largest()
            got = log_above(ratio) if ratio is not None else math.inf
            reached = replace(reached, **{name: max(got, getattr(reached, name))})
            limit = getattr(asked, name)
            if math.isfinite(limit):
                holds = holds and ratios.keep(e_to(limit))
                own = notion.level_of(replace(Limits(0.0, 0.0, 0.0), **{name: got}))
                if own > share:
                    share, worst = own, _worst(joint, view, place, ratio, falls=name == "lower")
    level = notion.level_of(reached)
    reason = f"{notion.name} level {level:.9g}, promised {notion.epsilon:g}"
    return Certificate(holds, notion, level, worst, reached, reason)


def _check_over(entries: _Entries, joint: Joint, notion: Notion, confidence: float) -> Certificate:
    """Every limit in every view for every distribution that the counts leave open, and where each is tightest."""
    asked, reached = notion.limits.granted(), Limits(0.0, 0.0, 0.0)
    holds, worst, share = True, Worst(joint.secret_values[0], 0, Fraction(1)), -1.0
    for part in confidence_set(joint, notion.views(joint), confidence):
        largest = worst_case.largest(entries.inputs, entries.outputs, entries.numerators, part)
        for kind, (extreme, told) in largest.items():
            ratio, limit = extreme.ratio(), getattr(asked, kind)
            got = log_above(ratio) if ratio is not None else math.inf
            reached = replace(reached, **{kind: max(got, getattr(reached, kind))})
            if math.isfinite(limit):
                holds = holds and ratio is not None and ratio <= e_to(limit)
                own = notion.level_of(replace(Limits(0.0, 0.0, 0.0), **{kind: got}))
                if own > share:
                    place = np.array([told.output, part.cells[told.place], extreme.secret, extreme.against])
                    share, worst = own, _worst(joint, part.view, place, ratio, falls=kind == "lower")
    level = notion.level_of(reached)
    reason = f"{notion.name} level {level:.9g}, promised {notion.epsilon:g}"
    return Certificate(holds, notion, level, worst, reached, reason)


def _worst(joint: Joint, view: View, place: Integers, ratio: Fraction | None, falls: bool) -> Worst:
    output, cell, s, t = (int(part) for part in place)
    lift = ratio
    if falls:
        lift = 1 / ratio if ratio is not None else Fraction(0)
    x = int(np.flatnonzero(view.cell == cell)[0])
    known = {joint.attributes[j]: joint.values[x, j] for j in view.known}
    return Worst(joint.secret_values[s], output, lift, joint.secret_values[t] if t >= 0 else None, known)


def e_to(epsilon: float) -> Fraction:
    """A rational just below e^ε, and at least 1."""
    context = Context(prec=PRECISION, Emax=10**6, Emin=-(10**6))
    value = Fraction(context.exp(Decimal(min(epsilon, LARGEST_EXPONENT))))
    return max(Fraction(1), value * (1 - Fraction(1, 10 ** (PRECISION - 1))))


def log_above(ratio: Fraction) -> float:
    """ln(ratio) for a ratio ≥ 1, rounded up."""
    excess = ratio - 1
    if excess <= 0:
        return 0.0
    if excess < 1:
        value = spare = math.log1p(float(excess))
    else:
        spare = math.log(ratio.numerator)
        value = spare - math.log(ratio.denominator)
    return value + 4 * math.ulp(spare)


def _refused(notion: Notion, reason: str) -> Certificate:
    """What is not even a channel for this distribution promises nothing."""
    return Certificate(False, notion, math.inf, None, Limits(), reason)
