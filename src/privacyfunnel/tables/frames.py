"""Frames: tables in memory of any kind, taken apart into Arrow columns, and given back as the kind that they were.

DataFrames are read and made by narwhals, column by column, so that no index comes along. Everything else that speaks
the Arrow C stream (relations of DuckDB, tables of ibis, DataFrames of DataFusion, readers of record batches …) is read
as that, once.
"""

from __future__ import annotations

from collections.abc import Callable
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
    """The rows with the very types of `frame`: a library may have several for one of Arrow, such as categories.

    A type that holds no missing value is not asked to: a cast would put another value in its place.
    """
    for name in released.column_names:
        own, drawn = frame.get_column(name) if name in frame.columns else None, released[name]
        if own is None or not _same_values(own.to_arrow().type, drawn.type):
            continue
        for cast in (_to_its_type, _to_its_kind):
            column = _held(cast, own, drawn)
            if column is not None:
                found = found.with_columns(column.alias(name))
                break
    return found


def _held(cast: Callable[[Any, pa.ChunkedArray], Any], own: Any, drawn: pa.ChunkedArray) -> Any:
    """The drawn column, cast; None if what was drawn has no place in that type."""
    try:
        column = cast(own, drawn)
    except MemoryError:
        raise
    except Exception:  # of whichever library it is; its words may quote a value
        return None
    return column if column.null_count() == drawn.null_count else None


def _to_its_type(own: Any, drawn: pa.ChunkedArray) -> Any:
    """Drawn values in the native type of a column: pandas and Arrow have types that narwhals has no name for."""
    import narwhals

    if own.implementation.is_pandas():
        pandas = own.implementation.to_native_namespace()
        values = pandas.Series(pandas.arrays.ArrowExtensionArray(drawn)).astype(own.to_native().dtype)
    elif own.implementation.is_pyarrow():
        kind = own.to_native().type
        values = (drawn.dictionary_encode() if pa.types.is_dictionary(kind) else drawn).cast(kind)
    else:
        return _to_its_kind(own, drawn)
    return narwhals.from_native(values, series_only=True)


def _to_its_kind(own: Any, drawn: pa.ChunkedArray) -> Any:
    """The same in what narwhals knows of that type: categories, say, whichever they are."""
    import narwhals

    frame = narwhals.from_arrow(pa.table({"drawn": drawn}), backend=own.implementation)
    return frame.get_column("drawn").cast(own.dtype)


def _same_values(kind: pa.DataType, other: pa.DataType) -> bool:
    """Whether two types of Arrow hold the same values."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(kind == other or (is_text(kind) and is_text(other)))
