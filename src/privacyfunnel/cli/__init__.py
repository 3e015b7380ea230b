"""The command `funnel`: parse, call, render. Nothing is computed here."""

from __future__ import annotations

import os
import sys
import traceback
from typing import cast

import typer

from privacyfunnel.cli.audit import audit
from privacyfunnel.cli.demo import demo
from privacyfunnel.cli.fit import fit
from privacyfunnel.cli.sanitise import sanitise
from privacyfunnel.cli.tradeoff import tradeoff
from privacyfunnel.errors import PrivacyFunnelError

BAD_INPUT = 2
BUG = 70
INTERRUPTED = 130

app = typer.Typer(
    name="funnel",
    help="Publish tables without giving away the secret in them.",
    epilog="Any command takes --debug, which shows where an error came from.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (fit, sanitise, audit, tradeoff, demo):
    app.command()(command)


def main() -> None:
    """Run the command line; every failure is one line on stderr and an exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Exit code of the command line: 0 kept, 1 promise broken, 2 bad input, 70 our fault, 130 interrupted."""
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    usage_error = typer.BadParameter.__mro__[1]
    click_error = cast(type[Exception], usage_error.__mro__[1])
    try:
        code = app(arguments, prog_name="funnel", standalone_mode=False)
        sys.stdout.flush()
        return int(code or 0)
    except PrivacyFunnelError as error:
        return _complain(str(error), BAD_INPUT, debug)
    except click_error as error:
        message = getattr(error, "format_message", error.__str__)()
        hint = "; see funnel --help" if isinstance(error, usage_error) else ""
        return _complain(f"{message.rstrip('.')}{hint}", BAD_INPUT, debug)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted; nothing was written", INTERRUPTED, debug)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return _complain("the memory is used up; use fewer attributes or coarser values", BAD_INPUT, debug)
    except Exception as error:
        # The message of an unforeseen error may quote data, so only its kind is shown.
        return _complain(f"unforeseen {type(error).__name__}; run again with --debug and report it", BUG, debug)


def _complain(message: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    print("funnel: " + " ".join(message.split()), file=sys.stderr)  # noqa: T201
    return code
