"""PairModel: a distribution made of small tables of whole numbers, from which everybody computes the same weights.

p(s, x) ∝ ∏_c T_c[s, x_c] / 2³⁰ over sets c of one or two columns. The weight of (s, x) *is* the whole number

    w(s, x) = ⌊ 2^exponent · ∏_c (T_c[s, x_c] · 2⁻³⁰) ⌋,

the product taken in float64 in the order of the tables. Multiplication in float64 is rounded in one way only, so the
weights are the same on every machine; and since every factor is at most 1, nothing above 1 ever underflows on the way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from privacyfunnel.distribution.model import product_size
from privacyfunnel.errors import InvalidJoint
from privacyfunnel.typing import Integers, Matrix, Vector

FACTOR_BITS = 30
"""Of an entry of a table, which is at most 2³⁰ and at least 1: no combination is impossible because of one pair."""
MOST_TOTAL = 2**61
"""Of all weights: sums of them, and twice as many, fit 64 bits."""
TOTAL_BITS = 60
"""All weights together are below 2⁶⁰, and at least half of that."""
MOST_EXPONENT = 900
"""2^900 is a float64, and so is what a thousand factors above 2⁻³⁰ leave of it, where that is at least 1."""


@dataclass(frozen=True, eq=False)
class PairModel:
    """A model of a secret with few values and of columns with sizes[j] values each."""

    sizes: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]
    """The columns of each table, in increasing order."""
    tables: tuple[Integers, ...]
    """tables[c][s, a] or [s, a, b], from 1 to 2³⁰."""
    exponent: int

    def __post_init__(self) -> None:
        product_size(self.sizes)
        if not self.tables or len(self.tables) != len(self.sets) or not 0 <= self.exponent <= MOST_EXPONENT:
            raise InvalidJoint("a model of pairs needs a table for each of its sets, and an exponent up to 900")
        n_s = len(self.tables[0])
        for own, table in zip(self.sets, self.tables, strict=True):
            known = all(0 <= j < len(self.sizes) for j in own) and list(own) == sorted(set(own)) and 1 <= len(own) <= 2
            if not known or table.shape != (n_s, *(self.sizes[j] for j in own)):
                raise InvalidJoint("a table of the model does not fit its columns")
            if table.dtype.kind != "i" or (table < 1).any() or (table > 2**FACTOR_BITS).any():
                raise InvalidJoint("an entry of the model is not a whole number from 1 to 2³⁰")

    @property
    def n_s(self) -> int:
        """The number of values of the secret."""
        return len(self.tables[0])

    def weights(self) -> Integers:
        """w[s, x] over all combinations in C order."""
        found = np.stack([self._weights_of(s) for s in range(self.n_s)])
        if found.sum(dtype=np.float64) >= MOST_TOTAL or not (found > 0).any(axis=1).all():
            raise InvalidJoint("the weights of the model are too large, or a value of the secret has none")
        return found

    def _weights_of(self, s: int) -> Integers:
        product = self.product(s)
        if float(product.max()) >= MOST_TOTAL:
            raise InvalidJoint("the weights of the model are too large")
        return product.astype(np.int64).ravel()

    def product(self, s: int) -> Matrix:
        """2^exponent · ∏_c (T_c[s, x_c] · 2⁻³⁰), with an axis for each column."""
        product = np.full(self.sizes, 2.0**self.exponent)
        for own, table in zip(self.sets, self.tables, strict=True):
            product *= (table[s] * 2.0**-FACTOR_BITS).reshape(self._axes(own))
        return product

    def _axes(self, own: tuple[int, ...]) -> tuple[int, ...]:
        """The shape in which a table of these columns stands beside all combinations."""
        return tuple(size if j in own else 1 for j, size in enumerate(self.sizes))

    def p_x(self, codes: Integers) -> Vector:
        """P(x), up to a factor."""
        return np.asarray(self._factors(codes).sum(axis=0))

    def p_s_given_x(self, codes: Integers) -> Matrix:
        """B[s, i] = P(s|x)."""
        factors = self._factors(codes)
        return np.asarray(factors / factors.sum(axis=0))

    def _factors(self, codes: Integers) -> Matrix:
        product = np.full((self.n_s, len(codes)), 2.0 ** min(self.exponent, MOST_EXPONENT))
        for own, table in zip(self.sets, self.tables, strict=True):
            chosen = np.stack([row[tuple(codes[:, j] for j in own)] for row in table])
            product *= chosen.astype(np.float64) * 2.0**-FACTOR_BITS
        return product


def whole_tables(tables: list[Matrix]) -> tuple[Integers, ...]:
    """Positive factors as whole numbers from 1 to 2³⁰, each table scaled to its own largest."""
    scaled = [table * (2.0**FACTOR_BITS / table.max()) for table in tables]
    return tuple(np.clip(np.rint(table), 1, 2**FACTOR_BITS).astype(np.int64) for table in scaled)


def pair_model(sizes: tuple[int, ...], sets: list[tuple[int, ...]], tables: list[Matrix]) -> PairModel:
    """The model of these positive factors, scaled so that all weights together are from 2⁵⁹ to 2⁶⁰."""
    unscaled = PairModel(sizes, tuple(sets), whole_tables(tables), MOST_EXPONENT)
    total = sum(float(unscaled.product(s).sum()) for s in range(unscaled.n_s))
    exponent = MOST_EXPONENT + TOTAL_BITS - math.frexp(total)[1]
    return replace(unscaled, exponent=min(MOST_EXPONENT, max(0, exponent)))
