"""The protocol file: one JSON. It is data, checked strictly, and refused if anything changed.

One envelope for every kind of protocol: promise, provenance and what is kept in its head, and the steps that draw
rows in its chain. A protocol that follows an earlier release holds that one's file, with its digest, which its own
digest covers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, Field

from privacyfunnel.distribution.column import Reading
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import notion_from
from privacyfunnel.promises.robust import Robust
from privacyfunnel.promises.several import Promises
from privacyfunnel.protocols.aim import AimInFile, aim_in
from privacyfunnel.protocols.channel_in_file import ChannelInFile, block_in, plain_block
from privacyfunnel.protocols.fill_in_file import FillInFile, checked_noise, fill_in, plain_fill
from privacyfunnel.protocols.history_in_file import HistoryInFile, histories_in, plain_histories
from privacyfunnel.protocols.json_file import (
    LONGEST_DIGEST,
    LONGEST_TEXT,
    MOST_COLUMNS,
    MOST_VALUES,
    SCHEMA,
    STRICT,
    check_unchanged,
    digest_of_content,
    parsed,
    text_in,
    valid,
    written,
)
from privacyfunnel.protocols.kept import Likeness, Precision
from privacyfunnel.protocols.noise_in_file import NoiseInFile, noise_in, plain_noise
from privacyfunnel.protocols.protocol import Fitted, Objective, Protocol
from privacyfunnel.protocols.published import published
from privacyfunnel.protocols.step import Kind, Step
from privacyfunnel.protocols.wide.model_in_file import ModelInFile, model_in, plain_model, plain_table_noise

MOST_RELEASES = 100
"""A file that follows more was made to exhaust us."""
PLAIN: dict[Kind, Callable[[Any], dict[str, Any]]] = {
    "channel": plain_block,
    "by_history": plain_histories,
    "by_model": plain_model,
}
"""How a step stands in a file."""


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


StepInFile = Annotated[ChannelInFile | HistoryInFile | ModelInFile, Field(discriminator="step")]
"""The step that is certified."""


class EnvelopeInFile(BaseModel):
    """A protocol file of privacyfunnel: promise, provenance and what is kept, and in `chain` what draws rows."""

    model_config = STRICT

    schema_: Literal["privacyfunnel/1"] = Field(alias="schema")
    guarantee: str = Field(max_length=LONGEST_TEXT)
    """The promise in words."""
    promise: dict[str, Any]
    fitted: Fitted
    people: int | None = Field(ge=1)
    at_least: int = Field(ge=0)
    secret: str = Field(max_length=LONGEST_TEXT)
    secret_readings: tuple[Reading, ...] = Field(max_length=MOST_COLUMNS)
    objective: Objective
    how: str = Field(max_length=LONGEST_TEXT)
    utility_nats: float = Field(ge=0, allow_inf_nan=False)
    upper_bound_nats: float = Field(ge=0, allow_inf_nan=False)
    entropy_nats: float = Field(ge=0, allow_inf_nan=False)
    likeness: LikenessInFile | None
    precision: _Precision | None
    aim: AimInFile | None
    noise: NoiseInFile | None
    chain: tuple[StepInFile] | tuple[StepInFile, FillInFile]
    """How rows are drawn: from a listed channel, from one for every history, or by a model. What is filled then."""
    before: dict[str, Any] | None
    """The file of the release before, of a step by_history."""
    digest: str = Field(max_length=LONGEST_DIGEST)
    """SHA-256 of everything before it."""


READ: dict[Kind, Callable[[Any, EnvelopeInFile, Protocol | None], Step]] = {
    "channel": lambda found, file, before: block_in(found),
    "by_history": lambda found, file, before: histories_in(found, cast(Protocol, before)),
    "by_model": lambda found, file, before: model_in(found, file.noise, file.people),
}
"""How a step is read, checked, out of its file and what it follows."""


def to_text(protocol: Protocol) -> str:
    """The protocol as the text of its file."""
    return written(content_of(protocol))


def digest_of(protocol: Protocol) -> str:
    """The digest that the protocol's file carries."""
    return str(content_of(protocol)["digest"])


def content_of(protocol: Protocol) -> dict[str, Any]:
    """What stands in the protocol's file."""
    told = published(protocol)
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "guarantee": told.notion.words(),
        "promise": told.notion.as_dict(),
        "fitted": told.fitted,
        "people": told.people,
        "at_least": told.at_least,
        "secret": told.secret,
        "secret_readings": [reading.model_dump() for reading in told.secret_readings],
        "objective": told.objective,
        "how": told.how,
        "utility_nats": float(told.utility),
        "upper_bound_nats": float(told.upper_bound),
        "entropy_nats": float(told.entropy),
        "likeness": asdict(told.likeness) if told.likeness else None,
        "precision": asdict(told.precision) if told.precision is not None else None,
        "aim": told.aim.as_dict() if told.aim is not None else None,
        "noise": plain_noise(told.noise) if told.noise is not None else _noise_of_step(told.step),
        "chain": [PLAIN[told.step.kind](told.step), *([plain_fill(told.fill)] if told.fill is not None else [])],
        "before": content_of(told.before) if told.before is not None else None,
    }
    return {**content, "digest": digest_of_content(content)}


