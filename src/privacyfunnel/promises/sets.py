"""Sets of distributions, as data: intervals for shares and for their sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from privacyfunnel.promises.views import View
from privacyfunnel.typing import Integers

SCALE_BITS = 60
"""Sums of a few shares fit int64 all the same."""
SCALE = 1 << SCALE_BITS
"""Shares are integers over SCALE; bounds on them are rounded outwards."""
NOBODY = -1
"""Fills up the members of small cells."""


@dataclass(frozen=True, eq=False)
class Shares:
    """Sets of distributions r over a last axis, one set at each place of the other axes, in units of 1/SCALE.

    lower ≤ r ≤ upper,  Σr = 1. The centre is one of them.
    """

    lower: Integers
    upper: Integers
    centre: Integers

    def leaning(self, place: tuple[int, ...], order: Sequence[int]) -> list[int]:
        """The distribution of the set at `place` with the largest Σ_k r[k]·w[k], for every w that falls along `order`.

        Entries that `order` does not name stay as they are at the centre.
        """
        lower, upper, centre = (part[place].tolist() for part in (self.lower, self.upper, self.centre))
        return leant(lower, upper, centre, order)


def leant(lower: list[int], upper: list[int], centre: list[int], order: Sequence[int]) -> list[int]:
    """All that can be taken from the last in `order` that have any to spare, given to the first that have room.

    Whatever is moved goes from a smaller to a larger w, the smallest first and to the largest first: no other way to
    move as much gains more, and moving on until nothing is gained is best.

    >>> leant([0, 0, 1], [6, 10, 10], [2, 3, 5], [0, 1, 2])
    [6, 3, 1]
    """
    shares = list(centre)
    first, last = 0, len(order) - 1
    while first < last:
        to, source = order[first], order[last]
        step = min(upper[to] - shares[to], shares[source] - lower[source])
        shares[to] += step
        shares[source] -= step
        if shares[to] == upper[to]:
            first += 1
        if shares[source] == lower[source]:
            last -= 1
    return shares


@dataclass(frozen=True, eq=False)
class Table:
    """Intervals for the shares of blocks of values that agree in some attributes, given s and a cell."""

    over: tuple[int, ...]
    """The numbers of these attributes; none of them is known in the view."""
    of: Integers
    """At [cell, k]: the block that member k of the cell belongs to, or NOBODY."""
    lower: Integers
    """At [cell, s, block], in units of 1/SCALE."""
    upper: Integers


@dataclass(frozen=True, eq=False)
class Possible:
    """What counts leave open in one view, for each of its cells that holds several values of X."""

    view: View
    cells: Integers
    """The numbers of these cells in the view."""
    members: Integers
    """At [cell, k]: member k of the cell is this value of X, or NOBODY, who has no share."""
    given: Shares
    """P(x|s) given the cell, at [cell, s, k]."""
    prior: Shares
    """P(s) given the cell, at [cell, s]."""
    tables: tuple[Table, ...] = ()
    """What is known of sums of P(x|s) beside: of whole rows and columns of the table, and the like."""
