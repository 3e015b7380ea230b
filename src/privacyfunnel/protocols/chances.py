"""Chances: what becomes of the values of a table's people, as chances of outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacyfunnel.typing import Integers, Matrix, Vector


@dataclass(frozen=True, eq=False)
class Drawn:
    """P(y|x) for the people of a table: entry by entry, and one part that does not depend on x.

    x = person[i] is released as y = output[i] with chance[i], and as any y with lost[x] · common[y] beside that.
    """

    person: Integers
    output: Integers
    chance: Vector
    codes: Integers
    """codes[y, j]: the values that output y is written as."""
    lost: Vector
    common: Vector

    @property
    def outputs(self) -> int:
        """How many there are."""
        return len(self.codes)

    def released(self, weights: Matrix) -> Matrix:
        """Σ_x weights[e, x] P(y|x), at [e, y]."""
        own = np.stack([summed(self.output, row[self.person] * self.chance, self.outputs) for row in weights])
        return np.asarray(own + np.outer(weights @ self.lost, self.common))


def entries_of(starts: Integers, inputs: Integers) -> tuple[Integers, Integers]:
    """For inputs[x], whose entries are starts[input] to starts[input + 1]: which x, and which entry.

    >>> entries_of(np.array([0, 2, 3]), np.array([1, 0]))
    (array([0, 1, 1]), array([2, 0, 1]))
    """
    sizes = np.diff(starts)[inputs]
    person = np.repeat(np.arange(len(inputs)), sizes)
    return person, np.arange(len(person)) - np.repeat(np.cumsum(sizes) - sizes - starts[inputs], sizes)


def summed(place: Integers, mass: Vector, size: int = 0) -> Vector:
    """Σ of the masses at each place."""
    return np.bincount(place, weights=mass, minlength=size).astype(np.float64)
