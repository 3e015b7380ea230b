"""No test holds up the others: tests that hang are ended, runs have a budget, and differences are told in some lines.

pytest-timeout ends a test after `--timeout` seconds by a signal, which Python sees between two of its own steps. What
hangs within machine code (a compiled loop, a solver) or in a fixture is ended here, with its process, which xdist
replaces: that test fails, and the others go on.
"""

import faulthandler
import os
import reprlib
import sys
import time
from collections.abc import Collection, Generator, Mapping
from itertools import zip_longest

import pytest
from _pytest.assertion import util

BUDGET = "TEST_BUDGET"
"""The variable with the seconds after which no further test begins; without it there is no budget."""
HOPELESS = 3
"""Times the timeout of a test: what still runs then, fixtures included, does not listen to signals."""
LONG = 200
"""Members, or letters, above which a difference is told by its first place: pytest's own took minutes."""

_STARTED = time.monotonic()
_NEVER = object()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test ends, somehow; and it is the last one if the budget is used up."""
    timeout = item.config.getoption("timeout", None)
    if timeout:
        faulthandler.dump_traceback_later(HOPELESS * timeout, exit=True, file=sys.__stderr__)
    try:
        return (yield)
    finally:
        if timeout:
            faulthandler.cancel_dump_traceback_later()
        budget = float(os.environ.get(BUDGET) or "inf")
        if time.monotonic() - _STARTED > budget:
            item.session.shouldfail = (
                f"the budget of {budget:.0f} seconds is used up and not all tests ran; "
                f"set {BUDGET} for more, or see with `make durations` which tests are costly"
            )


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Long things are compared by us alone: pytest asks all its hooks, and its own prints everything under CI."""
    usual = util._reprcompare
    util._reprcompare = lambda op, left, right: compared(op, left, right) or (usual and usual(op, left, right))
    try:
        return (yield)
    finally:
        util._reprcompare = usual


def compared(op: str, left: object, right: object) -> str | None:
    """Some lines about collections or texts of which one is long, as pytest sets them off; None if both are short."""
    if not any(isinstance(one, Collection) and len(one) > LONG for one in (left, right)):
        return None
    lines = [f"{_brief(left)} {op} {_brief(right)}", *(_first_difference(left, right) if op == "==" else ())]
    return "\n~".join(line.replace("\n", " ") for line in lines).replace("%", "%%")


def _first_difference(left: object, right: object) -> list[str]:
    """Where two mappings, sets, or sequences begin to differ."""
    if not (isinstance(left, Collection) and isinstance(right, Collection)):
        return []
    lengths = f"{len(left)} and {len(right)} members"
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        differ = [key for key in {**left, **right} if left.get(key, _NEVER) != right.get(key, _NEVER)]
        return [f"{lengths}; {len(differ)} keys differ, such as {_brief(differ[0])}" if differ else lengths]
    if isinstance(left, set | frozenset) and isinstance(right, set | frozenset):
        return [f"{lengths}; only left: {_brief(left - right)}; only right: {_brief(right - left)}"]
    for place, (one, other) in enumerate(zip_longest(left, right, fillvalue=_NEVER)):
        if one is not other and one != other:
            ends = f"the {'left' if one is _NEVER else 'right'} one ends"
            told = ends if _NEVER in (one, other) else f"{_brief(one)} and {_brief(other)}"
            return [f"{lengths}; the first difference is at {place}: {told}"]
    return [lengths]


def _brief(thing: object) -> str:
    return reprlib.repr(thing)
