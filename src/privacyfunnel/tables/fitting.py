"""Fitting columns: how each column of a table becomes finitely many values, and what was decided for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from privacyfunnel.errors import InvalidTable
from privacyfunnel.tables.domain import (
    DATE,
    INTEGER,
    NUMBER,
    OPEN,
    OTHER,
    Column,
    Kind,
    Label,
    Reading,
    bin_labels,
    short,
)
from privacyfunnel.tables.sources import VIEW, Source, quoted

DEFAULT_BINS = 8
FEW_NUMBERS = 12
"""A column of numbers with at most this many different ones keeps them as they are."""
MOST_CATEGORIES = 100
"""A text column with more different values keeps the most frequent and calls the rest OTHER."""
LONG_SPAN_YEARS = 3
"""Dates over a longer time than this are kept by year, otherwise by month."""
MARKERS = ("?", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "none", "-", ".", "unknown", "Unknown")
"""Texts that mean "missing" when all else in a column is numbers or dates."""
MOSTLY = 0.5
"""A column is taken for numbers with markers only if at least this share of its values are numbers."""

Bins = Sequence[float] | int | str
"""Edges, a number of quantile bins, or "quantile:k", "width:k" or "each"."""


@dataclass(frozen=True)
class Wishes:
    """What the steward asked for, by column; the rest is decided automatically."""

    bins: Mapping[str, Bins] = field(default_factory=dict)
    top: Mapping[str, int] = field(default_factory=dict)
    dates: Mapping[str, Literal["year", "month", "day"]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    def columns(self) -> set[str]:
        """The columns that are mentioned."""
        return {*self.bins, *self.top, *self.dates}


@dataclass(frozen=True)
class Fitted:
    """A column and what was decided for it, in words."""

    column: Column
    notice: str


@dataclass(frozen=True)
class _Profile:
    """What one pass over a column finds; `markers` are texts that can only mean "missing"."""

    type: str
    rows: int
    present: int
    distinct: int
    numbers: int
    integers: int
    dates: int
    markers: tuple[str, ...]


def fit_columns(source: Source, names: Sequence[str], wishes: Wishes) -> tuple[Fitted, ...]:
    """Decide for each named column how it becomes finitely many values."""
    source.require(names)
    return tuple(_fit(source, name, wishes) for name in names)


def fit_reading(source: Source, reading: Reading) -> Column:
    """The column of a table that is read as another table's was, with the values it has here."""
    source.require([reading.name])
    if reading.kind != "bins":
        return _labelled(source, reading.name, reading.kind, reading.missing)
    labels: list[Label] = list(bin_labels(reading.edges))
    if _has_missing(source, reading.name, reading.missing):
        labels.append(None)
    return Column(**reading.model_dump(), labels=tuple(labels))


def _fit(source: Source, name: str, wishes: Wishes) -> Fitted:
    profile = _profile(source, name, wishes.missing)
    if profile.rows == 0:
        raise InvalidTable(f"{source.name} has a header but no rows")
    if profile.type.startswith(("STRUCT", "MAP", "UNION")) or profile.type.endswith("]"):
        raise InvalidTable(f"column {name!r} holds nested values; flatten it first")
    if name in wishes.bins:
        return _fit_numbers(source, name, profile, wishes, wishes.bins[name])
    if name in wishes.dates:
        return _fit_dates(source, name, profile, wishes, wishes.dates[name])
    if name in wishes.top:
        return _fit_text(source, name, profile, wishes, wishes.top[name])
    meant = profile.present - _marked(source, name, profile) if profile.markers else profile.present
    if profile.type == "BOOLEAN":
        return Fitted(_labelled(source, name, "boolean", wishes.missing), "true or false")
    if profile.present and profile.numbers == meant and profile.numbers >= MOSTLY * profile.present:
        return _fit_numbers(source, name, profile, wishes, None)
    if profile.present and profile.dates == meant and profile.dates >= MOSTLY * profile.present:
        return _fit_dates(source, name, profile, wishes, None)
    return _fit_text(source, name, profile, wishes, None)


def _profile(source: Source, name: str, missing: Sequence[str]) -> _Profile:
    text = _text(name, missing)
    listed = ", ".join(f"'{marker}'" for marker in MARKERS)
    row = source.rows(
        f"""SELECT typeof(any_value({quoted(name)})), count(*), count({text}), count(DISTINCT {text}),
        count(*) FILTER (regexp_matches({text}, '{NUMBER}')), count(*) FILTER (regexp_matches({text}, '{INTEGER}')),
        count(*) FILTER (regexp_matches({text}, '{DATE}')),
        list(DISTINCT {text}) FILTER ({text} IN ({listed})) FROM {VIEW}"""  # noqa: S608
    )[0]
    kind, rows, present, distinct, numbers, integers, dates, markers = row
    return _Profile(kind, rows, present, distinct, numbers, integers, dates, tuple(sorted(markers or ())))


