"""The fill of a table: its other columns, read as they are, in a private model of them given the kept ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privacyfunnel.distribution.column import EXACT, OTHER, UNSEEN, Column, Reading
from privacyfunnel.distribution.raw import LETTERS, as_text
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.model.columns import (
    CELLS,
    PARTS,
    Counted,
    by_date,
    by_finer_label,
    by_label,
    by_number,
    cells_of,
)
from privacyfunnel.model.fitting import fit_fill
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.cutting import decimals_of
from privacyfunnel.tables.domain import Domain
from privacyfunnel.tables.fitting import FittedColumn, Wishes, fit_columns
from privacyfunnel.tables.never import declared
from privacyfunnel.tables.sources import Source
from privacyfunnel.tables.wide.all_pairs import USUAL_DELTA
from privacyfunnel.typing import Integers, Vector

RANGES = 16
"""Of a filled column of numbers, of about equal counts; each is counted in some parts."""
MOST_LABELS = 500
"""Of a filled column of texts: the others are one value."""
FEWEST = 20
"""Rows for each value, on average, of a column of very many texts: with fewer, its values name people."""


def with_fill(
    protocol: Protocol,
    source: Source,
    names: Sequence[str],
    epsilon: float,
    *,
    delta: float = USUAL_DELTA,
    domain: Domain | None = None,
    rest: bool = False,
    ranges: bool = False,
    missing: Sequence[str] = (),
    whole: Sequence[str] = (),
    never: str | None = None,
    doing: Callable[[str], None] = lambda _: None,
) -> Protocol:
    """The protocol with the columns `names` of the table that it was fitted on filled, for ε₀ = `epsilon` and `delta`.

    With `rest`, those of them that look like identifiers are left out. Kept ranges are written as numbers, months as
    days and other values than the most frequent as what they are, each drawn within what is kept: not with `ranges`,
    and not in the columns `whole`. No row that is drawn fulfils the condition `never`. What is read of the columns is
    as for a fit: their values, ranges and decimals are those of the table, or with a `domain` of that alone; and all
    that is counted of people has noise.
    """
    spent = protocol.spent
    if spent is None or protocol.fill is not None:
        raise InvalidInput("columns are filled beside the kept columns of a private fit, once")
    doing("reading the columns that are filled")
    columns = _columns(source, names, tuple(missing), rest) if domain is None else list(map(domain.column, names))
    finer = {} if ranges or domain is not None else _finer(source, protocol.columns, tuple(missing), whole)
    read = _read(source, [*columns, *protocol.columns, *finer.values()])
    if any(len(codes) != protocol.people for codes, _ in read):
        raise InvalidTable("columns are filled from the table that the protocol was fitted on; this one has other rows")
    drawn, coarse, fine = read[: len(columns)], read[len(columns) :][: len(protocol.columns)], read[-len(finer) :]

    def decimals(column: Column, own: Rows) -> int | None:
        if own[1] is None:
            return None
        return decimals_of(own[1]) if domain is None else domain.decimals(column.name)

    counted = [
        (_counted(column, decimals(column, own), False), own) for column, own in zip(columns, drawn, strict=True)
    ]
    if not ranges:
        own_of = dict(zip(finer, fine if finer else [], strict=True))
        for column, own in zip(protocol.columns, coarse, strict=True):
            found = _kept(column, decimals(column, own), finer.get(column.name))
            counted += [(found, own_of.get(column.name, own))] if found is not None else []
    ruled_out = None
    if never is not None:
        cut, ruled_out = declared(never, source.columns, [one for one, _ in counted], protocol.columns)
        counted = [(one, own) for one, (_, own) in zip(cut, counted, strict=True)]
    cells = {one.name: cells_of(one, *own) for one, own in counted}
    kept = {column.name: (own[0], len(column)) for column, own in zip(protocol.columns, coarse, strict=True)}
    order = [name for name in source.columns if name in kept or name in {column.name for column in columns}]
    level = protocol.notion.epsilon
    doing("fitting the model of the columns that are filled")
    fill = fit_fill(kept, [one for one, _ in counted], cells, order, epsilon, delta, level, spent.epsilon, ruled_out)
    return replace(protocol, fill=fill)


def _columns(source: Source, names: Sequence[str], missing: tuple[str, ...], rest: bool) -> list[Column]:
    """How each column is read: numbers by ranges, texts by their most frequent values."""
    fitted = fit_columns(source, names, Wishes(missing=missing)) if names else ()
    rough = [one.column for one in fitted if not (rest and (one.identifier or _too_fine(source, one.column)))]
    finer = {column.name: RANGES for column in rough if column.kind == "bins"}
    more = {column.name: MOST_LABELS for column in rough if column.other}
    again = [column.name for column in rough if column.name in {**finer, **more}]
    if not again:
        return rough
    found = fit_columns(source, again, Wishes(finer, more, missing=missing))
    own = {one.column.name: _own_values(one, source) for one in found}
    return [own.get(column.name, column) for column in rough]


def _too_fine(source: Source, column: Column) -> bool:
    """Whether so few rows share a value of a column of texts that its list of values would name people."""
    if not column.other:
        return False
    rows, (distinct,) = source.distinct([column.name])
    return distinct * FEWEST > rows


def _finer(
    source: Source, columns: Sequence[Column], missing: tuple[str, ...], whole: Sequence[str]
) -> dict[str, Column]:
    """Columns of texts of which only the most frequent values are kept, with more of their values."""
    names = [column.name for column in columns if column.other and column.kind == "text" and column.name not in whole]
    if not names:
        return {}
    fitted = fit_columns(source, names, Wishes(top=dict.fromkeys(names, MOST_LABELS), missing=missing))
    return {one.column.name: _own_values(one, source) for one in fitted}


def _own_values(fitted: FittedColumn, source: Source) -> Column:
    """The column without a value for all others, if there are none."""
    column = fitted.column
    if not column.other or fitted.chosen:
        return column
    for batch in source.groups([column.name]):
        if pc.any(pc.equal(as_text(_plain(_one(batch.column(0)))), OTHER)).as_py():
            return column
    labels = tuple(label for label in column.labels if label != OTHER)
    return Column(**column.reading().model_dump(), labels=labels)


def readings_of(
    protocol: Protocol, source: Source, missing: Sequence[str] = (), domain: Domain | None = None
) -> dict[str, Reading]:
    """How the table has the filled numbers and dates, which `with_fill` read from it."""
    inside = protocol.fill.inside if protocol.fill is not None else ()
    names = [one.name for one in inside if one.column is None and one.name not in protocol.attributes]
    if domain is not None:
        return {name: domain.column(name).reading() for name in names}
    fitted = fit_columns(source, names, Wishes(missing=tuple(missing))) if names else ()
    return {one.column.name: one.column.reading() for one in fitted}


Rows = tuple[Integers, Vector | None]
"""The codes of a column, row by row, and its numbers, where it holds ranges of them."""


def _read(source: Source, columns: Sequence[Column]) -> list[Rows]:
    """The rows of each column; a column may be there twice, read in two ways."""
    codes: list[list[Integers]] = [[] for _ in columns]
    numbers: list[list[Vector]] = [[] for _ in columns]
    for batch in source.batches(list(dict.fromkeys(column.name for column in columns))):
        for i, column in enumerate(columns):
            array = _one(batch.column(column.name))
            codes[i].append(column.encode(array))
            if column.kind == "bins":
                values, _ = column.recognise(_plain(array))
                numbers[i].append(values.to_numpy(zero_copy_only=False).astype(np.float64))
    found: list[Rows] = []
    for column, own, values in zip(columns, codes, numbers, strict=True):
        whole = np.concatenate(own)
        if (whole == UNSEEN).any():
            raise InvalidTable(
                f"column {column.name!r} has values that cannot be read; leave it out", steward_only=True
            )
        found.append((whole, np.concatenate(values) if values else None))
    return found


def _counted(column: Column, decimals: int | None, kept: bool) -> Counted:
    """How a column is counted, and written again; `decimals` are those of ranges of numbers."""
    if decimals is not None:
        own = _on_grid(column, decimals, kept)
        if own is not None:
            return own
    return by_date(column) if column.kind in LETTERS else by_label(column)


def _kept(column: Column, decimals: int | None, finer: Column | None) -> Counted | None:
    """How a kept column is written more finely than it is kept; None if it is not.

    A range is not that has no number of the column's own grid in it.
    """
    if decimals is not None:
        return _on_grid(column, decimals, True)
    if finer is not None:
        return by_finer_label(finer, column.encode(pa.array([*finer.labels], pa.string())))
    return replace(by_date(column), kept=True) if column.kind in ("year", "month") else None


def _on_grid(column: Column, decimals: int, kept: bool) -> Counted | None:
    """A column of ranges whose numbers have so many decimals, each of its ranges with numbers in it."""
    counted = by_number(column, decimals, max(PARTS, CELLS // (len(column.edges) - 1)), kept)
    scale, edges = 10.0**counted.decimals, np.array(column.edges)
    for code, first, last in zip(counted.code, counted.first, counted.last, strict=True):
        inside = code == counted.gone or (first / scale >= edges[code] and last / scale <= edges[code + 1])
        ends_inside = code == counted.gone or code == len(edges) - 2 or last / scale < edges[code + 1]
        if not inside or not ends_inside or max(abs(first), abs(last)) > EXACT:
            return None
    return counted


def _one(array: Any) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _plain(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
