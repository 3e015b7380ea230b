"""Memory: a table is gone through once to settle who gets what, and the ledger is asked; then rows can be drawn.

first pass     who is in the table, from which values, and what they would be drawn; compared with earlier releases
the ledger     what everything comes to, history by history; refused if that is too much, or not known
second pass    the rows, for the output
a line         on the disk, before the output has its name
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from privacyfunnel.errors import InvalidInput, InvalidTable, OverLimit, UnseenValues
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.robust import Robust
from privacyfunnel.protocols.drawn import drawing_digest
from privacyfunnel.protocols.file import digest_of
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.grouping import Grouping
from privacyfunnel.tables.remembered.ledger import Ledger, open_ledger
from privacyfunnel.tables.remembered.levels import Level, Levels
from privacyfunnel.tables.remembered.looking import LOOK_ROWS, Given, Look, Looker
from privacyfunnel.tables.remembered.records import PeopleWriter, Piles, Records, kind_of, twice
from privacyfunnel.tables.remembered.settling import CHANGED, Changed, Earlier, Stay, Tally, settle
from privacyfunnel.tables.remembered.staying import Staying
from privacyfunnel.tables.sanitiser import Unseen, refuse_strangers
from privacyfunnel.tables.sources import Source

COUNTED = ("new", "again", "followed", "unchanged", "changed", "left", "changed_were")
"""What the ledger says of people."""


@dataclass(frozen=True)
class Remember:
    """How people are known again: the file of the key, the column that says who they are, what becomes of changes."""

    key: Path
    person: str
    changed: Changed = "keep"

    @classmethod
    def asked(
        cls, key: str | os.PathLike[str] | None, person: str | None, changed: str, protocol: Protocol
    ) -> Remember | None:
        """What was asked for; None if nothing was. Refused if it does not fit together."""
        if changed not in CHANGED:
            raise InvalidInput(f"changed is one of {', '.join(CHANGED)}, not {changed!r}")
        if key is None and person is None:
            if changed != "keep":
                raise InvalidInput("changed is for people who are known again: give the key (remember) and the person")
            return None
        if key is None or person is None:
            raise InvalidInput(
                "to draw people the same again takes both: the key (--remember) and who they are (--person)"
            )
        if not Path(key).name or Path(key).is_dir():
            raise InvalidInput("the key is a file, such as people.key, and this is a folder (--remember)")
        if person in protocol.attributes or person in {reading.name for reading in protocol.secret_readings}:
            raise InvalidInput(f"column {person!r} says who people are, so it can be neither released nor the secret")
        return cls(Path(key), person, changed)

    def check_apart(self, *outputs: Path) -> None:
        """Refuse to write over the key, whether or not it is there yet."""
        for path in outputs:
            if path.absolute() == self.key.absolute() or (
                path.exists() and self.key.exists() and path.samefile(self.key)
            ):
                raise InvalidInput(f"{path} is the file of the key itself; choose another name for what is written")


@dataclass(frozen=True)
class Remembered:
    """What a release came to, for a summary: numbers of people, and the level of everything together."""

    new: int
    again: int
    followed: int
    """Of the people released before by other protocols: by the one that this follows."""
    unchanged: int
    changed: int
    left: int
    changed_were: str
    told_anew: int
    """People of whom something new is told."""
    level: float
    """The largest of everything that was released of such people, this release included; 0 if there are none."""
    kind: str
    limit: float | None
    new_key: bool
    ledger: str
    follows: bool = False
    """Whether rows are a follow-up's; new people then took the steps before, too."""
    stay: Stay | None = None
    """Of those who are followed up, if the table has what people were and what they are."""
    gone: int | None = None
    """People of earlier tables who are not in this one, if these were given."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


@dataclass(eq=False)
class Memory:
    """A table's people, settled: what each is given, and the line that the ledger gets."""

    ledger: Ledger
    given: Given
    summary: Remembered
    line: dict[str, Any] = field(default_factory=dict)

    def commit(self) -> None:
        """Write the line: it is on the disk when this returns."""
        self.ledger.append("release", self.line)


Reader = Callable[[Look, Looker], Iterator[Records]]
"""Goes through a table: a record for every row, while the looker counts rows that must be refused."""


