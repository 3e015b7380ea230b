"""What people use instead: small mechanisms to compare with, each with its true level.

Three are channels of X and come back as a `Protocol`: they can be certified, saved and sampled like ours, and at
the same promise `optimise` keeps at least as much of X. Conditional reporting draws from the secret itself; it
comes back as a `Reporting`, because it is no channel of X.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, InvalidPromise
from privacyfunnel.numeric.information import mutual_information, no_less, plogp
from privacyfunnel.optimiser.program.finishing import finished
from privacyfunnel.promises.limits import PERFECT_LEVEL, Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import PML
from privacyfunnel.proof.certificate import certify, certify_channel
from privacyfunnel.proof.tally import limits_above
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.protocol import Protocol, not_below
from privacyfunnel.protocols.released import information_kept
from privacyfunnel.typing import Integers, Matrix, Vector

HALVINGS = 50
"""Steps of a bisection in float64; the exact check has the last word."""
TOUCHING = 1e-12
"""Posteriors this close to the limit of a promise count as breaking it, since float64 cannot tell."""


def randomised_response(joint: Joint, notion: Notion) -> Protocol:
    """k-ary randomised response on X, as truthful as the promise about S allows.

    Q[y, x] = θ·1[y = x] + (1 − θ)/k over the k values of X that occur. Smaller θ mixes in more of a constant
    channel, which only improves a promise, so the largest θ that keeps it is found by bisection.

    >>> joint = Joint([[40, 10], [10, 40]])
    >>> response = randomised_response(joint, LIP(0.3))
    >>> certify(response, joint).holds, response.utility <= optimise(joint, LIP(0.3)).upper_bound
    (True, True)
    """
    channel = _truthful(
        joint.n_x,
        lambda Q: _allowed(notion, notion.level(joint, Q)),
        lambda channel: certify_channel(channel, joint, notion).holds,
    )
    return _protocol(joint, channel, notion, "randomised response on X")


def watchdog(joint: Joint, notion: Notion) -> Protocol:
    """Publish the values that keep the promise by themselves; write one and the same symbol for all others.

    Where that symbol breaks the promise, too, values are added to it, each time the one that brings it nearest
    to the limits; in the end it holds everything, and nothing is published.
    """
    G, p_x = notion.rows(joint), joint.p_x
    risky = np.array((G > -TOUCHING).any(axis=0))
    while True:
        channel = _grouped(np.where(risky, -1, np.arange(joint.n_x)))
        if risky.all() or certify_channel(channel, joint, notion).holds:
            return _protocol(joint, channel, notion, f"watchdog: {risky.sum()} of {joint.n_x} values suppressed")
        rest = np.flatnonzero(~risky)
        excess = (G @ (p_x * risky))[:, None] + G[:, rest] * p_x[rest]
        mass = p_x @ risky + p_x[rest]
        risky[rest[(excess / mass).max(axis=0, initial=0.0).argmin()]] = True


def greedy_merge(joint: Joint, leakage: float) -> Protocol:
    """The privacy funnel's greedy heuristic: merge values until I(S;Y) is at most `leakage` nats.

    Y starts as X. Of all pairs of outputs, the two whose merger hides the most of S per nat of X it costs become
    one. This bounds what Y tells about S on average and nobody's worst case: `notion` is the PML level that was
    reached, which is always finite; the LIP and LDP levels are infinite if an output rules a secret out.

    >>> merged = greedy_merge(Joint([[30, 25, 5], [5, 10, 25]]), 0.05)
    >>> merged.channel.tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    if not leakage >= 0:
        raise InvalidInput(f"leakage is a number of nats that is at least 0; got {leakage!r}")
    channel = _grouped(_merged(joint.p, leakage))
    level = certify_channel(channel, joint, PML(1.0)).level
    return _protocol(joint, channel, PML(level), f"greedy merging until I(S;Y) ≤ {leakage:g} nats")


@dataclass(frozen=True, eq=False)
class Reporting:
    """A protocol that sees the secret: Y is drawn from P(y|s, x), not from P(y|x).

    The promise about S is the same kind of promise, but the class of protocols is larger, so that it may keep
    more of X than the best channel of X. Whoever runs it needs the secret of every row.
    """

    joint: Joint
    notion: Notion
    """The promise that is kept."""
    secret_channel: Channel
    """P(s̃|s), exactly: the secret that is reported for each secret."""
    reached: Limits
    """How far the lifts P(y|s) / P(y) go down, up and apart: computed from integers, rounded up."""
    utility: float
    """I(X;Y) in nats."""

    @property
    def level(self) -> float:
        """The smallest ε at which Y keeps this kind of promise, rounded up."""
        return self.notion.level_of(self.reached)

    def given(self, s: int) -> Matrix:
        """P(y|s, x) at [y, x]: x itself if the report is true, else a fresh draw from p(x|s̃)."""
        R = self.secret_channel.dense()[:, s]
        fresh = np.where(np.arange(self.joint.n_s) == s, 0.0, R) @ self.joint.p_x_given_s
        return np.asarray(R[s] * np.eye(self.joint.n_x) + fresh[:, None])

    def draw(self, s: Integers, x: Integers, rng: np.random.Generator) -> Integers:
        """One y for every row (s, x). For experiments: the randomness is not that of a release."""
        R, given = np.cumsum(self.secret_channel.dense(), axis=0), np.cumsum(self.joint.p_x_given_s, axis=1)
        reported = (rng.random(len(s)) > R[:, s]).sum(axis=0).clip(max=self.joint.n_s - 1)
        spot = rng.random(len(s))
        y = x.copy()
        for t in range(self.joint.n_s):
            lying = (reported == t) & (s != t)
            y[lying] = np.searchsorted(given[t], spot[lying] * given[t, -1])
        return y


