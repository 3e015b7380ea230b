"""What may be published: a private fit whose promise is kept, and rows that it released, with nothing beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from privacyfunnel.errors import InvalidProtocol, InvalidTable, NotCertified
from privacyfunnel.protocols.file import digest_of
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.report.account import Account
from privacyfunnel.tables.reading_back import as_published
from privacyfunnel.tables.sources import Source, open_source
from privacyfunnel.tables.typed import alike as alike

EXACT = (
    "this protocol was fitted on exact counts, so its file tells secrets of people whose combination of values few "
    "share: it is not for publication; fit without exact-fit, and release by that protocol"
)
GIVEN = (
    "this protocol was made from given probabilities and carries no noisy counts, so that nobody could check its "
    "promise; publish what funnel fit made from a table"
)


MOST_SPENT = 10
"""ε₀ of a published protocol: at 10, 99 of 100 counts are exact already."""


def check_protocol(protocol: Protocol) -> None:
    """Refuse a protocol that is not for publication, or that releases its own secret."""
    for one in protocol.chain:
        if one.fitted == "exact counts":
            raise InvalidProtocol(EXACT)
        if one.spent is None:
            raise InvalidProtocol(GIVEN)
    spent = sum(one.spent.epsilon for one in protocol.chain if one.spent is not None)
    if spent > MOST_SPENT:
        raise InvalidProtocol(
            f"the counts in this protocol have noise of ε₀ = {spent:g}, which leaves most exact: "
            f"it is not for publication; fit with --private {MOST_SPENT:g} or less, such as 1"
        )
    secrets = {alike(reading.name): reading.name for reading in protocol.secret_readings}
    for name in protocol.attributes:
        if alike(name) in secrets:
            raise InvalidProtocol(
                f"this protocol releases the column {name!r}, called like its secret, so that rows hold the secret; "
                "fit without it"
            )


def check_promise(account: Account) -> None:
    """Refuse a protocol that does not keep its promise on the counts that it carries."""
    if account.verdict is None or not account.verdict:
        reason = account.verdict.reason if account.verdict is not None else "it carries no counts"
        raise NotCertified(f"this protocol does not keep its promise on its own counts ({reason}); fit it again")


def belonging(protocol: Protocol, table: Path) -> tuple[Source, Protocol]:
    """The released table, and the protocol as that tells its outputs; refused if it is not a release of it.

    Whether all of its values are released ones is found out when they are read.
    """
    source = open_source(table, delimiter="," if _is_csv(table) else None)
    secrets = {alike(reading.name) for reading in protocol.secret_readings}
    for name in source.columns:
        if alike(name) in secrets:
            raise InvalidTable(f"{table} has the column {name!r}, called like the secret, so it is no release")
    protocol_here = as_published(protocol, source)
    extra = [name for name in source.columns if name not in protocol_here.table_columns]
    if extra:
        raise InvalidTable(
            f"{table} has {len(extra)} columns that this protocol does not release (first: {extra[0]!r}); publish what "
            "funnel sanitise wrote, as it wrote it"
        )
    _check_metadata(protocol, table)
    return source, protocol_here


def _is_csv(table: Path) -> bool:
    return table.name.lower().endswith((".csv", ".csv.gz"))


def _check_metadata(protocol: Protocol, table: Path) -> None:
    """Refuse a table that says itself that it was drawn by another protocol, or with a seed."""
    told = _metadata(table)
    if str(told.get("randomness", "")).startswith("INSECURE"):
        raise InvalidTable(
            f"{table} was drawn with a seed, so whoever knows it can undo the drawing; release without --seed"
        )
    if told.get("protocol") not in (None, digest_of(protocol)):
        raise InvalidTable(f"{table} was drawn by another protocol, as its metadata says; pass the one it was drawn by")


def _metadata(table: Path) -> dict[str, Any]:
    """What funnel sanitise wrote into a table, or beside it, about its making."""
    try:
        if table.name.lower().endswith((".parquet", ".pq")):
            text = (pq.read_metadata(table).metadata or {}).get(b"privacyfunnel", b"{}") if table.is_file() else b"{}"
        else:
            note = table.with_name(table.name + ".metadata.json")
            text = note.read_bytes() if note.is_file() else b"{}"
        found = json.loads(text)
    except (OSError, ValueError, RecursionError):
        raise InvalidTable(f"the metadata of {table} cannot be read; publish what funnel sanitise wrote") from None
    return found if isinstance(found, dict) else {}
