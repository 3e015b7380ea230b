"""compare: differences and ratios of shares and means between the values of a column, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from privacyfunnel.distribution.column import Label
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.estimates.cell_shares import CellShares, cell_shares
from privacyfunnel.estimates.contrasts import DIFFERENCE, RATIO, Figure, contrast
from privacyfunnel.estimates.frequencies import named
from privacyfunnel.estimates.measuring import Way
from privacyfunnel.estimates.opened import Opened
from privacyfunnel.estimates.quotients import Quotient, allowed, commonest, known, middles, quotient
from privacyfunnel.estimates.summaries import has_mean
from privacyfunnel.estimates.which_rows import Rows
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.showing.sheet import Mark, Sheet, between, in_group, number
from privacyfunnel.showing.shown import Shown
from privacyfunnel.typing import Vector

MOST_COMPARED = 2_000
"""Contrasts of one attribute: more are no answer for people."""


@dataclass(frozen=True)
class Contrast:
    """A share, or a mean, in one group and in the one that it is compared with."""

    group: Label
    against: Label
    value: Label
    """The value whose share is meant; None for missing, and for the mean."""
    mean: bool
    """Whether the mean is meant, not a share."""
    first: Figure
    """In the group."""
    second: Figure
    """In the one that it is compared with."""
    difference: Figure
    ratio: Figure | None
    """None for means of numbers that may be below 0."""


@dataclass(frozen=True)
class Comparison(Shown):
    """An attribute, compared between the values of another."""

    attribute: str
    by: str
    group: dict[str, Label | tuple[Label, ...]]
    """Among whom."""
    rows: int
    way: Way
    """Whether released rows were counted as they stand, or worked back from how the channel draws them."""
    why: str
    confidence: float
    contrasts: tuple[Contrast, ...]
    notes: tuple[str, ...]
    """What is not there, and why."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    def sheet(self) -> Sheet:
        """What a notebook shows: differences between groups, with their intervals."""
        rows = [
            [
                f"{self.by} = {one.group} against {one.against}",
                "mean" if one.mean else "missing" if one.value is None else str(one.value),
                number(one.first.value),
                number(one.second.value),
                number(one.difference.value),
                between(one.difference.low, one.difference.high),
            ]
            for one in self.contrasts
        ]
        marks = [Mark(one.difference.value, one.difference.low, one.difference.high) for one in self.contrasts]
        heads = ("groups", "of", "in the first", "in the second", "difference", f"{self.confidence:.0%} interval")
        title = f"{self.attribute} by {self.by}{in_group(self.group)}, {self.rows:,} released rows"
        return Sheet(title, [self.why, *self.notes], heads, rows, marks)


def compare(
    released: Any,
    protocol: Protocol,
    of: str,
    *,
    by: str,
    against: Any = None,
    where: Mapping[str, Any] | None = None,
    rows: Rows | None = None,
    confidence: float = 0.95,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    earlier: Any = None,
    person: str | None = None,
) -> Comparison:
    """Shares of the values of `of`, and its mean, in each group of `by` against one of these groups.

    `against` is the value of `by` that the others are compared with: the commonest, by the protocol, unless told.
    `where`, `rows`, `earlier` and `person` are those of `estimate`. Groups that the released rows do not tell are in
    `notes`; if they tell none, that is refused.

    >>> joint = Joint([[[300, 100], [100, 300]], [[100, 40], [40, 120]]], attributes=["sex", "town"])
    >>> protocol = optimise(joint, LIP(0.5), objective="faithful")
    >>> rows = {"sex": [0] * 540 + [1] * 560, "town": [0] * 400 + [1] * 140 + [0] * 140 + [1] * 420}
    >>> released = protocol.sanitise(__import__("pyarrow").table(rows), seed=1)
    >>> found = compare(released, protocol, "town", by="sex", against=1)
    >>> [(c.value, c.mean, c.difference.low > 0) for c in found.contrasts]
    [(0, False, True), (1, False, False), (None, True, False)]
    """
    opened = Opened.of(released, protocol, where, rows, confidence, delimiter, encoding, [of, by], earlier, person)
    return comparison(opened, of, by, None if against is None else opened.asker.code(by, against))


def comparison(opened: Opened, of: str, by: str, against: int | None = None) -> Comparison:
    """One attribute of a table that was read, between the values of another."""
    if of == by:
        raise InvalidInput(f"{of} cannot be compared between its own values; name another attribute")
    groups = allowed(opened, by)
    base = commonest(opened, by, groups) if against is None else against
    if base not in groups:
        raise InvalidInput(f"the group that others are compared with is not among those of {by} that are kept")
    reader = opened.reader([of, by])
    cells = cell_shares(reader, [by, of])
    others = [code for code in groups if code != base]
    asked = _asked(opened, of)
    if len(asked) * len(others) > MOST_COMPARED:
        raise InvalidInput(f"{of} by {by} makes more than {MOST_COMPARED:,} comparisons; keep some values (where)")
    found: list[Contrast] = []
    trouble: dict[str, str] = {}
    for each in asked:
        own = partial(quotient, opened, cells, of=(of, each.scores), among=each.among, ends=each.ends)
        for code in others:
            try:
                pair = own((by, code)), own((by, base))
            except InvalidTable as refusal:
                trouble.setdefault(_words(opened, by, code), str(refusal))
                continue
            found.append(each.contrast(pair, cells, opened.asker.label(by, code), opened.asker.label(by, base)))
    if not found:
        raise InvalidTable(
            f"nothing of {of} can be compared by {by}: {next(iter(trouble.values()), 'it has one value')}"
        )
    notes = tuple(f"{who}: {why}" for who, why in trouble.items())
    kept = named(opened.asker, opened.kept)
    return Comparison(
        of, by, kept, opened.rows, reader.meter.way, opened.why, opened.wish.confidence, tuple(found), notes
    )


def _words(opened: Opened, by: str, code: int) -> str:
    label = opened.asker.label(by, code)
    return f"{by} = {'missing' if label is None else label}"


@dataclass(frozen=True, eq=False)
class _Asked:
    """A share, or the mean, as scores of the values of an attribute."""

    value: Label
    mean: bool
    scores: Vector
    ends: tuple[float, float]
    among: Sequence[int] | None
    """Those for whom the attribute is known, for the mean."""

    def contrast(self, pair: tuple[Quotient, Quotient], cells: CellShares, group: Label, against: Label) -> Contrast:
        first, second = (each.figure for each in pair)
        common = pair[0].correlation(pair[1], cells)
        difference = contrast(first, second, common, DIFFERENCE)
        ratio = contrast(first, second, common, RATIO) if self.ends[0] >= 0 else None
        return Contrast(group, against, self.value, self.mean, first, second, difference, ratio)


def _asked(opened: Opened, of: str) -> list[_Asked]:
    """The share of every value, and the mean where there is one."""
    column = opened.asker.columns[of]
    one = np.eye(len(column))
    codes = allowed(opened, of)
    among = codes if of in opened.kept else None
    asked = [_Asked(column.labels[code], False, one[code], (0.0, 1.0), among) for code in codes]
    numbers = middles(column) if has_mean(column) else None
    if numbers is not None:
        among = [code for code in codes if code in set(known(column))]
        asked.append(_Asked(None, True, *numbers, among))
    return asked
