"""From a plan π(x, o) to an exact channel: multiples of 2⁻³², columns that sum to 1, and still both marginals.

Rounding every entry of a column up or down, so that it sums to 1, moves the probability of an output by less than
Σ p_x·2⁻³² ≤ 2⁻³²: the released distribution stays within 2⁻³⁰ of itself whatever is chosen, if the plan's was exact.
Likewise a limit D π(·, o) ≤ high·p_o is moved by less than Σ p_x |D − high|·2⁻³², which `Program` spares beforehand.
"""

from __future__ import annotations

import numpy as np

from privacyfunnel.optimiser.faithful.search import DUST, Plan
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.typing import Integers, Vector

RARE = 1e-3
"""Of a value so rare that all its masses are dust, what is more than this share of it."""
EXACT = 2.0**-36
"""The error of a marginal that scaling leaves, far below what rounding makes."""
SCALINGS = 200
"""Rounds of scaling at most; the plan of the solver is close, and few are needed."""


def round_plan(plan: Plan, p: Vector, share: float) -> Channel:
    """The plan as a channel, with so large a share of p pᵀ mixed in, which makes it dense."""
    n = len(p)
    share = share + (1 - share) * plan.constant if share or plan.constant > DUST else 0.0
    big = plan.mass > np.minimum(DUST, RARE * p[plan.keys % n])
    o, x = np.divmod(plan.keys[big], n)
    o, x, mass = _completed(o, x, plan.mass[big], p)
    mass = _balanced(mass, x, o, p)
    if share:
        dense = share * np.outer(p, p)
        dense[o, x] += (1 - share) * mass
        o, x = np.divmod(np.arange(n * n), n)
        mass = dense.ravel()
    Q = mass / np.bincount(x, weights=mass, minlength=n)[x]
    order = np.lexsort((o, x))
    return rounded_columns(Q[order], x[order], o[order], n)


def _completed(o: Integers, x: Integers, mass: Vector, p: Vector) -> tuple[Integers, Integers, Vector]:
    """Values so rare that the solver lost their mass are redrawn from all rows."""
    n = len(p)
    lost = np.bincount(x, weights=mass, minlength=n) < p / 2
    kept = ~lost[x]
    again = np.flatnonzero(lost)
    every = np.arange(n)
    return (
        np.append(o[kept], np.tile(every, len(again))),
        np.append(x[kept], np.repeat(again, n)),
        np.append(mass[kept], np.outer(p[again], p).ravel()),
    )


def _balanced(mass: Vector, x: Integers, o: Integers, p: Vector) -> Vector:
    """Both marginals made p by scaling them in turn (Sinkhorn), that of x last."""
    n = len(p)
    for _ in range(SCALINGS):
        seen = np.bincount(o, weights=mass, minlength=n)
        mass = mass * np.divide(p, seen, out=np.ones(n), where=seen > 0)[o]
        seen = np.bincount(x, weights=mass, minlength=n)
        mass = mass * np.divide(p, seen, out=np.ones(n), where=seen > 0)[x]
        if np.abs(np.bincount(o, weights=mass, minlength=n) - p).max() < EXACT:
            break
    return mass


def rounded_columns(Q: Vector, x: Integers, o: Integers, n: int) -> Channel:
    """Columns rounded down, then the largest remainders up until each sums to 1. Entries are in order of x."""
    exact = Q * UNIT
    N = np.floor(exact).astype(np.int64)
    starts = np.searchsorted(x, np.arange(n + 1))
    missing = UNIT - np.add.reduceat(N, starts[:-1])
    by_remainder = np.lexsort((N - exact, x))
    rank = np.arange(len(x)) - starts[x]
    size = np.diff(starts)
    whole, rest = np.divmod(missing, size)  # more than one each only if float64 lost some
    N[by_remainder] += whole[x] + (rank < rest[x])
    used = N > 0
    return Channel.from_entries(x[used], o[used], N[used], (n, n))
