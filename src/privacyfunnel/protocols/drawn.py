"""What a draw depends on: how a protocol reads, draws and writes rows, as a digest that outlives its file."""

from __future__ import annotations

import hashlib
import json

from privacyfunnel.protocols.protocol import Protocol

SCHEMA = "privacyfunnel-drawing/1"


def drawing_digest(protocol: Protocol) -> str:
    """SHA-256 of everything that decides how a row is drawn, and of nothing else.

    Who draws again years later, from the same file with a newer version, or from a fit that found the same protocol,
    must get the same rows: what is said about a protocol, and how its file is laid out, do not count. A follow-up's
    draws depend on how everything that it follows was drawn.
    """
    head = SCHEMA if protocol.before is None else f"{SCHEMA} after {drawing_digest(protocol.before)}"
    content = [head, *protocol.step.drawing()]
    return hashlib.sha256(json.dumps(content, separators=(",", ":"), sort_keys=True).encode()).hexdigest()