def _noise_of_step(step: Step) -> dict[str, Any] | None:
    return plain_table_noise(step.by_model) if step.spent is not None else None


def load(path: str | Path) -> Protocol:
    """The protocol in a file; an edited, broken or foreign file is refused."""
    return from_text(text_in(path), str(path))


def from_text(text: str, name: str = "the protocol", most: int = MOST_RELEASES) -> Protocol:
    """The protocol that `to_text` wrote, which follows fewer than so many releases."""
    check_unchanged(parsed(text, name), text, name)
    if most <= 0:
        raise InvalidProtocol(f"{name} follows too many releases")
    return valid(lambda: _to_protocol(EnvelopeInFile.model_validate_json(text), name, most), name)


def _to_protocol(file: EnvelopeInFile, name: str, most: int) -> Protocol:
    notion, found = notion_from(file.promise), file.chain[0]
    names = [column.name for column in found.columns]
    _check_head(file, notion, names)
    before = None
    if file.before is not None:
        before = from_text(written(file.before), f"{name}, what it follows", most - 1)
    kept = Protocol(
        notion,
        _step(found, file, before),
        file.utility_nats,
        file.upper_bound_nats,
        file.entropy_nats,
        file.how,
        file.secret,
        file.secret_readings,
        fitted=file.fitted,
        likeness=_likeness(file, names),
        people=file.people,
        at_least=file.at_least,
        noise=None if found.step == "by_model" else noise_in(file.noise, file.people, found.columns),
        precision=_precision(file, names),
        aim=aim_in(file.aim, file.fitted == "private counts" and found.step != "by_history"),
        before=before,
    )
    return kept if len(file.chain) == 1 else _filled(kept, file.chain[1])


def _filled(kept: Protocol, found: FillInFile) -> Protocol:
    """The protocol with its fill, whose noise comes on top of that of what is kept."""
    before = kept.spent
    if before is None:
        raise InvalidProtocol("filled columns belong to private fits")
    return replace(kept, fill=checked_noise(fill_in(found), before.epsilon, kept.notion.epsilon))


def _step(found: ChannelInFile | HistoryInFile | ModelInFile, file: EnvelopeInFile, before: Protocol | None) -> Step:
    """The step, checked; one that follows something is of that."""
    if (before is not None) != (found.step == "by_history"):
        raise InvalidProtocol("a channel for every history follows an earlier release, and nothing else does")
    return READ[found.step](found, file, before)


def _check_head(file: EnvelopeInFile, notion: Notion, names: Sequence[str]) -> None:
    """Refuse what contradicts itself."""
    if file.promise != json.loads(json.dumps(notion.as_dict())):  # in which lists are lists
        raise InvalidProtocol("the promise is not written as it is read")
    if file.guarantee != notion.words():
        raise InvalidProtocol("the guarantee in words is not that of the promise")
    if file.utility_nats > file.upper_bound_nats:
        raise InvalidProtocol("the utility is above its bound")
    if file.secret_readings and file.secret != " and ".join(reading.name for reading in file.secret_readings):
        raise InvalidProtocol("the secret that is named is not the one that is read")
    _check_secrets(notion, [reading.name for reading in file.secret_readings])
    if len(set(names)) < len(names):
        raise InvalidProtocol("an attribute is released twice")
    if (file.noise is None) == (file.fitted == "private counts"):
        raise InvalidProtocol("noisy counts belong to private fits, and to no others")
    if file.noise is not None and {reading.name for reading in file.secret_readings} & set(names):
        raise InvalidProtocol("a private fit does not release the secret itself, and this one says that it does")


def _check_secrets(notion: Notion, read: list[str]) -> None:
    """Refuse promises about several secrets in another order than theirs, in which the public audit takes them."""
    plain = notion.promise if isinstance(notion, Robust) else notion
    if isinstance(plain, Promises) and read and [name for name, _ in plain.each] != read:
        raise InvalidProtocol("the promises are not about the secrets that were read, in their order")


def _precision(file: EnvelopeInFile, names: Sequence[str]) -> Precision | None:
    """What readers of any table get; they ask for columns that are released."""
    found = file.precision
    if found is None:
        return None
    asked = {name for table in found.tables for name in table}
    if (file.objective, file.chain[0].step) != ("information", "channel") or asked - set(names):
        raise InvalidProtocol("what readers ask for does not fit the columns or the objective")
    return Precision(found.tables, found.give_up, found.variance, found.variance_bound)


def _likeness(file: EnvelopeInFile, names: Sequence[str]) -> Likeness | None:
    """What a faithful release leaves as it was; the outputs of a listed channel must be the values themselves."""
    found, step = file.likeness, file.chain[0]
    if (found is None) != (file.objective == "information"):
        raise InvalidProtocol("the objective and what is said of it do not fit together")
    if found is None:
        return None
    if found.fidelity > found.fidelity_bound:
        raise InvalidProtocol("the fidelity is above its bound")
    if any(name not in names or not 0 < weight < math.inf for name, weight in found.weights):
        raise InvalidProtocol("the weights are not positive numbers for attributes")
    if step.step == "channel" and step.labels != tuple(range(len(step.values))):
        raise InvalidProtocol("the outputs of a faithful release are the values themselves, in order")
    return Likeness(**found.model_dump())
