"""What a published folder says of the rows in it: whether the protocol beside them was fitted on them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

PACKAGE = "datapackage.json"
"""The file that describes the others."""
OURS = "privacyfunnel"
"""Under this name it says what only this package asks for."""
CHUNK = 2**20
"""Bytes that are read at a time."""
MOST_BYTES = 2**26
"""Of a description; ours have some kilobytes, and at most the values of all columns."""

Said = Literal["fitted", "other"]


def rows_said(table: Any, protocol_text: Callable[[], str]) -> Said | None:
    """What the folder of a table says of its rows; None unless table and protocol are those that it describes."""
    if not isinstance(table, str | Path):
        return None
    path = Path(table)
    described = {one.get("path"): one for one in _resources(path.parent / PACKAGE)}
    own, protocol = described.get(path.name, {}), described.get("protocol.json", {})
    ours = own.get(OURS)
    said = ours.get("rows") if isinstance(ours, dict) else None
    if said not in ("fitted", "other"):
        return None
    if protocol.get("hash") != f"sha256:{hashlib.sha256(protocol_text().encode()).hexdigest()}":
        return None
    return said if own.get("hash") == f"sha256:{sha256_of(path)}" else None


def sha256_of(path: Path) -> str:
    """The digest of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _resources(path: Path) -> list[dict[str, Any]]:
    """The files that a description describes; none if it is not there or not one."""
    try:
        if path.stat().st_size > MOST_BYTES:
            return []
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    found = content.get("resources") if isinstance(content, dict) else None
    return (
        [one for one in found if isinstance(one, dict) and isinstance(one.get("path"), str)]
        if isinstance(found, list)
        else []
    )
