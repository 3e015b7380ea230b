"""Meters: how questions to a released table are measured, counted where that can be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.as_read import AsReadMeter
from privacyfunnel.estimates.corrected import CorrectingMeter
from privacyfunnel.estimates.counted import CountingMeter
from privacyfunnel.estimates.frequencies import Presentation, Reader
from privacyfunnel.estimates.intervals import tail
from privacyfunnel.estimates.measuring import Meter, Way
from privacyfunnel.estimates.noisy_counts import NoisyCounts
from privacyfunnel.estimates.questions import Asker
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.estimates.which_rows import Rows, check_contrasts, way_of
from privacyfunnel.estimates.wide.meters import WideMeters
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.wide.protocol import WideProtocol
from privacyfunnel.tables.reading_back import Tally, as_published, tally


class Meters:
    """Counts where that can be done: a faithful release of the fitted table."""

    def __init__(self, protocol: Protocol, counts: Tally, way: Way, asker: Asker) -> None:
        scorer = Scorer(protocol.block)
        self._meter: Meter = Meter(counts, scorer)
        self._asker = asker
        others = protocol.block.nearest
        if protocol.noise is not None and (others or way == "counted"):
            noisy = NoisyCounts.of(protocol)
            self._asker = Asker(protocol, noisy.codes)
            meter = CorrectingMeter if way == "counted" else AsReadMeter
            self._meter = meter(counts, scorer, noisy)
        elif way == "counted":
            self._meter = CountingMeter(counts, scorer, protocol.people)

    def reader(self, names: Sequence[str], fixed: Mapping[str, Sequence[int]], wish: Presentation) -> Reader:
        """How a question about these attributes, in a group, is measured."""
        return Reader(self._meter, self._asker, fixed, wish)

    def published(self, name: str, code: int) -> float:
        """The share of released rows that are written with this value, by the marginal."""
        meter, asker = self._meter, self._asker
        row = asker.values(name, np.eye(len(asker.columns[name]))[code])
        return float(row[meter.written()] @ meter.scorer.marginal)


@dataclass(frozen=True, eq=False)
class Opened:
    """A released table that was read and can be asked."""

    rows: int
    way: Way
    why: str
    asker: Asker
    kept: dict[str, Sequence[int]]
    """The group that all questions are about: numbers of the values that some attributes may have."""
    meters: Meters | WideMeters
    wish: Presentation

    @classmethod
    def of(
        cls,
        released: Any,
        protocol: Protocol | WideProtocol,
        where: Mapping[str, Any] | None,
        rows: Rows | None,
        confidence: float,
        delimiter: str | None,
        encoding: str,
        names: Sequence[str],
    ) -> Opened:
        """Read a released table to ask it about the attributes `names`."""
        if not isinstance(protocol, Protocol | WideProtocol):
            raise InvalidInput(f"estimates need a Protocol, not {type(protocol).__name__}")
        tail(confidence)  # refuses what is none
        layout: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding}
        wish = Presentation(confidence, model=False)
        if isinstance(protocol, WideProtocol):
            wide = WideMeters.of(protocol, released, rows, "channel", **layout)
            fixed = cls._fixed(wide.asker, names, where)
            return cls(wide.rows, wide.way, wide.why, wide.asker, fixed, wide, wish)
        protocol = as_published(protocol, released, **layout)
        asker = Asker(protocol)
        fixed = cls._fixed(asker, names, where)
        counts = tally(protocol, released, **layout)
        way, why = way_of(protocol, counts, rows)
        if way == "channel":
            check_contrasts(protocol, counts.rows)
        return cls(counts.rows, way, why, asker, fixed, Meters(protocol, counts, way, asker), wish)

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
