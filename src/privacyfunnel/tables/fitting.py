"""Fitting columns: how each column of a table becomes finitely many values, and what was decided for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privacyfunnel.distribution import raw
from privacyfunnel.distribution.column import MOST_LABELS, OTHER, Column, Label, Reading, bin_labels, short
from privacyfunnel.distribution.raw import Kind
from privacyfunnel.errors import InvalidTable
from privacyfunnel.tables.cutting import Bins, edges_for
from privacyfunnel.tables.grouping import Grouping
from privacyfunnel.tables.profiling import (
    AS_WRITTEN,
    DATES,
    FEW_NUMBERS,
    Profile,
    look_alikes,
    meanings,
    names_people,
    profile_of,
)
from privacyfunnel.typing import Integers

DEFAULT_BINS = 8
"""Fine enough to be useful, coarse enough that several columns together stay within reach of a search."""
MOST_CATEGORIES = 100
"""A text column with more different values keeps the most frequent and calls the rest OTHER."""
MOST_SECRETS = 10_000
"""More values of a secret than this are a mistake."""
IDENTIFIER_WORDS = "; nearly every row has its own: is this an identifier that should be left out?"
LONG_SPAN_YEARS = 3
"""Dates over a longer time than this are kept by year, otherwise by month."""

Precision = Literal["year", "month", "day"]


@dataclass(frozen=True)
class Wishes:
    """What the steward asked for, by column; the rest is decided automatically."""

    bins: Mapping[str, Bins] = field(default_factory=dict)
    top: Mapping[str, int] = field(default_factory=dict)
    dates: Mapping[str, Precision] = field(default_factory=dict)
    missing: str | Sequence[str] = ()
    groups: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """By column, texts that are read as one value, by its name."""
    open_groups: bool = False
    """Whether it is left open which groups are merged."""
    written: Mapping[str, raw.Written] = field(default_factory=dict)
    """By column, how its numbers or dates are written, where it does not tell."""
    also_missing: tuple[str, ...] = ()
    """Texts that can only mean "missing" in some column, so that they do in all of them."""

    @property
    def markers(self) -> tuple[str, ...]:
        """The texts that mean "missing"."""
        asked = (self.missing,) if isinstance(self.missing, str) else tuple(map(str, self.missing))
        return (*asked, *self.also_missing)

    def columns(self) -> set[str]:
        """The columns that are mentioned."""
        return {*self.bins, *self.top, *self.dates, *self.written, *self.groups}


@dataclass(frozen=True)
class FittedColumn:
    """A column and what was decided for it, in words."""

    column: Column
    notice: str
    chosen: bool = False
    """Whether its ranges, or the values that are kept, were chosen by how often they occur in the table."""
    identifier: bool = False
    """Whether it looks like a name or number of people."""
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Groups of its texts that may be merged, by name."""


@dataclass(frozen=True)
class Look:
    """What the columns of a table hold, and what was asked for."""

    source: Grouping
    wishes: Wishes
    profiles: Mapping[str, Profile]


def look_at(source: Grouping, names: Sequence[str], wishes: Wishes) -> Look:
    """Go through the named columns. A text means the same in all of them.

    Where one is all numbers or dates but for "NA", this can only mean that they are missing, and then it does in the
    others, too.
    """
    source.require(names)
    profiles = {name: profile_of(source, name, wishes.markers, wishes.written.get(name)) for name in names}
    also = {
        text
        for name, profile in profiles.items()
        if _all_but_markers(name, profile, wishes)
        for text in profile.markers
    }
    if not also:
        return Look(source, wishes, profiles)
    wishes = replace(wishes, also_missing=tuple(sorted(also)))
    marked = [name for name, found in profiles.items() if found.markers & also]
    again = {name: profile_of(source, name, wishes.markers, wishes.written.get(name)) for name in marked}
    return Look(source, wishes, profiles | again)


def _all_but_markers(name: str, profile: Profile, wishes: Wishes) -> bool:
    """Whether a column is, or was asked to be, one of numbers or dates, and has texts that mean they are missing."""
    if name in wishes.bins:
        return profile.numbers > 0
    if name in wishes.dates:
        return profile.dates > 0
    return name not in wishes.top and name not in wishes.groups and profile.way in ("numbers", "dates")


def fit_columns(
    source: Grouping, names: Sequence[str], wishes: Wishes, *, secret: bool = False
) -> tuple[FittedColumn, ...]:
    """Decide for each named column how it becomes finitely many values. Those of a secret are never merged."""
    return fitted_in(look_at(source, names, wishes), names, secret=secret)


def fitted_in(look: Look, names: Sequence[str], *, secret: bool = False) -> tuple[FittedColumn, ...]:
    """The same for columns that were looked at together with others."""
    fitted = [_fit(look, name, merge=not secret) for name in names]
    made = map(as_secret, fitted) if secret else map(_pointed_out, fitted)
    return tuple(_said(one, look.profiles[one.column.name], look.source) for one in made)


