"""Trying a wide protocol on the table it was fitted on: for the steward alone, since it depends on single people."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.attacks.by_tables import Told, tell_most
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.protocols.wide.protocol import WideProtocol
from privacyfunnel.tables.wide.redrawing import Redrawing
from privacyfunnel.typing import Integers, Vector


@dataclass(frozen=True)
class Checked:
    """What became of the rows of a table in one trial."""

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

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


def checked_on(protocol: WideProtocol, joint: Joint) -> Checked:
    """One trial release of the people of `joint`, and what attackers who count learn from it."""
    people = joint.weights.astype(np.int64)
    x = np.concatenate([np.repeat(np.arange(joint.n_x), row) for row in people])
    secret = np.repeat(np.arange(len(people)), people.sum(axis=1)) == 1
    before = joint.codes[x]
    cells = np.ravel_multi_index(tuple(before.T), protocol.model.sizes)
    drawn = Redrawing(protocol.plan).drawn(np.asarray(cells), Randomness.secure())
    after = np.stack(np.unravel_index(drawn, protocol.model.sizes), axis=1)
    singles, pairs = (_off(before, after, protocol.model.sizes, size) for size in (1, 2))
    return Checked(
        float(secret.mean()),
        float((cells == drawn).mean()),
        float((before == after).mean()),
        float(np.median(singles)),
        float(np.median(pairs)) if len(pairs) else 0.0,
        float(np.median(np.sqrt(1 + singles**2))),
        tell_most(before, secret, protocol.attributes),
        tell_most(after, secret, protocol.attributes),
    )


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
