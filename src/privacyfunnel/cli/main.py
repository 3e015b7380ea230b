"""The start of the command `funnel`: light enough that Ctrl-C is met even while the rest is being loaded."""

import os
import sys

from privacyfunnel.cli.loading import loading
from privacyfunnel.numeric import stopping

LEAST_MEMORY = 1536 * 2**20
"""Under a limit lower than this, the libraries that we load end the process without a word."""


def main() -> None:
    """Run the command line; every failure is one line on stderr and an exit code."""
    _open_standard_streams()
    try:
        stopping.listen()
        code = _refuse_little_memory() or _load_and_run(sys.argv[1:])
    except (KeyboardInterrupt, stopping.Stopped):
        code = _interrupted()
    stopping.leave(code)


def _load_and_run(arguments: list[str]) -> int:
    try:
        with loading(), stopping.waiting():
            from privacyfunnel.cli.app import run
    except Exception as trouble:
        if stopping.exit_code():  # while a library was being loaded
            return _interrupted()
        if "--debug" in arguments:
            import traceback

            traceback.print_exc()
        from privacyfunnel.errors import NotLoaded

        return _complain(str(NotLoaded(trouble)))
    return run(arguments)


def _open_standard_streams() -> None:
    """Where 0, 1 or 2 are closed, the next file to be opened would take that number, and be printed into."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _refuse_little_memory() -> int:
    """An exit code if there is a limit (`ulimit`) under which nothing works; otherwise 0."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    least = min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=LEAST_MEMORY)
    if least >= LEAST_MEMORY:
        return 0
    needed = f"{LEAST_MEMORY >> 20} MiB are needed"
    return _complain(f"the memory is limited to {least >> 20} MiB, and {needed}; see ulimit -a")


def _interrupted() -> int:
    return _complain("interrupted; no file was left unfinished", stopping.exit_code() or stopping.INTERRUPTED)


def _complain(message: str, code: int = stopping.BAD_INPUT) -> int:
    if sys.stderr is not None:
        sys.stderr.write(f"funnel: {message}\n")
    return code
