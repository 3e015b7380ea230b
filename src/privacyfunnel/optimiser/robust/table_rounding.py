"""From real weights to an exact channel over a nested set.

Rows stay the same in the cells of their tables: whatever is rounded in one value is rounded alike in all values of its
cell, so that the certificate can rest on the same tables. Each row is drawn a little towards a constant one, to make
up for rounding and for what a solver leaves open. What is then missing is nearly the same in all values, and is an
output, too.
"""

from __future__ import annotations

import math

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import NotCertified
from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.optimiser.robust.table_programs import positive
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.certificate import certify_channel
from privacyfunnel.proof.over_population import broken_outputs
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.typing import Integers, Matrix, Vector

RAREST = 1e-7
"""Outputs that no value has with a larger probability are left out: rounding would change them too much."""
DRAWN_IN = tuple(16.0**k for k in range(-7, 0))
"""Shares of a constant row, tried in turn: a solver's tolerance suffices nearly always."""
MOST_TRIES = 3 * len(DRAWN_IN)
UNITS = 8.0
"""Of 2⁻³² that rounding may cost a row, with room."""
SHARES_LEFT = tuple(4.0**k for k in range(-12, 0))
"""Of every row, left to the remainder: as little as makes it nearly constant."""
NEARLY = 0.25
"""Of ε: by so much the remainder may differ between two values."""


def exact_by_tables(joint: Joint, notion: Notion, columns: Columns, q: Vector) -> Channel:
    """The mixture rounded to a channel for all values of `joint` that passes the exact check over the whole set."""
    p = positive(joint.p_x)
    rows = _levelled(q[:, None] * columns.dense(joint.n_x) / p)
    most = rows.max(axis=1)
    worth = np.flatnonzero(most > RAREST)
    order = worth[np.argsort(-q[worth], kind="stable")][: joint.n_x]
    rows, size = rows[order], np.maximum(q[order], most[order] / joint.n_x)[:, None]
    limits = notion.limits
    leeway = math.expm1(min(1.0, limits.lower, limits.upper, limits.spread))
    drawn = np.zeros(len(rows), dtype=np.int64)
    for _ in range(MOST_TRIES):
        share = np.array(DRAWN_IN)[drawn][:, None]
        targets = (1 - share) * rows + share * size + UNITS / (leeway * UNIT)
        channel = Channel.from_numerators(_with_remainder(targets, NEARLY * leeway))
        certificate = certify_channel(channel, joint, notion)
        if certificate.holds and certificate.level <= notion.epsilon:
            return channel
        broken = broken_outputs(channel, joint, notion) - (channel.n_outputs - len(rows))
        if not len(broken) or broken.min() < 0 or (drawn[broken] == len(DRAWN_IN) - 1).any():
            break
        drawn[broken] += 1
    constant = Channel.from_numerators(np.full((1, joint.n_x), UNIT, dtype=np.int64))
    if certify_channel(constant, joint, notion).holds:
        return constant
    raise NotCertified(f"no exact channel was found that keeps {notion}; please report this")


def _levelled(W: Matrix) -> Matrix:
    """Rows without the last digits, which division left different in values of the same cell."""
    size = W.max(axis=1, keepdims=True)
    return np.asarray(np.rint(W / size * 2.0**40) * 2.0**-40 * size)


def _with_remainder(targets: Matrix, nearly: float) -> Integers:
    """The rows as integers, and what is missing in every value; that is nearly the same in all of them.

    If there are as many rows as values already, and no name for another output, it is added to the first row: two rows
    that keep the promise do so together.
    """
    for left in SHARES_LEFT:
        rows: Integers = np.floor((1 - left) * targets * UNIT).astype(np.int64)
        rest = UNIT - rows.sum(axis=0)
        if rest.min() > 0 and rest.max() <= (1 + nearly) * rest.min():
            rows = rows[rows.any(axis=1)]
            if len(rows) < targets.shape[1]:
                return np.concatenate([rest[None], rows])
            rows[0] += rest
            return rows
        if not rest.any():
            return rows[rows.any(axis=1)]
    return np.full((1, targets.shape[1]), UNIT, dtype=np.int64)
