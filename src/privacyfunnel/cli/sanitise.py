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
from privacyfunnel.protocols.any_file import load as load_protocol
from privacyfunnel.protocols.emptied import Emptied, emptied
from privacyfunnel.protocols.follow_up import FollowUp
from privacyfunnel.protocols.json_file import is_wide
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.following import sanitise_following
from privacyfunnel.tables.internal_copy import Internal
from privacyfunnel.tables.release import sanitise as release_table
from privacyfunnel.tables.release_note import COUNTING, OTHERS, Release
from privacyfunnel.tables.writing import check_output


def sanitise(
    context: typer.Context,
    table: options.Table,
    protocol: Annotated[Path, typer.Option(help="The protocol, as written by funnel fit.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write: .csv, .csv.gz or .parquet.")],
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
    if is_wide(protocol):
        if remember is not None or internal or released or was or person is not None:
            raise InvalidInput(
                "a protocol of a model draws afresh: leave out --remember, --person, --released and --was"
            )
        rows: dict[str, Any] = {
            "keep_order": keep_order,
            "seed": seed,
            "delimiter": delimiter,
            "encoding": encoding,
            "where": where,
        }
        from privacyfunnel.cli.wide import sanitise_by_model

        again = next_command.drawn_with_a_seed(context, table, output) if seed is not None else None
        sanitise_by_model(table, protocol, output, rows, unseen, cluster, force, json, again)
        return
    if cluster is None:
        check_output(output, force, (table, protocol, remember, internal, *(released or ()), *(was or ())))
        loaded = load_protocol(protocol)
        kept = _kept_inside(internal, person, force, (table, protocol, output, *(released or ()), *(was or ())))
        layout: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "where": where}
        with show.row_progress(None) as progress:
            if isinstance(loaded, FollowUp):
                known = {"remember": remember, "changed": changed, "was": was or None}
                drawing |= {**layout, **known}
                release = _following(loaded, table, output, released, person, kept, drawing, progress)
            else:
                _check_first(released, was)
                drawing |= {**layout, **known_again}
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
    if isinstance(loaded, FollowUp):
        screen.print(following.for_readers(protocol, once=release.remembered is None), markup=False)
    else:
        once = "Publish it once. " if release.remembered is None else ""
        needed = (
            "Readers need" if release.objective == "information" else "For intervals, and for other tables, readers use"
        )
        screen.print(
            f"{once}{needed} {protocol}, too, with funnel estimate: publish it unless fit warned against it.",
            markup=False,
        )
    next_command.say(then)


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


def _check_first(released: list[Path] | None, was: list[Path] | None) -> None:
    if released or was:
        raise InvalidInput("this protocol follows no earlier release, so it goes without --released and --was")


def _following(
    follow_up: FollowUp,
    table: Path,
    output: Path,
    released: list[Path] | None,
    person: str | None,
    kept: Internal | None,
    drawing: dict[str, Any],
    progress: Callable[[int], None] | None,
) -> Release:
    """A further release of people of whom something was released before."""
    if not released and drawing["remember"] is None:
        raise InvalidInput(
            "this protocol follows an earlier release: give what was released then, with the column that says whose "
            "rows they are (--released kept.parquet --person id), or the key of that release (--remember)"
        )
    following.check_person(person)
    if drawing.pop("unseen") == "draw":
        raise InvalidInput("a follow-up has no draw for values never seen; leave such rows out, or refit with them")
    drawing.pop("variant")
    release: Release = sanitise_following(
        follow_up, table, output, released=released or None, person=str(person), progress=progress,
        internal=kept.path if kept is not None else None, **drawing,
    )  # fmt: skip
    return release


def _emptied(protocol: Protocol) -> Emptied:
    """The columns that say next to nothing; of a follow-up, that is not asked."""
    if isinstance(protocol, FollowUp):
        return Emptied({})
    return emptied(protocol, published_joint(protocol) if protocol.noise and not protocol.likeness else None)


def _counting(protocol: Protocol, release: Release) -> str:
    """What the released file says to those who would count its rows, as far as it is known to hold of them."""
    if release.objective == "faithful" and (release.drawn or protocol.people not in (None, release.rows)):
        fitted = f"{protocol.people:,} rows" if protocol.people is not None else "other rows"
        return (
            f"These are not the {fitted} that the protocol was fitted on (was that with --where?): counts of released "
            f"rows lean towards those. {OTHERS[0].upper()}{OTHERS[1:]}."
        )
    words = COUNTING[release.objective]
    return f"{words[0].upper()}{words[1:]}."
