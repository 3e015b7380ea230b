"""What tasks do on workers: draw the rows of a partition, count strangers, look who is there. Pickled to them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privacyfunnel.drawing.randomness import KEY_BYTES, Randomness
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.by_step import sanitiser_of
from privacyfunnel.tables.draws import merged
from privacyfunnel.tables.remembered.looking import Given, Look
from privacyfunnel.tables.sanitiser import Sanitiser, Unseen
from privacyfunnel.tables.writing import plain

READ_ROWS = 1 << 17
"""Rows encoded at a time: Spark's own batches are small, and each costs a little."""
WRITE_ROWS = 1 << 16
"""Handed back to Spark at a time, so that a task holds few texts at once."""
PLACE = ""
"""The column that tells the partition; attributes have names."""
SPARK_TYPES = {
    **{"string": "string", "bool": "boolean", "double": "double", "float": "float", "date32[day]": "date"},
    **{"int64": "bigint", "int32": "int", "int16": "smallint", "int8": "tinyint"},
}
"""Of columns that are released: those of protocols, and those that a table has them in."""


@dataclass(frozen=True, eq=False)
class Drawing:
    """The work of a task: all rows of its partition in, the released rows out. It is pickled to the workers.

    A task holds its partition as inputs and outputs: 8 bytes for each row and block, 8 more for its rank.
    """

    protocol: Protocol
    key: bytes = field(repr=False)
    keep_order: bool
    unseen: Unseen
    given: Given | None = None
    """What people are given who are known again: then rows are drawn with their keys, and only shuffled with this."""
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    """Of the columns of the table."""

    @property
    def columns(self) -> list[str]:
        """The columns of the table that are read."""
        return [*self.protocol.attributes, *([self.given.look.person] if self.given is not None else [])]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sanitiser = self._sanitiser()
        read = sanitiser.inputs if self.given is None else self._given(self.given)
        parts, partition = [], 0
        for batch in _larger(batches, (*self.columns, PLACE)):
            parts.append(read(batch))
            partition = batch.column(PLACE)[0].as_py()
        sanitiser.finish()
        if parts:
            yield from self._released(sanitiser, np.concatenate(parts), partition)

    def _given(self, given: Given) -> Callable[[pa.RecordBatch], NDArray[np.int32]]:
        """The outputs of people who are known again, as this protocol shows them."""
        giver = given.opened()
        shown = merged(given.look.today, self.protocol)

        def outputs(batch: pa.RecordBatch) -> NDArray[np.int32]:
            y = giver.outputs(batch, threads=1)
            y = y[y[:, 0] >= 0]
            return y if shown is None else shown[y]

        return outputs

    def _released(self, sanitiser: Sanitiser, x: NDArray[np.int32], partition: int) -> Iterator[pa.RecordBatch]:
        """The rows for inputs x; or, for people who are known again, for outputs x."""
        if not self.keep_order:
            x = in_sorted_order(x)
        randomness = Randomness.keyed(partition_key(self.key, partition, x))
        y = x
        if self.given is None:
            y = sanitiser.outputs(x, randomness, threads=1)  # Spark gives a task one core
        ranks = np.empty(0 if self.keep_order else len(y), dtype=np.int64)
        randomness.fill(ranks)
        if not self.keep_order:  # whatever becomes of them later, rows do not leave in the order of their inputs
            order = np.argsort(ranks)
            y, ranks = y[order], ranks[order]
        schema = sanitiser.schema()
        for start in range(0, len(y), WRITE_ROWS):
            columns = plain(sanitiser.release(y[start : start + WRITE_ROWS]), schema).columns
            if not self.keep_order:
                columns.append(pa.array(ranks[start : start + WRITE_ROWS]))
            yield pa.RecordBatch.from_arrays(columns, names=[f"c{i}" for i in range(len(columns))])

    def _sanitiser(self) -> Sanitiser:
        """What draws the rows, and writes them in the types of the table."""
        sanitiser = sanitiser_of(self.protocol, self.unseen, in_task=True)
        sanitiser.keep_types({name: kind for name, kind in self.types.items() if str(kind) in SPARK_TYPES})
        return sanitiser

    def schema(self) -> str:
        """What a task gives back: the attributes as c0, c1, … and, last, the rank."""
        types = [SPARK_TYPES[str(kind)] for kind in self._sanitiser().schema().types]
        return ", ".join(f"c{i} {kind}" for i, kind in enumerate(types + ([] if self.keep_order else ["bigint"])))


@dataclass(frozen=True, eq=False)
class StrangerCount:
    """The work of a task that only counts the rows that the protocol was not fitted on, by column."""

    protocol: Protocol

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sanitiser = first_step(self.protocol)
        for batch in _larger(batches, self.protocol.attributes):
            sanitiser.inputs(batch)
        names, rows = list(sanitiser.strangers), list(sanitiser.strangers.values())
        yield pa.RecordBatch.from_arrays([pa.array(names, pa.string()), pa.array(rows, pa.int64())], ["name", "rows"])


@dataclass(frozen=True, eq=False)
class FirstLook:
    """The work of a task that only looks who is in its partition: records, and rows that must be refused."""

    look: Look

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        looker = self.look.opened()
        for batch in _larger(batches, self.look.columns):
            yield _looked([looker(batch, threads=1).tobytes()], [""], [0])
        counts = {f"column {name}": n for name, n in looker.strangers.items()}
        counts |= {"missing": looker.identifiers.missing, "odd": looker.identifiers.odd}
        yield _looked([b""] * len(counts), list(counts), list(counts.values()))


def _looked(records: list[bytes], names: list[str], rows: list[int]) -> pa.RecordBatch:
    arrays = [pa.array(records, pa.binary()), pa.array(names, pa.string()), pa.array(rows, pa.int64())]
    return pa.RecordBatch.from_arrays(arrays, ["records", "name", "rows"])


def partition_key(key: bytes, partition: int, x: NDArray[np.int32]) -> bytes:
    """The key of a partition, k = HMAC-SHA256(K, p ‖ SHA-256(x)): as much of it as AES takes."""
    content = hashlib.sha256(np.ascontiguousarray(x).data).digest()
    return hmac.digest(key, partition.to_bytes(8, "big") + content, "sha256")[:KEY_BYTES]


def in_sorted_order(x: NDArray[np.int32]) -> NDArray[np.int32]:
    """The rows of x[i, k] in an order that only depends on which rows there are."""
    return np.sort(x, axis=0) if x.shape[1] == 1 else x[np.lexsort(x.T)]


def _larger(batches: Iterator[pa.RecordBatch], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The same rows in fewer batches, with the columns under their own names."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= READ_ROWS:
            yield from _together(held, names)
            held, rows = [], 0
    if rows:
        yield from _together(held, names)


def _together(batches: list[pa.RecordBatch], names: Sequence[str]) -> list[pa.RecordBatch]:
    """One batch, or several where one cannot hold so much text."""
    return list(pa.Table.from_batches(batches).combine_chunks().rename_columns(list(names)).to_batches())


def first_step(protocol: Protocol) -> Sanitiser:
    """What reads rows of a table: by a follow-up, the first release's."""
    return sanitiser_of(protocol.chain[0], in_task=True)
