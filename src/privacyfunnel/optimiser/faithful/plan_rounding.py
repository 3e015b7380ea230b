"""From a plan π(x, o) to an exact channel: multiples of 2⁻³², columns that sum to 1, and still both marginals.

Rounding every entry of a column up or down, so that it sums to 1, moves the probability of an output by less than
Σ p_x·2⁻³² ≤ 2⁻³²: the released distribution stays within 2⁻³⁰ of itself whatever is chosen, if the plan's was exact.
Likewise a limit D π(·, o) ≤ high·p_o is moved by less than Σ p_x |D − high|·2⁻³², which `Program` spares beforehand.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privacyfunnel.optimiser.faithful.program import LAST_TOLERANCE
from privacyfunnel.optimiser.faithful.search import DUST, Plan
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.typing import Integers, Matrix, Vector

RARE = 1e-3
"""Of a value so rare that all its masses are dust, what is more than this share of it."""
SCALINGS = 200
"""Rounds of scaling at most; the plan of the solver is close, and few are needed."""


def round_plan(plan: Plan, p: Vector) -> Channel:
    """The plan as a channel."""
    n = len(p)
    if plan.constant > DUST:
        return round_dense(mixed(plan, p, 0.0))
    o, x, mass = _balanced(plan, p)
    Q = mass / np.bincount(x, weights=mass, minlength=n)[x]
    order = np.lexsort((o, x))
    return rounded_columns(Q[order], x[order], o[order], n)


def mixed(plan: Plan, p: Vector, share: float) -> Matrix:
    """Q[o, x] of the plan, with so large a share of p pᵀ mixed in, for few values.

    What scaling left of the error of a marginal is made good there: a bᵀ instead of p pᵀ, with a and b near p.
    """
    share += (1 - share) * plan.constant
    o, x, mass = _balanced(plan, p)
    left = [(p - (1 - share) * np.bincount(at, weights=mass, minlength=len(p))) for at in (o, x)]
    a, b = left if min(end.min() for end in left) > 0 else (share * p, share * p)
    pi = np.outer(a, b / b.sum())
    pi[o, x] += (1 - share) * mass
    return np.asarray(pi / pi.sum(axis=0))


def round_dense(Q: Matrix) -> Channel:
    """The channel nearest to Q[o, x]."""
    n = len(Q)
    x, o = np.divmod(np.arange(n * n), n)
    return rounded_columns(Q.T.ravel(), x, o, n)


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


def _balanced(plan: Plan, p: Vector) -> tuple[Integers, Integers, Vector]:
    """The pairs of the plan without dust, both marginals made p (Sinkhorn), that of x last."""
    n = len(p)
    whole = plan.mass / max(DUST, 1 - plan.constant)
    big = whole > np.minimum(DUST, RARE * p[plan.keys % n])
    o, x = np.divmod(plan.keys[big], n)
    o, x, mass = _completed(o, x, whole[big], p)
    return o, x, scaled(o, x, mass, p)


def scaled(o: Integers, x: Integers, mass: Vector, p: Vector) -> Vector:
    """Masses of pairs with both marginals made p by scaling them in turn, as far as these pairs can have them."""
    n = len(p)
    for _ in range(SCALINGS):
        seen = np.bincount(o, weights=mass, minlength=n)
        mass = mass * np.divide(p, seen, out=np.ones(n), where=seen > 0)[o]
        seen = np.bincount(x, weights=mass, minlength=n)
        mass = mass * np.divide(p, seen, out=np.ones(n), where=seen > 0)[x]
        if np.abs(np.bincount(o, weights=mass, minlength=n) - p).max() < LAST_TOLERANCE:
            break
    return np.asarray(mass)


def rounded_columns(Q: Vector, x: Integers, o: Integers, n: int, outputs: int | None = None) -> Channel:
    """Columns rounded down, then the largest remainders up until each sums to 1. Entries are in order of x.

    There are as many outputs as columns, unless it is said otherwise.
    """
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
    return Channel.from_entries(x[used], o[used], N[used], (n if outputs is None else outputs, n))


def restricted(channel: Channel, place: Integers) -> Channel:
    """The channel for some of its inputs, in this order."""
    if np.array_equal(place, np.arange(channel.n_inputs)):
        return channel
    sizes = np.diff(channel.starts)[place]
    starts = np.append(0, np.cumsum(sizes))
    at = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes) + np.repeat(channel.starts[place], sizes)
    return replace(channel, starts=starts, outputs=channel.outputs[at], numerators=channel.numerators[at])
