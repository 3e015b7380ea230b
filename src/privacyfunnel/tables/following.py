"""Following: further rows drawn by a follow-up, for a table joined with what was released of its people before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from privacyfunnel.errors import InvalidInput
from privacyfunnel.protocols.any_file import digest_of
from privacyfunnel.protocols.follow_up import FollowUp
from privacyfunnel.tables.changes import as_it_was, check_all_known, check_joined
from privacyfunnel.tables.earlier_releases import tables_of, with_histories
from privacyfunnel.tables.internal_copy import Internal
from privacyfunnel.tables.pairs import PairSanitiser
from privacyfunnel.tables.release import release_rows, sanitise
from privacyfunnel.tables.sources import open_source


def sanitise_following(
    follow_up: FollowUp,
    table: Any,
    output: str | Path | None = None,
    *,
    released: Any = None,
    person: str,
    keep_order: bool = False,
    seed: int | None = None,
    force: bool = False,
    internal: str | Path | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    where: str | None = None,
    progress: Callable[[int], None] | None = None,
    remember: str | Path | None = None,
    changed: str = "keep",
    was: Any = None,
) -> Any:
    """Draw a further row for every row of `table`, given what was released of the same person; see `FollowUp`."""
    if (released is None) == (remember is None):
        raise InvalidInput(
            "what was released before is read from the tables that were kept (--released), or drawn again with the key "
            "(--remember): give one of them"
        )
    kept = Internal(Path(internal), person, force) if internal is not None else None
    if kept is not None:
        kept.check(Path(output) if output is not None else None)
    if remember is not None:
        return sanitise(
            follow_up, table, output, keep_order=keep_order, seed=seed, force=force, delimiter=delimiter,
            encoding=encoding, where=where, progress=progress, internal=kept, remember=remember, person=person,
            changed=changed, was=was,
        )  # fmt: skip
    if changed != "keep":
        raise InvalidInput("changed is for people who are known again by a key (remember)")
    secrets = [reading.name for reading in follow_up.secret_readings]
    source = open_source(table, delimiter=delimiter, encoding=encoding, where=where, secrets=secrets)
    if was is not None:
        source, _ = as_it_was(source, was, follow_up, person, delimiter, encoding)
    check_joined(source, follow_up)
    source.require(follow_up.attributes)
    joined = with_histories(source, follow_up, tables_of(released), person, delimiter, encoding)
    if was is not None:
        check_all_known(source)
    digest = digest_of(follow_up) if output is not None or kept is not None else None
    return release_rows(
        PairSanitiser(follow_up), joined, table, output, keep_order, seed, force, progress, kept, digest
    )
