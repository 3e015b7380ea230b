"""Families of generalised linear models, with their canonical links: what the mean is of a linear predictor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import expit, log1p

from privacyfunnel.errors import InvalidInput
from privacyfunnel.typing import Vector

FamilyName = Literal["gaussian", "binomial", "poisson"]


@dataclass(frozen=True)
class Family:
    """With the canonical link, the score of a row is x(y − μ(xθ)), and its derivative −x xᵀ μ′(xθ)."""

    name: FamilyName
    mean: Callable[[Vector], Vector]
    slope: Callable[[Vector], Vector]
    """The derivative of the mean."""
    potential: Callable[[Vector], Vector]
    """The convex function whose derivative the mean is: y·η less it is the log-likelihood."""
    response: str
    """What responses must be, in words."""
    possible: Callable[[Vector], bool]


def _plain(eta: Vector) -> Vector:
    return eta


def _ones(eta: Vector) -> Vector:
    return np.ones_like(eta)


def _half_square(eta: Vector) -> Vector:
    return np.asarray(eta**2 / 2)


def _logistic_slope(eta: Vector) -> Vector:
    return np.asarray(expit(eta) * expit(-eta))


def _softplus(eta: Vector) -> Vector:
    return np.asarray(np.maximum(eta, 0.0) + log1p(np.exp(-np.abs(eta))))


FAMILIES = {
    family.name: family
    for family in (
        Family("gaussian", _plain, _ones, _half_square, "numbers", lambda y: True),
        Family(
            "binomial",
            expit,
            _logistic_slope,
            _softplus,
            "yes or no: two values, or shares from 0 to 1",
            lambda y: bool(((y >= 0) & (y <= 1)).all()),
        ),
        Family("poisson", np.exp, np.exp, np.exp, "counts, which are never below 0", lambda y: bool((y >= 0).all())),
    )
}


def family_named(name: str) -> Family:
    """The family of this name."""
    if name not in FAMILIES:
        raise InvalidInput(f"the family is {', '.join(get_args(FamilyName)[:-1])} or poisson; got {name!r}")
    return FAMILIES[name]
