"""The file of a follow-up: as that of a single release, with a channel for every history, and what it follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from privacyfunnel.distribution.column import Column, Reading
from privacyfunnel.distribution.refinement import read_from
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.promises.notions import notion_from
from privacyfunnel.protocols.digits import multiple_of
from privacyfunnel.protocols.file import LikenessInFile, channel_in, likeness_in, plain_channel
from privacyfunnel.protocols.follow_up import FollowUp, Steps, length, most_outputs
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
)
from privacyfunnel.protocols.kept import Likeness
from privacyfunnel.protocols.noise_in_file import NoiseInFile, noise_in, plain_noise
from privacyfunnel.protocols.protocol import Fitted, Objective, Protocol

FAMILY = "privacyfunnel-follow-up/"
SCHEMA = "privacyfunnel-follow-up/1"


class _File(BaseModel):
    model_config = STRICT

    schema_: Literal["privacyfunnel-follow-up/1"] = Field(alias="schema")
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
    noise: NoiseInFile | None
    follows: str = Field(max_length=LONGEST_DIGEST)
    """The digest of the file of the release before."""
    before: dict[str, Any]
    """That file."""
    digest: str = Field(max_length=LONGEST_DIGEST)


def content_of(follow_up: FollowUp, before: dict[str, Any]) -> dict[str, Any]:
    """The content of a follow-up's file; `before` is that of the release before."""
    told, steps = published(follow_up), follow_up.steps
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "guarantee": told.notion.words(),
        "promise": told.notion.as_dict(),
        "fitted": told.fitted,
        "people": told.people,
        "at_least": told.at_least,
        "secret": told.secret,
        "secret_readings": [reading.model_dump() for reading in told.secret_readings],
        "utility_nats": float(told.utility),
        "upper_bound_nats": float(told.upper_bound),
        "entropy_nats": float(told.entropy),
        "objective": told.objective,
        "likeness": asdict(told.likeness) if told.likeness else None,
        "how": told.how,
        "columns": [column.model_dump() for column in steps.columns],
        "values": steps.codes.tolist(),
        "nearest": steps.nearest,
        "histories": steps.histories.tolist(),
        "inputs": [part.tolist() for part in np.split(steps.pairs[:, 1], steps.starts[1:-1])],
        "channel": plain_channel(steps.channel),
        "marginal": steps.marginal.tolist(),
        "noise": plain_noise(told.noise) if told.noise is not None else None,
        "follows": before["digest"],
        "before": before,
    }
    return {**content, "digest": digest_of_content(content)}


def published(follow_up: FollowUp) -> FollowUp:
    """The follow-up as its file tells it, with as many digits as its people support."""
    step, likeness = follow_up.step, follow_up.likeness
    if not step:
        return follow_up
    if likeness is not None:
        shares = likeness.fidelity, likeness.cells_unchanged, likeness.rows_unchanged
        kept, cells, rows = (multiple_of(share, step, up=False) for share in shares)
        most = min(1.0, multiple_of(likeness.fidelity_bound, step, up=True))
        likeness = Likeness(kept, most, cells, rows, likeness.weights)
    return follow_up.replaced(
        utility=multiple_of(follow_up.utility, step, up=False),
        upper_bound=multiple_of(follow_up.upper_bound, step, up=True),
        entropy=multiple_of(follow_up.entropy, step, up=True),
        likeness=likeness,
        step=0.0,
    )


def follow_up_in(text: str, name: str, before: Callable[[dict[str, Any]], Protocol], most: int) -> FollowUp:
    """The follow-up in the text of a file; `before` reads what it follows, of which there are at most so many."""
    content = parsed(text, name)
    if content["schema"] != SCHEMA:
        raise InvalidProtocol(
            f"{name} has the schema {str(content['schema'])[:SHOWN]!r}; this version reads {SCHEMA!r}"
        )
    check_unchanged(content, text, name)
    if most <= 0:
        raise InvalidProtocol(f"{name} follows too many releases")
    return valid(lambda: _read(_File.model_validate_json(text), before), name)


def _read(found: _File, before: Callable[[dict[str, Any]], Protocol]) -> FollowUp:
    notion, names = notion_from(found.promise), [column.name for column in found.columns]
    if found.guarantee != notion.words():
        raise InvalidProtocol("the guarantee in words is not that of the promise")
    if found.utility_nats > found.upper_bound_nats:
        raise InvalidProtocol("the utility is above its bound")
    if found.secret_readings and found.secret != " and ".join(reading.name for reading in found.secret_readings):
        raise InvalidProtocol("the secret that is named is not the one that is read")
    if len(set(names)) < len(names):
        raise InvalidProtocol("an attribute is released twice")
    if found.follows != found.before.get("digest"):
        raise InvalidProtocol("what it follows is not what it says it follows")
    protocol = before(found.before)
    if not set(protocol.attributes) <= set(names):
        raise InvalidProtocol("a column that was released before is not among its columns")
    for column in protocol.columns:
        read_from(found.columns[names.index(column.name)], column)  # refused unless it is cut as it was, or more finely
    return FollowUp(
        protocol,
        _steps(found, protocol),
        notion=notion,
        utility=found.utility_nats,
        upper_bound=found.upper_bound_nats,
        entropy=found.entropy_nats,
        how=found.how,
        secret=found.secret,
        secret_readings=found.secret_readings,
        fitted=found.fitted,
        likeness=likeness_in(found.likeness, found.objective, names),
        people=found.people,
        at_least=found.at_least,
        noise=noise_in(found.noise, found.fitted, found.people, found.columns, found.secret_readings),
    )


def _steps(found: _File, before: Protocol) -> Steps:
    """Channels whose parts fit together; all numbers are in range."""
    codes, histories = integers(found.values), integers(found.histories)
    sizes = [len(column) for column in found.columns]
    if codes.shape[1] != len(sizes) or (codes < 0).any() or (codes >= sizes).any():
        raise InvalidProtocol("a value has a number that its column does not have")
    if len(np.unique(codes, axis=0)) < len(codes):
        raise InvalidProtocol("the same values are listed twice")
    if histories.shape[1] != length(before) or (histories < 0).any() or (histories >= most_outputs(before)).any():
        raise InvalidProtocol("a history does not fit the releases before")
    if len(found.inputs) != len(histories) or sum(map(len, found.inputs)) != len(found.channel):
        raise InvalidProtocol("the histories, their inputs and the channel do not fit together")
    lengths = [len(part) for part in found.inputs]
    values = integers((tuple(x for part in found.inputs for x in part),))[0]
    pairs = np.column_stack([np.repeat(np.arange(len(histories)), lengths), values])
    channel, marginal = channel_in(found.channel, len(codes)), integers((found.marginal,))[0]
    return Steps(found.columns, codes, histories, pairs, channel, marginal, found.nearest)
