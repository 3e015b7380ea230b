"""What a draw depends on: how a protocol reads, draws and writes rows, as a digest that outlives its file."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from privacyfunnel.protocols.protocol import Block, Protocol


def drawing_digest(protocol: Protocol) -> str:
    """SHA-256 of everything that decides how a row is drawn, and of nothing else.

    Who draws again years later, from the same file with a newer version, or from a fit that found the same protocol,
    must get the same rows: what is said about a protocol, and how its file is laid out, do not count.
    """
    content = ["privacyfunnel-drawing/1", [_plain(block) for block in protocol.blocks]]
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
