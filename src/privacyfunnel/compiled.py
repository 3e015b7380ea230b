"""Loops compiled to machine code. Importing this imports Numba, so import it only where such a loop is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compiled on first use, free of Python's lock, and kept on disk where there is a place to keep it."""
    try:
        return cast(F, njit(cache=True, nogil=True)(function))
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return cast(F, njit(nogil=True)(function))
