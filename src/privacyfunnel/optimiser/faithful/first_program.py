"""The first program: the pairs and the limits with which the search begins, few where values are many."""

from __future__ import annotations

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.optimiser.faithful.pair_pricing import nearest
from privacyfunnel.optimiser.faithful.program import Limited, Program
from privacyfunnel.optimiser.program.tolerances import FEASIBLE
from privacyfunnel.typing import Integers, Vector

ALL_PAIRS = 200
"""Up to this many values, all pairs are there from the start."""
ALL_LIMITS = 4
"""Up to this many limits, all are enforced on every output from the start."""
GROUPS = 10
"""Values are cut into so many groups by what they tell of a secret; every value starts with partners from each."""
PER_GROUP = 2
"""Partners from each group: one may be taken up by others."""
MOST_SIMILAR = 24
"""Most similar values that every value starts with; the others come when their price is right."""
GROUPING_SECRETS = 4
"""Secrets by whose probabilities values are grouped; more groups would make the first program large."""


def first_pairs(program: Program, joint: Joint) -> Integers:
    """All pairs, or for each value those most similar to it: among all, and among those that tell alike of a secret."""
    n, s = program.n_x, program.similarity
    if n <= ALL_PAIRS:
        return np.arange(n * n)
    x = np.arange(n)
    if joint.n_s == 1:  # nothing to hide: every row may stay
        return x * n + x
    parts = []
    for secret in np.argsort(-joint.p_s, kind="stable")[: min(GROUPING_SECRETS, joint.n_s - 1)]:
        group = _groups(joint.p_s_given_x[secret], program.p)
        names = nearest(s.codes, s.places, s.weights, s.steps, program.p, group, PER_GROUP, GROUPS, MOST_SIMILAR)
        parts.append(names)
    names = np.concatenate(parts, axis=1)
    at, place = np.nonzero(names >= 0)
    other = names[at, place]
    return np.unique(np.concatenate([x * n + x, at * n + other, other * n + at]))


def _groups(t: Vector, p: Vector) -> Integers:
    """The group of every value when all are cut, in order of t, into GROUPS of about equal mass."""
    order = np.argsort(t, kind="stable")
    middle = np.cumsum(p[order]) - p[order] / 2
    group = np.empty(len(t), dtype=np.int64)
    group[order] = np.minimum((GROUPS * middle).astype(np.int64), GROUPS - 1)
    return group


def first_limits(program: Program) -> Limited:
    """All limits on all outputs; or, if they are many, those that an output would overstep by standing for itself."""
    n, bands = program.n_x, program.bands
    if len(bands) <= ALL_LIMITS:
        outputs, rows = np.divmod(np.arange(n * len(bands)), max(1, len(bands)))
        return Limited.of(outputs, rows)
    return Limited.of(*bands.overstepped(bands.D.T, np.ones(n), FEASIBLE))
