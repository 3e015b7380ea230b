"""python -m pytest -p tools.durations: CPU seconds of every test, with the processes it starts and waits for.

All go to build/durations.csv, in one process (without -n); the costliest functions, with all their cases, are shown.
CPU time tells more than the clock where other work shares the cores.
"""

from __future__ import annotations

import csv
import resource
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

FILE = Path("build") / "durations.csv"
SHOWN = 40
"""Functions; they take most of the time of all."""

_seconds: dict[str, float] = defaultdict(float)


def _cpu() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Fixtures count for the test that comes first."""
    before = _cpu()
    try:
        return (yield)
    finally:
        _seconds[item.nodeid] += _cpu() - before


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The costliest functions, in CPU seconds."""
    FILE.parent.mkdir(exist_ok=True)
    with FILE.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("test", "cpu_seconds"), *((test, f"{s:.3f}") for test, s in _seconds.items())])
    functions: dict[str, float] = defaultdict(float)
    for test, seconds in _seconds.items():
        functions[test.split("[")[0]] += seconds
    terminalreporter.section(f"{sum(functions.values()):.0f} CPU seconds, and {_cpu():.0f} with imports and collection")
    for name, seconds in sorted(functions.items(), key=lambda one: -one[1])[:SHOWN]:
        terminalreporter.write_line(f"{seconds:8.1f} {name}")
