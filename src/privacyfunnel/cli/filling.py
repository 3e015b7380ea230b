"""What is filled beside the kept columns, told."""

from __future__ import annotations

from typing import Any

from privacyfunnel.protocols.everything import everything
from privacyfunnel.protocols.protocol import Protocol


def whole_words(protocol: Protocol) -> str:
    """What the whole file spends."""
    spent = protocol.spent
    return f"In all: ε₀ = {spent.epsilon:g}, δ₀ = {spent.delta:g}." if spent is not None else ""


def filled_data(protocol: Protocol) -> dict[str, Any]:
    """What is filled, for machines, and what the whole file tells then."""
    if protocol.fill is None:
        return {}
    told = everything(protocol)
    parents = {one.name: list(one.parents) for one in protocol.fill.filled}
    return {
        "filled": list(protocol.fill.names),
        "filled_given": parents,
        "everything_published": told.as_dict() if told is not None else None,
    }
