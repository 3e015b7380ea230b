"""python -m tools.searching SECONDS: property tests with new random draws, until the time is up.

`make test` draws the same every time. This draws anew: some tests, a seed, and again. What fails is shown and kept in
build/search, with the line that repeats it; it should become a fixed case, an `@example` or a test of its own.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FINDS = ROOT / "build" / "search"
AT_ONCE = 12
"""Tests for each seed: a process takes some seconds to start, and the last one is broken off."""
PROCESSES = 2
FAILED = 1
NOTHING_TO_RUN = 5
"""Exit codes of pytest."""
SHOWN = 4_000
"""Letters of a find that are shown; all of it is kept."""


def main(seconds: float) -> int:
    """1 if something was found, or else 0."""
    tests = properties()
    end = time.monotonic() + seconds
    tried = found = 0
    for seed, some in draws(tests):
        left = end - time.monotonic()
        if left <= 0:
            break
        ended = tried_with(seed, some, left)
        if ended is None:
            break
        tried += 1
        if ended:
            found += 1
            keep(seed, some, ended)
    sys.stdout.write(f"{tried} seeds for {AT_ONCE} of {len(tests)} property tests each; {found} with finds\n")
    return FAILED if found else 0


def properties() -> list[str]:
    """The tests that Hypothesis draws for; it marks them itself."""
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-m", "hypothesis"]
    listed = subprocess.run(collect, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - our own tests
    found = [line for line in listed.stdout.splitlines() if re.match(r"tests/\S+\.py::", line)]
    if not found:
        raise SystemExit("pytest lists no property tests")
    return found


def draws(tests: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Seeds without end, each with some of the tests."""
    system = random.SystemRandom()
    while True:
        order = system.sample(tests, len(tests))
        for start in range(0, len(order), AT_ONCE):
            yield system.randrange(2**32), order[start : start + AT_ONCE]


def command(seed: int, tests: list[str]) -> list[str]:
    """What runs these tests with the draws of this seed."""
    return [sys.executable, "-m", "pytest", "-n", str(PROCESSES), f"--hypothesis-seed={seed}", *tests]


def tried_with(seed: int, tests: list[str], seconds: float) -> str | None:
    """What failed, in pytest's words; nothing if all held; None if the time was up before."""
    around = {**os.environ, "HYPOTHESIS_PROFILE": "search"}
    with subprocess.Popen(  # noqa: S603 - our own tests
        command(seed, tests),
        cwd=ROOT,
        env=around,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            words = process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError):  # its workers, too
                os.killpg(process.pid, signal.SIGKILL)
    return words if process.returncode not in (0, NOTHING_TO_RUN) else ""


def keep(seed: int, tests: list[str], words: str) -> None:
    """Write a find down, with how to see it again."""
    FINDS.mkdir(parents=True, exist_ok=True)
    file = FINDS / f"{seed}.txt"
    again = "HYPOTHESIS_PROFILE=search " + " ".join(["python", *command(seed, tests)[1:]])
    file.write_text(f"{again}\n\n{words}", encoding="utf-8")
    sys.stdout.write(f"{words[-SHOWN:]}\nKept in {file}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 600.0))