def _said(fitted: FittedColumn, profile: Profile, source: Grouping) -> FittedColumn:
    """With what its entries may mean, and with what the table itself says of the column."""
    fitted = replace(fitted, notice=fitted.notice + meanings(fitted.column, profile))
    column, note = fitted.column, source.notes.get(fitted.column.name)
    about = source.about.get(column.name, "")
    if about:
        column = column.model_copy(update={"about": about})
    return replace(fitted, column=column, notice=f"{fitted.notice}; {note}" if note else fitted.notice)


def _pointed_out(fitted: FittedColumn) -> FittedColumn:
    return replace(fitted, notice=fitted.notice + IDENTIFIER_WORDS) if fitted.identifier else fitted


def fit_reading(source: Grouping, reading: Reading) -> Column:
    """The column of a table that is read as another table's was, with the values it has here."""
    source.require([reading.name])
    found: set[Any] = set()
    gone = False
    for values, missing, _ in _tally(source, reading):
        gone = gone or bool(missing.any())
        if reading.kind != "bins":
            found.update(values.unique().drop_null().to_pylist())
        if len(found) > MOST_LABELS:
            raise InvalidTable(
                f"column {reading.name!r} has over {MOST_LABELS:,} values; bin it, or leave it out", steward_only=True
            )
    if reading.groups:
        name_of = {text: group.label for group in reading.groups for text in group.values}
        found = {name_of.get(value, value) for value in found} | {group.label for group in reading.groups}
    labels: list[Label] = sorted(found) if reading.kind != "bins" else list(bin_labels(reading.edges))
    if gone or not labels:
        labels.append(None)
    return Column(**reading.model_dump(), labels=tuple(labels))


def _tally(
    source: Grouping, reading: Reading, most: int | None = None
) -> Iterator[tuple[pa.Array, NDArray[np.bool_], Integers]]:
    """The different entries of a column as `reading` takes them, which are missing, and how often each occurs."""
    for batch in source.groups([reading.name], most):
        values, missing = reading.recognise(batch.column(0))
        yield values, missing, batch.column(1).to_numpy(zero_copy_only=False)


def as_secret(fitted: FittedColumn) -> FittedColumn:
    """The column as that of a secret: it must not have too many values, and it is said if there is a single one."""
    if len(fitted.column) > MOST_SECRETS:
        name, values = fitted.column.name, len(fitted.column)
        raise InvalidTable(
            f"the secret {name!r} has {values:,} different values, more than {MOST_SECRETS:,}; merge them beforehand",
            steward_only=True,
        )
    notice = fitted.notice
    if fitted.column.kind == "bins":
        notice += "; its borders will be in the protocol"
    if len(fitted.column) == 1:
        notice += "; read like this it has a single value, so nothing is protected"
    return replace(fitted, notice=notice)


def _fit(look: Look, name: str, merge: bool) -> FittedColumn:
    source, wishes, profile = look.source, look.wishes, look.profiles[name]
    if name in wishes.bins:
        return _fit_numbers(source, name, profile, wishes, wishes.bins[name])
    if name in wishes.dates:
        return _fit_dates(source, name, profile, wishes, wishes.dates[name])
    if name in wishes.top:
        return _fit_top(source, name, profile, wishes, wishes.top[name])
    if name in wishes.groups:
        return _fit_texts(source, name, profile, wishes)
    asked = wishes.written.get(name)
    if asked:
        _all_read(name, profile, profile.dates if asked in DATES else profile.numbers, AS_WRITTEN[asked])
        return (_fit_dates if asked in DATES else _fit_numbers)(source, name, profile, wishes, None)
    if profile.way == "boolean":
        return FittedColumn(_labelled(source, name, "boolean", wishes.markers), "true or false")
    if profile.way == "numbers":
        return _fit_numbers(source, name, profile, wishes, None)
    if profile.way == "dates":
        return _fit_dates(source, name, profile, wishes, None)
    if merge and profile.distinct > MOST_CATEGORIES:
        return _fit_top(source, name, profile, wishes, None)
    return _fit_texts(source, name, profile, wishes)


def _fit_texts(source: Grouping, name: str, profile: Profile, wishes: Wishes) -> FittedColumn:
    kept = f"{profile.distinct} values kept as they are" if profile.distinct != 1 else "its one value kept as it is"
    return FittedColumn(_labelled(source, name, "text", wishes.markers), kept + look_alikes(name, profile))


def _labelled(source: Grouping, name: str, kind: Kind, missing: tuple[str, ...], written: raw.Written = "") -> Column:
    """A column whose labels are its different values, sorted, with missing last."""
    return fit_reading(source, Reading(name=name, kind=kind, missing=missing, written=written))


def _all_read(name: str, profile: Profile, recognised: int, what: str) -> None:
    """Refuse a column that was asked to be read as numbers or dates, and holds other texts that may mean anything."""
    others = profile.present - recognised
    if others > 0:
        raise InvalidTable(
            f"{others:,} values of column {name!r} are no {what}; if they mean that it is missing, name them: "
            "--set missing=…",
            steward_only=True,
        )


