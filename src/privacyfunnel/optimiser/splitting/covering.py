"""Covering: the least part of p_x that holds some values whole, keeps the promise, and leaves a part that keeps it.

Rare values need many others beside them, and posteriors that hold them are hard to find. A rest r with r[x] = p_x[x]
for all of these, and as little as possible of the others, holds them all at once: G r ≤ 0 and G (p_x − r) ≤ 0, which is
linear in the share that r has of each other value. What is left, p_x − r, has few values, and is mixed quickly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from privacyfunnel.errors import SolverFailure
from privacyfunnel.numeric.lp import LinearProgram
from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.optimiser.splitting.halves import LEAST_ENTRY, Piece, breaks, settled, stricter, together
from privacyfunnel.promises.sparse_rows import scaled
from privacyfunnel.typing import Integers, Vector

Flags = NDArray[np.bool_]

A_LITTLE = 2 * LEAST_ENTRY
"""Of every value, what a rest has at least where one without that breaks a row: what a few values need of many others
falls off along chains of companions, and is cut off somewhere."""


@dataclass(frozen=True, eq=False)
class Part:
    """A part of p_x that is to be mixed, and the rest."""

    x: Integers
    """Its values."""
    v: Vector
    """P(x | it is in the part) of each."""
    q: float
    """How much of p_x it has."""
    rest: Vector
    """The others' mass, of all values."""
    place: Integers
    """place[x] is where a value is in `x`, or −1."""

    @classmethod
    def without(cls, p_x: Vector, rest: Vector) -> Part:
        """What is left of p_x."""
        left = p_x - rest
        x = np.flatnonzero(left)
        place = np.full(len(p_x), -1)
        place[x] = np.arange(len(x))
        q = float(left[x].sum())
        return cls(x, left[x] / q, q, rest, place)

    def inside(self, columns: Columns) -> Columns:
        """Those of the posteriors that have no other values, in the numbers of this part."""
        support, mass = self.place[columns.support], columns.mass
        whole = ((mass <= 0) | (support >= 0)).all(axis=1)
        return Columns(np.where(mass > 0, support, 0)[whole], mass[whole])

    def outside(self, columns: Columns) -> Columns:
        """Posteriors of this part in the numbers of all values."""
        return Columns(self.x[columns.support], columns.mass)

    def pieces(self, columns: Columns, q: Vector) -> list[Piece]:
        """What these weights of posteriors make of this part, in the numbers of all values."""
        masses = self.q * q[:, None] * columns.mass
        return [
            Piece(self.x[x[m > 0]], m[m > 0]) for x, m in zip(columns.support, masses, strict=True) if (m > 0).any()
        ]


class Covering:
    """Parts of p_x under the rows G."""

    def __init__(self, G: sparse.csr_array, p_x: Vector) -> None:
        self._G, self._p_x = sparse.csc_array(G), p_x

    def part(self, outside: Flags, seconds: float) -> Part:
        """What is left without the least rest that holds the values `outside` whole; all of p_x if there are none."""
        p_x = self._p_x
        if not outside.any():
            return Part.without(p_x, np.zeros(len(p_x)))
        inside = np.flatnonzero(~outside)
        group = np.full(len(p_x), len(inside))
        group[inside] = np.arange(len(inside))
        member = sparse.csr_array((p_x, (np.arange(len(p_x)), group)))
        mass = np.bincount(group, weights=p_x)
        A = stricter(scaled(together(self._G, member)))
        whole = np.asarray(A.sum(axis=1)).ravel()
        program = LinearProgram(A, np.minimum(whole, 0.0), np.zeros(len(whole)), upper=1.0)
        program.give_up_after(seconds)
        program.set_costs(mass / mass.max())
        for least in (0.0, A_LITTLE):
            f = settled(program, np.append(np.full(len(inside), least), 1.0), np.full(len(mass), LEAST_ENTRY))
            if f[:-1].min(initial=1.0) < 1 and not breaks(A, f) and not breaks(A, 1 - f):
                return Part.without(p_x, p_x * f[group])
        raise SolverFailure("no part of the distribution is left without these values")
