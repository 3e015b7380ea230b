"""associate: how strongly two attributes of the original table go together, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from privacyfunnel.distribution.column import Label
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.estimates.cell_shares import CellShares, cell_shares
from privacyfunnel.estimates.contrasts import ODDS_RATIO, Figure, contrast
from privacyfunnel.estimates.frequencies import named
from privacyfunnel.estimates.measuring import Way
from privacyfunnel.estimates.opened import Opened
from privacyfunnel.estimates.quotients import NOT_TOLD, allowed, commonest, known, middles, quotient
from privacyfunnel.estimates.strength import correlated, correlation, cramers_v, rank_correlation, surely_there
from privacyfunnel.estimates.summaries import ends_of, has_mean
from privacyfunnel.estimates.which_rows import Rows
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.showing.sheet import Mark, Sheet, between, in_group, number
from privacyfunnel.showing.shown import Shown
from privacyfunnel.typing import Matrix

MOST_NAMED = 4
"""Values that a note lists."""
MOST_ODDS = 60
"""Odds ratios of a table; beyond, they are no answer for people."""


@dataclass(frozen=True)
class Odds:
    """How many times larger the odds of value against reference are with group than with group_reference."""

    group: Label
    group_reference: Label
    value: Label
    reference: Label
    ratio: Figure


@dataclass(frozen=True)
class Association(Shown):
    """How strongly two attributes go together."""

    attributes: tuple[str, str]
    group: dict[str, Label | tuple[Label, ...]]
    rows: int
    way: Way
    """Whether released rows were counted as they stand, or worked back from how the channel draws them."""
    why: str
    confidence: float
    cramers_v: Figure | None
    """From 0, independent, to 1: one tells the other. Corrected for what chance alone makes of it."""
    odds_ratios: tuple[Odds, ...]
    """For two values each, one; else of every pair of values against the commonest ones."""
    pearson: Figure | None
    """Of numbers, and of ranges with everybody in the middle of theirs; among those for whom both are known."""
    spearman: Figure | None
    """Of the ranks of numbers and ranges."""
    notes: tuple[str, ...]
    """What is not there, and why."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    def sheet(self) -> Sheet:
        """What a notebook shows: the measures that are told, with their intervals."""
        measures = {"Cramér's V": self.cramers_v, "Pearson's r": self.pearson, "Spearman's ρ": self.spearman}
        told = [(name, figure) for name, figure in measures.items() if figure is not None]
        rows = [[name, number(one.value), between(one.low, one.high)] for name, one in told]
        marks = [Mark(one.value, one.low, one.high) for _, one in told]
        heads = ("measure", "value", f"{self.confidence:.0%} interval")
        title = f"{' and '.join(self.attributes)}{in_group(self.group)}, {self.rows:,} released rows"
        return Sheet(title, [self.why, *self.notes], heads, rows, marks)


def associate(
    released: Any,
    protocol: Protocol,
    first: str,
    second: str,
    *,
    where: Mapping[str, Any] | None = None,
    rows: Rows | None = None,
    confidence: float = 0.95,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    earlier: Any = None,
    person: str | None = None,
) -> Association:
    """Cramér's V, odds ratios and correlations of two attributes in the original table, from the released one.

    Missing is a value of its own, but for correlations, which are of those for whom both are known. `where`, `rows`,
    `earlier` and `person` are those of `estimate`. Errors and intervals hold all that leaves the numbers open: that the
    original rows are a sample, how rows were drawn, and the noise of a private fit. What the rows do not tell is None,
    and `notes` say why; if they tell nothing, that is refused.

    >>> joint = Joint([[[300, 100], [100, 300]], [[100, 40], [40, 120]]], attributes=["sex", "town"])
    >>> protocol = optimise(joint, LIP(0.5), objective="faithful")
    >>> rows = {"sex": [0] * 540 + [1] * 560, "town": [0] * 400 + [1] * 140 + [0] * 140 + [1] * 420}
    >>> found = associate(protocol.sanitise(__import__("pyarrow").table(rows), seed=1), protocol, "sex", "town")
    >>> found.cramers_v.low < 0.49 < found.cramers_v.high, found.odds_ratios[0].ratio.low > 1
    (True, True)
    """
    names = [first, second]
    opened = Opened.of(released, protocol, where, rows, confidence, delimiter, encoding, names, earlier, person)
    return association(opened, first, second)


