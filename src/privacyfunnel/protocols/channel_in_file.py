"""The step "channel" in a file: a listed channel, for every input the outputs and their probabilities."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from privacyfunnel.distribution.column import Column
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.json_file import MOST_COLUMNS, MOST_VALUES, STRICT, integers


class ChannelInFile(BaseModel):
    """A listed channel."""

    model_config = STRICT

    step: Literal["channel"]
    columns: tuple[Column, ...] = Field(min_length=1, max_length=MOST_COLUMNS)
    values: tuple[tuple[int, ...], ...] = Field(min_length=1, max_length=MOST_VALUES)
    """For every input, the numbers of its values in the columns' labels."""
    outputs: int = Field(ge=1, le=MOST_VALUES)
    channel: tuple[tuple[int, ...], ...] = Field(min_length=1, max_length=MOST_VALUES)
    """For every input x: y, 2³²·P(y|x), y′, 2³²·P(y′|x), …"""
    labels: tuple[int, ...] = Field(min_length=1, max_length=MOST_VALUES)
    marginal: tuple[int, ...] = Field(min_length=1, max_length=MOST_VALUES)
    draw: tuple[int, ...] | None = Field(min_length=1, max_length=MOST_VALUES)
    nearest: bool
    variants: tuple[int, ...] | None = Field(min_length=1, max_length=MOST_VALUES)
    exact: tuple[str, ...] = Field(max_length=MOST_COLUMNS)


def plain_block(block: Block) -> dict[str, Any]:
    """A listed channel as plain data."""
    return {
        "step": block.kind,
        "columns": [column.model_dump() for column in block.columns],
        "values": block.codes.tolist(),
        "outputs": block.channel.n_outputs,
        "channel": plain_channel(block.channel),
        "labels": block.labels.tolist(),
        "marginal": block.marginal.tolist(),
        "draw": block.draw.tolist() if block.draw is not None else None,
        "nearest": block.nearest,
        "variants": block.variants.tolist() if block.variants is not None else None,
        "exact": list(block.exact),
    }


def block_in(block: ChannelInFile) -> Block:
    """A block whose parts fit together; all numbers are in range."""
    codes = integers(block.values)
    labels, marginal = integers((block.labels,))[0], integers((block.marginal,))[0]
    sizes = [len(column) for column in block.columns]
    if codes.shape[1] != len(sizes) or (codes < 0).any() or (codes >= sizes).any():
        raise InvalidProtocol("a value has a number that its column does not have")
    if len(np.unique(codes, axis=0)) < len(codes):
        raise InvalidProtocol("the same values are listed twice")
    if len(block.channel) != len(codes):
        raise InvalidProtocol("the channel and the values do not fit together")
    channel = channel_in(block.channel, block.outputs)
    variants = integers((block.variants,))[0] if block.variants is not None else None
    told_apart = block.labels if block.variants is None else tuple(zip(block.labels, block.variants, strict=False))
    if len(labels) != block.outputs or len(set(told_apart)) != block.outputs:
        raise InvalidProtocol("the outputs do not have a different label each")
    if variants is not None and (len(variants) != block.outputs or variants.min() < 0):
        raise InvalidProtocol("the variants of outputs do not fit them")
    if labels.min() < 0 or labels.max() >= len(codes):
        raise InvalidProtocol("an output is labelled with a value that does not exist")
    if len(marginal) != block.outputs or min(block.marginal) < 0 or sum(block.marginal) != UNIT:
        raise InvalidProtocol("the marginal of the outputs is not a distribution")
    draw = integers((block.draw,))[0] if block.draw is not None else None
    if draw is not None and (len(draw) != block.outputs or draw.min() < 0 or sum(draw.tolist()) != UNIT):
        raise InvalidProtocol("the draw for values never seen is not a distribution")
    found = Block(block.columns, codes, channel, labels, marginal, draw, block.nearest, variants, block.exact)
    if set(block.exact) - set(found.attributes) or not found.stays_exact() or (block.exact and draw is not None):
        raise InvalidProtocol("a column that is said to stay exact does not")
    return found


def channel_in(parts: tuple[tuple[int, ...], ...], outputs: int) -> Channel:
    """The channel whose column i lists y, 2³²·P(y), y′, 2³²·P(y′), …"""
    if any(len(part) % 2 or not part for part in parts):
        raise InvalidProtocol("a column of the channel is incomplete")
    starts = np.concatenate([[0], np.cumsum([len(part) // 2 for part in parts])]).astype(np.int64)
    entries = integers((tuple(number for part in parts for number in part),)).reshape(-1, 2)
    return Channel(outputs, starts, entries[:, 0].copy(), entries[:, 1].copy())


def plain_channel(channel: Channel) -> list[list[int]]:
    """The same as plain data."""
    entries = np.stack([channel.outputs, channel.numerators], axis=1)
    return [part.ravel().tolist() for part in np.split(entries, channel.starts[1:-1])]
