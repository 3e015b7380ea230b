"""The internal copy: released rows together with whose they are, for the house and for the next follow-up alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privacyfunnel.errors import InvalidInput
from privacyfunnel.tables.sanitiser import Sanitiser
from privacyfunnel.tables.sources import Source
from privacyfunnel.tables.writing import check_output, format_of, plain, rows_into, whole_file

NOT_FOR_PUBLICATION = "internal: rows say whose they are; keep it to draw a follow-up, and publish the other file"


@dataclass(frozen=True)
class Kept:
    """Takes the rows of a batch and what was drawn for them; when all are there, it is to be finished.

    The file has its name when the context ends: after the release has its own, so that neither appears without the
    other unless the very last step fails.
    """

    add: Callable[[pa.RecordBatch, NDArray[np.int32]], None]
    finish: Callable[[], None]


NOTHING = Kept(lambda batch, y: None, lambda: None)
"""Where nothing is kept."""


@dataclass(frozen=True)
class Internal:
    """Where the copy goes, and the column that says whose row it is."""

    path: Path
    person: str
    force: bool = False

    @classmethod
    def asked(cls, path: str | Path, person: str | None, force: bool, output: str | Path | None) -> Internal:
        """Refused if nothing says whose rows they are, or if it cannot be written."""
        if person is None:
            raise InvalidInput("an internal copy says whose rows they are: name the column (person)")
        kept = cls(Path(path), person, force)
        kept.check(Path(output) if output is not None else None)
        return kept

    def check(self, *others: Path | None) -> None:
        """Refuse what cannot be written, before anything is drawn."""
        format_of(self.path)
        check_output(self.path, self.force, others)


@contextmanager
def kept_inside(internal: Internal | None, sanitiser: Sanitiser, source: Source, digest: str | None) -> Iterator[Kept]:
    """What takes the rows; `digest` is that of the protocol, by which a follow-up knows the right copy again."""
    if internal is None:
        yield NOTHING
        return
    source.require([internal.person])
    if internal.person in sanitiser.schema().names:
        raise InvalidInput(f"--person {internal.person} is a column that is released; name the one that says who it is")
    schema = sanitiser.schema().insert(0, pa.field(internal.person, pa.string()))
    metadata = {"software": "privacyfunnel", "mind": [NOT_FOR_PUBLICATION], "protocol": digest}
    kind = format_of(internal.path)
    with whole_file(internal.path, internal.force, private=True) as file, ExitStack() as data:
        write = data.enter_context(rows_into(file, kind, schema, metadata))

        def keep(batch: pa.RecordBatch, y: NDArray[np.int32]) -> None:
            rows = plain(sanitiser.release(y), sanitiser.schema())
            arrays: list[Any] = [_texts(batch.column(internal.person)), *rows.columns]
            whole = pa.RecordBatch.from_arrays(arrays, schema=schema)
            write(packed(whole) if kind == ".parquet" else whole)

        yield Kept(keep, data.close)


def _texts(array: Any) -> pa.Array:
    """Whose rows they are, as texts: a file may hold them as numbers, and the next one not."""
    whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return (
        whole.dictionary_decode().cast(pa.string()) if pa.types.is_dictionary(whole.type) else whole.cast(pa.string())
    )


def packed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Columns as dictionaries, as the writer of Parquet files takes them."""
    arrays = [column.dictionary_encode() for column in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)
