"""From a plan π(x, o) to an exact channel: multiples of 2⁻³², columns that sum to 1, and still both marginals.

Rounding every entry of a column up or down, so that it sums to 1, moves the probability of an output by less than
Σ p_x·2⁻³² ≤ 2⁻³²: the released distribution stays within 2⁻³⁰ of itself whatever is chosen, if the plan's was exact.
Likewise a limit D π(·, o) ≤ high·p_o is moved by less than Σ p_x |D − high|·2⁻³², which `Program` spares beforehand.
"""

from __future__ import annotations

import numpy as np

from privacyfunnel.channel import UNIT, Channel
from privacyfunnel.optimiser.faithful.search import DUST, Plan
from privacyfunnel.typing import Vector

EXACT = 2.0**-36
SCALINGS = 200


def round_plan(plan: Plan, p: Vector, share: float) -> Channel:
    """The plan as a channel, with so large a share of p pᵀ mixed in, which makes it dense."""
    n = len(p)
    share = share + (1 - share) * plan.constant if share or plan.constant > DUST else 0.0
    big = plan.mass > DUST
    o, x = np.divmod(plan.keys[big], n)
    mass = _balanced(plan.mass[big], x, o, p) if big.any() else plan.mass[big]
    if share:
        dense = share * np.outer(p, p)
        kept = np.bincount(x, weights=mass, minlength=n).min() > 0
        dense[o, x] += (1 - share) * mass if kept else 0.0
        o, x = np.divmod(np.arange(n * n), n)
        mass = dense.ravel()
    Q = mass / np.bincount(x, weights=mass, minlength=n)[x]
    order = np.lexsort((o, x))
    return _rounded(Q[order], x[order], o[order], n)


def _balanced(mass: Vector, x: np.ndarray, o: np.ndarray, p: Vector) -> Vector:
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


def _rounded(Q: Vector, x: np.ndarray, o: np.ndarray, n: int) -> Channel:
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
