"""Discrete Laplace noise on counts, by OpenDP, whose privacy map is asked before anything is drawn.

`opendp.measurements.make_laplace` over vectors of 64-bit integers in the L1 distance adds to each entry an integer z
with P(z) ∝ exp(−|z| / scale), drawn exactly from the operating system's randomness (Canonne, Kamath and Steinke 2020);
its map, which OpenDP proves, takes an L1 distance d to ε = d / scale, rounded up. Two tables that differ in one
person's row have counts that differ by 1 in two cells, or in none: an L1 distance of at most 2.

`make_laplace_threshold` does the same to the cells of a table that are not empty, and tells only those whose noisy
count reaches a threshold; its map gives (ε, δ) for two cells that differ, by 1 each. So it is for tables with too many
cells to go through them all.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privacyfunnel.distribution.noise import LEAST_DELTA, LEAST_EPSILON, MOST_DELTA, MOST_EPSILON, threshold_for
from privacyfunnel.errors import InvalidInput
from privacyfunnel.typing import Integers

CHANGED = 2
"""The L1 distance of the counts of two tables that differ in one row; and the number of cells that differ."""
ROUNDINGS = 100
"""Floats above 2 / ε that are tried: the map rounds a few operations upwards."""
AT_ONCE = 100_000
"""Cells that are handed over in one list."""


def noised(counts: Integers, epsilon: float) -> Integers:
    """counts[i] with noise such that everything computed from them is ε-differentially private for one row."""
    return noised_in_part(counts, checked_epsilon(epsilon))


def noised_in_part(counts: Integers, epsilon: float) -> Integers:
    """The same for a part of a checked ε₀, which may be as small as it is."""
    laplace = _laplace(epsilon)
    flat = counts.ravel()
    drawn = [laplace(flat[i : i + AT_ONCE].tolist()) for i in range(0, flat.size, AT_ONCE)]
    return np.array([count for part in drawn for count in part], dtype=np.int64).reshape(counts.shape)


def noised_above(counts: Integers, epsilon: float, delta: float) -> Integers:
    """Noisy counts of cells that are not empty, 0 where they do not reach the threshold that (ε, δ) asks for."""
    from opendp.domains import atom_domain, map_domain
    from opendp.measurements import make_laplace_threshold
    from opendp.metrics import absolute_distance, l01inf_distance

    space = map_domain(atom_domain(T="u64"), atom_domain(T="i64")), l01inf_distance(absolute_distance(T="i64"))
    _enable()
    scale = CHANGED / checked_epsilon(epsilon)
    threshold = threshold_for(epsilon, checked_delta(delta))
    while True:
        mechanism = make_laplace_threshold(*space, scale=scale, threshold=threshold)
        granted = mechanism.map((CHANGED, CHANGED, 1))
        if granted[0] <= epsilon and granted[1] <= delta:
            break
        scale = math.nextafter(scale, math.inf) if granted[0] > epsilon else scale
        threshold += granted[1] > delta
    told = mechanism({i: int(count) for i, count in enumerate(counts.tolist())})
    found = np.zeros(len(counts), dtype=np.int64)
    for i, count in told.items():
        found[i] = count
    return found


def checked_epsilon(epsilon: float) -> float:
    """An ε₀ that makes sense, as a float."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | np.integer | np.floating):
        raise InvalidInput(f"the noise of a private fit is given as a number, such as 1; got {type(epsilon).__name__}")
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise InvalidInput(f"ε₀ of a private fit is a number from {LEAST_EPSILON:g} to {MOST_EPSILON:g}, such as 1")
    return float(epsilon)


def checked_delta(delta: float) -> float:
    """A δ₀ that makes sense, as a float."""
    number = isinstance(delta, int | float | np.floating) and not isinstance(delta, bool)
    if not number or not LEAST_DELTA <= delta <= MOST_DELTA:
        raise InvalidInput(f"δ₀ of a private fit is a number from {LEAST_DELTA:g} to {MOST_DELTA:g}, such as 1e-9")
    return float(delta)


def _laplace(epsilon: float) -> Any:
    """OpenDP's mechanism with the least scale at which it grants ε for one row: 2 / ε, or the next float above."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance

    _enable()
    space, scale = (vector_domain(atom_domain(T="i64")), l1_distance(T="i64")), CHANGED / epsilon
    for _ in range(ROUNDINGS):
        mechanism = make_laplace(*space, scale=scale)
        if mechanism.map(CHANGED) <= epsilon:
            return mechanism
        scale = math.nextafter(scale, math.inf)
    raise InvalidInput(f"OpenDP does not grant ε₀ = {epsilon!r} for noise of this scale; use another, such as 1")


def _enable() -> None:
    """OpenDP asks to be told that code is used whose proof its committee has not vetted yet."""
    from opendp.mod import enable_features

    enable_features("contrib")
