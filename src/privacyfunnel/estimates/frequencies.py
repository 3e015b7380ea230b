"""Frequencies: a table of shares with standard errors and intervals, what is not told, and a model's answer there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from privacyfunnel.distribution.column import Label
from privacyfunnel.errors import InvalidTable
from privacyfunnel.estimates.intervals import projected, tail
from privacyfunnel.estimates.measuring import Meter, Way
from privacyfunnel.estimates.questions import Asker, Cells
from privacyfunnel.typing import Integers, Matrix, Vector

SMALLEST_GROUP = 3.0
"""Standard errors by which the share of a group must exceed 0 for anything to be said of it."""
VAGUE = 0.5
"""Intervals that reach further to either side say nothing, so the released rows do not tell the share.

What they reach is planned from the protocol and the number of rows. If the rows themselves decided, those samples would
be kept in which the largest scores are missing by luck, and their intervals do not hold.
"""
AGREED = 0.005
"""By so much a most likely share may depend on where the search starts and on luck: half a percentage point."""
ABSURD = 6.0
"""Standard errors outside of [0, 1] that no luck explains."""


@dataclass(frozen=True)
class Estimate:
    """The share of people with certain values."""

    values: tuple[tuple[Label, ...], ...]
    """Combinations of values of the attributes; more than one where the released rows only tell their sum."""
    share: float | None
    """Unbiased; None where rows of this kind, or so few of them, do not tell it: the interval would be everything."""
    error: float | None
    """Standard error of the share."""
    low: float | None
    high: float | None
    likely: float | None
    """The share under the most likely distribution: a model's answer, without an interval. None where it was not looked
    for, or would depend on where the search starts, or on luck, more than on what the rows tell."""
    counted: float
    """What counting the released rows as they stand gives: biased where that is not the share, and for comparison."""

    @property
    def told(self) -> bool:
        """Whether the released rows tell the share."""
        return self.share is not None


@dataclass(frozen=True)
class Frequencies:
    """Shares of the values of some attributes, among everybody or in a group."""

    attributes: tuple[str, ...]
    group: dict[str, Label | tuple[Label, ...]]
    estimates: tuple[Estimate, ...]
    way: Way
    """Whether released rows were counted as they stand, or worked back from how the channel draws them."""
    projected: bool
    """Whether shares were moved to the nearest distribution; intervals are those of the unmoved ones."""
    doubt: bool
    """Whether shares lie so far outside of [0, 1] that the table is hardly one that this protocol released."""

    @property
    def told(self) -> tuple[Estimate, ...]:
        """What the released rows tell."""
        return tuple(estimate for estimate in self.estimates if estimate.told)

    @property
    def untold(self) -> tuple[tuple[Label, ...], ...]:
        """Combinations of values whose own share the released rows do not tell."""
        return tuple(estimate.values[0] for estimate in self.estimates if not estimate.told)


@dataclass(frozen=True)
class Presentation:
    """How estimates are to be presented."""

    confidence: float = 0.95
    simultaneous: bool = False
    project: bool = False
    model: bool = True

    def tail(self, together: int = 1) -> float:
        """The chance of an interval to miss on either side, in a table of so many."""
        return tail(self.confidence, together if self.simultaneous else 1)


@dataclass(frozen=True, eq=False)
class Reader:
    """Somebody with released rows: what these tell, how it is asked for, in which group, and how it is presented."""

    meter: Meter
    asker: Asker
    fixed: Mapping[str, Sequence[int]]
    """The group: numbers of the values that some attributes may have."""
    presentation: Presentation


def frequencies(reader: Reader, names: Sequence[str]) -> Frequencies:
    """The shares of all combinations of values of `names`, in the reader's group."""
    meter, asker, wish = reader.meter, reader.asker, reader.presentation
    names = asker.order(names)
    group = asker.group(reader.fixed)
    check_group(reader, group, reader.fixed)
    cells = asker.cells(names, group)
    sets = meter.groups(cells.rows)
    measured = meter.measure(_sums(cells.rows, sets), group)
    chance = wish.tail(int(measured.identified.sum()))
    told = measured.told(chance, VAGUE)
    lows, highs = measured.between(chance, told)
    moved = wish.project and meter.sticks_out and bool(told.all())
    shares = projected(measured.values) if moved else measured.values
    counted = _counted(meter, cells.rows, group)
    model = _Model.of(meter, cells.rows, group) if wish.model else None
    found: dict[tuple[int, bool], Estimate] = {}
    for place, members in enumerate(each.tolist() for each in sets):
        values = tuple(_labels(asker, names, cells, cell) for cell in members)
        if told[place]:
            share, error = float(shares[place]), float(measured.errors[place])
            low, high = float(lows[place]), float(highs[place])
            by_label = float(sum(counted[cell] for cell in members))
            likely = None if model is None else model.share(members, (high - low) / 2)
            found[members[0], False] = Estimate(values, share, error, low, high, likely, by_label)
        if not told[place] or len(members) > 1:
            for cell, value in zip(members, values, strict=True):
                likely = None if model is None else model.share([cell])
                alone = Estimate((value,), None, None, None, None, likely, float(counted[cell]))
                found[cell, (cell, False) in found] = alone  # after the sum that begins with it
    outside = np.maximum(-measured.values, measured.values - 1)[told] > ABSURD * measured.errors[told]
    estimates = tuple(found[key] for key in sorted(found))
    return Frequencies(tuple(names), named(asker, reader.fixed), estimates, meter.way, moved, bool(outside.any()))


