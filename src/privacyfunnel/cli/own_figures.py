"""What a table tells its owner of a protocol whose page has no other figures of it, by the step that draws rows."""

from __future__ import annotations

from collections.abc import Callable

from privacyfunnel.cli.audited import audited_on
from privacyfunnel.cli.auditing import beside, certificate_data
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.step import Kind
from privacyfunnel.report.account import Own


def _of_follow_up(protocol: Protocol, joint: Joint) -> Own:
    """The levels of all releases together, on the table's own counts."""
    found = audited_on(protocol, joint)
    levels = tuple(line.strip() for line in found.lines)
    lines = (beside(found.certificate), *levels) if protocol.carries_counts else levels
    return Own({**found.data, "certificate": certificate_data(found.certificate)}, lines)


def _of_model(protocol: Protocol, joint: Joint) -> Own:
    """What a trial release leaves of the table, and what attackers who count learn from it."""
    from privacyfunnel.cli.wide_own import tried  # with all that advice needs

    found = tried(protocol, joint)
    return Own(found.data or {}, found.lines)


OWN: dict[Kind, Callable[[Protocol, Joint], Own | None]] = {
    "channel": lambda *_: None,  # its account is measured on the table itself
    "by_history": _of_follow_up,
    "by_model": _of_model,
}
