"""Staying: whose row says again what the release before said of them, where a table has what people were and are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.rows_before import RowsBefore
from privacyfunnel.tables.remembered.drawers import Histories


@dataclass(frozen=True, eq=False)
class Staying:
    """Compares what people are with what they were, and their rows with those before."""

    rows: RowsBefore
    histories: Histories

    @classmethod
    def of(cls, protocol: Protocol) -> Staying | None:
        """None, unless a protocol follows a release on what people were with one on that and what they are."""
        rows = RowsBefore.of_follow_up(protocol)
        return None if rows is None else cls(rows, Histories(protocol.by_history))

    def unchanged(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """Whose values are as they were, as the protocol reads them."""
        found = np.ones(batch.num_rows, dtype=bool)
        for pair in self.rows.pairs:
            was, today = (column.encode(batch.column(column.name)) for column in (pair.was, pair.today))
            found &= pair.unchanged(was, today)
        return found

    def kept(self, y: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whose last output y[i, -1] is written as the row before it was."""
        h = self.histories.numbers(y[:, :-1])
        return np.asarray((h >= 0) & (self.rows.row[h] == y[:, -1]))
