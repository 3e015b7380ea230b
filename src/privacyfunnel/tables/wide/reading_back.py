"""Reading released tables of a model back: how many rows have each combination of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privacyfunnel.distribution.column import UNSEEN
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.reading_back import as_released, check_number, one_array, opened_release, refuse_strange
from privacyfunnel.typing import Integers


@dataclass(frozen=True, eq=False)
class ReleasedRows:
    """Combinations codes[i, j] of released values, and how many rows have each."""

    codes: Integers
    counts: Integers

    @property
    def rows(self) -> int:
        """The number of released rows."""
        return int(self.counts.sum())


def released_rows(
    protocol: Protocol, table: Any, *, delimiter: str | None = None, encoding: str = "utf-8"
) -> ReleasedRows:
    """Count the released rows of a table; values that the protocol never releases are refused."""
    source = opened_release(protocol, table, delimiter, encoding)
    readers = [as_released(column) for column in protocol.columns]
    strange: dict[str, int] = {}
    codes, counts = [], []
    for batch in source.groups(list(protocol.attributes)):
        rows = batch.column(len(readers)).to_numpy(zero_copy_only=False)
        found = [reader.encode(one_array(column)) for reader, column in zip(readers, batch.columns, strict=False)]
        for reader, code in zip(readers, found, strict=True):
            unknown = int(rows[code == UNSEEN].sum())
            if unknown:
                strange[repr(reader.name)] = strange.get(repr(reader.name), 0) + unknown
        codes.append(np.stack(found, axis=1).astype(np.int64))
        counts.append(rows.astype(np.int64))
    refuse_strange(source, strange)
    check_number(source, sum(int(rows.sum()) for rows in counts))
    return ReleasedRows(np.concatenate(codes), np.concatenate(counts))
