"""The step "fill" in a file: the columns that are drawn given the released values of the row."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.gaussian import MOST_SIGMA, MOST_TABLES
from privacyfunnel.distribution.noise import MOST_DELTA, MOST_EPSILON
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.protocols.fill import Fill, Filled, FillNoise, Grid, Inside
from privacyfunnel.protocols.json_file import LONGEST_TEXT, MOST_COLUMNS, MOST_VALUES, STRICT, integers
from privacyfunnel.protocols.never import Never, Values
from privacyfunnel.typing import Integers

MOST_DECIMALS = 15
"""A float64 has no more digits."""


class _Filled(BaseModel):
    model_config = STRICT

    name: str = Field(max_length=LONGEST_TEXT)
    parents: tuple[str, ...] = Field(max_length=MOST_COLUMNS)
    weights: tuple[tuple[int, ...], ...] = Field(min_length=1, max_length=MOST_VALUES)
    """For every combination of the parents' values, in C order: 2³²·P(v) of every value v."""
    counts: tuple[tuple[int, ...], ...] = Field(min_length=1, max_length=MOST_VALUES)
    """The same of how many people have these values, with noise."""


class _Inside(BaseModel):
    model_config = STRICT

    name: str = Field(max_length=LONGEST_TEXT)
    grid: Grid
    decimals: int = Field(ge=0, le=MOST_DECIMALS)
    column: Column | None
    parts: tuple[tuple[int, int, int, int], ...] = Field(max_length=MOST_VALUES)
    """Value, first, last, 2³²·P: numbers from first to last are equally likely."""
    counts: tuple[int, ...] = Field(max_length=MOST_VALUES)
    """How many people each part has, with noise, and last those of the value without parts, if there is one."""
    ends: tuple[int, int]
    """How many of the first and of the last parts are read as empty."""


class _FillNoise(BaseModel):
    model_config = STRICT

    epsilon: float = Field(gt=0, le=MOST_EPSILON)
    delta: float = Field(gt=0, le=MOST_DELTA)
    choosing: float = Field(ge=0, le=MOST_EPSILON)
    sigma: float = Field(gt=0, le=MOST_SIGMA)
    tables: int = Field(ge=1, le=MOST_TABLES)


class _Values(BaseModel):
    model_config = STRICT

    column: str = Field(max_length=LONGEST_TEXT)
    ranges: tuple[tuple[int, int], ...] = Field(max_length=MOST_VALUES)
    """The first and the last number of each."""
    missing: bool


class _Never(BaseModel):
    model_config = STRICT

    words: str = Field(max_length=LONGEST_TEXT)
    combinations: tuple[tuple[_Values, ...], ...] = Field(min_length=1, max_length=MOST_VALUES)
    """No filled row has all the values of one."""


class FillInFile(BaseModel):
    """Columns that are drawn from a private model, given the released values of the row."""

    model_config = STRICT

    step: Literal["fill"]
    filled: tuple[_Filled, ...] = Field(max_length=MOST_COLUMNS)
    """In the order in which they are drawn."""
    inside: tuple[_Inside, ...] = Field(max_length=MOST_COLUMNS)
    """How the values of filled columns, and ranges of kept ones, become values that are written."""
    order: tuple[str, ...] = Field(min_length=1, max_length=MOST_COLUMNS)
    """All released columns, as the table has them."""
    never: _Never | None
    noise: _FillNoise
    """Discrete Gaussian noise on the tables of the model: its ε₀ and δ₀ add to those of the kept columns."""


def plain_fill(fill: Fill) -> dict[str, Any]:
    """A fill as plain data."""
    return {
        "step": "fill",
        "filled": [
            {
                "name": one.name,
                "parents": list(one.parents),
                "weights": one.weights.tolist(),
                "counts": one.counts.tolist(),
            }
            for one in fill.filled
        ],
        "inside": [
            {
                "name": one.name,
                "grid": one.grid,
                "decimals": one.decimals,
                "column": one.column.model_dump() if one.column is not None else None,
                "parts": one.parts.tolist(),
                "counts": one.counts.tolist(),
                "ends": list(one.ends),
            }
            for one in fill.inside
        ],
        "order": list(fill.order),
        "never": _plain_never(fill.never),
        "noise": dict(vars(fill.noise)),
    }


def _plain_never(never: Never | None) -> dict[str, Any] | None:
    if never is None:
        return None
    combinations = [
        [{**vars(one), "ranges": list(map(list, one.ranges))} for one in each] for each in never.combinations
    ]
    return {"words": never.words, "combinations": combinations}


def fill_in(found: FillInFile) -> Fill:
    """The fill; whether it fits its protocol is found when that is made."""
    filled = tuple(Filled(one.name, one.parents, integers(one.weights), integers(one.counts)) for one in found.filled)
    inside = tuple(
        Inside(one.name, one.grid, one.decimals, one.column, _parts(one.parts), _counts(one.counts), one.ends)
        for one in found.inside
    )
    return Fill(filled, inside, found.order, FillNoise(**found.noise.model_dump()), _never(found.never))


def _never(found: _Never | None) -> Never | None:
    if found is None:
        return None
    combinations = [tuple(Values(one.column, one.ranges, one.missing) for one in each) for each in found.combinations]
    return Never(found.words, tuple(combinations))


def _parts(parts: tuple[tuple[int, int, int, int], ...]) -> Integers:
    return integers(parts) if parts else np.empty((0, 4), dtype=np.int64)


def _counts(counts: tuple[int, ...]) -> Integers:
    return np.asarray(integers((counts,))[0])


def checked_noise(fill: Fill, before: float, level: float) -> Fill:
    """The fill, if noise of the stated size has the stated ε₀ and δ₀."""
    if not fill.noise.kept(before, level):
        raise InvalidProtocol("noise of the stated size does not have the ε₀ and δ₀ that the fill states")
    return fill
