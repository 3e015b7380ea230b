"""From real weights to an exact channel: multiples of 2⁻³² that keep the promise and add up to 1.

A promise is homogeneous in a row of the channel, so every row can be rounded by itself to integers
that keep it, with the same non-zeros. What the rounded rows leave of each column, or take too much,
falls to one row, the sink: it is first drawn a hair's breadth towards a constant row, which gives it
room. The loss is of the order of 2⁻³² nats per output.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.tolerances import AT_ONCE, GONE
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.typing import Integers, Matrix, Vector

STRETCHES = 4096
"""Neighbours and slightly shrunken copies of a row that are tried when its plain rounding misses the promise."""
REACHES = (1, 8, 64)
"""Units by which the entries of a row may be moved, nearer places first; rows whose tight rows are almost parallel
would otherwise be blown up."""
SLACKS = tuple(2e-16 * 16.0**k for k in range(12))
"""How far inside the rows a channel is rounded, until it passes the exact check: at first about the last digit of a
float64, which is enough where rows are rounded no worse than that. If 0.004 fails, it is not slack that is missing."""
SHRINK = 1e-6
"""The most shrunken copy of a row is smaller by this share at least, however large the row."""
MOST_SHRINK = 1e-2
"""And by no more than this: beyond, a constant row is blended in."""
BLENDS = 4.0 ** -np.arange(14, -1, -1)
"""Shares of a constant row mixed in, when nothing gentler helps."""
INWARD = (1, 2, 4)
"""Times the shortest step away from tight rows: rounding may undo the first, and longer ones lose more."""
HALF_A_UNIT = 0.51
"""What rounding may move an entry by, and a little more against errors of float64."""
SOLVABLE = 1e-12
"""A smaller residual means that no step leads away from all tight rows."""
PASSES = 12
"""Each gives the sink the room it lacked; rows that were rounded anew may take a little of it again."""
NARROW_ROW = 16
"""Rows of at most this many values are rounded many at once, and quickly also with care."""
FORGIVEN = 0.25
"""Of a unit; targets that are whole numbers but for float64's errors are not rounded down to the one below."""


@dataclass(frozen=True, eq=False)
class _Row:
    support: Integers
    numerators: Integers


@dataclass(frozen=True, eq=False)
class Rounded:
    """Entries of several rows, those of row number `outputs`."""

    inputs: Integers
    outputs: Integers
    numerators: Integers

    @classmethod
    def join(cls, parts: list[Rounded]) -> Rounded:
        none = np.empty(0, dtype=np.int64)
        parts = [cls(none, none, none), *parts]
        return cls(
            np.concatenate([part.inputs for part in parts]),
            np.concatenate([part.outputs for part in parts]),
            np.concatenate([part.numerators for part in parts]),
        )

    def dense(self, count: int, n_x: int) -> Integers:
        """The numerators of so many rows as a matrix."""
        N = np.zeros((count, n_x), dtype=np.int64)
        N[self.outputs, self.inputs] = self.numerators
        return N


def round_channel(
    columns: Columns, q: Vector, polytope: Polytope, slack: float, most: int | None = None, last: int | None = None
) -> Channel:
    """The mixture Σ q_y v_y as an exact channel whose rows meet G v ≤ −slack.

    Rows for which no rounding is found, and what they carried, are merged into the sink; if even
    that fails the channel is constant. `slack` is raised by the caller until the exact check passes. There are at most
    `most` outputs, as many as values if it is not given: no more are needed to keep the most information. The row that
    takes what is left, the sink, is the most probable one, or that of column `last`; it is the channel's first.
    """
    worth = np.flatnonzero(q > GONE)
    first = np.where(worth == last, np.inf, q[worth]) if last is not None else q[worth]
    order = worth[np.argsort(-first, kind="stable")][: polytope.n_x if most is None else most]
    # G n ≤ 0 for a row n of numerators: v[x] ∝ p_x[x]·n[x]. A row of G speaks of its own cell alone.
    A = np.where(polytope.G != 0, polytope.G + slack, 0.0) * polytope.p_x
    support, mass = columns.support[order], columns.mass[order]
    targets = q[order, None] * mass / polytope.p_x[support] * UNIT
    spared = 0.0
    for _ in range(PASSES):
        rows = round_rows(A, support[1:], targets[1:] * (1 - spared), polytope.p_x)
        sink = np.full(polytope.n_x, UNIT, dtype=np.int64)
        np.subtract.at(sink, rows.inputs, rows.numerators)
        missing = _room_needed(A, sink)
        if missing <= 0:
            return _assemble(sink, rows)
        spared += (missing + 0.5) / UNIT
        if spared >= 1:
            break
    return _assemble(np.full(polytope.n_x, UNIT, dtype=np.int64), Rounded.join([]))


