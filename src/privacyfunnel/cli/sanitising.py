"""What funnel sanitise does: draw rows, and say what was drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from privacyfunnel.cli import next_command, remembering, show
from privacyfunnel.cli.cluster import on_cluster
from privacyfunnel.cli.steward import marked
from privacyfunnel.errors import InvalidInput
from privacyfunnel.proof.public import published_joint
from privacyfunnel.protocols.emptied import Emptied, emptied
from privacyfunnel.protocols.file import load as load_protocol
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.step import Kind
from privacyfunnel.spec import following
from privacyfunnel.spec.files import files_of
from privacyfunnel.spec.of_steps import SanitiseSpec
from privacyfunnel.spec.step_rules import checked
from privacyfunnel.tables.internal_copy import Internal
from privacyfunnel.tables.release import sanitise as release_table
from privacyfunnel.tables.release_note import OTHERS, Release
from privacyfunnel.tables.writing import check_output


def sanitise_table(spec: SanitiseSpec, output: Path, force: bool, json: bool) -> None:
    """Draw the rows, and say what was drawn and what follows."""
    spec = checked(spec)
    table, protocol = Path(str(spec.table)), Path(str(spec.protocol))
    internal = Path(spec.internal) if spec.internal is not None else None
    drawing: dict[str, Any] = {"keep_order": bool(spec.keep_order), "unseen": spec.unseen or "refuse"}
    drawing |= {"seed": spec.seed, "force": force, "variant": not spec.no_variant}
    drawing |= {"remember": Path(spec.remember) if spec.remember is not None else None}
    drawing |= {"changed": spec.changed or "keep"}
    layout: dict[str, Any] = {"delimiter": spec.delimiter, "encoding": spec.encoding or "utf-8"}
    release: Release
    if spec.engine != "spark":
        named = tuple(files_of(spec).values())
        check_output(output, force, (*named, internal))
        loaded = load_protocol(protocol)
        kept = Internal(internal, str(spec.person), force) if internal is not None else None
        if kept is not None:
            following.check_person(spec.person)
            kept.check(output, *(path for path in named if path != drawing["remember"]))
        with show.row_progress(None) as progress:
            past = {"released": _paths(spec.released), "was": _paths(spec.was), "person": spec.person}
            drawing |= {**layout, **past, "where": spec.where}
            _check_following(loaded, drawing)
            release = release_table(loaded, table, output, **drawing, progress=progress, internal=kept)
    else:
        loaded = load_protocol(protocol)
        drawing |= {"person": spec.person if spec.remember is not None else None}
        release = on_cluster(
            spec.master or "local[*]", loaded, table, output, layout["delimiter"], layout["encoding"], drawing
        )
    empty, then = _emptied(loaded), _next(spec, table, protocol, loaded, output)
    if json:
        told = {"internal": str(internal) if internal is not None else None, "emptied": list(empty.columns)}
        show.as_json({"output": str(output), **release.as_dict(), **told, **next_command.data(then)})
        return
    screen = show.console()
    screen.print(release.own_words, markup=False)
    order = "in shuffled order" if release.shuffled else "in the order of the table"
    screen.print(f"Released {release.rows:,} rows of {', '.join(release.attributes)}, {order}: {output}.", markup=False)
    if release.variant is not None:
        what = "tells apart rows that were drawn in different ways; estimates are sharper with it"
        screen.print(f"The column {release.variant} is no attribute: it {what}.", markup=False)
    elif loaded.variant is not None:
        screen.print(
            f"Without the column {loaded.variant}, estimates are less sharp than the protocol's.", markup=False
        )
    if release.dropped:
        screen.print(f"Dropped: {', '.join(release.dropped)}.", markup=False)
    if internal is not None:
        screen.print(f"Kept inside, with {spec.person}, for a follow-up: {internal}. Do not publish it.", markup=False)
    if release.drawn:
        screen.print(marked(f"{release.drawn:,} values not seen when fitting were drawn at random."))
    if empty.columns:
        screen.print(empty.words(), markup=False)
    if not release.secure:
        screen.print("INSECURE: the randomness was seeded, so whoever knows the seed can undo it. Do not publish this.")
        next_command.say(then)
        return
    if release.remembered is not None:
        for line in remembering.words(release.remembered):
            screen.print(marked(line), markup=False)
    screen.print(_counting(loaded, release), markup=False)
    once = "" if release.remembered is not None else "Publish it once. "
    screen.print(f"{once}{NEEDED[loaded.step.kind](loaded, protocol)}", markup=False)
    next_command.say(then)


def _for_readers(loaded: Protocol, path: Path) -> str:
    needed = "Readers need" if loaded.objective == "information" else "For intervals, and for other tables, readers use"
    return f"{needed} {path}, too, with funnel estimate: publish it unless fit warned against it."


def _of_model(loaded: Protocol, path: Path) -> str:
    if not loaded.private:
        return f"{path} was fitted without noise: keep it to yourself."
    return f"Readers need {path}, too, with funnel estimate: what it says of everybody is private, publish it."


NEEDED: dict[Kind, Callable[[Protocol, Path], str]] = {
    "channel": _for_readers,
    "by_history": lambda _, path: following.for_readers(path),
    "by_model": _of_model,
}
"""What readers of the released table need."""


def _next(spec: SanitiseSpec, table: Path, path: Path, protocol: Protocol, output: Path) -> next_command.Words:
    """The proof of the promise; after a drawing for tests, one for people."""
    if spec.seed is not None:
        return next_command.drawn_with_a_seed(spec, output)
    return next_command.audit(path, protocol, table, next_command.typed(spec, next_command.CHECKING))


def _paths(named: tuple[str, ...] | None) -> list[Path] | None:
    return [Path(one) for one in named] if named else None


def _check_following(protocol: Protocol, drawing: dict[str, Any]) -> None:
    """Refuse what a protocol that follows an earlier release, or follows none, cannot be drawn with."""
    if protocol.before is None:
        if drawing["released"] or drawing["was"]:
            raise InvalidInput("this protocol follows no earlier release, so it goes without --released and --was")
        drawing["person"] = drawing["person"] if drawing.get("remember") is not None else None
        return
    if not drawing["released"] and drawing.get("remember") is None:
        raise InvalidInput(
            "this protocol follows an earlier release: give what was released then, with the column that says whose "
            "rows they are (--released kept.parquet --person id), or the key of that release (--remember)"
        )
    following.check_person(drawing["person"])
    if drawing["unseen"] == "draw":
        raise InvalidInput("a follow-up has no draw for values never seen; leave such rows out, or refit with them")


def _emptied(protocol: Protocol) -> Emptied:
    """The columns that say next to nothing."""
    return emptied(protocol, published_joint(protocol) if protocol.noise and not protocol.likeness else None)


def _counting(protocol: Protocol, release: Release) -> str:
    """What the released file says to those who would count its rows, as far as it is known to hold of them."""
    if release.objective == "faithful" and (release.drawn or protocol.people not in (None, release.rows)):
        fitted = f"{protocol.people:,} rows" if protocol.people is not None else "other rows"
        return (
            f"These are not the {fitted} that the protocol was fitted on (was that with --where?): counts of released "
            f"rows lean towards those. {OTHERS[0].upper()}{OTHERS[1:]}."
        )
    words = release.counting
    return f"{words[0].upper()}{words[1:]}."
