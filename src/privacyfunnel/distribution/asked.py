"""What readers ask: shares of the values of columns, and of their combinations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput
from privacyfunnel.typing import Integers, Matrix, Vector

Readers = str | Sequence[str | Sequence[str]]
"""All single shares ("shares"), those and all of two columns ("pairs"), or columns and tuples of columns by name."""
MOST_SHARES = 5_000
"""Asked at once: each takes a number for every value of X, and two columns of 70 values have 4,900."""
CERTAIN = 1e-12
"""A share this close to 1 is no question: everybody has it."""


@dataclass(frozen=True, eq=False)
class Asked:
    """Shares ℓ_k·p of people whose values of some columns are given ones; everybody has one of those of a table."""

    tables: tuple[tuple[str, ...], ...]
    """The columns whose combinations of values are asked for, one table after the other."""
    table: Integers
    """table[k]: to which table share k belongs."""
    codes: tuple[tuple[int, ...], ...]
    """codes[k]: the numbers of its values in the columns of its table."""
    rows: Matrix
    """rows[x, k] = ℓ_k[x]: 1 if value x counts for share k, else 0."""
    shares: Vector
    """f_k = ℓ_k·p."""

    @classmethod
    def of(cls, joint: Joint, tables: Sequence[Sequence[str]]) -> Asked:
        """The shares of all combinations of values that occur, but for those that everybody has."""
        table, codes, rows, total = [], [], [], 0
        for number, names in enumerate(tables):
            places = [joint.attributes.index(name) for name in names]
            cells, cell = np.unique(joint.codes[:, places], axis=0, return_inverse=True)
            total += len(cells)
            if total > MOST_SHARES:
                raise InvalidInput(
                    f"readers ask for more than {MOST_SHARES:,} shares of {joint.n_x:,} values; ask for single shares "
                    "only, or name some columns"
                )
            table.append(np.full(len(cells), number))
            codes += [tuple(row) for row in cells.tolist()]
            rows.append((cell.ravel()[:, None] == np.arange(len(cells))).astype(np.float64))
        whole = np.concatenate(rows, axis=1)
        shares = joint.p_x @ whole
        open_ = np.flatnonzero(shares < 1 - CERTAIN)
        kept = tuple(codes[k] for k in open_)
        return cls(tuple(map(tuple, tables)), np.concatenate(table)[open_], kept, whole[:, open_], shares[open_])

    @property
    def own(self) -> Vector:
        """f_k(1 − f_k): n times the variance that the original table of n rows has itself."""
        return self.shares * (1 - self.shares)


def tables_of(joint: Joint, readers: Readers) -> list[tuple[str, ...]]:
    """The tables that readers ask for, each once, in the order of the columns."""
    names = joint.attributes
    singles: list[tuple[str, ...]] = [(name,) for name in names]
    if isinstance(readers, str):
        if readers in ("shares", "pairs"):
            return singles + (list(combinations(names, 2)) if readers == "pairs" else [])
        raise InvalidInput(
            f"readers are 'shares', 'pairs', or a list of columns and tuples of columns; got {readers!r}"
        )
    try:
        found = [(one,) if isinstance(one, str) else tuple(one) for one in readers]
    except TypeError:
        raise InvalidInput("readers are 'shares', 'pairs', or a list of columns and tuples of columns") from None
    for table in found:
        strange = [name for name in table if name not in names]
        if strange or not table or len(set(table)) < len(table):
            raise InvalidInput(
                f"readers ask for columns of {', '.join(names)}, each once in a table; got {str(table)[:100]}"
            )
    if not found:
        raise InvalidInput("readers ask for no column; name one, or leave readers out")
    return list(dict.fromkeys(tuple(sorted(table, key=names.index)) for table in found))
