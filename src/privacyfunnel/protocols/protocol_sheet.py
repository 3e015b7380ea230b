"""What a notebook shows of a protocol: the promise, what is kept of the columns, and what no protocol could exceed."""

from __future__ import annotations

from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.showing.sheet import Mark, Sheet, share


def sheet_of(protocol: Protocol) -> Sheet:
    """All of it as data."""
    kept = [("information", protocol.utility, protocol.upper_bound, protocol.entropy)]
    if protocol.likeness is not None:
        kept = [("cells", protocol.likeness.fidelity, protocol.likeness.fidelity_bound, 1.0), *kept[:1]]
    rows = [[name, share(value / whole), share(most / whole)] for name, value, most, whole in kept if whole]
    marks = [Mark(value / whole, limit=min(most / whole, 1.0)) for _, value, most, whole in kept if whole]
    lines = [
        protocol.notion.words(),
        f"{' × '.join(protocol.attributes)}: {protocol.step.size_words()}.",
        f"Fitted on {protocol.fitted}. {protocol.how}",
        "" if protocol.fitted != "exact counts" else "Fitted on exact counts: not for publication.",
        protocol.fill.words() if protocol.fill is not None else "",
    ]
    return Sheet(f"Protocol for {protocol.secret}", lines, ("of", "kept", "at most"), rows, marks)
