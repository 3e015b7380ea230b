"""The fill of a table: its other columns, read as they are, in a private model of them given the kept ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from privacyfunnel.distribution.column import UNSEEN, Column
from privacyfunnel.distribution.raw import LETTERS, as_kind
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.model.columns import LARGEST_STEP, PARTS, Counted, by_date, by_label, by_number, cells_of
from privacyfunnel.model.fitting import fit_fill
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.domain import Domain
from privacyfunnel.tables.fitting import Wishes, fit_columns
from privacyfunnel.tables.sources import Source
from privacyfunnel.typing import Integers, Vector

USUAL_DELTA = 1e-6
"""δ₀ of the fill's Gaussian noise, as of a model of a wide table."""
RANGES = 16
"""Of a filled column of numbers, of about equal counts; each is counted in some parts."""
MOST_LABELS = 500
"""Of a filled column of texts: the others are one value."""
MOST_DECIMALS = 6
"""Numbers with more digits behind the point are measurements: they are written with so many."""
NEAR = 1e-6
"""Of a multiple of the step: what float64 makes of decimals."""
PER_ROUND = 100_000
"""Rows that are looked at for decimals: a format shows in far fewer."""


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
    doing: Callable[[str], None] = lambda _: None,
) -> Protocol:
    """The protocol with the columns `names` of the table that it was fitted on filled, for ε₀ = `epsilon` and `delta`.

    With `rest`, those of them that look like identifiers are left out. Kept ranges are written as numbers, unless
    `ranges`. What was read of the columns is as for a fit: their values and
    ranges are those of the table, and all that is counted of people has noise.
    """
    spent = protocol.spent
    if spent is None or protocol.fill is not None:
        raise InvalidInput("columns are filled beside the kept columns of a private fit, once")
    doing("reading the columns that are filled")
    columns = _columns(source, names, tuple(missing), rest) if domain is None else list(map(domain.column, names))
    numbers = [] if ranges else [column for column in protocol.columns if column.kind == "bins"]
    read = _read(source, [*columns, *protocol.columns])
    if any(len(codes) != protocol.people for codes, _ in read.values()):
        raise InvalidTable("columns are filled from the table that the protocol was fitted on; this one has other rows")
    counted = [_counted(column, read[column.name][1], False) for column in columns]
    counted += [found for column in numbers if (found := _kept(column, read[column.name][1])) is not None]
    cells = {one.name: cells_of(one, *read[one.name]) for one in counted}
    kept = {column.name: (read[column.name][0], len(column)) for column in protocol.columns}
    order = [name for name in source.columns if name in kept or name in {column.name for column in columns}]
    level = protocol.notion.epsilon
    doing("fitting the model of the columns that are filled")
    fill = fit_fill(kept, counted, cells, order, epsilon, delta, level, spent.epsilon)
    return replace(protocol, fill=fill)


def _columns(source: Source, names: Sequence[str], missing: tuple[str, ...], rest: bool) -> list[Column]:
    """How each column is read: numbers by ranges, texts by their most frequent values."""
    fitted = fit_columns(source, names, Wishes(missing=missing)) if names else ()
    rough = [one.column for one in fitted if not (rest and one.identifier)]
    names = [column.name for column in rough]
    finer = {column.name: RANGES for column in rough if column.kind == "bins"}
    more = {column.name: MOST_LABELS for column in rough if column.other}
    if not finer and not more:
        return rough
    return [one.column for one in fit_columns(source, names, Wishes(bins=finer, top=more, missing=missing))]


def _read(source: Source, columns: Sequence[Column]) -> dict[str, tuple[Integers, Vector | None]]:
    """The codes of each column, row by row, and its numbers, where it holds ranges of them."""
    codes: dict[str, list[Integers]] = {column.name: [] for column in columns}
    numbers: dict[str, list[Vector]] = {column.name: [] for column in columns if column.kind == "bins"}
    for batch in source.batches(list(codes)):
        for column in columns:
            array = _one(batch.column(column.name))
            codes[column.name].append(column.encode(array))
            if column.kind == "bins":
                values = as_kind(_plain(array), "number").to_numpy(zero_copy_only=False)
                numbers[column.name].append(values.astype(np.float64))
    found = {name: np.concatenate(parts) for name, parts in codes.items()}
    lost = [name for name, own in found.items() if (own == UNSEEN).any()]
    if lost:
        raise InvalidTable(f"column {lost[0]!r} has values that cannot be read; leave it out", steward_only=True)
    return {name: (own, np.concatenate(numbers[name]) if name in numbers else None) for name, own in found.items()}


def _counted(column: Column, numbers: Vector | None, kept: bool) -> Counted:
    """How a column is counted, and written again."""
    if numbers is not None:
        own = _on_grid(column, numbers, kept)
        if own is not None:
            return own
    return by_date(column) if column.kind in LETTERS else by_label(column)


def _kept(column: Column, numbers: Vector | None) -> Counted | None:
    """The same of a kept range; none if it has no number of the column's own grid in it."""
    return None if numbers is None else _on_grid(column, numbers, True)


def _on_grid(column: Column, numbers: Vector, kept: bool) -> Counted | None:
    """A column of ranges whose numbers have few decimals, each of its ranges with numbers in it."""
    counted = by_number(column, decimals_of(numbers), PARTS, kept)
    scale, edges = 10.0**counted.decimals, np.array(column.edges)
    for code, first, last in zip(counted.code, counted.first, counted.last, strict=True):
        inside = code == counted.gone or (first / scale >= edges[code] and last / scale <= edges[code + 1])
        ends_inside = code == counted.gone or code == len(edges) - 2 or last / scale < edges[code + 1]
        if not inside or not ends_inside or max(abs(first), abs(last)) > LARGEST_STEP:
            return None
    return counted


def decimals_of(numbers: Vector) -> int:
    """How many digits the numbers of a column have behind the point.

    >>> decimals_of(np.array([1.0, 2.5, 3.25, np.nan]))
    2
    """
    there = numbers[np.isfinite(numbers)][:PER_ROUND]
    for decimals in range(MOST_DECIMALS):
        scaled = there * 10.0**decimals
        if np.abs(scaled - np.rint(scaled)).max(initial=0.0) <= NEAR:
            return decimals
    return MOST_DECIMALS


def _one(array: Any) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _plain(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
