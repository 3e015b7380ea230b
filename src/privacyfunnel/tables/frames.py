"""Frames: tables in memory of any kind, taken apart into Arrow columns, and given back as the kind that they were.

DataFrames are read and made by narwhals, column by column, so that no index comes along. Everything else that speaks
the Arrow C stream (relations of DuckDB, tables of ibis, DataFrames of DataFusion, readers of record batches …) is read
as that, once.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pyarrow as pa

from privacyfunnel.distribution.raw import is_text
from privacyfunnel.errors import InvalidTable
from privacyfunnel.tables.database import clear_errors

MIXED = "holds values of different types; give it one type"
"""Why a column cannot be read."""


def is_frame(table: Any) -> bool:
    """Whether it is a DataFrame that holds its rows: of pandas, polars, Arrow …"""
    from narwhals.dependencies import is_into_dataframe

    return is_into_dataframe(table)


def taken_apart(table: Any) -> tuple[list[str], list[Any], dict[str, str]]:
    """Names and Arrow arrays of the columns of a table in memory, and why some cannot be read."""
    classes = {f"{kind.__module__.split('.')[0]}.{kind.__name__}" for kind in type(table).__mro__}
    if "polars.LazyFrame" in classes:
        raise InvalidTable("a lazy polars table has no rows yet; pass table.collect()")
    if "pyspark.DataFrame" in classes:
        raise InvalidTable("for a DataFrame of Spark there are Joint.from_spark and Protocol.sanitise_spark")
    if not isinstance(table, pa.Table | pa.RecordBatch) and is_frame(table):
        return _columns(table)
    if not isinstance(table, pa.Table | pa.RecordBatch):
        table = _streamed(table)
    return list(table.schema.names), list(table.columns), {}


def _streamed(table: Any) -> pa.Table:
    """All rows of what speaks the Arrow C stream."""
    if not hasattr(table, "__arrow_c_stream__"):
        raise InvalidTable(
            "a table is a path, a DataFrame, or anything else that speaks the Arrow C stream, not "
            f"{type(table).__name__}"
        )
    try:
        with clear_errors("the table"):
            return pa.RecordBatchReader.from_stream(table).read_all()
    except (InvalidTable, MemoryError, KeyboardInterrupt):
        raise
    except Exception as trouble:  # of whichever engine it is; its words may quote a value
        raise InvalidTable(
            f"the table cannot be read ({type(trouble).__name__} of {type(table).__module__.split('.')[0]})"
        ) from None


def _columns(table: Any) -> tuple[list[str], list[Any], dict[str, str]]:
    """The columns of a DataFrame; one that Arrow has no type for is named, and its values are not."""
    import narwhals
    from narwhals.exceptions import DuplicateError

    try:
        frame = narwhals.from_native(table, eager_only=True)
    except DuplicateError:
        raise InvalidTable("the table has column names twice; rename them") from None
    names, arrays, unusable = [], [], {}
    for column in frame.iter_columns():
        name = str(column.name)
        names.append(name)
        try:
            arrays.append(column.to_arrow())
        except MemoryError:  # also Arrow's own
            raise
        except (pa.ArrowException, TypeError, ValueError, OverflowError):  # their messages quote the value
            arrays.append(pa.nulls(len(frame)))
            unusable[name] = MIXED
    return names, arrays, unusable


def like(table: Any, released: pa.Table) -> Any:
    """The released rows in the kind that `table` is of; in Arrow, if there is no way to make that kind."""
    import narwhals

    frame = narwhals.from_native(table, pass_through=True)
    if isinstance(frame, narwhals.DataFrame):
        found = narwhals.from_arrow(released, backend=frame.implementation)
        return _typed_alike(found, frame, released).to_native()
    if isinstance(frame, narwhals.LazyFrame):
        return narwhals.from_arrow(released, backend="pyarrow").lazy(backend=frame.implementation).to_native()
    return released


def _typed_alike(found: Any, frame: Any, released: pa.Table) -> Any:
    """The rows with the very types of `frame`: a library may have several for one of Arrow, such as categories."""
    from narwhals.exceptions import NarwhalsError

    for name in released.column_names:
        own = frame.get_column(name) if name in frame.columns else None
        if own is None or own.dtype == found.schema[name] or not _same_values(own.to_arrow().type, released[name].type):
            continue
        with suppress(NarwhalsError, TypeError, ValueError):
            found = found.with_columns(found.get_column(name).cast(own.dtype))
    return found


def _same_values(kind: pa.DataType, other: pa.DataType) -> bool:
    """Whether two types of Arrow hold the same values."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(kind == other or (is_text(kind) and is_text(other)))