def people_of_table(protocol: Protocol, asked: Remember, source: Grouping, unseen: Unseen, read: Reader) -> Memory:
    """Settle who of a table gets what, and ask the ledger; nothing is released yet."""
    source.require([asked.person])
    ledger = open_ledger(asked.key)
    past, tally = _Protocols.of(ledger, protocol), Tally()
    look = past.look(ledger, source, asked.person, unseen)
    looker, outputs = look.opened(), protocol.releases
    released = [Earlier(past.number[line["drawing"]], ledger.people(line)) for line in ledger.releases]
    with Piles(look.kind) as piles, PeopleWriter.at(ledger.chain.folder, outputs) as writer:
        for records in read(look, looker):
            piles.add(records)
        _refuse(looker.strangers, protocol, unseen)
        looker.identifiers.finish()
        settled = partial(settle, staying=Staying.of(protocol), follows=past.follows)
        others = _settled(piles, released, asked, tally, writer, source.name, settled)
        levels = _allowed(past, ledger, source, tally)
        digest = writer.keep()
    pa.default_memory_pool().release_unused()  # the table is gone through once more
    summary = _summary(asked, ledger, ledger.limit or kind_of_promise(protocol), tally, levels, released)
    stay = tally.stay if tally.stay.unchanged + tally.stay.changed else None
    summary = replace(summary, follows=protocol.before is not None, stay=stay)
    line = _line(protocol, past, ledger, summary, levels, digest, writer.rows)
    return Memory(ledger, Given(look, others), summary, line)


def _refuse(strangers: Counter[str], protocol: Protocol, unseen: Unseen) -> None:
    """Refuse a table with rows that the protocol, or one that it follows, was not fitted on."""
    unknown = sum(strangers.pop(one.by_history.history, 0) for one in protocol.chain if one.before is not None)
    if unknown:
        raise UnseenValues(
            f"of {unknown:,} people something was released before, or is drawn as their first step, that this "
            "follow-up was not fitted for: fit it without --set released, for everything that can have been released",
            steward_only=True,
        )
    if strangers and protocol.before is not None:
        counts = ", ".join(f"{n:,} rows in {name}" for name, n in strangers.items())
        raise UnseenValues(
            f"the follow-up, or what it follows, was not fitted on some values ({counts}); refit it, or leave them out",
            steward_only=True,
        )
    refuse_strangers(strangers, unseen)


def in_batches(source: Source) -> Reader:
    """Go through a table that is read here."""

    def read(look: Look, looker: Looker) -> Iterator[Records]:
        for batch in source.batches(look.columns, LOOK_ROWS, plain=(look.person,)):
            yield looker(batch)

    return read


@dataclass(frozen=True, eq=False)
class _Protocols:
    """Today's protocol, and those of earlier releases, by the digests of their drawings."""

    protocols: tuple[Protocol, ...]
    digests: tuple[str, ...]

    @property
    def number(self) -> dict[str, int]:
        return {digest: p for p, digest in enumerate(self.digests)}

    @classmethod
    def of(cls, ledger: Ledger, protocol: Protocol) -> _Protocols:
        found = {drawing_digest(protocol): protocol}
        released = {line["drawing"]: line["protocol"] for line in ledger.releases}
        for one in (protocol, *(ledger.protocol(kept) for own, kept in released.items() if own not in found)):
            for each in (one, *one.earlier):  # what a follow-up follows is drawn with it
                found.setdefault(drawing_digest(each), each)
        return cls(tuple(found.values()), tuple(found))

    @property
    def follows(self) -> tuple[int, ...]:
        """The number of the protocol that each follows; −1 if it follows none."""
        number = self.number
        return tuple(
            number[drawing_digest(protocol.before)] if protocol.before is not None else -1
            for protocol in self.protocols
        )

    def look(self, ledger: Ledger, source: Grouping, person: str, unseen: Unseen) -> Look:
        """What it takes to know people again: earlier protocols take part if the table has their columns."""
        there = set(source.columns) - set(source.unusable)
        usable = tuple(protocol if there.issuperset(protocol.attributes) else None for protocol in self.protocols)
        keys = tuple(ledger.key.derived(f"draw {digest}") for digest in self.digests)
        return Look(person, usable, self.follows, keys, ledger.key.derived("person"), unseen)


