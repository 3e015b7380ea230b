"""The rows of a promise with many views, sparse: each speaks of the few values of one cell.

What `Limits.rows` lays out with every value in every row, for tables with thousands of values and cells.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import TooManyAttackers
from privacyfunnel.promises.clause import Clause, without_repetition
from privacyfunnel.promises.limits import Limits, nowhere_wider
from privacyfunnel.promises.views import View, telling_cells
from privacyfunnel.typing import Integers, Vector

MOST_SPARSE_ENTRIES = 30_000_000
"""Entries of sparse rows: more would take over a gigabyte while they are laid out."""

Entries = tuple[Integers, Integers, Vector]
"""Numbers of rows, of values, and what stands there."""


def sparse_rows_of(clauses: Sequence[Clause], share: float = 1.0) -> sparse.csr_array:
    """G with G v ≤ 0 exactly when the posterior v[x] = P(x|y) keeps every clause at this share of its limits.

    Each row has a largest coefficient of 1. Rows that every v ≥ 0 meets are left out.
    """
    clauses = without_repetition(clauses)
    parts, before = [], 0
    for clause in clauses:
        for rows, x, values, count in _parts(clause.joint, clause.limits.times(share), clause.views, clause.about):
            parts.append((rows + before, x, values))
            before += count
    n_x = clauses[0].joint.n_x
    rows, x, values = (np.concatenate([part[i] for part in parts]) for i in range(3))
    return scaled(sparse.csr_array((values, (rows, x)), shape=(before, n_x)))


def scaled(G: sparse.csr_array) -> sparse.csr_array:
    """Rows with a largest coefficient of 1, without those that every v ≥ 0 meets."""
    binding = G.max(axis=1).toarray().ravel() > 0
    G = sparse.csr_array(G[np.flatnonzero(binding)])
    most = abs(G).max(axis=1).toarray().ravel()
    return sparse.csr_array(sparse.diags_array(1 / most) @ G)


def _parts(
    joint: Joint, limits: Limits, views: Sequence[View], about: Collection[int] | None
) -> Iterator[tuple[Integers, Integers, Vector, int]]:
    """For each view and limit: the entries of one row for each telling cell, and how many rows that makes."""
    kinds = len(list(limits.parts(joint, views[0], nowhere_wider(), about)))
    if kinds * len(views) * joint.n_x > MOST_SPARSE_ENTRIES:
        raise TooManyAttackers(
            f"the promise has {len(views):,} sets of known attributes on {joint.n_x:,} values, too many to optimise",
            known=1,
        )
    for view, cells in zip(views, telling_cells(views), strict=True):
        row_of = np.where(cells, np.cumsum(cells) - 1, -1)[view.cell]
        for values, _, _, possible in limits.parts(joint, view, nowhere_wider(), about):
            x = _there(row_of, possible, values)
            yield row_of[x], x, values[x], int(cells.sum())


def _there(row_of: Integers, possible: NDArray[np.bool_], values: Vector) -> Integers:
    return np.flatnonzero((row_of >= 0) & possible & (values != 0))
