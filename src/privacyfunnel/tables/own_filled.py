"""What became of the steward's own shares in filled columns: the rows of a table beside those of one release of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from privacyfunnel.distribution.column import Column, Reading
from privacyfunnel.distribution.raw import present, rewritten
from privacyfunnel.protocols.fill import FIRST, LAST, Inside
from privacyfunnel.protocols.never import GONE
from privacyfunnel.protocols.own_table import OwnFilled, own_filled
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.filling import read
from privacyfunnel.tables.reading_back import as_released, one_array
from privacyfunnel.tables.sources import Source
from privacyfunnel.typing import Integers


def own_filled_of(
    protocol: Protocol, table: Source, released: Source, readings: Mapping[str, Reading]
) -> OwnFilled | None:
    """Errors of shares in filled columns, whose numbers and dates the table has as `readings` say; None if none is.

    The values of a column are its labels, or the parts of ranges in which the model counts its numbers; what is
    missing is one more, and what the model does not write another.
    """
    fill = protocol.fill
    if fill is None or not fill.names:
        return None
    inside = [one for one in fill.inside if one.name in fill.names]
    before = _counts(table, inside, lambda column: column, readings)
    after = _counts(released, inside, as_released, {})
    counts = {one.name: (was, drawn) for one, was, drawn in zip(inside, before, after, strict=True)}
    return own_filled(counts, int(before[0].sum()))


def _counts(
    source: Source, inside: Sequence[Inside], as_read: Callable[[Column], Column], readings: Mapping[str, Reading]
) -> list[Integers]:
    """counts[k][a]: how many rows have the value a of the column inside[k]."""
    labels = [as_read(one.column) if one.column is not None else None for one in inside]
    cells = [_cells(one) for one in inside]
    found = [np.zeros(len(first) + 2, dtype=np.int64) for first, _ in cells]
    for batch in source.batches([one.name for one in inside]):
        for one, own, (first, last), counts in zip(inside, labels, cells, found, strict=True):
            array = one_array(batch.column(one.name))
            plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
            reading = readings.get(one.name)
            if reading is not None:
                plain = rewritten(present(plain, reading.missing), reading.written)
            numbers, _ = read(one, own, plain)
            place = np.maximum(np.searchsorted(first, numbers, side="right") - 1, 0)
            within = (numbers >= first[place]) & (numbers <= last[place])
            value = np.where(within, place, np.where(numbers == GONE, len(first), len(first) + 1))
            counts += np.bincount(value, minlength=len(counts))
    return found


def _cells(one: Inside) -> tuple[Integers, Integers]:
    """The numbers from which and to which the values of a column go, in their order."""
    if one.column is not None:
        return np.arange(len(one.column)), np.arange(len(one.column))
    parts = one.drawn[np.argsort(one.drawn[:, FIRST], kind="stable")]
    return parts[:, FIRST], parts[:, LAST]
