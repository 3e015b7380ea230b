"""How many cores there are to share work among, and sharing it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Part = TypeVar("Part")
Result = TypeVar("Result")


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def side_by_side(work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """What the work makes of each part, in order; in as many threads as there are cores.

    For compiled work, which is free of Python's lock. Parts must not write where others read: then the results are the
    same for any number of threads. Work must not share out work of its own.

    >>> side_by_side(lambda part: part**2, [1, 2, 3])
    [1, 4, 9]
    """
    threads = min(cores(), len(parts))
    if threads <= 1:
        return [work(part) for part in parts]
    return list(_threads(threads).map(work, parts))


@cache
def _threads(count: int) -> ThreadPoolExecutor:
    """Kept from one time to the next: searches share out milliseconds of work at a time."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(count)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # the threads stay with the parent
