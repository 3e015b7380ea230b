"""Which rows were released: those that the protocol was fitted on, which can be counted as they stand, or others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.sparse import csr_array
from scipy.special import chdtri

from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.estimates.measuring import Way
from privacyfunnel.estimates.noisy_counts import (
    LAPLACE_KURTOSIS,
    NoisyCounts,
    most_read_otherwise,
    reach,
    read_otherwise,
)
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.digits import MARGINAL_PEOPLE
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.reading_back import Tally
from privacyfunnel.typing import Integers, Vector

HIDDEN = 1 / 8
"""If other rows could differ by more in a share and look like those fitted on, readers must say which they are."""
MOST_SETS = 200
"""Values of a column that are looked at one by one; the others are too rare to show by themselves."""
CHANCE = 1e-6
"""How rarely rows that were fitted on may be taken for others. Others of the same number are rare, too."""
SINGLE_ROW = 1.0
"""A variance that no number of rows is held to be below: where nothing is drawn or noisy there would be none at all."""
NEGLIGIBLE = 0.1
"""The share of people read as others, as a part of the sampling error 1/√n, that contrasts do not notice: a bias of a
tenth of a standard error costs a 95% interval less than 0.2 points."""
READ_OTHERWISE = 0.025
"""The chance with which the noise hides that more people are read as others: that of one side of a 95% interval."""

Rows = Literal["fitted", "other"]
"""What a reader knows of the released rows: they are those that the protocol was fitted on, or others."""

_SAY_SO = 'If you know that these are the fitted rows, say so: rows="fitted", or --rows fitted.'
_NOT_COUNTED = "Rows of this protocol cannot be counted instead, whatever rows they are."
_COUNTED = "they are counted as they stand"
_CHANNEL = "shares are worked back from how the protocol draws rows"
_CORRECTED = "they are counted, and set right by the noisy counts in its file, whose noise the intervals hold"
_READ_AS = "are read as the nearest other: intervals hold that, if they are no more common among these rows"


def check_rows(rows: Rows | None) -> None:
    """Refuse what says nothing of rows."""
    if rows is not None and rows not in get_args(Rows):
        raise InvalidInput(f"the rows are {' or '.join(map(repr, get_args(Rows)))}; got {rows!r}")


def way_of(protocol: Protocol, tally: Tally, rows: Rows | None) -> tuple[Way, str]:
    """Whether released rows can be counted as they stand, and in words: why, and what of rare combinations."""
    way, why = _way(protocol, tally, rows if rows is not None or protocol.objective != "faithful" else tally.said)
    if way == "channel" or protocol.noise is None:
        why = f"{why} {reading_words(protocol)}".rstrip()
    return way, why


def reading_words(protocol: Protocol) -> str:
    """What is said of shares where rows with rare combinations are read as others."""
    if not protocol.block.nearest:
        return ""
    if protocol.noise is None:
        return (
            f"Combinations that fewer than {protocol.at_least:,} people had are read and counted as the nearest other."
        )
    moved, people = read_otherwise(protocol), protocol.noise.people
    whom = f"about {moved:,} of the {people:,} people that it was fitted on, by its noisy counts"
    return f"Combinations that the protocol has no row for ({whom}) {_READ_AS}."


def check_contrasts(protocol: Protocol, rows: int) -> None:
    """Refuse to work back how columns go together where people with rare combinations are read as others.

    Such combinations are no inputs of the channel: worked back, nobody has them, so that a table gets zeros which the
    original one does not have. Where these people are fewer than `NEGLIGIBLE`·√n of n, intervals do not notice.
    """
    if protocol.noise is None or not protocol.block.nearest:
        return
    people, moved = protocol.noise.people, most_read_otherwise(protocol, READ_OTHERWISE)
    if moved / people <= NEGLIGIBLE / math.sqrt(rows):
        return
    raise InvalidTable(
        f"how columns go together cannot be estimated: up to {math.ceil(moved):,} of the {people:,} people that the "
        f"protocol was fitted on have combinations that it reads as others. "
        f"{_SAY_SO if protocol.objective == 'faithful' else _NOT_COUNTED}"
    )


def _way(protocol: Protocol, tally: Tally, rows: Rows | None) -> tuple[Way, str]:
    """Whether released rows can be counted as they stand, and why in a sentence.

    They can if the release is faithful and they come from the rows that it was fitted on: `rows` says so, or they are
    as many, with counts that the published marginals leave possible and that others would hardly have.
    """
    check_rows(rows)
    if protocol.objective != "faithful":
        if rows == "fitted":
            raise InvalidInput(
                "rows of this protocol cannot be counted as they stand, whatever it was fitted on: it was made to keep "
                "information; leave the rows to be found out, or fit with the objective faithful"
            )
        return "channel", f"The protocol keeps information, not the distribution of rows: {_CHANNEL}."
    if rows == "other":
        return "channel", f"These are said to be other rows than the protocol was fitted on: {_CHANNEL}."
    people, counted = protocol.people, _COUNTED if protocol.noise is None else _CORRECTED
    as_many, fitting = people is not None and tally.rows == people, can_be_fitted(protocol, tally)
    if rows == "fitted":
        though = "" if fitting or not as_many else ", though their counts hardly fit"
        return "counted", f"These are said to be the rows that the protocol was fitted on{though}: {counted}."
    if people is None:
        return "channel", f"The protocol does not say how many rows it was fitted on, or on which: {_CHANNEL}."
    if not as_many:
        return "channel", f"The protocol was fitted on {people:,} rows, and these are {tally.rows:,}: {_CHANNEL}."
    if not fitting:
        return "channel", f"Counts differ from those of the rows that the protocol was fitted on: {_CHANNEL}. {_SAY_SO}"
    if hidden(protocol.block, people, _noisy(protocol)) > HIDDEN:
        told = "Whether these are the rows that the protocol was fitted on does not show: too many are redrawn"
        return "channel", f"{told}. {_CHANNEL.capitalize()}. {_SAY_SO}"
    these = f"As far as counts tell, these are the {people:,} rows that the protocol was fitted on"
    return "counted", f"{these}, and it keeps their distribution: {counted}."


def can_be_fitted(protocol: Protocol, tally: Tally) -> bool:
    """Whether rows can be those that a protocol was fitted on: as many, with counts that this leaves possible."""
    counts = np.bincount(tally.outputs, tally.counts, len(protocol.block.labels)).astype(np.int64)
    return tally.rows == protocol.people and fits(protocol.block, counts, tally.rows, _noisy(protocol))


def _noisy(protocol: Protocol) -> NoisyCounts | None:
    """What the noisy counts of a private fit say."""
    return NoisyCounts.of(protocol) if protocol.noise else None


def fits(block: Block, counts: Integers, people: int, noisy: NoisyCounts | None = None) -> bool:
    """Whether counts[x] of released rows can come from the people that the block was fitted on, but for bad luck.

    All values are looked at, and those of each column. For a set A of values, the number of fitted rows is known as
    precisely as the published marginal tells it, and the released number differs from it by drawing, with variance
    n Σ p_x e_x(1−e_x). Divided by their standard deviations, the differences of disjoint sets have a normalised graph
    Laplacian as covariance: eigenvalues of at most 2. So the sum of the squares of k of them exceeds a quantile of
    2χ²(k/2) more rarely than its chance. Of a private fit, the noisy counts tell what is expected, and what their noise
    may do is left open.
    """
    return all(_Look.at(block, cell, people, noisy).apart(counts) <= _limit(cell) for cell in _partitions(block))


def hidden(block: Block, people: int, noisy: NoisyCounts | None = None) -> float:
    """The most by which a share of a column may differ from that of the fitted rows and yet look the same.

    Released shares of a column differ by E d if the original ones differ by d, with E[A, B] = P(x′ in A | x in B). That
    is noticed from a certain size on, but E may make much of d small: a strict promise leaves little to see.
    """
    columns = [_commonest(cell, block.marginal) for cell in _partitions(block)[-block.codes.shape[1] :]]
    return max(_Look.at(block, cell, people, noisy).hidden(block) for cell in columns)


def _commonest(cell: Integers, marginal: Integers) -> Integers:
    """The commonest sets of values as they are, and all others as one."""
    order = np.argsort(-np.bincount(cell, marginal), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return np.asarray(np.minimum(rank, MOST_SETS)[cell])


def _partitions(block: Block) -> list[Integers]:
    """cell[x]: the set of values that x belongs to, for every way of dividing them."""
    columns = [np.unique(column, return_inverse=True)[1].ravel() for column in block.codes.T]
    return [np.arange(len(block.codes)), *(columns if len(columns) > 1 else [])]


def _limit(cell: Integers) -> float:
    return 2 * float(chdtri((cell.max() + 1) / 2, CHANCE))


@dataclass(frozen=True, eq=False)
class _Look:
    """What released rows that were fitted on have of each set of values.

    The published marginal is made of r² with r = ⌊√N⌉ for N people (in units of several, if these are very many). N
    then lies r² + ½ or so, give or take r/√3. What the ½ may be off by, and the sum of all r² with it, is left open.
    """

    cell: Integers
    people: int
    near: Vector
    """How many are expected of each set."""
    variance: Vector
    """By how much drawing and the published marginal make that uncertain."""
    left_open: Vector
    """What the differences are not held against."""

    @classmethod
    def at(cls, block: Block, cell: Integers, people: int, noisy: NoisyCounts | None = None) -> _Look:
        p = block.marginal / UNIT
        if noisy is not None:
            return cls._private(block, cell, people, noisy)
        unit = max(1.0, people / MARGINAL_PEOPLE)
        near = np.bincount(cell, (people - unit * len(p) / 2) * p + unit / 2).astype(np.float64)
        drawn = people * _drawing(block, cell, p)
        left_open = (unit / 2 * (np.bincount(cell) + len(p) * np.bincount(cell, p))).astype(np.float64)
        return cls(cell, people, near, drawn + unit / 3 * near, left_open)

    @classmethod
    def _private(cls, block: Block, cell: Integers, people: int, noisy: NoisyCounts) -> _Look:
        moves = _moves(block, cell)
        near, noise = noisy.expected(moves)
        chance = CHANCE / len(near)
        kurtosis = LAPLACE_KURTOSIS * np.minimum(1.0, noisy.variance / np.maximum(noise, noisy.variance))
        left_open = reach(np.sqrt(noise), kurtosis, chance) + noisy.unlisted(chance)
        drawn = people * _drawing(block, cell, block.marginal / UNIT)
        return cls(cell, people, near, drawn + noise + SINGLE_ROW, left_open)

    def apart(self, counts: Integers) -> float:
        """Σ (difference / standard deviation)² over the sets of values."""
        off = np.abs(np.bincount(self.cell, counts) - self.near)
        return float((np.maximum(off - self.left_open, 0.0) ** 2 / self.variance).sum())

    def hidden(self, block: Block) -> float:
        """The largest |d_A| of a d with sum 0 whose E d is within what is not noticed."""
        p = block.marginal / UNIT
        within = _moves(block, self.cell)
        k = len(self.near)
        E = np.stack([within[:, self.cell == one] @ p[self.cell == one] for one in range(k)], axis=1)
        E /= np.bincount(self.cell, p)
        scale = self.people / np.sqrt(self.variance)
        back = np.linalg.pinv(scale[:, None] * (E - E.mean(axis=1, keepdims=True)))
        seen = math.sqrt(_limit(self.cell)) * np.linalg.norm(back, axis=1)
        return float((seen + np.abs(back) @ (scale * self.left_open / self.people)).max())


def _drawing(block: Block, cell: Integers, p: Vector) -> Vector:
    """Σ p_x e_x(1−e_x) for each set of values, with e_x = P(x′ in the set | x)."""
    e = _moves(block, cell)
    return np.asarray(e @ p - e.multiply(e) @ p)


def _moves(block: Block, cell: Integers) -> csr_array:
    """e[A, x] = P(x′ in A | x) for every set A of values."""
    channel = block.channel
    shape = (int(cell.max()) + 1, channel.n_inputs)
    return csr_array((channel.numerators / UNIT, (cell[channel.outputs], channel.inputs)), shape=shape)
