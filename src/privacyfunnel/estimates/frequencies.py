"""Frequencies: a table of shares with standard errors and intervals, what is not told, and a model's answer there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from privacyfunnel.distribution.column import Label
from privacyfunnel.errors import InvalidTable
from privacyfunnel.estimates.intervals import projected, tail
from privacyfunnel.estimates.measuring import Meter, Way, contract
from privacyfunnel.estimates.questions import Asker, Cells
from privacyfunnel.typing import Integers, Matrix

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
    blocks = sorted({*cells, *group})
    sets = {k: meter.groups(k, cells[k].rows) if k in cells else [np.array([0])] for k in blocks}
    rows = {k: cells[k].rows if k in cells else group[k] for k in blocks}
    measured = meter.measure({k: _sums(rows[k], sets[k]) for k in blocks}, group or None)
    chance = wish.tail(int(measured.identified.sum()))
    told = measured.told(chance, VAGUE)
    lows, highs = measured.between(chance, told)
    moved = wish.project and meter.sticks_out and bool(told.all())
    shares = projected(measured.values.ravel()).reshape(told.shape) if moved else measured.values
    counted, model = _counted(meter, rows, group), _Model.of(meter, rows, group) if wish.model else None
    found: dict[tuple[int, ...], Estimate] = {}
    for place in np.ndindex(told.shape):
        members = list(product(*(sets[k][i].tolist() for k, i in zip(blocks, place, strict=True))))
        values = tuple(_labels(asker, names, cells, blocks, cell) for cell in members)
        if told[place]:
            share, error = float(shares[place]), float(measured.errors[place])
            low, high = float(lows[place]), float(highs[place])
            by_label = float(sum(counted[cell] for cell in members))
            likely = None if model is None else model.share(members, (high - low) / 2)
            found[members[0]] = Estimate(values, share, error, low, high, likely, by_label)
        if not told[place] or len(members) > 1:
            for cell, value in zip(members, values, strict=True):
                likely = None if model is None else model.share([cell])
                alone = Estimate((value,), None, None, None, None, likely, float(counted[cell]))
                found[(*cell, 1) if cell in found else cell] = alone
    outside = np.maximum(-measured.values, measured.values - 1)[told] > ABSURD * measured.errors[told]
    estimates = tuple(found[key] for key in sorted(found))
    return Frequencies(tuple(names), named(asker, reader.fixed), estimates, meter.way, moved, bool(outside.any()))


def check_group(reader: Reader, group: Mapping[int, Matrix], fixed: Mapping[str, Sequence[int]]) -> None:
    """Refuse a group that the released rows do not tell, or that is too small to say anything of.

    If the rows leave open that nobody is in the group, every share of it is possible: the interval is everything.
    """
    if not group:
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


def _labels(
    asker: Asker, names: Sequence[str], cells: Mapping[int, Cells], blocks: Sequence[int], cell: tuple[int, ...]
) -> tuple[Label, ...]:
    codes = [code for k, t in zip(blocks, cell, strict=True) if k in cells for code in cells[k].codes[t].tolist()]
    return tuple(asker.label(name, code) for name, code in zip(names, codes, strict=True))


def _counted(meter: Meter, rows: Mapping[int, Matrix], group: Mapping[int, Matrix]) -> NDArray[np.float64]:
    """The shares of the labels of released rows."""
    blocks = sorted(rows)
    f = meter.shares(blocks)
    labels = {k: meter.written(k) for k in blocks}
    shares = contract(f, [rows[k][:, labels[k]] for k in blocks])
    within = [group[k][:, labels[k]] if k in group else np.ones((1, len(labels[k]))) for k in blocks]
    whole = float(contract(f, within).item())
    return shares / whole if whole > 0 else np.zeros_like(shares)


@dataclass(frozen=True, eq=False)
class _Model:
    """The shares of cells under the most likely distribution, and under what it might as well be."""

    shares: NDArray[np.float64]
    doubts: list[NDArray[np.float64]]

    @classmethod
    def of(cls, meter: Meter, rows: Mapping[int, Matrix], group: Mapping[int, Matrix]) -> _Model | None:
        """None where no such distribution is looked for."""
        blocks = sorted(rows)
        p = meter.likely(blocks)
        if p is None:
            return None
        whole = [meter.as_read(k, group[k] if k in group else np.ones((1, rows[k].shape[1]))) for k in blocks]
        own = [meter.as_read(k, rows[k]) for k in blocks]
        # Where the model has nobody in the group: 0 of nobody.
        found = [contract(q, own) / (float(contract(q, whole).item()) or 1.0) for q in (p, *meter.doubts(blocks))]
        return cls(found[0], found[1:])

    def share(self, members: Sequence[tuple[int, ...]], reach: float = 0.0) -> float | None:
        """Of some cells together; None where it might as well be another, by more than an interval reaches."""
        found, *others = (float(sum(each[cell] for cell in members)) for each in (self.shares, *self.doubts))
        apart = max((abs(found - other) for other in others), default=0.0)
        return found if apart <= max(AGREED, reach) else None
