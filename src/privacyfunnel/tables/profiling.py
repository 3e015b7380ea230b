"""Profiling: what the entries of a column look like, before anything is decided for it."""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from privacyfunnel.distribution import raw
from privacyfunnel.distribution.column import OTHER, Column
from privacyfunnel.errors import InvalidTable
from privacyfunnel.tables.grouping import Grouping
from privacyfunnel.typing import Integers

FEW_NUMBERS = 12
"""A column of numbers with at most this many different ones keeps them as they are."""
MARKERS = ("?", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "none", "-", ".", "unknown", "Unknown")
"""Texts that mean "missing" when all else in a column is numbers or dates."""
NO_ANSWERS = (
    "unknown", "unknown/invalid", "unk", "missing", "not available", "not known", "not applicable", "not recorded",
    "not stated", "not mapped", "no answer", "refused",
)  # fmt: skip
"""Texts, however capitalised, that likely mean "missing", too; but they may as well be values, so it is asked."""
CODES = (-8.0, -9.0, -98.0, -99.0, -998.0, -999.0, -9998.0, -9999.0)
"""Numbers that likely mean "missing" where a column has no others below 0."""
LAST_CODES = (99.0, 999.0, 9999.0, 99999.0)
"""The same for the largest numbers of a column: twice as large as all others or more, or far more frequent."""
LAST_NUMBERS = 12
"""The largest different numbers of a column that are looked at: all codes among them, and some numbers before."""
FAR_MORE = 3.0
"""Standard errors by which a code is more frequent than each number before it: at an end, numbers get rarer."""
SEVERAL = 2
"""Different values from which on there are others than one."""
MOSTLY = 0.5
"""A column is taken for numbers with markers only if at least this share of its values are numbers."""
MANY = 100
"""Different entries: with fewer, people share them, or a table is so small that they differ by chance."""
NEARLY_ALL = 0.9
"""Of the rows: if more of them differ in a column of texts or whole numbers, it likely names people."""
FORMS: tuple[raw.Written, ...] = ("point", "comma", "dmy", "mdy", "ymd", "hours")
DATES: tuple[raw.Written, ...] = ("dmy", "mdy", "ymd")
"""Ways to write numbers, dates and times; those of dates."""
AS_WRITTEN: dict[raw.Written, str] = {
    "point": "numbers like 1,234.5",
    "comma": "numbers like 1.234,5",
    "dmy": "dates like 31.12.2024",
    "mdy": "dates like 12/31/2024",
    "ymd": "dates like 2024/12/31",
    "hours": "hours: 8:30 is 8.5",
}
NAME_OF_IDENTIFIERS = re.compile(
    r"(?:^|[^a-z])(?:id|nr|nbr|no|num|key|ssn|uuid|guid)$|(?-i:[a-z]ID)$|number$|nummer$|serial$"
    r"|(?:serial|person|patient|case|record|house(?:hold)?|hh|respondent|subject|member|client|customer|user|student"
    r"|pupil|employee|family)(?:id|nr|nbr|no|num|key)$",
    re.IGNORECASE,
)
"""Columns of such names likely name people, too, where some people have several rows."""


@dataclass
class Profile:
    """What one pass over the different entries of a column finds; all but `distinct` counts rows."""

    type: pa.DataType | None = None
    rows: int = 0
    present: int = 0
    distinct: int = 0
    numbers: int = 0
    integers: int = 0
    dates: int = 0
    infinite: int = 0
    written: raw.Written = ""
    """How its texts are written, if not as we write numbers and dates."""
    fits: Counter[raw.Written] = field(default_factory=Counter)
    """Rows that can be read as written so."""
    differ: int = 0
    """Rows that mean different numbers, read as with a decimal point and as with a decimal comma."""
    short_years: int = 0
    signed: int = 0
    """Rows with a number, a percent sign or currency allowed."""
    padded: bool = False
    """Whether a text looks like a number with leading zeros."""
    few: set[float] = field(default_factory=set)
    """The different numbers, until they are too many to be kept."""
    markers: set[str] = field(default_factory=set)
    """Texts that can only mean "missing" when all else is numbers or dates."""
    marked: int = 0
    no_answers: set[str] = field(default_factory=set)
    """Texts that likely mean the same, and may as well be values."""
    below: set[float] = field(default_factory=set)
    """Different numbers below 0, until one is no code."""
    largest: Counter[float] = field(default_factory=Counter)
    """Rows of the largest different numbers; no more than a few of these."""
    spelled: dict[float, set[str]] = field(default_factory=dict)
    """How numbers that may mean "missing" are spelled in a column of texts: 99 or 99.0."""
    gone: set[str] = field(default_factory=set)
    """Texts that occur and were said to mean "missing"."""

    @property
    def codes(self) -> tuple[float, ...]:
        """Numbers that are often used for "missing": the only ones below 0, or at the end of all others."""
        if self.distinct <= SEVERAL:
            return ()
        first = self.below if self.below <= {*CODES} else set()
        return tuple(sorted({*first, *self._last_codes()}))

    def _last_codes(self) -> Iterator[float]:
        """Codes among the largest numbers that are far above, or far more frequent than, those before them."""
        rows = self.largest
        before = [number for number in rows if number not in LAST_CODES]
        most, last = max((rows[number] for number in before), default=0), max(before, default=0.0)
        for code in rows.keys() & {*LAST_CODES}:
            frequent = rows[code] - most > FAR_MORE * math.sqrt(rows[code] + most)
            if last < code / 2 or (last < code and frequent):
                yield code

    def decided(self) -> raw.Written:
        """How its texts are written, if all of them tell, and no other way fits."""
        meant = self.present - self.marked
        fits = [form for form, rows in self.fits.items() if rows == meant] if meant and meant > self.numbers else []
        if self.dates == meant or meant < MOSTLY * self.present:
            return ""
        if "point" in fits and "comma" in fits and not self.differ:
            return "point"
        return fits[0] if len(fits) == 1 else ""

    @property
    def way(self) -> Literal["boolean", "numbers", "dates", "text"]:
        """What the column holds, but for texts that can only mean "missing"."""
        if pa.types.is_boolean(self.type):
            return "boolean"
        meant = self.present - self.marked
        mostly = self.present > 0 and meant >= MOSTLY * self.present
        if (mostly and self.numbers == meant and not self.padded) or self.infinite:
            return "numbers"
        return "dates" if mostly and self.dates == meant else "text"