def _fit_numbers(source: Grouping, name: str, profile: Profile, wishes: Wishes, bins: Bins | None) -> FittedColumn:
    if profile.infinite:
        raise InvalidTable(
            f"column {name!r} holds {profile.infinite} infinite numbers; replace them, or pass --set missing=inf",
            steward_only=True,
        )
    missing = wishes.markers
    if profile.numbers:
        _all_read(name, profile, profile.numbers, "numbers")
    each = isinstance(bins, str) and bins == "each"
    if each or (bins is None and len(profile.few) <= FEW_NUMBERS):
        kind: Kind = "integer" if profile.integers == profile.numbers else "number"
        return FittedColumn(_labelled(source, name, kind, missing, profile.written), "each number kept")
    if profile.numbers == 0 and profile.dates:
        raise InvalidTable(
            f"column {name!r} holds dates, which are kept by year, month or day (dates); for wider ranges, "
            "make a column of the years"
        )
    if profile.numbers == 0:
        raise InvalidTable(
            f"column {name!r} holds no numbers, so it cannot be cut into bins{look_alikes(name, profile)}"
        )
    numbers, counts = numbers_in(source, name, missing, profile.written)
    edges, how = edges_for(name, numbers, counts, bins if bins is not None else DEFAULT_BINS)
    outside = int(counts[(numbers < edges[0]) | (numbers > edges[-1])].sum())
    if outside:
        raise InvalidTable(
            f"{outside:,} values of column {name!r} lie outside its bins {short(edges[0])}…{short(edges[-1])}; "
            "widen them",
            steward_only=True,
        )
    column = fit_reading(
        source, Reading(name=name, kind="bins", edges=tuple(edges), missing=missing, written=profile.written)
    )
    given = not isinstance(bins, int | np.integer | str | None)
    identifier = bins is None and names_people(name, profile)
    return FittedColumn(column, how, chosen=not given, identifier=identifier)


def numbers_in(
    source: Grouping, name: str, missing: tuple[str, ...], written: raw.Written = ""
) -> tuple[NDArray[np.float64], Integers]:
    """The different numbers of a column, increasing, and how often each occurs."""
    found, people = [], []
    for values, _, counts in _tally(source, Reading(name=name, kind="number", missing=missing, written=written)):
        valid = values.is_valid().to_numpy(zero_copy_only=False)
        found.append(values.drop_null().to_numpy(zero_copy_only=False))
        people.append(counts[valid])
    numbers, place = np.unique(np.concatenate(found), return_inverse=True)
    total = np.zeros(len(numbers), dtype=np.int64)
    np.add.at(total, place, np.concatenate(people))
    return numbers, total


def _fit_dates(source: Grouping, name: str, profile: Profile, wishes: Wishes, by: Precision | None) -> FittedColumn:
    if by not in (None, *raw.LETTERS):
        raise InvalidTable(f"dates of column {name!r} are kept by year, month or day; got {by!r}")
    if profile.dates == 0:
        raise InvalidTable(f"column {name!r} holds no dates like 2024-05-31")
    missing = wishes.markers
    _all_read(name, profile, profile.dates, "dates")
    if by is None:
        found = _labelled(source, name, "year", missing, profile.written).labels
        years = [int(year) for year in found if isinstance(year, str)]
        by = "year" if max(years) - min(years) > LONG_SPAN_YEARS else "month"
    return FittedColumn(_labelled(source, name, by, missing, profile.written), f"dates kept by {by}")


def _fit_top(source: Grouping, name: str, profile: Profile, wishes: Wishes, top: int | None) -> FittedColumn:
    """The most frequent values, and OTHER."""
    try:
        most = min(int(top), MOST_LABELS) if top is not None else MOST_CATEGORIES - 1
    except (TypeError, ValueError):
        raise InvalidTable(f"column {name!r} keeps a number of values; got {top!r}") from None
    if most < 1:
        raise InvalidTable(f"column {name!r} must keep at least one value; got {most}")
    reading = Reading(name=name, kind="text", missing=wishes.markers)
    frequent: list[str] = []
    for values, missing, _ in _tally(source, reading, most + len(reading.missing) + 3):
        frequent += [value for value in values.filter(pa.array(~missing)).to_pylist() if value != OTHER]
    labels: list[Label] = [*sorted(dict.fromkeys(frequent[:most])), OTHER]
    if profile.present < profile.rows:
        labels.append(None)
    column = Column(**reading.model_dump(), labels=tuple(labels), other=True)
    notice = f"the {min(most, len(frequent))} most frequent of {profile.distinct:,} values kept, the rest is {OTHER!r}"
    alike = look_alikes(name, profile)
    identifier = not alike and top is None and names_people(name, profile)
    notice += alike
    return FittedColumn(column, notice, chosen=profile.distinct > most, identifier=identifier)