def _room_needed(A: Matrix, sink: Integers) -> float:
    """How many units must be added to every entry of the sink until it is a row that keeps the promise."""
    over = A @ sink.astype(np.float64)
    per_unit = -A.sum(axis=1)
    broken = over > 0
    if (per_unit[broken] <= 0).any():
        return float(UNIT)
    needed = (over[broken] / per_unit[broken]).max(initial=0.0)
    return float(max(needed + bool(needed), -sink.min()))


def round_rows(A: Matrix, support: Integers, targets: Matrix, p_x: Vector) -> Rounded:
    """Every row rounded by itself. Unused places have a target of 0."""
    kept = np.zeros(len(support), dtype=bool)
    plain = np.zeros_like(targets)
    if support.shape[1] <= NARROW_ROW:
        step = max(1, AT_ONCE // (support.shape[1] * (len(A) + 1)))
        for i in range(0, len(support), step):
            some = slice(i, i + step)
            plain[some], kept[some] = _round_at_once(A.T[support[some]], targets[some])
    at, place = np.nonzero((plain > 0) & kept[:, None])
    parts = [Rounded(support[at, place], at, plain[at, place].astype(np.int64))]
    for i in np.flatnonzero(~kept).tolist():
        used = targets[i] > 0
        row = _round_row(A, support[i][used], targets[i][used], p_x)
        if row is not None:
            parts.append(Rounded(row.support, np.full(len(row.support), i), row.numerators))
    return Rounded.join(parts)


def _round_at_once(a: Matrix, targets: Matrix) -> tuple[Matrix, NDArray[np.bool_]]:
    """Many rows rounded down, or pairs by the least move that keeps the promise; and for which of them it does."""
    plain = np.floor(targets + FORGIVEN)
    kept = (np.einsum("ikr,ik->ir", a, plain) <= 0).all(axis=1) & plain.any(axis=1)
    if targets.shape[1] == 2:
        some = np.flatnonzero(~kept & (targets > 0).all(axis=1))
        near = np.floor(targets[some])[:, None, :] + _offsets(2, REACHES[0])
        some_left = (near.min(axis=2) >= 0) & (near.max(axis=2) > 0)
        good = np.asarray((near @ a[some]).max(axis=2, initial=-1.0) <= 0) & some_left
        which = good.argmax(axis=1)
        found = good[np.arange(len(some)), which]
        plain[some[found]] = near[found, which[found]]
        kept[some[found]] = True
    return plain, kept


def _round_row(A: Matrix, support: Integers, target: Vector, p_x: Vector) -> _Row | None:
    """Integers near `target` with the same support that keep the promise; None if there are none."""
    a = A[:, support]
    a = a[a @ target > -2 * max(REACHES) * np.abs(a).sum(axis=1)]  # the others cannot be broken by small moves
    # Rounding down leaves a little to the sink rather than asking it for more; FORGIVEN is what float64 lost.
    plain = np.floor(target + FORGIVEN)
    if _keeps(a, plain):
        return _Row(support, plain.astype(np.int64))
    moves = (_by_trial, _by_step) if (2 * REACHES[0] + 2) ** len(support) <= STRETCHES else (_by_step, _by_trial)
    for move in moves if len(support) <= NARROW_ROW else (_by_raising, *moves):
        moved = move(a, target)
        if moved is not None:
            return _Row(support, moved)
    shrink = max(SHRINK, min(MOST_SHRINK, REACHES[-1] / max(1.0, target.max())))
    copies = _first_kept(a, np.rint(target * (1 - shrink * np.arange(STRETCHES)[:, None] / STRETCHES)))
    if copies is not None:
        return _Row(support, copies)
    full = np.zeros(len(p_x))
    full[support] = target
    level = float(full @ p_x)
    for share in BLENDS:
        blend = np.rint((1 - share) * full + share * level)
        if _keeps(A, blend):
            used = np.flatnonzero(blend)
            return _Row(used, blend[used].astype(np.int64))
    return None


def _by_trial(a: Matrix, target: Vector) -> Integers | None:
    """A nearby row that keeps the promise, found by trying; sure to find the nearest while entries are few."""
    for reach in REACHES:
        near = _first_kept(a, np.floor(target) + _offsets(len(target), reach))
        if near is not None:
            return near
    return None


def _by_raising(a: Matrix, target: Vector) -> Integers | None:
    """The row with the same added to every entry. A constant row has room, so this is quick where cells are whole."""
    return _first_kept(a, np.floor(target) + 2.0 ** np.arange(1 + math.log2(REACHES[-1]))[:, None])


def _by_step(a: Matrix, target: Vector) -> Integers | None:
    """The row moved inward from its tight constraints, a little and then a little more."""
    inward = _inward(a, target)
    for step in INWARD:
        moved = np.floor(target + step * inward).clip(0)
        if np.abs(moved - target).max() <= REACHES[-1] and _keeps(a, moved):
            return moved.astype(np.int64)
    return None


@cache
def _offsets(k: int, reach: int) -> Matrix:
    """Ways to move k entries by up to `reach` units, the smallest moves first; all of them while they are few."""
    span = 2 * reach + 2
    if span**k <= STRETCHES:
        moves = np.stack(np.meshgrid(*[np.arange(-reach, reach + 2.0)] * k, indexing="ij"), axis=-1).reshape(-1, k)
    else:
        moves = np.random.default_rng(0).integers(-reach, reach + 2, size=(STRETCHES, k)).astype(np.float64)
    return np.asarray(moves[np.argsort(np.abs(moves).sum(axis=1), kind="stable")])


def _first_kept(a: Matrix, candidates: Matrix) -> Integers | None:
    """The first of several rows that keeps the promise."""
    good = (candidates @ a.T <= 0).all(axis=1) & (candidates >= 0).all(axis=1) & candidates.any(axis=1)
    return candidates[good.argmax()].astype(np.int64) if good.any() else None


def _keeps(a: Matrix, n: Vector) -> bool:
    return bool(n.any()) and bool((a @ n <= 0).all())


def _inward(a: Matrix, target: Vector) -> Vector:
    """The shortest step that moves away from the tight rows by what half a unit in every entry can undo.

    min |d| s.t. a d ≤ −h, by non-negative least squares (Lawson and Hanson 1974, chapter 23); 0 if impossible.
    """
    from scipy.optimize import nnls

    reach = np.abs(a).sum(axis=1)
    tight = (a @ target > -reach) & (reach > 0)
    if not tight.any():
        return np.zeros_like(target)
    rows = a[tight] / reach[tight, None]
    system = np.vstack([-rows.T, np.full((1, len(rows)), HALF_A_UNIT)])
    try:
        u, _ = nnls(system, np.append(np.zeros(len(target)), 1.0))
    except RuntimeError:  # too many iterations
        return np.zeros_like(target)
    residual = system @ u - np.append(np.zeros(len(target)), 1.0)
    return -residual[:-1] / residual[-1] if abs(residual[-1]) > SOLVABLE else np.zeros_like(target)


def _assemble(sink: Integers, rows: Rounded) -> Channel:
    """The sink and the rows that are left, numbered from 0."""
    used = np.flatnonzero(sink)
    some = rows.numerators > 0
    left, outputs = np.unique(rows.outputs[some], return_inverse=True)
    return Channel.from_entries(
        np.concatenate([used, rows.inputs[some]]),
        np.concatenate([np.zeros(len(used), dtype=np.int64), 1 + outputs]),
        np.concatenate([sink[used], rows.numerators[some]]),
        (1 + len(left), len(sink)),
    )
