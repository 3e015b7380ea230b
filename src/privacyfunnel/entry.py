"""The start of the command `funnel`: light enough that Ctrl-C is met even while the rest is being loaded."""

import signal
import sys
from collections.abc import Callable


def main() -> None:
    """Run the command line; every failure is one line on stderr and an exit code."""
    try:
        code = _loaded()(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("funnel: interrupted; no file was left unfinished\n")
        code = 130
    sys.exit(code)


def _loaded() -> Callable[[list[str]], int]:
    """The command line. Ctrl-C waits until it is loaded: compiled modules that are broken off in the middle crash."""
    came: list[int] = []
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not ignored, as in the background
    if usual:
        signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        from privacyfunnel.cli import run
    finally:
        if usual:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if came:
        raise KeyboardInterrupt
    return run
