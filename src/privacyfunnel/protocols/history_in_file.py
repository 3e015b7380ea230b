"""The step "by_history" in a file: a channel for every history of earlier outputs."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.refinement import read_from
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.protocols.by_history import ByHistory
from privacyfunnel.protocols.channel_in_file import channel_in, plain_channel
from privacyfunnel.protocols.json_file import MOST_COLUMNS, MOST_VALUES, STRICT, integers
from privacyfunnel.protocols.protocol import Protocol


class HistoryInFile(BaseModel):
    """A channel for every history."""

    model_config = STRICT

    step: Literal["by_history"]
    columns: tuple[Column, ...] = Field(min_length=1, max_length=MOST_COLUMNS)
    values: tuple[tuple[int, ...], ...] = Field(min_length=1, max_length=MOST_VALUES)
    nearest: bool
    histories: tuple[tuple[int, ...], ...] = Field(min_length=1, max_length=MOST_VALUES)
    inputs: tuple[tuple[int, ...], ...] = Field(min_length=1, max_length=MOST_VALUES)
    """For every history, the values that can have it."""
    channel: tuple[tuple[int, ...], ...] = Field(min_length=1, max_length=MOST_VALUES)
    """For every input of every history: y, 2³²·P(y|x, h), y′, …, where y is the number of a value."""
    marginal: tuple[int, ...] = Field(min_length=1, max_length=MOST_VALUES)
    """For every history and each of its outputs in order."""


def plain_histories(step: ByHistory) -> dict[str, Any]:
    """The channels of all histories as plain data."""
    return {
        "step": step.kind,
        "columns": [column.model_dump() for column in step.columns],
        "values": step.codes.tolist(),
        "nearest": step.nearest,
        "histories": step.histories.tolist(),
        "inputs": [part.tolist() for part in np.split(step.pairs[:, 1], step.starts[1:-1])],
        "channel": plain_channel(step.channel),
        "marginal": step.marginal.tolist(),
    }


def histories_in(found: HistoryInFile, before: Protocol) -> ByHistory:
    """Channels whose parts fit together, and what they follow; all numbers are in range."""
    names = [column.name for column in found.columns]
    if not set(before.attributes) <= set(names):
        raise InvalidProtocol("a column that was released before is not among its columns")
    for column in before.columns:
        read_from(found.columns[names.index(column.name)], column)  # refused unless it is cut as it was, or more finely
    codes, histories = integers(found.values), integers(found.histories)
    sizes = [len(column) for column in found.columns]
    if codes.shape[1] != len(sizes) or (codes < 0).any() or (codes >= sizes).any():
        raise InvalidProtocol("a value has a number that its column does not have")
    if len(np.unique(codes, axis=0)) < len(codes):
        raise InvalidProtocol("the same values are listed twice")
    most = [one.step.n_outputs for one in before.chain]
    if histories.shape[1] != len(most) or (histories < 0).any() or (histories >= most).any():
        raise InvalidProtocol("a history does not fit the releases before")
    if len(found.inputs) != len(histories) or sum(map(len, found.inputs)) != len(found.channel):
        raise InvalidProtocol("the histories, their inputs and the channel do not fit together")
    lengths = [len(part) for part in found.inputs]
    values = integers((tuple(x for part in found.inputs for x in part),))[0]
    pairs = np.column_stack([np.repeat(np.arange(len(histories)), lengths), values])
    channel, marginal = channel_in(found.channel, len(codes)), integers((found.marginal,))[0]
    return ByHistory(found.columns, codes, histories, pairs, channel, marginal, found.nearest)
