"""Identifiers: who a row is about, as one text, whatever type of column it comes in.

17 in a Parquet file, 17.0 in a pandas column that had to be of floats and "17" in a CSV are the same person. Texts
count letter by letter: "017", " 17" and "17.0" are others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privacyfunnel.distribution.column import EXACT
from privacyfunnel.distribution.raw import is_text
from privacyfunnel.drawing.persons import Numbers, Persons, Texts
from privacyfunnel.errors import InvalidTable

LONGEST = 1_000
"""Bytes of an identifier; what is longer names nobody."""


@dataclass
class Identifiers:
    """Reads the column that says who each row is about, and counts rows that do not say."""

    column: str
    missing: int = 0
    odd: int = 0
    """Fractions, numbers that floats do not hold exactly, and texts that are far too long."""

    def read(self, array: Any) -> Persons:
        """The persons of some rows; those that are refused later stand in as nobody."""
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        kind = array.type
        if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
            return self._numbers(array.cast(pa.int64()))
        if pa.types.is_floating(kind):
            return self._numbers(self._whole(array))
        if pa.types.is_decimal(kind) or pa.types.is_uint64(kind):
            return self._texts(self._digits(array))
        if is_text(kind) or pa.types.is_null(kind):
            return self._texts(array)
        raise InvalidTable(
            f"column {self.column!r} says who each row is about, so it holds texts or whole numbers, not {kind}"
        )

    def finish(self) -> None:
        """Refuse a table with rows about nobody."""
        if self.missing:
            raise InvalidTable(
                f"{self.missing:,} rows have no entry in {self.column!r}, which says who they are about",
                steward_only=True,
            )
        if self.odd:
            raise InvalidTable(
                f"{self.odd:,} rows have no whole number, or a text of over {LONGEST:,} bytes, in {self.column!r}, "
                "which says who they are about",
                steward_only=True,
            )

    def _numbers(self, array: pa.Array) -> Persons:
        self.missing += array.null_count
        return Numbers(array.fill_null(0).to_numpy(zero_copy_only=False))

    def _whole(self, array: pa.Array) -> pa.Array:
        """Floats that are whole numbers; NaN is a missing entry."""
        numbers = pc.if_else(pc.is_nan(array.cast(pa.float64())), None, array.cast(pa.float64()))
        whole = pc.and_(pc.equal(numbers, pc.floor(numbers)), pc.less(pc.abs(numbers), float(EXACT)))
        self.odd += pc.sum(pc.invert(whole)).as_py() or 0
        return pc.if_else(pc.or_(whole, pc.is_null(numbers)), numbers, 0.0).cast(pa.int64())

    def _digits(self, array: pa.Array) -> pa.Array:
        """Decimals and the largest whole numbers as they are written, without the zeros of a fraction."""
        texts = pc.replace_substring_regex(array.cast(pa.string()), r"^(-?\d+)\.0*$", r"\1")
        fractions = pc.fill_null(pc.match_substring_regex(texts, r"[^0-9-]"), False)
        self.odd += pc.sum(fractions).as_py() or 0
        return texts

    def _texts(self, array: pa.Array) -> Persons:
        whole = array if pa.types.is_string(array.type) else array.cast(pa.large_string())
        whole = whole.fill_null("") if whole.null_count else whole
        width = np.int32 if pa.types.is_string(whole.type) else np.int64
        _, offsets, data = whole.buffers()
        ends = np.frombuffer(offsets, dtype=width)[whole.offset : whole.offset + len(whole) + 1]
        persons = Texts(np.frombuffer(data or b"", dtype=np.uint8), ends if len(ends) else np.zeros(1, dtype=width))
        lengths = persons.lengths
        if len(lengths) and (lengths.min() == 0 or lengths.max() > LONGEST):  # which is quicker than to count
            self.missing += int((lengths == 0).sum())
            self.odd += int((lengths > LONGEST).sum())
        return persons
