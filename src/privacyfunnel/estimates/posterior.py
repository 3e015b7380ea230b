"""The posterior of the original values given released rows: weights with which any model can be fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.column import values_of
from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.measuring import MOST_NUMBERS, Meter
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.reading_back import Tally, outputs_of_rows
from privacyfunnel.typing import Integers, Matrix, Vector

NEGLIGIBLE = 1e-6
"""Probabilities below this are left out of weighted tables, and the rest scaled up."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """P(X = x | Y = y) for the released rows, under the most likely distribution of X."""

    attributes: tuple[str, ...]
    values: NDArray[Any]
    """values[x, j]: the value of attribute j that x stands for."""
    p_x: Vector
    """The estimated P(x)."""
    given: Matrix
    """given[i, x] = P(x | y), for the i-th of the combinations of outputs that occur."""
    row: Integers
    """row[r]: which of these combinations the released row r is."""

    def weighted(self) -> dict[str, NDArray[Any]]:
        """Columns of a table with all values that each released row may have come from, and their weights.

        `row` is the number of the released row, `weight` its P(x|y); the weights of a row sum to 1. Fit a model on
        the attributes with `weight` as sample weight.
        """
        likely = self.given >= NEGLIGIBLE
        if float(likely.sum(axis=1)[self.row].sum()) > MOST_NUMBERS:
            raise InvalidInput("the weighted table would be too large; take a sample of the released rows")
        combination, x = np.nonzero(likely)
        weight = (self.given / np.where(likely, self.given, 0.0).sum(axis=1, keepdims=True))[combination, x]
        counts = likely.sum(axis=1)
        first = np.cumsum(counts) - counts
        length = counts[self.row]
        place = np.repeat(first[self.row] - (np.cumsum(length) - length), length) + np.arange(length.sum())
        columns = {name: self.values[x[place], j] for j, name in enumerate(self.attributes)}
        return {"row": np.repeat(np.arange(len(self.row)), length), **columns, "weight": weight[place]}


def posterior(released: Any, protocol: Protocol, *, delimiter: str | None = None, encoding: str = "utf-8") -> Posterior:
    """What each released row says of the original one, with P(x) estimated from all of them.

    P(x|y) = Q[y, x] p̂(x) / Σ Q[y, x′] p̂(x′), with p̂ the most likely distribution. Where the released rows do not
    tell P(x), this rests on the model: on p̂ being the likely distribution nearest to the uniform one.
    """
    if not isinstance(protocol, Protocol):
        raise InvalidInput(f"posterior needs a Protocol, not {type(protocol).__name__}")
    y = outputs_of_rows(protocol, released, delimiter=delimiter, encoding=encoding)
    different, row, counts = np.unique(y, axis=0, return_inverse=True, return_counts=True)
    scorers = [Scorer(block) for block in protocol.blocks]
    shape = [scorer.n_inputs for scorer in scorers]
    likely = Meter(Tally(different, counts), scorers).likely(range(len(scorers)))
    if likely is None or len(different) * likely.size > MOST_NUMBERS:
        raise InvalidInput(f"{' × '.join(map(str, shape))} values of X are too many for weights of every one")
    p = likely.ravel()
    likelihood = np.ones((len(different), 1))
    for k, scorer in enumerate(scorers):
        own = scorer.Q[different[:, k]].toarray()
        likelihood = (likelihood[:, :, None] * own[:, None, :]).reshape(len(different), -1)
    given = likelihood * p
    given /= given.sum(axis=1, keepdims=True)
    inputs = np.indices(shape).reshape(len(shape), -1)
    codes = [block.codes[x] for block, x in zip(protocol.blocks, inputs, strict=True)]
    columns = [column for block in protocol.blocks for column in block.columns]
    return Posterior(protocol.attributes, values_of(columns, np.concatenate(codes, axis=1)), p, given, row.ravel())
