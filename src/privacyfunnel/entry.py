"""The start of the command `funnel`: light enough that Ctrl-C is met even while the rest is being loaded."""

import sys


def main() -> None:
    """Run the command line; every failure is one line on stderr and an exit code."""
    try:
        from privacyfunnel.cli import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("funnel: interrupted; no file was left unfinished\n")
        code = 130
    sys.exit(code)
