"""Quotients: shares and means in groups, with what the errors of two groups have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.column import Column
from privacyfunnel.errors import InvalidTable
from privacyfunnel.estimates.cell_shares import CellShares
from privacyfunnel.estimates.contrasts import Figure
from privacyfunnel.estimates.frequencies import VAGUE, check_group
from privacyfunnel.estimates.opened import Opened
from privacyfunnel.estimates.summaries import ends_of
from privacyfunnel.typing import Matrix, Vector

NOT_TOLD = "the released rows do not tell it: the interval would be everything"


@dataclass(frozen=True, eq=False)
class Quotient:
    """Σ score·w over a group / Σ w over it: a share where scores are 0 or 1, a mean where they are numbers."""

    figure: Figure
    row: Matrix
    """row[0, c]: how it moves with the share of each cell."""

    def correlation(self, other: Quotient, cells: CellShares) -> float:
        """Of the errors of both."""
        C = cells.covariance(np.concatenate([self.row, other.row]))
        scale = math.sqrt(max(0.0, C[0, 0] * C[1, 1]))
        return float(np.clip(C[0, 1] / scale, -1.0, 1.0)) if scale > 0 else 0.0


def quotient(
    opened: Opened,
    cells: CellShares,
    by: tuple[str, int],
    of: tuple[str, Vector],
    among: Sequence[int] | None = None,
    ends: tuple[float, float] = (0.0, 1.0),
) -> Quotient:
    """The mean of scores[code] of the attribute `of` = (name, scores), for those with one value of `by`.

    With `among`, of those who have one of these values of `of`. The cells are of the two attributes in this order.
    """
    name, scores = of
    fixed = {by[0]: [by[1]]} | ({} if among is None else {name: among})
    reader = opened.reader([name], fixed)
    group = reader.asker.members(reader.fixed)
    check_group(reader, group, reader.fixed)
    row = reader.asker.values(name, scores)
    found = reader.meter.measure(row * group, group, ends)
    chance = reader.presentation.tail()
    if not found.told(chance, VAGUE * (ends[1] - ends[0])).all():
        raise InvalidTable(NOT_TOLD)
    low, high = found.between(chance, found.identified)
    value, error = found.values.item(), found.errors.item()
    first, second = cells.codes.T
    within = (first == by[1]) & (True if among is None else np.isin(second, among))
    size = float(cells.values[within].sum()) or 1.0
    moved = np.where(within, scores[second] - value, 0.0) / size
    return Quotient(Figure(value, error, low.item(), high.item()), moved[None, :])


def middles(column: Column) -> tuple[Vector, tuple[float, float]] | None:
    """The number of each value, the middle of each range, with the ends of all; None where a range has no end.

    Missing counts 0 and is for groups to leave out.
    """
    lower, upper = ends_of(column)
    if not np.isfinite(lower).all() or not np.isfinite(upper).all():
        return None
    numbers = np.zeros(len(column))
    numbers[known(column)] = (lower + upper) / 2
    return numbers, (float(lower.min()), float(upper.max()))


def known(column: Column) -> list[int]:
    """The numbers of the values that are not missing."""
    return [code for code, label in enumerate(column.labels) if label is not None]


def commonest(opened: Opened, name: str, codes: Sequence[int]) -> int:
    """The value that the published marginal has most of, of some: what others are compared with."""
    shares = [opened.meters.published(name, code) for code in codes]
    return codes[int(np.argmax(shares))]


def allowed(opened: Opened, name: str) -> list[int]:
    """The numbers of the values that an attribute may have in the group that all questions are about."""
    return list(opened.kept.get(name, range(len(opened.asker.columns[name]))))
