"""What a follow-up follows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

from privacyfunnel.distribution.column import Column
from privacyfunnel.errors import InvalidInput
from privacyfunnel.protocols.file import digest_of
from privacyfunnel.protocols.file import load as load_protocol
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.rows_before import base, later
from privacyfunnel.spec.spec import Spec
from privacyfunnel.tables.changes import Changes, joined
from privacyfunnel.tables.earlier_releases import histories_released
from privacyfunnel.tables.sources import Source, open_source
from privacyfunnel.typing import Integers


@dataclass(frozen=True, eq=False)
class Past:
    """What a follow-up follows."""

    protocol: Protocol
    histories: Integers | None
    people: int | None
    """In all of the released tables."""
    keep_rows: bool = False
    """Whether people who did not change keep their row."""
    cover: float = math.inf
    changes: Changes | None = None
    was: tuple[Path, ...] = ()
    person: str | None = None

    @classmethod
    def of(cls, spec: Spec) -> Past | None:
        """None for what follows nothing; all that can have been released, if it is not said what was."""
        if spec.after is None:
            return None
        protocol = load_protocol(Path(spec.after))
        protocol.step.check_followed()
        if spec.released is None:
            return cls(protocol, None, None)
        layout = {"delimiter": spec.layout["delimiter"], "encoding": spec.layout["encoding"]}
        histories, people = histories_released(protocol, list(map(Path, spec.released)), str(spec.person), **layout)
        return cls(protocol, histories, int(people.sum()))

    @property
    def columns(self) -> dict[str, Column]:
        """The columns that were released before, as they were read then; today's, too, where they have ranges."""
        own = {column.name: column for column in self.protocol.columns}
        if self.changes is None:
            return own
        cut = [column for column in own.values() if column.edges or column.other or column.groups]
        return {**{later(c.name): c.model_copy(update={"name": later(c.name)}) for c in cut}, **own}

    def changing(self, spec: Spec, table: Path) -> tuple[Past, Source, list[str]]:
        """Where people changed: the table of what they were and are, and its columns."""
        was, person = tuple(map(Path, spec.was or ())), str(spec.person)
        own = {"delimiter": spec.layout["delimiter"], "encoding": spec.layout["encoding"]}
        released = self.protocol.attributes
        todays_table = open_source(table, **spec.layout, secrets=spec.secret_columns)
        source, changes = joined(todays_table, [open_source(one, **own) for one in was], person, released)
        asked = list(map(base, released)) if spec.named is None else spec.named
        todays = {base(name): name for name in changes.columns}
        if not any(name in changes.columns for name in asked):  # named as today's table has them
            asked = [todays.get(name, name) for name in dict.fromkeys(asked)]
        columns = [*released, *(name for name in asked if name not in released)]
        further = [name for name in columns if name not in (*released, *changes.columns)]
        keep = spec.unchanged == "keep" or (spec.unchanged is None and spec.kept != "faithful")
        if keep and further:
            raise InvalidInput(
                f"people can keep their row where only columns of the release before are released, and {further[0]!r} "
                "is another: add --set unchanged=draw, and all rows are drawn"
            )
        many = math.inf if spec.cover is None else spec.cover
        return replace(self, keep_rows=keep, cover=many, changes=changes, was=was, person=person), source, columns


def check_person(person: str | None) -> None:
    """Refuse to join tables by nothing."""
    if person is None:
        raise InvalidInput("tables are joined by the column that says whose rows they are: name it with --person")


def for_readers(protocol: Path) -> str:
    """What readers of a follow-up need."""
    return (
        "From this table alone readers count newest rows; who has the earlier tables, too, and a column that "
        "says which rows are one person's, estimates from all of them: "
        f"funnel estimate --protocol {protocol} --released … --person …"
    )


def check_follows(protocol: Protocol, after: Path | None) -> None:
    """Refuse a protocol that does not follow the one in a file."""
    if after is None:
        return
    if protocol.before is None:
        raise InvalidInput("this protocol follows no earlier release, so it goes without --after")
    given = digest_of(load_protocol(after))
    if given not in map(digest_of, protocol.earlier):
        raise InvalidInput(f"this protocol does not follow {after}: it names another by its digest")
