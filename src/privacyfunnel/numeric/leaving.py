"""Leaving: long work in a thread looks here now and then whether anybody still waits for what it finds."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


class Left(BaseException):
    """Nobody waits for this any more. It is no Exception, so that nobody takes it for trouble of their own."""


_left: ContextVar[threading.Event | None] = ContextVar("_left", default=None)


@contextmanager
def leavable(event: threading.Event) -> Iterator[None]:
    """Work in this context is left, without a result, soon after somebody sets the event.

    Searches that are only cancelled go on to prove the best they have, which takes its time.
    """
    before = _left.set(event)
    try:
        yield
    finally:
        _left.reset(before)


def unless_left() -> None:
    """Go on, unless nobody waits for it."""
    event = _left.get()
    if event is not None and event.is_set():
        raise Left


def while_awaited(items: Iterable[T]) -> Iterator[T]:
    """The items, one by one, for as long as somebody waits for what is done with them."""
    for item in items:
        unless_left()
        yield item
