"""Two secrets: the best mixture in closed form, after one sort.

With two secrets a promise says L ≤ P(S=1|y) ≤ U, and a posterior is extreme if it is a single value inside,
or a pair of values that straddles a boundary and is mixed to lie on it. Sort the values by t = P(S=1|x).
The best mixture has two thresholds: values below the lower one serve as partners, on U, of values that are
too high but below the upper one; values above the upper one serve, on L, as partners of the other values that
are too low. On each boundary the pairs form a staircase, far with near. The thresholds are where the charges
on both boundaries balance. What is inside and not needed is released as it is.

The bound does not rest on any of this. Prices follow from the staircases, and are then held against every
pair on every boundary, and lowered where they are too high.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.state import Search, State
from privacyfunnel.optimiser.program.supports import candidates
from privacyfunnel.optimiser.program.tolerances import GONE, ROUNDINGS
from privacyfunnel.optimiser.two_secrets.low_and_high import Sides, pencils
from privacyfunnel.optimiser.two_secrets.staircase import least_over_partners, staircase
from privacyfunnel.typing import Integers, Vector

PAIR_VALUES = 10_000
"""With more candidates than this, the best mixture is written down in closed form instead of listing them."""
BISECTIONS = 200
"""Halvings: they end when no float64 lies between; only a threshold nearer to 0 than 2⁻²⁰⁰ takes more."""


def can_pair(state: Search) -> bool:
    """Whether there are two secrets and nothing known beforehand, and too many pairs to list them first."""
    return state.one_view and state.rank == 2 and candidates(state.polytope, 2) > PAIR_VALUES


def pair_values(state: Search) -> str:
    """Keep the best mixture, and bound all others by prices held against all pairs."""
    sides = Sides.of(state.polytope)
    mixture = _mixture(sides)
    state.keep(*mixture.columns(sides))
    priced_pairs(state.outer, state)
    state.report()
    return f"two secrets: {sides.n:,} posteriors sorted and paired on the boundaries, every pair priced"


def priced_pairs(polytope: Polytope, state: State) -> Vector | None:
    """Lower the bound to what a larger polytope of this kind allows; the prices it rests on, if there are any."""
    sides = Sides.around(polytope)
    with np.errstate(all="ignore"):  # prices that are no numbers bound nothing
        y, least = _checked_prices(sides, _mixture(sides).prices)
    if not (np.isfinite(y).all() and np.isfinite(least)):
        return None
    y = sides.unsorted(y)
    state.bound(y, least)
    return y


def bound_by_pairs(state: Search) -> list[Integers]:
    """Lower the bound to the least that any pencil of rows allows by itself: more rows allow less.

    The pencils, with the one that allows least first.
    """
    found = pencils(state.outer)
    allowed = []
    for rows in found:
        alone = State(state.p_x, state.entropy, state.gap, None, None, state.interrupted)
        priced_pairs(state.outer.with_rows(rows), alone)
        allowed.append(alone.upper_bound)
        if state.stopped():
            break
    state.lower(min(allowed, default=state.upper_bound))
    return [found[i] for i in np.argsort(allowed, kind="stable")]


@dataclass(frozen=True, eq=False)
class _Mixture:
    """Pairs (i, j) with the masses they take, and prices of all values; what is left of a value stays single."""

    i: Integers
    j: Integers
    mass_i: Vector
    mass_j: Vector
    prices: Vector

    @classmethod
    def empty(cls, sides: Sides) -> _Mixture:
        none = np.empty(0, dtype=np.int64)
        return cls(none, none, np.empty(0), np.empty(0), np.zeros(sides.n))

    def columns(self, sides: Sides) -> tuple[Columns, Vector]:
        """The pairs and singles as posteriors, and their probabilities."""
        used = np.flatnonzero((self.mass_i > 0) & (self.mass_j > 0))
        q = (self.mass_i + self.mass_j)[used]
        taken = np.bincount(self.i, self.mass_i, sides.n) + np.bincount(self.j, self.mass_j, sides.n)
        inside = np.arange(sides.n_low, sides.n - sides.n_high)
        left = (sides.p - taken)[inside]
        single = inside[left > GONE * sides.p[inside]]
        pairs = Columns(
            sides.order[np.stack([self.i, self.j], axis=1)[used]],
            np.stack([self.mass_i[used] / q, self.mass_j[used] / q], axis=1),
        )
        singles = Columns(sides.order[single][:, None], np.ones((len(single), 1)))
        return Columns.join([pairs, singles]), np.concatenate([q, (sides.p - taken)[single]])


def _mixture(sides: Sides) -> _Mixture:
    """Staircases on both boundaries between the thresholds, and the prices that make all their pairs worth it."""
    if sides.n_low + sides.n_high == 0:
        return _Mixture.empty(sides)
    low, high = _thresholds(sides)
    first_high, last = sides.n - sides.n_high, sides.n - 1
    # What lies on a boundary is nobody's partner there.
    at_low = min(int(low), int((sides.above < 0).sum()) - 1)
    at_high = max(last - int(high), sides.n - int((sides.below < 0).sum()))
    share_low, share_high = min(1.0, low - at_low), min(1.0, high - (last - at_high))
    prices = np.zeros(sides.n)
    on_upper = on_lower = None
    if at_high >= first_high:  # some values are paired on the upper boundary, from the nearest to the farthest
        on_upper = _Stairs.on(
            sides.above,
            sides.p,
            np.arange(first_high, at_high + 1),
            np.arange(at_low + 1),
            1 - share_high,
            share_low,
        )
    if at_low < sides.n_low:
        on_lower = _Stairs.on(
            sides.below,
            sides.p,
            np.arange(sides.n_low - 1, at_low - 1, -1),
            np.arange(sides.n - 1, at_high - 1, -1),
            1 - share_low,
            share_high,
        )
    shift_upper = shift_lower = 0.0
    if on_upper and on_lower:  # both thresholds are values that are paired on both boundaries, at one price
        a, b = on_upper.d[-1], on_upper.e[-1]  # of the upper threshold, of the lower one
        c, d = on_lower.d[-1], on_lower.e[-1]  # of the lower threshold, of the upper one
        matrix = np.array([[b, c], [a, d]])
        sides_equal = np.array([b * on_upper.w[-1] - c * on_lower.z[-1], d * on_lower.w[-1] - a * on_upper.z[-1]])
        shift_upper, shift_lower = np.linalg.solve(matrix, sides_equal)
    elif on_upper:
        shift_upper = on_upper.w[-1]  # the last partner is also released as it is, at no cost
    elif on_lower:
        shift_lower = on_lower.w[-1]
    parts = [(stairs, shift) for stairs, shift in ((on_upper, shift_upper), (on_lower, shift_lower)) if stairs]
    for stairs, shift in parts:
        prices[stairs.i_values] = stairs.d * (stairs.z + shift)
        prices[stairs.j_values] = stairs.e * (stairs.w - shift)
    return _Mixture(
        np.concatenate([stairs.i_values[stairs.left] for stairs, _ in parts]),
        np.concatenate([stairs.j_values[stairs.right] for stairs, _ in parts]),
        np.concatenate([stairs.charge / stairs.d[stairs.left] for stairs, _ in parts]),
        np.concatenate([stairs.charge / stairs.e[stairs.right] for stairs, _ in parts]),
        prices,
    )


@dataclass(frozen=True, eq=False)
class _Stairs:
    """A staircase on one boundary: values over it against values under it, the thresholds last."""

    i_values: Integers
    j_values: Integers
    d: Vector
    e: Vector
    left: Integers
    right: Integers
    charge: Vector
    z: Vector
    w: Vector

    @classmethod
    def on(
        cls, over: Vector, p: Vector, i_values: Integers, j_values: Integers, last_i: float, last_j: float
    ) -> _Stairs:
        """`last_i` and `last_j` are the shares that the last values give to this boundary."""
        d, e = over[i_values], -over[j_values]
        charge_d, charge_e = p[i_values] * d, p[j_values] * e
        charge_d[-1] *= last_i
        charge_e[-1] *= last_j
        return cls(i_values, j_values, d, e, *staircase(d, e, charge_d, charge_e))


def _thresholds(sides: Sides) -> tuple[float, float]:
    """How many values from the left serve on the upper boundary, and from the right on the lower one.

    Fractions are shares of a value. With more from the left, the upper boundary has more charge to give, the
    lower one needs less and so takes less from the right: what the upper one gives less what it needs grows.
    """
    p, n = sides.p, sides.n
    gives_upper = _running(p * np.maximum(-sides.above, 0))
    needs_lower = _running(p * np.maximum(sides.below, 0))
    gives_lower = _running((p * np.maximum(-sides.below, 0))[::-1])
    needs_upper = _running((p * np.maximum(sides.above, 0))[::-1])
    places = np.arange(n + 1.0)

    def from_right(low: float) -> float:
        need = needs_lower[-1] - np.interp(low, places, needs_lower)
        return float(_inverse(gives_lower[: n - sides.n_low + 1], need))

    def surplus(low: float) -> float:
        need = needs_upper[-1] - np.interp(from_right(low), places, needs_upper)
        return float(np.interp(low, places, gives_upper) - need)

    low, high = 0.0, float(n - sides.n_high)
    if surplus(low) >= 0:
        return low, from_right(low)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if surplus(middle) < 0 else (low, middle)
    return high, from_right(high)


def _running(values: Vector) -> Vector:
    return np.concatenate([[0.0], np.cumsum(values)])


def _inverse(running: Vector, wanted: float) -> float:
    """Where a running total first reaches `wanted`; its end, if it never does."""
    at = int(np.searchsorted(running, wanted, side="left"))
    if at == 0:
        return 0.0
    if at == len(running):
        return float(at - 1)
    return float(at - 1 + (wanted - running[at - 1]) / (running[at] - running[at - 1]))


def _checked_prices(sides: Sides, prices: Vector) -> tuple[Vector, float]:
    """Prices y with H(v) − y·v ≥ least for every single value and every pair; `least` is rounding error alone.

    Lowering a price keeps what holds already, so each boundary is seen to in turn.
    """
    y = prices.copy()
    inside = slice(sides.n_low, sides.n - sides.n_high)
    y[inside] = np.minimum(y[inside], 0.0)
    least = 0.0
    for over in (sides.above, sides.below):
        i, j = np.flatnonzero(over > 0), np.flatnonzero(over < 0)
        if not len(i) or not len(j):
            continue
        i, j = i[np.argsort(over[i], kind="stable")], j[np.argsort(-over[j], kind="stable")]
        d, e = over[i], -over[j]
        w = y[j] / e
        most = least_over_partners(d, e, w)
        # A row is as wrong as its own entries and, since its partner is sought between others', as theirs.
        doubt = 2 * ROUNDINGS * (1 + np.log2(len(i))) * (np.abs(most) + 2 * np.abs(w).max())
        y[i] = np.minimum(y[i], d * most)
        least = min(least, -float((d * doubt.max()).max()))
    return y, least
