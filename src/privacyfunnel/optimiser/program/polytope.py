"""Polytope: the posteriors P(X=·|y) that keep a promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.information import entropy
from privacyfunnel.numeric.lp import TOLERANCE
from privacyfunnel.optimiser.program.tolerances import FEASIBLE
from privacyfunnel.promises.clause import outer_rows_of, spans_of
from privacyfunnel.promises.notion import Notion
from privacyfunnel.typing import Exact, Integers, Matrix, Vector

DUST = TOLERANCE
"""Masses below the tolerance of a linear-programming solver."""


@dataclass(frozen=True, eq=False)
class Polytope:
    """Δ = {v ≥ 0, Σv = 1, G v ≤ 0}, which always contains p_x (releasing nothing keeps any promise)."""

    G: Matrix
    p_x: Vector
    """What is to be written as a mixture of points of Δ: P(x), or P(x|h) where h was released before."""
    size: Matrix | None = None
    """Of the terms that each entry of G is the difference of: it may be wrong by a few roundings of this."""
    terms: Integers | None = None
    """terms[i]: which two numbers row i compares, in which cell, and how many such ratios the cell has at most."""
    beliefs: Exact | None = None
    """beliefs[s, x]: integers in proportion to P(s|x), or P(event|x), if all rows are combinations of these. Values x
    for which these are dependent are no vertex's."""

    @classmethod
    def of(cls, joint: Joint, notion: Notion) -> Polytope:
        """The posteriors that `notion` allows on `joint`."""
        return cls(notion.rows(joint), joint.p_x)

    @classmethod
    def granted(cls, joint: Joint, notion: Notion, share: float = 1.0) -> Polytope:
        """The posteriors that a certificate lets pass: the same, but for ε = 0 a hair's breadth wider.

        A smaller share of that leaves room for rounding them.
        """
        return cls(notion.granted_rows(joint, share), joint.p_x)

    @classmethod
    def outer(cls, joint: Joint, notion: Notion) -> Polytope:
        """A polytope that contains the granted one in spite of rounding errors, and is hardly larger: for bounds."""
        clauses = notion.clauses(joint)
        rows, one_view = outer_rows_of([clause.granted() for clause in clauses]), all(c.one_view for c in clauses)
        return cls(rows.G, joint.p_x, rows.size, rows.terms, spans_of(clauses) if one_view else None)

    @property
    def sizes(self) -> Matrix:
        """`size`, or that of the entries themselves where these are taken as they are."""
        return np.abs(self.G) if self.size is None else self.size

    @property
    def n_x(self) -> int:
        """The dimension of the space Δ lives in."""
        return len(self.p_x)

    def with_rows(self, rows: Integers) -> Polytope:
        """A larger polytope, for which only some rows count."""
        size = None if self.size is None else self.size[rows]
        terms = None if self.terms is None else self.terms[rows]
        return Polytope(self.G[rows], self.p_x, size, terms, self.beliefs)

    def given(self, x: Integers, posterior: Vector) -> Polytope:
        """The same rows for posteriors on the values x alone, and another point of Δ to be mixed.

        Rows that all such posteriors meet are left out, the others have a largest coefficient of 1 again.
        """
        binding = np.flatnonzero(self.G[:, x].max(axis=1, initial=0.0) > 0)
        some = self.with_rows(binding)
        G = some.G[:, x]
        scale = np.abs(G).max(axis=1, initial=0.0, keepdims=True)
        size = None if some.size is None else some.size[:, x] / scale
        beliefs = None if some.beliefs is None else some.beliefs[:, x]
        return Polytope(G / scale, posterior, size, some.terms, beliefs)

    def draw_in(self, V: Matrix) -> Matrix:
        """Each v moved towards p_x just far enough that G v ≤ 0; points of Δ stay where they are."""
        V = without_dust(V)
        if not self.G.size:
            return V
        over = V @ self.G.T
        over[over <= FEASIBLE * (V @ np.abs(self.G).T)] = 0.0  # what rounding will mend
        slack = np.minimum(self.G @ self.p_x, 0.0)  # where p_x touches a row, only p_x itself will do
        theta = np.divide(over, over - slack, out=np.zeros_like(over), where=over > 0).max(axis=1, keepdims=True)
        return np.asarray((1 - theta) * V + theta * self.p_x)


def without_dust(V: Matrix) -> Matrix:
    """Posteriors without the tiny masses that a solver leaves behind: alone in a cell, they would break a promise."""
    V = np.where(V < DUST, 0.0, V)
    return np.asarray(V / V.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Columns:
    """Posteriors in sparse form: v_i has mass[i, k] at the value support[i, k]; unused places have mass 0."""

    support: Integers
    mass: Matrix

    @classmethod
    def from_dense(cls, V: Matrix) -> Columns:
        """The rows of V as columns of the master program."""
        width = max(1, int((V > 0).sum(axis=1).max(initial=1)))
        support = np.argsort(V <= 0, axis=1, kind="stable")[:, :width]
        return cls(support.astype(np.int64), np.take_along_axis(V, support, axis=1).clip(0))

    @classmethod
    def join(cls, parts: list[Columns]) -> Columns:
        """All columns of all parts."""
        width = max(part.support.shape[1] for part in parts)
        padded = [np.pad(part.support, ((0, 0), (0, width - part.support.shape[1]))) for part in parts]
        masses = [np.pad(part.mass, ((0, 0), (0, width - part.mass.shape[1]))) for part in parts]
        return cls(np.concatenate(padded), np.concatenate(masses))

    def __len__(self) -> int:
        return len(self.support)

    def take(self, index: Integers) -> Columns:
        """The columns with these numbers."""
        return Columns(self.support[index], self.mass[index])

    def entropy(self) -> Vector:
        """H(v) of every column."""
        return entropy(self.mass)

    def dot(self, y: Vector) -> Vector:
        """y·v of every column."""
        return np.asarray((y[self.support] * self.mass).sum(axis=1))

    def dense(self, n_x: int) -> Matrix:
        """The posteriors as rows of a matrix."""
        V = np.zeros((len(self), n_x))
        np.add.at(V, (np.arange(len(self))[:, None], self.support), self.mass)
        return V


def together(rows: list[Matrix], joints: Sequence[Joint], places: list[Integers], mean: Joint) -> Matrix:
    """G of all priors in posteriors of the mean: v_i[x] ∝ p_i[x] w[x] becomes v[x] ∝ p_x[x] w[x]."""
    G = placed(rows, joints, places, mean)
    return np.unique(G / np.abs(G).max(axis=1, initial=0.0, keepdims=True), axis=0)


def placed(rows: list[Matrix], joints: Sequence[Joint], places: list[Integers], mean: Joint) -> Matrix:
    """Rows of all priors, each at the places that its values have in the mean."""
    parts = []
    for G, joint, place in zip(rows, joints, places, strict=True):
        part = np.zeros((len(G), mean.n_x))
        part[:, place] = G * joint.p_x / mean.p_x[place]
        parts.append(part)
    return np.concatenate(parts)
