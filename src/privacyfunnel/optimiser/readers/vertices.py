"""Any promise: extreme posteriors that sharpen estimates, found by local search."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.numeric.leaving import unless_left
from privacyfunnel.optimiser.generation.pricing import Oracle
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.tolerances import FEW_STEPS, FLOOR, SAME_DIGITS
from privacyfunnel.typing import Matrix, Vector

STARTS = 150
"""Values that searches start from at a time: each takes a handful of linear programs, of milliseconds."""
LEANING = 0.1
"""How much the first vertices of a value lean towards those that share columns with it."""
WORTH = 1e-9
"""What a posterior must gain, as a share of what all are worth: less is rounding error."""


@dataclass(eq=False)
class Vertices:
    """Extreme posteriors of a polytope, a few at a time."""

    polytope: Polytope
    similarity: Similarity
    exact = False
    """Local search may miss the best posterior, so that prices held against what it finds prove nothing."""
    _random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        self._oracle = Oracle(self.polytope)

    def first(self) -> Columns:
        """For every value, a vertex with as much of it as can be, and much of values alike."""
        n = self.polytope.n_x
        everything = np.arange(n)
        return self._columns(
            [
                self._vertex((np.arange(n) == x) + LEANING * self.similarity.at(np.array(x), everything))
                for x in self._some(n)
            ]
        )

    def better(self, z: Matrix, y: Vector, mu: float) -> tuple[Columns, None]:
        """Vertices with |zᵀv|² above y·v + μH(v): linearise this convex function, maximise, and begin anew there."""
        found = []
        least = WORTH * float(np.square(z).sum(axis=1) @ self.polytope.p_x)
        for x in self._some(self.polytope.n_x):
            v = (self.polytope.p_x + (np.arange(self.polytope.n_x) == x)) / 2
            best = -np.inf
            for _ in range(FEW_STEPS):
                v = self._vertex(2 * z @ (z.T @ v) - y + mu * np.log(np.maximum(v, FLOOR)))
                gain = _gain(v, z, y, mu)
                if gain <= best + least:
                    break
                best = gain
            if best > least:
                found.append(v)
        return self._columns(found), None

    def _some(self, n: int) -> list[int]:
        return sorted(self._random.choice(n, min(n, STARTS), replace=False).tolist())

    def _vertex(self, worth: Vector) -> Vector:
        """The posterior with the most worth·v."""
        unless_left()
        return self._oracle.minimise(-worth)

    def _columns(self, found: list[Vector]) -> Columns:
        if not found:
            return Columns(np.empty((0, 1), dtype=np.int64), np.empty((0, 1)))
        inside = self.polytope.draw_in(np.stack(found))
        _, first = np.unique(np.round(inside, SAME_DIGITS), axis=0, return_index=True)
        return Columns.from_dense(inside[np.sort(first)])


def _gain(v: Vector, z: Matrix, y: Vector, mu: float) -> float:
    used = v[v > 0]
    return float(np.square(z.T @ v).sum() - y @ v + mu * (used @ np.log(used)))
