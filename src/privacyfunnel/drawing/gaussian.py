"""Discrete Gaussian noise on counts, by OpenDP, whose privacy map is asked before anything is drawn.

`opendp.measurements.make_gaussian` over vectors of 64-bit integers in the L2 distance adds to each entry an integer z
with P(z) ∝ exp(−z² / 2σ²), drawn exactly from the operating system's randomness (Canonne, Kamath and Steinke 2020). Its
map, which OpenDP proves, takes an L2 distance d to ρ = d²/2σ² of zero-concentrated privacy, rounded up. Which ε₀ and δ₀
such noise has, we compute more closely from its law (distribution/gaussian.py); the map must grant what that law has.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from privacyfunnel.distribution.noise import LEAST_DELTA, MOST_DELTA
from privacyfunnel.drawing.laplace import AT_ONCE
from privacyfunnel.errors import InvalidInput
from privacyfunnel.typing import Integers

ROUNDED = 1e-9
"""Of ρ, that the map may be larger by: it rounds a few operations upwards."""


def gaussian_noised(counts: Integers, sigma: float) -> Integers:
    """counts[i] with discrete Gaussian noise of this σ, each with its own."""
    gaussian = _gaussian(sigma)
    flat = counts.ravel()
    drawn = [gaussian(flat[i : i + AT_ONCE].tolist()) for i in range(0, flat.size, AT_ONCE)]
    return np.array([count for part in drawn for count in part], dtype=np.int64).reshape(counts.shape)


def checked_model_delta(delta: float) -> float:
    """A δ₀ of a model that makes sense, as a float; 0 is one."""
    number = isinstance(delta, int | float | np.floating) and not isinstance(delta, bool)
    if not number or (delta != 0 and not LEAST_DELTA <= delta <= MOST_DELTA):
        raise InvalidInput(
            f"δ₀ of a private model is a number from {LEAST_DELTA:g} to {MOST_DELTA:g}, such as 1e-6, or 0"
        )
    return float(delta)


def _gaussian(sigma: float) -> Any:
    """OpenDP's mechanism, which grants ρ = 1/2σ² for a cell that moves by 1."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    mechanism: Any = make_gaussian(vector_domain(atom_domain(T="i64")), l2_distance(T="f64"), scale=sigma)
    if mechanism.map(1.0) > (1 + ROUNDED) / (2 * sigma**2):
        raise InvalidInput(f"OpenDP does not grant what noise of σ = {sigma!r} has; use another --private, such as 1")
    return mechanism
