"""Looking at rows: who each is about, and what they are drawn with the keys of the protocols. Workers can do it, too.

A worker gets keys for single purposes, from which nobody comes back to the steward's.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privacyfunnel.drawing.keyed import Mac
from privacyfunnel.drawing.persons import Persons
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.remembered.drawers import Drawer, drawers
from privacyfunnel.tables.remembered.identifiers import Identifiers
from privacyfunnel.tables.remembered.records import PeopleFile, Records, kind_of
from privacyfunnel.tables.remembered.staying import Staying
from privacyfunnel.tables.sanitiser import Sanitiser, Unseen

LOOK_ROWS = 1 << 16
"""Looked at a time: who each is, and what they are drawn by every protocol, takes some hundred bytes a row."""


@dataclass(frozen=True, eq=False)
class Look:
    """What it takes to look at rows: protocols, today's first, and a key for each. It can be sent to workers."""

    person: str
    protocols: tuple[Protocol | None, ...]
    """None, where the table lacks the columns."""
    follows: tuple[int, ...]
    """The number of the protocol that each follows; −1 if it follows none."""
    keys: tuple[bytes, ...] = field(repr=False)
    who: bytes = field(repr=False)
    unseen: Unseen

    @property
    def columns(self) -> list[str]:
        """The columns that are read, the person's last."""
        names = dict.fromkeys(
            name for protocol in self.protocols if protocol is not None for name in protocol.attributes
        )
        return [*names, self.person]

    @property
    def today(self) -> Protocol:
        """Today's protocol, whose columns the table has."""
        if self.protocols[0] is None:
            raise TypeError("today's protocol is there")
        return self.protocols[0]

    @property
    def kind(self) -> np.dtype[np.void]:
        """The records that come of it; of a follow-up, with all that was released before."""
        return kind_of(self.today.releases, len(self.protocols), compared=Staying.of(self.today) is not None)

    def today_alone(self) -> Look:
        """The same for today's protocol, and those that it follows, alone."""
        chain = [0]
        while self.follows[chain[-1]] >= 0:
            chain.append(self.follows[chain[-1]])
        protocols, keys = tuple(self.protocols[p] for p in chain), tuple(self.keys[p] for p in chain)
        return Look(self.person, protocols, (*range(1, len(chain)), -1), keys, self.who, self.unseen)

    def opened(self) -> Looker:
        """What looks."""
        return Looker(self)


class Looker:
    """Looks at batch after batch, and counts the rows that must be refused."""

    def __init__(self, look: Look) -> None:
        self.identifiers, self.kind = Identifiers(look.person), look.kind
        self._who, self._drawers = Mac(look.who), drawers(look.protocols, look.follows, look.keys, look.unseen)
        self._staying = Staying.of(look.today)
        self.elsewhere: Counter[str] = Counter()
        """Strangers that were met by workers."""

    @property
    def strangers(self) -> Counter[str]:
        """Rows with values that today's protocol, or one that it follows, was not fitted on, by column."""
        today = self._drawers[0]
        return self.elsewhere + (today.strangers if today is not None else Counter())

    def __call__(self, batch: pa.RecordBatch, threads: int | None = None) -> Records:
        """A record for every row, with the marks that it has under all protocols."""
        persons = self.identifiers.read(batch.column(self.identifiers.column))
        records = self.people(persons, threads)
        drawn: dict[Drawer, tuple[NDArray[np.int32], NDArray[np.uint64]]] = {}
        for p, drawer in enumerate(self._drawers):
            if drawer is not None:
                y, records["mark"][:, p] = drawer.drawn(batch, persons, threads, drawn)
                if p == 0:
                    records["y"] = y
        if self._staying is not None:
            records["same"] = self._staying.unchanged(batch)
        return records

    def people(self, persons: Persons, threads: int | None = None) -> Records:
        """Records of persons, with nothing but who they are."""
        found = self._who.of(persons, np.zeros(len(persons), dtype=np.int32), threads)
        records = np.zeros(len(persons), dtype=self.kind)
        records["hi"], records["lo"] = found[:, 0], found[:, 1]
        return records


@dataclass(frozen=True, eq=False)
class Given:
    """What people are given: what they are drawn, but for `others`, who keep another output; −1 stands for no row."""

    look: Look
    others: Records

    def opened(self) -> Giver:
        """What gives."""
        return Giver(self)


class Giver:
    """Outputs for batch after batch, by today's protocol."""

    def __init__(self, given: Given) -> None:
        look = given.look
        chain = look.today_alone()
        self._looker = Looker(chain)
        (self._drawer, *_) = drawers(chain.protocols, chain.follows, chain.keys, chain.unseen)
        self._others = PeopleFile.of(given.others)

    @property
    def sanitiser(self) -> Sanitiser:
        """What writes outputs as values."""
        return self._today.sanitiser

    @property
    def _today(self) -> Drawer:
        if self._drawer is None:
            raise TypeError("today's protocol is there")
        return self._drawer

    def outputs(self, batch: pa.RecordBatch, threads: int | None = None) -> NDArray[np.int32]:
        """The outputs of a batch's rows; of a follow-up, the last ones alone."""
        identifiers = self._looker.identifiers
        persons = identifiers.read(batch.column(identifiers.column))
        y, _ = self._today.drawn(batch, persons, threads, {})
        if self._others.rows:
            wanted = self._looker.people(persons, threads)
            order = np.argsort(wanted["hi"], kind="stable")
            found, records = self._others.find(wanted[order])
            y[order[found]] = records["y"]
        return y[:, -1:]
