"""A released table that was read, to compare groups in it: who is asked about, and how sure answers are to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.frequencies import Presentation, Reader
from privacyfunnel.estimates.intervals import tail
from privacyfunnel.estimates.measuring import Way
from privacyfunnel.estimates.meters import Meters
from privacyfunnel.estimates.questions import Asker
from privacyfunnel.estimates.read_release import Layout, ReadRelease, read_release
from privacyfunnel.estimates.which_rows import Rows
from privacyfunnel.estimates.wide.meters import WideMeters
from privacyfunnel.protocols.protocol import Protocol


@dataclass(frozen=True, eq=False)
class Opened:
    """A released table that was read and can be asked."""

    read: ReadRelease
    kept: dict[str, Sequence[int]]
    """The group that all questions are about: numbers of the values that some attributes may have."""
    wish: Presentation

    @classmethod
    def of(
        cls,
        released: Any,
        protocol: Protocol,
        where: Mapping[str, Any] | None,
        rows: Rows | None,
        confidence: float,
        delimiter: str | None,
        encoding: str,
        names: Sequence[str],
        earlier: Any = None,
        person: str | None = None,
    ) -> Opened:
        """Read a released table to ask it about the attributes `names`."""
        tail(confidence)  # refuses what is none
        layout = Layout(rows, True, earlier, person, delimiter, encoding)
        read = read_release(protocol, released, layout)
        return cls(read, cls._fixed(read.asker, names, where), Presentation(confidence, model=False))

    @property
    def rows(self) -> int:
        """How many rows were released."""
        return self.read.rows

    @property
    def way(self) -> Way:
        """Whether they are counted or worked back."""
        return self.read.way

    @property
    def why(self) -> str:
        """Why, in a sentence."""
        return self.read.why

    @property
    def asker(self) -> Asker:
        """What knows the attributes."""
        return self.read.asker

    @property
    def meters(self) -> Meters | WideMeters:
        """How shares are found."""
        return self.read.meters

    @staticmethod
    def _fixed(asker: Asker, names: Sequence[str], where: Mapping[str, Any] | None) -> dict[str, Sequence[int]]:
        """The group that all questions are about."""
        asker.require(names)
        fixed = values_kept(asker, where or {})
        both = sorted(set(names) & set(fixed))
        if both and any(len(fixed[name]) < 2 for name in both):
            raise InvalidInput(
                f"attribute {both[0]!r} has a single value in this group, so there is nothing to compare"
            )
        return fixed

    def reader(self, names: Sequence[str], fixed: Mapping[str, Sequence[int]] | None = None) -> Reader:
        """How these attributes are asked for, among those who have the fixed values, too."""
        return self.meters.reader(names, self.kept if fixed is None else {**self.kept, **fixed}, self.wish)


def values_kept(asker: Asker, where: Mapping[str, Any]) -> dict[str, Sequence[int]]:
    """The numbers of the values that a group is defined by."""
    asker.require(list(where))
    lists = {name: list(v) if isinstance(v, list | tuple | set) else [v] for name, v in where.items()}
    return {name: [asker.code(name, value) for value in values] for name, values in lists.items()}
