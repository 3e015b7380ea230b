"""The posterior of the original values given released rows: weights with which any model can be fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from privacyfunnel.distribution.column import values_of
from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.measuring import MOST_MODELLED, MOST_NUMBERS, Meter
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.reading_back import Tally, as_published, outputs_of_rows
from privacyfunnel.typing import Integers, Vector

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
    given: csr_array
    """given[i, x] = P(x | y), for the i-th of the combinations of outputs that occur: a sparse matrix of SciPy."""
    row: Integers
    """row[r]: which of these combinations the released row r is."""

    def weighted(self) -> dict[str, NDArray[Any]]:
        """Columns of a table with all values that each released row may have come from, and their weights.

        `row` is the number of the released row, `weight` its P(x|y); the weights of a row sum to 1. Fit a model on
        the attributes with `weight` as sample weight.
        """
        likely = self.given.copy()
        likely.data[likely.data < NEGLIGIBLE] = 0.0
        likely.eliminate_zeros()
        counts = np.diff(likely.indptr)
        if float(counts[self.row].sum()) > MOST_NUMBERS:
            raise InvalidInput("the weighted table would be too large; take a sample of the released rows")
        weight, x = likely.data / np.repeat(likely.sum(axis=1), counts), likely.indices
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
    protocol = as_published(protocol, released, delimiter=delimiter, encoding=encoding)
    y = outputs_of_rows(protocol, released, delimiter=delimiter, encoding=encoding)
    different, row, counts = np.unique(y, axis=0, return_inverse=True, return_counts=True)
    scorers = [Scorer(block) for block in protocol.blocks]
    shape = [scorer.n_inputs for scorer in scorers]
    check_weights(different, scorers)
    likely = Meter(Tally(different, counts), scorers).likely(range(len(scorers)))
    if likely is None:
        values = " × ".join(f"{size:,}" for size in shape)
        raise InvalidInput(f"{values} values of X are too many for a model of them; at most {MOST_MODELLED:,} are not")
    p = likely.ravel()
    given = likelihood_of([scorer.Q[different[:, k]] for k, scorer in enumerate(scorers)]).multiply(p).tocsr()
    given = given.multiply(1 / given.sum(axis=1)[:, None]).tocsr()
    inputs = np.indices(shape).reshape(len(shape), -1)
    codes = [block.codes[x] for block, x in zip(protocol.blocks, inputs, strict=True)]
    columns = [column for block in protocol.blocks for column in block.columns]
    return Posterior(protocol.attributes, values_of(columns, np.concatenate(codes, axis=1)), p, given, row.ravel())


def check_weights(different: Integers, scorers: Sequence[Scorer]) -> None:
    """Refuse what would not fit, before any of it is computed."""
    weights = np.ones(len(different))
    for k, scorer in enumerate(scorers):
        weights *= np.diff(scorer.Q.indptr)[different[:, k]]
    if weights.sum() > MOST_NUMBERS:
        many = f"{weights.sum():,.0f} weights of values of X are too many to be held"
        raise InvalidInput(f"{many}; take a sample of the released rows")


def likelihood_of(own: Sequence[csr_array]) -> csr_array:
    """The product own[0][i, x]·own[1][i, x′]·… at [i, (x, x′, …)], of sparse rows."""
    found = own[0]
    for Q in own[1:]:
        first, second = found.tocoo(), Q.tocsr()
        length = np.diff(second.indptr)[first.row]
        start = np.repeat(second.indptr[first.row] - (np.cumsum(length) - length), length)
        place = start + np.arange(length.sum())
        row, x, value = (np.repeat(each, length) for each in (first.row, first.col.astype(np.int64), first.data))
        column = x * Q.shape[1] + second.indices[place]
        shape = found.shape[0], found.shape[1] * Q.shape[1]
        found = csr_array((value * second.data[place], (row, column)), shape=shape)
    return found
