"""The chain: an append-only file of JSON lines, each with the digest of the one before and a seal of the key.

A line is written at once, with its end last, and is on the disk before anything that it tells of is done. What a
crash leaves of a line has no end, so it is never taken for whole: it is reported, and cut off when the next line is
written. A line that was changed, left out or moved breaks the chain. Lines cut off at the end are noticed by the head,
a small file beside it that says how far the chain had come.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privacyfunnel.errors import InvalidLedger, OutputRefused
from privacyfunnel.tables.remembered.key import Key
from privacyfunnel.tables.writing import sync_folder, whole_file

try:
    import fcntl
except ImportError:  # Windows: two runs at a time are noticed when the second writes
    fcntl = None  # type: ignore[assignment]

NONE_BEFORE = "0" * 64
"""Stands for the line before the first."""
MOST_BYTES = 1 << 30
"""Of a ledger; far above what releases write."""


@dataclass(frozen=True)
class Lines:
    """The whole lines of a chain, and what a crash left behind them."""

    contents: tuple[dict[str, Any], ...]
    digests: tuple[str, ...]
    length: int
    """Bytes of all whole lines."""
    torn: int
    """Bytes after them."""

    @property
    def head(self) -> str:
        """The digest of the last line: who has noted it elsewhere can tell whether anything was lost since."""
        return self.digests[-1] if self.digests else NONE_BEFORE


@dataclass(frozen=True, eq=False)
class Chain:
    """The file at `path`, with a folder of that name and ".files" beside it."""

    path: Path
    key: Key

    @property
    def folder(self) -> Path:
        """Where the files are that lines refer to."""
        return self.path.with_name(self.path.name + ".files")

    def begin(self, content: dict[str, Any]) -> None:
        """Make the file with its first line, and the folder beside it; both must not exist."""
        line, _ = self._line(content, NONE_BEFORE)
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as trouble:
            raise OutputRefused(f"{self.folder} cannot be made: {trouble.strerror}") from None
        self._note_head(1, hashlib.sha256(line).hexdigest())
        with whole_file(self.path, force=False, private=True) as file:
            file.write(line)

    def read(self) -> Lines:
        """All whole lines; refused if any was changed, left out or moved, or was written with another key."""
        data = self._bytes()
        whole = data[: data.rfind(b"\n") + 1]
        contents, digests = [], []
        before = NONE_BEFORE
        for number, line in enumerate(whole.splitlines(keepends=True), start=1):
            content = self._content(line, before, number)
            before = hashlib.sha256(line).hexdigest()
            contents.append(content)
            digests.append(before)
        lines = Lines(tuple(contents), tuple(digests), len(whole), len(data) - len(whole))
        self._check_head(lines)
        return lines

    def append(self, content: dict[str, Any], after: Lines) -> Lines:
        """One more line, on the disk when this returns; refused if the chain is no longer what it was."""
        line, seen = self._line(content, after.head)
        with self._alone():
            if self.read().digests != after.digests:
                raise InvalidLedger(f"somebody else wrote to the ledger {self.path} meanwhile; run it again")
            self._write(line, after.length)
            self._note_head(len(after.digests) + 1, hashlib.sha256(line).hexdigest())
        digests = (*after.digests, hashlib.sha256(line).hexdigest())
        return Lines((*after.contents, seen), digests, after.length + len(line), 0)

    def _write(self, line: bytes, at: int) -> None:
        try:
            handle = os.open(self.path, os.O_WRONLY)
            try:
                os.ftruncate(handle, at)  # whatever a crash left
                os.lseek(handle, at, os.SEEK_SET)
                written = os.write(handle, line)
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as trouble:
            raise OutputRefused(f"the ledger {self.path} was not written: {trouble.strerror}") from None
        if written != len(line):
            raise OutputRefused(f"the ledger {self.path} was not written: is the disk full?")

    def _bytes(self) -> bytes:
        try:
            if self.path.stat().st_size > MOST_BYTES:
                raise InvalidLedger(f"{self.path} is larger than {MOST_BYTES >> 20} MiB, so it is no ledger")
            return self.path.read_bytes()
        except FileNotFoundError:
            raise InvalidLedger(f"there is no ledger {self.path}; get it from your backup") from None
        except OSError as trouble:
            raise InvalidLedger(f"the ledger {self.path} cannot be read: {trouble.strerror}") from None

    def _line(self, content: dict[str, Any], before: str) -> tuple[bytes, dict[str, Any]]:
        content = {**content, "before": before}
        seal = self.key.digest("ledger", _text(content)).hex()
        return _text({**content, "seal": seal}) + b"\n", json.loads(_text(content))

    def _content(self, line: bytes, before: str, number: int) -> dict[str, Any]:
        try:
            content = json.loads(line)
            whole = isinstance(content, dict) and _text(content) + b"\n" == line
        except (ValueError, RecursionError):
            whole = False
        if not whole or content.pop("seal", None) != self.key.digest("ledger", _text(content)).hex():
            raise InvalidLedger(
                f"line {number} of the ledger {self.path} was changed, or written with another key; get the original"
            )
        if content.get("before") != before:
            raise InvalidLedger(
                f"line {number} of the ledger {self.path} does not follow the one before: lines were left out or "
                "moved; get the original"
            )
        return dict(content)

    def _check_head(self, lines: Lines) -> None:
        """Refuse a chain that had come further."""
        try:
            number, digest = (self.folder / "head").read_text(encoding="ascii").split()
            fits = lines.digests[int(number) - 1] == digest
        except (OSError, ValueError, IndexError):
            fits = False
        if not fits:
            raise InvalidLedger(f"lines at the end of the ledger {self.path} are gone; get the original")

    def _note_head(self, number: int, digest: str) -> None:
        with whole_file(self.folder / "head", force=True, private=True) as file:
            file.write(f"{number} {digest}\n".encode())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While nobody else writes."""
        try:
            handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as trouble:
            raise OutputRefused(f"the ledger {self.path} cannot be written: {trouble.strerror}") from None
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)
        sync_folder(self.folder)


def _text(content: dict[str, Any]) -> bytes:
    """The only form of a line that is read back."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )
