"""The log of a run: what was done, when, with which versions, and the digests of what went in and came out."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from privacyfunnel.publishing.described import sha256_of

LIBRARIES = (
    *("privacyfunnel", "numpy", "scipy", "highspy", "numba", "pyarrow", "duckdb", "cryptography", "opendp", "pydantic"),
)
"""What results depend on."""


class Log:
    """Lines of JSON, one for each thing that was done; each is on its way to the disk when the next is begun."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.lines: list[dict[str, Any]] = []

    def add(self, what: str, **told: Any) -> None:
        """Put down one more."""
        line = {"what": what, "at": datetime.now(UTC).isoformat(timespec="seconds"), **told}
        self.lines.append(line)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def versions() -> dict[str, str]:
    """Of Python and of what results depend on."""
    found = {"python": platform.python_version(), "system": platform.system()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a folder that was never installed
            found[name] = "unknown"
    return found


def digests(paths: Mapping[str, Path]) -> dict[str, str]:
    """The SHA-256 of files, and of every file in folders."""
    found: dict[str, str] = {}
    for name, path in paths.items():
        if path.is_dir():
            inner = {f"{name}/{one.relative_to(path).as_posix()}": one for one in sorted(path.rglob("*"))}
            found |= digests({key: one for key, one in inner.items() if one.is_file()})
        elif path.exists():
            found[name] = sha256_of(path)
    return found
