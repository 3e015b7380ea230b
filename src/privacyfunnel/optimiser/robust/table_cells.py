"""What a nested set says about the values that somebody has, cell by cell, as numbers for bounds.

A bound may let the set be smaller than it is: the promise then speaks of fewer distributions and allows more. So values
that nobody has are left out, to which no distribution has to give anything, intervals are drawn in by a hair so that
rounding leads nowhere outside, and limits that hardly bind are not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.optimiser.program.tolerances import OUTWARDS
from privacyfunnel.optimiser.robust.conditions import factors_of
from privacyfunnel.optimiser.robust.demands import Demand
from privacyfunnel.optimiser.robust.most_revealing import factor_no_less
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.sets import SCALE, Possible
from privacyfunnel.typing import Integers, Matrix, Vector

LARGEST_RATIO = 1e6
"""Limits that let P(y|s) be so many times P(y|t) are left out: programs with larger numbers are not solved well."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of all tables: first the one that holds all values, then table by table, single values last."""

    p: Vector
    """P(x) > 0."""
    of: Integers
    """At [k, x]: the cell of table k that x lies in."""
    table: Integers
    """At [cell]: the number of its table."""
    lower: Matrix
    """At [s, cell]: what the set says of P(cell|s)."""
    upper: Matrix
    centre: Matrix
    """P(cell|s) as counted, which is in the set."""
    conditions: tuple[tuple[int, float], ...]
    """(s, κ): the largest P(y|s) is at most κ times the least P(y|t), t the other secret."""

    @property
    def n_x(self) -> int:
        return len(self.p)

    @property
    def n_tables(self) -> int:
        return len(self.of)

    @property
    def single(self) -> Integers:
        """The cells of single values."""
        return np.asarray(self.of[-1])

    @property
    def mass(self) -> Vector:
        """P(cell)."""
        return self.summed(self.p)

    def summed(self, values: Vector) -> Vector:
        """The sum of values[x] in every cell."""
        weights = np.tile(values, self.n_tables)
        return np.bincount(self.of.ravel(), weights=weights, minlength=len(self.table)).astype(np.float64)

    def largest(self, values: Vector) -> Vector:
        """The largest values[x] in every cell."""
        most = np.full(len(self.table), -np.inf)
        np.maximum.at(most, self.of, np.broadcast_to(values, self.of.shape))
        return most

    @classmethod
    def within(cls, joint: Joint, parts: list[Possible], limits: Limits) -> Cells | None:
        """The cells of a set about two secrets and an attacker who knows nothing beforehand; None for others."""
        (part, *others) = parts
        return None if others else cls.asked(joint, Demand(part, limits))

    @classmethod
    def asked(cls, joint: Joint, demand: Demand) -> Cells | None:
        """The same for what a clause asks of two events; `joint` has these for its secret."""
        part = demand.part
        if not demand.two_events or (joint.p_s <= 0).any():
            return None
        p = joint.p_x[part.members[0]]
        seen = np.flatnonzero(p > 0)
        everything = np.zeros(joint.n_x, dtype=np.int64), np.full((2, 1), SCALE), np.full((2, 1), SCALE)
        tables = [everything, *((table.of[0], table.lower[0], table.upper[0]) for table in part.tables)]
        tables.append((np.arange(joint.n_x), part.given.lower[0], part.given.upper[0]))
        number, ends = [], []
        for of, lower, upper in tables:
            some, own = np.unique(of[seen], return_inverse=True)
            number.append(own)
            ends.append((lower[:, some] / SCALE, upper[:, some] / SCALE))
        starts = np.cumsum([0, *(low.shape[1] for low, _ in ends)])
        of = np.array(number) + starts[:-1, None]
        lower, upper = (np.concatenate(side, axis=1) for side in zip(*ends, strict=True))
        centre = np.zeros_like(lower)
        for s in range(2):
            shares = np.broadcast_to(part.given.centre[0, s, seen] / SCALE, of.shape)
            np.add.at(centre[s], of, shares)
        table = np.repeat(np.arange(len(tables)), np.diff(starts))
        lower, upper = _drawn_in(lower, upper, centre)
        factors = [(s, factor_no_less(factor)) for s, factor in enumerate(factors_of(demand))]
        binding = tuple((s, factor) for s, factor in factors if factor < LARGEST_RATIO)
        return cls(p[seen], of, table, lower, upper, centre, binding)


def _drawn_in(lower: Matrix, upper: Matrix, centre: Matrix) -> tuple[Matrix, Matrix]:
    """Intervals a hair narrower around the centre; ends of 0 and 1, which say nothing, stay."""
    low = np.where(lower > 0, centre - (1 - OUTWARDS) * (centre - lower), 0.0)
    high = np.where(upper < 1, centre + (1 - OUTWARDS) * (upper - centre), 1.0)
    return low, high
