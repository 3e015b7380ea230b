"""What commands do with follow-ups: releases of people of whom something was released before."""

from __future__ import annotations

import math
import shlex
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from privacyfunnel.cli import shared, show
from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import ExactFit, InvalidInput
from privacyfunnel.estimates.expected import expected_errors
from privacyfunnel.numeric.information import NATS_PER_BIT
from privacyfunnel.optimiser.optimise import optimise
from privacyfunnel.optimiser.program.state import noticing_stops
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.certificate import certify
from privacyfunnel.proof.level_of_history import LevelOfHistory, levels_of_history
from privacyfunnel.proof.rows_kept import RowsKept, rows_kept
from privacyfunnel.proof.verdict import Certificate
from privacyfunnel.protocols.any_file import digest_of
from privacyfunnel.protocols.any_file import load as load_protocol
from privacyfunnel.protocols.everything import everything
from privacyfunnel.protocols.follow_up import FollowUp, earlier
from privacyfunnel.protocols.protocol import Objective, Protocol
from privacyfunnel.protocols.rows_before import base, later
from privacyfunnel.tables.changes import Changes, joined
from privacyfunnel.tables.counting import Counted
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


@dataclass(frozen=True, eq=False)
class FoundFollowUp:
    """A follow-up, and what was measured of it on the counts that it was fitted on."""

    counted: Counted
    protocol: FollowUp
    past: Past
    ending: show.Ending
    certificate: Certificate
    levels: tuple[LevelOfHistory, ...]
    kept: RowsKept | None
    """Whose row stays, if the table has what people were and are."""

    @classmethod
    def of(cls, counted: Counted, protocol: FollowUp, past: Past, ending: show.Ending) -> FoundFollowUp:
        """Measure it."""
        people = counted.joint.before_gathering or counted.joint
        certificate = certify(protocol, people)
        levels, kept = levels_of_history(protocol, people), rows_kept(protocol, people)
        return cls(counted, protocol, past, ending, certificate, levels, kept)


def found(
    counted: Counted,
    past: Past,
    promise: Notion,
    objective: Objective,
    weights: dict[str, float] | None,
    gap: float | None,
    time_limit: float | None,
) -> FoundFollowUp:
    """Search for the best follow-up."""
    begun = time.monotonic()
    with show.search_progress(objective) as progress, noticing_stops() as stopped:
        protocol = optimise(
            counted.joint, promise, objective=objective, weights=weights, gap=gap, time_limit=time_limit,
            progress=progress, after=past.protocol, histories=past.histories, keep_rows=past.keep_rows,
            cover=past.cover,
        )  # fmt: skip
    ending = show.Ending(time.monotonic() - begun, stopped.is_set())
    with show.working("measuring what was found"):
        return FoundFollowUp.of(counted, cast(FollowUp, protocol), past, ending)


def tell(found: FoundFollowUp, table: Path, output: Path, force: bool, json: bool) -> None:
    """Save a follow-up, and say what it comes to."""
    with warnings.catch_warnings():  # what it says is told below
        warnings.simplefilter("ignore", ExactFit)
        found.protocol.save(output, force=force)
    if json:
        show.as_json({"protocol": str(output), **data(found)})
        return
    screen = show.console()
    for line in told(found):
        screen.print(line, markup=False)
    before = ["--released", "KEPT", "--person", "PERSON"]
    if found.past.was:
        before = [*(part for one in found.past.was for part in ("--was", str(one))), "--remember", "KEY"]
        before += ["--person", str(found.past.person)]
    again = ["funnel", "sanitise", str(table), "--protocol", str(output), *before]
    screen.print(f"Written: {output}. Next:", markup=False)
    screen.print(shlex.join([*again, "-o", "OUT.csv"]), markup=False, soft_wrap=True)


def for_readers(protocol: Path, once: bool) -> str:
    """What readers of a follow-up need."""
    first = "Publish it once. " if once else ""
    return (
        f"{first}From this table alone readers count newest rows; who has the earlier tables, too, and a column that "
        "says which rows are one person's, estimates from all of them: "
        f"funnel estimate --protocol {protocol} --released … --person …"
    )


