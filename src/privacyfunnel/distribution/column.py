"""Column: how a column of a table becomes finitely many values, recorded so that it can be repeated.

Everything here is data that the protocol file carries. A column's values are numbered by `labels`;
the label of a missing value is None. Encoding works on Arrow arrays, whatever the table came from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from privacyfunnel.distribution import raw
from privacyfunnel.distribution.raw import Kind
from privacyfunnel.errors import InvalidTable
from privacyfunnel.typing import Integers

if TYPE_CHECKING:
    import pyarrow as pa

Label = str | int | float | bool | None
UNSEEN = -1
"""The code of a value that has no label."""
OTHER = "other"
LONGEST_NAME = 1_000
"""Letters; a column with a longer one comes from no table."""
MOST_MARKERS = 1_000
"""Texts that mean "missing": more were made to fill up the memory."""
MOST_LABELS = 1_000_000
"""A file with more values in one column was made to fill up the memory: tables with so many would not be counted."""
UNSAID = ("about", "written", "groups")
"""What is not mentioned of a column that has none."""
EXACT = 2**53
"""Whole numbers below this are numbers in float64, too."""


class Group(BaseModel):
    """Texts that are read as one value, which has a name of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    label: str
    values: tuple[str, ...] = Field(min_length=1, max_length=MOST_LABELS)


