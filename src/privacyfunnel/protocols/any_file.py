"""The file of any protocol: of a single release, of a follow-up, which carries those that it follows, or of a model."""

from __future__ import annotations

import json
from pathlib import Path

from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.protocols import file
from privacyfunnel.protocols.follow_up import FollowUp
from privacyfunnel.protocols.follow_up_file import FAMILY, content_of, follow_up_in
from privacyfunnel.protocols.json_file import WIDE_FAMILY, parsed, text_in, written
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.wide import file as wide_file
from privacyfunnel.protocols.wide.protocol import WideProtocol

MOST_RELEASES = 100
"""A file that follows more was made to exhaust us."""


def to_text(protocol: Protocol) -> str:
    """The protocol as the text of its file."""
    if not isinstance(protocol, FollowUp):
        return file.to_text(protocol)
    return written(content_of(protocol, json.loads(to_text(protocol.before))))


def load(path: str | Path) -> Protocol:
    """The protocol in a file; an edited, broken or foreign file is refused."""
    return from_text(text_in(path), str(path))


def load_any(path: str | Path) -> Protocol | WideProtocol:
    """The same, or the protocol of a model."""
    text = text_in(path)
    if str(parsed(text, str(path))["schema"]).startswith(WIDE_FAMILY):
        return wide_file.from_text(text, str(path))
    return from_text(text, str(path))


def from_text(text: str, name: str = "the protocol", most: int = MOST_RELEASES) -> Protocol:
    """The protocol that `to_text` wrote."""
    schema = str(parsed(text, name)["schema"])
    if schema.startswith(WIDE_FAMILY):
        raise InvalidProtocol(
            f"{name} is of a model (fit with model), which only funnel sanitise, audit, estimate and regress take"
        )
    if not schema.startswith(FAMILY):
        return file.from_text(text, name)
    return follow_up_in(
        text, name, lambda before: from_text(written(before), f"{name}, what it follows", most - 1), most
    )


def digest_of(protocol: Protocol) -> str:
    """The digest that the protocol's file carries."""
    return str(json.loads(to_text(protocol))["digest"])
