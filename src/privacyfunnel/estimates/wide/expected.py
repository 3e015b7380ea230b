"""Expected errors of a model's release: how far shares of rows as they stand will be off, before it is made.

For the steward, from the table itself. Given the table, released rows have the expected share Σ_x p_x e_x of a set,
e_x = P(x′ in the set | x), which is off by what the model has wrong; drawing adds at most d/n, and the table is a
sample: against the population the mean square error is (Σ p_x e_x − f)² + (f(1−f) + d)/n.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from privacyfunnel.distribution.asked import CERTAIN
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.protocols.wide.by_model import ByModel
from privacyfunnel.protocols.wide.moves import expected_shares, moves_of, place_of
from privacyfunnel.typing import Vector


def counted_errors(
    step: ByModel, joint: Joint, names: Sequence[str], n: int
) -> Iterator[tuple[tuple[int, ...], float, float, float]]:
    """For every combination of values that somebody has and not all: codes, share, and both standard errors.

    These are that of the original table, and that of released rows as they stand.
    """
    sizes, columns = step.model.sizes, [step.attributes.index(name) for name in names]
    numbers = np.asarray(np.ravel_multi_index(tuple(joint.codes.T), sizes))
    people: Vector = np.asarray(joint.p_x, dtype=np.float64)
    moves = moves_of(step.plan, sizes, columns)
    f = np.bincount(place_of(numbers, sizes, columns), weights=people, minlength=len(moves.p))
    found = expected_shares(step.plan, sizes, columns, numbers, people)
    for place in np.flatnonzero((f > 0) & (f < 1 - CERTAIN)):
        own = float(f[place] * (1 - f[place]))
        counted = float(found[place] - f[place]) ** 2 + (own + float(moves.drawing[place])) / n
        codes = tuple(int(code) for code in np.unravel_index(place, moves.sizes))
        yield codes, float(f[place]), math.sqrt(own / n), math.sqrt(counted)
