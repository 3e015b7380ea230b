"""ConnectFolder: a folder of Parquet files that a server writes, where nobody can rename from here.

Spark Connect has no door to file systems. So everything is computed and kept before the first byte is written, and the
server's own commit makes the files appear, `_SUCCESS` last: a folder without that is not complete.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from privacyfunnel.errors import InvalidTable, OutputRefused
from privacyfunnel.tables.spark.source import clear_errors
from privacyfunnel.tables.spark.troubles import troubles


@dataclass(frozen=True, eq=False)
class ConnectFolder:
    """A folder as the server calls it: an absolute path, or an address such as hdfs://…"""

    session: Any
    place: str
    inputs: tuple[str, ...]

    @classmethod
    def at(cls, frame: Any, place: str | os.PathLike[str], name: str) -> ConnectFolder:
        """The folder called `place`, for rows that come from `frame`, the table called `name`."""
        own = os.fspath(place)
        if not (own.startswith("/") or re.match(r"[a-z][a-z0-9+.-]+:", own)):
            raise OutputRefused(f"{own} is relative, and the server is elsewhere; give an absolute path or an address")
        with clear_errors(name):
            return cls(frame.sparkSession, own, tuple(frame.inputFiles()))

    def check(self, force: bool) -> None:
        """Refuse a folder that holds the input; whether it exists, the server finds out when it writes."""
        own = _path(self.place).rstrip("/") + "/"
        if any((_path(name) + "/").startswith(own) for name in self.inputs):
            raise OutputRefused(f"{self.place} holds the input itself; choose another output")

    def write(self, released: Any, partition_by: tuple[str, ...], force: bool, before: Callable[[], None]) -> int:
        """Write rows, all of which have been computed; their number. `before` is done when that is known."""
        with self._kept(released) as rows:
            if not rows:
                raise InvalidTable("the table has no rows")
            before()
            writer = released.write.partitionBy(*partition_by).mode("overwrite" if force else "error")
            try:
                writer.parquet(self.place)
            except troubles() as trouble:
                if "PATH_ALREADY_EXISTS" in str(trouble) or "already exists" in str(trouble):
                    raise OutputRefused(f"{self.place} exists; pass --force to replace it") from None
                raise
            return rows

    @contextmanager
    def _kept(self, released: Any) -> Iterator[int]:
        kept = released.persist()
        try:
            yield int(kept.count())
        finally:
            kept.unpersist()


def _path(place: str) -> str:
    return unquote(urlsplit(place).path)
