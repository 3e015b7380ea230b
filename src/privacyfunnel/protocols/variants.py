"""Releases without the column that tells outputs apart: outputs that are written as the same values become one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Integers


def without_variants(protocol: Protocol) -> Protocol:
    """The protocol whose released tables have no column variant. It keeps its promise: to merge outputs tells less.

    What it says of its information is that of the original one, of which some is lost.
    """
    if protocol.variant is None:
        return protocol
    return replace(protocol, step=_merged(protocol.block))


def _merged(block: Block) -> Block:
    """The block with one output for each label, in their order."""
    labels, of = np.unique(block.labels, return_inverse=True)
    channel = block.channel
    place = channel.inputs * len(labels) + of[channel.outputs]
    different, entry = np.unique(place, return_inverse=True)
    numerators = np.zeros(len(different), dtype=np.int64)
    np.add.at(numerators, entry, channel.numerators)
    shape = (len(labels), channel.n_inputs)
    merged = Channel.from_entries(different // len(labels), different % len(labels), numerators, shape)
    draw = None if block.draw is None else _summed(block.draw, of, len(labels))
    return replace(
        block,
        channel=merged,
        labels=labels,
        marginal=_summed(block.marginal, of, len(labels)),
        draw=draw,
        variants=None,
    )


def _summed(numbers: Integers, of: Integers, size: int) -> Integers:
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, of, numbers)
    return total
