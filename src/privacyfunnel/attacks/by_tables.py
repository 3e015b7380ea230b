"""Attackers who count: what released rows tell by up to three columns, to somebody who knows many people's secrets.

Half of the people, with their secrets, are the attacker's; the other half is attacked. For every set of up to three
columns, the attacker counts how often the secret occurs in each released combination, takes the 5% of rows with the
least and with the largest share for the most telling ones, and is scored by how often the secret occurs among these.
A model that misses how some columns go with the secret together, as in a parity, shows here.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.protocols.aim import GROUP
from privacyfunnel.typing import Integers

MOST_COLUMNS = 3
"""That a set has: with eight columns there are 92 sets, and each is a count of all rows."""
PRIOR_PEOPLE = 20.0
"""People with the overall share who are added to every combination, so that single people do not stand out."""
SURE = 3.0
"""Standard errors that a finding must be beyond a limit: among some hundred sets, chance does not go so far."""


@dataclass(frozen=True)
class Told:
    """The most that a set of columns tells: the secret's share among the extreme rows over its overall share."""

    columns: tuple[str, ...]
    lift: float
    error: float
    """One standard error of it."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


def tell_most(codes: Integers, secret: NDArray[np.bool_], names: tuple[str, ...], seed: int = 0) -> tuple[Told, Told]:
    """The sets with the least and with the largest lift, of rows codes[i, j] of people with secret[i]."""
    order = np.random.default_rng(seed).permutation(len(codes))  # who is attacked is no secret
    known, attacked = order[: len(order) // 2], order[len(order) // 2 :]
    found: list[Told] = []
    for size in range(1, min(MOST_COLUMNS, codes.shape[1]) + 1):
        for columns in itertools.combinations(range(codes.shape[1]), size):
            found += _by(codes, secret, known, attacked, tuple(names[j] for j in columns), columns)
    return min(found, key=lambda one: one.lift), max(found, key=lambda one: one.lift)


def _by(
    codes: Integers,
    secret: NDArray[np.bool_],
    known: Integers,
    attacked: Integers,
    names: tuple[str, ...],
    columns: tuple[int, ...],
) -> list[Told]:
    """What the rows tell that a table of these columns calls least and most likely to have the secret."""
    _, cell = np.unique(codes[:, columns], axis=0, return_inverse=True)
    cell = cell.ravel()
    number, overall = int(cell.max()) + 1, float(secret[known].mean())
    having = np.bincount(cell[known], weights=secret[known], minlength=number)
    share = (having + PRIOR_PEOPLE * overall) / (np.bincount(cell[known], minlength=number) + PRIOR_PEOPLE)
    ranked = attacked[np.argsort(share[cell[attacked]], kind="stable")]
    extreme, prior = max(1, round(GROUP * len(ranked))), float(secret[attacked].mean())
    if not prior:  # of a value that nobody of these has, nothing can be found
        return [Told(names, 1.0, math.inf)]
    told = []
    for rows in (ranked[:extreme], ranked[-extreme:]):
        found = float(secret[rows].mean())
        sampled = (secret[rows].sum() + 0.5) / (len(rows) + 1)
        told.append(Told(names, found / prior, float(np.sqrt(sampled * (1 - sampled) / len(rows))) / prior))
    return told
