"""Summaries of a numeric attribute: its mean and quantiles, also where it was cut into ranges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from privacyfunnel.distribution.column import OPEN, Column, Label
from privacyfunnel.errors import InvalidTable
from privacyfunnel.estimates.frequencies import VAGUE, Reader, check_group, named
from privacyfunnel.estimates.measuring import Way
from privacyfunnel.estimates.questions import Asker
from privacyfunnel.typing import Matrix, Vector

QUANTILES = (0.25, 0.5, 0.75)
"""Of ordered values: the median, and the quarters below and above."""


@dataclass(frozen=True)
class Quantile:
    """The value below which a share of the people lie."""

    share: float
    value: float | None
    """Interpolated within a range; None where it lies in a range without an end."""
    low: float | None
    """None where the interval has no end."""
    high: float | None


@dataclass(frozen=True)
class Summary:
    """Mean and quantiles of a numeric attribute, among those for whom it is not missing."""

    attribute: str
    group: dict[str, Label | tuple[Label, ...]]
    way: Way
    """Whether released rows were counted as they stand, or worked back from how the channel draws them."""
    mean: float | None
    """For ranges, with everybody in the middle of theirs."""
    error: float | None
    low: float | None
    high: float | None
    bounds: tuple[float, float] | None
    """Estimates of the mean with everybody at the lower, and at the upper end of their range."""
    quantiles: tuple[Quantile, ...]
    note: str
    """What is assumed, or why there is nothing; empty if nothing is."""


def has_mean(column: Column) -> bool:
    """Whether a mean of the attribute makes sense."""
    return column.kind in ("integer", "number", "bins") and not column.other


def summary(reader: Reader, name: str) -> Summary:
    """Mean and quantiles of the attribute `name`, in the reader's group."""
    meter, asker, fixed, wish = reader.meter, reader.asker, reader.fixed, reader.presentation
    column = asker.columns[name]
    present = [code for code, label in enumerate(column.labels) if label is not None]
    group = asker.members({**fixed, name: present})
    who = named(asker, fixed)
    nothing = partial(_nothing, name, who, meter.way)
    try:
        check_group(reader, group, {**fixed, name: present})
    except InvalidTable:
        return nothing("the released rows do not tell for whom it is known")
    lower, upper = ends_of(column)
    if column.kind == "bins":
        edges = np.append(lower, upper[-1])
        below = np.tril(np.ones((len(present), len(column))))  # below[i]: in range i or an earlier one
    else:
        edges = np.sort(lower)
        below = np.zeros((len(present), len(column)))
        below[:, present] = lower[None, :] <= edges[:, None]
    at_most = _rows(asker, name, below) * group
    if not meter.identified(at_most).all():
        return nothing("the released rows do not tell its distribution")
    cumulative = meter.measure(at_most, group)
    low, high = cumulative.between(wish.tail(), cumulative.identified)
    ladder = _Ladder(edges, cumulative.values, low, high, ranges=column.kind == "bins")
    quantiles = tuple(ladder.quantile(share) for share in QUANTILES)
    if not np.isfinite(lower).all() or not np.isfinite(upper).all():
        return nothing(
            "its outer ranges have no end, so there is no mean (publishers can give borders: bins)", quantiles
        )
    ways = np.zeros((3, len(column)))
    ways[:, present] = (lower + upper) / 2, lower, upper
    ends = float(lower.min()), float(upper.max())
    found = meter.measure(_rows(asker, name, ways) * group, group, ends)
    if not found.told(wish.tail(), VAGUE * (ends[1] - ends[0]))[0]:
        return nothing("the released rows do not tell its mean: the interval would be everything", quantiles)
    is_cut = column.kind == "bins"
    mean, at_low, at_high = (float(value) for value in found.values)
    low, high = found.between(wish.tail(), found.identified)
    return Summary(
        attribute=name,
        group=who,
        way=meter.way,
        mean=mean,
        error=float(found.errors[0]),
        low=float(low[0]),
        high=float(high[0]),
        bounds=(at_low, at_high) if is_cut else None,
        quantiles=quantiles,
        note="everybody counts as in the middle of their range" if is_cut else "",
    )


def _nothing(
    name: str, group: dict[str, Label | tuple[Label, ...]], way: Way, note: str, quantiles: tuple[Quantile, ...] = ()
) -> Summary:
    """A summary without a mean."""
    return Summary(name, group, way, None, None, None, None, None, quantiles, note)


@dataclass(frozen=True, eq=False)
class _Ladder:
    """F at each step: P(value ≤ step), or, for ranges, P(in the range that ends at the next step, or earlier)."""

    steps: Vector
    F: Vector
    low: Vector
    high: Vector
    ranges: bool

    def quantile(self, share: float) -> Quantile:
        """Woodruff's interval: values at which the interval of F holds the share."""
        F = np.maximum.accumulate(self.F)
        place = min(int(np.searchsorted(F, share)), len(F) - 1)
        reached = int(np.argmax(self.low >= share)) if (self.low >= share).any() else len(F) - 1
        if not self.ranges:
            first = int(np.argmax(self.high >= share)) if (self.high >= share).any() else len(F) - 1
            return Quantile(share, *map(float, (self.steps[place], self.steps[first], self.steps[reached])))
        surely = np.flatnonzero(self.high <= share)  # F at the upper end of these ranges is not above the share
        first = int(surely[-1]) + 1 if surely.size else 0
        begin, end = self.steps[place], self.steps[place + 1]
        before = F[place - 1] if place else 0.0
        part = np.clip((share - before) / (F[place] - before), 0.0, 1.0) if F[place] > before else 0.5
        value = begin + part * (end - begin) if np.isfinite(begin) and np.isfinite(end) else np.inf
        return Quantile(share, _finite(value), _finite(self.steps[first]), _finite(self.steps[reached + 1]))


def ends_of(column: Column) -> tuple[Vector, Vector]:
    """The lower and upper ends of what the labels stand for; equal for plain numbers."""
    if column.kind == "bins":
        edges = np.array(column.edges)
        edges[np.abs(edges) >= OPEN] *= np.inf
        return edges[:-1], edges[1:]
    numbers = np.array([float(label) for label in column.labels if label is not None])
    return numbers, numbers


def _rows(asker: Asker, name: str, by_code: Matrix) -> Matrix:
    return np.stack([asker.values(name, row) for row in by_code])


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
