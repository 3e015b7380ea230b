"""The worst that a channel can tell about the secret over a confidence set, in exact arithmetic.

For one output and one cell, P(y|s) = Σ_x P(x|s) w[x] is extreme where P(·|s) is filled up from its lower ends in the
order of w, and P(y) = Σ_s P(s) P(y|s) where P(S) is filled up in the order of P(y|s). So each lift is largest, and
smallest, at a distribution that sorting finds. All numbers are integers: ends of intervals over SCALE, the
channel over a scale of its own, which cancels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from privacyfunnel.confidence import NOBODY, SCALE, Intervals
from privacyfunnel.typing import Exact, Integers

Kind = Literal["lower", "upper", "spread"]
KINDS: tuple[Kind, ...] = ("lower", "upper", "spread")


@dataclass(frozen=True, eq=False)
class Extreme:
    """The largest over / under of one kind: 1 / lift (lower), lift (upper), or lift / lift′ (spread)."""

    over: int
    under: int
    secret: int
    against: int = -1

    def ratio(self) -> Fraction | None:
        """The ratio; None if it is infinite. Where nothing is possible, nothing is told: 1."""
        if self.under == 0:
            return None if self.over else Fraction(1)
        return Fraction(self.over, self.under)

    def log(self) -> float:
        """The logarithm of the ratio in float64, for comparing; at least 0."""
        if self.under == 0:
            return math.inf if self.over else 0.0
        return max(0.0, math.log(self.over) - math.log(self.under)) if self.over else 0.0

    def beats(self, other: Extreme | None) -> bool:
        """Whether this ratio is the larger one."""
        if other is None:
            return True
        return self.over * other.under > other.over * self.under or (self.under == 0 < other.under and self.over > 0)


@dataclass(frozen=True, eq=False)
class Told:
    """What one output tells in one cell: P(y|s) is between least[s] and most[s], in units of 1/SCALE."""

    part: Intervals
    place: int
    """The number of the cell among those of `part`."""
    output: int
    members: Integers
    """Which members of the cell have w > 0, largest w first."""
    w: list[int]
    most: list[int]
    least: list[int]

    def extreme(self, kind: Kind) -> Extreme | None:
        """The worst ratio of a kind over all distributions of the set; None if there is but one secret."""
        secrets = range(len(self.most))
        found: Extreme | None = None
        for s in secrets:
            if kind == "spread":
                some = [Extreme(self.most[s], self.least[t], s, t) for t in secrets if t != s]
            elif kind == "upper":
                some = [Extreme(self.most[s] * SCALE, self._mean(s, kind)[0], s)]
            else:
                some = [Extreme(self._mean(s, kind)[0], self.least[s] * SCALE, s)]
            for one in some:
                if one.beats(found):
                    found = one
        return found

    def attained(self, kind: Kind, at: Extreme) -> Exact:
        """The distribution P(s, x) given the cell where that ratio is reached, at [s, member], as fractions."""
        s = at.secret
        up = [t == s for t in range(len(self.most))] if kind != "lower" else [t != s for t in range(len(self.most))]
        prior = self._mean(s, kind)[1] if kind != "spread" else self._any_prior()
        n = int((self.part.members[self.place] != NOBODY).sum())
        rest = [k for k in range(n) if k not in set(self.members.tolist())]
        falling = [*self.members.tolist(), *rest]
        table = np.empty((len(self.most), n), dtype=object)
        for t, most in enumerate(up):
            lower, upper = self.part.lower[self.place, t, :n].tolist(), self.part.upper[self.place, t, :n].tolist()
            given = filled(lower, upper, falling if most else falling[::-1])
            table[t] = [Fraction(prior[t] * p, SCALE * SCALE) for p in given]
        return table

    def _mean(self, s: int, kind: Kind) -> tuple[int, list[int]]:
        """P(y) at its least (upper) or most (lower) with P(y|s) at the other end; and the P(S) that does it."""
        values = list(self.least if kind == "upper" else self.most)
        values[s] = self.most[s] if kind == "upper" else self.least[s]
        order = sorted(range(len(values)), key=lambda t: values[t], reverse=kind == "lower")
        prior = filled(self.part.prior_lower[self.place].tolist(), self.part.prior_upper[self.place].tolist(), order)
        return sum(p * value for p, value in zip(prior, values, strict=True)), prior

    def _any_prior(self) -> list[int]:
        order = range(len(self.most))
        return filled(self.part.prior_lower[self.place].tolist(), self.part.prior_upper[self.place].tolist(), order)


def largest(
    inputs: Integers, outputs: Integers, numerators: Exact, part: Intervals
) -> dict[Kind, tuple[Extreme, Told]]:
    """The worst ratio of each kind that a channel's entries reach in a view, and where."""
    found: dict[Kind, tuple[Extreme, Told]] = {}
    for one in told(inputs, outputs, numerators, part):
        for kind in KINDS:
            extreme = one.extreme(kind)
            if extreme is not None and extreme.beats(found[kind][0] if kind in found else None):
                found[kind] = extreme, one
    return found


def filled(lower: list[int], upper: list[int], order: Sequence[int]) -> list[int]:
    """The integers between `lower` and `upper` that sum to SCALE and give as much as possible to the first in `order`.

    >>> [share / SCALE for share in filled([0, SCALE // 4], [SCALE, SCALE], [0, 1])]
    [0.75, 0.25]
    """
    shares, left = list(lower), SCALE - sum(lower)
    for k in order:
        more = min(upper[k] - lower[k], left)
        shares[k] += more
        left -= more
    return shares


def told(inputs: Integers, outputs: Integers, numerators: Exact, part: Intervals) -> Iterator[Told]:
    """What each output tells in each cell of a view, from a channel's entries P(output|input) ∝ numerator."""
    crowded = np.full(part.view.n_cells, NOBODY)
    crowded[part.cells] = np.arange(len(part.cells))
    member = np.zeros(len(part.view.cell), dtype=np.int64)
    for row in part.members:
        real = row[row != NOBODY]
        member[real] = np.arange(len(real))
    place = crowded[part.view.cell[inputs]]
    here = np.flatnonzero(place >= 0)
    here = here[np.lexsort((place[here], outputs[here]))]
    first = np.flatnonzero(np.append(True, (np.diff(outputs[here]) != 0) | (np.diff(place[here]) != 0)))
    left = SCALE - part.lower.sum(axis=2)
    room = (part.upper - part.lower).astype(object)
    for entries in np.split(here, first[1:]) if len(here) else []:
        w = numerators[entries].tolist()
        falling = sorted(range(len(w)), key=lambda i: -w[i])
        w = [w[i] for i in falling]
        cell, members = int(place[entries[0]]), member[inputs[entries]][falling]
        most, least = [], []
        for s in range(part.lower.shape[1]):
            base = sum(p * x for p, x in zip(part.lower[cell, s, members].tolist(), w, strict=True))
            own = room[cell, s, members].tolist()
            spare = int(left[cell, s])
            elsewhere = sum(room[cell, s].tolist()) - sum(own)  # where w = 0
            most.append(base + _fill(own, w, spare))
            least.append(base + _fill(own[::-1], w[::-1], max(0, spare - elsewhere)))
        yield Told(part, cell, int(outputs[entries[0]]), members, w, most, least)


def _fill(room: list[int], w: list[int], spare: int) -> int:
    """Σ_k r[k]·w[k] with 0 ≤ r ≤ room and Σr ≤ spare, the first k served first."""
    total = 0
    for most, value in zip(room, w, strict=True):
        r = min(most, spare)
        total += r * value
        spare -= r
        if not spare:
            break
    return total
