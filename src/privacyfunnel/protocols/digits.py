"""Digits: how precisely numbers are published, so that nobody can solve them for counts."""

from __future__ import annotations

import math

import numpy as np

from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.typing import Integers, Vector

MARGINAL_PEOPLE = 2**20
"""The marginal of the outputs is published as finely as a sample of so many would tell it, at most."""

DECIMALS = 12
"""Finer than any step: what is left of a product of floats beyond this is noise."""
ULPS = 1e-12
"""A float this close to a step counts as one."""


def coarse_marginal(q: Vector, people: int | None) -> Integers:
    """The distribution q as positive integers that sum to 2³², in proportion to ⌊√(n q)⌉² for n people.

    It is published with the protocol. In full precision, q = Q·p_x could be solved for the counts of X. A count of
    about n q has a standard error of √(n q), and this rounding misplaces up to as much: what is published tells the
    counts hardly better than the released rows do.
    """
    n = MARGINAL_PEOPLE if people is None else min(MARGINAL_PEOPLE, people)
    rounded = np.maximum(1, np.rint(np.sqrt(n * q / q.sum()))) ** 2
    units: Integers = np.floor(rounded / rounded.sum() * UNIT).astype(np.int64)
    units[units.argmax()] += UNIT - units.sum()
    return units


def step_for(people: int | None) -> float:
    """The least of 1, 2 or 5 times a power of ten that is at least 1/√n, the error of an entropy of so many people.

    >>> step_for(100), step_for(48_842), step_for(3)
    (0.1, 0.005, 1.0)
    """
    error = 1 / math.sqrt(MARGINAL_PEOPLE if people is None else max(1, people))
    power = 10.0 ** math.floor(math.log10(error))
    return next(float(f"{k * power:.0e}") for k in (1, 2, 5, 10) if k * power >= error * (1 - ULPS))


def multiple_of(value: float, step: float, *, up: bool) -> float:
    """The multiple of `step` next to `value`, with no more digits than it needs."""
    k = math.ceil(value / step) if up else math.floor(value / step)
    nearest = round(k * step, DECIMALS)
    if (nearest < value) if up else (nearest > value):  # the quotient was rounded to the wrong side
        nearest = round((k + (1 if up else -1)) * step, DECIMALS)
    return nearest
