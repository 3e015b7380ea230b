"""Wide meters: questions to a release of a model, each about the few columns that it names.

A question about some columns is measured on what redrawing does to these (protocols/wide/moves.py): a small channel
that keeps the model's distribution. Shares are those of the rows as they stand, with sampling and drawing as errors;
how columns go together is worked back (worked_back.py). What the model has wrong is added to both (leaning.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from privacyfunnel.errors import InvalidTable
from privacyfunnel.estimates.frequencies import Presentation, Reader
from privacyfunnel.estimates.measuring import Meter, Way
from privacyfunnel.estimates.questions import Asker
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.estimates.which_rows import HIDDEN, Rows, check_rows
from privacyfunnel.estimates.wide.leaning import leaning
from privacyfunnel.estimates.wide.worked_back import StandingMeter, WorkedBackMeter
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.wide.moves import Moves, moves_of
from privacyfunnel.tables.reading_back import Tally
from privacyfunnel.tables.wide.reading_back import ReleasedRows, released_rows
from privacyfunnel.typing import Integers, Vector

FAR = 5.0
"""Standard deviations of noise that no luck explains."""
NOT_TOLD = (
    "rows that a model redraws lean towards it, and the file tells how far for the rows only that it was fitted on; "
    "count these as they stand, with any tool, without intervals"
)


@dataclass(frozen=True, eq=False)
class Asked:
    """The columns that a question names."""

    block: Block


class WideMeters:
    """Counts released rows of the table that a model was fitted on."""

    def __init__(self, protocol: Protocol, released: ReleasedRows, way: Way = "counted") -> None:
        self.protocol, self.released, self.way = protocol, released, way
        self.step = protocol.by_model
        self.rows = released.rows
        self.asker = Asker(Asked(_nobody(protocol)))
        self._known: dict[tuple[int, ...], tuple[Meter, Asker]] = {}

    @classmethod
    def of(
        cls,
        protocol: Protocol,
        table: Any,
        rows: Rows | None,
        way: Way = "counted",
        *,
        delimiter: str | None,
        encoding: str,
    ) -> WideMeters:
        """Read a released table; refused if it is not of the rows that the protocol was fitted on."""
        meters = cls(protocol, released_rows(protocol, table, delimiter=delimiter, encoding=encoding), way)
        meters.check(rows)
        return meters

    def check(self, rows: Rows | None) -> None:
        """Refuse rows of which the file does not tell how far they lean."""
        check_rows(rows)
        if rows == "other":
            raise InvalidTable(f"these are said to be other rows than the protocol was fitted on: {NOT_TOLD}")
        if self.rows != self.protocol.people:
            raise InvalidTable(
                f"the protocol was fitted on {self.step.people:,} rows, and these are {self.rows:,}: {NOT_TOLD}"
            )
        off, noise, _, _ = self._singles
        if rows is None and (np.abs(off) - FAR * np.sqrt(noise)).max() > HIDDEN:
            raise InvalidTable(
                "counts differ by far from those of the rows that the protocol was fitted on (if you know that they "
                f'are, say so: rows="fitted", or --rows fitted): {NOT_TOLD}'
            )

    @property
    def why(self) -> str:
        """How shares are found, in a sentence or two."""
        noisy = "noisy counts" if self.protocol.private else "counts"
        if self.way == "counted":
            how, drawing = "they are counted as they stand", "that drawing alone would give"
        else:
            how, drawing = "how columns go together is worked back from how it redraws them", "beyond that of sampling"
        return (
            f"As far as counts tell, these are the {self.rows:,} rows that the protocol was fitted on: {how}. They "
            "lean towards its model; intervals hold that as far as it shows, by working back and by the file's "
            f"{noisy} of single columns: {self.leaning:.1f} times the variance {drawing}."
        )

    @cached_property
    def leaning(self) -> float:
        """τ: how many times the drawing variance redrawing makes of shares."""
        return leaning(*self._singles)

    @cached_property
    def _singles(self) -> tuple[Vector, Vector, Vector, Vector]:
        """For every value of every column: how far counts are off, noise, drawing, and what each weighs."""
        parts = []
        for j, counts in enumerate(self.step.counts):
            moves, people = self._moves((j,)), self.step.people
            found = np.bincount(self.released.codes[:, j], self.released.counts, len(moves.p)) / self.rows
            off = found - np.array(counts.people) / people
            noise = np.full(len(off), counts.variance / people**2)
            parts.append((off, noise, moves.drawing / self.rows, np.full(len(off), 1 - 1 / len(off))))
        off, noise, drawing, weight = (np.concatenate(each) for each in zip(*parts, strict=True))
        return off, noise, drawing, weight

    def reader(self, names: Sequence[str], fixed: Mapping[str, Sequence[int]], wish: Presentation) -> Reader:
        """How a question about these attributes, in a group, is measured."""
        columns = tuple(sorted(self.protocol.attributes.index(name) for name in {*names, *fixed}))
        if columns not in self._known:
            self._known[columns] = self._measured(columns)
        meter, asker = self._known[columns]
        return Reader(meter, asker, fixed, wish)

    def published(self, name: str, code: int) -> float:
        """The share of a value, by the counts in the file."""
        return self.step.counts[self.protocol.attributes.index(name)].people[code] / self.step.people

    def _measured(self, columns: tuple[int, ...]) -> tuple[Meter, Asker]:
        moves = self._moves(columns)
        block = _block(self.protocol, columns, moves)
        place = np.ravel_multi_index(tuple(self.released.codes[:, j] for j in columns), moves.sizes)
        counts = np.bincount(place, self.released.counts, len(moves.p)).astype(np.int64)
        seen = np.flatnonzero(counts)
        tally, scorer = Tally(seen, counts[seen]), Scorer(block)
        meter: Meter = WorkedBackMeter(tally, scorer)
        if self.way == "counted":
            meter = StandingMeter(tally, scorer, self.step.people)
        meter.leaning = self.leaning
        return meter, Asker(Asked(block))

    def _moves(self, columns: tuple[int, ...]) -> Moves:
        return moves_of(self.step.plan, self.step.model.sizes, columns)


def _block(protocol: Protocol, columns: tuple[int, ...], moves: Moves) -> Block:
    """The channel of some columns, in multiples of 2⁻³²; what rounding leaves over stays as it is."""
    cells = len(moves.p)
    numerators = np.floor(moves.E * UNIT).astype(np.int64)
    numerators[np.diag_indices(cells)] += UNIT - numerators.sum(axis=0)
    codes = np.stack(np.unravel_index(np.arange(cells), moves.sizes), axis=1).astype(np.int64)
    marginal = np.floor(moves.p / moves.p.sum() * UNIT).astype(np.int64)
    own = tuple(protocol.columns[j] for j in columns)
    return Block(own, codes, Channel.from_numerators(numerators), np.arange(cells), marginal)


def _nobody(protocol: Protocol) -> Block:
    """A block of all columns that knows their values, and no combination of them but one."""
    codes: Integers = np.zeros((1, len(protocol.columns)), dtype=np.int64)
    one = np.array([UNIT])
    return Block(protocol.columns, codes, Channel.from_numerators(one[:, None]), np.zeros(1, dtype=np.int64), one)
