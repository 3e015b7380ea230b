"""Private counts: a counted table, with noise on every cell of its domain before anything is computed from it."""

from __future__ import annotations

import math

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import LEAST_TOLD, MOST_PEOPLE, Noise, noisy_joint
from privacyfunnel.drawing.laplace import noised, noised_above
from privacyfunnel.errors import InvalidInput, InvalidJoint
from privacyfunnel.tables.public_part import PublicPart, secret_numbers, secret_values

MOST_CELLS = 2_000_000
"""Cells that get noise one by one, some 7 µs each; of a larger domain only the large counts are told."""
USUAL_EPSILON = 1.0
"""ε₀ unless somebody chooses otherwise: what everybody else's record and the file tell of a secret is a factor e."""
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
            "allow-secret-attribute needs exact-fit"
        )
    cells = len(secret_values(joint)) * joint.combinations
    if delta is None and cells <= MOST_CELLS:
        noise = noise_everywhere(joint, epsilon, choosing)
    else:
        noise = noise_above(joint, epsilon, USUAL_DELTA if delta is None else delta, choosing)
    return _follows(noise, PublicPart.of(joint), at_least)


def at_threshold(joint: Joint, at_least: int) -> Joint:
    """The distribution that follows from a table's noisy counts with another frequency threshold: no noise is drawn."""
    if joint.noise is None or not joint.secret_columns:
        raise InvalidInput("only a table's counts with noise can be given another threshold")
    return _follows(joint.noise, PublicPart.of(joint), at_least)


def noise_everywhere(joint: Joint, epsilon: float, choosing: float) -> Noise:
    """Noise on every cell of the domain."""
    counts = np.zeros((len(secret_values(joint)), joint.combinations), dtype=np.int64)
    counts[secret_numbers(joint)] = joint.completed.weights.astype(np.int64)
    noisy = noised(counts, epsilon)
    return Noise(float(epsilon), joint.total, joint.attributes, noisy, declared=joint.declared, choosing=choosing)


def noise_above(joint: Joint, epsilon: float, delta: float, choosing: float) -> Noise:
    """Noise on cells that have people, of which those are told that reach a threshold."""
    s, x = np.nonzero(joint.weights)
    told = noised_above(joint.weights[s, x].astype(np.int64), epsilon, delta)
    reached, x = np.unique(x[told > 0], return_inverse=True)
    counts = np.zeros((len(secret_values(joint)), len(reached)), dtype=np.int64)
    counts[secret_numbers(joint)[s[told > 0]], x] = told[told > 0]
    return Noise(
        float(epsilon),
        joint.total,
        joint.attributes,
        counts,
        joint.codes[reached],
        float(delta),
        joint.declared,
        choosing,
    )


def _check_told(noise: Noise, public: PublicPart) -> None:
    """Refuse counts of too few people."""
    told = noise.counts.shape[1]
    if not told:
        raise InvalidInput(
            "no combination of values has enough people to be told: use fewer columns, wider ranges (bins) or fewer "
            "values (top); --columns auto --set coarsen=auto choose"
        )
    share = min(1.0, float(noise.counts.sum()) / noise.people)
    if share < LEAST_TOLD:
        combinations = math.prod(len(column) for column in public.columns)
        raise InvalidInput(
            f"of {combinations:,} combinations of values only {told:,}, with about {share:.0%} of the "
            "people, stand out from the noise, and everybody else would be released as one of these: use fewer "
            "columns, wider ranges (bins) or fewer values (top); --columns auto --set coarsen=auto choose"
        )


def _follows(noise: Noise, public: PublicPart, at_least: int) -> Joint:
    """What follows from noisy counts, with the names that the secret has in the table."""
    if noise.codes is not None:
        _check_told(noise, public)
    found = noisy_joint(noise, public.columns, public.secret, at_least, public.secret_values, public.secret_columns)
    found.chosen, found.declared = public.chosen, public.declared
    for one in (found, found.before_gathering):
        if one is not None:
            one.secret_parts = public.secret_parts
    return found
