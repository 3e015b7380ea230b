"""SparkFolder: a folder of Parquet files that the cluster writes, and that appears whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from privacyfunnel.errors import InvalidTable, OutputRefused
from privacyfunnel.tables.spark.source import clear_errors
from privacyfunnel.tables.spark.troubles import troubles
from privacyfunnel.tables.writing import NAME_BYTES


@dataclass(frozen=True, eq=False)
class SparkFolder:
    """A folder in any file system that Spark can write to: a disk that all workers share, HDFS, an object store."""

    session: Any
    path: Any
    """Hadoop's Path, with its file system."""
    system: Any
    inputs: tuple[str, ...]

    @classmethod
    def at(cls, frame: Any, place: str | os.PathLike[str], name: str) -> SparkFolder:
        """The folder called `place`, for rows that come from `frame`, the table called `name`."""
        session = frame.sparkSession
        with clear_errors(name):  # small tables are computed when Spark is asked for their files
            inputs = tuple(frame.inputFiles())
        jvm = session.sparkContext._jvm
        try:
            path = jvm.org.apache.hadoop.fs.Path(os.fspath(place))
            system = path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
            return cls(session, system.makeQualified(path), system, inputs)
        except troubles():
            raise OutputRefused(f"{place} is no folder that Spark can write to") from None

    def check(self, force: bool) -> None:
        """Refuse a folder that holds the input, or exists without --force."""
        own = self.path.toUri().getPath().rstrip("/") + "/"
        path = self.session.sparkContext._jvm.org.apache.hadoop.fs.Path
        if any((path(name).toUri().getPath() + "/").startswith(own) for name in self.inputs):
            raise OutputRefused(f"{self} holds the input itself; choose another output")
        if self._exists(self.path) and not force:
            raise OutputRefused(f"{self} exists; pass --force to replace it")

    def write(self, released: Any, partition_by: tuple[str, ...], force: bool, before: Callable[[], None]) -> int:
        """Write rows, and give their number; a table without rows leaves nothing. `before` is done before the last."""
        with self.appearing(force) as part:
            released.write.partitionBy(*partition_by).parquet(part)
            rows = self.rows(part)
            if not rows:
                raise InvalidTable("the table has no rows")
            before()
            return rows

    @contextmanager
    def appearing(self, force: bool) -> Iterator[str]:
        """Where to write: a hidden folder beside this one, which takes its name when all is written."""
        part = self._beside("part")
        try:
            yield part.toString()
            self._take_name(part, force)
        finally:
            self._remove(part)

    def rows(self, place: str) -> int:
        """The number of rows that were written, by the footers of the files."""
        return int(self.session.read.parquet(place).count())

    def _take_name(self, part: Any, force: bool) -> None:
        old = self._beside("old")
        try:
            if force and self._exists(self.path):
                self._rename(self.path, old)
            if self._exists(self.path):
                raise OutputRefused(f"{self} exists; pass --force to replace it")
            self._rename(part, self.path)
        finally:
            if self._exists(self.path):
                self._remove(old)
            elif self._exists(old):
                self._rename(old, self.path)

    def _beside(self, ending: str) -> Any:
        path = self.session.sparkContext._jvm.org.apache.hadoop.fs.Path
        return path(self.path.getParent(), f".{self.path.getName()}.{secrets.token_hex(NAME_BYTES)}.{ending}")

    def _rename(self, before: Any, after: Any) -> None:
        if not self.system.rename(before, after):
            raise OutputRefused(f"{self} was not written: the file system would not rename a folder to it")

    def _exists(self, path: Any) -> bool:
        return bool(self.system.exists(path))

    def _remove(self, path: Any) -> None:
        with suppress(*troubles()):
            self.system.delete(path, True)

    def __str__(self) -> str:
        return str(self.path.toString())
