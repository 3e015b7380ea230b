"""Kill a command at random moments: everything is loaded once, and each attempt is a fork of it.

python killing.py SEED TIMES SECONDS COMMAND…: prints, for every attempt, whether it was killed.
"""

import json
import os
import random
import signal
import sys
import time

from privacyfunnel.cli import app, fitting, publish, running, sanitising  # noqa: F401 - loaded before anything is forked
from privacyfunnel.publishing import publish as publishing  # noqa: F401 - likewise
from privacyfunnel.report import page  # noqa: F401 - likewise


def begun(arguments: list[str]) -> int:
    """The number of a process that runs a command."""
    number = os.fork()
    if number == 0:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os._exit(app.run(arguments))
    return number


def say(what: dict[str, object]) -> None:
    """One line for whoever looks on."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main() -> None:
    seed, times, looking, *arguments = sys.argv[1:]
    begin = time.monotonic()
    _, status = os.waitpid(begun(arguments), 0)
    whole = time.monotonic() - begin
    assert status == 0, status
    say({"whole": whole})
    moments = random.Random(int(seed))  # noqa: S311 - when to kill, nothing secret
    for _ in range(int(times)):
        number = begun([*arguments, "--force"])
        time.sleep(whole * moments.uniform(0, 1.1))
        os.kill(number, signal.SIGKILL)
        _, status = os.waitpid(number, 0)
        say({"killed": os.WIFSIGNALED(status)})
        assert sys.stdin.readline().strip() == looking


if __name__ == "__main__":
    main()
