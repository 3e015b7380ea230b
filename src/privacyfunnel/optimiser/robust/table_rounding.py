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
from privacyfunnel.optimiser.program.master import Master
from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.optimiser.program.tolerances import MIXES
from privacyfunnel.optimiser.robust.demands import demands_of
from privacyfunnel.optimiser.robust.table_programs import positive
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.certificate import certify_channel
from privacyfunnel.proof.clauses_over_population import broken_outputs
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.typing import Integers, Matrix, Vector

RAREST = 1e-7
"""Outputs that no value has with a larger probability are left out: rounding would change them too much."""
UNITS = 8.0
"""Of 2⁻³² that rounding may cost a row, with room."""
SHARES_LEFT = tuple(4.0**k for k in range(-12, 0))
"""Of every row, left to the remainder: as little as makes it nearly constant."""
NEARLY = 0.25
"""Of ε: by so much the remainder may differ between two values."""


def exact_by_tables(joint: Joint, notion: Notion, columns: Columns, q: Vector, others: Columns) -> Channel:
    """The mixture rounded to a channel for all values of `joint` that passes the exact check over the whole set.

    Posteriors whose outputs break the promise however little is kept of them, because a certificate knows less of their
    table than the search did, are given up, and all others that were found are mixed anew.
    """
    p = positive(joint.p_x)
    while len(q) > 1:
        channel, broken = _tried(joint, notion, p, columns, q)
        if channel is not None:
            return channel
        others = _without(others, columns.take(broken), joint.n_x)
        left = Master(p)
        left.add(others)
        columns, q = left.mixture()
    constant = Channel.from_numerators(np.full((1, joint.n_x), UNIT, dtype=np.int64))
    if certify_channel(constant, joint, notion).holds:
        return constant
    raise NotCertified(f"no exact channel was found that keeps {notion}; please report this")


def _tried(joint: Joint, notion: Notion, p: Vector, columns: Columns, q: Vector) -> tuple[Channel | None, Integers]:
    """A channel that passes the exact check, or the numbers of posteriors whose outputs do not."""
    rows = _levelled(q[:, None] * columns.dense(joint.n_x) / p)
    most = rows.max(axis=1)
    worth = np.flatnonzero(most > RAREST)
    order = worth[np.argsort(-q[worth], kind="stable")][: joint.n_x]
    rows, size = rows[order], np.maximum(q[order], most[order] / joint.n_x)[:, None]
    leeway = math.expm1(min(1.0, *(demand.slack() for demand in demands_of(notion, joint))))
    tries = np.zeros(len(rows), dtype=np.int64)
    while True:
        share = np.array(MIXES)[tries][:, None]
        targets = (1 - share) * rows + share * size + UNITS / (leeway * UNIT)
        channel = Channel.from_numerators(_with_remainder(targets, NEARLY * leeway))
        certificate = certify_channel(channel, joint, notion)
        if certificate.holds and certificate.level <= notion.epsilon:
            return channel, order[:0]
        broken = broken_outputs(channel, joint, notion) - (channel.n_outputs - len(rows))
        broken = broken[broken >= 0] if (broken >= 0).any() else np.arange(len(rows))  # or else, the remainder did
        if (tries[broken] == len(MIXES) - 1).any():
            return None, order[broken]
        tries[broken] += 1


def _without(columns: Columns, some: Columns, n_x: int) -> Columns:
    """The columns that are none of some."""
    refused = {row.tobytes() for row in some.dense(n_x)}
    return columns.take(np.array([i for i, row in enumerate(columns.dense(n_x)) if row.tobytes() not in refused]))


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