def _text(name: str, missing: Sequence[str]) -> str:
    """SQL: the column as text, NULL where it is missing."""
    gone = "', '".join(marker.replace("'", "''") for marker in ("", *missing))
    text = f"CAST({quoted(name)} AS VARCHAR)"
    nan = f"{text} = 'nan' AND typeof({quoted(name)}) IN ('DOUBLE', 'FLOAT')"
    return f"(CASE WHEN {text} IN ('{gone}') OR {nan} THEN NULL ELSE {text} END)"


def _marked(source: Source, name: str, profile: _Profile) -> int:
    listed = ", ".join(f"'{marker}'" for marker in profile.markers)
    text = f"CAST({quoted(name)} AS VARCHAR)"
    return int(source.rows(f"SELECT count(*) FROM {VIEW} WHERE {text} IN ({listed})")[0][0])  # noqa: S608


def _fit_numbers(source: Source, name: str, profile: _Profile, wishes: Wishes, bins: Bins | None) -> Fitted:
    missing = (*wishes.missing, *profile.markers) if profile.numbers < profile.present else wishes.missing
    few = bins is None and profile.distinct - len(profile.markers) <= FEW_NUMBERS
    if bins == "each" or few:
        kind: Kind = "integer" if profile.integers == profile.numbers else "number"
        column = _labelled(source, name, kind, missing)
        return Fitted(column, "each number kept" + _missing_words(missing, wishes))
    if profile.numbers == 0:
        raise InvalidTable(f"column {name!r} holds no numbers, so it cannot be cut into bins")
    edges, how = _edges(source, name, bins if bins is not None else DEFAULT_BINS, missing)
    column = fit_reading(source, Reading(name=name, kind="bins", edges=tuple(edges), missing=missing))
    outside = profile.numbers - _count_between(source, name, missing, edges)
    if outside:
        raise InvalidTable(
            f"{outside} values of column {name!r} lie outside its bins {short(edges[0])}…{short(edges[-1])}; widen them"
        )
    return Fitted(column, how + _missing_words(missing, wishes))


def _edges(source: Source, name: str, bins: Bins, missing: Sequence[str]) -> tuple[list[float], str]:
    if isinstance(bins, str):
        word, _, count = bins.partition(":")
        if word not in ("quantile", "width") or not count.isdigit() or int(count) < 1:
            raise InvalidTable(
                f"bins for column {name!r} should be edges, a number, quantile:k, width:k or each; got {bins!r}"
            )
        return (_quantiles if word == "quantile" else _equal_width)(source, name, int(count), missing)
    if isinstance(bins, int):
        if bins < 1:
            raise InvalidTable(f"column {name!r} needs at least one bin; got {bins}")
        return _quantiles(source, name, bins, missing)
    edges = [float(edge) for edge in bins]
    if len(edges) < 2 or not all(map(math.isfinite, edges)) or any(not a < b for a, b in pairwise(edges)):
        raise InvalidTable(f"the bin edges of column {name!r} must be at least two increasing numbers")
    return edges, f"{len(edges) - 1} bins, as asked for"


def _quantiles(source: Source, name: str, count: int, missing: Sequence[str]) -> tuple[list[float], str]:
    shares = [i / count for i in range(1, count)]
    number = _number(name, missing)
    cuts: list[Any] = []
    if shares:
        cuts = source.rows(f"SELECT quantile_disc({number}, {shares}) FROM {VIEW}")[0][0]  # noqa: S608
    inner = _rounded([float(cut) for cut in cuts])
    edges = [-OPEN, *inner, OPEN]
    return edges, f"{len(edges) - 1} bins of about equal counts"


def _equal_width(source: Source, name: str, count: int, missing: Sequence[str]) -> tuple[list[float], str]:
    number = _number(name, missing)
    low, high = source.rows(f"SELECT min({number}), max({number}) FROM {VIEW}")[0]  # noqa: S608
    step = (high - low) / count
    inner = _rounded([low + step * i for i in range(1, count)]) if step > 0 else []
    return [-OPEN, *inner, OPEN], f"{len(inner) + 1} bins of about equal width"


