"""Columns that stay exact under a promise for the population.

As for the counts alone, every cell of these columns has posteriors of its own; each must keep the promise for every
distribution of the set, and so must the cell by itself. Over a nested set, a row that is the same in all values that
agree in some columns T rests on what is known of T: in every cell, all T that hold the exact columns are tried, other
columns are redrawn to go with them, and the best is taken.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.numeric.information import entropy, no_less
from privacyfunnel.optimiser.exact_columns import ExactColumns, Part
from privacyfunnel.optimiser.faithful.by_tables import MOST_CELLS, TablePlan, tables_of
from privacyfunnel.optimiser.faithful.plan_rounding import restricted
from privacyfunnel.optimiser.faithful.search import Standing, generate
from privacyfunnel.optimiser.faithful.task import EPSILON_SHARES, Faithful, Task
from privacyfunnel.optimiser.mixing import Mixing, Problem
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.rounding import SLACKS, round_channel
from privacyfunnel.optimiser.program.state import FOR_THE_COUNTS, WHOLE_SEARCH, State, before_rounding, despite_trouble
from privacyfunnel.optimiser.program.tolerances import MIXES, SPARED
from privacyfunnel.optimiser.robust.demands import demands_of
from privacyfunnel.optimiser.robust.region import Region
from privacyfunnel.optimiser.robust.search import generate_over
from privacyfunnel.optimiser.robust.table_programs import Cut
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.robust import Robust
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.kept import Likeness
from privacyfunnel.protocols.labels import assigned
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.released import information_kept
from privacyfunnel.typing import Integers, Vector


@dataclass(frozen=True, eq=False)
class _Level:
    """The values of X by the cells of a table that tells the exact columns apart, and the promise for those cells."""

    of: Integers
    """of[x]: the cell that x lies in."""
    p: Vector
    cells: Joint
    region: Region


@dataclass(frozen=True, eq=False)
class _Place:
    """The cells of a table within one cell of the exact columns."""

    level: _Level
    x: Integers
    """The values of X of the cell."""
    seen: Integers
    """Those of them that somebody has, as numbers among x."""
    numbers: Integers
    """The table's cells."""
    of: Integers
    """of[i]: the number of the table's cell that x[i] lies in, among these."""
    p: Vector
    """P(table's cell | the cell)."""
    own: Joint
    """The joint of the table's attributes given the cell."""

    @property
    def region(self) -> Region:
        """The promise for posteriors on these cells alone."""
        return self.level.region.given(self.numbers, self.p)

    def given(self, promise: Notion) -> Problem:
        """The promise on the counts, for posteriors on these cells alone."""
        return Problem.of(self.level.cells, promise, 1.0).given(self.numbers, self.p)

    def spread_out(self, seen_only: Channel) -> Channel:
        """A channel for the values that somebody has, for all: each has the row of another in its table's cell."""
        first = np.full(len(self.p), -1)
        first[self.of[self.seen][::-1]] = np.arange(len(self.seen))[::-1]
        place = first[self.of]
        place[self.seen] = np.arange(len(self.seen))
        return restricted(seen_only, place)


