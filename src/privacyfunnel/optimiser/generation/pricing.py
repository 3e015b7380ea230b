"""Cheap pricing: posteriors in Δ whose entropy undercuts their price, found by local search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.numeric.cores import cores, side_by_side
from privacyfunnel.numeric.lp import LinearProgram
from privacyfunnel.optimiser.generation.box_descent import descents
from privacyfunnel.optimiser.generation.boxes import RowBounds
from privacyfunnel.optimiser.generation.tableau import Tableau
from privacyfunnel.optimiser.program.polytope import Polytope
from privacyfunnel.optimiser.program.tolerances import FLOOR, IMPROVES, LANES, LARGE, OUTWARDS, SAME_DIGITS, STEPS
from privacyfunnel.typing import Integers, Matrix, Vector

SHARPNESS = 0.5
"""Random posteriors to search from are Dirichlet with this parameter: below 1, some values have most of the mass, as
in a vertex."""
WORTH_FINDING = 1 / 4
"""Of the gap: a posterior that undercuts its price by less is not looked for. A proof ends at the whole gap."""
WORTH_ADDING = 1 / 8
"""Of the gap: what must be left of that when a posterior has been drawn into Δ."""

COMPILED_TO = 50_000
"""Entries of A up to which descents are compiled; beyond, sparse programs are quicker."""
AT_ONCE = 160
"""Compiled descents before looking at the clock."""


class Programs(Protocol):
    """Linear programs over a set of vectors with n_x entries: what local searches and proofs ask for."""

    n_x: int

    def minimise(self, cost: Vector) -> Vector:
        """A vertex with the least cost·v."""

    def rows(self) -> RowBounds:
        """What v must meet, for branch and bound; variables after the first n_x are free of cost."""

    def team(self) -> Sequence[Programs]:
        """These programs and others like them, for as many threads."""


class BoxedPrograms(Programs, Protocol):
    """The same where the vectors can also be kept in a box."""

    def relax(self, cost: Vector, lower: Vector, upper: Vector) -> tuple[Vector, float, Vector]:
        """A minimiser of cost·v in the box, a bound below the minimum that owes the solver nothing, reduced costs."""


class Oracle:
    """Linear programs over Δ ∩ {lower ≤ v ≤ upper}, warm from one to the next."""

    def __init__(self, polytope: Polytope) -> None:
        G, n = polytope.G, polytope.n_x
        self.G, self.n_x = G, n
        self.A = np.vstack([G, np.ones((1, n))])
        self.row_lower = np.concatenate([np.full(len(G), -np.inf), [1.0]])
        self.row_upper = np.concatenate([np.zeros(len(G)), [1.0]])
        self._polytope = polytope
        self._team: list[Oracle] = []
        self._tableaux: list[Tableau] = []
        self.compiled = self.A.size <= COMPILED_TO
        """Whether local searches are."""
        self.small = self.A.size <= LARGE
        """Whether thousands of them take no time."""
        self._lp = LinearProgram(self.A, self.row_lower, self.row_upper, upper=1.0)

    def minimise(self, cost: Vector) -> Vector:
        """A vertex with the least cost·v."""
        self._lp.set_costs(cost)
        return self._lp.solve()[0].clip(0)

    def relax(self, cost: Vector, lower: Vector, upper: Vector) -> tuple[Vector, float, Vector]:
        """A minimiser of cost·v in the box, a bound below the minimum that owes the solver nothing, reduced costs.

        Weak duality: for any μ and any λ ≥ 0, cost·v ≥ μ + Σ_x reduced[x]·v[x] with
        reduced = cost − μ + Gᵀλ, because Σv = 1 and G v ≤ 0; each term is least at an end of the box.
        """
        self._lp.set_bounds(lower, upper)
        self._lp.set_costs(cost)
        v, duals = self._lp.solve()
        reduced = cost - duals[-1] + self.G.T @ (-duals[:-1]).clip(0)
        return v, float(duals[-1] + np.minimum(reduced * lower, reduced * upper).sum()), reduced

    def rows(self) -> RowBounds:
        """What v must meet, for branch and bound; variables after the first n_x are free of cost."""
        return RowBounds.of(self.A, self.row_lower, self.row_upper, np.ones(self.n_x, dtype=bool))

    def restrict(self, tight: NDArray[np.bool_], open_values: NDArray[np.bool_], ajar: float = 0.0) -> None:
        """Keep to the face of Δ where the rows `tight` hold with equality and only `open_values` have mass.

        Rows may be missed by `ajar`.
        """
        upper = self.row_upper + np.append(np.full(len(tight), ajar), 0.0)
        self._lp.set_row_bounds(np.where(np.append(tight, False), -ajar, self.row_lower), upper)
        self._lp.set_bounds(np.zeros(self.n_x), open_values.astype(np.float64))

    def ends(self, y: Vector, starts: Matrix) -> tuple[Matrix, Vector]:
        """Local minima of r that are reached from the starts, and r there, by compiled programs."""
        while len(self._tableaux) < LANES:
            self._tableaux.append(Tableau.of(self.A, lazy=False))
        # Σv = 1, so a row is never below its least entry
        low = np.concatenate([np.zeros(self.n_x), self.G.min(axis=1, initial=0.0), [1.0]])
        high = np.concatenate([np.ones(self.n_x), self.row_upper])

        def search(lane: int) -> tuple[Matrix, Vector]:
            part = np.ascontiguousarray(starts[lane::LANES])
            return descents(self.A, low, high, y, part, *self._tableaux[lane][:4])

        parts = side_by_side(search, range(min(LANES, len(starts))))
        values = np.concatenate([value for _, value in parts])
        reached = np.isfinite(values)
        return np.concatenate([end for end, _ in parts])[reached], values[reached]

    def team(self) -> list[Oracle]:
        """This oracle and others like it, one for each core, where programs are large enough to share them out."""
        if not self._team:
            helpers = cores() - 1 if self.G.size >= COMPILED_TO else 0
            self._team = [self, *(Oracle(self._polytope) for _ in range(helpers))]
        return self._team

    def unrestrict(self) -> None:
        """Back to the whole of Δ."""
        self._lp.set_row_bounds(self.row_lower, self.row_upper)
        self._lp.set_bounds(np.zeros(self.n_x), np.ones(self.n_x))


class CellOracle:
    """The same for the masses m of cells of values, for v in Δ: m[k] = Σ v[x] over the x with cell[x] = k."""

    def __init__(self, polytope: Polytope, cell: Integers) -> None:
        self._values = Oracle(polytope)
        self._cell, self.n_x = cell, int(cell.max()) + 1

    def minimise(self, cost: Vector) -> Vector:
        """Masses with the least cost·m."""
        return self._masses(self._values.minimise(cost[self._cell]))

    def largest(self) -> tuple[Matrix, Vector]:
        """For every cell, masses with the largest m[k] (row k), and a proven bound on that m[k]."""
        everything = np.zeros(len(self._cell)), np.ones(len(self._cell))
        solved = [self._values.relax(-(self._cell == k).astype(np.float64), *everything) for k in range(self.n_x)]
        corners = np.stack([self._masses(v.clip(0)) for v, _, _ in solved])
        return corners, np.minimum(1.0, [OUTWARDS - bound for _, bound, _ in solved])

    def rows(self) -> RowBounds:
        """What (m, v) must meet."""
        own, cells, values = self._values.A, self.n_x, len(self._cell)
        A = np.zeros((len(own) + cells, cells + values))
        A[: len(own), cells:] = own
        A[len(own) + np.arange(cells), np.arange(cells)] = -1.0
        A[len(own) + self._cell, cells + np.arange(values)] = 1.0
        low, high = (np.append(end, np.zeros(cells)) for end in (self._values.row_lower, self._values.row_upper))
        return RowBounds.of(A, low, high, np.arange(cells + values) < cells)

    def team(self) -> list[CellOracle]:
        """This one alone."""
        return [self]

    def _masses(self, v: Vector) -> Vector:
        return np.bincount(self._cell, weights=v, minlength=self.n_x).astype(np.float64)


def essential(G: Matrix) -> Matrix:
    """G without rows that another one with the same non-zeros implies: g ≤ α·g′ with α ≥ 0 means g·v ≤ α·g′·v ≤ 0.

    With two secrets, a limit from above on the one and from below on the other are limits on the same number.
    """
    alike: dict[bytes, list[int]] = {}
    for i, pattern in enumerate(np.packbits(G != 0, axis=1)):
        alike.setdefault(pattern.tobytes(), []).append(i)
    kept = np.ones(len(G), dtype=bool)
    for group in alike.values():
        rows = G[group][:, np.flatnonzero(G[group[0]])]
        for place, i in enumerate(group):
            kept[i] = False
            others = rows[kept[group]]
            ratio = rows[place] / others
            least = np.where(others > 0, ratio, 0.0).max(axis=1, initial=0.0)
            most = np.where(others < 0, ratio, np.inf).min(axis=1, initial=np.inf)
            kept[i] = not (least <= most).any()
    return G[kept]


def reduced_cost(v: Vector, y: Vector) -> float:
    """r(v) = H(v) − y·v: negative exactly when v improves the mixture."""
    seen = v > 0
    return float(-(v[seen] * np.log(v[seen])).sum() - y @ v)


def descend(oracle: Programs, y: Vector, v: Vector) -> Vector:
    """From v down to a vertex that is a local minimum of r: r is concave, so its linearisation is above it."""
    best = np.inf
    for _ in range(STEPS):
        corner = oracle.minimise(-np.log(np.maximum(v, FLOOR)) - y)
        value = reduced_cost(corner, y)
        if value >= best - IMPROVES:
            break
        best, v = value, corner
    return v


def extremes(oracle: BoxedPrograms) -> tuple[Matrix, Vector]:
    """For every value x, a vertex with the largest v[x] (row x), and a proven bound on that v[x]."""
    everything = np.zeros(oracle.n_x), np.ones(oracle.n_x)
    solved = [oracle.relax(-row, *everything) for row in np.eye(oracle.n_x)]
    corners = np.stack([v for v, _, _ in solved]).clip(0)
    return corners, np.minimum(1.0, [OUTWARDS - bound for _, bound, _ in solved])


def local_search(oracle: Programs, y: Vector, starts: Matrix, threshold: float, stopped: Callable[[], bool]) -> Matrix:
    """The different local minima with r(v) < −threshold reached from `starts`, best first."""
    if isinstance(oracle, Oracle) and oracle.compiled:
        some = (starts[i : i + AT_ONCE] for i in range(0, len(starts), AT_ONCE))
        parts = [oracle.ends(y, part) for part in some if not stopped()]
        ends = np.concatenate([np.empty((0, oracle.n_x)), *(end for end, _ in parts)])
        values = np.concatenate([np.empty(0), *(value for _, value in parts)])
    else:
        ends = _search(oracle, y, starts, stopped)
        values = np.array([reduced_cost(end, y) for end in ends])
    found = np.flatnonzero(values < -threshold)
    return distinct(ends[found[np.argsort(values[found], kind="stable")]])


def _search(oracle: Programs, y: Vector, starts: Matrix, stopped: Callable[[], bool]) -> Matrix:
    """Local minima by the solver, shared among the cores where programs are large."""

    def search(helper: Programs, part: Matrix) -> list[Vector]:
        return [descend(helper, y, v) for v in part if not stopped()]

    team = oracle.team()
    if len(team) == 1:
        ends = search(oracle, starts)
    else:
        with ThreadPoolExecutor(len(team)) as pool:
            shared = pool.map(search, team, [starts[i :: len(team)] for i in range(len(team))])
            ends = [end for part in shared for end in part]
    return np.array(ends).reshape(-1, oracle.n_x)


def distinct(V: Matrix) -> Matrix:
    """The rows of V, without those that repeat an earlier one up to rounding."""
    _, first = np.unique(np.round(V, SAME_DIGITS), axis=0, return_index=True)
    return V[np.sort(first)]
