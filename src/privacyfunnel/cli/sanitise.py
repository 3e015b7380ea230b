"""funnel sanitise: from a table to the released table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from privacyfunnel.cli import following, next_command, options, remembering, show
from privacyfunnel.cli.cluster import on_cluster
from privacyfunnel.cli.steward import marked
from privacyfunnel.errors import InvalidInput
from privacyfunnel.proof.public import published_joint
from privacyfunnel.protocols.emptied import Emptied, emptied
from privacyfunnel.protocols.file import load as load_protocol
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.step import Kind
from privacyfunnel.tables.internal_copy import Internal
from privacyfunnel.tables.release import sanitise as release_table
from privacyfunnel.tables.release_note import OTHERS, Release
from privacyfunnel.tables.writing import check_output


def sanitise(
    context: typer.Context,
    table: options.Table,
    protocol: Annotated[Path, typer.Option(help="The protocol, as written by funnel fit.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Where to write: .csv, .csv.gz, .parquet, .sav, .dta or .xlsx.")
    ],
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Release rows in the order of the table (default: shuffled).")
    ] = False,
    unseen: Annotated[
        str, typer.Option(help="Rows with values not seen when fitting: refuse (all), or draw (them at random).")
    ] = "refuse",
    seed: Annotated[
        int | None, typer.Option(help="INSECURE: repeatable randomness, for tests only; noted in the output.")
    ] = None,
    where: options.Where = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    engine: options.Engine = "duckdb",
    master: options.SparkMaster = None,
    no_variant: Annotated[
        bool,
        typer.Option(
            "--no-variant", help="No column that tells apart rows with the same values: less sharp estimates."
        ),
    ] = False,
    released: following.Released = None,
    person: following.Person = None,
    internal: following.Internal = None,
    remember: remembering.Remember = None,
    changed: remembering.Changed = "keep",
    was: following.Was = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Draw a released row for every row of a table. Only the protocol's attributes are released.

    Example: funnel sanitise people.csv --protocol protocol.json -o open.csv
    A follow-up: funnel sanitise people.csv --protocol second.json --released kept.parquet --person id -o open2.csv
    Again: funnel sanitise people.csv --protocol protocol.json --remember people.key --person id -o open.csv
    People who changed: funnel sanitise people.csv --was last-year.csv --protocol second.json --remember people.key
    --person id -o open2.csv
    """
    if unseen not in ("refuse", "draw"):
        raise InvalidInput(f"--unseen is refuse or draw; got {unseen!r}")
    cluster = options.cluster(engine, master)
    options.here_only(where, cluster)
    drawing: dict[str, Any] = {"keep_order": keep_order, "unseen": unseen, "seed": seed, "force": force}
    drawing["variant"] = not no_variant
    if was and cluster is not None:
        raise InvalidInput("--was joins tables on this machine: leave out --engine spark, or join them there")
    known_again = remembering.asked(remember, person, changed, bool(internal or released))
    release: Release
    if cluster is None:
        check_output(output, force, (table, protocol, remember, internal, *(released or ()), *(was or ())))
        loaded = load_protocol(protocol)
        kept = _kept_inside(internal, person, force, (table, protocol, output, *(released or ()), *(was or ())))
        layout: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "where": where}
        with show.row_progress(None) as progress:
            drawing |= {**layout, **known_again, "person": person, "released": released or None, "was": was or None}
            _check_following(loaded, drawing)
            release = release_table(loaded, table, output, **drawing, progress=progress, internal=kept)
    else:
        loaded = load_protocol(protocol)
        release = on_cluster(cluster, loaded, table, output, delimiter, encoding, drawing | known_again)
    empty, then = _emptied(loaded), _next(context, table, protocol, loaded, output)
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
        screen.print(f"Kept inside, with {person}, for a follow-up: {internal}. Do not publish it.", markup=False)
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


def _next(context: typer.Context, table: Path, path: Path, protocol: Protocol, output: Path) -> next_command.Words:
    """The proof of the promise; after a drawing for tests, one for people."""
    if context.params["seed"] is not None:
        return next_command.drawn_with_a_seed(context, table, output)
    return next_command.audit(path, protocol, table, next_command.typed(context, next_command.CHECKING))


def _kept_inside(internal: Path | None, person: str | None, force: bool, others: tuple[Path, ...]) -> Internal | None:
    """The copy with whose rows they are, if one is asked for."""
    if internal is None:
        return None
    following.check_person(person)
    kept = Internal(internal, str(person), force)
    kept.check(*others)
    return kept


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
