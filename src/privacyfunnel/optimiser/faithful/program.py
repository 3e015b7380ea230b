"""The linear program of a faithful release, over some of its pairs and some of its limits.

    maximise Σ π(x, o) sim(x, o)  s.t.  Σ_o π(x, o) = p_x,  Σ_x π(x, o) = p_o,  low·p_o ≤ D π(·, o) ≤ high·p_o,

with π(x, o) = P(X = x, Y = o) ≥ 0, outputs o being values of X. π = p pᵀ, a row redrawn from all, is always allowed.
Any prices w[o] and μ[o, r] bound every solution: raise u[x] to max_o sim(x, o) − w[o] − (μ D)[o, x], and no π has more
than Σ p_x u_x + Σ p_o (w_o + Σ_r max(μ low, μ high)). One pass over all pairs, and a certificate at any time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.optimiser.faithful.bands import Bands
from privacyfunnel.optimiser.faithful.pair_pricing import price_outputs
from privacyfunnel.optimiser.program.tolerances import AT_ONCE
from privacyfunnel.typing import Integers, Matrix, Vector

DOUBT = 1e-14
"""What float64 may cost a bound, relative to the sizes of the prices in it."""
LAST_TOLERANCE = 2.0**-36
"""How exactly limits are met by the last linear programs."""
ROOM = 0.25
"""Limits are tightened by at most this share of the room that p_x leaves."""


@dataclass(frozen=True, eq=False)
class Limited:
    """Which limits are enforced: limit rows[i] on output outputs[i], in order of the outputs."""

    outputs: Integers
    rows: Integers

    @classmethod
    def of(cls, outputs: Integers, rows: Integers) -> Limited:
        order = np.lexsort((rows, outputs))
        return cls(outputs[order].astype(np.int64), rows[order].astype(np.int64))

    def join(self, outputs: Integers, rows: Integers) -> Limited:
        """With further ones; each once."""
        both = np.stack([np.append(self.outputs, outputs), np.append(self.rows, rows)], axis=1)
        outputs, rows = np.unique(both, axis=0).T
        return Limited(outputs, rows)

    def __len__(self) -> int:
        return len(self.outputs)


@dataclass(frozen=True, eq=False)
class Prices:
    """u[x] of the values released, w[o] of the outputs, μ[i] of the limits enforced (μ > 0: at its high end)."""

    u: Vector
    w: Vector
    mu: Vector
    limited: Limited


@dataclass(frozen=True, eq=False)
class Priced:
    """What all pairs are worth at given prices: a bound on every release, and the pairs that would gain."""

    bound: float
    keys: Integers
    """o·n + x of pairs with the largest gains."""
    gain: float
    """The largest gain of any pair."""


@dataclass(eq=False)
class Program:
    """The program: what does not change, and the limits met so far."""

    p: Vector
    similarity: Similarity
    bands: Bands
    spared: float
    """What one unit of rounding is; limits are tightened by its worst effect, and by as much for the solver."""
    constant: float = field(init=False)
    """The fidelity of p pᵀ."""

    def __post_init__(self) -> None:
        self.constant = self.similarity.of_strangers(self.p)

    @property
    def n_x(self) -> int:
        """The number of values, and of outputs."""
        return len(self.p)

    def limits_of(self, limited: Limited) -> tuple[Vector, Vector]:
        """low·p_o and high·p_o of the limits enforced, tightened by what rounding may cost."""
        mass, rows = self.p[limited.outputs], limited.rows
        ends = []
        for level, unit, room, sign in self._ends():
            ends.append(level[rows] * mass + sign * np.minimum(unit[rows], room[rows] * mass))
        return ends[0], ends[1]

    def tightened(self, mass: float) -> tuple[Vector, Vector]:
        """Low and high, tightened for every output of at least this mass."""
        low, high = (level + sign * np.minimum(unit / mass, room) for level, unit, room, sign in self._ends())
        return low, high

    def _ends(self) -> Iterator[tuple[Vector, Vector, Vector, float]]:
        """Of both ends: where they are, what one unit of rounding can do, the room that may be given up, inwards."""
        centre = self.bands.D @ self.p
        for limit, sign in ((self.bands.low, 1.0), (self.bands.high, -1.0)):
            finite = np.isfinite(limit)
            level = np.where(finite, limit, 0.0)
            reach = np.abs(self.bands.D - level[:, None]) @ self.p  # Σ_x p_x|D − limit|, one unit in every entry
            where = np.where(finite, level, -sign * np.inf)
            yield where, self.spared * (reach + 1), ROOM * np.abs(centre - level), sign

    def nearly_overstepped(self, pi: csr_array) -> tuple[Integers, Integers]:
        """Outputs and limits that rounding might overstep; a cell that an output leaves empty has none."""
        values, touched = self.charges(pi), np.asarray(abs(pi) @ np.abs(self.bands.D).T) > 0
        n, rows = values.shape
        every = Limited(*(part.ravel() for part in np.indices((n, rows))))
        low, high = (end.reshape(n, rows) for end in self.limits_of(every))
        outputs, found = np.nonzero(touched & ((values > high + LAST_TOLERANCE) | (values < low - LAST_TOLERANCE)))
        return outputs, found

    def columns(self, keys: Integers, limited: Limited) -> tuple[Integers, Integers, Vector]:
        """A of the pairs `keys` and of p pᵀ, which comes last: starts, rows and values of its columns."""
        n = self.n_x
        o, x = np.divmod(keys, n)
        begin = np.searchsorted(limited.outputs, np.arange(n + 1))
        many = np.diff(begin)[o]
        of = np.repeat(np.arange(len(keys)), many)
        which = np.arange(len(of)) - np.repeat(np.cumsum(many) - many, many) + begin[o[of]]
        charge = self.bands.D[limited.rows[which], x[of]]
        kept = charge != 0
        of, which, charge = of[kept], which[kept], charge[kept]
        sizes = 2 + np.bincount(of, minlength=len(keys))
        starts = np.append(0, np.cumsum(sizes))
        index, value = np.empty(starts[-1], dtype=np.int64), np.ones(starts[-1])
        index[starts[:-1]], index[starts[:-1] + 1] = x, n + o
        inner = np.arange(len(of)) - np.searchsorted(of, of)
        index[starts[of] + 2 + inner], value[starts[of] + 2 + inner] = 2 * n + which, charge
        level = self.p[limited.outputs] * (self.bands.D @ self.p)[limited.rows]
        last = n * np.concatenate([self.p, self.p, level])
        starts = np.append(starts, starts[-1] + len(last))
        return starts, np.append(index, np.arange(len(last))), np.append(value, last)

    def charges(self, pi: csr_array) -> Matrix:
        """D[r]·π(·, o) at [o, r], from π at [o, x]."""
        return np.asarray(pi @ self.bands.D.T)

    def price(self, prices: Prices, keep: int) -> Priced:
        """One pass over all pairs."""
        n, s = self.n_x, self.similarity
        mu, limited = prices.mu, prices.limited
        M = csr_array((mu, (limited.outputs, limited.rows)), shape=(n, len(self.bands)))
        most = np.full(n, -np.inf)
        found = [(np.zeros((n, keep)), np.full((n, keep), -1)) for _ in range(2)]
        step = max(1, AT_ONCE // n)
        for first in range(0, n, step):
            charge = np.ascontiguousarray(M[first : first + step] @ self.bands.D)
            price_outputs(
                s.codes, s.places, s.weights, s.steps, first, prices.w, charge, prices.u, most, *found[0], *found[1]
            )
        x_in, at_in = np.nonzero(found[0][1] >= 0)
        o_out, at_out = np.nonzero(found[1][1] >= 0)
        keys = np.append(found[0][1][x_in, at_in] * n + x_in, o_out * n + found[1][1][o_out, at_out])
        low, high = (end[limited.rows] for end in self.bands.spans())
        ends = self.p[limited.outputs] * np.maximum(mu, 0) * high - self.p[limited.outputs] * np.maximum(-mu, 0) * low
        terms = np.concatenate([self.p * most, self.p * prices.w, ends])
        bound = float(terms.sum() + DOUBT * (1 + np.abs(terms).sum()))
        return Priced(bound, np.unique(keys), float(found[0][0].max(initial=0.0)))
