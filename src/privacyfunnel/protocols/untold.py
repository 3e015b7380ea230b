"""Untold shares: those that readers cannot hope to estimate from released rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Vector

MOST_INPUTS = 1_000
"""Values of X for which the linear equations are solved: some 0.5 s."""
LEAST_SINGULAR = 1e-5
"""Directions with smaller singular values count as not identified: even 10¹⁰ rows would leave a standard error of 1."""
UNEXPLAINED = 1e-6
"""What rounding errors leave of a share that is told: less."""
VAGUE = 0.1
"""A standard error with which a share is as good as not told: intervals reach 0.2 to either side, and more."""


@dataclass(frozen=True)
class Untold:
    """How many shares of single values there are, and how many of them readers cannot hope to estimate."""

    shares: int
    untold: int


def untold_shares(protocol: Protocol, joint: Joint) -> Untold | None:
    """The shares of single values that a release of `joint` will not tell; None where that is too much work.

    The share of a value a of one attribute is Σ_x 1[x has a] P(x). Rows tell it if 1[x has a] = Σ_y w[y] Q[y, x] for
    some weights w of the outputs; the best w then leave the standard error √((Σ_y P(y) w[y]² − share²) / n). A
    faithful release tells them all: its rows are counted as they stand.
    """
    if protocol.likeness is not None or protocol.block.channel.n_inputs > MOST_INPUTS:
        return None
    errors = _errors(protocol.block, joint)
    return Untold(len(errors), int((errors > VAGUE).sum()))


def _errors(block: Block, joint: Joint) -> Vector:
    """The standard errors of the shares of all values of the attributes; infinite where they are not told."""
    people = joint.noise.people if joint.noise is not None else joint.total if joint.counted else np.inf
    p_x = np.bincount(block.inputs_of(joint), weights=joint.p_x, minlength=block.channel.n_inputs)
    Q = block.channel.dense()
    q = Q @ p_x
    occur = q > 0
    drawn = Q[occur].T / np.sqrt(q[occur])
    has = np.concatenate([codes[:, None] == np.unique(codes) for codes in block.codes.T], axis=1).astype(np.float64)
    scores = np.linalg.lstsq(drawn, has, rcond=LEAST_SINGULAR)[0]
    variance = np.maximum((scores**2).sum(axis=0) - (p_x @ has) ** 2, 0.0) / people
    told = np.abs(drawn @ scores - has).max(axis=0) < UNEXPLAINED
    return np.where(told, np.sqrt(variance), np.inf)
