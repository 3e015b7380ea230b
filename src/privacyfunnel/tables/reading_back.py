"""Reading released tables back: from the values that rows are written in to the outputs of the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privacyfunnel.distribution.column import UNSEEN, Column
from privacyfunnel.errors import InvalidTable
from privacyfunnel.protocols.file import to_text
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.variants import without_variants
from privacyfunnel.tables.filling import beside, read
from privacyfunnel.tables.published_folder import Said, rows_said
from privacyfunnel.tables.sources import Source, open_source
from privacyfunnel.typing import Integers

FEWEST_ROWS = 30
"""How often intervals hold was measured from this many rows on."""


@dataclass(frozen=True, eq=False)
class Tally:
    """How often each output was released."""

    outputs: Integers
    """Each once."""
    counts: Integers
    said: Said | None = None
    """What the folder that the rows are published in says: the protocol was fitted on them, or on others."""

    @property
    def rows(self) -> int:
        """The number of released rows."""
        return int(self.counts.sum())


def tally(protocol: Protocol, table: Any, *, delimiter: str | None = None, encoding: str = "utf-8") -> Tally:
    """Count the released rows of a table by the outputs that they stand for."""
    source = opened_release(protocol, table, delimiter, encoding)
    reader = _Reader(protocol)
    parts = []
    names = protocol.released_columns
    for batch in source.groups(list(names)):
        counts = batch.column(len(names)).to_numpy(zero_copy_only=False)
        columns = dict(zip(names, batch.columns, strict=False))
        parts.append(np.column_stack([reader.outputs(columns, counts), counts]))
    found = np.concatenate(parts) if parts else np.empty((0, 2), dtype=np.int64)
    refuse_strange(source, reader.strange)
    check_number(source, int(found[:, -1].sum()))
    different, place = np.unique(found[:, 0], return_inverse=True)
    counts = np.zeros(len(different), dtype=np.int64)
    np.add.at(counts, place, found[:, -1])
    return Tally(different, counts, rows_said(table, lambda: to_text(protocol)))


def as_published(protocol: Protocol, table: Any, *, delimiter: str | None = None, encoding: str = "utf-8") -> Protocol:
    """The protocol as a released table tells its outputs: without variants, if that has no column for them."""
    if protocol.variant is None:
        return protocol
    columns = open_source(table, delimiter=delimiter, encoding=encoding).columns
    return protocol if protocol.variant in columns else without_variants(protocol)


def outputs_of_rows(
    protocol: Protocol, table: Any, *, delimiter: str | None = None, encoding: str = "utf-8"
) -> Integers:
    """y[i]: the output that released row i stands for."""
    source = opened_release(protocol, table, delimiter, encoding)
    y = np.concatenate(list(outputs_in_batches(protocol, source)))[:, 0]
    check_number(source, len(y))
    return y


def outputs_in_batches(protocol: Protocol, table: Any) -> Iterator[Integers]:
    """The same at y[i, 0], some rows at a time; rows that the protocol never releases are refused after the last."""
    source = opened_release(protocol, table, None, "utf-8")
    reader = _Reader(protocol)
    for batch in source.batches(list(protocol.released_columns)):
        columns = {name: batch.column(name) for name in protocol.released_columns}
        yield reader.outputs(columns, np.ones(batch.num_rows, dtype=np.int64))
    refuse_strange(source, reader.strange)


def rows_in_batches(protocol: Protocol, table: Any) -> Iterator[NDArray[np.int32]]:
    """y[i, :] of released rows, with what is filled; rows that the protocol never releases are refused at the end."""
    source = opened_release(protocol, table, None, "utf-8")
    if protocol.fill is None:
        yield from (y.astype(np.int32) for y in outputs_in_batches(protocol, source))
        return
    source.require(protocol.table_columns)
    reader, fills = _Reader(protocol), protocol.fill.inside
    labels = {one.name: as_released(one.column) for one in fills if one.column is not None}
    never, within = protocol.fill.never, {one.name for one in fills}
    plain = [as_released(column) for column in protocol.columns if column.name not in within]
    for batch in source.batches(list(protocol.table_columns)):
        columns = {name: batch.column(name) for name in protocol.table_columns}
        y = reader.outputs(columns, np.ones(batch.num_rows, dtype=np.int64))
        numbers = []
        for one in fills:
            found, strange = read(one, labels.get(one.name), one_array(columns[one.name]))
            reader.note(repr(one.name), int(strange.sum()))
            numbers.append(found)
        if never is not None:
            written = dict(zip([one.name for one in fills], numbers, strict=True))
            written |= {one.name: one.encode(one_array(columns[one.name])) for one in plain}
            reader.note(f"rows that fulfil {never.words}", int(never.broken(written).sum()))
        yield beside(y.astype(np.int32), np.stack(numbers, axis=1))
    refuse_strange(source, reader.strange)


def released_outputs(
    protocol: Protocol, table: Any, person: str, *, delimiter: str | None = None, encoding: str = "utf-8"
) -> Iterator[tuple[pa.Array, Integers]]:
    """Whose rows they are, as texts, and y[i, 0], the output that row i stands for; batch by batch."""
    source = opened_release(protocol, table, delimiter, encoding)
    if person not in source.columns:
        raise InvalidTable(
            f"{source.name} has no column {person!r} that says whose rows they are: a follow-up is drawn from the copy "
            "that sanitise --person … --internal … keeps"
        )
    reader = _Reader(protocol)
    names = list(protocol.released_columns)
    for batch in source.batches([*names, person]):
        columns = {name: batch.column(name) for name in names}
        y = reader.outputs(columns, np.ones(batch.num_rows, dtype=np.int64))
        persons = one_array(batch.column(person))
        plain = persons.dictionary_decode() if pa.types.is_dictionary(persons.type) else persons
        yield plain.cast(pa.string()), y
    refuse_strange(source, reader.strange)


def opened_release(protocol: Protocol, table: Any, delimiter: str | None, encoding: str) -> Source:
    """A table that is to be read back, if it has the columns of a release, and not the secret."""
    source = open_source(table, delimiter=delimiter, encoding=encoding)
    columns = protocol.released_columns
    absent = [name for name in columns if name not in source.columns]
    if absent:
        raise InvalidTable(
            f"{source.name} lacks {len(absent)} of the {len(columns)} columns that this protocol releases "
            f"(first: {absent[0]!r}); is it the protocol of this table?"
        )
    source.require(columns)
    secrets = [reading.name for reading in protocol.secret_readings if reading.name in source.columns]
    if secrets:
        raise InvalidTable(
            f"{source.name} has the column {secrets[0]!r}, the secret of this protocol, so it is no release; "
            "pass the released table"
        )
    return source


def refuse_strange(source: Source, strange: dict[str, int]) -> None:
    """Refuse a table with rows that its protocol never releases, by the columns in which that shows."""
    if strange:
        where = ", ".join(f"{n:,} in {name}" for name, n in strange.items())
        raise InvalidTable(
            f"{source.name} has rows that this protocol never releases ({where}); "
            "is it the protocol of this table, and was the table left as it was released?"
        )


def check_number(source: Source, rows: int) -> None:
    """Refuse too few rows."""
    if rows < FEWEST_ROWS:
        raise InvalidTable(f"{source.name} has {rows} rows, too few for an estimate; {FEWEST_ROWS} are needed")


class _Reader:
    """Knows the output that every combination of released values stands for."""

    def __init__(self, protocol: Protocol) -> None:
        self.strange: dict[str, int] = {}
        """Rows with values, or combinations of values, that are never released; by column."""
        self._names = " and ".join(map(repr, protocol.attributes))
        self._readers, self._step = _readers(protocol), protocol.step

    def outputs(self, columns: dict[str, Any], counts: Integers) -> Integers:
        codes = [reader.encode(one_array(columns[reader.name])) for reader in self._readers]
        for reader, code in zip(self._readers, codes, strict=True):
            self.note(repr(reader.name), int(counts[code == UNSEEN].sum()))
        y = self._step.read_back(np.stack(codes, axis=1))
        whole = np.all([code != UNSEEN for code in codes], axis=0)
        many = "the combination of " if len(self._readers) > 1 else ""
        self.note(many + self._names, int(counts[whole & (y == UNSEEN)].sum()))
        return y[:, None]

    def note(self, where: str, rows: int) -> None:
        """That so many rows are none of the protocol's, and where that shows."""
        if rows:
            self.strange[where] = self.strange.get(where, 0) + rows


def as_released(column: Column) -> Column:
    """How the values that `column` is released in are read back: ranges and dates are texts by now."""
    if column.kind in ("bins", "year", "month", "day") or column.other:
        labels = tuple(None if label is None else str(label) for label in column.labels)
        return Column(name=column.name, kind="text", labels=labels)
    return Column(name=column.name, kind=column.kind, labels=column.labels)


def _readers(protocol: Protocol) -> list[Column]:
    """How the columns that tell the outputs are read back."""
    numbers = protocol.fill.numbers if protocol.fill is not None else ()
    readers = [column.written_by_us if column.name in numbers else as_released(column) for column in protocol.columns]
    variants = protocol.step.variants
    if variants is not None and protocol.variant is not None:
        places = tuple(range(int(variants.max()) + 1))
        readers.append(Column(name=protocol.variant, kind="integer", labels=places))
    return readers


def one_array(array: Any) -> pa.Array:
    """A column as a single array."""
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
