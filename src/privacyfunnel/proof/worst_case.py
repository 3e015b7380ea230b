"""The worst that a channel can tell about the secret over a confidence set, in exact arithmetic.

For one output and one cell, P(y|s) = Σ_x P(x|s) w[x] is extreme where P(·|s) leans in the order of w as far as the set
allows, and P(y) = Σ_s P(s) P(y|s) where P(S) leans in the order of P(y|s). So each lift is largest, and smallest, at a
distribution that sorting finds; where sums of shares are known, too, multipliers prove how extreme P(y|s) can be. All
numbers are integers: shares over SCALE, the channel over a scale of its own, which cancels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from privacyfunnel.promises.sets import NOBODY, SCALE, Possible, Shares, leant
from privacyfunnel.proof.multipliers import CellMultipliers
from privacyfunnel.typing import Exact, Integers

Side = Literal["lower", "upper", "spread"]
SIDES: tuple[Side, ...] = ("lower", "upper", "spread")
HALF = 30
"""Bits of a share that are summed by themselves, so that int64 holds the sums."""


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
        if other is None or not (other.over or other.under):  # of 0/0, nothing is the worst
            return True
        return self.over * other.under > other.over * self.under or (self.under == 0 < other.under and self.over > 0)


@dataclass(frozen=True, eq=False)
class OneOutput:
    """What one output tells in one cell: P(y|s) is between least[s] and most[s], in units of 1/SCALE."""

    part: Possible
    place: int
    """The number of the cell among those of `part`."""
    output: int
    members: Integers
    """Which members of the cell have w > 0, largest w first."""
    w: list[int]
    most: list[int]
    least: list[int]

    def extreme(self, kind: Side, about: Sequence[int] | None = None) -> Extreme | None:
        """The worst ratio of a kind over all distributions of the set; None if there is but one secret.

        With `about`, of the lifts of these secrets alone.
        """
        secrets = range(len(self.most))
        found: Extreme | None = None
        for s in secrets if about is None else about:
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

    def belief(self, s: int) -> Extreme:
        """The largest P(s|y) over all distributions of the set, as over / under.

        P(s) P(y|s) / Σ_t P(t) P(y|t) is largest with P(y|s) at its most and all others at their least. Whatever λ is,
        P(s) P(y|s) − λ Σ_t≠s P(t) P(y|t) is then largest where P(S) leans to s first and to the least P(y|t) next, so
        that the ratio is, too.
        """
        values = list(self.least)
        values[s] = self.most[s]
        others = sorted((t for t in range(len(values)) if t != s), key=lambda t: values[t])
        prior = self.part.prior.leaning((self.place,), [s, *others])
        over = prior[s] * values[s]
        return Extreme(over, _dot(prior, values) if over else 1, s)

    def means(self) -> tuple[int, int]:
        """The least and the most that P(y) can be, in units of 1/SCALE²."""
        secrets = range(len(self.most))
        rising = sorted(secrets, key=lambda s: self.least[s])
        falling = sorted(secrets, key=lambda s: self.most[s], reverse=True)
        low, high = (self.part.prior.leaning((self.place,), order) for order in (rising, falling))
        return _dot(low, self.least), _dot(high, self.most)

    def attained(self, kind: Side, at: Extreme) -> Exact:
        """The distribution P(s, x) given the cell where that ratio is reached, at [s, member], as fractions."""
        s = at.secret
        up = [t == s for t in range(len(self.most))] if kind != "lower" else [t != s for t in range(len(self.most))]
        prior = self._mean(s, kind)[1] if kind != "spread" else self.part.prior.centre[self.place].tolist()
        n = int((self.part.members[self.place] != NOBODY).sum())
        rest = [k for k in range(n) if k not in set(self.members.tolist())]
        falling = [*self.members.tolist(), *rest]
        table = np.empty((len(self.most), n), dtype=object)
        for t, most in enumerate(up):
            given = self._given(t, falling if most else falling[::-1], most)
            table[t] = [Fraction(prior[t], SCALE) * Fraction(p) for p in given[:n]]
        return table

    def _given(self, t: int, order: list[int], most: bool) -> list[Fraction]:
        """Shares given t that make P(y|t) extreme, for members by falling or rising w."""
        if not self.part.tables:
            return [Fraction(share, SCALE) for share in self.part.given.leaning((self.place, t), order)]
        w = np.zeros(len(order))
        w[self.members] = np.array(self.w, dtype=object) / max(self.w) * (1 if most else -1)
        shares = [Fraction(share) for share in CellMultipliers(self.part, self.place).worst(t, w).clip(0).tolist()]
        return [share / sum(shares) for share in shares]

    def _mean(self, s: int, kind: Side) -> tuple[int, list[int]]:
        """P(y) at its least (upper) or most (lower) with P(y|s) at the other end; and the P(S) that does it."""
        values = list(self.least if kind == "upper" else self.most)
        values[s] = self.most[s] if kind == "upper" else self.least[s]
        order = sorted(range(len(values)), key=lambda t: values[t], reverse=kind == "lower")
        prior = self.part.prior.leaning((self.place,), order)
        return _dot(prior, values), prior


def largest(
    inputs: Integers, outputs: Integers, numerators: Exact, part: Possible, about: Sequence[int] | None = None
) -> dict[Side, tuple[Extreme, OneOutput]]:
    """The worst ratio of each kind that a channel's entries reach in a view, and where; of some secrets, or all."""
    found: dict[Side, tuple[Extreme, OneOutput]] = {}
    for one in each_output(inputs, outputs, numerators, part):
        for kind in SIDES if about is None else SIDES[:2]:
            extreme = one.extreme(kind, about)
            if extreme is not None and extreme.beats(found[kind][0] if kind in found else None):
                found[kind] = extreme, one
    return found


