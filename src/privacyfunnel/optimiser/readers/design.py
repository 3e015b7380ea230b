"""The sharpest protocol: posteriors are added as long as they are worth it, and prices bound what others could do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.optimiser.program.tolerances import SAME_DIGITS
from privacyfunnel.optimiser.readers.mixture import Mixed, Pool, Wish
from privacyfunnel.typing import Integers, Matrix, Vector

CLOSE = 0.02
"""Of the mean variance: what a design may be above the bound on all others when the search ends."""
ROUNDS = 60
"""Of new posteriors, at most: five to twenty are the rule."""
INNER_ROUNDS = 4
"""Of better weights between two rounds of new posteriors, at most: new ones change the weights anyway."""
SETTLED = 1e-3
"""A round of weights that improves by less, as a share, is the last before new posteriors are looked for."""
NO_BETTER = 3
"""Rounds of new posteriors in a row that improve by less than a tenth of SETTLED each: then it is enough."""
DEAD = 1e-5
"""Of the largest weight that a posterior can have: whose weight is below is left out, and may come back."""
NEWCOMERS = 0.1
"""Of every value: what new posteriors have of it to begin with, all of them together, at most."""
THIN = (0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-5)
"""Shares of the largest weight below which posteriors are dropped in the end, so that there are few outputs: the first
that costs next to nothing is taken."""
COSTS_LITTLE = 0.01
"""Of the mean variance: what dropping thin posteriors may cost."""
MENDED = 1e-3
"""How well weights must add up to every value, as a share of it, for the rest to be mended by small changes of all."""


class Candidates(Protocol):
    """Where posteriors come from."""

    exact: bool

    def first(self) -> Columns:
        """Those that a search starts with."""

    def better(self, z: Matrix, y: Vector, mu: float) -> tuple[Columns, Vector | None]:
        """Posteriors with |zᵀv|² above y·v + μH(v), and by how much y must be raised until there is none, if known."""


@dataclass(frozen=True, eq=False)
class Design:
    """A mixture that makes the asked shares sharp."""

    columns: Columns
    q: Vector
    value: float
    """F: the sum of (n·Var_k + f_k²)/f_k(1−f_k) over the asked shares."""
    least: float | None
    """No mixture with as much information has a smaller F; None where that is not known."""
    rounds: int


def design(
    wish: Wish, base: Columns, candidates: Candidates, constant: float, stopped: Callable[[], bool]
) -> Design | None:
    """The sharpest mixture, beginning with posteriors `base` that keep the most information.

    `constant` is what F has beside the variances. None if not even weights of the first posteriors were found.
    """
    pool = Pool(wish, _joined(base, candidates.first()))
    mixed = Mixed.start(pool, _spread(pool))
    if not pool.off(mixed.w) <= MENDED:
        return None
    least = -np.inf
    idle = rounds = 0
    for rounds in range(1, ROUNDS + 1):  # noqa: B007 - how many there were is told
        before = mixed.sharp.value
        mixed = _settled(mixed, stopped)
        columns, bound = _priced(mixed, candidates)
        least = max(least, bound)
        idle = idle + 1 if before - mixed.sharp.value < SETTLED / 10 * before else 0
        if stopped() or mixed.sharp.value - least <= CLOSE * (mixed.sharp.value - constant):
            break
        if idle >= NO_BETTER or (not candidates.exact and not len(columns)):
            break
        mixed = _with_new(mixed, columns)
    mixed = _thinned(mixed, constant)
    w = mixed.pool.exactly(mixed.w)
    return Design(mixed.pool.columns, w, mixed.sharp.value, float(least) if candidates.exact else None, rounds)


def _spread(pool: Pool) -> Vector:
    """Weights to begin with: posteriors share every value."""
    used = pool.columns.mass > 0
    sharing = np.bincount(pool.columns.support[used], minlength=len(pool.root))
    fair = np.where(used, sharing[pool.columns.support], 1).max(axis=1)
    return np.asarray(pool.most / fair)


def _settled(mixed: Mixed, stopped: Callable[[], bool]) -> Mixed:
    """Better weights of the same posteriors, until that brings little."""
    for _ in range(INNER_ROUNDS):
        before, mixed = mixed.sharp.value, mixed.round()
        if stopped() or before - mixed.sharp.value < SETTLED * before:
            break
    return mixed


def _priced(mixed: Mixed, candidates: Candidates) -> tuple[Columns, float]:
    """Posteriors that are worth more than their price, and the bound that prices give; −∞ where they give none."""
    pool, prices, sharp = mixed.pool, mixed.prices, mixed.sharp
    root = pool.root
    y = prices.y / root
    columns, raised = candidates.better(sharp.Z / root[:, None], y, prices.entropy)
    if raised is None:
        return columns, -np.inf
    return columns, pool.bound(sharp, prices, float(raised @ pool.wish.p_x))


def _with_new(mixed: Mixed, columns: Columns) -> Mixed:
    """The mixture without dead posteriors and with new ones, which have a little weight to begin with."""
    pool = mixed.pool
    alive = np.flatnonzero(mixed.w > DEAD * pool.most)
    new = _unknown(columns, pool.columns.take(alive))
    joined = Pool(pool.wish, _joined(pool.columns.take(alive), columns.take(new)))
    w = np.concatenate([mixed.w[alive], NEWCOMERS * _spread(Pool(pool.wish, columns.take(new)))])
    started = Mixed.start(joined, w, mixed.prices, mixed.sharp.Z)
    return started if joined.off(started.w) <= MENDED else mixed


def _thinned(mixed: Mixed, constant: float) -> Mixed:
    """The same with fewer posteriors, where that costs next to nothing."""
    pool = mixed.pool
    for share in THIN:
        kept = np.flatnonzero(mixed.w > share * pool.most)
        if len(np.unique(pool.columns.support[kept][pool.columns.mass[kept] > 0])) < len(pool.root):
            continue
        fewer = Pool(pool.wish, pool.columns.take(kept))
        found = Mixed.start(fewer, mixed.w[kept], mixed.prices, mixed.sharp.Z)
        if not fewer.off(found.w) <= MENDED:
            continue
        found = found.round().round()
        if found.sharp.value - mixed.sharp.value <= COSTS_LITTLE * (mixed.sharp.value - constant):
            return found
    return mixed


def _joined(first: Columns, more: Columns) -> Columns:
    return Columns.join([first, more.take(_unknown(more, first))]) if len(more) else first


def _unknown(columns: Columns, known: Columns) -> Integers:
    """The numbers of columns that are not among the known ones, each once."""
    keys = _keys(Columns.join([known, columns]))
    _, first = np.unique(keys, axis=0, return_index=True)
    return np.asarray(np.sort(first[first >= len(known)]) - len(known))


def _keys(columns: Columns) -> Matrix:
    """A row for every column that others have only if they are the same: its values in order, and their masses."""
    support = np.where(columns.mass > 0, columns.support, -1)
    order = np.argsort(support, axis=1, kind="stable")
    masses = np.round(np.take_along_axis(columns.mass, order, axis=1), SAME_DIGITS)
    return np.concatenate([np.take_along_axis(support, order, axis=1).astype(np.float64), masses], axis=1)