def conditional_reporting(joint: Joint, notion: Notion) -> Reporting:
    """Randomised response on S, then X made to fit: publish x if the reported secret is the true one.

    Otherwise publish a fresh draw from p(x|s̃). The response is as truthful as the promise allows; the level is
    that of Y, exactly: P(y|s) = Σ_s̃ P(s̃|s) p(y|s̃).
    """
    if not notion.one_view(joint) or not notion.simple:
        raise InvalidPromise(f"conditional reporting knows no side channels; {notion.name} guards against them")
    secrets = Joint(np.diag(joint.p_s))
    channel = _truthful(
        joint.n_s,
        lambda R: _allowed(notion, notion.level(secrets, joint.p_x_given_s.T @ R)),
        lambda channel: _allowed(notion, notion.level_of(_reached(channel, joint))),
    )
    report = Reporting(joint, notion, channel, _reached(channel, joint), 0.0)
    together = np.sum([report.given(s) * joint.p[s] for s in range(joint.n_s)], axis=0)  # P(x, y) at [y, x]
    return replace(report, utility=mutual_information(together))


def levels(protocol: Protocol | Reporting, joint: Joint) -> tuple[float, float]:
    """The exact ε-LIP and ε-LDP level of what is released; infinite where a secret is ruled out."""
    reached = protocol.reached if isinstance(protocol, Reporting) else certify(protocol, joint).reached
    return max(reached.lower, reached.upper), reached.spread


def _allowed(notion: Notion, level: float) -> bool:
    return level <= (notion.epsilon or PERFECT_LEVEL)


def _truthful(k: int, keeps: Callable[[Matrix], bool], exactly: Callable[[Channel], bool]) -> Channel:
    """Randomised response among k values with the largest θ that `keeps` allows, made exact and checked `exactly`."""
    low, high = 0.0, 1.0
    if keeps(np.eye(k)):
        low = 1.0
    for _ in range(HALVINGS if low < 1 else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if keeps(middle * np.eye(k) + (1 - middle) / k) else (low, middle)
    other, step = math.ceil((1 - low) * UNIT / k), 1
    while other * k <= UNIT:
        numerators = np.full((k, k), other, dtype=np.int64)
        np.fill_diagonal(numerators, UNIT - (k - 1) * other)
        channel = Channel.from_numerators(numerators)
        if exactly(channel):
            return channel
        other, step = other + step, 2 * step
    return _grouped(np.zeros(k, dtype=np.int64))


def _reached(channel: Channel, joint: Joint) -> Limits:
    """The lifts of Y in conditional reporting: P(s, y) ∝ N(s) Σ_s̃ R(s̃|s) N(s̃, y) / N(s̃), in integers."""
    weights = joint.weights.astype(object)
    of_s = weights.sum(axis=1)
    common = math.lcm(*map(int, of_s))
    R = np.zeros((joint.n_s, joint.n_s), dtype=object)
    R[channel.outputs, channel.inputs] = [int(n) for n in channel.numerators]
    together = of_s[:, None] * (R.T @ (weights * (common // of_s)[:, None]))
    over, under = together * together.sum(), together.sum(axis=1)[:, None] * together.sum(axis=0)
    widest = Limits(0.0, 0.0, 0.0)
    for y in range(joint.n_x):
        lifts = [Fraction(int(o), int(u)) for o, u in zip(over[:, y], under[:, y], strict=True)]
        most, least = max(lifts), min(lifts)
        widest = widest.wider(limits_above(least, most, most / least if least else None))
    return widest


def _merged(p: Matrix, leakage: float) -> Integers:
    """group[x]: the output that x is merged into, for p[s, x]."""
    p, group = p.copy(), np.arange(p.shape[1])

    def together(v: Matrix) -> Vector:
        """What an output with P(s, y) = v[s] adds to I(S;Y), but for a constant and a linear part."""
        return np.asarray(plogp(v).sum(axis=0) - plogp(v.sum(axis=0)))

    def gains(k: int) -> Vector:
        """I(S;Y) hidden per nat of I(X;Y) lost, when output k merges with each of the others."""
        mass, both = p.sum(axis=0), p + p[:, [k]]
        hidden = together(p) + together(p[:, [k]]) - together(both)
        lost = plogp(mass + mass[k]) - plogp(mass) - plogp(mass[k])
        gain = np.divide(hidden, lost, out=np.full(len(mass), -np.inf), where=(mass > 0) & (lost > 0))
        gain[k] = -np.inf
        return np.asarray(gain)

    table = np.stack([gains(k) for k in range(p.shape[1])])
    while mutual_information(p) > leakage and np.isfinite(table).any():
        k, other = np.unravel_index(table.argmax(), table.shape)
        p[:, k] += p[:, other]
        p[:, other] = 0.0
        group[group == other] = k
        table[other, :] = table[:, other] = -np.inf
        table[k, :] = table[:, k] = gains(int(k))
    return group


def _grouped(group: Integers) -> Channel:
    """The channel that writes the group of x, exactly; groups are renumbered from 0."""
    _, output = np.unique(group, return_inverse=True)
    numerators = np.full(len(group), UNIT, dtype=np.int64)
    shape = (int(output.max()) + 1, len(group))
    return Channel.from_entries(np.arange(len(group)), output.astype(np.int64), numerators, shape)


def _protocol(joint: Joint, channel: Channel, notion: Notion, how: str) -> Protocol:
    """The channel as a protocol; nothing better than H(X) is known about what others could keep."""
    readings = joint.secret_readings
    kept = information_kept(channel, joint.p_x)
    bound = not_below(no_less(joint.entropy), kept)
    found = Protocol(notion, block_of(joint, channel), kept, bound, joint.entropy, how, joint.secret, readings)
    return finished(found, [joint])