def largest_belief(
    inputs: Integers, outputs: Integers, numerators: Exact, part: Possible, event: int
) -> tuple[Fraction, OneOutput] | None:
    """The largest belief in an event that a channel's entries lead to in a view, and where; None without outputs."""
    found: tuple[Extreme, OneOutput] | None = None
    for one in each_output(inputs, outputs, numerators, part):
        extreme = one.belief(event)
        if found is None or extreme.beats(found[0]):
            found = extreme, one
    if found is None:
        return None
    return Fraction(found[0].over, found[0].under), found[1]


def each_output(inputs: Integers, outputs: Integers, numerators: Exact, part: Possible) -> Iterator[OneOutput]:
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
    totals = [_totals(ends) for ends in (part.given.lower, part.given.upper, part.given.centre)]
    sums: dict[int, CellMultipliers] = {}
    for entries in np.split(here, first[1:]) if len(here) else []:
        w = numerators[entries].tolist()
        falling = sorted(range(len(w)), key=lambda i: -w[i])
        w = [w[i] for i in falling]
        cell, members = int(place[entries[0]]), member[inputs[entries]][falling]
        secrets = range(part.given.lower.shape[1])
        if part.tables:
            if cell not in sums:
                sums[cell] = CellMultipliers(part, cell)
            both = [sums[cell].between(s, members, w) for s in secrets]
        else:
            both = [_between(part.given, (cell, s), members, w, totals) for s in secrets]
        least, most = [low for low, _ in both], [high for _, high in both]
        yield OneOutput(part, cell, int(outputs[entries[0]]), members, w, most, least)


def _between(
    given: Shares, place: tuple[int, int], members: Integers, w: list[int], totals: list[Exact]
) -> tuple[int, int]:
    """The least and the most Σ_k r[k]·w[k] over the set at `place`, for members by falling w; elsewhere, w is 0.

    All values with w = 0 are one here: it does not matter which of them gives or takes.
    """
    own = [part[place][members].tolist() for part in (given.lower, given.upper, given.centre)]
    lower, upper, centre = ([*part, total[place] - sum(part)] for part, total in zip(own, totals, strict=True))
    order, values = range(len(w) + 1), [*w, 0]
    most, least = (leant(lower, upper, centre, falling) for falling in (order, order[::-1]))
    return _dot(least, values), _dot(most, values)


def _dot(shares: list[int], w: list[int]) -> int:
    return sum(share * value for share, value in zip(shares, w, strict=True))


def _totals(ends: Integers) -> Exact:
    """Sums over the last axis, as Python integers: upper ends together may be far above SCALE."""
    high, low = ends >> HALF, ends & ((1 << HALF) - 1)
    return np.asarray(high.sum(axis=-1).astype(object) * (1 << HALF) + low.sum(axis=-1).astype(object))
