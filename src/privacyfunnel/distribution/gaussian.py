"""Gaussian noise on tables of counts: which δ₀ it has at which ε₀, rounded upwards (proofs: docs/theory.md).

Every cell of K tables gets a whole number z with P(z) ∝ exp(−z²/2σ²), the discrete Gaussian. A record adds 1 to one
cell of each table. With noise z in these cells, tables without the record are exp(L) times as likely as with it,
L = (K − 2S)/2σ², S the sum of K such z. So for every set T of tables, P(T without) ≤ e^a P(T with) + δ, and the other
way round, where

    δ(a; K) = P(S < c) − e^a P(S < c − K),    c = K/2 − aσ².

S is a discrete Gaussian of variance s² = Kσ² up to FAR_LESS. Below −s its density is convex, so that a sum of it up to
k is at most the integral up to k + ½, and at least that up to k and half of the last term: what `delta_of` uses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from privacyfunnel.errors import InvalidInput
from privacyfunnel.numeric.information import LARGEST_LOG

LEAST_SIGMA, MOST_SIGMA = 5.0, 1e9
"""Of noise on a cell. From 5 on, sums of it are discrete Gaussian to 43 decimals."""
MOST_TABLES = 10_000
"""For which that was computed."""
FAR_LESS = 1e-43
"""By which the law of such a sum may differ."""
ROUNDED = 1e-9
"""Of the larger of two terms: far more than float64 makes of their difference."""
HALVINGS = 60
"""Of the interval that σ is sought in."""


@dataclass(frozen=True)
class GaussianNoise:
    """What the noise on a model's tables is, and how often what ε₀ says of it may fail."""

    sigma: float
    tables: int
    """K: in how many tables everybody is counted."""
    delta: float
    """δ₀: for the tables and rows released by them together, at ε₀."""
    choosing: float = 0.0
    """What was spent of ε₀ before, without a δ, on choosing columns."""

    @property
    def variance(self) -> float:
        """Of a cell, which is σ² but for 10⁻²⁰⁰ of it."""
        return self.sigma**2

    def kept(self, epsilon: float, level: float) -> bool:
        """Whether this much noise has this δ₀, for a promise of `level` about rows."""
        return needed_delta(self.sigma, self.tables, epsilon, level, self.choosing) <= self.delta

    def whatever_expected(self, records: int) -> float:
        """ε₁: but for a chance of δ₀ the tables are at most e^ε₁ times as likely with one record as with another.

        That is of all pairs of so many possible records at once, so it holds of what is expected after the tables were
        seen, too. Tables with record r and with r′ have likelihoods whose quotient is exp((S_r − S_r′)/σ²), S_r the sum
        of what they have in the cells of r beyond other people. That is the sum of K noises, and one more in each cell
        that r shares with the true record: so S_r − S_r′ is at most K above the sum of at most 2K noises.
        """
        from scipy.special import ndtr, ndtri

        s = self.sigma * math.sqrt(2 * self.tables)
        chance = self.delta / float(records) ** 2  # of each pair, in either order
        if chance <= 2 * FAR_LESS:
            return math.inf

        def enough(most: int) -> bool:
            return float(ndtr((0.5 - most) / s)) * (1 + ROUNDED) + FAR_LESS <= chance

        most = math.ceil(max(0.5 - s * float(ndtri(chance)), s + 0.5))  # the tail is bounded from s on
        while not enough(most):
            most += 1
        return (most - 1 + self.tables) / self.sigma**2 + self.choosing


def delta_of(a: float, sigma: float, coordinates: int) -> float:
    """δ(a; K) rounded upwards, for noise in K cells that are moved by 1 each; 1 where it is not small.

    >>> f"{delta_of(0.5, 45.5, 28):.3e}"  # continuous noise has 2.712e-07
    '2.717e-07'
    """
    from scipy.special import ndtr

    s = sigma * math.sqrt(coordinates)
    last = math.ceil(coordinates / 2 - a * sigma**2) - 1  # the largest whole number below c
    if last + 0.5 > -s:
        return 1.0
    x = (last - coordinates) / s
    one = float(ndtr((last + 0.5) / s))
    other = float(ndtr(x)) + math.exp(-x * x / 2) / math.sqrt(2 * math.pi) / (2 * s)
    return min(1.0, max(0.0, one - math.exp(a) * other) + ROUNDED * one + FAR_LESS * (1 + math.exp(a)))


def needed_delta(sigma: float, tables: int, epsilon: float, level: float, choosing: float = 0.0) -> float:
    """The δ₀ at which both theorems on everything published hold with ε₀ = `epsilon`: the larger of two.

    To those who know all other columns of a person, records are neighbours that differ in two cells of each table. To
    those who do not, the tables are compared with those without the record, there and back, around a row's promise.
    """
    left = epsilon - choosing
    there = delta_of(left / 2, sigma, tables)
    back = math.exp(min(left / 2 + level + choosing, LARGEST_LOG))
    return max(there * (1 + back), delta_of(left, sigma, 2 * tables))


def noise_for(tables: int, epsilon: float, delta: float, level: float, choosing: float = 0.0) -> GaussianNoise:
    """The least noise on K tables with this ε₀ and δ₀, for a promise of `level` about rows."""
    low, high = LEAST_SIGMA, LEAST_SIGMA
    while needed_delta(high, tables, epsilon, level, choosing) > delta:
        low, high = high, 2 * high
        if high > MOST_SIGMA or tables > MOST_TABLES:
            raise InvalidInput("no Gaussian noise has so small a δ₀ for these ε and ε₀; say delta = 0, or a larger one")
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        enough = needed_delta(middle, tables, epsilon, level, choosing) <= delta
        low, high = (low, middle) if enough else (middle, high)
    return GaussianNoise(high, tables, delta, choosing)
