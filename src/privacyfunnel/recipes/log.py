"""The log of a run: what was done, when, with which versions, and the digests of what went in and came out."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

from privacyfunnel.tables.published_folder import sha256_of

NAME = re.compile(r"[A-Za-z0-9._-]+")
"""Of a library, at the beginning of what is said of it."""


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
    needed = [text for text in requires("privacyfunnel") or () if "extra ==" not in text]
    names = [match[0] for match in map(NAME.match, needed) if match]
    return found | {name: version(name) for name in ("privacyfunnel", *names)}


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
