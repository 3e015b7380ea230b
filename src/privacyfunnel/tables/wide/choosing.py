"""Which columns of a very wide table go into a model: those that fit, without those that tell least about the secret.

All combinations of the columns' values are laid out and rehearsed, at most MOST_COMBINATIONS of them. A column's
score is how far its table with the secret is from chance, d_j = Σ |N(s, a) − P̂(s) N(a)| with P̂(s) = k_s/2²⁰ from
noisy counts of the secret. One changed row moves d_j by at most 4: it takes 1 from a cell (s, a) and from N(a), which
is 2(1 − P̂(s)) at most, and adds the same elsewhere. In a private fit the scores get noise; which columns are left
out follows from that and from numbers of values, so it costs nothing more. What chance leaves of such a column's link
to the secret, nobody is told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.model import MOST_CELLS
from privacyfunnel.drawing.laplace import checked_epsilon, noised_in_part
from privacyfunnel.optimiser.rehearsal import MOST_COMBINATIONS
from privacyfunnel.tables.wide.marginals import counted as table_of
from privacyfunnel.typing import Integers

FOR_CHOOSING = 0.05
"""Of ε₀: scores are sums of thousands of people, and need little."""
FOR_SECRET = 0.1
"""Of that, for the counts of the secret itself."""
SENSITIVITY = 4
"""By how much one changed row moves a score."""
UNITS = 2**20
"""P̂(s) is a multiple of one of these, so that scores are exact."""


@dataclass(frozen=True)
class Chosen:
    """The columns that stay, and what was spent on choosing them."""

    names: tuple[str, ...]
    spent: float


def chosen_columns(joint: Joint, epsilon: float | None) -> Chosen:
    """Columns whose combinations can be laid out and rehearsed; private at `spent`, by exact counts without ε₀."""
    sizes = [len(column) for column in joint.columns]
    if math.prod(sizes) <= MOST_COMBINATIONS:
        return Chosen(joint.attributes, 0.0)
    if epsilon is None:
        return _named(joint, within(sizes, scores(joint, table_of(joint, (0,)).sum(axis=1))), 0.0)
    spent = FOR_CHOOSING * checked_epsilon(epsilon)
    secret = noised_in_part(table_of(joint, (0,)).sum(axis=1), FOR_SECRET * spent)
    each = (1 - FOR_SECRET) * spent / len(sizes)
    # `noised_in_part` with ε has the scale 2/ε: it is for counts that move by 2 in all
    found = noised_in_part(scores(joint, secret), each * 2 / SENSITIVITY)
    return _named(joint, within(sizes, found), spent)


def _named(joint: Joint, columns: tuple[int, ...], spent: float) -> Chosen:
    return Chosen(tuple(joint.attributes[j] for j in columns), spent)


def scores(joint: Joint, secret: Integers) -> Integers:
    """⌊d_j⌋ of every column, given (noisy) counts of the secret's values."""
    counts = np.maximum(secret, 1).astype(object)
    shares = counts * UNITS // int(counts.sum())
    found = []
    for j in range(len(joint.columns)):
        table = table_of(joint, (j,)).astype(object)
        away = np.abs(table * UNITS - shares[:, None] * table.sum(axis=0))
        found.append(int(away.sum()) // UNITS)
    return np.array(found, dtype=np.int64)


def within(sizes: Sequence[int], score: Integers) -> tuple[int, ...]:
    """Leave out what tells least for its number of values until the rest fits; then put back what still fits."""
    left = [j for j, size in enumerate(sizes) if size <= MOST_COMBINATIONS]
    worth = {j: float(score[j]) / math.log(max(2, sizes[j])) for j in left}
    gone = []
    while math.prod(sizes[j] for j in left) > MOST_COMBINATIONS:
        least = min(left, key=lambda j: (worth[j], -sizes[j]))
        left.remove(least)
        gone.append(least)
    for j in sorted(gone, key=lambda j: -worth[j]):
        if math.prod(sizes[k] for k in left) * sizes[j] <= MOST_COMBINATIONS:
            left.append(j)
    return tuple(sorted(left))


def too_many(names: Sequence[str], sizes: Sequence[int]) -> str:
    """What to say of columns with too many combinations, by their numbers of values alone.

    >>> too_many(["country", "sex"], [40_000_000, 2])
    'the columns have 80,000,000 combinations of values, and at most 10,000,000 can be laid out: leave out country \
(40,000,000 values), or give it at most 5,000,000 values (bins, top)'
    """
    order = sorted(range(len(sizes)), key=lambda j: -sizes[j])
    gone: list[int] = []
    while math.prod(sizes) > MOST_CELLS * math.prod(sizes[j] for j in gone):
        gone.append(order[len(gone)])
    listed = " and ".join(f"{names[j]} ({sizes[j]:,} values)" for j in gone)
    text = (
        f"the columns have {math.prod(sizes):,} combinations of values, and at most {MOST_CELLS:,} can be laid out: "
        f"leave out {listed}"
    )
    room = MOST_CELLS // math.prod(size for j, size in enumerate(sizes) if j != gone[0])
    if len(gone) == 1 and room > 1:
        return f"{text}, or give it at most {room:,} values (bins, top)"
    return f"{text}, or give columns fewer values (bins, top)"
