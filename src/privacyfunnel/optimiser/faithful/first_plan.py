"""A first plan for many values, in a moment: the table is cut into parts, and rows are redrawn within their part.

Whoever sees x′ ~ P(x | x in L) learns that x is in L and nothing else, so parts whose own posterior p_L keeps the
promise do, and both marginals are exact. Parts are cut by one column after the other, at last value by value; pieces
that would break the promise are joined with others until they do not. Then as large a share of every part stays as it
is as its promise leaves room for. Where parts are small the plan is sparse, unlike p pᵀ, which it replaces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privacyfunnel.optimiser.faithful.program import Program
from privacyfunnel.typing import Integers, Matrix, Vector

MOST_COMPARISONS = 2e8
"""For one cut of a part, a second or so; a cut that would take more is not tried."""


@dataclass(frozen=True, eq=False)
class Part:
    """Some values, of which `stays` of every row stays as it is and the rest is redrawn from all of them."""

    values: Integers
    stays: float


def redrawn_in_parts(program: Program) -> tuple[Integers, Vector]:
    """π(x, o) as keys o·n + x and masses."""
    n, p = program.n_x, program.p
    keys, masses = [], []
    for part in _parts(_ChargeLimits.of(program), program):
        own = p[part.values]
        mass = (1 - part.stays) * np.outer(own, own / own.sum())
        mass[np.diag_indices(len(own))] += part.stays * own
        keys.append((part.values[:, None] * n + part.values[None, :]).ravel())
        masses.append(mass.ravel())
    every, mass = np.concatenate(keys), np.concatenate(masses)
    order = np.argsort(every)
    used = order[mass[order] > 0]
    return every[used], mass[used]


@dataclass(frozen=True, eq=False)
class _ChargeLimits:
    """low·m ≤ c ≤ high·m for the mass m of a part and its charges c = Σ p_x D[:, x], tightened for rounding."""

    low: Vector
    high: Vector
    C: Matrix
    """C[x] = p_x D[:, x]."""
    p: Vector

    @classmethod
    def of(cls, program: Program) -> _ChargeLimits:
        low, high = program.tightened(float(program.p.min()))
        return cls(low, high, np.ascontiguousarray((program.bands.D * program.p).T), program.p)

    def work(self, pieces: int) -> float:
        """Comparisons, at most, until so many pieces are joined."""
        return float(pieces) ** 2 * max(1, len(self.low))

    def over(self, charges: Matrix, mass: Vector) -> Vector:
        """How far the worst limit is overstepped, at most 0 if none is."""
        low, high = self.low * mass[..., None], self.high * mass[..., None]
        return np.asarray(np.maximum(charges - high, low - charges).max(axis=-1, initial=-np.inf))

    def stays(self, values: Integers) -> float:
        """The largest share λ of rows that may stay: (1 − λ) c_L / m_L + λ D[:, x] within the limits for every x."""
        mass = self.p[values].sum()
        mean = self.C[values].sum(axis=0) / mass
        step = self.C[values] / self.p[values, None] - mean
        room = np.where(step > 0, self.high - mean, mean - self.low)
        far = np.abs(step) > np.maximum(room, 0)
        return float(np.divide(np.maximum(room, 0), np.abs(step), out=np.ones_like(step), where=far).min(initial=1.0))


def _parts(limits: _ChargeLimits, program: Program) -> list[Part]:
    """Parts that keep the promise, none of which a further cut would improve."""
    whole, done = [np.arange(program.n_x)], []
    while whole:
        values = whole.pop()
        pieces = _cut_by_columns(limits, program, values)
        if len(pieces) > 1:
            whole += pieces
        else:
            done += [Part(piece, limits.stays(piece)) for piece in _cut_by_values(limits, program, values)]
    return done


def _cut_by_columns(limits: _ChargeLimits, program: Program, values: Integers) -> list[Integers]:
    """The part cut by the column that gains most cells; uncut if none gains."""
    codes, weights = program.similarity.codes[values], program.similarity.weights
    best, most = [values], 0.0
    for j, weight in enumerate(weights):
        _, of = np.unique(codes[:, j], return_inverse=True)
        count = int(of.max()) + 1
        if count == 1 or limits.work(count) > MOST_COMPARISONS:
            continue
        mass = np.bincount(of, weights=limits.p[values]).astype(np.float64)
        charges = np.zeros((count, len(limits.low)))
        np.add.at(charges, of, limits.C[values])
        group = _joined(limits, charges, mass)
        within = np.bincount(group, weights=mass)
        gain = weight * (mass**2 * (1 / within[group] - 1 / mass.sum())).sum()
        if gain > most and group.max() > 0:
            best, most = [values[group[of] == k] for k in range(int(group.max()) + 1)], gain
    return best


def _cut_by_values(limits: _ChargeLimits, program: Program, values: Integers) -> list[Integers]:
    """The part cut into the smallest that keep the promise, of values as similar as can be."""
    count = len(values)
    if count == 1 or limits.work(count) > MOST_COMPARISONS:
        return [values]
    group = _joined(
        limits,
        limits.C[values],
        limits.p[values],
        lambda i, others: program.similarity.at(values[i], values[others]),
    )
    return [values[group == k] for k in range(int(group.max()) + 1)]


def _joined(
    limits: _ChargeLimits, charges: Matrix, mass: Vector, alike: Callable[[int, Integers], Vector] | None = None
) -> Integers:
    """group[k] of every piece, so that every group keeps the promise if all pieces together do.

    A piece that breaks it is joined with what mends it (of several such pieces, the most alike), or brings it nearest;
    what cannot be mended by pieces that are left, by whole groups.
    """
    over = limits.over(charges, mass)
    group = np.full(len(mass), -1)
    groups = 0
    for k in sorted(np.flatnonzero(over > 0).tolist(), key=lambda k: -mass[k]):
        if group[k] >= 0:
            continue
        group[k], c, m = groups, charges[k], mass[k]
        while limits.over(c, m) > 0:
            free = np.flatnonzero(group < 0)
            if not len(free):
                break
            then = limits.over(c + charges[free], m + mass[free])
            mends = free[then <= 0]
            j = free[then.argmin()] if alike is None or not len(mends) else mends[alike(k, mends).argmax()]
            group[j], c, m = groups, c + charges[j], m + mass[j]
        groups += 1
        groups = _mended(limits, charges, mass, group, groups)
    alone = np.flatnonzero(group < 0)
    group[alone] = groups + np.arange(len(alone))
    return group


def _mended(limits: _ChargeLimits, charges: Matrix, mass: Vector, group: Integers, groups: int) -> int:
    """The last group joined with others while it breaks the promise; how many there are then."""
    last = groups - 1
    while last > 0:
        inside = group >= 0
        C = np.zeros((groups, charges.shape[1]))
        np.add.at(C, group[inside], charges[inside])
        M = np.bincount(group[inside], weights=mass[inside], minlength=groups)
        if limits.over(C[last], M[last]) <= 0:
            break
        other = int(limits.over(C[:last] + C[last], M[:last] + M[last]).argmin())
        group[group == last] = other
        if other != last - 1:  # it comes last, to be looked at again
            swap = group == other
            group[group == last - 1] = other
            group[swap] = last - 1
        last -= 1
    return last + 1
