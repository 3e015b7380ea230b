"""The ledger of a key: what was released about whom, by which protocol, when, and what all of it comes to.

It lies beside the key: "people.key.ledger" is a chain of lines, and "people.key.ledger.files" holds the protocols and
the records of people that they refer to, each under its digest.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from privacyfunnel.errors import InvalidKey, InvalidLedger
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import notion_from
from privacyfunnel.protocols.file import from_text, to_text
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.remembered.chain import Chain, Lines
from privacyfunnel.tables.remembered.key import Key, make_key, read_key
from privacyfunnel.tables.remembered.records import PeopleFile
from privacyfunnel.tables.writing import whole_file

SCHEMA = "privacyfunnel-ledger/1"
SUFFIX = ".ledger"


@dataclass(frozen=True, eq=False)
class Ledger:
    """The lines of a ledger that were read, and where it lies."""

    chain: Chain
    lines: Lines
    begun: bool = False
    """Whether key and ledger were made just now."""

    @property
    def key(self) -> Key:
        """The key of the draws."""
        return self.chain.key

    @property
    def releases(self) -> list[dict[str, Any]]:
        """The lines about releases, in order."""
        return [line for line in self.lines.contents if line["what"] == "release"]

    @cached_property
    def limit(self) -> Notion | None:
        """The promise that everything together must keep, as the steward fixed it last; None if nobody did."""
        fixed = [line["promise"] for line in self.lines.contents if line["what"] == "limit"]
        return notion_from(fixed[-1]) if fixed else None

    def protocol(self, digest: str) -> Protocol:
        """The protocol that was kept under this digest."""
        path = self.chain.folder / f"{digest}.protocol.json"
        try:
            data = path.read_bytes()
        except OSError:
            raise InvalidLedger(
                f"the ledger's file {path} is gone or cannot be read; get it from your backup"
            ) from None
        if hashlib.sha256(data).hexdigest() != digest:
            raise InvalidLedger(f"the ledger's file {path} was changed; get the original")
        return from_text(data.decode("utf-8"), str(path))

    def people(self, release: Mapping[str, Any]) -> PeopleFile:
        """The records of a release."""
        return PeopleFile.open(
            self.chain.folder / f"{release['records']}.people", release["records"], int(release["outputs"])
        )

    def keep(self, protocol: Protocol) -> str:
        """Put a protocol's file beside the ledger; its digest."""
        data = to_text(protocol).encode("utf-8")
        digest = hashlib.sha256(data).hexdigest()
        path = self.chain.folder / f"{digest}.protocol.json"
        if not path.exists():
            with whole_file(path, force=True, private=True) as file:
                file.write(data)
        return digest

    def append(self, what: str, content: Mapping[str, Any]) -> Ledger:
        """The ledger with one more line, which is on the disk."""
        line = {"what": what, "at": datetime.now(UTC).isoformat(timespec="seconds"), **content}
        return replace(self, lines=self.chain.append(line, self.lines))

    def fix(self, promise: Notion) -> Ledger:
        """Fix the promise that everything together must keep."""
        return self.append("limit", {"promise": promise.as_dict()})

    def verify(self) -> int:
        """Read every file that lines refer to; how many there are."""
        for release in self.releases:
            self.protocol(release["protocol"])
            self.people(release)
        return len({release[kind] for release in self.releases for kind in ("protocol", "records")})


def ledger_of(key: Path) -> Path:
    """Where the ledger of a key lies."""
    return key.with_name(key.name + SUFFIX)


def open_ledger(path: Path) -> Ledger:
    """The ledger of the key at `path`; both are made if there is neither.

    The ledger is made first. So where there is a key, there was a ledger.
    """
    place = ledger_of(path)
    if os.path.lexists(path):
        return read_ledger(path)
    if place.exists():
        if place.read_bytes().count(b"\n") > 1:
            raise InvalidKey(f"the ledger {place} is there, but its key {path} is not; get it from your backup")
        place.unlink()  # a run was stopped between making the two, and nothing was released
    key = make_key(path, before=lambda made: _begin(Chain(place, made)))
    chain = Chain(place, key)
    return Ledger(chain, chain.read(), begun=True)


def read_ledger(path: Path) -> Ledger:
    """The ledger of a key that exists."""
    key = read_key(path)
    chain = Chain(ledger_of(path), key)
    lines = chain.read()
    if not lines.contents or lines.contents[0].get("schema") != SCHEMA:
        raise InvalidLedger(f"{chain.path} is no ledger of this version; it should say {SCHEMA}")
    return Ledger(chain, lines)


def _begin(chain: Chain) -> None:
    at = datetime.now(UTC).isoformat(timespec="seconds")
    chain.begin({"what": "begin", "at": at, "schema": SCHEMA, "key": chain.key.name})
