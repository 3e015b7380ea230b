"""The people of a view, counted or with noise, and what that says of shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidJoint
from privacyfunnel.promises.confidence_bounds import clopper_pearson
from privacyfunnel.promises.noisy_bounds import Between, shares_between
from privacyfunnel.promises.sets import NOBODY
from privacyfunnel.promises.views import View
from privacyfunnel.typing import Integers, Vector


@dataclass(frozen=True, eq=False)
class Tally:
    """The people of a view: counts[cell, s, k], and how many values of X each cell has and could have."""

    counts: Vector
    real: NDArray[np.bool_]
    seen: Integers
    possible: float

    @property
    def people(self) -> Vector:
        """At [cell, s]."""
        return np.asarray(self.counts.sum(axis=2))

    @property
    def all_people(self) -> Vector:
        """At [cell]."""
        return np.asarray(self.counts.sum(axis=(1, 2)))


Grouped = tuple[Integers, int]
"""of[cell, k], the block of each member of each cell, and the number of blocks."""


@dataclass(frozen=True, eq=False)
class Counted:
    """Bounds from people who were counted."""

    tally: Tally

    def shares(self, grouped: Grouped | None, tail: float) -> tuple[Vector, Vector]:
        """Ends of P(x|s), or of sums of them by blocks; each end may fail with probability `tail`."""
        counts = self.tally.counts if grouped is None else summed(self.tally.counts, *grouped)
        return clopper_pearson(counts, self.tally.people[:, :, None], tail)

    def secrets(self, tail: float) -> tuple[Vector, Vector]:
        """Ends of P(s), likewise."""
        return clopper_pearson(self.tally.people, self.tally.all_people[:, None], tail)


@dataclass(frozen=True, eq=False)
class Noisy:
    """The same from noisy counts: half of every tail is for the noise."""

    scale: float
    counts: Vector
    """counts[cell, s, k], with noise."""
    real: Integers
    """At [cell, s, k]: how many noises that count has, 0 where there is no value."""
    people: Between
    """At [cell, s]."""
    everybody: Between
    """At [cell]."""

    @classmethod
    def of(cls, joint: Joint, view: View, members: Integers, tail: float) -> Noisy:
        """What follows from the noise of `joint` for a view; how many people each cell has may fail with `tail`."""
        noise = joint.noise
        if noise is None:
            raise InvalidJoint("these counts have no noise")
        real = np.broadcast_to((members != NOBODY)[:, None, :], (len(members), joint.n_s, members.shape[1]))
        counts = np.where(real, noise.counts.astype(np.float64).T[members].transpose(0, 2, 1), 0.0)
        noises = real * noise.terms[:, None]
        cells = noises.sum(axis=2)
        people = Between.of(counts.sum(axis=2), cells, noise.scale, tail / 4)
        of_all = np.where(members != NOBODY, noise.counts.sum(axis=0).astype(np.float64)[members], 0.0).sum(axis=1)
        everybody = Between.of(of_all, cells.sum(axis=1), noise.scale, tail / 4)
        if not view.known:  # the number of rows is public
            everybody = Between(np.full(len(members), float(noise.people)), np.full(len(members), float(noise.people)))
        return cls(noise.scale, counts, noises, people, everybody)

    def shares(self, grouped: Grouped | None, tail: float) -> tuple[Vector, Vector]:
        """Ends of P(x|s), or of sums of them by blocks; each end may fail with probability `tail`."""
        counts, cells = self.counts, self.real
        if grouped is not None:
            counts, cells = summed(counts, *grouped), summed(cells, *grouped)
        of_all = Between(self.people.low[:, :, None], self.people.high[:, :, None])
        return shares_between(Between.of(counts, cells, self.scale, tail / 2), of_all, tail / 2)

    def secrets(self, tail: float) -> tuple[Vector, Vector]:
        """Ends of P(s), where half of `tail` was spent on how many people there are."""
        of_all = Between(self.everybody.low[:, None], self.everybody.high[:, None])
        return shares_between(self.people, of_all, tail / 2)


def summed(part: NDArray[Any], of: Integers, blocks: int) -> NDArray[Any]:
    """part[cell, s, k] summed over the members k of each block, at [cell, s, block]."""
    total = np.zeros((len(part), blocks, part.shape[1]), dtype=part.dtype)
    for cell, blocks_of in enumerate(of):
        np.add.at(total[cell], blocks_of, part[cell].T)
    return total.transpose(0, 2, 1)
