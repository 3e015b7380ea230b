"""Roles: what is to become of each column of a table: kept, filled, or left out, and why.

Which of the columns that may be kept are kept is chosen privately, afterwards. That a column names people, or repeats
the secret, is found in the table, as its values and ranges are; no figure of the table is in a reason. With a declared
domain, names decide: the columns that it declares are released, and nothing is looked for in the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from privacyfunnel.errors import InvalidTable
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.sources import Source
from privacyfunnel.tables.suggesting import (
    LOOKS_SECRET,
    NOT_DECLARED,
    TOO_FINE,
    TOO_MANY,
    Suggestion,
    hint_of,
    suggest,
)
from privacyfunnel.tables.typed import alike

Role = Literal["secret", "kept", "filled", "left out"]
CAN_BE_KEPT = (TOO_MANY, TOO_FINE)
"""What is said of columns that are released where there is room for them."""
WEIGHS = "a survey weight"
"""How the reason begins that a column weighs rows."""
ASKED = "as asked for"


@dataclass(frozen=True)
class Proposed:
    """What may become of a column."""

    column: str
    may: Literal["secret", "kept or filled", "filled", "left out"]
    reason: str


@dataclass(frozen=True)
class Given:
    """What became of a column, why, and what is lost of it."""

    column: str
    role: Role
    reason: str
    lost: str


def proposed(
    source: Source,
    secrets: Sequence[str],
    columns: Sequence[str],
    leave_out: Sequence[str],
    declared: Sequence[str] | None = None,
) -> list[Proposed]:
    """What may become of each column; those in `columns` are kept, and those in `leave_out` left out, as asked for.

    `declared` are the columns of a domain, if there is one.
    """
    source.require([*secrets, *columns, *leave_out])
    looks = suggest(source, secret=secrets[0]) if declared is None else _named(source.columns, declared)
    found = [_of(one, secrets, columns, leave_out) for one in looks]
    if not any(one.may in ("kept or filled", "filled") for one in found):
        raise InvalidTable("there is no column that could be released beside the secret")
    if not any(one.may == "kept or filled" for one in found):
        raise InvalidTable("there is no column that could be kept beside the secret; name one with --columns")
    return found


def _named(columns: Sequence[str], declared: Sequence[str]) -> list[Suggestion]:
    """What the names of columns say of them, and nothing else."""
    found = []
    for name in columns:
        hint = hint_of(name)
        how = NOT_DECLARED if name not in declared else LOOKS_SECRET if hint == "secret" else ""
        found.append(Suggestion(name, 0, 0, how, "leave out" if how else "release", hint=hint))
    return found


def _of(one: Suggestion, secrets: Sequence[str], columns: Sequence[str], leave_out: Sequence[str]) -> Proposed:
    name = one.column
    if name in secrets:
        return Proposed(name, "secret", "it is what must not be given away")
    if name in leave_out:
        return Proposed(name, "left out", ASKED)
    if name in columns:
        return Proposed(name, "kept or filled", ASKED)
    if alike(name) in {alike(secret) for secret in secrets}:
        return Proposed(name, "left out", "it is called like the secret")
    if one.usable and one.how.startswith((LOOKS_SECRET, WEIGHS)):
        reason = one.how.split(";")[0]
        return Proposed(name, "filled", f"{reason}, so it is not kept")
    if one.part == "release" or one.how.startswith(CAN_BE_KEPT):
        return Proposed(name, "kept or filled" if not columns else "filled", "")
    return Proposed(name, "left out", one.how.split(";")[0])


def given(found: Sequence[Proposed], protocol: Protocol) -> list[Given]:
    """What became of each column in a protocol."""
    filled = set(protocol.fill.names) if protocol.fill is not None else set()
    same = dict(zip(protocol.attributes, protocol.step.unchanged(), strict=True))
    roles = []
    for one in found:
        if one.may == "secret":
            roles.append(Given(one.column, "secret", one.reason, "all of it"))
        elif one.column in same:
            share = same[one.column]
            lost = "" if share is None else f"{1 - share:.0%} of its cells are changed"
            roles.append(Given(one.column, "kept", one.reason or "chosen privately", lost))
        elif one.column in filled:
            reason = one.reason or "there was no room to keep it"
            roles.append(Given(one.column, "filled", reason, "every value is drawn from a model"))
        else:
            why = one.reason or "too few rows share a value of it: its values would name people"
            roles.append(Given(one.column, "left out", why, "all of it"))
    return roles
