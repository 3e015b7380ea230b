"""Records of people: who, from which values, got which output. Sorted by who, in memory or on disk.

Nobody is named. A person is 128 bits of AES-CMAC(k; identifier), and a mark, 64 more bits with which the same person
from the same values is known again. To somebody without the key, records tell how many people there were, and outputs.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.errors import InvalidLedger, OutputRefused
from privacyfunnel.tables.writing import NAME_BYTES, sync_folder

Records = NDArray[np.void]
MAGIC = b"privacyfunnel-people/1"
HEADER_BYTES = 64
"""What comes before the records, filled up with spaces."""
HELD_ROWS = 1 << 17
"""Records that are held in memory, some megabytes; of larger tables, they are dealt into piles on disk first."""
PILES = 256
"""By the first byte of the person: pile after pile, all are in order."""
LARGEST_SHIFT = 56
"""Bits below the first byte."""


def kind_of(outputs: int, marks: int = 1, *, compared: bool = False) -> np.dtype[np.void]:
    """A record: the two halves of the person, marks, an output for each release; whether their values are as before.

    The last is for tables of what people were and are, and only while a table is gone through.
    """
    fields = [("hi", "<u8"), ("lo", "<u8"), ("mark", "<u8", (marks,)), ("y", "<i4", (outputs,))]
    return np.dtype([*fields, ("same", "<u4")] if compared else fields)


class Piles:
    """Records as they come, given back sorted by person, pile by pile."""

    def __init__(self, kind: np.dtype[np.void], held_rows: int = HELD_ROWS) -> None:
        self._kind, self._most = kind, held_rows
        self._held: list[Records] = []
        self._rows = 0
        self._stack = ExitStack()
        self._piles: list[IO[bytes]] = []

    def __enter__(self) -> Piles:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, records: Records) -> None:
        """Some more rows."""
        self._held.append(records)
        self._rows += len(records)
        if self._rows >= self._most:
            self._deal()

    def __iter__(self) -> Iterator[Records]:
        if not self._piles:
            if self._held:
                yield in_order(np.concatenate(self._held))
            return
        self._deal()
        for pile in self._piles:
            pile.seek(0)
            records = np.frombuffer(pile.read(), dtype=self._kind)
            if len(records):
                yield in_order(records)

    def _deal(self) -> None:
        if not self._piles:
            files = (TemporaryFile() for _ in range(PILES))  # noqa: SIM115 - the stack closes them
            self._piles = [self._stack.enter_context(file) for file in files]
        records = np.concatenate(self._held) if self._held else np.empty(0, dtype=self._kind)
        first = (records["hi"] >> np.uint64(LARGEST_SHIFT)).astype(np.uint8)
        order, ends = np.argsort(first, kind="stable"), np.cumsum(np.bincount(first, minlength=PILES))
        for pile, part in zip(self._piles, np.split(records[order], ends[:-1]), strict=True):
            pile.write(part.tobytes())
        self._held, self._rows = [], 0


def in_order(records: Records) -> Records:
    """Sorted by person: by the first half, which hardly ever is the same for two."""
    hi = np.ascontiguousarray(records["hi"])
    order = np.argsort(hi)
    rows = np.ascontiguousarray(records).view(np.uint32).reshape(len(records), -1)
    records = (
        np.take(rows, order, axis=0).view(records.dtype).reshape(-1)
    )  # whole rows: far quicker than field by field
    hi = hi[order]
    if (hi[1:] == hi[:-1]).any():
        records = records[np.lexsort((records["lo"], records["hi"]))]
    return records


def twice(records: Records) -> int:
    """How many rows of sorted records are about a person who had one before."""
    same = (records["hi"][1:] == records["hi"][:-1]) & (records["lo"][1:] == records["lo"][:-1])
    return int(same.sum())


@dataclass(frozen=True, eq=False)
class PeopleFile:
    """Sorted records in a file, of which only those that are asked for are in memory; or a few that all are."""

    rows: int
    _read: Callable[[int, int], Records]
    """The records from one number to another."""

    @classmethod
    def of(cls, records: Records) -> PeopleFile:
        """Sorted records that are here."""
        return cls(len(records), lambda low, high: records[low:high])

    @classmethod
    def open(cls, path: Path, digest: str, outputs: int) -> PeopleFile:
        """The records of a file, which must be the one that was written."""
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
                file.seek(0)
                header = file.read(HEADER_BYTES)
        except OSError:
            raise InvalidLedger(
                f"the ledger's file {path} is gone or cannot be read; get it from your backup"
            ) from None
        kind = kind_of(outputs)
        rows, rest = divmod(path.stat().st_size - HEADER_BYTES, kind.itemsize)
        if found != digest or not header.startswith(MAGIC) or rest:
            raise InvalidLedger(f"the ledger's file {path} was changed; get the original")

        def read(low: int, high: int) -> Records:
            # Not mapped into memory, where all that was ever looked at would stay for a while.
            return np.fromfile(path, dtype=kind, count=high - low, offset=HEADER_BYTES + low * kind.itemsize)

        return cls(rows, read)

    @property
    def records(self) -> Records:
        """All of them, in memory."""
        return self._read(0, self.rows)

    def find(self, wanted: Records) -> tuple[NDArray[np.bool_], Records]:
        """Which of the persons in sorted records are here, and their records here."""
        near = self._between(wanted)
        hi, lo = np.ascontiguousarray(near["hi"]), np.ascontiguousarray(near["lo"])
        at = np.searchsorted(hi, wanted["hi"])
        while True:
            inside = np.flatnonzero(at < len(hi))
            same = inside[hi[at[inside]] == wanted["hi"][inside]]
            other = same[lo[at[same]] != wanted["lo"][same]]
            if not other.size:
                break
            at[other] += 1  # two persons whose first halves are the same
        found = np.zeros(len(wanted), dtype=bool)
        found[same] = True
        return found, near[at[same]]

    def _between(self, wanted: Records) -> Records:
        """The records from the first to the last of the persons, in memory."""
        if not len(wanted):
            return self._read(0, 0)
        return self._read(self._place(wanted["hi"][0], 0), self._place(wanted["hi"][-1], 1))

    def _place(self, hi: Any, after: int) -> int:
        """How many records are below a first half; or, if `after`, not above it. Few of them are read."""
        low, high = 0, self.rows
        while low < high:
            middle = (low + high) // 2
            value = self._read(middle, middle + 1)["hi"][0]
            if value < hi or (after and value == hi):
                low = middle + 1
            else:
                high = middle
        return low


@dataclass
class PeopleWriter:
    """A new file of records; it gets its name, which is its digest, when it is kept."""

    folder: Path
    outputs: int
    rows: int = 0
    _digest: Any = field(default_factory=hashlib.sha256)
    _file: IO[bytes] | None = None

    def write(self, records: Records) -> None:
        """Sorted records, after those before."""
        self._put(np.ascontiguousarray(records).tobytes())
        self.rows += len(records)

    def keep(self) -> str:
        """Put the file under its name, on the disk; the digest."""
        if self._file is None:
            raise OutputRefused("no records were begun")
        self._file.flush()
        os.fsync(self._file.fileno())
        digest = str(self._digest.hexdigest())
        Path(self._file.name).replace(self.folder / f"{digest}.people")
        sync_folder(self.folder)
        return digest

    def _put(self, data: bytes) -> None:
        if self._file is not None:
            self._file.write(data)
            self._digest.update(data)

    @classmethod
    @contextmanager
    def at(cls, folder: Path, outputs: int) -> Iterator[PeopleWriter]:
        """A writer whose file is gone at the end unless it was kept."""
        writer = cls(folder, outputs)
        part = folder / f".{secrets.token_hex(NAME_BYTES)}.part"
        try:
            with open(part, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                writer._file = file
                writer._put((MAGIC + f" outputs={outputs}\n".encode()).ljust(HEADER_BYTES))
                yield writer
        except OSError as trouble:
            raise OutputRefused(f"{folder} was not written: {trouble.strerror}") from None
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
