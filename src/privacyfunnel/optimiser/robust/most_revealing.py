"""Two secrets: the most revealing distribution of a confidence set among those with the P(X) that was counted.

Any distribution of the set gives rows that are necessary. One with the same P(X) is a plain problem with another
joint distribution, which is solved in closed form (`binary`). It adds to P(x|s = 0) where x speaks for 0, takes from it
where x speaks against, and does the reverse to P(x|s = 1) in proportion, as far as the set allows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.optimiser.program.polytope import Polytope
from privacyfunnel.optimiser.program.tolerances import OUTWARDS, ROUNDINGS
from privacyfunnel.optimiser.robust.conditions import LARGEST_FACTOR, factors_of
from privacyfunnel.optimiser.robust.region import Region
from privacyfunnel.promises.limits import HAIR
from privacyfunnel.promises.sets import SCALE
from privacyfunnel.typing import Matrix, Vector

SAME = 1e-12
"""How close the centre of the set must be to the counted distribution."""


def leaning_polytope(joint: Joint, region: Region) -> Polytope | None:
    """The posteriors that keep the promise for that distribution; None if the set lies around another one."""
    (demand,) = region.demands
    part = demand.part
    order = np.argsort(part.members[0])
    lower, upper, centre = (
        ends[0][:, order] / SCALE for ends in (part.given.lower, part.given.upper, part.given.centre)
    )

    if np.abs(centre - joint.p_x_given_s).max() > SAME:
        return None
    weight = joint.p_s[1] / joint.p_s[0]  # P(x|0) + δ and P(x|1) − δ/weight keep P(x)
    more = np.minimum(upper[0] - centre[0], (centre[1] - lower[1]) * weight).clip(0)
    less = np.minimum(centre[0] - lower[0], (upper[1] - centre[1]) * weight).clip(0)
    delta = (1 - OUTWARDS) * _moved(joint.p_s_given_x[0], more, less)
    P = np.stack([centre[0] + delta, centre[1] - delta / weight])
    factors = [(s, factor) for s, factor in enumerate(factors_of(demand)) if factor < LARGEST_FACTOR]
    return polytope_for(P, [(s, factor_no_less(factor)) for s, factor in factors], joint.p_x)


def polytope_for(P: Matrix, factors: Sequence[tuple[int, float]], p_x: Vector) -> Polytope:
    """The posteriors with P(y|s) ≤ κ P(y|t) for given (s, κ), if P(x|s) = P[s, x]."""
    sides = [(P[s], factor * P[1 - s]) for s, factor in factors]
    rows, size = (np.reshape([more + sign * less for more, less in sides], (-1, len(p_x))) / p_x for sign in (-1, 1))
    binding = rows.max(axis=1) > 0
    scale = np.abs(rows[binding]).max(axis=1, keepdims=True, initial=0.0)
    return Polytope(rows[binding] / scale, p_x, size[binding] / scale)


def factor_no_less(factor: float) -> float:
    """A factor rounded up: where it is large, it is one over a small difference, which has lost as many digits."""
    return factor * (1 + HAIR + ROUNDINGS * factor)


def _moved(leaning: Vector, more: Vector, less: Vector) -> Vector:
    """What each value gains: those that lean most receive up to `more`, from those that lean least, up to `less`."""
    order = np.argsort(-leaning, kind="stable")
    room, spare = more[order], less[order]
    receive, give = np.cumsum(room), np.cumsum(spare[::-1])[::-1]
    moved = float(np.minimum(receive, give - spare).max(initial=0.0))
    gained = np.clip(moved - (receive - room), 0.0, room) - np.clip(moved - (give - spare), 0.0, spare)
    back = np.empty_like(gained)
    back[order] = gained
    return back
