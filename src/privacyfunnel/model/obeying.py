"""Obeying: values that a row must never have are drawn again among those that it may have, in whole numbers.

Given its parents' values a, a column has the value v and the part k of it with probability

    weights[a, v] / 2³² · weight[k] / 2³²,

and every number of the part equally often. A row that must not have the parts F, given what was drawn of it before, has
the same distribution without F: what falls into F is drawn again among the others, by whole numbers
weights[a, v] · weight[k], which sum to less than 2⁶⁴, since what fell into F had some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.drawing.below import below
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.fill import CODE, FIRST, LAST, WEIGHT, Filled, Inside
from privacyfunnel.protocols.never import GONE, Combination, Values, having
from privacyfunnel.typing import Integers

Drawn = dict[str, Integers]
"""The numbers of each column that has been drawn, row by row."""


@dataclass(frozen=True, eq=False)
class Obeying:
    """What a filled column must never be, after what."""

    filled: Filled
    parts: Integers
    """(code, first, last, weight) of each part, and of each value that is written as missing."""
    never: Sequence[tuple[Combination, Values]]

    @classmethod
    def of(cls, filled: Filled, inside: Inside, never: Sequence[tuple[Combination, Values]]) -> Obeying:
        gone = np.setdiff1d(np.arange(filled.size), inside.parts[:, CODE])
        missing = np.stack([gone, *(np.full(len(gone), one) for one in (GONE, GONE, UNIT))], axis=1)
        return cls(filled, np.vstack([inside.parts, missing]), never)

    def again(self, parents: Integers, codes: Integers, numbers: Drawn, randomness: Randomness) -> None:
        """Draw again what must never be; `parents` number the parents' values of each row together."""
        own = numbers[self.filled.name]
        rows = np.flatnonzero(np.any([having((*before, last), numbers) for before, last in self.never], axis=0))
        if not len(rows):
            return
        at = {name: drawn[rows] for name, drawn in numbers.items()}
        before = [having(one, at) if one else np.ones(len(rows), dtype=bool) for one, _ in self.never]
        kinds, place = np.unique(np.stack([parents[rows], *before], axis=1), axis=0, return_inverse=True)
        for i, (a, *said) in enumerate(kinds.tolist()):
            these = rows[np.ravel(place) == i]
            part = self._parts(a, self._allowed(said), len(these), randomness)
            width = self.parts[part, LAST] - self.parts[part, FIRST] + 1
            codes[these] = self.parts[part, CODE]
            own[these] = self.parts[part, FIRST] + below(width, randomness)

    def _allowed(self, said: Sequence[int]) -> NDArray[np.bool_]:
        """Which parts may follow, by which combinations a row already has but for this column."""
        out = [last.holds(self.parts[:, FIRST]) for (_, last), has in zip(self.never, said, strict=True) if has]
        return np.asarray(~np.any(out, axis=0))

    def _parts(self, a: int, allowed: NDArray[np.bool_], rows: int, randomness: Randomness) -> Integers:
        """A part for each row; where the model leaves none of those that are allowed, each of them is as likely."""
        weight = self.parts[:, WEIGHT].astype(np.uint64)
        chances = np.where(allowed, self.filled.weights[a, self.parts[:, CODE]].astype(np.uint64) * weight, 0)
        for other in (allowed & (weight > 0), allowed):
            chances = chances if chances.any() else other.astype(np.uint64)
        ends = np.cumsum(chances, dtype=np.uint64)
        drawn = below(np.full(rows, ends[-1]), randomness).astype(np.uint64)
        return np.asarray(np.searchsorted(ends, drawn, side="right"))
