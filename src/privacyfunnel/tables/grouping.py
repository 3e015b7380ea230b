"""Grouping: what fitting and counting ask of a table, whichever engine holds it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from privacyfunnel.errors import InvalidTable


@dataclass(frozen=True, eq=False, kw_only=True)
class Grouping(ABC):
    """A table that an engine groups and counts. The values stay raw: what they mean is decided in `raw` alone."""

    columns: tuple[str, ...]
    name: str
    """For messages."""
    unusable: Mapping[str, str] = field(default_factory=dict)
    """Columns that cannot be read, and why."""
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    """Of columns, in a table that says so. Text files do not."""
    about: Mapping[str, str] = field(default_factory=dict)
    """What columns are about, in a table that says so."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """What is to be said of how columns were read."""
    codes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By column, the numbers that stand for its texts in the file."""

    def require(self, columns: Sequence[str]) -> None:
        """Refuse names that are not columns of the table, or are columns that cannot be read."""
        for column in columns:
            if column not in self.columns:
                raise InvalidTable(
                    f"{self.name} has no column {column!r} among its {len(self.columns)}; {self._hint(column)}"
                )
            if not column.strip():
                raise InvalidTable(f"column {self.columns.index(column) + 1} of {self.name} has no name; give it one")
            if column in self.unusable:
                raise InvalidTable(f"column {column!r} {self.unusable[column]}")

    def _hint(self, column: str) -> str:
        """What to do about a name that is no column. Others are not quoted: the first line may be somebody's record."""
        alike = [name for name in self.columns if _plain(name) == _plain(column)]
        if not alike and any(_plain(column) in map(_plain, name.split(",")) for name in self.columns):
            return "on the command line, quote a name with a comma in it twice: '\"height, cm\"'"
        if not alike:
            return "check the spelling, and that its first line holds the names"
        if alike[0] == alike[0].strip():
            return f"did you mean {alike[0]!r}?"
        return f"did you mean {alike[0]!r}? On the command line, quote such names twice: '\"{alike[0]}\"'"

    @abstractmethod
    def groups(self, columns: Sequence[str], most: int | None = None) -> Iterator[pa.RecordBatch]:
        """The different rows of the columns and, last, how often each occurs: all of them, or the `most` frequent."""

    @abstractmethod
    def hold(self, columns: Sequence[str]) -> None:
        """Read the columns once, for several calls of `groups`."""


def _plain(name: str) -> str:
    """The name without what is easily overlooked: capitals, and spaces and invisible marks at its ends."""
    return name.strip().strip("\ufeff\u200b\xa0").casefold()
