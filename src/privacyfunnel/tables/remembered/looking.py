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
from privacyfunnel.tables.remembered.identifiers import Identifiers
from privacyfunnel.tables.remembered.records import PeopleFile, Records, kind_of
from privacyfunnel.tables.sanitiser import Sanitiser, Unseen


@dataclass(frozen=True, eq=False)
class Look:
    """What it takes to look at rows: protocols, today's first, and a key for each. It can be sent to workers."""

    person: str
    protocols: tuple[Protocol | None, ...]
    """None, where the table lacks the columns."""
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
    def kind(self) -> np.dtype[np.void]:
        """The records that come of it."""
        today = self.protocols[0]
        return kind_of(len(today.blocks) if today is not None else 0, len(self.protocols))

    def opened(self) -> Looker:
        """What looks."""
        return Looker(self)


class Looker:
    """Looks at batch after batch, and counts the rows that must be refused."""

    def __init__(self, look: Look) -> None:
        self.identifiers, self.kind = Identifiers(look.person), look.kind
        self._who = Mac(look.who)
        rest: list[Unseen] = ["refuse"] * (len(look.protocols) - 1)
        self._drawers = [
            (Sanitiser(protocol, wish), Mac(key)) if protocol is not None else None
            for protocol, key, wish in zip(look.protocols, look.keys, [look.unseen, *rest], strict=True)
        ]

    @property
    def strangers(self) -> Counter[str]:
        """Rows with values that today's protocol was not fitted on, by column."""
        today = self._drawers[0]
        return today[0].strangers if today is not None else Counter()

    def __call__(self, batch: pa.RecordBatch, threads: int | None = None) -> Records:
        """A record for every row, with the marks that it has under all protocols."""
        persons = self.identifiers.read(batch.column(self.identifiers.column))
        records = self.people(persons, threads)
        for p, drawer in enumerate(self._drawers):
            if drawer is None:
                continue
            sanitiser, mac = drawer
            y, records["mark"][:, p] = sanitiser.keyed_outputs(sanitiser.inputs(batch), persons, mac, threads)
            if p == 0:
                records["y"] = y
        return records

    def people(self, persons: Persons, threads: int | None = None) -> Records:
        """Records of persons, with nothing but who they are."""
        found = self._who.of(persons, np.zeros(len(persons), dtype=np.int32), 0, threads)
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
        look, protocol = given.look, given.look.protocols[0]
        if protocol is None:
            raise TypeError("today's protocol is there")
        self.sanitiser, self._mac = Sanitiser(protocol, look.unseen), Mac(look.keys[0])
        self._who = Looker(Look(look.person, (protocol,), look.keys[:1], look.who, look.unseen))
        self._others = PeopleFile(given.others)

    def outputs(self, batch: pa.RecordBatch, threads: int | None = None) -> NDArray[np.int32]:
        """The outputs of a batch's rows."""
        identifiers = self._who.identifiers
        persons = identifiers.read(batch.column(identifiers.column))
        y, _ = self.sanitiser.keyed_outputs(self.sanitiser.inputs(batch), persons, self._mac, threads)
        if len(self._others.records):
            wanted = self._who.people(persons, threads)
            order = np.argsort(wanted["hi"], kind="stable")
            found, records = self._others.find(wanted[order])
            y[order[found]] = records["y"]
        return y
