"""Redrawing rows by a wide protocol: the cell of a row, its group, and a value of that group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privacyfunnel.distribution.column import UNSEEN, Column
from privacyfunnel.drawing.below import below
from privacyfunnel.drawing.keyed import Mac
from privacyfunnel.drawing.keyed_below import KeyedBelow
from privacyfunnel.drawing.persons import Persons
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.errors import UnseenValues
from privacyfunnel.protocols.file import from_text, to_text
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.wide.groups import Groups
from privacyfunnel.protocols.wide.rule import Plan
from privacyfunnel.tables.sanitiser import Sanitiser, Unseen, check_unseen, codes_of, places_of, values_as
from privacyfunnel.typing import Integers

Chance = Callable[[Integers, Integers, int], Integers]
"""u[i] uniform below bounds[i], for the row rows[i], in its draw number 0 or 1."""


class Redrawing:
    """Draws x′ for x: group g with probability m_g(x) / W(x), then x′ with probability m_g(x′) / M_g, exactly.

    What is listed is drawn at once: x′ with probability a(x, x′) / W(x).
    """

    def __init__(self, plan: Plan) -> None:
        pairs = plan.pairs
        cells = np.concatenate([pairs.first, pairs.second])
        order = np.argsort(cells, kind="stable")
        self._cells = cells[order]
        self._other = np.concatenate([pairs.second, pairs.first])[order]
        self._own = np.concatenate([pairs.m, pairs.n])[order]
        self._others = np.concatenate([pairs.n, pairs.m])[order]
        self._before = np.concatenate([[0], np.cumsum(self._own)])  # at most the total weight, below 2⁶¹
        self._rest, self._weight = plan.rest, plan.W
        self._left_before = np.concatenate([[0], np.cumsum(plan.leaving)])
        self._several = _Several(plan.groups) if len(plan.groups) else None
        self._listed = plan.listed if len(plan.listed) else None
        self._listed_before = np.concatenate([[0], np.cumsum(plan.listed.mass)])

    def drawn(self, x: Integers, randomness: Randomness) -> Integers:
        """A value x′ for each of these, with fresh randomness."""
        return self.drawn_by(x, lambda bounds, rows, draw: below(bounds, randomness))

    def drawn_by(self, x: Integers, chance: Chance) -> Integers:
        """The same with numbers that rows are dealt: one for the group, and one within it."""
        weight = self._weight[x]
        start, end = np.searchsorted(self._cells, x, side="left"), np.searchsorted(self._cells, x, side="right")
        u = chance(np.maximum(weight, 1), np.arange(len(x)), 0)
        paired = self._before[end] - self._before[start]
        found = x.copy()
        everything = np.flatnonzero(((u >= paired) & (u < paired + self._rest[x])) | (weight == 0))
        drawn = chance(np.full(len(everything), self._left_before[-1]), everything, 1)
        found[everything] = np.searchsorted(self._left_before, drawn, side="right") - 1
        two = np.flatnonzero((u < paired) & (weight > 0))
        group = np.searchsorted(self._before, self._before[start[two]] + u[two], side="right") - 1
        other = chance(self._own[group] + self._others[group], two, 1) >= self._own[group]
        found[two] = np.where(other, self._other[group], x[two])
        if self._several is not None:
            u = u - paired - self._rest[x]
            more = np.flatnonzero((u >= 0) & (u < self._several.weight_of(x)) & (weight > 0))
            found[more] = self._several.drawn(x[more], u[more], lambda bounds: chance(bounds, more, 1))
        if self._listed is not None:  # beside the rest, all that a value has is listed
            named = np.flatnonzero((u >= self._rest[x]) & (weight > 0))
            first = self._listed_before[np.searchsorted(self._listed.source, x[named], side="left")]
            place = np.searchsorted(self._listed_before, first + u[named] - self._rest[x[named]], side="right") - 1
            found[named] = self._listed.target[place]
        return found


class _Several:
    """Groups of several values, by the values that they have."""

    def __init__(self, groups: Groups) -> None:
        order = np.argsort(groups.cells, kind="stable")
        self._cells, self._group = groups.cells[order], groups.of()[order]
        self._before = np.concatenate([[0], np.cumsum(groups.mass[order])])  # below 2⁶¹, as all weights together are
        self._members, self._total = groups.cells, groups.total()
        self._within = np.concatenate([[0], np.cumsum(groups.mass)])
        self._start = groups.start

    def weight_of(self, x: Integers) -> Integers:
        """How much of each value is in such groups."""
        start, end = np.searchsorted(self._cells, x, side="left"), np.searchsorted(self._cells, x, side="right")
        return np.asarray(self._before[end] - self._before[start])

    def drawn(self, x: Integers, u: Integers, chance: Callable[[Integers], Integers]) -> Integers:
        """A value of the group that u, a number below the weight of x in groups, falls on."""
        start = np.searchsorted(self._cells, x, side="left")
        group = self._group[np.searchsorted(self._before, self._before[start] + u, side="right") - 1]
        place = self._within[self._start[group]] + chance(self._total[group])
        return np.asarray(self._members[np.searchsorted(self._within, place, side="right") - 1])


class ModelSanitiser(Sanitiser):
    """As `Sanitiser`: inputs and outputs for each batch, `finish` once, `release` to write numbers as values."""

    leaning = True

    def __init__(self, protocol: Protocol, unseen: Unseen = "refuse") -> None:
        check_unseen(protocol, unseen)
        self.protocol, self.unseen = protocol, unseen
        self.strangers: Counter[str] = Counter()
        self._sizes, self._columns = protocol.by_model.model.sizes, protocol.columns
        self._values = {column.name: column.released_values for column in protocol.columns}

    def keep_types(self, types: Mapping[str, pa.DataType]) -> None:
        """Write columns in the types that a table has them in, where no value is lost by that."""
        known = [column for column in self._columns if column.name in types]
        self._values |= {column.name: values_as(column, types[column.name]) for column in known}

    @cached_property
    def _redrawing(self) -> Redrawing:
        return Redrawing(self.protocol.by_model.plan)

    @property
    def own_columns(self) -> tuple[Column, ...]:
        """The columns that are released, as they are read."""
        return self._columns

    def codes_after(self, y: NDArray[np.int32]) -> Integers:
        """The numbers of released values."""
        return np.stack(np.unravel_index(y[:, 0], self._sizes), axis=1)

    def read_as_others(self, codes: Integers) -> NDArray[np.bool_]:
        """None: a model has all combinations of values."""
        return np.zeros(len(codes), dtype=bool)

    def inputs(self, batch: pa.RecordBatch) -> NDArray[np.int32]:
        """x[i, 0]: the number of the combination that row i has; 0 for rows that will be refused."""
        codes = codes_of(self._columns, batch)
        for column, code in zip(self._columns, codes, strict=True):
            self.strangers.update({column.name: int((code == UNSEEN).sum())} if (code == UNSEEN).any() else {})
        numbers = np.ravel_multi_index([np.maximum(code, 0) for code in codes], self._sizes)
        return np.asarray(numbers, dtype=np.int32)[:, None]

    def outputs(self, x: NDArray[np.int32], randomness: Randomness, threads: int | None = None) -> NDArray[np.int32]:
        """The number of the combination that is released for each row."""
        return self._redrawing.drawn(x[:, 0].astype(np.int64), randomness).astype(np.int32)[:, None]

    def keyed_outputs(
        self, x: NDArray[np.int32], persons: Persons, mac: Mac, threads: int | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
        """The same as a function of mac's key, person i and x[i, 0]; and marks[i], equal if a person's inputs are."""
        inputs = x[:, 0].astype(np.int64)
        chance = KeyedBelow(mac, persons, inputs, threads)
        return self._redrawing.drawn_by(inputs, chance).astype(np.int32)[:, None], chance.marks

    def finish(self) -> None:
        """Refuse the whole table if it had values that the protocol does not know."""
        if self.strangers:
            counts = ", ".join(f"{n:,} rows in {name}" for name, n in self.strangers.items())
            raise UnseenValues(f"the protocol was not fitted on some values ({counts}); refit it with them declared")

    def release(self, y: NDArray[np.int32]) -> pa.RecordBatch:
        """Released rows as values, one dictionary column for each attribute."""
        columns = []
        for column, code in zip(self._columns, np.unravel_index(y[:, 0], self._sizes), strict=True):
            indices, gone = places_of(column, code)
            mask: Any = gone if gone.any() else None
            columns.append(pa.DictionaryArray.from_arrays(pa.array(indices, mask=mask), self._values[column.name]))
        return pa.RecordBatch.from_arrays(columns, names=list(self.protocol.attributes))

    def schema(self) -> pa.Schema:
        """The schema of released tables, in plain types."""
        return pa.schema([(name, values.type) for name, values in self._values.items()])


class WorkersSanitiser(ModelSanitiser):
    """The same for tasks of a cluster: groups are recomputed once in a worker's life, not once in a task's."""

    @cached_property
    def _redrawing(self) -> Redrawing:
        return _redrawing_in(to_text(self.protocol))


@lru_cache(maxsize=1)
def _redrawing_in(text: str) -> Redrawing:
    """Of the protocol in this text."""
    return Redrawing(from_text(text).by_model.plan)
