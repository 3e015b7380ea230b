"""Groups of any number of values: which values each of them has, and with which weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacyfunnel.typing import Integers


@dataclass(frozen=True, eq=False)
class Groups:
    """Group g has the values cells[start[g]:start[g + 1]], with weights mass of the same places."""

    start: Integers
    cells: Integers
    mass: Integers

    @classmethod
    def none(cls) -> Groups:
        """No groups."""
        return cls(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))

    @classmethod
    def together(cls, parts: Sequence[Groups]) -> Groups:
        """All of them."""
        before = np.cumsum([0, *(len(part.cells) for part in parts)])
        starts = [part.start[1:] + first for part, first in zip(parts, before, strict=False)]
        cells, mass = (np.concatenate([getattr(part, name) for part in parts]) for name in ("cells", "mass"))
        return cls(np.concatenate([[0], *starts]).astype(np.int64), cells, mass)

    def __len__(self) -> int:
        return len(self.start) - 1

    def of(self) -> Integers:
        """The group of each place."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def total(self) -> Integers:
        """M[g], the weight of a group, in whole numbers."""
        before = np.concatenate([[0], np.cumsum(self.mass)])
        return np.asarray(before[self.start[1:]] - before[self.start[:-1]])

    def used(self, cells: int) -> Integers:
        """How much of each of so many values is in groups, in whole numbers."""
        found = np.zeros(cells, np.int64)
        np.add.at(found, self.cells, self.mass)
        return found
