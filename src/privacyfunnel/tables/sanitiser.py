"""The one place where rows are drawn: Arrow batches of raw rows in, codes of released rows out, and back to Arrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privacyfunnel.distribution import raw
from privacyfunnel.distribution.column import UNSEEN, Column
from privacyfunnel.distribution.raw import is_text
from privacyfunnel.drawing.kernel import AliasTables, sample, sample_keyed
from privacyfunnel.drawing.keyed import Mac
from privacyfunnel.drawing.persons import Persons
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.errors import InvalidInput, UnseenValues
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Integers

Unseen = Literal["refuse", "draw"]
COMBINATION = "their combination"


class Sanitiser:
    """Draws released rows: `inputs` and `outputs` for each batch, `finish` once, `release` to write codes as values."""

    def __init__(self, protocol: Protocol, unseen: Unseen = "refuse") -> None:
        check_unseen(protocol, unseen)
        self.protocol = protocol
        self.unseen = unseen
        self.strangers: Counter[str] = Counter()
        """Rows with values the protocol was not fitted on, by column."""
        self._inputs, self._tables = _Inputs(protocol.block), AliasTables.of(_with_draw(protocol.block))
        self._faces = _faces(protocol.block)

    leaning = False
    """Whether rows are redrawn by a model of the table."""
    following = False
    """Whether they are drawn from what was released before, too."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that are released."""
        return self.protocol.attributes

    @property
    def own_columns(self) -> tuple[Column, ...]:
        """The columns that are released, as they are read."""
        return self.protocol.columns

    def codes_before(self, batch: pa.RecordBatch) -> Integers:
        """codes[i, j]: the number of the value that row i has in the released column j; UNSEEN if it has none."""
        return np.stack(codes_of(self.own_columns, batch), axis=1)

    def codes_after(self, y: NDArray[np.int32]) -> Integers:
        """The same of released rows."""
        block = self.protocol.block
        return block.codes[block.labels[y[:, 0]]]

    def read_as_others(self, codes: Integers) -> NDArray[np.bool_]:
        """Which rows with these codes have a combination of known values that is read as another one."""
        return np.asarray((self._inputs.look_up(list(codes.T)) == UNSEEN) & (codes != UNSEEN).all(axis=1))

    def inputs(self, batch: pa.RecordBatch) -> NDArray[np.int32]:
        """x[i, 0]: the input of row i; one past the last stands for strangers, who are drawn if at all."""
        codes = codes_of(self.protocol.block.columns, batch)
        found = self._inputs.look_up(codes)
        unseen = found == UNSEEN
        if unseen.any():
            found[unseen] = self._read(np.stack([code[unseen] for code in codes], axis=1))
            unseen = found == UNSEEN
        if unseen.any():
            self._note(codes, int(unseen.sum()))
        return np.where(unseen, self.protocol.block.channel.n_inputs, found).astype(np.int32)[:, None]

    def _read(self, codes: Integers) -> Integers:
        """The inputs as which combinations of codes are read that are none as they stand; −1 if there is none."""
        return self.protocol.block.read(codes)

    def outputs(self, x: NDArray[np.int32], randomness: Randomness, threads: int | None = None) -> NDArray[np.int32]:
        """y[i, 0]: the output of row i, drawn for its input x[i, 0]."""
        return sample(self._tables, x[:, 0], randomness, threads)[:, None]

    def keyed_outputs(
        self, x: NDArray[np.int32], persons: Persons, mac: Mac, threads: int | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
        """y[i, 0] as a function of mac's key, person i and x[i, 0]; and marks[i], equal if a person's inputs are."""
        y, marks = sample_keyed(self._tables, x[:, 0], persons, mac, threads)
        return y[:, None], marks

    def _note(self, codes: list[Integers], rows: int) -> None:
        columns = self.protocol.block.columns
        by_column = {c.name: int((code == UNSEEN).sum()) for c, code in zip(columns, codes, strict=True)}
        self.strangers.update({name: n for name, n in by_column.items() if n})
        alone = np.any([code == UNSEEN for code in codes], axis=0).sum()
        if rows > alone:
            self.strangers[COMBINATION] += rows - int(alone)

    def finish(self) -> None:
        """Refuse the whole table if it had strangers and they were not to be drawn."""
        refuse_strangers(self.strangers, self.unseen)

    def keep_types(self, types: Mapping[str, pa.DataType]) -> None:
        """Write columns in the types that a table has them in, where no value is lost by that."""
        columns = {column.name: column for column in self.protocol.columns}
        names = self.protocol.released_columns
        self._faces = [
            (indices, gone, values_as(columns[name], types[name]) if name in columns and name in types else values)
            for name, (indices, gone, values) in zip(names, self._faces, strict=True)
        ]

    def release(self, y: NDArray[np.int32]) -> pa.RecordBatch:
        """Released rows as values, one dictionary column for each attribute."""
        columns, drawn = [], y[:, 0]
        for indices, gone, values in self._faces:
            mask = gone[drawn] if gone is not None else None
            columns.append(pa.DictionaryArray.from_arrays(pa.array(indices[drawn], mask=mask), values))
        return pa.RecordBatch.from_arrays(columns, names=list(self.protocol.released_columns))

    def schema(self) -> pa.Schema:
        """The schema of released tables, in plain types."""
        names = self.protocol.released_columns
        return pa.schema([(name, values.type) for name, (_, _, values) in zip(names, self._faces, strict=True)])


def refuse_strangers(strangers: Counter[str], unseen: Unseen) -> None:
    """Refuse a table with rows that the protocol was not fitted on, unless they are to be drawn."""
    if strangers and unseen == "refuse":
        counts = ", ".join(f"{n:,} rows in {name}" for name, n in strangers.items())
        raise UnseenValues(
            f"the protocol was not fitted on some values ({counts}); refit it, or draw them: --unseen draw, "
            "in Python unseen='draw'",
            steward_only=True,
        )


def codes_of(columns: Sequence[Column], batch: pa.RecordBatch) -> list[Integers]:
    """The numbers of the values of a batch in each of these columns."""
    return [column.encode(_one(batch.column(column.name))) for column in columns]


class _Inputs:
    """From the codes of the attributes to the block's input: a trie, one table for each attribute.

    table[j][prefix, code] is the number of the longer prefix; the last row and column are for dead
    ends, so that −1 leads to −1.
    """

    def __init__(self, block: Block) -> None:
        self._tables = []
        prefix = np.zeros(len(block.codes), dtype=np.int64)
        for j, column in enumerate(block.columns):
            pairs, following = np.unique(np.stack([prefix, block.codes[:, j]], axis=1), axis=0, return_inverse=True)
            table = np.full((int(prefix.max()) + 2, len(column) + 1), UNSEEN, dtype=np.int64)
            table[pairs[:, 0], pairs[:, 1]] = np.arange(len(pairs))
            self._tables.append(table)
            prefix = following.ravel()
        self._input = np.append(np.argsort(prefix), UNSEEN)

    def look_up(self, codes: list[Integers]) -> Integers:
        place = np.zeros(len(codes[0]), dtype=np.int64)
        for table, code in zip(self._tables, codes, strict=True):
            place = table[place, code]
        return np.asarray(self._input[place])


def check_unseen(protocol: Protocol, unseen: str) -> None:
    """Refuse what is no answer to values never seen, and draws that would break the promise."""
    if unseen not in ("refuse", "draw"):
        raise InvalidInput(f"unseen is 'refuse' or 'draw', not {unseen!r}")
    if unseen == "draw" and protocol.draw is None:
        raise InvalidInput(
            "this protocol cannot draw rows for values it was not fitted on: no draw was found that keeps its promise; "
            "leave such rows out, or refit with them"
        )


def _with_draw(block: Block) -> Channel:
    """The block's channel with one more input, for values never seen; where these are refused, it is never drawn."""
    draw = block.draw if block.draw is not None else block.marginal
    channel, emitted = block.channel, np.flatnonzero(draw)
    return Channel(
        channel.n_outputs,
        np.append(channel.starts, channel.starts[-1] + len(emitted)),
        np.concatenate([channel.outputs, emitted]),
        np.concatenate([channel.numerators, draw[emitted]]),
    )


def _faces(block: Block) -> list[tuple[NDArray[np.int32], NDArray[np.bool_] | None, Any]]:
    """For each released column: what outputs look like, as places in its values; with the variant, if there is one."""
    faces: list[tuple[NDArray[np.int32], NDArray[np.bool_] | None, Any]] = []
    for j, column in enumerate(block.columns):
        indices, gone = places_of(column, block.codes[block.labels, j])
        faces.append((indices, gone if gone.any() else None, column.released_values))
    if block.variants is not None:
        faces.append((block.variants.astype(np.int32), None, pa.array(np.arange(block.variants.max() + 1))))
    return faces


def values_as(column: Column, kind: pa.DataType) -> pa.Array:
    """The released values of a column in another type, if they are read from that as what they are.

    >>> zone = Column(name="zone", kind="integer", labels=(1, 2, None))
    >>> values_as(zone, pa.string()).to_pylist(), values_as(zone, pa.date32()).to_pylist()
    (['1', '2'], [1, 2])
    """
    values, kind = column.released_values, kind.value_type if pa.types.is_dictionary(kind) else kind
    try:
        found = values.cast(kind)
    except pa.ArrowException:  # of no value that somebody could see
        return values
    if is_text(values.type) and is_text(kind):
        return found
    codes = [code for code, label in enumerate(column.labels) if label is not None]
    return found if not raw.unusable(kind) and column.encode(found).tolist() == codes else values


def places_of(column: Column, codes: Integers) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Where codes stand among the labels that are not missing, and which are missing."""
    missing = np.array([label is None for label in column.labels])
    places = (np.cumsum(~missing) - 1).astype(np.int32)
    return places[codes], missing[codes]


def _one(array: Any) -> pa.Array:
    """A column as a single array; text in it is put into a dictionary, so that each different one is read once."""
    whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return whole.dictionary_encode() if is_text(whole.type) else whole
