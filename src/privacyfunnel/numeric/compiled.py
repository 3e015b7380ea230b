"""Loops compiled to machine code. Importing this imports Numba, so import it only where such a loop is needed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compiled on first use, free of Python's lock, and kept on disk where there is a place to keep it."""
    try:
        return cast(F, _forgiving(njit(cache=True, nogil=True)(function)))
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return cast(F, njit(nogil=True)(function))


def _forgiving(loop: Any) -> Any:
    """The same loop, compiled anew where what was kept is broken, and not kept where the disk is full.

    Numba itself would rather fail than do without its cache.
    """
    cache = getattr(loop, "_cache", None)  # Numba has no public name for it
    if cache is None:
        return loop
    load, save = cache.load_overload, cache.save_overload

    def try_to_load(*arguments: Any) -> Any:
        with suppress(Exception):  # whatever broken bytes lead to
            return load(*arguments)
        return None

    def try_to_save(*arguments: Any) -> None:
        with suppress(Exception):
            save(*arguments)

    cache.load_overload, cache.save_overload = try_to_load, try_to_save
    return loop
