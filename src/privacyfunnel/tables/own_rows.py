"""What a release does to the steward's own rows, counted while they are drawn: for the steward alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privacyfunnel.distribution.column import UNSEEN
from privacyfunnel.protocols.own_table import OwnTable
from privacyfunnel.tables.sanitiser import Sanitiser


class OwnRows:
    """Counts of rows as they are read and as they are released; `add` each batch with its outputs."""

    def __init__(self, sanitiser: Sanitiser) -> None:
        self._sanitiser, self._columns = sanitiser, sanitiser.own_columns
        self._counts = [np.zeros((2, len(column)), dtype=np.int64) for column in self._columns]
        self._rows = self._cells = self._whole = self._others = 0

    def add(self, batch: pa.RecordBatch, y: NDArray[np.int32]) -> None:
        """Count these rows."""
        before, after = self._sanitiser.codes_before(batch), self._sanitiser.codes_after(y)
        same = before == after
        self._rows += len(y)
        self._cells += int(same.sum())
        self._whole += int(same.all(axis=1).sum())
        self._others += int(self._sanitiser.read_as_others(before).sum())
        for j, counts in enumerate(self._counts):
            for row, codes in zip(counts, (before[:, j], after[:, j]), strict=True):
                row += np.bincount(codes[codes != UNSEEN], minlength=len(row))

    def own_table(self) -> OwnTable:
        """What became of all of them."""
        names = [column.name for column in self._columns]
        shares = {name: counts / self._rows for name, counts in zip(names, self._counts, strict=True)}
        errors = {name: np.abs(after - before)[before > 0] for name, (before, after) in shares.items()}
        worst = {name: float(found.max(initial=0.0)) for name, found in errors.items()}
        lost = {name: (int(((c[0] > 0) & (c[1] == 0)).sum()), int((c[0] > 0).sum()))
                for name, c in zip(names, self._counts, strict=True)}  # fmt: skip
        column = max(worst, key=lambda name: worst[name])
        return OwnTable(
            self._cells / (self._rows * len(names)),
            self._whole / self._rows,
            self._others / self._rows,
            float(np.concatenate(list(errors.values())).mean()),
            worst[column],
            column,
            {name: gone for name, gone in lost.items() if gone[0]},
            with_chance=True,
        )
