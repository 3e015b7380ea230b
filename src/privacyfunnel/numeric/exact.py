"""Exact integers from counts and probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacyfunnel.errors import InvalidJoint
from privacyfunnel.typing import Exact, Matrix

INT64_BITS = 63
"""Beside the sign: products and sums of fewer bits surely fit."""
FITS_INT64 = 2**62
"""Half of what int64 holds: integers whose sum stays below it are added up without overflow."""
SAFE_FACTOR = 2**31
"""Products of two integers below this fit int64."""


def as_numbers(array: ArrayLike) -> NDArray[Any]:
    """The array as int64 or float64, finite and non-negative."""
    try:
        numbers = np.asarray(array)
    except ValueError:
        raise InvalidJoint("the rows of the array have different lengths") from None
    if numbers.dtype == bool:
        numbers = numbers.astype(np.int64)
    if numbers.dtype.kind == "u" and numbers.size and numbers.max() >= FITS_INT64:
        raise InvalidJoint("a count is 2**62 or more")
    if numbers.dtype.kind in "iu":
        numbers = numbers.astype(np.int64)
    elif numbers.dtype.kind == "f":
        numbers = numbers.astype(np.float64)
    else:
        raise InvalidJoint(f"counts or probabilities must be numbers, not {numbers.dtype}")
    if not np.isfinite(numbers).all():
        raise InvalidJoint(f"{int((~np.isfinite(numbers)).sum())} entries are NaN or infinite")
    if (numbers < 0).any():
        raise InvalidJoint(f"{int((numbers < 0).sum())} entries are negative")
    return numbers


def exact_weights(flat: NDArray[Any]) -> tuple[Exact, bool]:
    """The entries as exact integers with a common scale, and whether they are counts of people.

    A float64 is an integer times a power of two, so probabilities have exact integer weights too.
    """
    if flat.dtype.kind == "i" and float(flat.sum(dtype=np.float64)) < FITS_INT64 / 2:  # no need of Python's integers
        return flat.astype(np.int64), True
    if flat.dtype.kind in "iO":
        return fitted(flat.astype(object)), True
    if (flat == np.floor(flat)).all() and (flat.max() > 1 or np.count_nonzero(flat) > 1):
        return fitted(np.array([int(value) for value in flat.flat], dtype=object).reshape(flat.shape)), True
    mantissa, exponent = np.frexp(flat)
    least = int(exponent[flat > 0].min())
    digits = (mantissa * 2.0**53).astype(np.int64).astype(object)
    powers = np.array([2 ** max(0, int(e) - least) for e in exponent.flat], dtype=object).reshape(flat.shape)
    whole = digits * powers
    return fitted(whole // math.gcd(*whole.flat)), False


def fitted(whole: Exact) -> Exact:
    """Python integers as int64, where their sum fits."""
    return whole.astype(np.int64) if whole.sum() < FITS_INT64 else whole


def quotient(over: Exact, under: Exact) -> Matrix:
    """Over / under in float64. Quotients of Python integers are correct however large these are."""
    return np.asarray(over / under, dtype=np.float64)
