"""Commands of `funnel` as real processes, to be limited, interrupted and surrounded."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

START = """
import json, sys
from privacyfunnel.cli.main import main
for command in json.loads(sys.argv[1]):
    sys.argv[1:] = command
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
"""
PATIENCE = 170
"""Seconds; on a busy machine everything takes its time."""
ROWS = 400_000
"""Of the large table on the desk of tests/faults."""


def funnel(*commands, flags=()):
    """A process that runs commands of `funnel`, one after the other, until one fails."""
    return [sys.executable, *flags, "-c", START, json.dumps([list(map(str, command)) for command in commands])]


def unwatched():
    """The environment without what has a process write down which lines it runs, where it cannot."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}


def finished(command, *, without=(), env=None, watched=True, **options):
    """The finished process of a command; `env` is added to the environment."""
    here = os.environ if watched else unwatched()
    around = {name: value for name, value in {**here, **(env or {})}.items() if name not in without}
    return subprocess.run(command, capture_output=True, env=around, timeout=PATIENCE, check=False, **options)


def names(folder):
    """What is in a folder, hidden or not."""
    return sorted(path.name for path in folder.iterdir())


def one_line(errors):
    """What is said in the end."""
    text = errors.decode() if isinstance(errors, bytes) else errors
    assert text.startswith("funnel: "), text
    assert text.count("\n") == 1, text
    return text


NOBODY = 65534


@contextmanager
def folder_for_nobody(*files):
    """A folder with copies of the files, which a user without rights can reach; pytest's own folders are closed."""
    folder = Path(tempfile.mkdtemp(prefix="nobody-"))
    try:
        for file in files:
            shutil.copy(file, folder / file.name)
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder)


def finished_by_nobody(command, folder, **options):
    """The finished process of a command that a user without rights gave in the folder."""
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        pytest.skip("needs root and setpriv, to become somebody with fewer rights")
    nobody = [setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    done = finished([*nobody, *command], watched=False, cwd=folder, **options)
    hindrances = (b"ModuleNotFoundError", b"Permission denied", b"error while loading shared libraries")
    if any(hindrance in done.stderr for hindrance in hindrances):
        pytest.skip("nobody may not run this Python")
    return done


PROMISED = 2.0
"""Seconds in which Ctrl-C ends the studio, on a machine that has time for it."""
SAMPLE = 0.3
"""Seconds of work that tell how much time the machine has."""


def seconds_to_end(process, name):
    """From the signal to the end, which is without trouble."""
    begun = time.monotonic()
    process.send_signal(getattr(signal, name))
    assert process.wait(timeout=60) == 0
    return time.monotonic() - begun


def starved():
    """How many times longer work takes here than it should, as others use the processors."""
    begun, used = time.monotonic(), time.process_time()
    while time.process_time() - used < SAMPLE:
        pass
    return (time.monotonic() - begun) / SAMPLE


def soon(attempt):
    """Whether it ends in time at least once of a few times: other work on the machine may delay one."""
    return any(attempt() < PROMISED * max(1.0, starved()) for _ in range(3))
