"""Two secrets: which values are too low, which too high, and how far they lie from the boundaries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacyfunnel.optimiser.program.polytope import Polytope
from privacyfunnel.optimiser.program.tolerances import LOST_DIGITS, ROUNDINGS
from privacyfunnel.typing import Integers, Matrix, Vector

SAME_PENCIL = 1e-10
"""Rows whose parts that vary with x have a cosine this close to ±1 are two boundaries for one number."""
MOST_PENCILS = 256
"""From the tightest on: each is solved by itself, and leaving some out only makes a bound weaker."""


@dataclass(frozen=True, eq=False)
class Sides:
    """The values in the order of t: `n_low` are too low alone, `n_high` too high, those in between allowed.

    above[x] is how far x lies above the upper boundary, below[x] how far below the lower one, each in a
    unit of its own; negative on the other side. A boundary that does not bind is far away.
    """

    p: Vector
    above: Vector
    below: Vector
    order: Integers
    n_low: int
    n_high: int

    @classmethod
    def of(cls, polytope: Polytope) -> Sides:
        """Each row of G is rising or falling in t; of either kind, the one that is crossed first."""
        return cls._between(*_boundaries(polytope.G, polytope.p_x), polytope.p_x)

    @classmethod
    def around(cls, polytope: Polytope) -> Sides:
        """Boundaries of a polytope that surely contains this one, and that no posterior can lie on both of.

        Entries of G are lowered by their errors: what meets G v ≤ 0 meets it all the more. If no multiple of one row
        adds up with the other to a negative row, one of the rows has to do: more is then allowed, not less.
        """
        upper, lower = _boundaries(polytope.G - ROUNDINGS * polytope.sizes, polytope.p_x)
        if upper is not None and lower is not None and not _never_both(upper, lower):
            lower = None
        return cls._between(upper, lower, polytope.p_x)

    @classmethod
    def _between(cls, upper: Vector | None, lower: Vector | None, p: Vector) -> Sides:
        n = len(p)
        order = np.argsort(upper if upper is not None else -lower if lower is not None else p, kind="stable")
        above = np.full(n, -1.0) if upper is None else upper[order]
        below = np.full(n, -1.0) if lower is None else lower[order]
        return cls(p[order], above, below, order, int((below > 0).sum()), int((above > 0).sum()))

    @property
    def n(self) -> int:
        return len(self.p)

    def unsorted(self, y: Vector) -> Vector:
        """Numbers of the sorted values, in the order of the polytope."""
        back = np.empty_like(y)
        back[self.order] = y
        return back


def _boundaries(G: Matrix, p: Vector) -> tuple[Vector | None, Vector | None]:
    """The rising and the falling row that are crossed first, where there are any."""
    upper = lower = None
    if len(G):
        widest = G[int((G.max(axis=1) - G.min(axis=1)).argmax())]
        first, last = int(widest.argmin()), int(widest.argmax())
        span = G[:, last] - G[:, first]
        crossing = np.divide(-G[:, first], span, out=np.full(len(G), np.nan), where=span != 0)
        rising, falling = np.flatnonzero(span > 0), np.flatnonzero(span < 0)
        if rising.size:
            upper = G[rising[crossing[rising].argmin()]]
        if falling.size:
            lower = G[falling[crossing[falling].argmax()]]
        # Where p_x lies on one boundary, so does every output, and the other boundary is none.
        if upper is not None and lower is not None:
            if upper @ p > -LOST_DIGITS * (np.abs(upper) @ p):
                lower = None
            elif lower @ p > -LOST_DIGITS * (np.abs(lower) @ p):
                upper = None
    return upper, lower


def _never_both(upper: Vector, lower: Vector) -> bool:
    """Whether upper·v = 0 = lower·v for no posterior v: some upper + λ·lower, λ > 0, is negative throughout."""
    first, last = int(upper.argmin()), int(upper.argmax())
    rise, fall = upper[last] - upper[first], lower[first] - lower[last]
    if rise <= 0 or fall <= 0:
        return False
    together, size = fall * upper + rise * lower, fall * np.abs(upper) + rise * np.abs(lower)
    return bool((together < -ROUNDINGS * size).all())


def pencils(polytope: Polytope) -> list[Integers]:
    """The rows of G in groups that speak of one number each, such as both limits on one secret."""
    G = polytope.G
    varying = G - G.mean(axis=1, keepdims=True)
    size = np.linalg.norm(varying, axis=1)
    todo = size > 0
    found: list[Integers] = []
    for row in np.argsort(-(G @ polytope.p_x), kind="stable"):  # from the tightest on
        if todo[row] and len(found) < MOST_PENCILS:
            same = todo & (np.abs(varying @ varying[row]) >= (1 - SAME_PENCIL) * size * size[row])
            todo &= ~same
            found.append(np.flatnonzero(same))
    return found
