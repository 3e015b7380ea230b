"""The posterior of the original values given released rows: weights with which any model can be fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from privacyfunnel.distribution.column import values_of
from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.large_parts import MOST_NUMBERS
from privacyfunnel.estimates.measuring import MOST_MODELLED, Meter
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
    different, row, counts = np.unique(y, return_inverse=True, return_counts=True)
    block, scorer = protocol.block, Scorer(protocol.block)
    check_weights(different, scorer)
    p = likely_of(Meter(Tally(different, counts), scorer))
    given = scorer.Q[different].multiply(p).tocsr()
    given = given.multiply(1 / given.sum(axis=1)[:, None]).tocsr()
    return Posterior(protocol.attributes, values_of(block.columns, block.codes), p, given, row)


def likely_of(meter: Meter) -> Vector:
    """The most likely distribution of the inputs, or one clear line."""
    likely = meter.likely
    if likely is None:
        values = f"{meter.scorer.n_inputs:,}"
        raise InvalidInput(f"{values} values of X are too many for a model of them; at most {MOST_MODELLED:,} are not")
    return likely


def check_weights(different: Integers, scorer: Scorer) -> None:
    """Refuse what would not fit, before any of it is computed."""
    weights = np.diff(scorer.Q.indptr)[different]
    if weights.sum() > MOST_NUMBERS:
        many = f"{weights.sum():,.0f} weights of values of X are too many to be held"
        raise InvalidInput(f"{many}; take a sample of the released rows")