class Reading(BaseModel):
    """How the entries of a column are read, without saying which values it has."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(max_length=LONGEST_NAME)
    kind: Kind
    edges: tuple[float, ...] = Field(default=(), max_length=MOST_LABELS)
    """Bins only: bin i is [edges[i], edges[i+1]), the last one closed; ±1e308 stands for no edge."""
    missing: tuple[str, ...] = Field(default=(), max_length=MOST_MARKERS)
    """Texts that mean "missing", beside empty ones."""
    about: str = Field(default="", max_length=LONGEST_NAME)
    """What the column is about, in the words of a table that says so."""
    written: raw.Written = ""
    """How its numbers, dates or times are written in texts, if not as we write them."""
    groups: tuple[Group, ...] = Field(default=(), max_length=MOST_LABELS)
    """Text only: values that stand for several texts."""

    def reading(self) -> Reading:
        """This column without its values."""
        return Reading(**{name: getattr(self, name) for name in Reading.model_fields})

    @model_serializer(mode="wrap")
    def _plain(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What is not known of a column, and groups that it does not have, are not mentioned."""
        content: dict[str, Any] = plain(self)
        return {name: value for name, value in content.items() if value or name not in UNSAID}

    def recognise(self, array: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
        """The array in this column's own type (null where it does not fit), and where it is missing."""
        trouble = raw.unusable(array.type)
        if trouble:
            raise InvalidTable(f"column {self.name!r} {trouble}")
        array = raw.present(array, self.missing)
        gone = array.is_null().to_numpy(zero_copy_only=False)
        return raw.as_kind(raw.rewritten(array, self.written), self.kind), gone


class Column(Reading):
    """One column: its kind, its possible released values in order, and how raw values find theirs."""

    labels: tuple[Label, ...] = Field(max_length=MOST_LABELS)
    other: bool = False
    """Whether values without a label of their own count as OTHER."""

    @model_validator(mode="after")
    def _consistent(self) -> Column:
        if not self.labels:
            raise ValueError("a column needs at least one value")
        if len(set(self.labels)) != len(self.labels):  # 1 and 1.0 are the same: rows could mean either
            raise ValueError("two values of a column are the same")
        if any(isinstance(label, float) and not math.isfinite(label) for label in self.labels):
            raise ValueError("a value of a column is not a finite number")
        if not all(self._fits(label) for label in self.labels):
            raise ValueError(f"a value of a column is not of its kind, {self.kind}")
        if self.kind == "bins":
            present = [label for label in self.labels if label is not None]
            if len(self.edges) != len(present) + 1 or any(not a < b for a, b in pairwise(self.edges)):
                raise ValueError("the edges of the bins do not increase, or do not fit their labels")
            if self.labels[: len(present)] != tuple(present):
                raise ValueError("bins come before the missing value")
        if self.other and OTHER not in self.labels:
            raise ValueError(f"a column that has other values needs the label {OTHER!r}")
        if self.groups:
            self._check_groups()
        return self

    def _check_groups(self) -> None:
        """What a text is read as must not be a matter of opinion."""
        if self.kind != "text":
            raise ValueError("only texts can be read as one value of a group")
        names = [group.label for group in self.groups]
        members = [value for group in self.groups for value in group.values]
        if len({*names, *members}) < len(names) + len(members):
            raise ValueError("a value is in two groups, twice in one, or is the name of one")
        if not {*names} <= {*self.labels} or (self.other and OTHER in names) or {*names} & {*self.missing, ""}:
            raise ValueError("a group has no label of its own, or one that means that a value is missing")
        if {*members} & {*self.labels, *self.missing, "", *([OTHER] if self.other else [])}:
            raise ValueError("a value of a group has a label of its own, or means that it is missing")

    def _fits(self, label: Label) -> bool:
        return label is None or (self.other and label == OTHER) or is_of(self.kind, label)

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def _missing_code(self) -> int:
        return self.labels.index(None) if None in self.labels else UNSEEN

    @cached_property
    def _spelled(self) -> bool:
        """Whether a text among the values is a number that is not spelled as numbers become texts: 01, +1, 1.0."""
        texts = [*self.labels, *(value for group in self.groups for value in group.values)]
        return self.kind == "text" and any(raw.is_spelled(str(text)) for text in texts if text is not None)

    def encode(self, array: pa.Array) -> Integers:
        """The code of every value of an Arrow array: its place in `labels`, or UNSEEN."""
        import pyarrow as pa

        if pa.types.is_dictionary(array.type):  # encode each different value once
            codes = self.encode(array.dictionary)
            indices = array.indices
            if indices.null_count == 0:
                return np.asarray(codes[indices.to_numpy(zero_copy_only=False)])
            table = np.append(codes, self._missing_code)
            return np.asarray(table[indices.fill_null(len(codes)).to_numpy(zero_copy_only=False)])
        if self._spelled and raw.is_numeric(array.type):
            raise InvalidTable(
                f"column {self.name!r} was fitted on texts, among them numbers in an unusual spelling, such as leading "
                "zeros, and this table holds it as numbers: write it as the texts that it was fitted on"
            )
        values, missing = self.recognise(array)
        if self.kind == "bins":
            codes = self._bin(values.fill_null(math.nan).to_numpy(zero_copy_only=False))
        else:
            codes = self._look_up(values)
            if self.other:
                codes = np.where(codes == UNSEEN, self.labels.index(OTHER), codes)
        codes[missing] = self._missing_code
        return codes

    def _bin(self, numbers: NDArray[np.float64]) -> Integers:
        edges = np.array(self.edges)
        codes = np.searchsorted(edges, numbers, side="right") - 1
        codes[numbers == edges[-1]] = len(edges) - 2
        outside = ~((numbers >= edges[0]) & (numbers <= edges[-1]))
        codes[outside] = UNSEEN
        return codes.astype(np.int64)

    def _look_up(self, values: pa.Array) -> Integers:
        import pyarrow as pa
        import pyarrow.compute as pc

        own = [i for i, label in enumerate(self.labels) if label is not None and not (self.other and label == OTHER)]
        named = [self.labels[i] for i in own]
        for group in self.groups:
            own += [self.labels.index(group.label)] * len(group.values)
            named += group.values
        known = pa.array(named, type=values.type)
        if self.kind == "number":
            known = raw.as_kind(known, self.kind)
        places = pc.index_in(values, value_set=known).fill_null(len(own)).to_numpy(zero_copy_only=False)
        return np.asarray(np.array([*own, UNSEEN], dtype=np.int64)[places])

    @cached_property
    def written_by_us(self) -> Column:
        """The same column where its values are written as we write them, and where only empty texts are missing."""
        content = self.reading().model_dump() | {"written": "", "missing": ()}
        return Column(**content, labels=self.labels, other=self.other)

    @cached_property
    def released_values(self) -> pa.Array:
        """The labels, without the missing one, as released tables hold them."""
        import pyarrow as pa

        present = [label for label in self.labels if label is not None]
        if self.kind == "integer" and not self.other:
            return pa.array(present, pa.int64())
        if self.kind == "number" and not self.other:
            return pa.array(present, pa.float64())
        if self.kind == "boolean":
            return pa.array(present, pa.bool_())
        return pa.array([str(label) for label in present], pa.string())


def grouped(column: Column, groups: Mapping[str, Sequence[str]]) -> tuple[Column, Integers]:
    """The column with groups of its texts read as one value each; and of[code], what each code is there.

    Labels stay in order, a group in the place of its first; values that do not occur are read as their group, too.

    >>> town = Column(name="town", kind="text", labels=("Ash", "Birch", "Clay"))
    >>> coarse, of = grouped(town, {"north": ["Ash", "Clay"]})
    >>> coarse.labels, of.tolist()
    (('north', 'Birch'), [0, 1, 0])
    """
    if {*groups} & {*column.labels}:
        raise ValueError("a value that has a place of its own cannot be the name of a group")
    name_of = {value: label for label, values in groups.items() for value in values}
    name_of |= {old.label: name_of.get(old.label, old.label) for old in column.groups}
    read = [label if label is None else name_of.get(str(label), label) for label in column.labels]
    labels = tuple(dict.fromkeys([*(one for one in read if one is not None), *groups, *([None] * (None in read))]))
    labels = tuple(sorted(labels, key=lambda one: (one is None, column.other and one == OTHER)))
    before = [old for old in column.groups if name_of[old.label] == old.label]
    inside = {old.label: old.values for old in column.groups}
    now = [
        Group(label=label, values=tuple(text for value in values for text in inside.get(value, (value,))))
        for label, values in groups.items()
    ]
    content = column.reading().model_dump() | {"groups": (*before, *now)}
    coarse = Column(**content, labels=labels, other=column.other)
    return coarse, np.array([labels.index(one) for one in read], dtype=np.int64)


def is_of(kind: Kind, label: Label) -> bool:
    """Whether a label that is not missing can stand in a column of this kind."""
    if kind == "integer":
        return type(label) is int and -raw.LARGEST_INTEGER - 1 <= label <= raw.LARGEST_INTEGER
    if kind == "number":
        return type(label) is float or (type(label) is int and abs(label) < EXACT)
    return type(label) is (bool if kind == "boolean" else str)


def bin_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """How bins are written in released tables.

    >>> bin_labels([-1e308, 18, 30, 1e308])
    ('<18', '[18, 30)', '>=30')
    """
    words = []
    for i, (low, high) in enumerate(pairwise(edges)):
        if low <= -OPEN and high >= OPEN:
            words.append("any number")
        elif low <= -OPEN:
            words.append(f"<{short(high)}")
        elif high >= OPEN:
            words.append(f">={short(low)}")
        else:
            words.append(f"[{short(low)}, {short(high)}{']' if i == len(edges) - 2 else ')'}")
    return tuple(words)


LARGEST_PLAIN = 1e16
"""From here on Python writes a float with an exponent, and so do we: it has no digits for all its places."""
OPEN = 1e308
"""An edge this far out stands for no edge: JSON has no infinity."""


def short(number: float) -> str:
    """A number without needless digits."""
    return str(int(number)) if number == int(number) and abs(number) < LARGEST_PLAIN else repr(number)


def column_of(name: str, values: NDArray[Any]) -> tuple[Column, Integers]:
    """A column whose labels are the different values of an array, and the codes of its entries."""
    labels, codes = np.unique(values, return_inverse=True)
    if labels.dtype == object and len({type(label) for label in labels}) == 1:
        labels = np.array(labels.tolist())  # objects that are all booleans, or all numbers, are these
    kinds: dict[str, Kind] = {"i": "integer", "u": "integer", "b": "boolean", "f": "number"}
    kind = kinds.get(labels.dtype.kind, "text")
    if kind == "integer" and int(labels.max()) > raw.LARGEST_INTEGER:
        kind = "text"
    listed = labels.tolist() if kind != "text" else [str(label) for label in labels]
    return Column(name=name, kind=kind, labels=tuple(listed)), codes.astype(np.int64)


def values_of(columns: Sequence[Column], codes: Integers) -> NDArray[Any]:
    """values[i, j] = columns[j].labels[codes[i, j]]."""
    if all(column.kind == "integer" and None not in column.labels and not column.other for column in columns):
        return np.stack([np.array(c.labels)[codes[:, j]] for j, c in enumerate(columns)], axis=1)
    values = np.empty(codes.shape, dtype=object)
    for j, column in enumerate(columns):
        values[:, j] = np.array([*column.labels, None], dtype=object)[codes[:, j]]
    return values