def check_group(reader: Reader, group: Matrix | None, fixed: Mapping[str, Sequence[int]]) -> None:
    """Refuse a group that the released rows do not tell, or that is too small to say anything of.

    If the rows leave open that nobody is in the group, every share of it is possible: the interval is everything.
    """
    if group is None:
        return
    meter = reader.meter
    found = meter.measure(group)
    who = " and ".join(f"{name} = {_words(value)}" for name, value in named(reader.asker, fixed).items())
    if not found.identified.all():
        raise InvalidTable(f"the released rows do not tell how many have {who}; ask for a coarser group")
    chance = float(ndtr(-SMALLEST_GROUP))
    low, _ = found.between(chance, found.identified)
    if meter.way == "counted" and found.values.item() == 0:
        raise InvalidTable(f"no released row has {who}; ask for a larger group")
    if low.item() == 0 or not found.told(chance, found.plan.values.item() if found.plan else np.inf).all():
        raise InvalidTable(
            f"{meter.rows:,} released rows do not tell for sure that anybody has {who}; ask for a larger group"
        )


def named(asker: Asker, fixed: Mapping[str, Sequence[int]]) -> dict[str, Label | tuple[Label, ...]]:
    """A group in words."""
    labels = {name: tuple(asker.label(name, code) for code in codes) for name, codes in fixed.items()}
    return {name: values[0] if len(values) == 1 else values for name, values in labels.items()}


def _words(value: Any) -> str:
    if isinstance(value, tuple):
        return " or ".join(map(_words, value))
    return "missing" if value is None else str(value)


def _sums(rows: Matrix, sets: Sequence[Integers]) -> Matrix:
    return np.stack([rows[members].sum(axis=0) for members in sets])


def _labels(asker: Asker, names: Sequence[str], cells: Cells, cell: int) -> tuple[Label, ...]:
    return tuple(asker.label(name, code) for name, code in zip(names, cells.codes[cell].tolist(), strict=True))


def _counted(meter: Meter, rows: Matrix, group: Matrix | None) -> Vector:
    """The shares of the labels of released rows."""
    f, labels = meter.shares(), meter.written()
    shares = rows[:, labels] @ f
    whole = float(f.sum() if group is None else (group[:, labels] @ f).item())
    return shares / whole if whole > 0 else np.zeros_like(shares)


@dataclass(frozen=True, eq=False)
class _Model:
    """The shares of cells under the most likely distribution, and under what it might as well be."""

    shares: Vector
    doubts: list[Vector]

    @classmethod
    def of(cls, meter: Meter, rows: Matrix, group: Matrix | None) -> _Model | None:
        """None where no such distribution is looked for."""
        if meter.likely is None:
            return None
        own, whole = meter.as_read(rows), np.ones((1, rows.shape[1])) if group is None else group
        # Where the model has nobody in the group: 0 of nobody.
        found = [own @ p / (float((meter.as_read(whole) @ p).item()) or 1.0) for p in (meter.likely, *meter.doubts)]
        return cls(found[0], found[1:])

    def share(self, members: Sequence[int], reach: float = 0.0) -> float | None:
        """Of some cells together; None where it might as well be another, by more than an interval reaches."""
        found, *others = (float(sum(each[cell] for cell in members)) for each in (self.shares, *self.doubts))
        apart = max((abs(found - other) for other in others), default=0.0)
        return found if apart <= max(AGREED, reach) else None
