"""Similarity: how much of a row stays as it was when x is released as x′.

sim(x, x′) = Σ_j weight_j · alike_j(x, x′) / Σ_j weight_j, where alike_j is 1 if column j is equal, and for ordered
columns (ranges, numbers, dates) NEAR·(1 − |i − i′| / (k − 1)) if it is not, with i and i′ the places of the two values
among the k values of the column in order. A value that is missing, or "other", has no place: it is near nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.column import OTHER, Column, Label
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput
from privacyfunnel.typing import Integers, Matrix, Vector

ORDERED_KINDS = ("bins", "integer", "number", "year", "month", "day")
NEAR = 0.5
"""What a cell counts that was moved by nearly nothing: the best of wrong values is half as good as the right one."""
LIGHTEST, HEAVIEST = 1e-6, 1e6
"""Weights of columns: beyond, what the lightest columns count is lost in rounding errors."""
NOWHERE = -1
"""The place of a value that has none in an order."""


@dataclass(frozen=True, eq=False)
class Similarity:
    """sim(x, x′) for the values of X of a joint, computed pair by pair; it is symmetric, and sim(x, x) = 1."""

    codes: Integers
    """codes[x, j]: the number of the value that x has for attribute j."""
    places: Integers
    """places[x, j]: its place in the order of that column, NOWHERE if there is none."""
    weights: Vector
    """weights[j] > 0, with sum 1."""
    steps: Vector
    """steps[j]: 1 / (k − 1), what one place off costs; 0 in columns without order."""

    @classmethod
    def of(
        cls, joint: Joint, weights: Mapping[str, float] | None = None, ordered: Collection[str] | None = None
    ) -> Similarity:
        """Columns weigh 1 unless `weights` says otherwise; `ordered` names those with an order (default: by kind)."""
        given = {} if weights is None else weights
        _check(joint, given, ordered)
        raw = np.array([float(given.get(name, 1.0)) for name in joint.attributes])
        places, steps = np.full(joint.codes.shape, NOWHERE), np.zeros(len(raw))
        for j, column in enumerate(joint.columns):
            if column.kind in ORDERED_KINDS if ordered is None else column.name in ordered:
                place = places_of(column)
                places[:, j] = place[joint.codes[:, j]]
                steps[j] = 1 / max(1, place.max())
        return cls(joint.codes, places.astype(np.int64), raw / raw.sum(), steps)

    @property
    def n_x(self) -> int:
        """The number of values of X."""
        return len(self.codes)

    def at(self, x: Integers, other: Integers) -> Vector:
        """sim(x[i], other[i]) for every i."""
        total = np.zeros(np.broadcast_shapes(x.shape, other.shape))
        for j, (weight, step) in enumerate(zip(self.weights, self.steps, strict=True)):
            i, k = self.places[x, j], self.places[other, j]
            near = np.where((i >= 0) & (k >= 0) & (step > 0), NEAR * (1 - np.abs(i - k) * step), 0.0)
            total += weight * np.where(self.codes[x, j] == self.codes[other, j], 1.0, near)
        return total

    def of_strangers(self, p: Vector) -> float:
        """Σ p_x p_x′ sim(x, x′), column by column: what a row has in common with a random other one."""
        total = 0.0
        for j, (weight, step) in enumerate(zip(self.weights, self.steps, strict=True)):
            _, first, of = np.unique(self.codes[:, j], return_index=True, return_inverse=True)
            share, place = np.bincount(of.ravel(), weights=p), self.places[first, j]
            apart = np.abs(place[:, None] - place[None, :])
            near = (place >= 0)[:, None] & (place >= 0)[None, :] & (step > 0)
            alike = np.where(near, NEAR * (1 - apart * step), 0.0)
            np.fill_diagonal(alike, 1.0)
            total += weight * float(share @ alike @ share)
        return total

    def dense(self) -> Matrix:
        """All pairs, for few values."""
        x = np.arange(self.n_x)
        return self.at(x[:, None], x[None, :])


def places_of(column: Column) -> Integers:
    """The place of every label in the order of the column."""
    known: list[Label] = [
        label for label in column.labels if label is not None and not (column.other and label == OTHER)
    ]
    in_order = known if column.kind in ("bins", "text") else sorted(known, key=_key)
    place = {(type(label), label): i for i, label in enumerate(in_order)}
    return np.array([place.get((type(label), label), NOWHERE) for label in column.labels], dtype=np.int64)


def _key(label: Label) -> tuple[float, str]:
    return (0.0, label) if isinstance(label, str) else (float(label or 0), "")


def _check(joint: Joint, weights: Mapping[str, float], ordered: Collection[str] | None) -> None:
    for name in (*weights, *(ordered or ())):
        if name not in joint.attributes:
            raise InvalidInput(f"{name!r} is none of the attributes, which are {', '.join(joint.attributes)}")
    for name, weight in weights.items():
        number = isinstance(weight, int | float | np.integer | np.floating) and not isinstance(weight, bool)
        if not number or not LIGHTEST <= weight <= HEAVIEST:
            raise InvalidInput(
                f"the weight of {name!r} must be a positive number, from {LIGHTEST:g} to {HEAVIEST:g}; got {weight!r}"
            )
