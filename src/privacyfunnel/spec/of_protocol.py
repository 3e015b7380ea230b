"""What a protocol was asked for, as far as it tells: the Spec that makes it again from its table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

from privacyfunnel.distribution.column import OTHER, Column
from privacyfunnel.errors import InvalidInput
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.robust import Robust
from privacyfunnel.promises.several import Promises
from privacyfunnel.proof.public import published_joint
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.step import Kind
from privacyfunnel.spec.as_flags import again
from privacyfunnel.spec.form import without_empty
from privacyfunnel.spec.of_fit import USUAL_OBJECTIVE
from privacyfunnel.spec.spec import Spec
from privacyfunnel.tables.frequency_threshold import of_noisy, usual_threshold

DOMAIN = "domain.json"
"""What the file of a domain is called, since a protocol does not name it."""
BEFORE = "before.json"
"""What the file of an earlier protocol is called, likewise."""
DATES = ("year", "month", "day")


def spec_of(protocol: Protocol, table: str) -> Spec | None:
    """What it was asked for; None if nothing but Python can ask for it."""
    promised = asked_by(protocol.notion, secrets_of(protocol))
    if promised is None:
        return None
    asked: dict[str, Any] = {"table": table, "columns": protocol.attributes, "keep_exact": tuple(protocol.step.exact)}
    asked |= {**promised, **counts_of(protocol)}
    asked |= {"objective": None if protocol.objective == USUAL_OBJECTIVE else protocol.objective}
    asked |= {"weight": weights_of(protocol), "group": groups_of(protocol), **readers_of(protocol)}
    asked |= {"after": None if protocol.before is None else BEFORE}
    asked |= {"allow_secret_attribute": not set(secrets_of(protocol)).isdisjoint(protocol.attributes)}
    asked |= {"domain": DOMAIN} if is_declared(protocol) else reading_of(protocol)
    try:
        return again(Spec, without_empty(asked))
    except InvalidInput:  # of a name, or of readers, that cannot be typed
        return None


def asked_by(notion: Notion, secrets: Sequence[str]) -> dict[str, Any] | None:
    """The keys that ask for a promise about these columns; None if nothing but Python can ask for it."""
    said = notion.asked()
    if said is None:
        return None
    plain = notion.promise if isinstance(notion, Robust) else notion
    return {"secret": [[name] for name in secrets] if isinstance(plain, Promises) else [list(secrets)], **said}


def secrets_of(protocol: Protocol) -> list[str]:
    """The columns that are secret."""
    return [reading.name for reading in protocol.secret_readings] or [protocol.secret]


def is_declared(protocol: Protocol) -> bool:
    """Whether a domain says how columns are read, so that nothing else may."""
    return protocol.spent is not None and protocol.spent.declared


def reading_of(protocol: Protocol) -> dict[str, Any]:
    """How the columns were read."""
    asked: dict[str, Any] = {"bins": {}, "top": {}, "dates": {}, "written": {}}
    for column in [*protocol.secret_readings, *protocol.columns]:
        if column.written:
            asked["written"][column.name] = column.written
        if column.kind == "bins":
            asked["bins"][column.name] = list(map(float, column.edges))
        elif column.kind in ("integer", "number"):
            asked["bins"][column.name] = "each"
        elif column.kind in DATES:
            asked["dates"][column.name] = column.kind
        elif isinstance(column, Column) and column.other:
            asked["top"][column.name] = sum(label not in (None, OTHER) for label in column.labels)
    return asked | {"missing": _missing(protocol)}


def _missing(protocol: Protocol) -> list[str]:
    """What means "missing" in every column was asked for; the rest is found again."""
    readings = [*protocol.secret_readings, *protocol.columns]
    return [text for text in readings[0].missing if all(text in reading.missing for reading in readings)]


def groups_of(protocol: Protocol) -> dict[str, dict[str, list[str]]]:
    """Texts that are read as one value, by column and name."""
    return {
        column.name: {group.label: list(group.values) for group in column.groups}
        for column in [*protocol.secret_readings, *protocol.columns]
        if column.groups
    }


def weights_of(protocol: Protocol) -> dict[str, float]:
    """How much the cells of a column count, where it was said."""
    return dict(protocol.likeness.weights) if protocol.likeness is not None else {}


def readers_of(protocol: Protocol) -> dict[str, Any]:
    """Whose estimates it was made for, and what was given up for them."""
    sharp, names = protocol.precision, protocol.attributes
    if sharp is None:
        return {}
    shares = {(name,) for name in names}
    named = {"shares": shares, "pairs": shares | set(combinations(names, 2))}
    asked = next((word for word, tables in named.items() if tables == set(sharp.tables)), list(sharp.tables))
    return {"readers": asked, "give_up": sharp.give_up}


def not_told(protocol: Protocol) -> list[str]:
    """The keys that could change a protocol like this, and that its file does not tell."""
    insisted = ["insist"] if protocol.at_least and protocol.noise is None else []  # by exact counts, which it has not
    return [*NOT_TOLD, *insisted, *(NOT_TOLD_OF_CHANGES if protocol.before is not None else ())]


def counts_of(protocol: Protocol) -> dict[str, Any]:
    """What it was computed from."""
    return COUNTS[protocol.step.kind](protocol)


def _of_model(protocol: Protocol) -> dict[str, Any]:
    spent = protocol.step.spent
    return {"exact_fit": True} if spent is None else {"private": spent.epsilon, "delta": spent.delta}


def _of_cells(protocol: Protocol) -> dict[str, Any]:
    noise, least = protocol.noise, protocol.at_least
    if noise is None:
        return {"exact_fit": True, "at_least": least or None, "insist": False}
    cells = math.prod(len(column) for column in protocol.columns)
    usual = usual_threshold(type(protocol.notion), protocol.notion.confidence, cells)
    told = {
        "insist": is_insisted(protocol),
        "at_least": least or (1 if usual else None),
    }  # or it would be the usual one
    if protocol.fill is not None and protocol.spent is not None:
        fill = {"fill": protocol.fill.names or ("rest",), "ranges": None if protocol.fill.numbers else True}
        never = protocol.fill.never.words if protocol.fill.never is not None else None
        return {**fill, **told, "never": never, "private": protocol.spent.epsilon}
    return {**told, "private": noise.epsilon, "delta": noise.delta or None}


NOT_TOLD = ("where", "unit", "delimiter", "encoding", "gap", "time_limit")
"""Which rows of which file were read, and how long the search took: a file tells none of this, whatever was asked."""
NOT_TOLD_OF_CHANGES = ("released", "person", "was", "unchanged", "cover")
"""Of whom something was released before, and what: tables that stay with the steward."""
SAID_OTHERWISE = {
    "leave_out": "columns",
    "keep": "epsilon",
    "error": "epsilon",
    "coarsen": "bins",
    "improve": "secret",
    "engine": "table",
    "master": "table",
}
"""Keys that a file tells by another: what they found, or the same asked for in another way, or done elsewhere."""
COUNTS: dict[Kind, Callable[[Protocol], dict[str, Any]]] = {
    "channel": _of_cells,
    "by_history": _of_cells,
    "by_model": _of_model,
}
"""What was counted, by the step."""


def is_insisted(protocol: Protocol) -> bool:
    """Whether so many people are read as others, by the published counts, that somebody insisted."""
    found = of_noisy(published_joint(protocol)) if protocol.noise is not None else None
    return found is not None and found.too_many
