"""Views: what attackers know beforehand, as partitions of X into cells. Who knows nothing has one cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.leaving import while_awaited
from privacyfunnel.typing import Integers, Matrix

DENSE = 16
"""Keys up to this many times their number are ticked off in a list rather than sorted: quicker, in the same memory."""


@dataclass(frozen=True, eq=False)
class View:
    """What an attacker knows beforehand: the attributes `known`, and so the cell that x lies in."""

    known: tuple[int, ...]
    """Numbers of attributes."""
    cell: Integers
    """cell[x], numbered from 0."""
    n_cells: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_cells", int(self.cell.max()) + 1)

    @classmethod
    def of(cls, known: tuple[int, ...], joint: Joint) -> View:
        """The view of somebody who knows these attributes of a person."""
        cell = np.zeros(joint.n_x, dtype=np.int64)
        for j in known:  # one column after the other: sorting numbers is far quicker than sorting rows
            codes = joint.codes[:, j]
            cell = _numbered(cell * (int(codes.max()) + 1) + codes)
        return cls(known, cell)


def telling_cells(views: Sequence[View]) -> Iterator[NDArray[np.bool_]]:
    """Which cells have rows of their own, view by view: one value says nothing, the same values say the same."""
    met: set[bytes] = set()
    for view in while_awaited(views):
        members = np.split(np.argsort(view.cell, kind="stable"), np.cumsum(np.bincount(view.cell))[:-1])
        keys = [own.tobytes() if len(own) > 1 else None for own in members]
        yield np.array([key is not None and key not in met for key in keys])
        met.update(key for key in keys if key is not None)


class Spreader:
    """Puts what belongs to the x of each of some cells into a row of its own."""

    def __init__(self, view: View, cells: NDArray[np.bool_]) -> None:
        self._row = np.where(cells, np.cumsum(cells) - 1, -1)[view.cell]
        self._rows = int(cells.sum())

    def __call__(self, values: Matrix, possible: NDArray[np.bool_]) -> Matrix:
        G = np.zeros((self._rows, len(values)))
        x = np.flatnonzero((self._row >= 0) & possible)
        G[self._row[x], x] = values[x]
        return G


def _numbered(keys: Integers) -> Integers:
    """The keys numbered from 0 in their order, without gaps."""
    most = int(keys.max()) + 1
    if most > DENSE * len(keys):
        return np.asarray(np.unique(keys, return_inverse=True)[1].ravel(), dtype=np.int64)
    there = np.zeros(most, dtype=np.bool_)
    there[keys] = True
    return np.asarray((np.cumsum(there) - 1)[keys], dtype=np.int64)
