"""The exact recheck: integers in, verdict out. Nothing here is imported from the optimiser."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from privacyfunnel.channel import BITS, Channel
from privacyfunnel.errors import InvalidChannel, InvalidPromise
from privacyfunnel.joint import Joint
from privacyfunnel.notions import Limits, Notion
from privacyfunnel.protocol import Block, Protocol
from privacyfunnel.typing import Exact, Integers

PRECISION = 60
"""Digits of e^ε. `Decimal.exp` is correctly rounded, so its error is below one unit in the last."""


@dataclass(frozen=True)
class Worst:
    """Where the promise is tightest: the lift P(y|s) / P(y) as an exact fraction.

    For promises about two secrets (LDP), `against` is the other one and `lift` the ratio P(y|s) / P(y|s′).
    """

    secret: Hashable
    output: int
    lift: Fraction
    against: Hashable | None = None


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
    if isinstance(protocol, Protocol):
        notion, block = notion or protocol.notion, protocol.blocks[0]
        if block.attributes != joint.attributes:
            return _refused(notion, "the protocol and the distribution have different attributes")
        inputs = _inputs(block, joint)
        strangers = int((inputs < 0).sum())
        if strangers:
            return _refused(
                notion, f"{strangers} of {joint.n_x} values of X were not there when the protocol was fitted"
            )
        weights = np.zeros((joint.n_s, block.channel.n_inputs), dtype=joint.weights.dtype)
        weights[:, inputs] = joint.weights
        return _judge(notion, joint, _extremes(_output_weights(block.channel, weights)))
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
    return _judge(notion, joint, _extremes(_output_weights(channel, joint.weights)))


def e_to(epsilon: float) -> Fraction:
    """A rational just below e^ε."""
    context = Context(prec=PRECISION, Emax=10**6, Emin=-(10**6))
    value = Fraction(context.exp(Decimal(epsilon)))
    return value * (1 - Fraction(1, 10 ** (PRECISION - 1)))


def log_above(ratio: Fraction) -> float:
    """ln(ratio) for a ratio ≥ 1, rounded up."""
    excess = ratio - 1
    if excess == 0:
        return 0.0
    value = math.log1p(float(excess)) if excess < 1 else math.log(ratio.numerator) - math.log(ratio.denominator)
    spare = abs(math.log(ratio.numerator)) if excess >= 1 else value
    return value + 4 * math.ulp(spare)


@dataclass(frozen=True)
class _Extremes:
    """The largest lift, the smallest, and the largest ratio of two, each with its place."""

    most: tuple[Fraction, int, int]
    least: tuple[Fraction, int, int]
    apart: tuple[Fraction | None, int, int, int]
    """The ratio is None where a secret that is impossible given y makes it infinite."""


def _inputs(block: Block, joint: Joint) -> Integers:
    """For every value of X in the joint, the block's input that stands for the same values; −1 if none does."""
    if block.columns == joint.columns and np.array_equal(block.codes, joint.codes):
        return np.arange(joint.n_x)
    known = {values: x for x, values in enumerate(map(tuple, block.values.tolist()))}
    return np.array([known.get(values, -1) for values in map(tuple, joint.values.tolist())])


def _output_weights(channel: Channel, weights: Exact) -> Exact:
    """N[y, s] ∝ P(y, s), exact, from weights[s, x] ∝ P(s, x); outputs that never occur have zeros."""
    if weights.dtype != object and int(weights.sum()) >= 2 ** (63 - BITS):
        weights = weights.astype(object)  # int64 would overflow
    order = np.argsort(channel.outputs, kind="stable")
    outputs, inputs = channel.outputs[order], channel.inputs[order]
    numerators = channel.numerators[order].astype(weights.dtype)
    seen, first = np.unique(outputs, return_index=True)
    totals = np.zeros((channel.n_outputs, len(weights)), dtype=weights.dtype)
    for s, row in enumerate(weights):
        totals[seen, s] = np.add.reduceat(row[inputs] * numerators, first)
    return totals


def _extremes(totals: Exact) -> _Extremes:
    """Lifts are N[y,s]·N / (N[y]·N[s]), in Python integers; each x has all its outputs, so N[s] ∝ P(s)."""
    rows = totals.tolist()
    prior = [sum(column) for column in zip(*rows, strict=True)]
    whole = sum(prior)
    most, least = (Fraction(0), 0, 0), (Fraction(0), 0, 0)
    first = True
    apart: tuple[Fraction | None, int, int, int] = (Fraction(0), 0, 0, 0)
    for y, row in enumerate(rows):
        emitted = sum(row)
        if emitted == 0:
            continue
        lifts = [Fraction(n * whole, emitted * w) for n, w in zip(row, prior, strict=True)]
        high = max(range(len(lifts)), key=lifts.__getitem__)
        low = min(range(len(lifts)), key=lifts.__getitem__)
        if first or lifts[high] > most[0]:
            most = (lifts[high], high, y)
        if first or lifts[low] < least[0]:
            least = (lifts[low], low, y)
        first = False
        if lifts[low] == 0:
            apart = (None, high, low, y)
        elif apart[0] is not None and lifts[high] / lifts[low] > apart[0]:
            apart = (lifts[high] / lifts[low], high, low, y)
    return _Extremes(most, least, apart)


def _judge(notion: Notion, joint: Joint, extremes: _Extremes) -> Certificate:
    (most, s_most, y_most), (least, s_least, y_least) = extremes.most, extremes.least
    ratio, s_high, s_low, y_apart = extremes.apart
    reached = Limits(
        lower=log_above(1 / least) if least else math.inf,
        upper=log_above(most),
        spread=log_above(ratio) if ratio is not None else math.inf,
    )
    asked = notion.limits.granted()
    names = joint.secret_values
    nothing = Limits(0.0, 0.0, 0.0)
    # Each limit as (kept?, its share of the level, its place).
    checks = []
    if math.isfinite(asked.lower):
        kept = least * e_to(asked.lower) >= 1
        checks.append((kept, replace(nothing, lower=reached.lower), Worst(names[s_least], y_least, least)))
    if math.isfinite(asked.upper):
        kept = most <= e_to(asked.upper)
        checks.append((kept, replace(nothing, upper=reached.upper), Worst(names[s_most], y_most, most)))
    if math.isfinite(asked.spread):
        kept = ratio is not None and ratio <= e_to(asked.spread)
        place = Worst(names[s_high], y_apart, ratio if ratio is not None else Fraction(0), names[s_low])
        checks.append((kept, replace(nothing, spread=reached.spread), place))
    _, _, worst = max(checks, key=lambda check: notion.level_of(check[1]))
    holds = all(kept for kept, _, _ in checks)
    level = notion.level_of(reached)
    reason = f"{notion.name} level {level:.9g}, promised {max(notion.epsilon, 0):g}"
    return Certificate(holds, notion, level, worst, reached, reason)


def _refused(notion: Notion, reason: str) -> Certificate:
    """What is not even a channel for this distribution promises nothing."""
    return Certificate(False, notion, math.inf, None, Limits(), reason)
