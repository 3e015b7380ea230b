"""What all protocol files share: JSON in one form only, with a digest, and refused in a line if anything is off."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

import numpy as np
from pydantic import ConfigDict, ValidationError

from privacyfunnel.errors import InvalidInput, InvalidProtocol
from privacyfunnel.typing import Integers

SCHEMA = "privacyfunnel/1"
"""Of every protocol file."""
MOST_BYTES = 256 * 2**20
"""Far above what a protocol takes, far below what would exhaust the memory while it is parsed."""
SHOWN = 60
"""Letters of a foreign schema that a message quotes."""
DEEP = 4
"""Steps into a file after which a message has said well enough where a fault is."""
MOST_VALUES = 5_000_000
"""As many combinations of values as are counted at most."""
MOST_COLUMNS = 1_000
"""In a protocol."""
LONGEST_TEXT = 10_000
"""Letters of a sentence about the protocol: the longest of ours names every attribute."""
LONGEST_DIGEST = 100
"""Letters: "sha256:" and 64 digits, with room."""
STRICT = ConfigDict(frozen=True, extra="forbid", strict=True)

_Read = TypeVar("_Read")


def text_in(path: str | Path) -> str:
    """The text of a protocol's file."""
    path = Path(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InvalidProtocol(f"{path} is larger than {MOST_BYTES // 2**20} MiB, so it is no protocol")
        return path.read_bytes().decode("utf-8").replace("\r\n", "\n")
    except FileNotFoundError:
        raise InvalidProtocol(f"there is no file {path}") from None
    except OSError as trouble:
        raise InvalidProtocol(f"{path} cannot be read: {trouble.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidProtocol(f"{path} is not text, so it is no protocol") from None


def parsed(text: str, name: str) -> dict[str, Any]:
    """The content of a protocol's file, which nobody has checked yet."""
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise InvalidProtocol(f"{name} is not complete JSON; was it cut short?") from None
    schema = content.get("schema") if isinstance(content, dict) else None
    if not isinstance(schema, str) or not schema.startswith("privacyfunnel"):
        raise InvalidProtocol(f"{name} is JSON, but not a protocol of privacyfunnel")
    if schema != SCHEMA:
        raise InvalidProtocol(f"{name} has the schema {schema[:SHOWN]!r}; this version reads {SCHEMA!r}: fit again")
    return cast(dict[str, Any], content)


def check_unchanged(content: dict[str, Any], text: str, name: str) -> None:
    """Refuse a file that is not as it was written, by its digest."""
    rest = {key: value for key, value in content.items() if key != "digest"}
    digest = content.get("digest")
    try:
        unchanged = digest == digest_of_content(rest) and text == written({**rest, "digest": digest})
    except (ValueError, RecursionError):
        unchanged = False
    if not unchanged:
        raise InvalidProtocol(f"{name} was changed after it was saved (its digest does not fit); get the original")


def valid(read: Callable[[], _Read], name: str) -> _Read:
    """What is read from a file, or a line on why it cannot be."""
    try:
        return read()
    except ValidationError as invalid:
        where = ".".join(str(part) for part in invalid.errors()[0]["loc"][:DEEP])
        raise InvalidProtocol(
            f"{name} is not a valid protocol: {invalid.error_count()} faults, first in {where}"
        ) from None
    except InvalidInput as invalid:
        raise InvalidProtocol(f"{name} is not a valid protocol: {invalid}") from None


def _refuse_constant(_: str) -> NoReturn:
    raise ValueError("not a number")


def written(content: dict[str, Any]) -> str:
    """JSON with one top-level entry a line; the only form that is accepted back."""
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def digest_of_content(content: dict[str, Any]) -> str:
    """The digest of a file, from all that stands before it."""
    return "sha256:" + hashlib.sha256(written(content).encode("utf-8", "surrogatepass")).hexdigest()


def integers(rows: tuple[tuple[int, ...], ...]) -> Integers:
    """Rows of equal length as an array; numbers beyond int64 or uneven rows are refused."""
    try:
        array = np.array(rows, dtype=np.int64)
    except (ValueError, OverflowError):
        raise InvalidProtocol("a list of numbers is uneven or out of range") from None
    if array.ndim != 2:
        raise InvalidProtocol("a list of numbers is uneven")
    return array
