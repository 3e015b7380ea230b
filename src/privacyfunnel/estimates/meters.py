"""Meters: how questions to a released table are measured, counted where that can be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from privacyfunnel.estimates.as_read import AsReadMeter
from privacyfunnel.estimates.corrected import CorrectingMeter
from privacyfunnel.estimates.counted import CountingMeter
from privacyfunnel.estimates.frequencies import Presentation, Reader
from privacyfunnel.estimates.measuring import Meter, Way
from privacyfunnel.estimates.noisy_counts import NoisyCounts
from privacyfunnel.estimates.questions import Asker
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.reading_back import Tally


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
