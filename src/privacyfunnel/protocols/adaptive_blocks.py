"""Adaptive blocks come back as one channel; which blocks were asked for is in how the protocol was found, in words."""

from __future__ import annotations

from collections.abc import Sequence

from privacyfunnel.protocols.protocol import Protocol

ADAPTIVE = "adaptive blocks: "
BETWEEN_BLOCKS, WITHIN_BLOCK = " | ", " × "


def in_words(blocks: Sequence[Sequence[str]]) -> str:
    """How such a protocol was found.

    >>> in_words([["age", "sex"], ["town"]])
    'adaptive blocks: age × sex | town'
    """
    return ADAPTIVE + BETWEEN_BLOCKS.join(WITHIN_BLOCK.join(block) for block in blocks)


def adaptive_blocks(protocol: Protocol) -> list[list[str]]:
    """The blocks of an adaptive protocol; none of any other, or where names of columns make the words ambiguous."""
    if len(protocol.blocks) > 1 or not protocol.how.startswith(ADAPTIVE):
        return []
    said = protocol.how.removeprefix(ADAPTIVE).split(BETWEEN_BLOCKS)
    blocks = [block.split(WITHIN_BLOCK) for block in said]
    return blocks if sorted(name for block in blocks for name in block) == sorted(protocol.attributes) else []
