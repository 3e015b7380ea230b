"""Private counts: a counted table, with noise on every cell of its domain before anything is computed from it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import MOST_PEOPLE, Noise, noisy_joint
from privacyfunnel.drawing.laplace import noised, noised_above
from privacyfunnel.errors import InvalidInput, InvalidJoint
from privacyfunnel.typing import Integers

MOST_CELLS = 2_000_000
"""Cells that get noise one by one, some 7 µs each; of a larger domain only the large counts are told."""
USUAL_EPSILON = 1.0
"""ε₀ unless somebody chooses otherwise: what everybody else's record and the file tell of a secret is a factor e."""
LEAST_TOLD = 0.5
"""The share of the people who must be left where only large counts are told. All others would be released as one of
these, and nothing that is said of cells, counts or estimates would be about the table."""
USUAL_DELTA = 1e-9
"""δ₀ where the domain is too large to go through it: far below one in the number of people of any table."""


def private(
    joint: Joint, epsilon: float, *, delta: float | None = None, at_least: int = 0, choosing: float = 0.0
) -> Joint:
    """The distribution that follows from the counts of `joint` with noise of scale 2/ε₀ on every cell of its domain.

    The domain is all values of the secret with all combinations of the attributes' values, also those that nobody has.
    Where that is too large, or a `delta` is asked for, only cells that have people get noise, and only those that then
    reach a threshold are told, which is (ε₀, δ₀)-private. `choosing` is what the choice of columns spent before that.
    """
    if joint.noise is not None:
        raise InvalidInput("these counts have noise already; noise twice costs more and protects no better")
    if not joint.counted or joint.at_least:
        raise InvalidJoint("a private fit needs the counts of people as they are")
    if joint.total > MOST_PEOPLE:
        raise InvalidJoint(f"a private fit is for at most {MOST_PEOPLE:,} people; there are {joint.total:,}")
    if any(column.name in joint.attributes for column in joint.secret_columns):
        raise InvalidInput(
            "a secret that is itself released, if sanitised, is not protected by noise on counts: "
            "--allow-secret-attribute needs --exact-fit"
        )
    secrets = joint.secret_columns or (Column(name=joint.secret, kind="integer", labels=tuple(range(joint.n_s))),)
    cells = math.prod(len(column) for column in secrets) * joint.combinations
    if delta is None and cells <= MOST_CELLS:
        return _noisy_everywhere(joint, secrets, epsilon, at_least, choosing)
    return _noisy_above(joint, secrets, epsilon, USUAL_DELTA if delta is None else delta, at_least, choosing)


def at_threshold(joint: Joint, at_least: int) -> Joint:
    """The distribution that follows from a table's noisy counts with another frequency threshold: no noise is drawn."""
    if joint.noise is None or not joint.secret_columns:
        raise InvalidInput("only a table's counts with noise can be given another threshold")
    return _follows(joint, joint.secret_columns, joint.noise, at_least)


def _noisy_everywhere(
    joint: Joint, secrets: tuple[Column, ...], epsilon: float, at_least: int, choosing: float
) -> Joint:
    whole = joint.completed.weights.astype(np.int64)
    counts = np.zeros((math.prod(len(column) for column in secrets), joint.combinations), dtype=np.int64)
    counts[_secret_numbers(joint, secrets)] = whole
    noisy = noised(counts, epsilon)
    noise = Noise(float(epsilon), joint.total, joint.attributes, noisy, declared=joint.declared, choosing=choosing)
    return _follows(joint, secrets, noise, at_least)


def _noisy_above(
    joint: Joint, secrets: tuple[Column, ...], epsilon: float, delta: float, at_least: int, choosing: float
) -> Joint:
    s, x = np.nonzero(joint.weights)
    told = noised_above(joint.weights[s, x].astype(np.int64), epsilon, delta)
    if not told.any():
        raise InvalidInput(
            "no combination of values has enough people to be told: use fewer columns, wider ranges (--bins) or fewer "
            "values (--top); --columns auto --coarsen auto choose"
        )
    reached, x = np.unique(x[told > 0], return_inverse=True)
    counts = np.zeros((math.prod(len(column) for column in secrets), len(reached)), dtype=np.int64)
    counts[_secret_numbers(joint, secrets)[s[told > 0]], x] = told[told > 0]
    noise = Noise(
        float(epsilon),
        joint.total,
        joint.attributes,
        counts,
        joint.codes[reached],
        float(delta),
        joint.declared,
        choosing,
    )
    share = min(1.0, float(counts.sum()) / joint.total)
    if share < LEAST_TOLD:
        raise InvalidInput(
            f"of {joint.combinations:,} combinations of values only {len(reached):,}, with about {share:.0%} of the "
            "people, stand out from the noise, and everybody else would be released as one of these: use fewer "
            "columns, wider ranges (--bins) or fewer values (--top); --columns auto --coarsen auto choose"
        )
    return _follows(joint, secrets, noise, at_least)


def _follows(joint: Joint, secrets: tuple[Column, ...], noise: Noise, at_least: int) -> Joint:
    """What follows from noisy counts, with the names that the secret has in the table."""
    sizes = [len(column) for column in secrets]
    numbers = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1)
    labels = [tuple(column.labels[i] for column, i in zip(secrets, row, strict=True)) for row in numbers.tolist()]
    names = [label[0] if len(secrets) == 1 else label for label in labels] if joint.secret_columns else None
    found = noisy_joint(
        noise, joint.columns, joint.secret, at_least, names or joint.secret_values, joint.secret_columns
    )
    found.chosen, found.declared = joint.chosen, joint.declared
    for one in (found, found.before_gathering):
        if one is not None:
            one.secret_parts = joint.secret_parts
    return found


def _secret_numbers(joint: Joint, secrets: tuple[Column, ...]) -> Integers:
    """The number of each of the joint's values of the secret among all values that its columns declare."""
    if not joint.secret_columns:
        return np.arange(joint.n_s)
    place = [{label: i for i, label in enumerate(column.labels)} for column in secrets]
    values: list[Any] = [value if len(secrets) > 1 else (value,) for value in joint.secret_values]
    codes = [tuple(of[label] for of, label in zip(place, value, strict=True)) for value in values]
    return np.asarray(np.ravel_multi_index(tuple(np.array(codes).T), [len(column) for column in secrets]))
