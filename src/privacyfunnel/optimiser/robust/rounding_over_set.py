"""From real weights to an exact channel that keeps a promise over a whole confidence set.

Posteriors with few non-zeros are rounded as for any promise, against the rows that are nearly tight at them. Where
posteriors are dense that takes long and gains nothing: there, each row of the channel is rounded down, and drawn
towards a constant row until no distribution of the set is broken by rounding. p_x is strictly inside, so a share of
about one unit over the row's size suffices.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import NotCertified
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.rounding import NARROW_ROW, SLACKS, round_channel, round_rows
from privacyfunnel.optimiser.program.tolerances import GONE, MIXES
from privacyfunnel.optimiser.robust.region import Region
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.certificate import certify_channel
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.typing import Integers, Matrix, Vector

NEARLY_TIGHT = 1e-3
"""Rows this close to being overstepped, relative to their terms, are watched while a channel is rounded."""
LEAST_SHARE = 1e-9
"""Of a constant row, mixed in at first: some units of 2⁻³², a little more than rounding down takes away."""
GROWTH = 4.0
"""By this factor the share grows until the promise is kept: at most four times what was needed is lost."""


def exact_over(joint: Joint, notion: Notion, region: Region, columns: Columns, q: Vector) -> Channel:
    """The mixture rounded to a channel that passes the exact check over the whole set.

    Rounding may change which distribution is the worst, so rows are generated here, too.
    """
    worth = np.flatnonzero(q > GONE)
    columns, q = columns.take(worth), q[worth]
    dense = (columns.mass > 0).sum(axis=1) > NARROW_ROW
    G = region.cuts(columns.take(np.flatnonzero(~dense)).dense(joint.n_x), -NEARLY_TIGHT)[0]
    for slack in SLACKS:
        if dense.any():
            channel = _round_both(region, columns, q, dense, G, slack)
        else:
            channel = round_channel(columns, q, Polytope(G, joint.p_x), slack)
        if _passes(channel, joint, notion):
            return channel
        V = channel.dense() * joint.p_x
        V = V[(V > 0).sum(axis=1) <= NARROW_ROW] if dense.any() else V
        G = np.concatenate([G, region.cuts(V / V.sum(axis=1, keepdims=True), -slack)[0]])
    for share in MIXES:  # at large ε, an output may lack less than a unit of some value, and that is all that is wrong
        V = (1 - share) * columns.dense(joint.n_x) + share * joint.p_x
        channel = round_channel(Columns.from_dense(V), q, Polytope(G[:0], joint.p_x), SLACKS[0])
        if _passes(channel, joint, notion):
            return channel
    raise NotCertified(f"no exact channel was found that keeps {notion}; please report this")


def _passes(channel: Channel, joint: Joint, notion: Notion) -> bool:
    certificate = certify_channel(channel, joint, notion)
    return certificate.holds and certificate.level <= notion.epsilon


def _round_both(
    region: Region, columns: Columns, q: Vector, dense: NDArray[np.bool_], G: Matrix, slack: float
) -> Channel:
    """Few non-zeros rounded as ever, many rounded down and drawn in; what is left falls to a dense output, the sink."""
    n = region.n_x
    _, *others = np.flatnonzero(dense)[np.argsort(-q[dense], kind="stable")]
    targets = q[others, None] * columns.take(np.array(others, dtype=np.int64)).dense(n) / region.p_x * UNIT
    narrow = np.flatnonzero(~dense)
    support = columns.support[narrow]
    few = q[narrow, None] * columns.mass[narrow] / region.p_x[support] * UNIT
    A = (G + slack * (G != 0)) * region.p_x
    spared = 0.0
    while spared < 1:
        rows = _drawn_in(region, (1 - spared) * targets, slack)
        sharp = round_rows(A, support, (1 - spared) * few, region.p_x).dense(len(narrow), n)
        rows = np.concatenate([sharp, rows])
        left = UNIT - rows.sum(axis=0)
        if left.min() >= 0 and left.any() and _kept(region, left[None], slack).all():
            return Channel.from_numerators(np.concatenate([left[None], rows[rows.any(axis=1)]]))
        spared = max(LEAST_SHARE, GROWTH * spared)
    return Channel.from_numerators(np.full((1, n), UNIT, dtype=np.int64))


def _drawn_in(region: Region, targets: Matrix, slack: float) -> Integers:
    """Integers below the targets that keep the promise; rows for which none are found are 0."""
    rows: Integers = np.floor(targets).astype(np.int64)
    mean = targets @ region.p_x
    share = np.zeros(len(rows))
    broken = np.flatnonzero(~_kept(region, rows, slack))
    while len(broken):
        share[broken] = np.maximum(LEAST_SHARE, GROWTH * share[broken])
        hopeless = broken[share[broken] > 1]
        rows[hopeless] = 0
        broken = broken[share[broken] <= 1]
        part = share[broken, None]
        # A constant row of the same mass takes `part`; both are scaled back by it, so that the sink keeps its room.
        rows[broken] = np.floor((1 - part) * ((1 - part) * targets[broken] + part * mean[broken, None]))
        broken = broken[~_kept(region, rows[broken], slack)]
    return rows


def _kept(region: Region, rows: Integers, slack: float) -> np.ndarray:
    """Which rows of numerators keep the promise with some slack; an empty row has nothing to keep."""
    some = rows.any(axis=1)
    kept = np.ones(len(rows), dtype=bool)
    V = rows[some] * region.p_x
    if len(V):
        kept[some] = ~region.oversteps(V / V.sum(axis=1, keepdims=True), -slack)
    return kept
