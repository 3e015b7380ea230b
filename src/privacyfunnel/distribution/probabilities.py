"""Probabilities: exact weights of secrets and values, checked, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.column import Column, Reading, values_of
from privacyfunnel.distribution.labels import labels_of
from privacyfunnel.errors import InvalidJoint
from privacyfunnel.numeric.exact import exact_weights
from privacyfunnel.numeric.information import entropy
from privacyfunnel.typing import Exact, Integers, Matrix, Vector

SMALLEST_PROBABILITY = 1e-290
"""Below this, quotients of probabilities leave the range of float64."""


class Probabilities:
    """weights[s, x] ∝ p(s, x), which values s and x stand for, and what follows from these alone."""

    weights: Exact
    """weights[s, x] ∝ p(s, x), exact integers."""
    p: Matrix
    """p[s, x] = P(s, x)."""
    codes: Integers
    """codes[x, j]: the number of the value that x has for attribute j."""
    columns: tuple[Column, ...]
    """For every attribute, its values and how a table's column becomes them."""
    secret: str
    secret_values: tuple[Hashable, ...]
    secret_columns: tuple[Column, ...] = ()
    """How the secret was read, if it was read from a table."""
    secret_parts: tuple[str, ...] = ()
    """The names of several secrets whose values together are the secret's, where they were not read from a table."""
    counted: bool
    """Whether the weights are numbers of people (rather than probabilities)."""

    def _settle(
        self,
        flat: NDArray[Any],
        codes: Integers,
        columns: tuple[Column, ...],
        secret: str,
        secret_values: Sequence[Hashable] | None,
    ) -> None:
        """Check once, freeze, and keep exact weights beside float probabilities."""
        c, n_x = flat.shape
        if n_x == 0 or c == 0:
            raise InvalidJoint("the distribution is zero everywhere")
        empty = np.flatnonzero(~(flat > 0).any(axis=1))
        if empty.size:
            raise InvalidJoint(
                f"{empty.size} of {c} values of the secret never occur (first: number {empty[0]}); drop them"
            )
        self.codes, self.columns, self.secret = codes, columns, secret
        self.secret_values = labels_of(secret_values, c)
        self.weights, self.counted = exact_weights(flat)
        # Scaled first, so that neither huge counts nor tiny probabilities leave the range of float64.
        scaled = (flat / flat.max()).astype(np.float64)
        self.p = scaled / scaled.sum()
        if min(self.p_x.min(), self.p_s.min()) < SMALLEST_PROBABILITY:
            raise InvalidJoint(f"a value has probability below {SMALLEST_PROBABILITY}; drop it or merge it")
        for array in (self.weights, self.codes, self.p):
            frozen(array)

    @property
    def combinations(self) -> int:
        """How many combinations of the attributes' values there are, whether anybody has them or not."""
        return math.prod(len(column) for column in self.columns)

    @property
    def secret_names(self) -> tuple[str, ...]:
        """The names of the secrets that the secret consists of: one, or several."""
        return tuple(column.name for column in self.secret_columns) or self.secret_parts or (self.secret,)

    @property
    def secret_readings(self) -> tuple[Reading, ...]:
        """How the columns of the secret were read, without their values."""
        return tuple(column.reading() for column in self.secret_columns)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def values(self) -> NDArray[Any]:
        """values[x, j]: the value of attribute j that x stands for."""
        return frozen(values_of(self.columns, self.codes))

    @property
    def n_s(self) -> int:
        """c, the number of values of the secret."""
        return int(self.weights.shape[0])

    @property
    def n_x(self) -> int:
        """The number of values of X with positive probability."""
        return int(self.weights.shape[1])

    @cached_property
    def p_s(self) -> Vector:
        """P(s)."""
        return frozen(np.asarray(self.p.sum(axis=1)))

    @cached_property
    def p_x(self) -> Vector:
        """P(x), over the support of X."""
        return frozen(np.asarray(self.p.sum(axis=0)))

    @cached_property
    def p_s_given_x(self) -> Matrix:
        """B[s, x] = P(s | x)."""
        return frozen(self.p / self.p_x)

    @cached_property
    def p_x_given_s(self) -> Matrix:
        """P(x | s), at [s, x]."""
        return frozen(self.p / self.p_s[:, None])

    @property
    def total(self) -> int:
        """The sum of the exact weights; the number of people, if `counted`."""
        return int(self.weights.sum())

    @cached_property
    def entropy(self) -> float:
        """H(X) in nats: what would be kept if X itself were released."""
        return max(0.0, float(entropy(self.p_x)))


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, which nobody can write to any more."""
    array.setflags(write=False)
    return array
