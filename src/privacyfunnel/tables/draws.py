"""Draws: how the rows of a table get their outputs, with fresh randomness or from memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.remembered.looking import LOOK_ROWS
from privacyfunnel.tables.remembered.memory import Memory, Remembered
from privacyfunnel.tables.sanitiser import Sanitiser
from privacyfunnel.tables.sources import BATCH_ROWS


class Draws(ABC):
    """Outputs for batches of rows, and what is to be done when all are drawn."""

    plain: tuple[str, ...] = ()
    """Columns that are read as they are, each entry by itself."""
    rows: int = BATCH_ROWS
    """Read at a time."""
    remembered: Remembered | None = None
    sanitiser: Sanitiser

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return [*self.sanitiser.protocol.attributes, *self.plain]

    @property
    def drawn(self) -> int:
        """Entries of rows not seen when fitting."""
        return self.sanitiser.strangers.total()

    @abstractmethod
    def outputs(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, NDArray[np.int32]]:
        """The rows of a batch that are released, and y[i, k] of each."""

    def finish(self) -> None:
        """Refuse the whole table if some of its rows must be."""
        self.sanitiser.finish()

    def commit(self) -> None:  # noqa: B027 - most have nothing to do
        """What must be done before the release is there."""


@dataclass(eq=False)
class Fresh(Draws):
    """Every row by itself, with randomness that is used once."""

    sanitiser: Sanitiser
    randomness: Randomness

    def outputs(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, NDArray[np.int32]]:
        return batch, self.sanitiser.outputs(self.sanitiser.inputs(batch), self.randomness)


class FromMemory(Draws):
    """People who were released before keep their row. Rows are drawn by the whole protocol, and shown by `shown`."""

    def __init__(self, memory: Memory, shown: Protocol) -> None:
        self.memory, self.remembered = memory, memory.summary
        self._giver = memory.given.opened()
        self.sanitiser = self._giver.sanitiser
        self.plain, self.rows = (memory.given.look.person,), LOOK_ROWS
        self._merged = merged(memory.given.look.today, shown)

    @property
    def columns(self) -> list[str]:
        return [*self.memory.given.look.today.attributes, *self.plain]

    def outputs(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, NDArray[np.int32]]:
        y = self._giver.outputs(batch)
        given = y[:, 0] >= 0
        if not given.all():
            batch, y = batch.filter(pa.array(given)), y[given]
        return batch, y if self._merged is None else self._merged[y]

    def commit(self) -> None:
        self.memory.commit()


def merged(protocol: Protocol, shown: Protocol) -> Any:
    """merged[y]: the output that y becomes where outputs with the same values are not told apart; None if they are."""
    if protocol.variant is None or shown.variant is not None:
        return None
    _, output = np.unique(protocol.block.labels, return_inverse=True)
    return output.astype(np.int32)
