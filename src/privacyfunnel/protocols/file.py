"""The protocol file: one JSON. It is data, checked strictly, and refused if anything changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from privacyfunnel.distribution.column import Column, Reading
from privacyfunnel.distribution.noise import Noise
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import notion_from
from privacyfunnel.promises.robust import Robust
from privacyfunnel.promises.several import Promises
from privacyfunnel.protocols.aim import AimInFile, aim_in
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.json_file import (
    LONGEST_DIGEST,
    LONGEST_TEXT,
    MOST_COLUMNS,
    MOST_VALUES,
    SHOWN,
    STRICT,
    check_unchanged,
    digest_of_content,
    integers,
    parsed,
    valid,
    written,
)
from privacyfunnel.protocols.kept import Likeness, Precision
from privacyfunnel.protocols.noise_in_file import NoiseInFile, noise_in, plain_noise
from privacyfunnel.protocols.protocol import Fitted, Objective, Protocol
from privacyfunnel.protocols.published import published

SCHEMA = "privacyfunnel-protocol/3"


class _Block(BaseModel):
    model_config = STRICT

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
    variants: tuple[int, ...] | None = Field(min_length=1, max_length=MOST_VALUES, default=None)
    exact: tuple[str, ...] = Field(max_length=MOST_COLUMNS, default=())


class _Precision(BaseModel):
    model_config = STRICT

    tables: tuple[tuple[str, ...], ...] = Field(min_length=1, max_length=MOST_VALUES)
    give_up: float = Field(gt=0, lt=1)
    variance: float = Field(ge=0, allow_inf_nan=False)
    variance_bound: float | None = Field(ge=0, allow_inf_nan=False)


class LikenessInFile(BaseModel):
    """What a faithful release leaves as it was."""

    model_config = STRICT

    fidelity: float = Field(ge=0, le=1)
    fidelity_bound: float = Field(ge=0, le=1)
    cells_unchanged: float = Field(ge=0, le=1)
    rows_unchanged: float = Field(ge=0, le=1)
    weights: tuple[tuple[str, float], ...] = Field(max_length=MOST_COLUMNS)


class _File(BaseModel):
    model_config = STRICT

    schema_: Literal["privacyfunnel-protocol/3"] = Field(alias="schema")
    guarantee: str = Field(max_length=LONGEST_TEXT)
    promise: dict[str, Any]
    fitted: Fitted
    people: int | None = Field(ge=1)
    at_least: int = Field(ge=0)
    secret: str = Field(max_length=LONGEST_TEXT)
    secret_readings: tuple[Reading, ...] = Field(max_length=MOST_COLUMNS)
    utility_nats: float = Field(ge=0, allow_inf_nan=False)
    upper_bound_nats: float = Field(ge=0, allow_inf_nan=False)
    entropy_nats: float = Field(ge=0, allow_inf_nan=False)
    objective: Objective
    likeness: LikenessInFile | None
    how: str = Field(max_length=LONGEST_TEXT)
    blocks: tuple[_Block]
    noise: NoiseInFile | None
    precision: _Precision | None = None
    aim: AimInFile | None = None
    digest: str = Field(max_length=LONGEST_DIGEST)


def to_text(protocol: Protocol) -> str:
    """The protocol as the text of its file."""
    protocol = published(protocol)
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "guarantee": protocol.notion.words(),
        "promise": protocol.notion.as_dict(),
        "fitted": protocol.fitted,
        "people": protocol.people,
        "at_least": protocol.at_least,
        "secret": protocol.secret,
        "secret_readings": [reading.model_dump() for reading in protocol.secret_readings],
        "utility_nats": float(protocol.utility),
        "upper_bound_nats": float(protocol.upper_bound),
        "entropy_nats": float(protocol.entropy),
        "objective": protocol.objective,
        "likeness": asdict(protocol.likeness) if protocol.likeness else None,
        "how": protocol.how,
        "blocks": [_plain_block(protocol.block)],
        "noise": plain_noise(protocol.noise) if protocol.noise is not None else None,
        **({"precision": asdict(protocol.precision)} if protocol.precision is not None else {}),
        **({"aim": protocol.aim.as_dict()} if protocol.aim is not None else {}),
    }
    return written({**content, "digest": digest_of_content(content)})


def from_text(text: str, name: str = "the protocol") -> Protocol:
    """The protocol that `to_text` wrote."""
    content = parsed(text, name)
    if content["schema"] != SCHEMA:
        raise InvalidProtocol(
            f"{name} has the schema {str(content['schema'])[:SHOWN]!r}; this version reads {SCHEMA!r}"
        )
    check_unchanged(content, text, name)
    return valid(lambda: _to_protocol(_File.model_validate_json(text)), name)


def digest_of(protocol: Protocol) -> str:
    """The digest that the file of a single release carries."""
    return str(parsed(to_text(protocol), "the protocol")["digest"])


def _plain_block(block: Block) -> dict[str, Any]:
    return {
        "columns": [column.model_dump() for column in block.columns],
        "values": block.codes.tolist(),
        "outputs": block.channel.n_outputs,
        "channel": plain_channel(block.channel),
        "labels": block.labels.tolist(),
        "marginal": block.marginal.tolist(),
        "draw": block.draw.tolist() if block.draw is not None else None,
        "nearest": block.nearest,
        **({"variants": block.variants.tolist()} if block.variants is not None else {}),
        **({"exact": list(block.exact)} if block.exact else {}),
    }


def _to_protocol(file: _File) -> Protocol:
    notion = notion_from(file.promise)
    if file.guarantee != notion.words():
        raise InvalidProtocol("the guarantee in words is not that of the promise")
    if file.utility_nats > file.upper_bound_nats:
        raise InvalidProtocol("the utility is above its bound")
    if file.secret_readings and file.secret != " and ".join(reading.name for reading in file.secret_readings):
        raise InvalidProtocol("the secret that is named is not the one that is read")
    _check_secrets(notion, [reading.name for reading in file.secret_readings])
    names = [column.name for column in file.blocks[0].columns]
    if len(set(names)) < len(names):
        raise InvalidProtocol("an attribute is released twice")
    return Protocol(
        notion,
        _to_block(file.blocks[0]),
        file.utility_nats,
        file.upper_bound_nats,
        file.entropy_nats,
        file.how,
        file.secret,
        file.secret_readings,
        fitted=file.fitted,
        likeness=_to_likeness(file, names),
        people=file.people,
        at_least=file.at_least,
        noise=_to_noise(file),
        precision=_to_precision(file, names),
        aim=aim_in(file.aim, file.fitted == "private counts"),
    )


def _check_secrets(notion: Notion, read: list[str]) -> None:
    """Refuse promises about several secrets in another order than theirs, in which the public audit takes them."""
    plain = notion.promise if isinstance(notion, Robust) else notion
    if isinstance(plain, Promises) and read and [name for name, _ in plain.each] != read:
        raise InvalidProtocol("the promises are not about the secrets that were read, in their order")


def _to_precision(file: _File, names: list[str]) -> Precision | None:
    """What readers of any table get; they ask for columns that are released."""
    found = file.precision
    if found is None:
        return None
    if file.objective != "information" or {name for table in found.tables for name in table} - set(names):
        raise InvalidProtocol("what readers ask for does not fit the columns or the objective")
    return Precision(found.tables, found.give_up, found.variance, found.variance_bound)


def _to_likeness(file: _File, names: list[str]) -> Likeness | None:
    """What a faithful release leaves as it was; its outputs must be the values themselves."""
    found = likeness_in(file.likeness, file.objective, names)
    if found is not None and file.blocks[0].labels != tuple(range(len(file.blocks[0].values))):
        raise InvalidProtocol("the outputs of a faithful release are the values themselves, in order")
    return found


def likeness_in(found: LikenessInFile | None, objective: Objective, names: Sequence[str]) -> Likeness | None:
    """What a release of the attributes `names` leaves as it was, if it is faithful."""
    if (found is None) != (objective == "information"):
        raise InvalidProtocol("the objective and what is said of it do not fit together")
    if found is None:
        return None
    if found.fidelity > found.fidelity_bound:
        raise InvalidProtocol("the fidelity is above its bound")
    if any(name not in names or not 0 < weight < math.inf for name, weight in found.weights):
        raise InvalidProtocol("the weights are not positive numbers for attributes")
    return Likeness(**found.model_dump())


def _to_noise(file: _File) -> Noise | None:
    """The noisy counts, for the columns that are released."""
    return noise_in(file.noise, file.fitted, file.people, file.blocks[0].columns)


def _to_block(block: _Block) -> Block:
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
