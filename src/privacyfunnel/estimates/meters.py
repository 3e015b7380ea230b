"""Meters: how questions to a released table are measured, counted where that can be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.corrected import CorrectingMeter
from privacyfunnel.estimates.counted import CountingMeter
from privacyfunnel.estimates.frequencies import Presentation, Reader
from privacyfunnel.estimates.intervals import tail
from privacyfunnel.estimates.measuring import Meter, Way
from privacyfunnel.estimates.noisy_counts import NoisyCounts
from privacyfunnel.estimates.questions import Asker
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.estimates.which_rows import Rows, way_of
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.reading_back import Tally, as_published, tally
from privacyfunnel.typing import Vector


class Meters:
    """Counts where that can be done: questions within one block of a faithful release of the fitted table."""

    def __init__(self, protocol: Protocol, counts: Tally, way: Way, asker: Asker) -> None:
        scorers = [Scorer(block) for block in protocol.blocks]
        self._channel: tuple[Meter, Asker] = Meter(counts, scorers), asker
        self._counted: tuple[Meter, Asker] | None = None
        if way == "counted" and protocol.noise is not None:
            noisy = [NoisyCounts.of(protocol, k) for k in range(len(protocol.blocks))]
            self._counted = CorrectingMeter(counts, scorers, noisy), Asker(protocol, [each.codes for each in noisy])
        elif way == "counted":
            self._counted = CountingMeter(counts, scorers, protocol.people), asker

    def reader(self, names: Sequence[str], fixed: Mapping[str, Sequence[int]], wish: Presentation) -> Reader:
        """How a question about these attributes, in a group, is measured."""
        alone = len(self._channel[1].blocks([*names, *fixed])) == 1
        meter, asker = self._counted if self._counted is not None and alone else self._channel
        return Reader(meter, asker, fixed, wish)

    def published(self, k: int, row: Vector) -> float:
        """The share of released rows that are written as inputs x of block k with row[x] = 1, by the marginal."""
        scorer = self._channel[0].scorers[k]
        return float(row[scorer.block.labels] @ scorer.marginal)


@dataclass(frozen=True, eq=False)
class Opened:
    """A released table that was read and can be asked."""

    rows: int
    way: Way
    why: str
    asker: Asker
    kept: dict[str, Sequence[int]]
    """The group that all questions are about: numbers of the values that some attributes may have."""
    meters: Meters
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
    ) -> Opened:
        """Read a released table to ask it about the attributes `names`."""
        if not isinstance(protocol, Protocol):
            raise InvalidInput(f"estimates need a Protocol, not {type(protocol).__name__}")
        tail(confidence)  # refuses what is none
        protocol = as_published(protocol, released, delimiter=delimiter, encoding=encoding)
        asker = Asker(protocol)
        asker.require(names)
        fixed = values_kept(asker, where or {})
        both = sorted(set(names) & set(fixed))
        if both and any(len(fixed[name]) < 2 for name in both):
            raise InvalidInput(
                f"attribute {both[0]!r} has a single value in this group, so there is nothing to compare"
            )
        counts = tally(protocol, released, delimiter=delimiter, encoding=encoding)
        way, why = way_of(protocol, counts, rows)
        meters = Meters(protocol, counts, way, asker)
        return cls(counts.rows, way, why, asker, fixed, meters, Presentation(confidence, model=False))

    def reader(self, names: Sequence[str], fixed: Mapping[str, Sequence[int]] | None = None) -> Reader:
        """How these attributes are asked for, among those who have the fixed values, too."""
        return self.meters.reader(names, self.kept if fixed is None else {**self.kept, **fixed}, self.wish)


def values_kept(asker: Asker, where: Mapping[str, Any]) -> dict[str, Sequence[int]]:
    """The numbers of the values that a group is defined by."""
    asker.require(list(where))
    lists = {name: list(v) if isinstance(v, list | tuple | set) else [v] for name, v in where.items()}
    return {name: [asker.code(name, value) for value in values] for name, values in lists.items()}
