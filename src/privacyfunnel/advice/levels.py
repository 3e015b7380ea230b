"""Levels: a column as it is read, and half and a quarter as fine, by rules that look at no secret.

Or with groups of its texts merged, where some were declared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from privacyfunnel.distribution import raw
from privacyfunnel.distribution.column import OPEN, OTHER, Column, Label, bin_labels, grouped, short
from privacyfunnel.distribution.raw import Kind
from privacyfunnel.tables.fitting import FittedColumn
from privacyfunnel.tables.too_fine import TRIED_DOWN_TO
from privacyfunnel.typing import Integers, Vector

COARSER: dict[str, Kind] = {"day": "month", "month": "year"}
"""What dates are kept by if not by this."""


@dataclass(frozen=True, eq=False)
class Coarsened:
    """A column, as finely as it would be released."""

    fitted: FittedColumn
    of: Integers
    """of[code]: the code here of what has `code` in the column as it is read."""
    words: str = ""
    """What was merged; nothing for the column as it is read."""
    wish: tuple[Literal["bins", "top", "dates", "groups"], Any] | None = None
    """How a steward would ask for it: "top", 20."""

    @property
    def column(self) -> Column:
        """The column."""
        return self.fitted.column

    def __len__(self) -> int:
        return len(self.column)


def asked_by(columns: Sequence[str], levels: Iterable[Coarsened]) -> dict[str, Any]:
    """How a steward would ask for columns that are read so, by the keys of a Spec."""
    asked: dict[str, Any] = {"columns": tuple(columns), "bins": {}, "top": {}, "dates": {}, "group": {}}
    for level in levels:
        if level.wish is not None:
            kind, value = level.wish
            groups = {label: tuple(texts) for label, texts in value.items()} if kind == "groups" else None
            asked["group" if kind == "groups" else kind][level.column.name] = value if groups is None else groups
    return {key: value for key, value in asked.items() if value}


def levels(fitted: FittedColumn, people: Vector, declared: bool, down_to: int = TRIED_DOWN_TO) -> tuple[Coarsened, ...]:
    """The column as it is read, then coarser ones; people[code] have each value, and `down_to` values are left.

    Which texts are kept goes by how many people have them, as with top. So texts of a `declared` column are left as
    they are: nothing that is said to be declared may come from the table.
    """
    column = fitted.column
    first = Coarsened(fitted, np.arange(len(column)))
    if column.kind == "text":
        fewer = [] if declared else _fewer_texts(fitted, people, down_to)
        return (first, *_groupings(fitted), *fewer)
    if column.kind in COARSER:
        return (first, *_shorter_dates(fitted))
    return (first, *_wider_ranges(fitted, down_to))


def _halves(values: int, down_to: int) -> Iterator[int]:
    """How many values are left of so many, halved and halved again."""
    while values > 1 and (values := math.ceil(values / 2)) >= down_to:
        yield values


def _groupings(fitted: FittedColumn) -> Iterator[Coarsened]:
    """Groups of texts that may be merged: all of them and, if there are several, each."""
    each: list[Mapping[str, Sequence[str]]] = [{label: fitted.groups[label]} for label in fitted.groups]
    for groups in [fitted.groups, *each] if len(each) > 1 else each:
        column, of = grouped(fitted.column, groups)
        words = f"grouped as {', '.join(groups)}"
        yield Coarsened(replace(fitted, column=column, notice=words, groups={}), of, words, ("groups", groups))


def _fewer_texts(fitted: FittedColumn, people: Vector, down_to: int) -> Iterator[Coarsened]:
    column = fitted.column
    own = [i for i, label in enumerate(column.labels) if label is not None and label != OTHER]
    frequent = sorted(own, key=lambda i: (-people[i], str(column.labels[i])))
    for kept in _halves(len(own), down_to):
        if len(own) - kept < 2 and OTHER not in column.labels:
            continue  # a single value would get another name
        labels: list[Label] = [*sorted(str(column.labels[i]) for i in frequent[:kept]), OTHER]
        if None in column.labels:
            labels.append(None)
        place = {label: i for i, label in enumerate(labels)}
        of = np.array([place.get(label, place[OTHER]) for label in column.labels])
        groups = tuple(group for group in column.groups if group.label in labels)
        reading = column.reading().model_dump() | {"groups": groups}
        coarse = Column(**reading, labels=tuple(labels), other=True)
        notice = f"the {kept} most frequent of {len(own)} values kept, the rest is {OTHER!r}"
        words = f"top {kept}"
        yield Coarsened(replace(fitted, column=coarse, notice=notice, chosen=True), of, words, ("top", kept))


def _wider_ranges(fitted: FittedColumn, down_to: int) -> Iterator[Coarsened]:
    """Neighbouring ranges, or numbers, merged by two, four …; missing stays apart."""
    column = fitted.column
    present = [label for label in column.labels if label is not None]
    numbers = [label for label in present if isinstance(label, int | float)]
    listed = column.kind in ("integer", "number") and not column.other and numbers == sorted(numbers) == present
    if column.kind != "bins" and not listed:
        return
    borders = column.edges if column.kind == "bins" else (-OPEN, *map(float, numbers[1:]), OPEN)
    for step, _ in zip((2, 4, 8, 16), _halves(len(present), down_to), strict=False):
        edges = (*borders[:-1:step], borders[-1])
        labels: list[Label] = [*bin_labels(edges)]
        of = np.array([0 if label is None else i // step for i, label in enumerate(column.labels)])
        if None in column.labels:
            of[column.labels.index(None)] = len(labels)
            labels.append(None)
        reading = column.reading().model_dump() | {"kind": "bins", "edges": edges}
        coarse = Column(**reading, labels=tuple(labels))
        words = f"{len(edges) - 1} ranges"
        notice = f"{words}, merged of {len(present)}"
        yield Coarsened(replace(fitted, column=coarse, notice=notice), of, words, ("bins", edges))


def _edge(edge: float) -> str:
    """A border as it is typed; beyond ±OPEN there is none."""
    return f"{edge:g}" if abs(edge) >= OPEN else short(edge)


def _shorter_dates(fitted: FittedColumn) -> Iterator[Coarsened]:
    column, kind = fitted.column, COARSER.get(fitted.column.kind)
    while kind is not None:
        cut = [None if label is None else str(label)[: raw.LETTERS[kind]] for label in column.labels]
        labels: list[Label] = [*sorted({text for text in cut if text is not None and text != OTHER})]
        labels += [OTHER] if column.other else []
        labels += [None] if None in cut else []
        of = np.array([labels.index(text) for text in cut])
        content = column.reading().model_dump() | {"kind": kind}
        coarse = Column(**content, labels=tuple(labels), other=column.other)
        words = f"dates kept by {kind}"
        if len(labels) < len(column):
            yield Coarsened(replace(fitted, column=coarse, notice=words), of, words, ("dates", kind))
        kind = COARSER.get(kind)