def data(found: FoundFollowUp) -> dict[str, Any]:
    """All of it for machines."""
    protocol, told = found.protocol, everything(found.protocol)
    return {
        "columns": show.columns_data(found.counted),
        "not_used": found.counted.dropped,
        "found_by": protocol.how,
        "search": {"seconds": found.ending.seconds, "stopped": found.ending.stopped},
        "fitted": protocol.fitted,
        "everything_published": told.as_dict() if told is not None else None,
        "objective": protocol.objective,
        "follows": digest_of(protocol.before),
        "release": protocol.releases,
        "histories": len(protocol.steps.histories),
        "people_released_before": found.past.people,
        "expected_errors": expected_errors(protocol, found.counted.joint).as_dict()
        if _counted(found.counted.joint)
        else None,
        "changes": found.past.changes.as_dict() if found.past.changes is not None else None,
        "rows_before": found.kept.as_dict() if found.kept is not None else None,
        "fidelity": protocol.fidelity,
        "fidelity_bound": protocol.fidelity_bound,
        **measured(protocol, found.certificate, found.levels),
    }


def measured(protocol: FollowUp, certificate: Certificate, levels: tuple[LevelOfHistory, ...]) -> dict[str, Any]:
    """What everything together comes to, for machines."""
    return {
        "promise": protocol.notion.words(),
        "notion": protocol.notion.as_dict(),
        "level": certificate.level,
        "holds": certificate.holds,
        "levels": [level.as_dict() for level in levels],
        "kept_bits": protocol.utility / NATS_PER_BIT,
        "upper_bound_bits": protocol.upper_bound / NATS_PER_BIT,
        "entropy_bits": protocol.entropy / NATS_PER_BIT,
    }


def told(found: FoundFollowUp) -> list[str]:
    """All of it for people."""
    protocol, published = found.protocol, everything(found.protocol)
    lines = [f"Promise, for everything released together: {protocol.notion.words()}"]
    if published is not None:
        lines.append(published.words())
    lines += [*level_lines(found.levels), _kept(protocol), _people(found)]
    if found.past.changes is not None:
        lines.append(found.past.changes.words())
    if found.kept is not None:
        lines.append(found.kept.words())
    if _counted(found.counted.joint):
        words = expected_errors(protocol, found.counted.joint).words()
        lines.append(f"From all releases together, {words}.")
    return [line for line in lines if line]


def level_lines(levels: tuple[LevelOfHistory, ...]) -> list[str]:
    """What was released up to each release, one line for each."""
    return [level.words() for level in levels]


def _kept(protocol: FollowUp) -> str:
    """How much more it tells."""
    most = f"no follow-up with this promise tells more than {protocol.upper_bound / NATS_PER_BIT:.4g}"
    if protocol.likeness is not None:
        return (
            f"{protocol.likeness.cells_unchanged:.1%} of all cells stay as they are, and newest rows can be counted as "
            f"they stand; no such follow-up has a larger fidelity than {protocol.likeness.fidelity_bound:.4g} "
            f"(this one: {protocol.likeness.fidelity:.4g})."
        )
    left = protocol.entropy / NATS_PER_BIT
    return f"It tells {protocol.utility / NATS_PER_BIT:.4g} bits of the {left:.4g} that were left untold; {most}."


def _people(found: FoundFollowUp) -> str:
    """Whom it is for."""
    histories = len(found.protocol.steps.histories)
    if found.past.people is None:
        return f"It has a channel for all {histories:,} outcomes of what was released before."
    return (
        f"It has a channel for the {histories:,} outcomes that {found.past.people:,} people had before, and no others."
    )


def _counted(joint: Joint) -> bool:
    return joint.counted or joint.noise is not None


def check_follows(protocol: Protocol, after: Path | None) -> None:
    """Refuse a protocol that does not follow the one in a file."""
    if after is None:
        return
    if not isinstance(protocol, FollowUp):
        raise InvalidInput("this protocol follows no earlier release, so it goes without --after")
    given = digest_of(load_protocol(after))
    if given not in map(digest_of, earlier(protocol)):
        raise InvalidInput(f"this protocol does not follow {after}: it names another by its digest")
