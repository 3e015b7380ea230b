"""Options for follow-ups, releases of people of whom something was released before, and what they ask for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from privacyfunnel.cli import shared
from privacyfunnel.distribution.column import Column
from privacyfunnel.errors import InvalidInput
from privacyfunnel.protocols.file import digest_of
from privacyfunnel.protocols.file import load as load_protocol
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.rows_before import base, later
from privacyfunnel.tables.changes import Changes, joined
from privacyfunnel.tables.earlier_releases import histories_released
from privacyfunnel.tables.sources import Source, open_source
from privacyfunnel.typing import Integers

After = Annotated[
    Path | None, typer.Option("--after", help="A follow-up: the protocol of the release of the same people before.")
]
Released = Annotated[
    list[Path] | None,
    typer.Option(
        "--released",
        help="For a follow-up: what was released before, with the column --person; all of it, the first first.",
    ),
]
Person = Annotated[
    str | None,
    typer.Option("--person", help="For a follow-up, and for --remember: the column that says whose rows they are."),
]
Internal = Annotated[
    Path | None,
    typer.Option("--internal", help="Also keep a copy with the column --person, for the house: a follow-up needs it."),
]


Was = Annotated[
    list[Path] | None,
    typer.Option(
        "--was",
        help="For people who changed: the table of then, whose values were released; of several, the first first.",
    ),
]
Unchanged = Annotated[
    str | None,
    typer.Option(
        "--unchanged",
        help="With --was, people who did not change: keep (their row, as far as that can be), or draw (all anew).",
    ),
]
Cover = Annotated[
    float | None,
    typer.Option(
        help="With --unchanged keep: how many unchanged people may have new rows for each changed one (default: as few "
        "as it takes)."
    ),
]
KEEP = ("keep", "draw")


@dataclass(frozen=True, eq=False)
class Past:
    """What a follow-up follows, as the options say it."""

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
    def asked(
        cls, after: Path | None, released: list[Path] | None, person: str | None, delimiter: str | None, encoding: str
    ) -> Past | None:
        """None without --after; all that can have been released, if it is not said what was."""
        if after is None:
            if released or person is not None:
                raise InvalidInput("--released and --person are for a follow-up, so they need --after first.json")
            return None
        protocol = load_protocol(after)
        if not released:
            return cls(protocol, None, None)
        check_person(person)
        histories, people = histories_released(protocol, released, str(person), delimiter=delimiter, encoding=encoding)
        return cls(protocol, histories, int(people.sum()))

    @property
    def columns(self) -> dict[str, Column]:
        """The columns that were released before, as they were read then; today's, too, where they have ranges."""
        own = {column.name: column for column in self.protocol.columns}
        if self.changes is None:
            return own
        cut = [column for column in own.values() if column.edges or column.other or column.groups]
        return {**{later(c.name): c.model_copy(update={"name": later(c.name)}) for c in cut}, **own}

    def changing(
        self,
        table: Path,
        was: list[Path],
        person: str | None,
        attributes: str | None,
        kept: tuple[str | None, float | None, bool],
        layout: dict[str, Any],
    ) -> tuple[Past, Source, list[str]]:
        """With --was: the table of what people were and are, and its columns, as the options say it.

        `kept` is what --unchanged and --cover say, and whether rows are to be faithful.
        """
        unchanged, cover, faithful = kept
        check_person(person)
        if unchanged not in (None, *KEEP):
            raise InvalidInput(f"--unchanged is keep or draw; got {unchanged!r}")
        keep = unchanged == "keep" or (unchanged is None and not faithful)
        if keep and faithful:
            raise InvalidInput("rows that stay what they were do not have today's distribution: leave out --objective")
        if cover is not None and (not keep or not cover >= 0):
            raise InvalidInput("--cover is a number from 0 on, and for --unchanged keep")
        own = {"delimiter": layout["delimiter"], "encoding": layout["encoding"]}
        released = self.protocol.attributes
        source, changes = joined(
            open_source(table, **layout), [open_source(one, **own) for one in was], str(person), released
        )
        asked = shared.names(attributes) if attributes is not None else list(map(base, released))
        todays = {base(name): name for name in changes.columns}
        if not any(name in changes.columns for name in asked):  # named as today's table has them
            asked = [todays.get(name, name) for name in dict.fromkeys(asked)]
        columns = [*released, *(name for name in asked if name not in released)]
        further = [name for name in columns if name not in (*released, *changes.columns)]
        if keep and further:
            raise InvalidInput(
                f"people can keep their row where only columns of the release before are released, and {further[0]!r} "
                "is another: add --unchanged draw, and all rows are drawn"
            )
        many = math.inf if cover is None else cover
        past = replace(self, keep_rows=keep, cover=many, changes=changes, was=tuple(was), person=person)
        return past, source, columns


def objective(context: typer.Context, typed: str, was: list[Path] | None, unchanged: str | None) -> str:
    """Of which kind rows are: where people keep theirs, the others tell the most, unless it is said otherwise."""
    source = context.get_parameter_source("objective")
    by_default = source is not None and source.name == "DEFAULT"
    return "information" if was and by_default and unchanged != "draw" else typed


def check_no_changes(was: list[Path] | None, unchanged: str | None, cover: float | None) -> None:
    """Refuse what is for people who changed where there is nothing to compare."""
    if was or unchanged is not None or cover is not None:
        raise InvalidInput("--was, --unchanged and --cover are for a follow-up (--after) of people who changed (--was)")


def check_person(person: str | None) -> None:
    """Refuse to join tables by nothing."""
    if person is None:
        raise InvalidInput("tables are joined by the column that says whose rows they are: name it with --person")


def check_goes_without(**options: object) -> None:
    """Refuse what follow-ups are not for."""
    for name, given in options.items():
        if given is not None and given != []:
            raise InvalidInput(f"--after is for one promise about the counts as they are: it goes without --{name}")


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
