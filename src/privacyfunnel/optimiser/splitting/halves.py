"""One split: what is to be mixed, w, becomes f·w and (1 − f)·w, which both keep the promise.

The promise is homogeneous: G (f·w) ≤ 0 and G ((1−f)·w) ≤ 0 are the rows G·w ≤ G (f·w) ≤ 0, linear in 0 ≤ f ≤ 1. The
split tells h(q) − Σ_x w[x] h(f[x]) nats of X, with q = Σ f·w and h(t) = −t ln t − (1−t) ln(1−t): convex in f, so its
slope leads from one program to a better split.

Only the values with most of the mass are decided one by one. The others, too rare to matter here, share one f, which
makes the program small: their rows fall together, and what they ask of a frequent value is a single number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from privacyfunnel.errors import SolverFailure
from privacyfunnel.numeric.lp import LinearProgram
from privacyfunnel.optimiser.program.tolerances import BROKEN_SHARE, FEASIBLE
from privacyfunnel.promises.sparse_rows import scaled
from privacyfunnel.typing import Integers, Matrix, Vector

PROGRAMS = 2
"""Of one split: the second, along the slope of what the first tells, gains the most of what more of them would."""
NOISE = 1e-3
"""Of the direction: values that are alike are split somehow rather than shared."""
LEAST_SIDE = 1e-3
"""Where the slope of h is taken for f = 0 and 1, where it is infinite."""
LEAST_ENTRY = 1e-6
"""Of the people with a value, an output has at least so many or none: rounding to 2⁻³² must not move it by much."""
SETTLINGS = 6
"""Programs with smaller entries forced to 0, until none is left; a split that is not settled then is not used."""
NOTHING = 1e-12
"""A side with less of the mass is no split."""


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of p_x: the mass q·v[x] of an output at each of its values."""

    x: Integers
    mass: Vector

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", float(self.mass.sum()))

    q: float = 0.0

    def part(self, f: Vector) -> Piece:
        """The share f of every value."""
        some = f > 0
        return Piece(self.x[some], self.mass[some] * f[some])

    def entropy(self) -> float:
        """H(v), in nats."""
        v = self.mass / self.q
        return float(-(v * np.log(v)).sum())


@dataclass(frozen=True, eq=False)
class Split:
    """The best split that was found, and what it tells, in nats given the piece."""

    f: Vector
    told: float


class Halving:
    """Splits of pieces under rows G, for values with these codes in each column."""

    def __init__(self, G: sparse.csr_array, codes: Integers, p_x: Vector) -> None:
        self._G, self._codes, self._p_x = sparse.csc_array(G), codes, p_x
        self._rng = np.random.default_rng(0)

    def split(self, piece: Piece, decided: int, seconds: float, *, apart: bool) -> Split | None:
        """A split in which at most so many values are decided one by one; None if there is none that tells anything.

        The others go to one side together, which leaves few values on the other; or, `apart`, half of them to each. A
        program that takes longer than so many seconds is given up.
        """
        v, direction = piece.mass / piece.q, self._direction(piece)
        group = _groups(piece, decided, direction if apart else np.zeros(len(v)))
        member = sparse.csr_array((v, (np.arange(len(v)), group)))
        mass = np.bincount(group, weights=v).astype(np.float64)
        A = stricter(scaled(together(self._G[:, piece.x], member)))
        towards = np.bincount(group, weights=direction * v) / mass
        lower, least = np.zeros(len(mass)), np.zeros(len(mass))
        np.maximum.at(least, group, LEAST_ENTRY * self._p_x[piece.x] / piece.mass)
        if len(mass) > decided and not apart:
            lower[-1] = 1.0
        try:
            found = _best(A, mass, towards, lower, least, seconds)
        except SolverFailure:
            return None
        return None if found is None else Split(found.f[group], found.told)

    def _direction(self, piece: Piece) -> Vector:
        """Along the column that says most within the piece: up for values with about half of the mass, else down."""
        shares = [np.bincount(codes, weights=piece.mass) for codes in self._codes[piece.x].T]
        entropies = [-float((m[m > 0] / piece.q) @ np.log(m[m > 0] / piece.q)) for m in shares]
        column = int(np.argmax(entropies))
        side, filled = np.zeros(len(shares[column])), 0.0
        for value in np.argsort(-shares[column], kind="stable"):
            if filled + shares[column][value] / 2 <= piece.q / 2:
                side[value], filled = 1.0, filled + shares[column][value]
        towards = 2 * side[self._codes[piece.x, column]] - 1
        towards -= float(towards @ piece.mass) / piece.q
        return np.asarray(towards + NOISE * self._rng.normal(size=len(towards)))


