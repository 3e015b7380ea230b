"""Linear programs over Δ of a confidence set: rows are added wherever a solution oversteps one, until none does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privacyfunnel.numeric.lp import LinearProgram
from privacyfunnel.optimiser.generation.boxes import RowBounds
from privacyfunnel.optimiser.robust.region import Region
from privacyfunnel.typing import Matrix, Vector

MOST_PROGRAM_ROWS = 4_000
"""Beyond, rows are no longer added: a program would take seconds."""
BOX_ROUNDS = 3
"""The same inside a box, where any rows give a bound and more rows a better one."""


class RobustOracle:
    """Linear programs over Δ of the whole set. `G` holds the rows met so far: a superset of Δ, so bounds are bounds."""

    def __init__(self, region: Region, stopped: Callable[[], bool] = lambda: False) -> None:
        n = region.n_x
        self.region, self.n_x, self._stopped = region, n, stopped
        self.G = np.empty((0, n))
        # The sum comes first here, so that rows can be added behind it.
        self._lp = LinearProgram(np.ones((1, n)), np.ones(1), np.ones(1), upper=1.0)

    @property
    def full(self) -> bool:
        """Whether no more rows will be added; what oversteps one is then drawn in by the caller."""
        return len(self.G) >= MOST_PROGRAM_ROWS

    def minimise(self, cost: Vector) -> Vector:
        """A vertex with the least cost·v. Rows are added while it oversteps some, and while there is time and place."""
        self._lp.set_costs(cost)
        v = self._lp.solve()[0].clip(0)
        while not self._stopped() and self.add_rows_for(v[None]):
            v = self._lp.solve()[0].clip(0)
        return v

    def relax(self, cost: Vector, lower: Vector, upper: Vector) -> tuple[Vector, float, Vector]:
        """A minimiser, a bound below the minimum by weak duality (see `pricing.Oracle.relax`), and reduced costs."""
        self._lp.set_bounds(lower, upper)
        self._lp.set_costs(cost)
        v, duals = self._lp.solve()
        for _ in range(BOX_ROUNDS):
            if not self.add_rows_for(v.clip(0)[None]):
                break
            v, duals = self._lp.solve()
        reduced = cost - duals[0] + self.G.T @ (-duals[1:]).clip(0)
        return v, float(duals[0] + np.minimum(reduced * lower, reduced * upper).sum()), reduced

    def rows(self) -> RowBounds:
        """What v must meet, as far as rows were met."""
        n = len(self.G)
        low, high = np.append(np.full(n, -np.inf), 1.0), np.append(np.zeros(n), 1.0)
        return RowBounds.of(np.vstack([self.G, np.ones((1, self.n_x))]), low, high, np.ones(self.n_x, dtype=bool))

    def team(self) -> list[RobustOracle]:
        """Alone: rows are added on the way, so others would not know them."""
        return [self]

    def add_rows_for(self, V: Matrix) -> bool:
        """Add the rows that posteriors overstep; whether there are any."""
        if self.full:
            return False
        rows = self.region.cuts(V / V.sum(axis=1, keepdims=True))[0]
        if not len(rows):
            return False
        self.G = np.concatenate([self.G, rows])
        self._lp.add_rows(rows, np.zeros(len(rows)))
        return True
