"""What a draw depends on: how a protocol reads, draws and writes rows, as a digest that outlives its file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import numpy as np

from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.follow_up import FollowUp
from privacyfunnel.protocols.protocol import Protocol

SCHEMA = "privacyfunnel-drawing/1"


def drawing_digest(protocol: Protocol) -> str:
    """SHA-256 of everything that decides how a row is drawn, and of nothing else.

    Who draws again years later, from the same file with a newer version, or from a fit that found the same protocol,
    must get the same rows: what is said about a protocol, and how its file is laid out, do not count. A follow-up's
    draws depend on how everything that it follows was drawn.
    """
    if isinstance(protocol, FollowUp):
        steps = protocol.steps
        pairs = _plain(replace(steps.pairs_block(), nearest=steps.nearest))
        content: list[Any] = [f"{SCHEMA} after {drawing_digest(protocol.before)}", steps.histories.tolist(), pairs]
    else:
        content = [SCHEMA, [_plain(protocol.block)]]
    return hashlib.sha256(json.dumps(content, separators=(",", ":"), sort_keys=True).encode()).hexdigest()


def _plain(block: Block) -> dict[str, Any]:
    channel = block.channel
    content: dict[str, Any] = {
        "columns": [column.model_dump(mode="json", exclude_defaults=True) for column in block.columns],
        "values": block.codes.tolist(),
        "starts": channel.starts.tolist(),
        "outputs": np.stack([channel.outputs, channel.numerators], axis=1).tolist(),
        "labels": block.labels.tolist(),
        "nearest": bool(block.nearest),
    }
    if block.draw is not None:
        content["draw"] = block.draw.tolist()
    if block.variants is not None:
        content["variants"] = block.variants.tolist()
    return content
