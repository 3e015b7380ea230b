"""Companions: which values a posterior needs beside one that says too much by itself.

In each cell in which a value breaks a row, it needs others that speak for the contrary. These may break rows
themselves. So a support is sought among a value, some companions for each row that it breaks, companions of these, and
so on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.typing import Integers, Vector

COMPANIONS = 2
"""For each row that a value breaks, the heaviest ones first."""
LOOKED_AT = 30
"""Companions of a row, the heaviest ones, of which some may be used up."""


class Rows(NamedTuple):
    """The rows of a promise by value: value x is in rows[starts[x]:starts[x+1]], with entries[...]."""

    starts: Integers
    rows: Integers
    entries: Vector
    first: Integers
    """companions[first[row]:first[row+1]] speak for the contrary in a row, the heaviest ones first."""
    companions: Integers

    @classmethod
    def of(cls, G: sparse.csr_array, p_x: Vector) -> Rows:
        """The rows G, of values with these shares."""
        of_row = np.repeat(np.arange(G.shape[0]), np.diff(G.indptr))
        terms = G.data * p_x[G.indices]
        contrary = np.flatnonzero(terms < 0)
        contrary = contrary[np.lexsort((terms[contrary], of_row[contrary]))]
        row = of_row[contrary]
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        contrary, row = contrary[rank < LOOKED_AT], row[rank < LOOKED_AT]
        first = np.searchsorted(row, np.arange(G.shape[0] + 1)).astype(np.int64)
        C = sparse.csc_array(G)
        by_value = C.indptr.astype(np.int64), C.indices.astype(np.int64), C.data.astype(np.float64)
        return cls(*by_value, first, G.indices[contrary].astype(np.int64))


@compiled
def around(rows: Rows, x: int, most: int, there: NDArray[np.bool_], turn: int) -> Integers:
    """The value x, companions for each row that it breaks, companions of these, and so on: `most`, or a few more.

    Of those that are there, the heaviest; in another `turn` than 0, others.
    """
    met = {x}
    chosen = [x]
    place = 0
    while place < len(chosen) and len(chosen) < most:
        value = chosen[place]
        place += 1
        for k in range(rows.starts[value], rows.starts[value + 1]):
            if rows.entries[k] <= 0:
                continue
            have = 0
            row = rows.rows[k]
            count = rows.first[row + 1] - rows.first[row]
            for i in range(count):
                other = rows.companions[rows.first[row] + (i + turn * (row + x)) % count]
                if other in met:
                    have += 1
                elif there[other]:
                    met.add(other)
                    chosen.append(other)
                    have += 1
                if have >= COMPANIONS:
                    break
    return np.sort(np.array(chosen))
