"""Reduce first: values of X with the same column of G are interchangeable, so solve on classes of them.

The entropy of a posterior depends on its masses alone, and the promise on x only through G[:, x]. A
mixture over classes therefore becomes one over values at no cost: lay each class's outputs and its
members side by side along its mass, and cut every output wherever a member ends. Then each output has at
most one member of a class. There are at most (outputs) + Σ (members − 1) pieces, so b ≤ a stays true.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.tolerances import COLUMN_DIGITS, ROUNDINGS
from privacyfunnel.typing import Integers, Vector


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of interchangeable values: `of[x]` is the class of x, `polytope` is that of the classes."""

    polytope: Polytope
    of: Integers
    p_x: Vector

    @classmethod
    def find(cls, polytope: Polytope) -> Classes:
        """The coarsest classes."""
        if len(polytope.G) == 0:  # no promise binds, so nothing is gained
            first = of = np.arange(polytope.n_x)
        else:
            rounded = np.ascontiguousarray(np.round(polytope.G, COLUMN_DIGITS).T) + 0.0  # no -0.0
            met: dict[bytes, int] = {}  # far faster than sorting columns of many rows
            of = np.array([met.setdefault(column.tobytes(), len(met)) for column in rounded])
            first = np.unique(of, return_index=True)[1]
        masses = np.bincount(of, weights=polytope.p_x).astype(np.float64)
        return cls(Polytope(polytope.G[:, first], masses), of, polytope.p_x)

    def outer(self, polytope: Polytope) -> Polytope:
        """The classes of a larger polytope, for bounds; what members differ by counts as error of the entries.

        What a posterior does to a row, given its mass of a class, is a mean of the members' entries.
        """
        first = np.unique(self.of, return_index=True)[1]
        G = polytope.G[:, first]
        apart, size = np.zeros_like(G), np.zeros_like(G)
        np.maximum.at(apart.T, self.of, np.abs(polytope.G - G[:, self.of]).T)
        np.maximum.at(size.T, self.of, polytope.sizes.T)
        beliefs = None if polytope.beliefs is None else polytope.beliefs[:, first]
        return Polytope(G, self.polytope.p_x, size + apart / ROUNDINGS, polytope.terms, beliefs)

    def split(self, columns: Columns, q: Vector) -> tuple[Columns, Vector]:
        """The mixture Σ q_i v_i over classes as one over values, with the same entropy."""
        if len(self.of) == self.polytope.n_x:
            order = np.argsort(self.of)
            return Columns(order[columns.support], columns.mass), q
        used = np.flatnonzero(q > 0)
        laid = _Laid(self)
        pieces = [laid.cut(columns.support[i], columns.mass[i], float(q[i])) for i in used]
        weights = np.concatenate([piece[1] for piece in pieces])
        supports = np.concatenate([piece[0] for piece in pieces])
        masses = np.repeat(columns.mass[used], [len(piece[1]) for piece in pieces], axis=0)
        return Columns(supports, masses), weights

    def merge(self, columns: Columns) -> Columns:
        """Posteriors over values as posteriors over classes."""
        V = columns.dense(len(self.of))
        merged = np.zeros((len(V), self.polytope.n_x))
        np.add.at(merged.T, self.of, V.T)
        return Columns.from_dense(merged)


class _Laid:
    """Each class's members laid along its mass, and how far outputs have used it up."""

    def __init__(self, classes: Classes) -> None:
        order = np.argsort(classes.of, kind="stable")
        starts = np.searchsorted(classes.of[order], np.arange(classes.polytope.n_x + 1))
        self._members = [order[a:b] for a, b in pairwise(starts)]
        self._ends = [np.cumsum(classes.p_x[members]) for members in self._members]
        self._used = np.zeros(classes.polytope.n_x)

    def cut(self, support: Integers, mass: Vector, q: float) -> tuple[Integers, Vector]:
        """The pieces of one output: the member of each class in its support, and their weights."""
        present = [(place, int(support[place]), q * float(mass[place])) for place in np.flatnonzero(mass > 0)]
        cuts = {0.0, 1.0}
        for _, k, length in present:
            inner = (self._ends[k][:-1] - self._used[k]) / length
            cuts.update(inner[(inner > 0) & (inner < 1)].tolist())
        edges = np.array(sorted(cuts))
        middles = (edges[1:] + edges[:-1]) / 2
        pieces = np.tile(support, (len(middles), 1))
        for place, k, length in present:
            at = np.searchsorted(self._ends[k][:-1], self._used[k] + middles * length)
            pieces[:, place] = self._members[k][at]
            self._used[k] += length
        return pieces, q * np.diff(edges)