def together(G: sparse.csc_array, member: sparse.csr_array) -> sparse.csr_array:
    """Rows in the f of groups: G·member, without what is only rounding error."""
    total, size = sparse.csr_array(G @ member), sparse.csr_array(abs(G) @ member)
    return sparse.csr_array(total.multiply(abs(total) > FEASIBLE * size))


def _groups(piece: Piece, decided: int, direction: Vector) -> Integers:
    """The number of each value's f: one of its own for the heaviest, the last ones for others along the direction."""
    group = decided + (direction > 0)
    heaviest = np.argsort(-piece.mass, kind="stable")[:decided]
    group[heaviest] = np.arange(len(heaviest))
    return np.asarray(np.unique(group, return_inverse=True)[1].ravel(), dtype=np.int64)


def _best(
    A: sparse.csr_array, mass: Vector, towards: Vector, lower: Vector, least: Vector, seconds: float
) -> Split | None:
    """The split of groups with these masses that tells most, sought from a direction."""
    whole = np.asarray(A.sum(axis=1)).ravel()
    program = LinearProgram(A, np.minimum(whole, 0.0), np.zeros(len(whole)), upper=1.0)
    program.give_up_after(seconds)
    best = None
    for _ in range(PROGRAMS):
        program.set_costs(-towards * mass / mass.max())
        f = settled(program, lower.copy(), least)
        q = float(f @ mass)
        if not NOTHING < q < 1 - NOTHING or breaks(A, f) or breaks(A, 1 - f):
            break
        told = float(_uncertain(np.array([q]))[0] - mass @ _uncertain(f))
        if best is None or told > best.told:
            best = Split(f, told)
        inside = f.clip(LEAST_SIDE, 1 - LEAST_SIDE)
        towards = np.log(inside / (1 - inside)) - np.log(q / (1 - q))
    return best


def settled(program: LinearProgram, lower: Vector, least: Vector) -> Vector:
    """The program's f ≥ lower where neither f nor 1 − f is positive and below `least`."""
    upper = np.ones(len(least))
    for _ in range(SETTLINGS):
        program.set_bounds(lower, upper)
        f = program.solve()[0].clip(lower, upper)
        none, all_of_it = (f < least) & (f > 0), (f > 1 - least) & (f < 1)
        if not (none | all_of_it).any():
            break
        upper[none], lower[all_of_it] = 0.0, 1.0
    return np.where(f < least, 0.0, np.where(f > 1 - least, 1.0, f))


def breaks(A: sparse.csr_array, f: Vector) -> bool:
    """Whether f misses a row by more than the search leaves room for."""
    return bool((A @ f > BROKEN_SHARE * (abs(A) @ f)).any())


def _uncertain(f: Matrix) -> Matrix:
    """H(f) = −f ln f − (1−f) ln(1−f)."""
    inside = f.clip(NOTHING, 1 - NOTHING)
    return np.asarray(-(inside * np.log(inside) + (1 - inside) * np.log(1 - inside)))


def stricter(A: sparse.csr_array) -> sparse.csr_array:
    """Rows without those of two values that another one of the same two implies: α f ≤ β f′ with the largest α/β."""
    A = sparse.csr_array(A)
    A.eliminate_zeros()
    entries = np.diff(A.indptr)
    two = np.flatnonzero(entries == 2)
    first, second = A.indptr[two], A.indptr[two] + 1
    upwards = A.data[first] > 0
    ratio = np.abs(np.where(upwards, A.data[first] / A.data[second], A.data[second] / A.data[first]))
    key = (A.indices[first].astype(np.int64) * A.shape[1] + A.indices[second]) * 2 + upwards
    order = np.lexsort((-ratio, key))
    strictest = np.ones(len(order), dtype=bool)
    strictest[1:] = key[order][1:] != key[order][:-1]
    return sparse.csr_array(A[np.sort(np.concatenate([np.flatnonzero(entries != 2), two[order[strictest]]]))])