@dataclass(frozen=True, eq=False)
class ExactOver(ExactColumns):
    """A program for every cell of the columns that stay exact, over a set of distributions."""

    @classmethod
    def promise_for(cls, notion: Notion, joint: Joint) -> Notion:
        if not notion.one_view(joint):
            if joint.noise is not None or cast(Robust, notion).within == "nested":
                raise InvalidPromise(
                    "for attackers who know columns, columns stay exact over intervals; use exact-fit and within "
                    "intervals"
                )
            notion = notion.of_values_that_occur()
        return notion.made_for(joint)

    @cached_property
    def _promise(self) -> Notion:
        """For the counts alone."""
        return cast(Robust, self.notion).promise

    @cached_property
    def _plain(self) -> Protocol:
        """The best for the counts alone, which are in the set: no protocol for the population keeps more."""
        seconds = FOR_THE_COUNTS * (self.time_limit or WHOLE_SEARCH)
        seen = np.flatnonzero(self.joint.p_x > 0)
        own = self._own(seen)
        own.secret_values, own.secret_columns = self.joint.secret_values, self.joint.secret_columns
        own.secret_parts, own.numbered = self.joint.secret_parts, self.joint.numbered
        return ExactColumns.asked(
            own, self._promise, self.joint.exact, self.objective, self.weights, self.gap, seconds, None
        ).protocol()

    def protocol(self) -> Protocol:
        """The best protocol that is found, with the bounds of the best for the counts, whose time counts, too."""
        begun, plain = ticks(), self._plain
        left = (self.time_limit or WHOLE_SEARCH) - (ticks() - begun)
        task = replace(self, time_limit=max(0.0, left))
        vars(task)["_plain"] = plain  # found once
        return super(ExactOver, task).protocol()

    def _upper_bound(self, parts: list[Part]) -> float:
        return min(self._plain.upper_bound, super()._upper_bound(parts))

    def _likeness(self, parts: list[Part]) -> Likeness | None:
        found, plain = super()._likeness(parts), self._plain.likeness
        if found is None or plain is None:
            return found
        return replace(found, fidelity_bound=max(found.fidelity, min(found.fidelity_bound, plain.fidelity_bound)))

    @cached_property
    def _levels(self) -> list[_Level]:
        joint, demands = self.joint, demands_of(self.notion, self.joint)
        if not any(demand.part.tables for demand in demands):
            return [_Level(np.arange(joint.n_x), joint.p_x, joint, Region(demands, joint.p_x))]
        return [
            _Level(cut.of, cut.p, cells, region)
            for cut, cells, region in tables_of(joint, demands)
            if set(self.view.known) <= set(cut.over)
        ]

    def _solved(self, x: Integers, share: float, seconds: float | None, interrupted: threading.Event) -> Part:
        each = None if seconds is None else seconds / max(1, len(self._levels))
        found = [self._at(self._place(level, x), share, each, interrupted) for level in self._levels]
        if not found:
            raise InvalidPromise(
                f"{', '.join(self.joint.exact)} cannot stay exact over a nested set: there are values that nobody has, "
                f"or more than {MOST_CELLS}; merge values beforehand, or use exact-fit and within intervals"
            )
        if self.objective == "faithful":
            return max(found, key=lambda part: cast(Likeness, part.likeness).fidelity)
        return max(found, key=lambda part: information_kept(part.channel, self.joint.p_x[x] / share))

    def _place(self, level: _Level, x: Integers) -> _Place:
        numbers, of = np.unique(level.of[x], return_inverse=True)
        W = level.cells.weights[:, numbers].astype(object)
        own = Joint.from_exact(W[W.any(axis=1)], level.cells.codes[numbers], level.cells.columns, self.joint.secret)
        p = level.p[numbers] / level.p[numbers].sum()
        return _Place(level, x, np.flatnonzero(self.joint.p_x[x] > 0), numbers, of.ravel(), p, own)

    def _at(self, place: _Place, share: float, seconds: float | None, interrupted: threading.Event) -> Part:
        if self.objective == "faithful":
            return self._countable(place, share, seconds, interrupted)
        return self._told(place, share, seconds, interrupted)

    def _told(self, place: _Place, share: float, seconds: float | None, interrupted: threading.Event) -> Part:
        """The most information."""
        whole = max(0.0, float(entropy(place.p)))
        state = State(place.p, whole, before_rounding(self.gap), seconds, None, interrupted)
        first = None if seconds is None else seconds / 4
        plain = Mixing(place.given(self._promise), self.gap, first, None, interrupted, ticks()).solved()
        how = despite_trouble(lambda: generate_over(place.own, self.notion, place.region, state, plain.columns))
        channel = self._rounded(place, state.columns, state.q)
        seen = self._own(place.x[place.seen])
        own = restricted(channel, place.of[place.seen])
        written = place.x[place.seen][assigned(own, own.numerators / UNIT * seen.p_x[own.inputs], seen)]
        wide = restricted(channel, place.of)
        shape = (self.joint.n_x, len(place.x))
        named = Channel.from_entries(wide.inputs, written[wide.outputs], wide.numerators, shape)
        return Part(place.x, named, share, no_less(seen.entropy), how, None)

    def _rounded(self, place: _Place, columns: Columns, q: Vector) -> Channel:
        """The mixture as an exact channel, drawn in until it passes the exact check."""
        V, n = columns.dense(len(place.p)), len(place.p)
        for drawn in MIXES:
            mixed = Columns.from_dense((1 - drawn) * V + drawn * place.p)
            channel = round_channel(mixed, q, Polytope(np.empty((0, n)), place.p), SLACKS[0])
            if self._passes(place.x, restricted(channel, place.of)):
                return channel
        return Channel.from_numerators(np.full((1, n), UNIT, dtype=np.int64))

    def _countable(self, place: _Place, share: float, seconds: float | None, interrupted: threading.Event) -> Part:
        """The release that leaves most cells as they were, whose rows have the distribution of the cell."""
        weights = {name: w for name, w in (self.weights or {}).items() if name in place.own.attributes}
        task = Task.of([place.own], self.notion, weights, None, place.region)
        standing = Standing.begun(self.gap / 2, seconds, None, interrupted, task.program.constant)
        rows = [place.given(self._promise.times(part)).granted.G for part in EPSILON_SHARES]
        task.lean_on(rows, standing, place.region)
        how = generate(task.program, place.own, standing, place.region)
        found = self._released(place, standing, how, lambda one: self._passes(place.x, place.spread_out(one)))
        values = place.x[place.seen]
        wide = place.spread_out(found.channel)
        shape = (self.joint.n_x, len(place.x))
        named = Channel.from_entries(wide.inputs, values[wide.outputs], wide.numerators, shape)
        likeness = Likeness(
            found.fidelity, found.fidelity_bound, found.cells_unchanged, found.rows_unchanged, found.weights
        )
        return Part(place.x, named, share, no_less(found.mean.entropy), found.how, likeness)

    def _released(self, place: _Place, standing: Standing, how: str, passes: Callable[[Channel], bool]) -> Faithful:
        """The plan for a table's cells as a channel for the values that somebody has, which passes the exact checks."""
        seen = self._own(place.x[place.seen])
        whole = replace(Task.of([seen], self.notion, self.weights, None, place.region), passes=passes)
        plan = TablePlan(Cut((), place.of[place.seen], place.p), place.own, standing.plan)
        for mix in (SPARED, *MIXES):
            release = whole.told(plan.channel(seen.p_x, mix), 1.0, how)
            if release is not None:
                return release
        raise InvalidPromise(f"{', '.join(self.joint.exact)} cannot stay exact: too little is known of rare values")