def profile_of(source: Grouping, name: str, missing: tuple[str, ...], written: raw.Written | None = None) -> Profile:
    """What a column holds, as it was said or as it tells itself to be written."""
    if written is not None:
        return _profile(source, name, missing, written)
    found = _profile(source, name, missing, "")
    decided = found.decided()
    return _profile(source, name, missing, decided) if decided else found


def _profile(source: Grouping, name: str, missing: tuple[str, ...], written: raw.Written) -> Profile:
    """Go through the different entries of a column once; those of `missing` are not counted as present."""
    found = Profile(written=written)
    for batch in source.groups([name]):
        counts = batch.column(1).to_numpy(zero_copy_only=False)
        array = raw.present(batch.column(0), missing)
        read = raw.rewritten(array, written)
        numbers = raw.as_kind(read, "number")
        found.type = batch.column(0).type
        if missing and raw.is_text(found.type):
            found.gone.update(
                pc.unique(batch.column(0).filter(pc.is_in(batch.column(0), pa.array(missing)))).to_pylist()
            )
        found.rows += int(counts.sum())
        found.present += _rows(counts, array.is_valid())
        found.distinct += len(array) - array.null_count
        found.numbers += _rows(counts, numbers.is_valid())
        if not pa.types.is_floating(array.type):
            found.integers += _rows(counts, raw.as_kind(read, "integer").is_valid())
        found.dates += _rows(counts, raw.as_kind(read, "day").is_valid())
        if len(found.few) <= FEW_NUMBERS:
            found.few.update(numbers.unique().drop_null().to_pylist())
        if found.below <= {*CODES}:
            found.below.update(numbers.filter(pc.less(numbers, 0.0)).unique().to_pylist()[: len(CODES) + 1])
        _note_largest(found.largest, numbers, counts)
        if raw.is_text(array.type):
            found.no_answers.update(array.filter(pc.is_in(pc.utf8_lower(array), pa.array(NO_ANSWERS))).to_pylist())
            marker = pc.is_in(array, pa.array(MARKERS))
            found.markers.update(array.filter(marker).to_pylist())
            found.marked += _rows(counts, marker)
            found.short_years += _rows(counts, pc.match_substring_regex(array, raw.SHORT_YEAR))
            found.signed += _rows(counts, pc.match_substring_regex(array, raw.SIGNED))
            _note_forms(found, array, counts)
            for number in (*CODES, *LAST_CODES):
                texts = array.filter(pc.equal(numbers, number)).to_pylist()
                if texts:
                    found.spelled.setdefault(number, set()).update(texts)
            found.padded = found.padded or bool(pc.any(pc.match_substring_regex(_texts(read), raw.PADDED)).as_py())
        elif pa.types.is_time(array.type):
            found.fits["hours"] += _rows(counts, array.is_valid())
        elif pa.types.is_floating(array.type):
            found.infinite += _rows(counts, pc.is_inf(array))
    if found.rows == 0:
        raise InvalidTable(f"{source.name} has a header but no rows")
    return found


def _texts(read: pa.Array) -> pa.Array:
    return read if raw.is_text(read.type) else pa.nulls(len(read), pa.string())


def _note_forms(found: Profile, array: pa.Array, counts: Integers) -> None:
    """How many rows can be read in each way of writing."""
    for form in FORMS:
        read = raw.as_kind(raw.rewritten(array, form), "day" if form in DATES else "number")
        found.fits[form] += _rows(counts, read.is_valid())
    one, other = (raw.as_kind(raw.rewritten(array, form), "number") for form in ("point", "comma"))
    found.differ += _rows(counts, pc.not_equal(one, other))


