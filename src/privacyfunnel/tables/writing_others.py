"""Writing SPSS, Stata and Excel files, for those who asked for one by its name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from privacyfunnel.errors import MissingExtra, OutputRefused
from privacyfunnel.tables.database import spill_file

Write = Callable[[pa.RecordBatch], None]
ABOUT, CODES = b"about", b"codes"
"""Of a field of a schema: what the column is about, and the number that stands for each of its texts."""
STATISTICAL = {".sav": "write_sav", ".dta": "write_dta"}
"""By the end of a name, what writes it. All rows are held until then."""
EXCEL = ".xlsx"
MOST_ROWS = 1_048_575
"""Of a sheet of Excel, below its header."""
SIGNED = {"true": 1, "false": 0}


def described(schema: pa.Schema, about: Mapping[str, str], codes: Mapping[str, Mapping[str, Any]]) -> pa.Schema:
    """The schema with what is known of its columns, for formats that have a place for it."""
    fields = []
    for field in schema:
        told = {ABOUT: about[field.name]} if field.name in about else {}
        if field.name in codes and pa.types.is_string(field.type):
            told[CODES] = json.dumps(list(codes[field.name].items()))
        fields.append(field.with_metadata(told) if told else field)
    return pa.schema(fields)


@contextmanager
def whole_into(file: IO[bytes], kind: str, schema: pa.Schema) -> Iterator[Write]:
    """A function that appends batches in plain types to an open file of this kind."""
    with _excel(file, schema) if kind == EXCEL else _statistical(file, kind, schema) as write:
        yield write


@contextmanager
def _statistical(file: IO[bytes], kind: str, schema: pa.Schema) -> Iterator[Write]:
    held: list[pa.RecordBatch] = []
    _written(kind, pa.Table.from_batches([], schema=schema))  # a name that it does not take is refused beforehand
    yield held.append
    path = _written(kind, pa.Table.from_batches(held, schema=schema))
    with path.open("rb") as whole:
        shutil.copyfileobj(whole, file)
    path.unlink()


def _written(kind: str, table: pa.Table) -> Path:
    """The table in a file of its own."""
    try:
        import pandas as pd
        import pyreadstat
    except ImportError:
        raise MissingExtra(f"{kind} files are written by pyreadstat and pandas, of which one", "formats") from None
    columns, labels = {}, {}
    for field, column in zip(table.schema, table.columns, strict=True):
        numbers, labels[field.name] = _coded(field, column)
        columns[field.name] = pd.Series(numbers)
    about = {field.name: (field.metadata or {}).get(ABOUT, b"").decode() or None for field in table.schema}
    path = spill_file().with_suffix(kind)
    try:
        getattr(pyreadstat, STATISTICAL[kind])(
            pd.DataFrame(columns),
            str(path),
            column_labels=about,
            variable_value_labels={name: found for name, found in labels.items() if found},
        )
    except MemoryError:
        raise
    except Exception as trouble:  # of the library; of names it tells which, and of values it may tell one
        path.unlink(missing_ok=True)
        why = f": {trouble}" if not table.num_rows else "; write .csv or .parquet"
        raise OutputRefused(f"this table cannot be written as a {kind} file{why}") from None
    return path


def _coded(field: pa.Field, column: pa.ChunkedArray) -> tuple[Any, dict[Any, str]]:
    """A column as pyreadstat takes it, and what its numbers stand for."""
    if pa.types.is_boolean(field.type):
        return pc.cast(column, pa.float64()).to_numpy(), {code: label for label, code in SIGNED.items()}
    if not pa.types.is_string(field.type):
        kind = pa.float64() if pa.types.is_decimal(field.type) else field.type
        return column.cast(kind).to_pandas(timestamp_as_object=True), {}
    codes = dict(json.loads((field.metadata or {}).get(CODES, b"[]")))
    if not codes or not all(isinstance(code, int | float) for code in codes.values()):
        return column.fill_null("").to_pandas().astype(object), {}
    last = int(max(codes.values()))
    new = [text for text in pc.unique(column).drop_null().to_pylist() if text not in codes]
    codes |= {text: last + i for i, text in enumerate(sorted(new), 1)}
    places = pc.index_in(column, value_set=pa.array(list(codes), pa.string()))
    numbers = pc.take(pa.array(list(codes.values()), pa.float64()), places)
    return numbers.to_numpy(), {float(code): text for text, code in codes.items()}


@contextmanager
def _excel(file: IO[bytes], schema: pa.Schema) -> Iterator[Write]:
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.utils.exceptions import IllegalCharacterError
    except ImportError:
        raise MissingExtra(f"{EXCEL} files are written by openpyxl, which", "formats") from None
    book = Workbook(write_only=True)
    sheet, rows = book.create_sheet("released"), 0

    def cell(value: Any) -> Any:
        found = WriteOnlyCell(sheet, value)
        if isinstance(value, str):
            found.data_type = "s"  # no text is a formula
        return found

    def write(batch: pa.RecordBatch) -> None:
        nonlocal rows
        rows += batch.num_rows
        if rows > MOST_ROWS:
            raise OutputRefused(f"a sheet of Excel has room for {MOST_ROWS:,} rows; write .csv or .parquet")
        try:
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if all(value is None for value in row):
                    raise OutputRefused("Excel would lose a row in which all is missing; write .csv or .parquet")
                sheet.append([cell(value) for value in row])
        except (IllegalCharacterError, ValueError):
            raise OutputRefused("this table has texts that Excel does not take; write .csv or .parquet") from None

    sheet.append([cell(name) for name in schema.names])
    try:
        yield write
    except BaseException:
        sheet.close()
        raise
    book.save(file)
