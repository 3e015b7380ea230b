"""The file of a wide protocol: columns, the model's tables, the rule or the list, and the digest of what follows."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from privacyfunnel.distribution.column import Column, Reading
from privacyfunnel.distribution.gaussian import LEAST_SIGMA, MOST_SIGMA, MOST_TABLES, GaussianNoise
from privacyfunnel.distribution.noise import LEAST_DELTA, LEAST_EPSILON, MOST_DELTA, MOST_EPSILON, MOST_PEOPLE
from privacyfunnel.distribution.pair_model import PairModel
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.promises.notions import notion_from
from privacyfunnel.protocols.json_file import (
    LONGEST_DIGEST,
    LONGEST_TEXT,
    MOST_COLUMNS,
    SHOWN,
    check_unchanged,
    digest_of_content,
    parsed,
    text_in,
    valid,
    written,
)
from privacyfunnel.protocols.wide.listed import MOST_VALUES, ListRule, check_list
from privacyfunnel.protocols.wide.mixing_rule import (
    ALL_SPARE,
    MOST_MEMBERS,
    MOST_SECRETS,
    NO_SPARE,
    MixingRule,
    Mixture,
)
from privacyfunnel.protocols.wide.protocol import ColumnCounts, Kept, WideProtocol
from privacyfunnel.protocols.wide.rule import SHARE_BITS, Rule

SCHEMA, GAUSSIAN_SCHEMA = "privacyfunnel-wide/2", "privacyfunnel-wide/3"
"""The second states Gaussian noise, and is written where there is some."""
MOST_CLASSES = 10_000
"""Of P(s|x): ours are some sixty, and a hundred with more than two secrets."""
MOST_STAGES = 20
"""Of mixing: ours are twelve."""
MOST_LIFT = 1e18
"""Of a centre: no secret is rarer than one part of all weights. Of a proportion, too."""
LEAST_PRIOR = 1e-18
"""Of a value of the secret: one part of all weights."""
MOST_COUNT = 2**50
"""Of people, with noise: far beyond what there can be."""
STRICT = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Rule(BaseModel):
    model_config = STRICT

    low: float = Field(ge=0, le=1)
    high: float = Field(ge=0, le=1)
    cuts: tuple[float, ...] = Field(min_length=1, max_length=MOST_CLASSES)
    to_low: tuple[int, ...] = Field(max_length=MOST_CLASSES + 1)
    to_high: tuple[int, ...] = Field(max_length=MOST_CLASSES + 1)
    order: tuple[int, ...] = Field(min_length=1, max_length=MOST_COLUMNS)


class _Mixture(BaseModel):
    model_config = STRICT

    classes: tuple[int, ...] = Field(min_length=2, max_length=MOST_MEMBERS)
    proportions: tuple[float, ...] = Field(min_length=1, max_length=MOST_MEMBERS)
    shares: tuple[int, ...] = Field(min_length=2, max_length=MOST_MEMBERS)


class _MixingRule(BaseModel):
    model_config = STRICT

    prior: tuple[float, ...] = Field(min_length=3, max_length=MOST_SECRETS)
    up: float | None = Field(gt=0, allow_inf_nan=False)
    down: float | None = Field(gt=0, allow_inf_nan=False)
    apart: float | None = Field(gt=0, allow_inf_nan=False)
    centres: tuple[tuple[float, ...], ...] = Field(min_length=1, max_length=MOST_CLASSES)
    stages: tuple[tuple[_Mixture, ...], ...] = Field(max_length=MOST_STAGES)
    reaches: tuple[int, ...] = Field(max_length=MOST_STAGES)
    to_rest: tuple[int, ...] = Field(max_length=MOST_CLASSES)
    spare_bits: int = Field(ge=ALL_SPARE, le=NO_SPARE)
    order: tuple[int, ...] = Field(min_length=1, max_length=MOST_COLUMNS)


class _ListRule(BaseModel):
    model_config = STRICT

    secrets: int = Field(ge=2, le=MOST_SECRETS)
    targets: tuple[tuple[int, ...], ...] = Field(min_length=1, max_length=MOST_VALUES)
    weights: tuple[tuple[int, ...], ...] = Field(min_length=1, max_length=MOST_VALUES)


class _Kept(BaseModel):
    model_config = STRICT

    entropy: float = Field(ge=0, allow_inf_nan=False)
    information: float = Field(ge=0, allow_inf_nan=False)
    rows: float = Field(ge=0, le=1)
    columns: tuple[float, ...] = Field(min_length=1, max_length=MOST_COLUMNS)


class _Counts(BaseModel):
    model_config = STRICT

    people: tuple[Annotated[int, Field(ge=-MOST_COUNT, le=MOST_COUNT)], ...] = Field(min_length=1)
    variance: float = Field(ge=0, allow_inf_nan=False)


class _Table(BaseModel):
    model_config = STRICT

    columns: tuple[int, ...] = Field(min_length=1, max_length=2)
    entries: tuple[int, ...] = Field(min_length=1)


class _Noise(BaseModel):
    model_config = STRICT

    kind: Literal["discrete Gaussian"]
    sigma: float = Field(ge=LEAST_SIGMA, le=MOST_SIGMA)
    tables: int = Field(ge=1, le=MOST_TABLES)
    delta: float = Field(ge=LEAST_DELTA, le=MOST_DELTA)
    choosing: float = Field(ge=0, le=MOST_EPSILON)


class _File(BaseModel):
    model_config = STRICT

    schema_: Literal["privacyfunnel-wide/2", "privacyfunnel-wide/3"] = Field(alias="schema")
    guarantee: str = Field(max_length=LONGEST_TEXT)
    promise: dict[str, Any]
    secret: str = Field(max_length=LONGEST_TEXT)
    secret_readings: tuple[Reading, ...] = Field(max_length=MOST_COLUMNS)
    people: int = Field(ge=1, le=MOST_PEOPLE)
    epsilon: float | None = Field(ge=LEAST_EPSILON, le=MOST_EPSILON)
    noise: _Noise | None = None
    declared: bool
    columns: tuple[Column, ...] = Field(min_length=1, max_length=MOST_COLUMNS)
    exponent: int
    tables: tuple[_Table, ...] = Field(min_length=1)
    rule: _Rule | _MixingRule | _ListRule
    kept: _Kept
    groups: str = Field(max_length=LONGEST_DIGEST)
    counts: tuple[_Counts, ...] = Field(max_length=MOST_COLUMNS)
    digest: str = Field(max_length=LONGEST_DIGEST)


def to_text(protocol: WideProtocol) -> str:
    """The protocol as the text of its file."""
    content: dict[str, Any] = {
        "schema": SCHEMA if protocol.noise is None else GAUSSIAN_SCHEMA,
        "guarantee": protocol.notion.words(),
        "promise": protocol.notion.as_dict(),
        "secret": protocol.secret,
        "secret_readings": [reading.model_dump() for reading in protocol.secret_readings],
        "people": protocol.people,
        "epsilon": protocol.epsilon,
        **({} if protocol.noise is None else {"noise": protocol.noise_stated()}),
        "declared": protocol.declared,
        "columns": [column.model_dump() for column in protocol.columns],
        "exponent": protocol.model.exponent,
        "tables": [
            {"columns": list(own), "entries": table.ravel().tolist()}
            for own, table in zip(protocol.model.sets, protocol.model.tables, strict=True)
        ],
        "rule": asdict(protocol.rule),
        "kept": asdict(protocol.kept),
        "groups": protocol.groups,
        "counts": [{"people": list(own.people), "variance": own.variance} for own in protocol.counts],
    }
    return written({**content, "digest": digest_of_content(content)})


def load_wide(path: str | Path) -> WideProtocol:
    """The protocol in a file; an edited, broken or foreign one is refused."""
    return from_text(text_in(path), str(path))


def from_text(text: str, name: str = "the protocol") -> WideProtocol:
    """The protocol that `to_text` wrote."""
    content = parsed(text, name)
    if content["schema"] not in (SCHEMA, GAUSSIAN_SCHEMA):
        schemas = f"{SCHEMA} and {GAUSSIAN_SCHEMA}"
        raise InvalidProtocol(f"{name} has the schema {str(content['schema'])[:SHOWN]!r}; this version reads {schemas}")
    check_unchanged(content, text, name)
    return valid(lambda: _to_protocol(_File.model_validate_json(text)), name)


def _to_protocol(file: _File) -> WideProtocol:
    notion, names = notion_from(file.promise), [column.name for column in file.columns]
    if file.guarantee != notion.words():
        raise InvalidProtocol("the guarantee in words is not that of the promise")
    if file.secret != " and ".join(reading.name for reading in file.secret_readings):
        raise InvalidProtocol("the secret that is named is not the one that is read")
    if (file.noise is None) != (file.schema_ == SCHEMA):
        raise InvalidProtocol("the noise that is stated is not that of the schema")
    if len(set(names)) < len(names) or len(file.kept.columns) != len(names):
        raise InvalidProtocol("an attribute is released twice, or too much is said of them")
    sizes = tuple(len(column) for column in file.columns)
    rule = _any_rule(file.rule, sizes)
    return WideProtocol(
        notion,
        file.columns,
        _model(file, sizes, _secrets(rule)),
        rule,
        Kept(file.kept.entropy, file.kept.information, file.kept.rows, file.kept.columns),
        file.secret,
        file.secret_readings,
        file.people,
        file.epsilon,
        file.declared,
        file.groups,
        tuple(ColumnCounts(own.people, own.variance) for own in file.counts),
        None if file.noise is None else GaussianNoise(**file.noise.model_dump(exclude={"kind"})),
    )


def _model(file: _File, sizes: tuple[int, ...], secrets: int) -> PairModel:
    tables = []
    for table in file.tables:
        if any(not 0 <= j < len(sizes) for j in table.columns):
            raise InvalidProtocol("a table of the model is about a column that there is not")
        shape = (secrets, *(sizes[j] for j in table.columns))
        if len(table.entries) != int(np.prod(shape)) or not all(0 < entry < 2**32 for entry in table.entries):
            raise InvalidProtocol("a table of the model does not fit its columns")
        tables.append(np.array(table.entries, dtype=np.int64).reshape(shape))
    return PairModel(sizes, tuple(table.columns for table in file.tables), tuple(tables), file.exponent)


def _any_rule(rule: _Rule | _MixingRule | _ListRule, sizes: tuple[int, ...]) -> Rule | MixingRule | ListRule:
    if isinstance(rule, _ListRule):
        found = ListRule(rule.secrets, rule.targets, rule.weights)
        check_list(found, math.prod(sizes))
        return found
    return _rule(rule, len(sizes)) if isinstance(rule, _Rule) else _mixing_rule(rule, len(sizes))


def _secrets(rule: Rule | MixingRule | ListRule) -> int:
    """How many values of the secret a rule is for."""
    if isinstance(rule, ListRule):
        return rule.secrets
    return len(rule.prior) if isinstance(rule, MixingRule) else 2


def _rule(rule: _Rule, columns: int) -> Rule:
    classes, whole = len(rule.cuts) + 1, 2**SHARE_BITS
    if len(rule.to_low) != classes or len(rule.to_high) != classes or list(rule.cuts) != sorted(set(rule.cuts)):
        raise InvalidProtocol("the classes of the rule and their shares do not fit together")
    if any(not 0 <= share <= whole for share in (*rule.to_low, *rule.to_high)):
        raise InvalidProtocol("a share of the rule is none")
    if not rule.low < rule.high or sorted(rule.order) != list(range(columns)):
        raise InvalidProtocol("the borders or the columns of the rule are in disorder")
    return Rule(**rule.model_dump())


def _mixing_rule(rule: _MixingRule, columns: int) -> MixingRule:
    classes, whole = len(rule.centres), 2**SHARE_BITS
    if len(rule.reaches) != len(rule.stages) or any(reach < 1 for reach in rule.reaches):
        raise InvalidProtocol("the stages of the rule are in disorder")
    if any(len(centre) != len(rule.prior) for centre in rule.centres) or len(rule.to_rest) != classes:
        raise InvalidProtocol("the classes of the rule and their shares do not fit together")
    if not all(LEAST_PRIOR <= p < 1 for p in rule.prior) or not all(
        0 <= lift < MOST_LIFT for centre in rule.centres for lift in centre
    ):
        raise InvalidProtocol("a probability of the rule is none")
    if (rule.up, rule.down, rule.apart) == (None, None, None) or sorted(rule.order) != list(range(columns)):
        raise InvalidProtocol("the limits or the columns of the rule are in disorder")
    for one in (mixture for stage in rule.stages for mixture in stage):
        if len({len(one.classes), len(one.shares), len(one.proportions) + 1, len(set(one.classes))}) != 1:
            raise InvalidProtocol("a mixture of the rule does not fit together")
        if not all(0 <= k < classes for k in one.classes) or not all(0 < p < MOST_LIFT for p in one.proportions):
            raise InvalidProtocol("a mixture of the rule is of classes that there are not")
    shares = [*rule.to_rest, *(share for stage in rule.stages for mixture in stage for share in mixture.shares)]
    if any(not 0 <= share <= whole for share in shares):
        raise InvalidProtocol("a share of the rule is none")
    stages = tuple(tuple(Mixture(**one.model_dump()) for one in stage) for stage in rule.stages)
    return MixingRule(**{**dict(rule), "stages": stages})