def association(opened: Opened, first: str, second: str) -> Association:
    """That of two attributes of a table that was read."""
    if first == second:
        raise InvalidInput(f"{first} goes together with itself; name another attribute")
    if not opened.read.associated:
        raise InvalidTable(
            f"a model's release does not tell for sure how strongly {first} and {second} go together in all: that is "
            "a sum over all pairs of their values, and its file does not tell how what the model has wrong in one goes "
            "with what it has wrong in another; compare groups (--compare), or fit a model (funnel regress)"
        )
    reader = opened.reader([first, second])
    cells = cell_shares(reader, [first, second])
    odds, remarks = _odds(opened, cells, first, second)
    v, about_v = _v(opened, cells, first, second)
    pearson, spearman, about_numbers = _correlations(opened, first, second)
    if v is pearson is spearman is None and not odds:
        raise InvalidTable(
            f"the released rows do not tell how {first} and {second} go together; ask for coarser attributes"
        )
    return Association(
        (first, second),
        named(opened.asker, opened.kept),
        opened.rows,
        reader.meter.way,
        opened.why,
        opened.wish.confidence,
        v,
        odds,
        pearson,
        spearman,
        tuple(dict.fromkeys([*about_v, *remarks, *about_numbers])),
    )


def _grid(opened: Opened, cells: CellShares, first: str, second: str) -> Matrix:
    return cells.grid([len(opened.asker.columns[name]) for name in (first, second)])


def _v(opened: Opened, cells: CellShares, first: str, second: str) -> tuple[Figure | None, list[str]]:
    if not cells.identified:
        return None, ["Cramér's V: the released rows do not tell every combination of values"]
    grid = _grid(opened, cells, first, second)
    there = surely_there(cells, grid)
    gone = [
        f"Cramér's V is among people with other values of {name} than {_listed(opened, name, out)}: the rows do not "
        "tell for sure that anybody has these"
        for name, own in zip((first, second), there, strict=True)
        if (out := [code for code in allowed(opened, name) if not own[code]])
    ]
    found = cramers_v(cells, grid, there, opened.wish.tail())
    return (found, gone) if found else (None, [f"Cramér's V: {NOT_TOLD}"])


def _listed(opened: Opened, name: str, codes: Sequence[int]) -> str:
    """Some of the values that are meant, and how many more."""
    labels = [opened.asker.label(name, code) for code in codes]
    more = [f"{len(labels) - MOST_NAMED} more"] if len(labels) > MOST_NAMED else []
    return " and ".join(["missing" if label is None else str(label) for label in labels[:MOST_NAMED]] + more)


def _odds(opened: Opened, cells: CellShares, first: str, second: str) -> tuple[tuple[Odds, ...], list[str]]:
    """Every value of both attributes against the commonest."""
    codes = [allowed(opened, name) for name in (first, second)]
    if (len(codes[0]) - 1) * (len(codes[1]) - 1) > MOST_ODDS:
        return (), [f"odds ratios: more than {MOST_ODDS}; keep some values (where)"]
    base = [commonest(opened, name, own) for name, own in zip((first, second), codes, strict=True)]
    asker, found, untold = opened.asker, [], 0
    for value in (code for code in codes[1] if code != base[1]):
        scores = np.eye(len(asker.columns[second]))[value]
        share = partial(quotient, opened, cells, of=(second, scores), among=[value, base[1]])
        for group in (code for code in codes[0] if code != base[0]):
            try:
                one, other = share((first, group)), share((first, base[0]))
            except InvalidTable:
                untold += 1
                continue
            ratio = contrast(one.figure, other.figure, one.correlation(other, cells), ODDS_RATIO)
            groups = asker.label(first, group), asker.label(first, base[0])
            found.append(Odds(*groups, asker.label(second, value), asker.label(second, base[1]), ratio))
    return tuple(found), [f"odds ratios: {untold} are not told by the released rows"] if untold else []


def _correlations(opened: Opened, first: str, second: str) -> tuple[Figure | None, Figure | None, list[str]]:
    """Pearson's and Spearman's, among those for whom both are known."""
    columns = [opened.asker.columns[name] for name in (first, second)]
    if not all(map(has_mean, columns)):
        return None, None, []
    fixed = {
        name: [code for code in allowed(opened, name) if code in set(known(column))]
        for name, column in zip((first, second), columns, strict=True)
    }
    try:
        cells = cell_shares(opened.reader([first, second], fixed), [first, second])
    except InvalidTable:
        return None, None, ["correlations: the released rows do not tell for whom both are known"]
    if not cells.identified:
        return None, None, ["correlations: the released rows do not tell every combination of values"]
    grid, chance = _grid(opened, cells, first, second), opened.wish.tail()
    lows = [np.full(len(column), np.inf) for column in columns]
    for low, column in zip(lows, columns, strict=True):
        low[known(column)] = ends_of(column)[0]
    order, other = (np.argsort(low, kind="stable") for low in lows)
    spearman = correlated(cells, grid, partial(rank_correlation, order, other), chance)
    notes = [] if spearman else [f"Spearman's correlation: {NOT_TOLD}"]
    numbers = [middles(column) for column in columns]
    if numbers[0] is None or numbers[1] is None:
        return (
            None,
            spearman,
            [*notes, "Pearson's correlation: outer ranges have no end (publishers can give borders: bins)"],
        )
    pearson = correlated(cells, grid, partial(correlation, numbers[0][0], numbers[1][0]), chance)
    return pearson, spearman, notes if pearson else [*notes, f"Pearson's correlation: {NOT_TOLD}"]
