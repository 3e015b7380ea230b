"""CSV files: their first line, and how DuckDB is told to read the rest. Nothing is guessed but the delimiter."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from pathlib import Path

from privacyfunnel.errors import InvalidTable

DELIMITERS = ",;\t|"
ENCODINGS = {"utf-8": "utf-8", "utf8": "utf-8", "latin-1": "latin-1", "latin1": "latin-1", "iso-8859-1": "latin-1"}
LONGEST_HEADER = 1 << 20
"""Letters; a first row that has not ended by then is a file of another kind."""
UNPACKED = 1 << 20
"""Bytes unpacked at a time while a checksum is looked at: none of them is kept."""
LINE_END = re.compile(r"\r\n|\r|\n")


def csv_layout(path: Path, delimiter: str | None, encoding: str) -> tuple[list[str], dict[str, str]]:
    """The column names, and the options with which DuckDB reads the file as text, in columns c0, c1, …"""
    encoding = known_encoding(encoding)
    start = _start(path, encoding)
    names, delimiter = header(start, str(path), delimiter)
    _check_line_ends(start, str(path), delimiter)
    types = ", ".join(f"c{i}: 'VARCHAR'" for i in range(len(names)))
    return names, {
        "columns": f"{{{types}}}",
        "delim": "''''" if delimiter == "'" else f"'{delimiter}'",
        "quote": "'\"'",
        "escape": "'\"'",
        "encoding": f"'{encoding}'",
        "header": "true",
        "auto_detect": "false",
        "store_rejects": "true",
        "strict_mode": "true",
    }


def known_encoding(encoding: str) -> str:
    """One of our two encodings, by its usual name."""
    if encoding.lower() not in ENCODINGS:
        raise InvalidTable(f"encoding {encoding!r} is not one of utf-8 and latin-1")
    return ENCODINGS[encoding.lower()]


def checked_delimiter(delimiter: str | None) -> str | None:
    """A sign that can separate fields; None where it is to be found out."""
    if delimiter == "\\t":
        return "\t"
    if delimiter is not None and (len(delimiter.encode()) != 1 or delimiter in '"\r\n\0'):
        raise InvalidTable(r"a delimiter is a single ASCII character, such as ; or \t, and not a quote")
    return delimiter


def header(start: str, path: str, delimiter: str | None) -> tuple[list[str], str]:
    """The column names and the delimiter: the one that splits the first line into the most fields."""
    delimiter = checked_delimiter(delimiter)
    if not start.strip():
        raise InvalidTable(f"{path} is empty")
    candidates = [delimiter] if delimiter is not None else list(DELIMITERS)
    headers = {candidate: _first_row(start, candidate) for candidate in candidates}
    best = max(candidates, key=lambda candidate: len(headers[candidate]))
    if start.lstrip(" \t").startswith(("\n", "\r")):
        raise InvalidTable(f"the first line of {path} is blank; it should hold the column names")
    if not headers[best]:
        raise InvalidTable(f"the first line of {path} holds no column names: it is too long or misquoted")
    return headers[best], best


def _start(path: Path, encoding: str) -> str:
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as raw:  # noqa: SIM117 - one line for both would be too long
            with io.TextIOWrapper(raw, encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline="") as text:
                return text.read(LONGEST_HEADER)
    except UnicodeDecodeError:
        hint = "try --encoding latin-1" if encoding == "utf-8" else "repair the file"
        raise InvalidTable(f"{path} is not {encoding} text; {hint}") from None
    except (EOFError, zlib.error, OSError) as broken:
        raise InvalidTable(f"{path} cannot be read: {getattr(broken, 'strerror', None) or 'input error'}") from None


def _first_row(start: str, delimiter: str) -> list[str]:
    """The fields of the first line; none if it cannot be split at this delimiter, or does not end."""
    lines = io.StringIO(start, newline="")
    try:
        row = next(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error:
        return []
    return row if lines.tell() < LONGEST_HEADER else []


def _check_line_ends(start: str, path: str, delimiter: str) -> None:
    """Refuse a first line that holds other line ends than its own: DuckDB then misses where rows end."""
    lines = io.StringIO(start, newline="")
    next(csv.reader(lines, delimiter=delimiter, strict=True))
    first = start[: lines.tell()]
    inside = first.rstrip("\r\n")
    if set(LINE_END.findall(inside)) - {first[len(inside) :]}:
        raise InvalidTable(f"a column name of {path} holds a line end of another kind than its lines; rename it")


def check_gzip(path: Path) -> None:
    """Refuse gzip that is cut off or altered: DuckDB does not look at the checksum."""
    try:
        with gzip.open(path) as packed:
            while packed.read(UNPACKED):
                pass
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InvalidTable(f"{path} is not valid gzip, or not all of it; repair the file") from None
    except OSError as broken:
        raise InvalidTable(f"{path} cannot be read: {broken.strerror or 'input error'}") from None
