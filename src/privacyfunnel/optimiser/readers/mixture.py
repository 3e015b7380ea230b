"""The sharpest mixture of given posteriors.

Of the weights w ≥ 0 with Σ w_v v = p and Σ w_v H(v) ≤ h, those with the least F(w) = Σ_k c_kᵀ N(w)⁻¹ c_k are sought,
for N(w) = Σ w_v r_v r_vᵀ, r_v = v/√p and c_k = √(ω_k p)∘ℓ_k: that is n·Σ ω_k (Var_k + f_k²). With z_k = N⁻¹ c_k and
a_v = Σ_k (z_k·r_v)², the slope of F along w_v is −a_v. At any w,

    F(w′) ≤ Σ_v w_v² a_v / w′_v          (c_k = Σ_v w_v (z_k·r_v) r_v is one way to write c_k in the r_v),

with equality at w′ = w: so the w′ that makes the right side least is better than w. It is w′_v = w_v √(a_v / λ_v) with
λ_v = y·v + μH(v) for prices y of values and μ of entropy, which Newton's method finds. Two such steps and a
longer one in the direction they show, kept if it is better, make a round.

Prices also bound: for any z, c ᵀN(w′)⁻¹c ≥ 2c·z − zᵀN(w′)z, so if a_v ≤ λ_v for every vertex v, no
mixture has less than 2 Σ c_k·z_k − ridge Σ|z_k|² − y·p − μh.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.optimiser.readers.systems import solved
from privacyfunnel.typing import Matrix, Vector

RIDGE = 1e-10
"""Added to N: a direction of p that is told less than this counts as if it were told so much, n·Var = 10¹⁰."""
LEAST_WEIGHT = 1e-15
"""Of a posterior, as a share of the most that the values leave it: below, only rounding errors are left."""
BARRIER = 1e-7
"""What keeps the price of entropy above 0, as a share of F: it costs the optimum as much."""
DECREMENT = 1e-12
"""Newton's method ends when a step would change its value by less, as a share of it."""
NEWTON_STEPS = 150
"""At most: from good prices three or four are needed, with many new posteriors of many values a hundred."""
CURVED = 1e-14
"""Added to the curvature, as a share of its mean: where nothing determines a price, it stays."""
INEXACT = 1e-3
"""Residual of the equations for a step of Newton's method, where these are many: the next step mends it."""
TO_THE_EDGE = 0.95
"""Of the way to where a price λ_v would be 0."""
SHORTEST = 1e-8
"""A shorter step is none."""
ARMIJO = 0.1
"""Of what the slope promises, what a step must bring."""
RUNAWAY = 1e12
"""Prices of entropy above this, as a multiple of F at full release, mean that no weights keep so much information."""
FIRST_LEAP, LONGEST_LEAP = 4.0, 64.0
"""How many times two steps are prolonged, at most: first, and after many leaps that were worth it."""
FARTHEST = 30.0
"""The most by which a leap may change the logarithm of a weight."""
LOWEST_PRICE = 1e-3
"""Of the largest λ_v: what prices are raised to, where new posteriors would have none."""


@dataclass(frozen=True, eq=False)
class Wish:
    """What is asked of a mixture: the shares c_k, and at most an entropy of h."""

    p_x: Vector
    C: Matrix
    h: float


@dataclass(frozen=True, eq=False)
class Prices:
    """y[x] of values, in units of 1/√p_x, and μ of entropy."""

    y: Vector
    entropy: float


@dataclass(frozen=True, eq=False)
class Variance:
    """F of a mixture, the z_k behind it, and the slopes a_v."""

    value: float
    Z: Matrix
    slopes: Vector


