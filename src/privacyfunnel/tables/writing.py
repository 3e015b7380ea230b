"""Writing: output files that appear whole or not at all."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from privacyfunnel.errors import OutputRefused
from privacyfunnel.tables.writing_others import EXCEL, STATISTICAL, whole_into

Write = Callable[[pa.RecordBatch], None]
NAME_BYTES = 4
"""Of hidden files beside an output: enough that two at a time differ, and a name is hardly longer."""
SHOWN = 200
"""Letters of a path that a message quotes: it may be refused for being too long."""
FORMATS = (".csv", ".csv.gz", ".parquet", *STATISTICAL, EXCEL)


def format_of(path: Path) -> str:
    """The format that the name of an output file asks for."""
    for suffix in FORMATS:
        if path.name.lower().endswith(suffix):
            return suffix
    raise OutputRefused(f"{path} should end in {', '.join(FORMATS)}")


def check_output(path: Path, force: bool, inputs: tuple[Path | None, ...] = ()) -> None:
    """Refuse an output that is an input, exists without --force, or lies in no folder that can be written to.

    Asked before long work is done for it.
    """
    try:
        if any(other is not None and other.exists() and path.exists() and path.samefile(other) for other in inputs):
            raise OutputRefused(f"{path} is the input itself; choose another output")
        if not path.parent.is_dir():
            raise OutputRefused(f"there is no folder {path.parent}")
        if path.is_dir():
            raise OutputRefused(f"{path} is a folder")
        if path.exists() and not force:
            raise OutputRefused(f"{path} exists; pass --force to replace it")
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as trouble:
        raise OutputRefused(f"{str(path)[:SHOWN]} cannot be written: {in_words(trouble)}") from None


@contextmanager
def whole_file(path: Path, force: bool, private: bool = False) -> Iterator[IO[bytes]]:
    """A file that takes its name only when all of it is on the disk; if `private`, one that only its owner may read.

    It is written under a hidden name in the same folder, flushed, and renamed. A process that is
    killed leaves at most that hidden file, which ends in ".part".
    """
    part = path.parent / f".{path.name}.{secrets.token_hex(NAME_BYTES)}.part"
    try:
        with open(part, "xb", opener=_opened_privately if private else None) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _name(part, path, force)
        sync_folder(path.parent)
    except OSError as trouble:
        raise OutputRefused(f"{path} was not written: {in_words(trouble)}") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _opened_privately(name: str, flags: int) -> int:
    return os.open(name, flags, stat.S_IRUSR | stat.S_IWUSR)


def _name(part: Path, path: Path, force: bool) -> None:
    if force:
        part.replace(path)
        return
    try:
        os.link(part, path)  # unlike a rename, this fails if somebody else made the file meanwhile
    except FileExistsError:
        raise OutputRefused(f"{path} exists; pass --force to replace it") from None
    except OSError:  # a file system without hard links
        if path.exists():
            raise OutputRefused(f"{path} exists; pass --force to replace it") from None
        part.replace(path)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, where that can be asked for."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def in_words(trouble: OSError) -> str:
    """Why a file cannot be written."""
    known = {
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "the disk quota is used up",
        errno.EROFS: "the folder is read-only",
        errno.EACCES: "the folder may not be written to",
        errno.EPERM: "the folder may not be written to",
        errno.ENAMETOOLONG: "its name is too long",
    }
    return known.get(trouble.errno or 0, trouble.strerror or "the folder would not take it")


@contextmanager
def table_writer(
    path: Path, schema: pa.Schema, metadata: dict[str, Any], force: bool, private: bool = False
) -> Iterator[Write]:
    """A function that appends batches to a new table file, which appears when all is written."""
    with whole_file(path, force, private) as file, rows_into(file, format_of(path), schema, metadata) as write:
        yield write


@contextmanager
def rows_into(file: IO[bytes], kind: str, schema: pa.Schema, metadata: dict[str, Any]) -> Iterator[Write]:
    """A function that appends batches to an open file."""
    if kind == ".parquet":
        # Dictionary columns are written as they are, and read back as plain ones: no Arrow schema is stored.
        packed_schema = pa.schema([(field.name, pa.dictionary(pa.int32(), field.type)) for field in schema])
        with pq.ParquetWriter(file, packed_schema, store_schema=False) as parquet:
            parquet.add_key_value_metadata({"privacyfunnel": json.dumps(metadata)})
            yield parquet.write_batch
    elif kind == ".csv.gz":
        # No name and no time go into the file: it tells the released rows, and nothing of its making.
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed, _csv(packed, schema) as write:
            yield write
    elif kind in (*STATISTICAL, EXCEL):
        with whole_into(file, kind, schema) as write:
            yield lambda batch: write(plain(batch, schema))
    else:
        with _csv(file, schema) as write:
            yield write


@contextmanager
def _csv(sink: Any, schema: pa.Schema) -> Iterator[Write]:
    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(schema.names)
    sink.write(header.getvalue().encode())
    options = pa_csv.WriteOptions(include_header=False)
    with pa_csv.CSVWriter(sink, schema, write_options=options) as writer:
        yield lambda batch: writer.write_batch(plain(batch, schema))


def plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Dictionary columns as plain values."""
    arrays = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
