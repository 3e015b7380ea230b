"""Pairs: rows of a follow-up are drawn from a value and a history; what is released has no column for the latter."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privacyfunnel.distribution.column import UNSEEN, Column
from privacyfunnel.errors import UnseenValues
from privacyfunnel.numeric.rows import unique_rows
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.sanitiser import COMBINATION, Sanitiser, Unseen, check_unseen
from privacyfunnel.typing import Integers


class PairSanitiser(Sanitiser):
    """Draws from pairs of a value and a history, whose number is one column more of every batch."""

    def __init__(self, follow_up: Protocol, unseen: Unseen = "refuse") -> None:
        check_unseen(follow_up, unseen)
        super().__init__(follow_up.with_block(follow_up.by_history.pairs_block()))
        self._steps = follow_up.by_history

    following = True

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that are released."""
        return self.protocol.attributes[:-1]

    def _read(self, codes: Integers) -> Integers:
        """The inputs of rows of codes, the last of which is the number of their history, as `Steps.inputs` says."""
        different, of = unique_rows(codes)
        read, histories = self._steps.read(different[:, :-1]), different[:, -1]
        found = np.full(len(different), UNSEEN, dtype=np.int64)
        for h in np.unique(histories[histories >= 0]).tolist():
            rows = histories == h
            found[rows] = self._steps.inputs(read.of(rows), h)
        return found[of]

    def finish(self) -> None:
        """Refuse people whose values changed since, and values never seen."""
        changed = self.strangers.pop(COMBINATION, 0)
        if changed:
            raise UnseenValues(
                f"{changed:,} people have values that cannot have led to what was released of them before: they "
                "changed since, or this is not their table; leave them out, or give their old values, too",
                steward_only=True,
            )
        super().finish()

    @property
    def own_columns(self) -> tuple[Column, ...]:
        """The columns that are released, as they are read."""
        return super().own_columns[:-1]

    def codes_after(self, y: NDArray[np.int32]) -> Integers:
        """The numbers of released values."""
        return super().codes_after(y)[:, :-1]

    def read_as_others(self, codes: Integers) -> NDArray[np.bool_]:
        """Which rows with these codes have a combination of known values that is read as another one."""
        known = (codes != UNSEEN).all(axis=1)
        return np.asarray(known & ~self._steps.read(codes).listed)

    def release(self, y: NDArray[np.int32]) -> pa.RecordBatch:
        """Released rows as values."""
        return super().release(y).select(list(self.attributes))

    def schema(self) -> pa.Schema:
        """The schema of released tables."""
        whole = super().schema()
        return pa.schema([whole.field(name) for name in self.attributes])
