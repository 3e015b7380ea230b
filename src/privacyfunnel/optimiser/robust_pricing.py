"""Linear programs over Δ of a confidence set: rows are added where a solution oversteps one, until none is overstepped."""

from __future__ import annotations

import numpy as np

from privacyfunnel.optimiser.lp import LinearProgram
from privacyfunnel.optimiser.pricing import Oracle
from privacyfunnel.optimiser.robust_rows import Region
from privacyfunnel.typing import Matrix, Vector

MOST_ROUNDS = 400
"""Times that rows are added for one program; what is still overstepped then is drawn in by the caller."""
BOX_ROUNDS = 3
"""The same inside a box, where any rows give a bound and more rows a better one."""


class RobustOracle(Oracle):
    """As `Oracle`, over Δ of the whole set. `G` holds the rows met so far: a superset of Δ, so bounds are bounds."""

    def __init__(self, region: Region) -> None:
        n = region.n_x
        self.region, self.n_x = region, n
        self.G = np.empty((0, n))
        # The sum comes first here, so that rows can be added behind it.
        self._lp = LinearProgram(np.ones((1, n)), np.ones(1), np.ones(1), upper=1.0)

    def minimise(self, cost: Vector) -> Vector:
        self._lp.set_costs(cost)
        for _ in range(MOST_ROUNDS):
            v = self._lp.solve()[0].clip(0)
            if not self._add_rows_for(v):
                break
        return v

    def relax(self, cost: Vector, lower: Vector, upper: Vector) -> tuple[Vector, float, Vector]:
        """A minimiser, a bound below the minimum by weak duality (see `Oracle.relax`), and reduced costs."""
        self._lp.set_bounds(lower, upper)
        self._lp.set_costs(cost)
        v, duals = self._lp.solve()
        for _ in range(BOX_ROUNDS):
            if not self._add_rows_for(v.clip(0)):
                break
            v, duals = self._lp.solve()
        reduced = cost - duals[0] + self.G.T @ (-duals[1:]).clip(0)
        return v, float(duals[0] + np.minimum(reduced * lower, reduced * upper).sum()), reduced

    def unrestrict(self) -> None:
        self._lp.set_bounds(np.zeros(self.n_x), np.ones(self.n_x))

    def _add_rows_for(self, v: Vector) -> bool:
        """Add the rows that v oversteps; whether there are any."""
        rows: Matrix = self.region.cuts(v[None] / v.sum())[0]
        if not len(rows):
            return False
        self.G = np.concatenate([self.G, rows])
        self._lp.add_rows(rows, np.zeros(len(rows)))
        return True
