"""Few secrets: a sweep through all extreme posteriors, for those that undercut their price and for the least."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import comb

import numpy as np

from privacyfunnel.numeric.cores import cores
from privacyfunnel.optimiser.few_secrets.corners import Corner
from privacyfunnel.optimiser.few_secrets.faces import Faces
from privacyfunnel.optimiser.few_secrets.judging import Boards, SweepTask
from privacyfunnel.optimiser.few_secrets.sweep import sweep_points, sweep_sets
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.supports import MOST_EXACT, independent_values
from privacyfunnel.optimiser.program.tolerances import COLUMN_DIGITS, FEASIBLE, ROUNDINGS
from privacyfunnel.typing import Integers, Matrix, Vector

KEPT_FOR_EACH = 4
"""Posteriors remembered for each of their values in one sweep; of a long one with known prices, only the best."""
PORTIONS = 40
"""A sweep ends early when enough has been found: that is looked at after each of so many portions of about one size."""
ENOUGH = 4
"""A sweep ends when posteriors that improve are known for one value in so many."""
QUICKLY_SWEPT = 10_000_000
"""Up to this many choices of values, a first sweep goes through all."""
QUICK_CORNERS = 1_000_000_000
"""Up to this many choices of three values around corners, every sweep does: it takes a second or two."""
THREE_VALUES = 3
"""In the extreme posteriors around a corner of the plane."""


Piece = Callable[[SweepTask, Boards], None]


@dataclass(eq=False)
class Sweep:
    """All extreme posteriors in portions, by their number of values and the lowest of them."""

    polytope: Polytope
    faces: Faces

    def __post_init__(self) -> None:
        n = self.polytope.n_x
        self._order = np.random.default_rng(0).permutation(n)  # any portion then holds posteriors of all kinds
        self._U = np.ascontiguousarray(self.faces.C[:, self._order].T)
        self._G = np.ascontiguousarray(self.polytope.G[:, self._order])
        self._size = np.ascontiguousarray(self.polytope.sizes[:, self._order])
        self._corners, self._elsewhere = self._around_corners()
        self._portions = self._shared_out()
        self._next = 0
        alone = (ROUNDINGS * self.polytope.sizes >= self.polytope.G).all(axis=0)
        self._singles = np.flatnonzero(alone)

    def _around_corners(self) -> tuple[list[Corner], tuple[Matrix, Vector, Integers]]:
        """Points that can be gone round, and the others: these, how wrong they may be, and the rows tight there."""
        faces = self.faces
        corners: list[Corner | None] = [None] * len(faces.points)
        if faces.rank == THREE_VALUES:
            corners = [
                Corner.at(u, self._U, faces.doubt, rows) for u, rows in zip(faces.points, faces.tight, strict=True)
            ]
        other = np.array([corner is None for corner in corners], dtype=np.bool_)
        return [corner for corner in corners if corner], (faces.points[other], faces.doubt, faces.tight[other])

    @property
    def quick(self) -> bool:
        """Whether each sweep may as well be complete."""
        return not len(self._elsewhere[0]) and comb(self.polytope.n_x, self.faces.rank) <= QUICK_CORNERS

    @property
    def long(self) -> bool:
        """Whether a complete sweep takes so long that as few as possible should be done."""
        return not self.quick and comb(self.polytope.n_x, self.faces.rank) > QUICKLY_SWEPT

    def _shared_out(self) -> list[list[Piece]]:
        """All pieces of a sweep, in portions: each corner, and the rest by first values, about as long each."""
        n, faces = self.polytope.n_x, self.faces
        portions: list[list[Piece]] = [
            [partial(corner.sweep, part, cores()) for part in range(cores())] for corner in self._corners
        ]
        pieces: list[tuple[Piece, float]] = []
        for first in range(n):
            for k, sets in faces.sets.items():
                pieces.append((partial(sweep_sets, first, sets), float(comb(n - 1 - first, k))))
            some = partial(sweep_points, first, self._U, *self._elsewhere)
            pieces.append((some, float(comb(n - 1 - first, faces.rank - 1)) if len(self._elsewhere[0]) else 0.0))
        pieces = [piece for piece in pieces if piece[1] and faces.rank > 1]
        np.random.default_rng(1).shuffle(pieces)
        share = sum(size for _, size in pieces) / PORTIONS
        portions.append([])
        filled = 0.0
        for piece, size in pieces:
            portions[-1].append(piece)
            filled += size
            if filled >= share:
                portions.append([])
                filled = 0.0
        return portions

    def under(
        self, y: Vector, threshold: float, stopped: Callable[[], bool], *, everything: bool = False
    ) -> tuple[Columns, Vector | None]:
        """Posteriors with H(v) − y·v < threshold, the best of each value; and, if all were seen, the least for each.

        No posterior that uses x costs less than least[x], which is at most the threshold. Unless `everything` is
        wanted, a sweep ends when enough posteriors are known.
        """
        n, threads = self.polytope.n_x, cores()
        boards = [_empty(n, self.faces.rank) for _ in range(threads)]
        task = SweepTask(self._G, self._size, y[self._order], FEASIBLE, threshold)
        seen = 0
        with ThreadPoolExecutor(threads) as pool:
            while seen < len(self._portions) and not stopped():
                portion = self._portions[self._next]
                parts = [portion[i::threads] for i in range(threads)]
                list(pool.map(lambda board, part: _run(part, task, board), boards, parts))
                self._next = (self._next + 1) % len(self._portions)
                seen += 1
                improving = sum(int((board.best[:, 0] < threshold).sum()) for board in boards)
                if improving > n / ENOUGH and np.isfinite(threshold) and not everything:
                    break
        kept = 1 if self.long and np.isfinite(threshold) else KEPT_FOR_EACH
        columns = [_columns(board, threshold, self._order, kept) for board in boards]
        singles = self._singles[-y[self._singles] < threshold]
        columns.append(Columns(singles[:, None], np.ones((len(singles), 1))))
        least = self._least(boards, y, threshold) if seen == len(self._portions) else None
        return _distinct(Columns.join(columns)), least

    def _least(self, boards: list[Boards], y: Vector, threshold: float) -> Vector:
        """The least cost of every value, in all posteriors that were looked at, or that nothing is known of."""
        least = np.empty(self.polytope.n_x)
        least[self._order] = np.minimum(threshold, np.min([board.least for board in boards], axis=0))
        least[self._singles] = np.minimum(least[self._singles], -y[self._singles])
        for board in boards:
            some = board.vague[: board.n_vague[0]]
            for k in range(2, self.faces.rank + 1):
                alike = np.unique(some[(some >= 0).sum(axis=1) == k][:, :k], axis=0)
                for support in independent_values(self.polytope, self._order[alike]):
                    least[support] = np.minimum(least[support], -float(y[support].max()))
        return least


def _run(pieces: list[Piece], task: SweepTask, board: Boards) -> None:
    for piece in pieces:
        piece(task, board)


def _empty(n: int, rank: int) -> Boards:
    shape = (n, KEPT_FOR_EACH, rank)
    vague = np.zeros((MOST_EXACT, rank), np.int64)
    best, least = np.full((n, KEPT_FOR_EACH), np.inf), np.full(n, np.inf)
    return Boards(least, best, np.zeros(shape, np.int64), np.zeros(shape), vague, np.zeros(1, np.int64))


def _columns(board: Boards, threshold: float, order: Integers, kept: int) -> Columns:
    """The posteriors written down that cost less than a threshold, the best of each value."""
    at = np.isfinite(board.best) & (board.best < threshold)
    at[:, kept:] = False
    mass = board.masses[at]
    return Columns(order[board.supports[at]], mass / mass.sum(axis=1, keepdims=True))


def _distinct(columns: Columns) -> Columns:
    """Without repetitions, which the boards of several values have."""
    key = np.concatenate([columns.support, np.round(columns.mass, COLUMN_DIGITS)], axis=1)
    _, first = np.unique(key, axis=0, return_index=True)
    return columns.take(first)
