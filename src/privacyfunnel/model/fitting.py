"""Fitting the fill: which columns each filled one is drawn given, and by which probabilities, from noisy tables.

1. Every filled column, and every kept range that is written as numbers, is counted by its cells, with noise.
2. From these counts alone, cells with few people are put together: neighbours of an order, otherwise all rare ones.
3. One filled column after the other is chosen with up to two parents among those that are kept or drawn before. The
   score of column j and parents P is ½ Σ |N(v, a) − N(v) N(a) / n|, which one changed row moves by at most 3 + 2/n,
   less PENALTY times what noise is expected to add; the largest is drawn with noise (drawing/noisy_max.py).
4. The table of j and P is counted with noise, and its conditional probabilities are shrunk (protocols/shrinking.py).

Each table in which everybody has a cell has discrete Gaussian noise of the same σ, and `noise_for` says which σ all of
them need. What follows a noisy table is computed from noisy tables and numbers of values alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from privacyfunnel.distribution.gaussian import noise_for
from privacyfunnel.drawing.gaussian import gaussian_noised
from privacyfunnel.drawing.noisy_max import noisy_largest
from privacyfunnel.model.columns import Counted
from privacyfunnel.protocols.fill import Fill, Filled, FillNoise, Inside
from privacyfunnel.protocols.never import Never
from privacyfunnel.protocols.shrinking import FAR, in_parts, nearest_counts, shrunk, within_codes
from privacyfunnel.typing import Integers, Vector

CHOOSING = 0.1
"""Of the fill's ε₀, what choosing parents may spend: with more, noisier tables cost more than it gains, on Adult."""
PENALTY = 0.5
"""Of the expected noise of a table; on Adult the tables come out about as well with other parts of it."""
MEAN_NOISE = math.sqrt(2 / math.pi)
"""E|z| of noise, in standard deviations."""
ENOUGH = 2.0
"""Standard deviations of noise on a cell, below which it has too few people for a value of its own."""
MOST_VALUES = 64
"""Of a filled column that the model tells apart: others are put together, and told apart again inside of a group."""
SENSITIVITY = 3.0
"""Of a score, and 2/n more: N(v, a) moves by 1 in two cells, N(v) and N(a) likewise (PrivBayes, 2014)."""
ROUNDS = 2
"""Parents that are chosen one after the other: with a third, tables of these sizes are noise."""


