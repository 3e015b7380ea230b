"""The step "by_model" in a file: noisy tables, the model, its rule or list, and the digest of what follows."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.gaussian import MOST_TABLES, GaussianNoise
from privacyfunnel.distribution.laplace_split import LaplaceNoise
from privacyfunnel.distribution.marginals import Marginals
from privacyfunnel.distribution.noise import MOST_PEOPLE
from privacyfunnel.distribution.pair_model import PairModel
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.protocols.json_file import LONGEST_DIGEST, MOST_COLUMNS, STRICT
from privacyfunnel.protocols.noise_in_file import NoisyCells, NoisyTables
from privacyfunnel.protocols.wide.by_model import ByModel
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
from privacyfunnel.protocols.wide.rule import SHARE_BITS, Rule
from privacyfunnel.typing import Integers

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


class GroupsInFile(BaseModel):
    """Pairs of values, for two values of the secret."""

    model_config = STRICT

    kind: Literal["groups"]
    low: float = Field(ge=0, le=1)
    high: float = Field(ge=0, le=1)
    cuts: tuple[float, ...] = Field(min_length=1, max_length=MOST_CLASSES)
    to_low: tuple[int, ...] = Field(max_length=MOST_CLASSES + 1)
    to_high: tuple[int, ...] = Field(max_length=MOST_CLASSES + 1)
    order: tuple[int, ...] = Field(min_length=1, max_length=MOST_COLUMNS)


class MixtureInFile(BaseModel):
    """Classes of values that are mixed, and how."""

    model_config = STRICT

    classes: tuple[int, ...] = Field(min_length=2, max_length=MOST_MEMBERS)
    proportions: tuple[float, ...] = Field(min_length=1, max_length=MOST_MEMBERS)
    shares: tuple[int, ...] = Field(min_length=2, max_length=MOST_MEMBERS)


class MixturesInFile(BaseModel):
    """Larger groups of values, for more of them."""

    model_config = STRICT

    kind: Literal["mixtures"]
    prior: tuple[float, ...] = Field(min_length=3, max_length=MOST_SECRETS)
    up: float | None = Field(gt=0, allow_inf_nan=False)
    down: float | None = Field(gt=0, allow_inf_nan=False)
    apart: float | None = Field(gt=0, allow_inf_nan=False)
    centres: tuple[tuple[float, ...], ...] = Field(min_length=1, max_length=MOST_CLASSES)
    stages: tuple[tuple[MixtureInFile, ...], ...] = Field(max_length=MOST_STAGES)
    reaches: tuple[int, ...] = Field(max_length=MOST_STAGES)
    to_rest: tuple[int, ...] = Field(max_length=MOST_CLASSES)
    spare_bits: int = Field(ge=ALL_SPARE, le=NO_SPARE)
    order: tuple[int, ...] = Field(min_length=1, max_length=MOST_COLUMNS)


class ListInFile(BaseModel):
    """For every value, what its rows are released as, and how much of them."""

    model_config = STRICT

    kind: Literal["list"]
    secrets: int = Field(ge=2, le=MOST_SECRETS)
    targets: tuple[tuple[int, ...], ...] = Field(min_length=1, max_length=MOST_VALUES)
    weights: tuple[tuple[int, ...], ...] = Field(min_length=1, max_length=MOST_VALUES)


class TableInFile(BaseModel):
    """A table of noisy counts of one column or two with the secret, in C order."""

    model_config = STRICT

    columns: tuple[int, ...] = Field(min_length=1, max_length=2)
    people: tuple[Annotated[int, Field(ge=-MOST_COUNT, le=MOST_COUNT)], ...] = Field(min_length=1)


class ModelInFile(BaseModel):
    """A model, and how it redraws rows."""

    model_config = STRICT

    step: Literal["by_model"]
    columns: tuple[Column, ...] = Field(min_length=1, max_length=MOST_COLUMNS)
    tables: tuple[TableInFile, ...] = Field(max_length=MOST_TABLES)
    exponent: int
    factors: tuple[tuple[int, ...], ...]
    rule: Annotated[GroupsInFile | MixturesInFile | ListInFile, Field(discriminator="kind")]
    groups: str = Field(max_length=LONGEST_DIGEST)


def plain_model(step: ByModel) -> dict[str, Any]:
    """The model and its rule as plain data."""
    return {
        "step": step.kind,
        "columns": [column.model_dump() for column in step.columns],
        "tables": [
            {"columns": list(own), "people": table.ravel().tolist()} for own, table in step.tables.drawn.items()
        ],
        "exponent": step.model.exponent,
        "factors": [table.ravel().tolist() for table in step.model.tables],
        "rule": {"kind": _kind(step.rule), **asdict(step.rule)},
        "groups": step.groups,
    }


def plain_table_noise(step: ByModel) -> dict[str, Any] | None:
    """What noise its tables have."""
    if step.epsilon is None:
        return None
    return {"of": "tables", "epsilon": step.epsilon, "declared": step.declared, "drawn": step.noise_stated()}


def model_in(found: ModelInFile, stated: NoisyCells | NoisyTables | None, people: int | None) -> ByModel:
    """A model whose parts fit together; whether it follows from its tables is for the proof."""
    if isinstance(stated, NoisyCells):
        raise InvalidProtocol("noisy counts of combinations belong to channels that are listed, and not to models")
    if people is None or people > MOST_PEOPLE:
        raise InvalidProtocol("a model does not say of how many people it is, or of too many")
    sizes = tuple(len(column) for column in found.columns)
    rule, noise, epsilon = _any_rule(found.rule, sizes), _noise(stated), None if stated is None else stated.epsilon
    tables = _tables(found, people, noise, epsilon, _secrets(rule))
    model = _model(found, tables, _secrets(rule))
    declared = stated is not None and stated.declared
    return ByModel(found.columns, tables, model, rule, epsilon, noise, declared, found.groups)


def _kind(rule: Rule | MixingRule | ListRule) -> str:
    if isinstance(rule, ListRule):
        return "list"
    return "mixtures" if isinstance(rule, MixingRule) else "groups"


def _noise(stated: NoisyTables | None) -> TableNoise:
    if stated is None:
        return None
    own = stated.drawn.model_dump(exclude={"kind"})
    return GaussianNoise(**own) if stated.drawn.kind == "discrete Gaussian" else LaplaceNoise(**own)


def _tables(found: ModelInFile, people: int, noise: TableNoise, epsilon: float | None, secrets: int) -> Marginals:
    """The noisy tables as they were drawn, and what follows from them."""
    sizes = tuple(len(column) for column in found.columns)
    check_drawn([table.columns for table in found.tables], noise, epsilon, len(sizes))
    drawn = {own.columns: _shaped(own.people, secrets, sizes, own.columns) for own in found.tables}
    return Marginals.of(people, sizes, drawn, *variances(noise, epsilon, len(sizes)))


def _model(found: ModelInFile, tables: Marginals, secrets: int) -> PairModel:
    """Its factors: of every column, and of every pair that was counted."""
    sizes, sets = tables.sizes, (*((j,) for j in range(len(tables.sizes))), *tables.pairs)
    if len(found.factors) != len(sets) or not all(0 < factor < 2**32 for own in found.factors for factor in own):
        raise InvalidProtocol("the model does not have factors of every column and of every pair that was counted")
    factors = [_shaped(own, secrets, sizes, columns) for own, columns in zip(found.factors, sets, strict=True)]
    return PairModel(sizes, sets, tuple(factors), found.exponent)


def _shaped(entries: tuple[int, ...], secrets: int, sizes: tuple[int, ...], columns: tuple[int, ...]) -> Integers:
    shape = (secrets, *(sizes[j] for j in columns))
    if len(entries) != math.prod(shape):
        raise InvalidProtocol("a table does not fit its columns")
    return np.array(entries, dtype=np.int64).reshape(shape)


def _any_rule(rule: GroupsInFile | MixturesInFile | ListInFile, sizes: tuple[int, ...]) -> Rule | MixingRule | ListRule:
    if isinstance(rule, ListInFile):
        found = ListRule(rule.secrets, rule.targets, rule.weights)
        check_list(found, math.prod(sizes))
        return found
    return _rule(rule, len(sizes)) if isinstance(rule, GroupsInFile) else _mixing_rule(rule, len(sizes))


def _secrets(rule: Rule | MixingRule | ListRule) -> int:
    """How many values of the secret a rule is for."""
    if isinstance(rule, ListRule):
        return rule.secrets
    return len(rule.prior) if isinstance(rule, MixingRule) else 2


def _rule(rule: GroupsInFile, columns: int) -> Rule:
    classes, whole = len(rule.cuts) + 1, 2**SHARE_BITS
    if len(rule.to_low) != classes or len(rule.to_high) != classes or list(rule.cuts) != sorted(set(rule.cuts)):
        raise InvalidProtocol("the classes of the rule and their shares do not fit together")
    if any(not 0 <= share <= whole for share in (*rule.to_low, *rule.to_high)):
        raise InvalidProtocol("a share of the rule is none")
    if not rule.low < rule.high or sorted(rule.order) != list(range(columns)):
        raise InvalidProtocol("the borders or the columns of the rule are in disorder")
    return Rule(**rule.model_dump(exclude={"kind"}))


def _mixing_rule(rule: MixturesInFile, columns: int) -> MixingRule:
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
    own = {key: value for key, value in dict(rule).items() if key != "kind"}
    stages = tuple(tuple(Mixture(**one.model_dump()) for one in stage) for stage in rule.stages)
    return MixingRule(**{**own, "stages": stages})
