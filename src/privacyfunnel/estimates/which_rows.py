"""Which rows were released: those that the protocol was fitted on, which can be counted as they stand, or others."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy.sparse import csr_array
from scipy.special import chdtri

from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.measuring import Way
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.protocol import MARGINAL_PEOPLE, Block, Protocol
from privacyfunnel.tables.reading_back import Tally
from privacyfunnel.typing import Integers, Vector

CHANCE = 1e-6
"""How rarely rows that were fitted on may be taken for others. Others of the same number are rare, too."""

Rows = Literal["fitted", "other"]
"""What a reader knows of the released rows: they are those that the protocol was fitted on, or others."""

_COUNTED = "they are counted as they stand"
_CHANNEL = "shares are worked back from how the protocol draws rows"


def way_of(protocol: Protocol, tally: Tally, rows: Rows | None) -> tuple[Way, str]:
    """Whether released rows can be counted as they stand, and why in a sentence.

    They can if the release is faithful and they come from the rows that it was fitted on: `rows` says so, or they are
    as many, with counts that the published marginals leave possible.
    """
    if rows is not None and rows not in get_args(Rows):
        raise InvalidInput(f"the rows are {' or '.join(map(repr, get_args(Rows)))}; got {rows!r}")
    if protocol.objective != "faithful":
        if rows == "fitted":
            raise InvalidInput(
                "rows of this protocol cannot be counted as they stand, whatever it was fitted on: it was made to keep "
                "information; leave the rows to be found out, or fit with the objective faithful"
            )
        return "channel", f"The protocol keeps information, not the distribution of rows: {_CHANNEL}."
    if rows == "other":
        return "channel", f"These are said to be other rows than the protocol was fitted on: {_CHANNEL}."
    people = protocol.people
    as_many = people is not None and tally.rows == people
    fitting = as_many and all(
        fits(block, _counts(tally, k, len(block.labels)), tally.rows) for k, block in enumerate(protocol.blocks)
    )
    if rows == "fitted":
        though = "" if fitting or not as_many else ", though their counts hardly fit"
        return "counted", f"These are said to be the rows that the protocol was fitted on{though}: {_COUNTED}."
    if people is None:
        return "channel", f"The protocol does not say how many rows it was fitted on, or on which: {_CHANNEL}."
    if not as_many:
        return "channel", f"The protocol was fitted on {people:,} rows, and these are {tally.rows:,}: {_CHANNEL}."
    if not fitting:
        return "channel", f"Counts differ from those of the rows that the protocol was fitted on: {_CHANNEL}."
    these = f"As far as counts tell, these are the {people:,} rows that the protocol was fitted on"
    return "counted", f"{these}, and it keeps their distribution: {_COUNTED}."


def fits(block: Block, counts: Integers, people: int) -> bool:
    """Whether counts[x] of released rows can come from the people that the block was fitted on, but for bad luck.

    All values are looked at, and those of each column. For a set A of values, the number of fitted rows is known as
    precisely as the published marginal tells it, and the released number differs from it by drawing, with variance
    n Σ p_x e_x(1−e_x). Divided by their standard deviations, the differences of disjoint sets have a normalised graph
    Laplacian as covariance: eigenvalues of at most 2. So the sum of the squares of k of them exceeds a quantile of
    2χ²(k/2) more rarely than its chance.
    """
    return all(_apart(block, cell, counts, people) <= _limit(cell) for cell in _partitions(block))


def _partitions(block: Block) -> list[Integers]:
    """cell[x]: the set of values that x belongs to, for every way of dividing them."""
    columns = [np.unique(column, return_inverse=True)[1].ravel() for column in block.codes.T]
    return [np.arange(len(block.codes)), *(columns if len(columns) > 1 else [])]


def _limit(cell: Integers) -> float:
    return 2 * float(chdtri((cell.max() + 1) / 2, CHANCE))


def _apart(block: Block, cell: Integers, counts: Integers, people: int) -> float:
    """Σ (difference / standard deviation)² over the sets of values, after what the published marginal leaves open.

    It is made of r² with r = ⌊√N⌉ for N people (in units of several, if these are very many). N then lies r² + ½ or
    so, give or take r/√3. What the ½ may be off by, and the sum of all r² with it, is taken off the differences.
    """
    p = block.marginal / UNIT
    unit = max(1.0, people / MARGINAL_PEOPLE)
    near = (people - unit * len(p) / 2) * p + unit / 2
    drawn = people * _drawing(block, cell, p)
    open_ = unit / 2 * (np.bincount(cell) + len(p) * np.bincount(cell, p))
    off = np.abs(np.bincount(cell, counts) - np.bincount(cell, near))
    return float((np.maximum(off - open_, 0.0) ** 2 / (drawn + unit / 3 * np.bincount(cell, near))).sum())


def _drawing(block: Block, cell: Integers, p: Vector) -> Vector:
    """Σ p_x e_x(1−e_x) for each set of values, with e_x = P(x′ in the set | x)."""
    channel = block.channel
    shape = (int(cell.max()) + 1, channel.n_inputs)
    e = csr_array((channel.numerators / UNIT, (cell[channel.outputs], channel.inputs)), shape=shape)
    return np.asarray(e @ p - e.multiply(e) @ p)


def _counts(tally: Tally, k: int, size: int) -> Integers:
    return np.bincount(tally.outputs[:, k], tally.counts, size).astype(np.int64)
