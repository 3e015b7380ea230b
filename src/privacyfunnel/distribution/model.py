"""Model: anything that says how likely combinations of values are, and how they go with the secret."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from privacyfunnel.errors import InvalidJoint
from privacyfunnel.typing import Integers, Matrix, Vector

MOST_CELLS = 10_000_000
"""Combinations of values that are laid out one by one: 80 MB for every number that each of them has."""
AT_ONCE = 1 << 18
"""Combinations that a model is asked for at a time: some megabytes."""
UNITS = 2.0**60
"""A probability becomes a whole number of these: their sum fits 64 bits, and 1e-18 is less than anybody has."""


class Model(Protocol):
    """P(x) and P(s|x) over a finite domain, of combinations that are numbered codes[i, j] by column."""

    def p_x(self, codes: Integers) -> Vector:
        """P(x) of each combination, up to a factor that is the same for all of them."""

    def p_s_given_x(self, codes: Integers) -> Matrix:
        """B[s, i] = P(s|x) of each combination."""


def product_size(sizes: Sequence[int]) -> int:
    """How many combinations there are; refuses more than can be laid out."""
    cells = math.prod(sizes)
    if cells > MOST_CELLS:
        raise InvalidJoint(
            f"the columns have {cells:,} combinations of values, and at most {MOST_CELLS:,} can be laid out: "
            "use fewer columns, wider ranges (bins) or fewer values (top)"
        )
    return cells


def combinations_at(sizes: Sequence[int]) -> Iterator[Integers]:
    """All combinations codes[i, j] in C order, some at a time."""
    cells = product_size(sizes)
    for start in range(0, cells, AT_ONCE):
        numbers = np.arange(start, min(start + AT_ONCE, cells))
        yield np.stack(np.unravel_index(numbers, tuple(sizes)), axis=1).astype(np.int64)


def weights_of(model: Model, sizes: Sequence[int]) -> Integers:
    """Whole weights[s, x] ∝ p(s, x) over all combinations: multiples of 2⁻⁶⁰, rounded up, so none is lost."""
    parts = [_probabilities(model, codes) for codes in combinations_at(sizes)]
    if len({len(part) for part in parts}) != 1:
        raise InvalidJoint("the model gives P(s|x) for different numbers of secrets")
    total = math.fsum(float(part.sum()) for part in parts)
    if total <= 0:
        raise InvalidJoint("the model's distribution is zero everywhere")
    return np.concatenate([np.ceil(part * (UNITS / total)).astype(np.int64) for part in parts], axis=1)


def _probabilities(model: Model, codes: Integers) -> Matrix:
    """P(s, x) of some combinations, checked."""
    p_x = np.asarray(model.p_x(codes), dtype=np.float64)
    B = np.asarray(model.p_s_given_x(codes), dtype=np.float64)
    if p_x.shape != (len(codes),) or B.ndim != 2 or B.shape[1] != len(codes):
        raise InvalidJoint(f"the model gives arrays of shapes {p_x.shape} and {B.shape} for {len(codes)} combinations")
    if not (np.isfinite(p_x).all() and np.isfinite(B).all()) or (p_x < 0).any() or (B < 0).any():
        raise InvalidJoint("the model gives probabilities that are negative or no numbers")
    if not np.allclose(B.sum(axis=0), 1.0):
        raise InvalidJoint("the model's P(s|x) do not sum to 1 over the values of the secret")
    return np.asarray(p_x * B)
