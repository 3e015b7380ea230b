"""What a confidence set says about sets of values of X, for two secrets: h_j of nested_programs as pieces.

The largest P(A|s) over the set is what the upper ends allow, or what the lower ends of all else leave over, whichever
is less: min(u(A), 1 − l(not A)). Each is a constant plus a sum over A, and their difference grows with A, so the
minimum is submodular: one distribution attains it for all sets of a nested family at once. The least P(A|t) is 1 less
the largest P(not A|t), and a limit says most_s ≤ κ·least_t:

    upper:  most_s ≤ e^upper (P(s) most_s + P(t) least_t),  so κ = e^upper P(t) / (1 − e^upper P(s)) at the least P(s);
    lower:  least_t ≥ e^-lower (P(t) least_t + P(s) most_s), so κ = 1 + (e^lower − 1) / P(s) at the largest P(s);
    spread: κ = e^spread;
    belief: (1 − b) P(s) most_s ≤ b P(t) least_t,           so κ = b P(t) / ((1 − b) P(s)) at the largest P(s).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.optimiser.robust.demands import Demand
from privacyfunnel.optimiser.robust.nested_programs import ONE_PROMISE
from privacyfunnel.optimiser.robust.region import Leeway, Region
from privacyfunnel.promises.limits import SMALLEST_FACTOR
from privacyfunnel.promises.sets import Possible
from privacyfunnel.typing import Matrix, Vector

LARGEST_FACTOR = 1e100
"""Beyond, a limit does not bind: no two probabilities over SCALE are further apart."""
MOST_CONDITIONS = 8
"""Of several clauses together: every choice of a piece for each of them is gone through."""


@dataclass(frozen=True, eq=False)
class Conditions:
    """h_j(A) = min over q of K[j, q] + Σ_{x in A} M[j, q, x] ≤ 0, in w = v/p: (most_s − κ·least_t) / (1 + κ)."""

    p: Vector
    K: Matrix
    M: NDArray[np.float64]
    sufficient: Matrix
    """Rows G[j, x] with h_j(v/p) ≤ G v: all upper ends against all lower ends."""

    @property
    def n_x(self) -> int:
        return len(self.p)

    @classmethod
    def of(cls, region: Region) -> Conditions | None:
        """The conditions of a promise about two secrets with one view and a single cell; None for others."""
        return cls._one(region.demands[0], region.p_x) if len(region.demands) == 1 else None

    @classmethod
    def of_all(cls, region: Region) -> Conditions | None:
        """The same for clauses about two events each, all conditions that bind; None if one is about more."""
        each = [cls._one(demand, region.p_x) for demand in region.demands]
        found = [one for one in each if one is not None]
        if len(found) < 2 or len(found) < len(each):
            return found[0] if len(each) == 1 and found else None
        bind = np.concatenate([np.array(factors_of(demand)) < LARGEST_FACTOR for demand in region.demands])
        if not ONE_PROMISE <= bind.sum() <= MOST_CONDITIONS:
            return None
        K, M, sufficient = (np.concatenate([getattr(one, part) for one in found]) for part in ("K", "M", "sufficient"))
        return cls(region.p_x, K[bind], M[bind], sufficient[bind])

    @classmethod
    def _one(cls, demand: Demand, p_x: Vector) -> Conditions | None:
        part = demand.part
        if len(part.cells) != 1 or demand.n_events != 2 or part.members.shape[1] != len(p_x):
            return None
        order = np.argsort(part.members[0])
        K: list[list[float]] = []
        M: list[list[Vector]] = []
        pieces = [[(start, slope[order]) for start, slope in _largest(part, s)] for s in range(2)]
        factors = factors_of(demand)
        for s, factor in enumerate(factors):
            own, other = pieces[s], pieces[1 - s]
            few, many = 1 / (1 + factor), factor / (1 + factor)
            # −least_t(A) = −1 + most_t(not A)
            K.append([few * a + many * (b + B.sum() - 1) for a, _ in own for b, B in other])
            M.append([few * A - many * B for _, A in own for _, B in other])
        sufficient = np.stack([rows[1] for rows in M])  # upper ends of the one, lower ends of the other
        return cls(p_x, np.array(K), np.array(M), np.asarray(sufficient / p_x))


def _largest(part: Possible, s: int) -> list[tuple[float, Vector]]:
    """The pieces of the largest P(A|s): upper ends and lower ends."""
    given = Leeway(part.given)
    lower, upper = given.lower[0, s], given.upper[0, s]
    return [(0.0, upper), (1.0 - float(lower.sum()), lower)]


def factors_of(demand: Demand) -> list[float]:
    """κ_s for both secrets, or events; of a limit on one of them alone, what it comes to."""
    each, prior, limits = np.eye(2)[:, None], Leeway(demand.part.prior), demand.limits
    factors = []
    for s in range(2):
        most, least = (float(prior.extreme(each, sign).value[s, 0]) for sign in (1, -1))
        factor = _e_to(limits.spread)
        up = _e_to(limits.upper) if s in demand.events else math.inf
        if up * least < 1:
            factor = min(factor, up * (1 - least) / (1 - up * least))
        if most > 0 and 1 - s in demand.events:
            factor = min(factor, 1 + (_e_to(limits.lower) - 1) / most)
        if demand.most is not None and s in demand.events and most > 0:
            factor = min(factor, demand.most * (1 - most) / ((1 - demand.most) * most))
        factors.append(min(factor, LARGEST_FACTOR))
    return factors


def _e_to(limit: float) -> float:
    return math.exp(min(limit, -math.log(SMALLEST_FACTOR)))
