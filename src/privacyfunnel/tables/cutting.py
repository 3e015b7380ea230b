"""Cutting: the borders of the ranges into which the numbers of a column are put."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.column import EXACT, OPEN, short
from privacyfunnel.errors import InvalidTable
from privacyfunnel.model.columns import NEAR
from privacyfunnel.typing import Integers

MOST_BINS = 10_000
"""More are a mistake: each is a value of its own to the search."""
FLOAT_DIGITS = 15
"""A float64 keeps every number of so many digits; a cut that needs more stays as it is."""
MOVED = 0.2
"""Of the least distance of two cuts, by which rounding may move one: counts then stay about equal."""
MOST_NAMED = 3
"""Numbers with a bin of their own that are named in a line; more are counted."""

MOST_DECIMALS = 6
"""Numbers with more digits behind the point are measurements: they are written with so many."""
PER_ROUND = 100_000
"""Rows that are looked at for decimals: a format shows in far fewer."""

Bins = Sequence[float] | int | str
"""Edges, a number of quantile bins, or "quantile:k", "width:k" or "each"."""
Numbers = NDArray[np.float64]


def edges_for(name: str, numbers: Numbers, counts: Integers, bins: Bins) -> tuple[list[float], str]:
    """The edges that `bins` asks for, of numbers that increase and occur so often; and what was done, in words."""
    if isinstance(bins, str):
        word, _, count = bins.partition(":")
        if word not in ("quantile", "width") or not (count.isascii() and count.isdecimal()) or int(count) < 1:
            raise InvalidTable(
                f"bins for column {name!r} should be edges, a number, quantile:k, width:k or each; got {bins!r}"
            )
        return _cut(name, numbers, counts, int(count), word)
    if isinstance(bins, int | np.integer):
        return _cut(name, numbers, counts, int(bins), "quantile")
    try:
        edges = np.asarray(bins, dtype=np.float64).ravel().tolist()
    except (TypeError, ValueError):
        raise InvalidTable(f"the bin edges of column {name!r} are not numbers") from None
    if len(edges) < 2 or not all(map(math.isfinite, edges)) or any(not a < b for a, b in pairwise(edges)):
        raise InvalidTable(f"the bin edges of column {name!r} must be at least two increasing numbers")
    return edges, f"{_bins(len(edges) - 1)}, as asked for"


def _cut(name: str, numbers: Numbers, counts: Integers, bins: int, how: str) -> tuple[list[float], str]:
    """Edges of so many bins, of about equal counts ("quantile") or equal width; fewer where numbers repeat."""
    if not 1 <= bins <= MOST_BINS:
        raise InvalidTable(f"column {name!r} needs at least one bin, and at most {MOST_BINS:,}; got {bins}")
    if how == "quantile":
        inner, own = _quantiles(numbers, counts, bins)
        words = f"{_bins(len(inner) + 1)} of about equal counts{_by_themselves(own)}"
    else:
        shares = np.arange(1, bins) / bins
        inner = _rounded(_above(numbers[0], numbers[0] * (1 - shares) + numbers[-1] * shares), numbers)
        words = f"{_bins(len(inner) + 1)} of about equal width"
    if not inner:
        words += "; all numbers are one value then, which tells nothing: leave it out, or give edges (bins)"
    return [-OPEN, *inner, OPEN], words


def _quantiles(numbers: Numbers, counts: Integers, bins: int) -> tuple[list[float], list[float]]:
    """Inner edges of bins of about equal counts, and the numbers that have a bin of their own.

    A number that more people have than a bin would hold has one to itself, such as the 0 of most incomes from capital;
    those below it, between two of them and above are cut among themselves, into at least one bin.
    """
    size = counts.sum() / bins
    own = np.flatnonzero(counts > size)
    edges: list[float] = []
    first = 0
    for i in (*own, len(numbers)):
        part, people = numbers[first:i], counts[first:i]
        if len(part):
            edges += _equal_counts(part, people, max(1, round(people.sum() / size)))
        if i < len(numbers):
            edges += [float(numbers[i])] if i > 0 else []  # below the smallest there is nobody
            edges += [_just_above(numbers, i)] if i + 1 < len(numbers) else []
        first = i + 1
    return sorted(set(edges)), numbers[own].tolist() if edges else []


def _equal_counts(numbers: Numbers, counts: Integers, bins: int) -> list[float]:
    """Cuts within these numbers, rounded, and none of them outside."""
    total = np.cumsum(counts)
    cuts = numbers[np.searchsorted(total, np.arange(1, bins) / bins * total[-1])]
    return [cut for cut in _rounded(_above(numbers[0], cuts), numbers) if numbers[0] < cut <= numbers[-1]]


def _above(least: float, cuts: Numbers) -> list[float]:
    """The different cuts above the smallest number, below which there is nobody."""
    return sorted({float(cut) for cut in cuts if cut > least})


def _just_above(numbers: Numbers, i: int) -> float:
    """Where the bin of the i-th number ends: the next whole number, or one with few digits up to the next number."""
    low, high = float(numbers[i]), float(numbers[i + 1])
    if np.all(numbers == np.floor(numbers)) and abs(low) < EXACT:
        return low + 1
    for digits in range(1, FLOAT_DIGITS + 1):
        rounded = float(f"{(low + high) / 2:.{digits}g}")
        if low < rounded <= high:
            return rounded
    return high


def _by_themselves(numbers: list[float]) -> str:
    """That some numbers have bins of their own, in words."""
    if not numbers:
        return ""
    named = ", ".join(map(short, numbers)) if len(numbers) <= MOST_NAMED else f"{len(numbers)} frequent numbers"
    return f"; {named} by {'itself' if len(numbers) == 1 else 'themselves'}"


def _bins(count: int) -> str:
    return f"{count} bin{'s' if count != 1 else ''}"


def _rounded(cuts: list[float], numbers: Numbers) -> list[float]:
    """Increasing cuts with as few digits as keep them apart: round numbers name nobody's exact value."""
    between = [float(numbers[0]), *cuts, float(numbers[-1])] if len(cuts) == 1 else cuts
    nearest = min((b - a for a, b in pairwise(between)), default=math.inf)
    for digits in range(1, FLOAT_DIGITS + 1):
        rounded = [float(f"{cut:.{digits}g}") for cut in cuts]
        error = max((abs(a - b) for a, b in zip(cuts, rounded, strict=True)), default=0.0)
        if len(set(rounded)) == len(cuts) and error <= MOVED * nearest:
            return rounded
    return cuts


def decimals_of(numbers: Numbers) -> int:
    """How many digits the numbers of a column have behind the point.

    >>> decimals_of(np.array([1.0, 2.5, 3.25, np.nan]))
    2
    """
    there = numbers[np.isfinite(numbers)][:PER_ROUND]
    for decimals in range(MOST_DECIMALS):
        scaled = there * 10.0**decimals
        if np.abs(scaled - np.rint(scaled)).max(initial=0.0) <= NEAR:
            return decimals
    return MOST_DECIMALS
