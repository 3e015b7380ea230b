"""Filling: released rows with the columns that are drawn given them, and their values written on each column's grid."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privacyfunnel.distribution.column import UNSEEN, Column
from privacyfunnel.distribution.raw import as_kind, is_text
from privacyfunnel.drawing.keyed import Mac
from privacyfunnel.drawing.persons import Persons
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.model.sampling import Sampler
from privacyfunnel.protocols.fill import FIRST, LAST, NOT_KEYED, Fill, Inside
from privacyfunnel.protocols.never import GONE
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.sanitiser import Sanitiser, places_of, values_as
from privacyfunnel.typing import Integers

HALVES = 2
"""Numbers of 32 bits that hold one of 64, beside the outputs of a row."""


class FillingSanitiser(Sanitiser):
    """Draws rows by the certified step, and then, from these alone, what is filled: y[i, :] has both."""

    def __init__(self, inner: Sanitiser) -> None:
        self.protocol, self.inner, self.unseen = inner.protocol, inner, inner.unseen
        self.strangers = inner.strangers
        self.leaning, self.following = inner.leaning, inner.following
        self.fill = _fill_of(self.protocol)
        self._sampler = Sampler(self.fill, [(column.name, len(column)) for column in self.protocol.columns])
        self._types: Mapping[str, pa.DataType] = {}

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.inner.attributes

    @property
    def own_columns(self) -> tuple[Column, ...]:
        return self.inner.own_columns

    @property
    def _width(self) -> int:
        return HALVES * len(self.fill.inside)

    def codes_before(self, batch: pa.RecordBatch) -> Integers:
        return self.inner.codes_before(batch)

    def codes_after(self, y: NDArray[np.int32]) -> Integers:
        return self.inner.codes_after(self._drawn(y))

    def read_as_others(self, codes: Integers) -> NDArray[np.bool_]:
        return self.inner.read_as_others(codes)

    def inputs(self, batch: pa.RecordBatch) -> NDArray[np.int32]:
        return self.inner.inputs(batch)

    def outputs(self, x: NDArray[np.int32], randomness: Randomness, threads: int | None = None) -> NDArray[np.int32]:
        y = self.inner.outputs(x, randomness, threads)
        numbers = self._sampler.numbers(self.inner.codes_after(y), randomness)
        return beside(y, numbers)

    def keyed_outputs(
        self, x: NDArray[np.int32], persons: Persons, mac: Mac, threads: int | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
        raise InvalidInput(NOT_KEYED)

    def finish(self) -> None:
        self.inner.finish()

    def keep_types(self, types: Mapping[str, pa.DataType]) -> None:
        self.inner.keep_types(types)
        self._types = types

    def release(self, y: NDArray[np.int32]) -> pa.RecordBatch:
        rows = self.inner.release(self._drawn(y))
        arrays = dict(zip(rows.schema.names, rows.columns, strict=True))
        numbers = np.ascontiguousarray(y[:, y.shape[1] - self._width :]).view(np.int64)
        for k, one in enumerate(self.fill.inside):
            arrays[one.name] = written(one, numbers[:, k], self._types.get(one.name))
        return pa.RecordBatch.from_arrays([arrays[name] for name in self.fill.order], names=list(self.fill.order))

    def schema(self) -> pa.Schema:
        kinds = {field.name: field.type for field in self.inner.schema()}
        kinds |= {one.name: _kind(one, self._types.get(one.name)) for one in self.fill.inside}
        return pa.schema([(name, kinds[name]) for name in self.fill.order])

    def _drawn(self, y: NDArray[np.int32]) -> NDArray[np.int32]:
        return y[:, : y.shape[1] - self._width]


def beside(y: NDArray[np.int32], numbers: Integers) -> NDArray[np.int32]:
    """Outputs and the numbers of what is filled in one array, each number in two halves."""
    halves = np.ascontiguousarray(numbers, dtype=np.int64).view(np.int32).reshape(len(y), -1)
    return np.hstack([y, halves])


def written(one: Inside, numbers: Integers, kind: pa.DataType | None) -> pa.Array:
    """Numbers as the values of a column, in the type that the original table has it in, as far as that fits."""
    gone = numbers == GONE
    if one.column is not None:
        codes = np.where(gone, 0, numbers)
        places, missing = places_of(one.column, codes)
        values = one.column.released_values if kind is None else values_as(one.column, kind)
        return pa.DictionaryArray.from_arrays(pa.array(places, mask=missing | gone), values)
    plain = np.where(gone, 0, numbers)
    to = _kind(one, kind)
    if one.grid == "number":
        found = pa.array(plain / 10.0**one.decimals, mask=gone).cast(to, safe=False)
    elif one.grid == "day":
        found = pa.array(plain.astype("datetime64[D]"), mask=gone).cast(to)
    else:
        found = pa.array(plain, mask=gone).cast(to)
    return found.dictionary_encode()


def _kind(one: Inside, kind: pa.DataType | None) -> pa.DataType:
    """The type of a column as it is written."""
    kind = kind.value_type if kind is not None and pa.types.is_dictionary(kind) else kind
    if one.column is not None:
        return (one.column.released_values if kind is None else values_as(one.column, kind)).type
    if one.grid == "day":
        return pa.string() if kind is not None and is_text(kind) else pa.date32()
    if one.grid == "number":
        return kind if kind is not None and pa.types.is_floating(kind) else pa.float64()
    largest = int(np.abs(one.drawn[:, FIRST : LAST + 1]).max(initial=0))
    if kind is not None and pa.types.is_floating(kind):
        return kind
    fits = kind is not None and pa.types.is_signed_integer(kind) and largest < 2 ** (kind.bit_width - 1)
    return kind if fits and kind is not None else pa.int64()


def read(one: Inside, as_label: Column | None, array: pa.Array) -> tuple[Integers, NDArray[np.bool_]]:
    """The numbers that released values stand for, and which of them are never written."""
    if as_label is not None and one.column is not None:
        codes = as_label.encode(array)
        none = None not in one.column.labels
        return np.where(codes == UNSEEN, GONE, codes), (codes == UNSEEN) & none
    if one.grid == "day":
        kind = as_kind(array, "day")
        days = kind.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
    else:
        numbers = as_kind(array, "number").to_numpy(zero_copy_only=False).astype(np.float64)
        days = pa.array(np.rint(np.nan_to_num(numbers) * 10.0**one.decimals).astype(np.int64), mask=np.isnan(numbers))
    gone = days.is_null().to_numpy(zero_copy_only=False)
    found = days.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.where(gone, GONE, found), ~gone & ~_in_parts(one, found)


def _in_parts(one: Inside, numbers: Integers) -> NDArray[np.bool_]:
    """Which numbers lie in some part."""
    parts = one.drawn[np.argsort(one.drawn[:, FIRST], kind="stable")]
    first, last = parts[:, FIRST], np.maximum.accumulate(parts[:, LAST])
    place = np.searchsorted(first, numbers, side="right") - 1
    return np.asarray((place >= 0) & (numbers <= last[np.maximum(place, 0)]))


def _fill_of(protocol: Protocol) -> Fill:
    if protocol.fill is None:
        raise InvalidTable("this protocol fills no columns")
    return protocol.fill
