"""Peeling: posteriors with few values are taken away from p_x one after the other, and what is left keeps the promise.

A posterior's support is sought among a value and its companions (companions.py): some hundred values, where a linear
program takes milliseconds.

Let r be what is left, G r ≤ 0. A posterior v with G v ≤ 0 can be taken away q times as long as r − q v ≥ 0 and
G r ≤ q G v: then G (r − q v) ≤ 0 again. Where r meets a row with equality, v must, too.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from privacyfunnel.errors import SolverFailure
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.numeric.information import entropy
from privacyfunnel.numeric.lp import LinearProgram
from privacyfunnel.optimiser.program.state import State
from privacyfunnel.optimiser.program.tolerances import FEASIBLE, LEAST_CENTRE, NONE, OVERSTEPS
from privacyfunnel.optimiser.splitting.companions import Rows, around
from privacyfunnel.optimiser.splitting.halves import LEAST_ENTRY, Piece
from privacyfunnel.typing import Integers, Vector

Flags = NDArray[np.bool_]

MOST_AROUND = 150
"""Values among which a support is sought: twice as many take three times as long and find little more."""
MOST_ROWS_ENTRIES = 3_000_000
"""Of the promise: to go through larger ones for every value takes too long."""


@dataclass(eq=False)
class Peeling:
    """p_x as pieces with few values, and what is left of it."""

    G: sparse.csr_array
    p_x: Vector
    pieces: list[Piece] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = self.p_x.copy()
        self._columns, self._size = sparse.csc_array(self.G), abs(self.G)
        self._rows = Rows.of(self.G, self.p_x)

    def run(self, state: State, seconds: float) -> None:
        """Take away what can be taken, rare values first: frequent ones are companions of many.

        When time is short, the rarest ones are left out.
        """
        if self.G.nnz > MOST_ROWS_ENTRIES:
            return
        heap = [(float(mass), x) for x, mass in enumerate(self.left)]
        heapq.heapify(heap)
        started, tried = ticks(), 0
        while heap and not state.stopped():
            _, x = heapq.heappop(heap)
            spent = ticks() - started
            if self.left[x] <= 0 or (tried and spent / tried * (len(heap) + 1) > seconds - spent):
                continue
            tried += 1
            if self.take(x) and self.left[x] > 0:
                heapq.heappush(heap, (float(self.left[x]), x))

    def told(self) -> float:
        """What the pieces tell of X, and that X is in none of them, in nats."""
        rest = self.left[self.left > 0]
        parts = [*(piece.mass for piece in self.pieces), *([rest] if len(rest) else [])]
        return float(entropy(self.p_x)) - sum(float(part.sum()) * float(entropy(part / part.sum())) for part in parts)

    def take(self, x: int) -> bool:
        """Take away a posterior with as much of x as possible, as far as that goes; whether there is one."""
        around = self.around(x)
        over = self.G @ self.left
        tight = over > -FEASIBLE * (self._size @ self.left)
        try:
            v = self._most_of(around == x, self._columns[:, around], tight)
        except SolverFailure:
            return False
        if v[around == x][0] <= LEAST_CENTRE:
            return False
        values, v = around[v > 0], v[v > 0]
        rows = self._columns[:, values]
        slope = rows @ v
        closing = slope < -NONE * (abs(rows) @ v)
        q = min(
            float((self.left[values] / v).min()),
            float((np.minimum(over, 0.0)[closing] / slope[closing]).min(initial=np.inf)),
        )
        rest = self.left[values] - q * v
        rest[rest < NONE * self.p_x[values]] = 0.0
        few = (rest > 0) & (rest < LEAST_ENTRY * self.p_x[values]) | (q * v < LEAST_ENTRY * self.p_x[values])
        if q <= 0 or few.any() or (slope > OVERSTEPS * (abs(rows) @ v)).any():
            return False
        self.pieces.append(Piece(values, self.left[values] - rest))
        self.left[values] = rest
        return True

    def around(self, x: int) -> Integers:
        """The value x and its companions, of what is left."""
        return around(self._rows, x, MOST_AROUND, self.left > 0, 0)

    def _most_of(self, centre: Flags, rows: sparse.csc_array, tight: Flags) -> Vector:
        """The posterior with the most mass at the centre, on the face where rows are `tight`."""
        A = sparse.csr_array(rows)
        there = np.flatnonzero((A.max(axis=1).toarray().ravel() > 0) | (tight & (np.diff(A.indptr) > 0)))
        A = sparse.csr_array(A[there])
        most = abs(A).max(axis=1).toarray().ravel()
        A = sparse.vstack([sparse.diags_array(1 / most) @ A, np.ones((1, A.shape[1]))], format="csr")
        low = np.append(np.where(tight[there], 0.0, -np.inf), 1.0)
        program = LinearProgram(A, low, np.append(np.zeros(len(there)), 1.0), upper=1.0)
        program.set_costs(-centre.astype(np.float64))
        v = program.solve()[0]
        v = np.where(v < NONE, 0.0, v)
        return np.asarray(v / v.sum())