def _settled(
    piles: Piles,
    released: Sequence[Earlier],
    asked: Remember,
    tally: Tally,
    writer: PeopleWriter,
    name: str,
    settled: Callable[[Records, Sequence[Earlier], Changed, Tally], tuple[Records, Records]],
) -> Records:
    """Write who is given what, and find those whose row is not the one they would be drawn; refuse people twice."""
    others, again = [], 0
    for pile in piles:
        again += twice(pile)
        if not again:
            given, other = settled(pile, released, asked.changed, tally)
            writer.write(given)
            others.append(other)
    if again:
        raise InvalidTable(
            f"{again:,} rows of {name} are about somebody who has a row already ({asked.person!r} is the same): what "
            "several rows tell of a person is promised nowhere; keep one row for each",
            steward_only=True,
        )
    return np.concatenate(others) if others else np.empty(0, dtype=kind_of(writer.outputs))


def _allowed(past: _Protocols, ledger: Ledger, source: Grouping, tally: Tally) -> list[Level]:
    """What everything comes to, history by history; refused if that is more than the steward fixed, or not known."""
    if tally.stuck:
        raise OverLimit(
            f"{tally.stuck:,} people changed since another protocol released them, or the table lacks its columns, so "
            "that what both tell is not known; leave them out (--changed drop)",
            steward_only=True,
        )
    limit = ledger.limit
    levels = Levels(
        past.protocols,
        past.digests,
        past.follows,
        limit or kind_of_promise(past.protocols[0]),
        limit is not None,
        source,
    )
    found = [levels.of(history, people) for history, people in sorted(tally.histories.items())]
    over = [level for level in found if not level.kept or math.isinf(level.level)]
    if over:
        people, most = sum(level.people for level in over), max(level.level for level in over)
        allowed = f"the ledger allows {limit.epsilon:g}" if limit is not None else "that would be no promise at all"
        reached = "be told without any limit" if math.isinf(most) else f"reach {levels.notion.name} level {most:.4g}"
        raise OverLimit(f"{people:,} people would {reached}, and {allowed}; nothing was released", steward_only=True)
    return found


def kind_of_promise(protocol: Protocol) -> Notion:
    """The promise of a protocol, about a single distribution."""
    return protocol.notion.promise if isinstance(protocol.notion, Robust) else protocol.notion


def _summary(
    asked: Remember,
    ledger: Ledger,
    notion: Notion,
    tally: Tally,
    levels: Sequence[Level],
    released: Sequence[Earlier],
) -> Remembered:
    own = [release.people for release in released if release.protocol == 0]
    return Remembered(
        new=tally.new,
        again=tally.again,
        followed=tally.followed,
        unchanged=tally.unchanged,
        changed=tally.changed,
        left=own[-1].rows - tally.stayed if own else 0,
        changed_were=asked.changed,
        told_anew=sum(level.people for level in levels),
        level=max((level.level for level in levels), default=0.0),
        kind=notion.name,
        limit=ledger.limit.epsilon if ledger.limit is not None else None,
        new_key=ledger.begun,
        ledger=str(ledger.chain.path),
    )


def _line(
    protocol: Protocol,
    past: _Protocols,
    ledger: Ledger,
    summary: Remembered,
    levels: Sequence[Level],
    records: str,
    rows: int,
) -> dict[str, Any]:
    """What the ledger says of the release."""
    people = {
        name: getattr(summary, name)
        for name in ("new", "again", "followed", "unchanged", "changed", "left", "changed_were")
    }
    return {
        "rows": rows,
        "people": people,
        "protocol": ledger.keep(protocol),
        "protocol_digest": digest_of(protocol),
        "drawing": past.digests[0],
        "outputs": protocol.releases,
        "follows": [drawing_digest(one) for one in protocol.earlier],
        "records": records,
        "promise": (ledger.limit or kind_of_promise(protocol)).as_dict(),
        "limited": ledger.limit is not None,
        "histories": [level.as_dict() for level in levels],
        "private_fit": protocol.noise.epsilon if protocol.noise is not None else None,
    }