@dataclass(eq=False)
class _Rows:
    """The people of the table: exact, so nothing but noisy counts and noisy choices leaves it."""

    codes: dict[str, Integers]
    sizes: dict[str, int]
    sigma: float
    each: float
    """ε₀ of each choice."""
    people: int
    _scored: dict[tuple[str, ...], float] = field(default_factory=dict)

    def counted(self, names: Sequence[str]) -> Vector:
        """The counts of some columns together with noise."""
        noisy = gaussian_noised(self._counts(names), self.sigma)
        return noisy.astype(np.float64).reshape([self.sizes[name] for name in names])

    def best(self, among: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
        """About the best of some columns (j, parents …), drawn with noise."""
        if len(among) == 1:
            return among[0]
        scores = [self._score(names) for names in among]
        return among[noisy_largest(scores, SENSITIVITY + 2 / self.people, self.each)]

    def penalty(self, names: Sequence[str]) -> float:
        """What noise adds to a score, as far as it counts; no people are in it."""
        if len(names) == 1:
            return 0.0
        cells = math.prod(self.sizes[name] for name in names)
        return PENALTY * cells * MEAN_NOISE * self.sigma / 2

    def affordable(self, names: Sequence[str]) -> bool:
        """Whether a table's noise leaves any score that could win."""
        return self.penalty(names) < self.people

    def _score(self, names: tuple[str, ...]) -> float:
        if len(names) == 1:
            return 0.0
        if names not in self._scored:
            table = self._counts(names).reshape(self.sizes[names[0]], -1).astype(np.float64)
            alone = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / self.people
            self._scored[names] = float(np.abs(table - alone).sum() / 2) - self.penalty(names)
        return self._scored[names]

    def _counts(self, names: Sequence[str]) -> Integers:
        place = np.zeros(self.people, dtype=np.int64)
        for name in names:
            place = place * self.sizes[name] + self.codes[name]
        return np.bincount(place, minlength=math.prod(self.sizes[name] for name in names))


def fit_fill(
    kept: Mapping[str, tuple[Integers, int]],
    columns: Sequence[Counted],
    cells: Mapping[str, Integers],
    order: Sequence[str],
    epsilon: float,
    delta: float,
    level: float,
    before: float,
    never: Never | None = None,
) -> Fill | None:
    """The fill for `columns`, whose cells are given row by row, beside codes and sizes of the `kept` ones.

    A column is drawn given those with which it must `never` have some values, where noise allows it. This spends
    ε₀ = `epsilon` and `delta`, after `before` was spent on what is kept under a promise of `level`. None if there is
    nothing to draw.
    """
    drawn = [column for column in columns if not column.kept]
    if not columns:
        return None
    choosing = CHOOSING * epsilon if drawn else 0.0
    tables = len(columns) + len(drawn)
    noise = noise_for(tables, before + epsilon, delta, level, before + choosing)
    people = len(next(iter(cells.values())))
    rows = _Rows(
        {name: codes for name, (codes, _) in kept.items()},
        {name: size for name, (_, size) in kept.items()},
        noise.sigma,
        choosing / (ROUNDS * len(drawn)) if drawn else 0.0,
        people,
    )
    for column in columns:
        rows.codes[_cell(column)], rows.sizes[_cell(column)] = cells[column.name], len(column)
    noisy = {c.name: rows.counted([_cell(c)]).ravel() for c in columns}
    ends = {c.name: _outliers(c, noisy[c.name], noise.sigma) for c in columns}
    single = {c.name: _without(c, noisy[c.name], ends[c.name], people) for c in columns}
    groups = {c.name: c.code if c.kept else grouped(c, single[c.name], noise.sigma) for c in columns}
    for column in drawn:
        rows.codes[column.name] = groups[column.name][cells[column.name]]
        rows.sizes[column.name] = int(groups[column.name].max()) + 1
    filled = _filled(rows, [c.name for c in drawn], list(kept), single, groups, _linked(never))
    inside = tuple(_inside(c, noisy[c.name], single[c.name], groups[c.name], ends[c.name]) for c in columns)
    spent = FillNoise(epsilon, delta, choosing, noise.sigma, tables)
    return Fill(tuple(filled), inside, tuple(order), spent, never)


def _linked(never: Never | None) -> dict[str, set[str]]:
    """The columns with which each column is in a combination that never occurs."""
    found: dict[str, set[str]] = {}
    for each in never.combinations if never is not None else ():
        names = {one.column for one in each}
        for name in names:
            found.setdefault(name, set()).update(names - {name})
    return found


def _cell(column: Counted) -> str:
    """What the cells of a column are called beside its values; no column has such a name."""
    return f"{column.name}\0cell"


def _filled(
    rows: _Rows,
    left: list[str],
    have: list[str],
    single: Mapping[str, Vector],
    groups: Mapping[str, Integers],
    linked: Mapping[str, set[str]],
) -> list[Filled]:
    """The columns in the order in which they are drawn, each with its parents and table."""
    found = []

    def more(names: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The same columns with each further parent, or without one; only with linked ones, if there are any left."""
        further = [(*names, parent) for parent in have if parent not in names]
        asked = [one for one in further if one[-1] in linked.get(names[0], ()) and rows.affordable(one)]
        return asked or [names, *filter(rows.affordable, further)]

    while left:
        names = rows.best([one for name in left for one in more((name,))])
        if len(names) > 1:
            names = rows.best(more(names))
        name, *parents = names
        alone = np.bincount(groups[name], single[name]).astype(np.float64)
        table = rows.counted([*parents, name])
        chances = shrunk(table, alone, rows.sigma**2, rows.people)
        found.append(Filled(name, tuple(parents), in_parts(chances), _whole(table).reshape(chances.shape)))
        left.remove(name)
        have.append(name)
    return found


def _outliers(column: Counted, counts: Vector, sigma: float) -> tuple[int, int]:
    """How many of the first and of the last cells are what noise makes of far-out parts of ranges that have no end."""
    if column.column is not None or not len(counts):
        return 0, 0
    ends: list[int] = []
    present = np.flatnonzero(column.code != column.gone)
    for cells in (present, present[::-1]):
        out = 0
        for k, inner in pairwise(cells):
            if column.code[inner] != column.code[k] or counts[k] >= FAR * sigma:
                break
            out += 1
        ends.append(out)
    return ends[0], min(ends[1], len(present) - 1 - ends[0])


def _without(column: Counted, counts: Vector, ends: tuple[int, int], people: int) -> Vector:
    """How many people each cell has, where so many of the first and of the last cells are read as empty."""
    found, present = np.zeros(len(counts)), np.flatnonzero(column.code != column.gone)
    inner = np.r_[present[ends[0] : len(present) - ends[1]], np.flatnonzero(column.code == column.gone)]
    found[inner] = nearest_counts(counts[inner], people)
    return found


def _whole(counts: Vector) -> Integers:
    return np.rint(counts).astype(np.int64)


def grouped(column: Counted, counts: Vector, sigma: float) -> Integers:
    """group[k]: the value of the model that cell k belongs to, so that most have enough people by noisy counts."""
    least = max(ENOUGH * sigma, counts.sum() / MOST_VALUES)
    found = np.zeros(len(counts), dtype=np.int64)
    present = [k for k in range(len(counts)) if column.code[k] != column.gone]
    if column.ordered:
        group, held = 0, 0.0
        for k in present:
            if held and int(column.first[k]) in column.apart:
                group, held = group + 1, 0.0
            found[k] = group
            held += counts[k]
            if held >= least:
                group, held = group + 1, 0.0
        if group and held:
            found[found == group] = group - 1
    else:
        rare = [k for k in present if counts[k] < least]
        often = [k for k in present if counts[k] >= least]
        for group, k in enumerate(often):
            found[k] = group
        found[rare] = len(often)
    gone = np.flatnonzero(column.code == column.gone)
    found[gone] = found.max() + 1
    return np.asarray(np.unique(found, return_inverse=True)[1], dtype=np.int64)


def _inside(column: Counted, noisy: Vector, counts: Vector, groups: Integers, ends: tuple[int, int]) -> Inside:
    """How each value of the model is written: by the noisy counts of its cells."""
    gone = column.code == column.gone if column.column is None else np.zeros(len(groups), dtype=bool)
    own = np.argsort(groups, kind="stable")
    cells = own[~gone[own]]
    widths = (column.last - column.first + 1).astype(np.float64)
    weights = within_codes(groups[cells], widths[cells], counts[cells])
    parts = np.stack([groups[cells], column.first[cells], column.last[cells], weights], axis=1)
    counted = _whole(noisy[[*cells, *own[gone[own]]]])
    return Inside(column.name, column.grid, column.decimals, column.column, parts, counted, ends)
