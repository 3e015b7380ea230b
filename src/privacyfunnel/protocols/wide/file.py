"""The file of a wide protocol: columns, noisy tables, the model, rule or list, and the digest of what follows."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from privacyfunnel.distribution.column import Column, Reading
from privacyfunnel.distribution.gaussian import LEAST_SIGMA, MOST_SIGMA, MOST_TABLES, GaussianNoise
from privacyfunnel.distribution.laplace_split import LaplaceNoise
from privacyfunnel.distribution.marginals import Marginals
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
from privacyfunnel.protocols.noise_in_file import check_secret_apart
from privacyfunnel.protocols.wide.listed import MOST_VALUES, ListRule, check_list
from privacyfunnel.protocols.wide.mixing_rule import (
    ALL_SPARE,
    MOST_MEMBERS,
    MOST_SECRETS,
    NO_SPARE,
    MixingRule,
    Mixture,
)
from privacyfunnel.protocols.wide.noisy_tables import TableNoise, check_drawn, variances
from privacyfunnel.protocols.wide.protocol import WideProtocol
from privacyfunnel.protocols.wide.rule import SHARE_BITS, Rule
from privacyfunnel.typing import Integers

SCHEMA = "privacyfunnel-wide/4"
MOST_CLASSES = 10_000
"""Of P(s|x): ours are some sixty, and a hundred with more than two secrets."""
MOST_STAGES = 20
"""Of mixing: ours are twelve."""
MOST_LIFT = 1e18
"""Of a centre: no secret is rarer than one part of all weights. Of a proportion, too."""
LEAST_PRIOR = 1e-18
"""Of a value of the secret: one part of all weights."""
MOST_COUNT = 2**35
"""Of people, with noise: more than there can be, and sums over all cells of a table fit 64 bits."""
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


class _Table(BaseModel):
    model_config = STRICT

    columns: tuple[int, ...] = Field(min_length=1, max_length=2)
    people: tuple[Annotated[int, Field(ge=-MOST_COUNT, le=MOST_COUNT)], ...] = Field(min_length=1)


class _Gaussian(BaseModel):
    model_config = STRICT

    kind: Literal["discrete Gaussian"]
    sigma: float = Field(ge=LEAST_SIGMA, le=MOST_SIGMA)
    tables: int = Field(ge=1, le=MOST_TABLES)
    delta: float = Field(ge=LEAST_DELTA, le=MOST_DELTA)
    choosing: float = Field(ge=0, le=MOST_EPSILON)


class _Laplace(BaseModel):
    model_config = STRICT

    kind: Literal["discrete Laplace"]
    choosing: float = Field(ge=0, le=MOST_EPSILON)


class _File(BaseModel):
    model_config = STRICT

    schema_: Literal["privacyfunnel-wide/4"] = Field(alias="schema")
    guarantee: str = Field(max_length=LONGEST_TEXT)
    promise: dict[str, Any]
    secret: str = Field(max_length=LONGEST_TEXT)
    secret_readings: tuple[Reading, ...] = Field(max_length=MOST_COLUMNS)
    people: int = Field(ge=1, le=MOST_PEOPLE)
    epsilon: float | None = Field(ge=LEAST_EPSILON, le=MOST_EPSILON)
    noise: Annotated[_Gaussian | _Laplace, Field(discriminator="kind")] | None
    declared: bool
    columns: tuple[Column, ...] = Field(min_length=1, max_length=MOST_COLUMNS)
    tables: tuple[_Table, ...] = Field(max_length=MOST_TABLES)
    exponent: int
    factors: tuple[tuple[int, ...], ...]
    rule: _Rule | _MixingRule | _ListRule
    groups: str = Field(max_length=LONGEST_DIGEST)
    digest: str = Field(max_length=LONGEST_DIGEST)


def to_text(protocol: WideProtocol) -> str:
    """The protocol as the text of its file."""
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "guarantee": protocol.notion.words(),
        "promise": protocol.notion.as_dict(),
        "secret": protocol.secret,
        "secret_readings": [reading.model_dump() for reading in protocol.secret_readings],
        "people": protocol.people,
        "epsilon": protocol.epsilon,
        "noise": protocol.noise_stated(),
        "declared": protocol.declared,
        "columns": [column.model_dump() for column in protocol.columns],
        "tables": [
            {"columns": list(own), "people": table.ravel().tolist()} for own, table in protocol.tables.drawn.items()
        ],
        "exponent": protocol.model.exponent,
        "factors": [table.ravel().tolist() for table in protocol.model.tables],
        "rule": asdict(protocol.rule),
        "groups": protocol.groups,
    }
    return written({**content, "digest": digest_of_content(content)})


def load_wide(path: str | Path) -> WideProtocol:
    """The protocol in a file; an edited, broken or foreign one is refused."""
    return from_text(text_in(path), str(path))


def from_text(text: str, name: str = "the protocol") -> WideProtocol:
    """The protocol that `to_text` wrote."""
    content = parsed(text, name)
    if content["schema"] != SCHEMA:
        raise InvalidProtocol(
            f"{name} has the schema {str(content['schema'])[:SHOWN]!r}; this version reads {SCHEMA}: fit again"
        )
    check_unchanged(content, text, name)
    return valid(lambda: _to_protocol(_File.model_validate_json(text)), name)


def _to_protocol(file: _File) -> WideProtocol:
    notion, names = notion_from(file.promise), [column.name for column in file.columns]
    if file.guarantee != notion.words():
        raise InvalidProtocol("the guarantee in words is not that of the promise")
    if file.secret != " and ".join(reading.name for reading in file.secret_readings):
        raise InvalidProtocol("the secret that is named is not the one that is read")
    if len(set(names)) < len(names):
        raise InvalidProtocol("an attribute is released twice")
    check_secret_apart(file.secret_readings, file.columns)
    sizes = tuple(len(column) for column in file.columns)
    rule = _any_rule(file.rule, sizes)
    noise = _noise(file)
    tables = _tables(file, noise, sizes, _secrets(rule))
    return WideProtocol(
        notion,
        file.columns,
        tables,
        _model(file, tables, _secrets(rule)),
        rule,
        file.secret,
        file.secret_readings,
        file.epsilon,
        noise,
        file.declared,
        file.groups,
    )


def _noise(file: _File) -> TableNoise:
    if file.noise is None:
        return None
    stated = file.noise.model_dump(exclude={"kind"})
    return GaussianNoise(**stated) if isinstance(file.noise, _Gaussian) else LaplaceNoise(**stated)


def _tables(file: _File, noise: TableNoise, sizes: tuple[int, ...], secrets: int) -> Marginals:
    """The noisy tables as they were drawn, and what follows from them."""
    check_drawn([table.columns for table in file.tables], noise, file.epsilon, len(sizes))
    drawn = {own.columns: _shaped(own.people, secrets, sizes, own.columns) for own in file.tables}
    return Marginals.of(file.people, sizes, drawn, *variances(noise, file.epsilon, len(sizes)))


def _model(file: _File, tables: Marginals, secrets: int) -> PairModel:
    """Its factors: of every column, and of every pair that was counted."""
    sizes, sets = tables.sizes, (*((j,) for j in range(len(tables.sizes))), *tables.pairs)
    if len(file.factors) != len(sets) or not all(0 < factor < 2**32 for own in file.factors for factor in own):
        raise InvalidProtocol("the model does not have factors of every column and of every pair that was counted")
    factors = [_shaped(own, secrets, sizes, columns) for own, columns in zip(file.factors, sets, strict=True)]
    return PairModel(sizes, sets, tuple(factors), file.exponent)


def _shaped(entries: tuple[int, ...], secrets: int, sizes: tuple[int, ...], columns: tuple[int, ...]) -> Integers:
    shape = (secrets, *(sizes[j] for j in columns))
    if len(entries) != math.prod(shape):
        raise InvalidProtocol("a table does not fit its columns")
    return np.array(entries, dtype=np.int64).reshape(shape)


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
