"""Contents: the columns of a file that DuckDB does not read, put into Parquet for as long as it is read.

Numbers are held as numbers and, where they have labels, as these, too. Which of both a column is, and whether its
numbers are whole, is known when all rows are read.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from privacyfunnel.distribution import raw
from privacyfunnel.distribution.column import EXACT, LONGEST_NAME
from privacyfunnel.tables.database import clear_errors

TYPES: dict[type, str] = {
    bool: "BOOLEAN",
    dt.date: "DATE",
    dt.datetime: "TIMESTAMP",
    dt.time: "TIME",
    float: "DOUBLE",
}
"""What a column of one kind of cells is in DuckDB."""


@dataclass
class Held:
    """A column as it is put into Parquet, and what is found out about it on the way."""

    name: str
    text: bool = False
    doubtful: bool = False
    """Whether its cells may be of any kind."""
    about: str = ""
    """What it is about, in words."""
    codes: Mapping[Any, str] = field(default_factory=dict)
    """What values stand for, in words."""
    kinds: set[type] = field(default_factory=set)
    whole: bool = True
    bare: int = 0
    """Rows with a value that has no label."""

    def __post_init__(self) -> None:
        self.about = self.about[:LONGEST_NAME]
        labels = {code: str(label).strip() for code, label in self.codes.items() if not self.doubtful}
        told = Counter(labels.values())
        self.codes = {
            code: label if told[label] == 1 else f"{label} ({written(code)})"  # two values stay two
            for code, label in labels.items()
            if label and isinstance(code, str if self.text else int | float)
        }

    @property
    def labelled(self) -> bool:
        """Whether its values are what they stand for."""
        return bool(self.codes) and not self.bare

    @property
    def note(self) -> str:
        """What is to be said of it."""
        if not self.codes or not self.bare:
            return ""
        return f"{self.bare:,} rows have a number without a label, so all are read as numbers"

    @property
    def codes_by_label(self) -> dict[str, Any]:
        """The value that each label stands for."""
        return {label: code for code, label in self.codes.items()}

    def fields(self, i: int) -> list[pa.Field]:
        """The columns that hold it in Parquet."""
        own = pa.field(f"c{i}", pa.string() if self.text or self.doubtful else pa.float64())
        return [own, pa.field(f"t{i}", pa.string())] if self.codes else [own]

    def arrays(self, cells: list[Any]) -> list[pa.Array]:
        """Some of its cells, as they are put there."""
        if self.text:
            array = pa.array([None if cell is None else str(cell) for cell in cells], pa.string())
        elif self.doubtful:
            self.kinds.update({float if type(cell) is int else type(cell) for cell in cells if cell is not None})
            array = pa.array([written(cell) for cell in cells], pa.string())
        else:
            array = pa.array(cells, pa.float64())
        self.whole = self.whole and not self.text and self._is_whole(cells if self.doubtful else array)
        if not self.codes:
            return [array]
        keys = pa.array(list(self.codes), pa.string() if self.text else pa.float64())
        found = pc.index_in(array, value_set=keys)
        self.bare += int(pc.sum(pc.and_(raw.present(array, ()).is_valid(), found.is_null())).as_py() or 0)
        return [array, pc.take(pa.array(list(self.codes.values()), pa.string()), found)]

    def _is_whole(self, cells: Any) -> bool:
        if isinstance(cells, list):
            return all(not isinstance(cell, float) or (cell.is_integer() and abs(cell) < EXACT) for cell in cells)
        fine = pc.and_(pc.equal(cells, pc.trunc(cells)), pc.less(pc.abs(cells), float(EXACT)))
        return bool(pc.all(fine.fill_null(True)).as_py())

    def shown(self, i: int) -> str:
        """SQL of its values."""
        if self.labelled:
            return f"t{i}"
        kinds = {dt.datetime} if self.kinds == {dt.date, dt.datetime} else self.kinds
        if self.text or (self.doubtful and not (len(kinds) == 1 and kinds <= TYPES.keys())):
            return f"c{i}"
        if self.whole and kinds <= {float}:
            return f"CAST(CAST(c{i} AS DOUBLE) AS BIGINT)"
        return f"CAST(c{i} AS {TYPES[next(iter(kinds), float)]})"


def written(cell: Any) -> str | None:
    """A cell as text, by which DuckDB knows it again."""
    if cell is None:
        return None
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < EXACT else repr(cell)
    return str(cell)


@dataclass
class Contents:
    """The columns of a file, and its rows: lists of cells by column, some rows at a time."""

    columns: list[Held]
    rows: Iterator[list[list[Any]]]

    def told(self) -> dict[str, Any]:
        """What is known of the columns when all rows are read, for a `Converted`."""
        columns = self.columns
        return {
            "names": [column.name for column in columns],
            "shown": [column.shown(i) for i, column in enumerate(columns)],
            "about": {column.name: column.about for column in columns if column.about},
            "notes": {column.name: column.note for column in columns if column.note},
            "codes": {column.name: column.codes_by_label for column in columns if column.labelled},
        }

    def put(self, path: Path, name: str) -> None:
        """Write all rows to a Parquet file; `name` is the table's, for messages."""
        schema = pa.schema([one for i, column in enumerate(self.columns) for one in column.fields(i)])
        with clear_errors(name), pq.ParquetWriter(path, schema) as parquet:
            for cells in self.rows:
                arrays = [a for column, part in zip(self.columns, cells, strict=True) for a in column.arrays(part)]
                parquet.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