def _rows(counts: Integers, mask: pa.Array) -> int:
    return int(counts[mask.fill_null(False).to_numpy(zero_copy_only=False)].sum())


def _note_largest(largest: Counter[float], numbers: pa.Array, counts: Integers) -> None:
    """Add the rows of the largest different numbers, and forget those that no longer are among them."""
    found = pa.table({"number": numbers, "rows": counts}).drop_null().group_by("number").aggregate([("rows", "sum")])
    for row in found.sort_by([("number", "descending")]).slice(0, LAST_NUMBERS).to_pylist():
        largest[row["number"]] += row["rows_sum"]
    for number in sorted(largest)[:-LAST_NUMBERS]:
        del largest[number]


def names_people(name: str, profile: Profile) -> bool:
    """Whether a column looks like an identifier: texts or whole numbers of which nearly every row has its own.

    More than half of them do, where the column also has the name of one.
    """
    if profile.distinct <= MANY or (profile.numbers > profile.integers) or profile.dates == profile.present:
        return False
    share = profile.distinct / profile.present
    return share > NEARLY_ALL or (share > MOSTLY and NAME_OF_IDENTIFIERS.search(name) is not None)


def meanings(column: Column, profile: Profile) -> str:
    """What its texts may mean: that an entry is missing, or one value that is spelled twice."""
    notice = written_words(column, profile)
    if profile.gone:
        notice += f"; {_quoted(profile.gone)} read as missing"
    doubtful = profile.markers | profile.no_answers
    if column.kind == "text" and doubtful:
        notice += f"; {_quoted(doubtful)} kept as a value: --set missing={_typed(doubtful)} if it means missing"
    if column.kind in ("integer", "number", "bins") and profile.codes:
        notice += f"; {codes_words(profile)}"
    if None in column.labels:
        notice += "; missing is a value of its own"
    texts = [label for label in column.labels if isinstance(label, str) and not (column.other and label == OTHER)]
    if column.kind == "text" and len({" ".join(text.split()).casefold() for text in texts}) < len(texts):
        notice += "; some differ only in capitals or spaces: write them alike if they mean the same"
    return notice


def codes_words(profile: Profile) -> str:
    """Numbers that may mean "missing", and the option that says so, as the table spells them."""
    codes = [f"{code:.0f}" for code in profile.codes]
    texts = [text for code in profile.codes for text in sorted(profile.spelled.get(code, {f"{code:.0f}"}))]
    option = "--set missing=" + shlex.quote(",".join(f'"{text}"' if "," in text else text for text in texts))
    if len(codes) == 1:
        return f"{codes[0]} counts as a number: {option} if it means missing"
    return f"{', '.join(codes)} count as numbers: {option} if they mean missing"


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(map(repr, sorted(texts)))


def _typed(texts: Iterable[str]) -> str:
    """Texts as they are typed in a shell."""
    return shlex.quote(",".join(sorted(texts)))


def written_words(column: Column, profile: Profile) -> str:
    """How a column of numbers, dates or times is written, or may be."""
    if column.written:
        return f"; read as {AS_WRITTEN[column.written]}"
    comma = profile.fits["comma"] == profile.present - profile.marked
    if comma and profile.differ and profile.distinct > SEVERAL and column.kind in ("number", "bins"):
        asked = f"--set written={shlex.quote(column.name)}=comma"
        return f"; 1.234 is read as little more than 1: {asked} if the point separates thousands"
    return ""


def look_alikes(name: str, profile: Profile) -> str:
    """What a text column may have been meant to be, in words."""
    return _look_alike(profile).replace("COLUMN", shlex.quote(name))


def _look_alike(profile: Profile) -> str:
    """What a text column may have been meant to be, in words."""
    mostly = MOSTLY * profile.present
    fits = {form for form, rows in profile.fits.items() if rows > mostly}
    if {"dmy", "mdy"} <= fits:
        return "; these are dates, and the day or the month may come first: say --set written=COLUMN=dmy or mdy"
    if fits & set(DATES):
        return (
            "; most of these are dates, written in different ways: write all like 2024-05-31, or say which mean missing"
        )
    if profile.short_years > mostly:
        return "; these look like dates with a year of two digits: write them as 2024-05-31"
    if {"point", "comma"} <= fits and profile.differ:
        return (
            "; these are numbers whose comma or point may separate thousands: say --set written=COLUMN=comma or point"
        )
    if profile.signed > mostly and profile.numbers < mostly and not fits:
        return (
            "; these look like numbers with a percent sign or a currency: leave that out, and they are cut into ranges"
        )
    if fits and profile.numbers < mostly:
        return "; most of these are numbers: say which texts mean missing (missing), and the others are cut into ranges"
    if mostly < profile.numbers < profile.present and not profile.padded:
        return "; most of them are numbers: say which texts mean missing (missing), and the others are cut into bins"
    if mostly < profile.dates < profile.present:
        return "; most of them are dates: say which texts mean missing (missing), and the others are kept by year"
    return ""
