"""Trying a wide protocol on the table it was fitted on: for the steward alone, since it depends on single people."""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.attacks.by_tables import Told, tell_most
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.protocols.own_table import OwnRows, OwnTable
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.wide.by_model import TWO
from privacyfunnel.protocols.wide.rule import belief
from privacyfunnel.tables.public_part import secret_numbers
from privacyfunnel.tables.wide.redrawing import Redrawing
from privacyfunnel.typing import Integers, Vector

TWENTIETHS = 20
"""Groups of as many people each, by what the model says of them, in which it is compared with the table."""

LEAST_SHARE = 0.01
"""Of a secret in a group, where the promise allows less: that of a few people in a twentieth of thousands."""


@dataclass(frozen=True)
class Calibrated:
    """Of a group of people whom the model tells alike: P(s|x) by the model in the mean, and how many have s."""

    predicted: float
    found: float
    error: float
    """One standard error of the latter."""

    def off(self, least: tuple[float, float], sure: float) -> float:
        """By which factor a secret's share surely is off, shares below the least that may be told counting as that.

        >>> round(Calibrated(0.8, 0.4, 0.0).off((0.1, 0.1), 3.0), 9)
        3.0
        >>> round(Calibrated(0.01, 0.09, 0.0).off((0.1, 0.1), 3.0), 3)  # 0.99 and 0.91 of the other secret
        1.088
        """
        found = min(max(self.predicted, self.found - sure * self.error), self.found + sure * self.error)
        told = ((1 - self.predicted, 1 - found), (self.predicted, found))
        floors = [max(floor, LEAST_SHARE) for floor in least]
        ratios = [max(one, floor) / max(other, floor) for (one, other), floor in zip(told, floors, strict=True)]
        return max(max(ratio, 1 / ratio) for ratio in ratios)


@dataclass(frozen=True)
class Checked:
    """What became of the rows of a table in one trial, and what that tells about a value of the secret."""

    value: str
    prior: float
    rows_unchanged: float
    cells_unchanged: float
    singles: float
    """By how many of its own standard errors a share of a single value was off, in the median."""
    pairs: float
    """The same for two columns."""
    factor: float
    """√(1 + off²) of single values in the median: the error against the population, as a multiple of the table's."""
    original: tuple[Told, Told]
    released: tuple[Told, Told]
    calibration: tuple[Calibrated, ...]
    """Of P(s|x), from the people that the model holds least likely to have s to the likeliest."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


def checked_on(protocol: Protocol, joint: Joint) -> tuple[Checked, ...]:
    """One trial release of the people of `joint`, and what attackers who count learn from it about a secret's values.

    With two values about the second, which tells of the first as well; with more about each.
    """
    people = joint.weights.astype(np.int64)
    x = np.concatenate([np.repeat(np.arange(joint.n_x), row) for row in people])
    value = np.repeat(secret_numbers(joint), people.sum(axis=1))
    labels = joint.secret_columns[0].labels
    about = [s for s in range(len(labels)) if (value == s).any()]  # of a value that nobody has, nothing can be tried
    before = joint.codes[x]
    cells = np.ravel_multi_index(tuple(before.T), protocol.by_model.model.sizes)
    drawn = Redrawing(protocol.by_model.plan).drawn(np.asarray(cells), Randomness.secure())
    after = np.stack(np.unravel_index(drawn, protocol.by_model.model.sizes), axis=1)
    singles, pairs = (_off(before, after, protocol.by_model.model.sizes, size) for size in (1, 2))
    return tuple(
        Checked(
            _named(labels[s]),
            float((value == s).mean()),
            float((cells == drawn).mean()),
            float((before == after).mean()),
            float(np.median(singles)),
            float(np.median(pairs)) if len(pairs) else 0.0,
            float(np.median(np.sqrt(1 + singles**2))),
            tell_most(before, value == s, protocol.attributes),
            tell_most(after, value == s, protocol.attributes),
            calibration_of(belief(protocol.by_model.plan.weights, s)[cells], value == s),
        )
        for s in (about if len(labels) > TWO else about[-1:])
    )


def own_table_of(protocol: Protocol, joint: Joint) -> OwnTable:
    """What becomes of the people of `joint` in one trial release."""
    x = np.repeat(np.arange(joint.n_x), joint.weights.astype(np.int64).sum(axis=0))
    before, sizes = joint.codes[x], protocol.by_model.model.sizes
    cells = np.ravel_multi_index(tuple(before.T), sizes)
    drawn = Redrawing(protocol.by_model.plan).drawn(np.asarray(cells), Randomness.secure())
    own = OwnRows(protocol.columns)
    own.add(before, np.stack(np.unravel_index(drawn, sizes), axis=1))
    return own.own_table()


def calibration_of(predicted: Vector, secret: NDArray[np.bool_], seed: int = 0) -> tuple[Calibrated, ...]:
    """What the model says of people against who has the secret, in twentieths of them."""
    order = np.random.default_rng(seed).permutation(len(predicted))  # who is alike to the model is in no other order
    order = order[np.argsort(predicted[order], kind="stable")]
    groups = np.array_split(order, min(TWENTIETHS, len(predicted)))
    found = []
    for people in groups:
        share = float((secret[people].sum() + 0.5) / (len(people) + 1))  # never 0 or 1, so that its error is not 0
        error = math.sqrt(share * (1 - share) / len(people))
        found.append(Calibrated(float(predicted[people].mean()), float(secret[people].mean()), error))
    return tuple(found)


def _named(label: object) -> str:
    return "missing" if label is None else str(label)


def _off(before: Integers, after: Integers, sizes: tuple[int, ...], columns: int) -> Vector:
    """|share after − share before| over the standard error of the latter, of all values that occur."""
    found = [
        _differences(*(np.ravel_multi_index(tuple(part[:, j] for j in own), [sizes[j] for j in own])
                       for part in (before, after)))
        for own in itertools.combinations(range(len(sizes)), columns)
    ]  # fmt: skip
    return np.concatenate(found) if found else np.empty(0)


def _differences(before: NDArray[np.int64], after: NDArray[np.int64]) -> Vector:
    number, rows = int(max(before.max(), after.max())) + 1, len(before)
    was, now = (np.bincount(part, minlength=number) / rows for part in (before, after))
    seen = (was > 0) & (was < 1)
    return np.asarray(np.abs(now - was)[seen] / np.sqrt(was[seen] * (1 - was[seen]) / rows))
