"""Noise in protocol files: noisy counts of combinations, or what noise the tables of a model have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.gaussian import LEAST_SIGMA, MOST_SIGMA, MOST_TABLES
from privacyfunnel.distribution.noise import LEAST_DELTA, LEAST_EPSILON, MOST_DELTA, MOST_EPSILON, MOST_PEOPLE, Noise
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.protocols.json_file import MOST_COLUMNS, MOST_VALUES, STRICT, integers


class GaussianInFile(BaseModel):
    """Discrete Gaussian noise on tables."""

    model_config = STRICT

    kind: Literal["discrete Gaussian"]
    sigma: float = Field(ge=LEAST_SIGMA, le=MOST_SIGMA)
    tables: int = Field(ge=1, le=MOST_TABLES)
    delta: float = Field(ge=LEAST_DELTA, le=MOST_DELTA)
    choosing: float = Field(ge=0, le=MOST_EPSILON)


class LaplaceInFile(BaseModel):
    """Discrete Laplace noise on tables."""

    model_config = STRICT

    kind: Literal["discrete Laplace"]
    choosing: float = Field(ge=0, le=MOST_EPSILON)


class NoisyCells(BaseModel):
    """Noisy counts of combinations of values."""

    model_config = STRICT

    of: Literal["cells"]
    epsilon: float = Field(ge=LEAST_EPSILON, le=MOST_EPSILON)
    delta: float = Field(ge=0, le=MOST_DELTA)
    people: int = Field(ge=1, le=MOST_PEOPLE)
    declared: bool
    choosing: float = Field(ge=0, le=MOST_EPSILON)
    attributes: tuple[str, ...] = Field(min_length=1, max_length=MOST_COLUMNS)
    combinations: tuple[tuple[int, ...], ...] | None = Field(min_length=1, max_length=MOST_VALUES)
    counts: tuple[tuple[int, ...], ...] = Field(min_length=1, max_length=MOST_VALUES)
    """For every value of the secret, the noisy counts of the combinations; all of them in C order if none are listed"""


class NoisyTables(BaseModel):
    """Of the tables of a model, which its step carries."""

    model_config = STRICT

    of: Literal["tables"]
    epsilon: float = Field(ge=LEAST_EPSILON, le=MOST_EPSILON)
    declared: bool
    drawn: Annotated[GaussianInFile | LaplaceInFile, Field(discriminator="kind")]


NoiseInFile = Annotated[NoisyCells | NoisyTables, Field(discriminator="of")]


def plain_noise(noise: Noise) -> dict[str, Any]:
    """Noisy counts as plain data."""
    return {
        "of": "cells",
        "epsilon": noise.epsilon,
        "delta": noise.delta,
        "people": noise.people,
        "declared": noise.declared,
        "choosing": noise.choosing,
        "attributes": list(noise.attributes),
        "combinations": noise.codes.tolist() if noise.codes is not None else None,
        "counts": noise.counts.tolist(),
    }


def noise_in(found: NoisyCells | NoisyTables | None, people: int | None, columns: Sequence[Column]) -> Noise | None:
    """The noisy counts of `columns`, in their order."""
    by_name = {column.name: column for column in columns}
    if found is None:
        return None
    if isinstance(found, NoisyTables):
        raise InvalidProtocol("noisy tables belong to models, and to no others")
    if set(found.attributes) != set(by_name) or len(found.attributes) != len(by_name):
        raise InvalidProtocol("the noisy counts are not of the columns that are released")
    if found.people != people:
        raise InvalidProtocol("the noisy counts are of another number of people")
    counts = integers(found.counts)
    codes = integers(found.combinations) if found.combinations is not None else None
    sizes = [len(by_name[name]) for name in found.attributes]
    listed = math.prod(sizes) if codes is None else len(codes)
    if counts.shape[1] != listed or ((counts < -MOST_PEOPLE) | (counts > MOST_PEOPLE)).any():
        raise InvalidProtocol("the noisy counts do not fit the combinations of values")
    if (codes is None) != (found.delta == 0):
        raise InvalidProtocol("noisy counts of some combinations only have a δ, and those of all have none")
    if found.attributes != tuple(by_name):
        raise InvalidProtocol("the noisy counts and the values have their columns in another order")
    if codes is not None and (codes.shape[1] != len(sizes) or (codes < 0).any() or (codes >= sizes).any()):
        raise InvalidProtocol("a combination with noisy counts has a value that its column does not have")
    if codes is not None and (len(np.unique(codes, axis=0)) < len(codes) or (counts < 0).any()):
        raise InvalidProtocol("noisy counts are listed twice, or below a threshold")
    return Noise(
        found.epsilon, found.people, found.attributes, counts, codes, found.delta, found.declared, found.choosing
    )