class Pool:
    """Posteriors to be mixed, in the units r = v/√p."""

    def __init__(self, wish: Wish, columns: Columns) -> None:
        self.wish, self.columns, self.root = wish, columns, np.sqrt(wish.p_x)
        used = columns.mass > 0
        r = (columns.mass / self.root[columns.support])[used]
        number = np.broadcast_to(np.arange(len(columns))[:, None], used.shape)[used]
        self.R = csr_array((r, (columns.support[used], number)), shape=(len(wish.p_x), len(columns)))
        self.RT = self.R.T.tocsr()
        self.H = columns.entropy()
        room = wish.p_x[columns.support] / np.where(used, columns.mass, 1.0)
        self.most: Vector = np.where(used, room, np.inf).min(axis=1)
        """The largest weight that each posterior can have: then a value is used up."""

    def variance(self, w: Vector, near: Matrix | None = None) -> Variance:
        """F(w) and its slopes."""
        Z = solved(self.R, w, RIDGE, self.wish.C, near)
        return Variance(float((self.wish.C * Z).sum()), Z, np.square(self.RT @ Z).sum(axis=1))

    def lambdas(self, prices: Prices) -> Vector:
        """λ_v = y·v + μH(v) of every posterior."""
        return np.asarray(self.RT @ prices.y + prices.entropy * self.H)

    def off(self, w: Vector) -> float:
        """How far Σ w_v v is from p, as the largest share of a value that is missing or too much."""
        return float((np.abs(self.root - self.R @ w) / self.root).max())

    def bound(self, sharp: Variance, prices: Prices, raised: float) -> float:
        """What no mixture is below, if raising the prices by so much in all leaves no posterior worth more than its."""
        ridge = RIDGE * float(np.square(sharp.Z).sum())
        return 2 * sharp.value - ridge - float(self.root @ prices.y) - prices.entropy * self.wish.h - raised

    def balanced(self, b: Vector, prices: Prices) -> tuple[Vector, Prices]:
        """The w that makes Σ b_v/w_v least, and the prices that go with it."""
        barrier = BARRIER * float((self.wish.C * self.wish.C).sum())
        newton = _Newton(self, np.sqrt(b), barrier)
        prices = newton.raised(prices)
        for _ in range(NEWTON_STEPS):
            following = newton.step(prices)
            if following is None:
                break
            prices = following
        return newton.weights(prices), prices

    def exactly(self, w: Vector) -> Vector:
        """The weights changed by small shares such that Σ w_v v = p to the last digits."""
        for _ in range(2):
            missing = self.root - self.R @ w
            x = solved(self.R, w, CURVED * float(w.sum()), missing[:, None])[:, 0]
            w = w * np.maximum(1 + self.RT @ x, 0.0)
        return w


