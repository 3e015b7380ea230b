"""Channel: P(y|x) as exact multiples of 2⁻³², stored by column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from privacyfunnel.errors import InvalidChannel
from privacyfunnel.typing import Integers, Matrix

BITS = 32
"""Rounding then costs next to nothing, and one random word of 64 bits draws an output exactly."""
UNIT = 2**BITS
"""Every probability is an integer over UNIT; float64 holds such numbers exactly."""
DENSE_LIMIT = 200_000_000
"""Numbers of a dense matrix: 1.6 gigabytes."""


@dataclass(frozen=True, eq=False)
class Channel:
    """Column x lists its outputs `outputs[starts[x]:starts[x+1]]` with `numerators` that sum to 2³².

    >>> Channel.from_dense([[0.5, 0.0], [0.5, 1.0]]).numerators.tolist()
    [2147483648, 2147483648, 4294967296]
    """

    n_outputs: int
    starts: Integers
    outputs: Integers
    numerators: Integers

    def __post_init__(self) -> None:
        starts, outputs, numerators = self.starts, self.outputs, self.numerators
        if starts.ndim != 1 or len(starts) < 2 or starts[0] != 0 or (np.diff(starts) <= 0).any():
            raise InvalidChannel("a channel needs at least one input, each with an output")
        if not starts[-1] == len(outputs) == len(numerators):
            raise InvalidChannel("the channel's columns and its entries do not fit together")
        if outputs.min() < 0 or outputs.max() >= self.n_outputs:
            raise InvalidChannel(f"an output lies outside 0…{self.n_outputs - 1}")
        if numerators.min() <= 0 or numerators.max() > UNIT:
            raise InvalidChannel("an entry lies outside (0, 1]")
        inputs = self.inputs
        if ((np.diff(inputs) == 0) & (np.diff(outputs) <= 0)).any():
            raise InvalidChannel("the outputs of a column are not in increasing order")
        off = np.flatnonzero(np.add.reduceat(numerators, starts[:-1]) != UNIT)
        if off.size:
            raise InvalidChannel(f"{off.size} columns do not sum to exactly 1 (first: column {off[0]})")
        for frozen in (starts, outputs, numerators):
            frozen.setflags(write=False)

    @classmethod
    def from_dense(cls, matrix: ArrayLike) -> Channel:
        """From floats Q[y, x] that are multiples of 2⁻³²."""
        try:
            Q = np.asarray(matrix)
            Q = Q.astype(np.float64) if Q.dtype.kind in "biuf" else np.empty(0)
        except ValueError:
            Q = np.empty(0)
        if Q.ndim != 2 or not np.isfinite(Q).all():
            raise InvalidChannel("a channel is a matrix of finite numbers Q[y, x]")
        if (np.abs(Q) > 1).any() or (np.rint(Q * UNIT) != Q * UNIT).any():
            raise InvalidChannel("an entry is not a probability that is a multiple of 2**-32")
        return cls.from_numerators((Q * UNIT).astype(np.int64))

    @classmethod
    def from_numerators(cls, numerators: Integers) -> Channel:
        """From integers N[y, x] = 2³²·P(y|x)."""
        inputs, outputs = np.nonzero(numerators.T)
        return cls.from_entries(inputs, outputs, numerators.T[inputs, outputs], numerators.shape)

    @classmethod
    def from_entries(cls, inputs: Integers, outputs: Integers, numerators: Integers, shape: tuple[int, int]) -> Channel:
        """From triples (x, y, 2³²·P(y|x)), each pair once; `shape` is (outputs, inputs)."""
        order = np.lexsort((outputs, inputs))
        starts = np.searchsorted(inputs[order], np.arange(shape[1] + 1))
        return cls(shape[0], starts.astype(np.int64), outputs[order].astype(np.int64), numerators[order])

    def with_outputs_in(self, order: Integers) -> Channel:
        """The same channel with output order[i] renamed to i."""
        rank = np.empty(self.n_outputs, dtype=np.int64)
        rank[order] = np.arange(self.n_outputs)
        shape = (self.n_outputs, self.n_inputs)
        return Channel.from_entries(self.inputs, rank[self.outputs], self.numerators, shape)

    @property
    def n_inputs(self) -> int:
        """The number of columns."""
        return len(self.starts) - 1

    @cached_property
    def inputs(self) -> Integers:
        """The column of every entry."""
        return np.repeat(np.arange(self.n_inputs), np.diff(self.starts))

    def dense(self) -> Matrix:
        """Q[y, x] = P(y|x) in float64, exactly."""
        if self.n_outputs * self.n_inputs > DENSE_LIMIT:
            raise InvalidChannel(
                f"a dense {self.n_outputs} × {self.n_inputs} matrix would not fit; use the channel's entries"
            )
        Q = np.zeros((self.n_outputs, self.n_inputs))
        Q[self.outputs, self.inputs] = self.numerators / UNIT
        return Q
