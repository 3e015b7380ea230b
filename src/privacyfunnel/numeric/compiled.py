"""Loops compiled to machine code. Importing this imports Numba, so import it only where such a loop is needed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast, overload

from numba import njit
from numba.core import event

from privacyfunnel.numeric.clock import SEARCHING

F = TypeVar("F", bound=Callable[..., Any])

REORDERED = {"reassoc", "contract"}
"""What sums may suffer to use the whole width of the processor; infinities keep their meaning."""


class _StopTheClock(event.Listener):
    """Compiling is no search: the clock of time limits stands meanwhile, also where one loop has others compiled."""

    def on_start(self, event: Any) -> None:
        SEARCHING.stop()

    def on_end(self, event: Any) -> None:
        SEARCHING.go_on()


event.register("numba:compile", _StopTheClock())  # type: ignore[no-untyped-call]  # Numba has no types


@overload
def compiled(function: F) -> F: ...


@overload
def compiled(*, reorder_sums: bool) -> Callable[[F], F]: ...


def compiled(function: F | None = None, *, reorder_sums: bool = False) -> F | Callable[[F], F]:
    """Compiled on first use, free of Python's lock, and kept on disk where there is a place to keep it."""
    options: dict[str, Any] = {"nogil": True, **({"fastmath": REORDERED} if reorder_sums else {})}

    def decorate(loop: F) -> F:
        try:
            return cast(F, _forgiving(njit(cache=True, **options)(loop)))
        except RuntimeError:  # neither the package's folder nor the user's cache can be written
            return cast(F, njit(**options)(loop))

    return decorate if function is None else decorate(function)


def _forgiving(loop: Any) -> Any:
    """The same loop, compiled and kept anew where what was kept is broken, and not kept where the disk is full.

    Numba itself would rather fail than do without its cache. Loading and keeping take no time of a search either.
    """
    cache = getattr(loop, "_cache", None)  # Numba has no public name for it
    if cache is None:
        return loop
    load, save = cache.load_overload, cache.save_overload

    def try_to_load(*arguments: Any) -> Any:
        SEARCHING.stop()
        try:
            return load(*arguments)
        except Exception:  # whatever broken bytes lead to
            with suppress(Exception):
                cache.flush()  # saving reads the index first, which may be what is broken
        finally:
            SEARCHING.go_on()
        return None

    def try_to_save(*arguments: Any) -> None:
        SEARCHING.stop()
        try:
            with suppress(Exception):
                save(*arguments)
        finally:
            SEARCHING.go_on()

    cache.load_overload, cache.save_overload = try_to_load, try_to_save
    return loop