def _rounded(cuts: list[float]) -> list[float]:
    """Increasing cuts with as few digits as keep them apart: round numbers name nobody's exact value."""
    different = sorted(set(cuts))
    for digits in range(1, 16):
        rounded = [float(f"{cut:.{digits}g}") for cut in different]
        spacing = [b - a for a, b in pairwise(different)]
        error = max((abs(a - b) for a, b in zip(different, rounded, strict=True)), default=0.0)
        if len(set(rounded)) == len(different) and error <= 0.2 * min(spacing, default=math.inf):
            return rounded
    return different


def _number(name: str, missing: Sequence[str]) -> str:
    """SQL: the column as a number, NULL where it is missing."""
    return f"TRY_CAST(trim({_text(name, missing)}) AS DOUBLE)"


def _count_between(source: Source, name: str, missing: Sequence[str], edges: Sequence[float]) -> int:
    number = _number(name, missing)
    inside = f"{number} BETWEEN {edges[0]!r}::DOUBLE AND {edges[-1]!r}::DOUBLE"
    return int(source.rows(f"SELECT count(*) FILTER ({inside}) FROM {VIEW}")[0][0])  # noqa: S608


def _has_missing(source: Source, name: str, missing: Sequence[str]) -> bool:
    return bool(source.rows(f"SELECT count(*) > count({_text(name, missing)}) FROM {VIEW}")[0][0])  # noqa: S608


def _missing_words(missing: Sequence[str], wishes: Wishes) -> str:
    added = [marker for marker in missing if marker not in wishes.missing]
    return f"; {', '.join(map(repr, added))} read as missing" if added else ""


def _fit_dates(
    source: Source, name: str, profile: _Profile, wishes: Wishes, by: Literal["year", "month", "day"] | None
) -> Fitted:
    missing = (*wishes.missing, *profile.markers) if profile.dates < profile.present else wishes.missing
    if profile.dates == 0:
        raise InvalidTable(f"column {name!r} holds no dates like 2024-05-31")
    if by is None:
        text = f"left({_text(name, missing)}, 4)"
        first, last = source.rows(f"SELECT min({text}), max({text}) FROM {VIEW}")[0]  # noqa: S608
        by = "year" if int(last) - int(first) > LONG_SPAN_YEARS else "month"
    return Fitted(_labelled(source, name, by, missing), f"dates kept by {by}" + _missing_words(missing, wishes))


def _fit_text(source: Source, name: str, profile: _Profile, wishes: Wishes, top: int | None) -> Fitted:
    asked = top is not None
    if top is not None and top < 1:
        raise InvalidTable(f"column {name!r} must keep at least one value; got {top}")
    if top is None and profile.distinct <= MOST_CATEGORIES:
        return Fitted(_labelled(source, name, "text", wishes.missing), f"{profile.distinct} values kept as they are")
    most = top if top is not None else MOST_CATEGORIES - 1
    text = _text(name, wishes.missing)
    found = source.rows(
        f"SELECT {text} AS value, count(*) FROM {VIEW} WHERE value IS NOT NULL AND value <> '{OTHER}' "  # noqa: S608
        f"GROUP BY value ORDER BY count(*) DESC, value LIMIT {most}"
    )
    labels: list[Label] = [*sorted(value for value, _ in found), OTHER]
    if _has_missing(source, name, wishes.missing):
        labels.append(None)
    column = Column(name=name, kind="text", labels=tuple(labels), other=True, missing=wishes.missing)
    notice = f"the {len(found)} most frequent of {profile.distinct:,} values kept, the rest is {OTHER!r}"
    if not asked and profile.distinct > 0.9 * profile.present:
        notice += "; nearly every row differs: is this an identifier that should be left out?"
    return Fitted(column, notice)


def _labelled(source: Source, name: str, kind: Kind, missing: tuple[str, ...]) -> Column:
    """A column whose labels are its different values, sorted, with missing last."""
    parts: dict[str, str] = {"year": "left({}, 4)", "month": "left({}, 7)", "day": "left({}, 10)"}
    casts = {"integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}
    text = parts.get(kind, "{}").format(f"trim({_text(name, missing)})" if kind != "text" else _text(name, missing))
    value = f"TRY_CAST({text} AS {casts.get(kind, 'VARCHAR')})"
    found = source.rows(f"SELECT DISTINCT {value} AS v FROM {VIEW} WHERE v IS NOT NULL ORDER BY v")  # noqa: S608
    labels: list[Label] = [row[0] for row in found]
    if _has_missing(source, name, missing) or not labels:
        labels.append(None)
    return Column(name=name, kind=kind, labels=tuple(labels), missing=missing)
