"""Raw values: what an entry of a table means, whatever type it comes in. The only place that decides it.

Fitting and encoding both read entries through these functions, so they cannot disagree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from privacyfunnel.errors import InvalidTable

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["text", "integer", "number", "boolean", "bins", "year", "month", "day"]
NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?\s*$"
"""Without thousands separators, infinities or hexadecimal digits, which readers disagree about."""
INTEGER = r"^\s*[+-]?\d{1,18}\s*$"
"""With more digits, it might not fit int64."""
DATE = r"^\s*\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([T ][^\n]*)?\s*$"
PADDED = r"^\s*[+-]?0\d"
"""A number with a leading zero, such as a postal code: it is a name, not a number."""
DATED = r"^\s*(?P<a>\d{1,2})[./-](?P<b>\d{1,2})[./-](?P<year>\d{4})(?P<time>[ T]\d{1,2}:[^\n]*)?\s*$"
"""A date as people write it: day and month, or month and day, and a year."""
DATED_FROM_YEAR = r"^\s*(?P<year>\d{4})[./](?P<a>\d{1,2})[./](?P<b>\d{1,2})(?P<time>[ T]\d{1,2}:[^\n]*)?\s*$"
SHORT_YEAR = r"^\s*\d{1,2}[./-]\d{1,2}[./-]\d{2}\s*$"
"""The same with a year of two digits, whose century nobody knows: it stays a text."""
HOURS = r"^\s*(?P<hours>\d{1,3}):(?P<minutes>[0-5]\d)(?::(?P<seconds>[0-5]\d(?:\.\d+)?))?\s*$"
"""A time of day, or how long something took."""
SIGNED = r"^\s*([$€£¥]|[A-Z]{3} )?\s*[+-]?\d[\d.,' \x{a0}\x{202f}]*\s*(%|[$€£¥]|[A-Z]{3}|kr)?\s*$"
"""A number with a percent sign or a currency, or without."""
SPACES = r"' \x{a0}\x{202f}’"
"""Signs between thousands that mean nothing else."""
Written = Literal["", "point", "comma", "dmy", "mdy", "ymd", "hours"]
"""How numbers, dates and times are written, if not as we write them."""
NUMBERS_WRITTEN: dict[Written, str] = {
    "point": rf"^\s*[+-]?(\d{{1,3}}([,{SPACES}]\d{{3}})+|\d+)(\.\d+)?\s*$",
    "comma": rf"^\s*[+-]?(\d{{1,3}}([.{SPACES}]\d{{3}})+|\d+)(,\d+)?\s*$",
}
USUAL_NUMBER = r"-?(0|[1-9]\d*)(\.\d*[1-9])?"
"""As numbers become texts."""
LETTERS = {"year": 4, "month": 7, "day": 10}
"""How much of an ISO date each precision keeps."""
LARGEST_INTEGER = 2**63 - 1
"""Of int64, as which integers are held; what is larger in a column of unsigned ones is no value."""


def unusable(kind: pa.DataType) -> str:
    """Why a column of this Arrow type cannot be read; empty if it can."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return unusable(kind.value_type)
    if pa.types.is_nested(kind):
        return "holds nested values; flatten it first"
    if "binary" in str(kind):
        return "holds bytes; turn them into text first"
    if pa.types.is_decimal256(kind):
        return "holds decimals of more than 38 digits; shorten them"
    if pa.types.is_decimal(kind) and kind.scale < 0:
        return "holds decimals of a negative scale; turn them into whole numbers"
    is_usable = (
        *(pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_null),
        *(pa.types.is_date, pa.types.is_timestamp, pa.types.is_time, is_text),
    )
    return (
        "" if any(test(kind) for test in is_usable) else f"is of type {kind}, which cannot be read; turn it into text"
    )


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is one of the types for text."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_numeric(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds numbers."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def present(array: pa.Array, missing: Sequence[str]) -> pa.Array:
    """The array, with null wherever a value is missing: empty, not a number, or one of the texts in `missing`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_float16(array.type):
        array = array.cast(pa.float32())
    if is_text(array.type):
        array = array.cast(pa.string())
        return pc.if_else(pc.is_in(array, pa.array(["", *missing], pa.string())), None, array)
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), None, array)
    if missing:
        array = pc.if_else(pc.is_in(as_text(array), pa.array(missing, pa.string())), None, array)
    if missing and is_numeric(array.type):
        gone = as_kind(pa.array(missing, pa.string()), "number").drop_null()
        array = pc.if_else(pc.is_in(_as_float(array), gone), None, array)
    return array


def rewritten(array: pa.Array, written: Written) -> pa.Array:
    """Texts as we write what they say; null where they are not written so. Hours are numbers.

    1.234,5 is 1234.5, 31.12.2024 is 2024-12-31, and 8:30 is 8.5.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not written or not (is_text(array.type) or pa.types.is_time(array.type)):
        return array
    text = as_text(array)
    if written in NUMBERS_WRITTEN:
        found = _where(text, NUMBERS_WRITTEN[written])
        found = pc.replace_substring_regex(found, f"[{'.' if written == 'comma' else ','}{SPACES}]", "")
        return pc.replace_substring(found, ",", ".")
    if written == "hours":
        parts = pc.extract_regex(text, HOURS)
        hours, minutes, seconds = (
            pc.struct_field(parts, name).cast(pa.string()) for name in ("hours", "minutes", "seconds")
        )
        late = pc.if_else(pc.equal(seconds, ""), "0", seconds).cast(pa.float64())
        small = pc.add(pc.multiply(minutes.cast(pa.float64()), 60.0), late)
        return pc.add(hours.cast(pa.float64()), pc.divide(small, 3600.0))
    parts = pc.extract_regex(text, DATED_FROM_YEAR if written == "ymd" else DATED)
    first, second, year, time = (pc.struct_field(parts, name).cast(pa.string()) for name in ("a", "b", "year", "time"))
    day, month = (first, second) if written == "dmy" else (second, first)
    return pc.binary_join_element_wise(
        pc.binary_join_element_wise(year, pc.utf8_lpad(month, 2, "0"), pc.utf8_lpad(day, 2, "0"), "-"), time, ""
    )