class _Newton:
    """Newton's method on √p·y + μh − 2Σ √(b_v λ_v) − barrier·ln μ, convex in the prices y and μ."""

    def __init__(self, pool: Pool, root_b: Vector, barrier: float) -> None:
        self.pool, self.root_b, self.barrier = pool, root_b, barrier

    def raised(self, prices: Prices) -> Prices:
        """Prices at which every λ_v is positive."""
        lambdas = self.pool.lambdas(prices)
        least, floor = float(lambdas.min()), LOWEST_PRICE * float(np.abs(lambdas).max())
        return prices if least > 0 else replace(prices, y=prices.y + (floor - least) * self.pool.root)

    def weights(self, prices: Prices) -> Vector:
        return np.asarray(self.root_b / np.sqrt(self.pool.lambdas(prices)))

    def value(self, prices: Prices, lambdas: Vector) -> float:
        linear = float(self.pool.root @ prices.y) + prices.entropy * self.pool.wish.h
        return linear - 2 * float(self.root_b @ np.sqrt(lambdas)) - self.barrier * float(np.log(prices.entropy))

    def step(self, prices: Prices) -> Prices | None:
        """The next prices; None when these are best."""
        pool, lambdas = self.pool, self.pool.lambdas(prices)
        if prices.entropy > RUNAWAY * self.barrier / BARRIER:
            return None
        w = self.root_b / np.sqrt(lambdas)
        slope = pool.root - pool.R @ w
        slope_entropy = pool.wish.h - float(pool.H @ w) - self.barrier / prices.entropy
        d = w / (2 * lambdas)
        across = pool.R @ (d * pool.H)
        own = float((d * pool.H * pool.H).sum()) + self.barrier / prices.entropy**2
        ridge = CURVED * float((d * np.square(pool.R.data).sum() / len(d)).sum()) / len(slope)
        both = solved(pool.R, d, ridge, np.stack([slope, across], axis=1), residual=INEXACT)
        move = -(slope_entropy - across @ both[:, 0]) / (own - across @ both[:, 1])
        moves = Prices(-both[:, 0] - both[:, 1] * move, float(move))
        gain = -float(slope @ moves.y + slope_entropy * moves.entropy)
        here = self.value(prices, lambdas)
        if not gain > DECREMENT * abs(here):
            return None
        return self._along(prices, moves, lambdas, here, gain)

    def _along(self, prices: Prices, moves: Prices, lambdas: Vector, here: float, gain: float) -> Prices | None:
        """As far as it pays, and not beyond where a price would be 0."""
        change = self.pool.lambdas(moves)
        falling = change < 0
        far = float((lambdas[falling] / -change[falling]).min(initial=np.inf))
        if moves.entropy < 0:
            far = min(far, prices.entropy / -moves.entropy)
        length = min(1.0, TO_THE_EDGE * far)
        while length > SHORTEST:
            there = Prices(prices.y + length * moves.y, prices.entropy + length * moves.entropy)
            found = self.pool.lambdas(there)  # where prices are large, not quite lambdas + length * change
            if found.min() > 0 and self.value(there, found) <= here - ARMIJO * length * gain:
                return there
            length /= 2
        return None


@dataclass(frozen=True, eq=False)
class Mixed:
    """Weights of the posteriors of a pool, their variances, prices, and how far the next leap may go."""

    pool: Pool
    w: Vector
    sharp: Variance
    prices: Prices
    leap: float = FIRST_LEAP

    @classmethod
    def start(cls, pool: Pool, w: Vector, prices: Prices | None = None, near: Matrix | None = None) -> Mixed:
        """From positive weights that need not add up to anything: the first step mends that."""
        sharp = pool.variance(w, near)
        first = Prices(sharp.value * pool.root, sharp.value) if prices is None else prices

        w, first = pool.balanced(w * w * sharp.slopes, first)
        w = np.maximum(w, LEAST_WEIGHT * pool.most)
        return cls(pool, w, pool.variance(w, sharp.Z), first)

    def stepped(self, w: Vector, sharp: Variance) -> tuple[Vector, Prices]:
        floor = LEAST_WEIGHT * self.pool.most
        w, prices = self.pool.balanced(w * w * sharp.slopes, self.prices)
        return np.maximum(w, floor), prices

    def round(self) -> Mixed:
        """Two steps, and a leap in the direction that they show if that is better."""
        pool = self.pool
        one, _ = self.stepped(self.w, self.sharp)
        sharp_one = pool.variance(one, self.sharp.Z)
        two, prices = self.stepped(one, sharp_one)
        sharp_two = pool.variance(two, sharp_one.Z)
        plain = Mixed(pool, two, sharp_two, prices, max(FIRST_LEAP, self.leap / 2))
        first, turn = np.log(one / self.w), np.log(two / one) - np.log(one / self.w)
        length = np.sqrt(float(two @ np.square(first)) / max(float(two @ np.square(turn)), np.finfo(float).tiny))
        length = min(max(1.0, length), self.leap)
        far = np.exp(np.clip(2 * length * first + length**2 * turn, -FARTHEST, FARTHEST))
        leapt = np.clip(self.w * far, LEAST_WEIGHT * pool.most, pool.most)
        w, prices = replace(plain, leap=self.leap).stepped(leapt, pool.variance(leapt, sharp_two.Z))
        sharp = pool.variance(w, sharp_two.Z)
        if sharp.value < sharp_two.value:
            return Mixed(pool, w, sharp, prices, min(2 * self.leap, LONGEST_LEAP))
        return plain