def is_spelled(text: str) -> bool:
    """Whether a text is a number, in another spelling than numbers have as texts.

    >>> [text for text in ("01", "1.50", "+1", "1", "-2.5", "0", "a1") if is_spelled(text)]
    ['01', '1.50', '+1']
    """
    return re.match(NUMBER, text) is not None and re.fullmatch(USUAL_NUMBER, text) is None


def as_text(array: pa.Array) -> pa.Array:
    """Every value as text, the same whatever the precision of its type; times are those of UTC."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(array.type):  # engines that group rows take −0.0 for 0.0
        array = pc.add(array, pa.scalar(0.0, array.type))
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp(array.type.unit))
    timed = pa.types.is_timestamp(array.type) or pa.types.is_time(array.type)
    array = array.cast(pa.string())
    if timed:
        array = pc.replace_substring_regex(array, r"(\.\d*?)0+$", r"\1")
        array = pc.replace_substring_regex(array, r"\.$", "")
        array = pc.replace_substring_regex(array, r" 00:00:00$", "")
    return array


def as_kind(array: pa.Array, kind: Kind) -> pa.Array:
    """Every value in the type of `kind`; null where it does not fit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind in ("number", "bins"):
        numbers = _as_float(array)
        return pc.add(pc.if_else(pc.is_finite(numbers), numbers, None), 0.0)  # −0.0 becomes 0.0
    if kind == "integer":
        return _as_integer(array)
    if kind == "boolean" and pa.types.is_boolean(array.type):
        return array
    text = as_text(array)
    if kind == "boolean":
        lowered = pc.utf8_lower(text)
        return pc.if_else(pc.is_in(lowered, pa.array(["true", "false"])), pc.equal(lowered, "true"), None)
    if kind in LETTERS:
        return pc.utf8_slice_codeunits(_where(text, DATE), 0, LETTERS[kind])
    return text


def _as_float(array: pa.Array) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_float32(array.type):  # by way of text: 0.1 is then 0.1, as in every other kind of table
        return array.cast(pa.string()).cast(pa.float64())
    if is_numeric(array.type):
        return array.cast(pa.float64(), safe=False)
    return _where(as_text(array), NUMBER).cast(pa.float64())


def _as_integer(array: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_uint64(array.type):
        array = pc.if_else(pc.less_equal(array, pa.scalar(LARGEST_INTEGER, pa.uint64())), array, None)
    if pa.types.is_integer(array.type):
        return array.cast(pa.int64())
    if not is_numeric(array.type):
        return _where(as_text(array), INTEGER).cast(pa.int64())
    numbers = _as_float(array)
    whole = pc.and_(pc.equal(numbers, pc.floor(numbers)), pc.less(pc.abs(numbers), 2.0**63))
    return pc.if_else(whole, numbers, None).cast(pa.int64(), safe=False)


def _where(text: pa.Array, pattern: str) -> pa.Array:
    """Text without white space around it or a plus before it; null where it does not look like `pattern`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        trimmed = pc.utf8_trim_whitespace(text)
    except pa.ArrowInvalid:
        raise InvalidTable("the table holds text that is not UTF-8; write it again in UTF-8") from None
    return pc.replace_substring_regex(pc.if_else(pc.match_substring_regex(text, pattern), trimmed, None), r"^\+", "")
