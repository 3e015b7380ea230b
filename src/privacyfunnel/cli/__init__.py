"""The command `funnel`: parse, call, render. Nothing is computed here."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from importlib.metadata import version
from typing import Annotated, Any, cast

import typer

from privacyfunnel.cli.audit import audit
from privacyfunnel.cli.demo import demo
from privacyfunnel.cli.estimate import estimate
from privacyfunnel.cli.fit import fit
from privacyfunnel.cli.paper import paper
from privacyfunnel.cli.report import report
from privacyfunnel.cli.sanitise import sanitise
from privacyfunnel.cli.studio import studio
from privacyfunnel.cli.tradeoff import tradeoff
from privacyfunnel.errors import OutputRefused, PrivacyFunnelError, one_line
from privacyfunnel.numeric.stopping import BAD_INPUT, BUG, INTERRUPTED, Stopped, exit_code

INTERRUPTED_WORDS = "interrupted; no file was left unfinished"

app = typer.Typer(
    name="funnel",
    help="Publish tables without giving away the secret in them.",
    epilog="Any command takes --debug, which shows where an error came from.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (fit, sanitise, audit, estimate, tradeoff, report, studio, demo, paper):
    app.command()(command)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"funnel {version('privacyfunnel')}")
        raise typer.Exit


@app.callback()
def _funnel(
    _: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def run(arguments: list[str]) -> int:
    """Exit code of the command line: 0 kept, 1 promise broken, 2 bad input, 70 our fault, 128 + n ended by signal n."""
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"] or ["--help"]
    usage_error = typer.BadParameter.__mro__[1]
    click_error = cast(type[Exception], usage_error.__mro__[1])
    before, sys.stdout = sys.stdout, cast(Any, _Patient(sys.stdout))
    try:
        code = int(app(arguments, prog_name="funnel", standalone_mode=False) or 0)
        sys.stdout.flush()
        return _complain(INTERRUPTED_WORDS, exit_code() or code, debug) if code == INTERRUPTED else code
    except PrivacyFunnelError as error:
        return _complain(str(error), BAD_INPUT, debug)
    except click_error as error:
        message = getattr(error, "format_message", error.__str__)()
        where = getattr(getattr(error, "ctx", None), "command_path", "funnel")
        hint = f"; see {where} --help" if isinstance(error, usage_error) else ""
        return _complain(f"{message.rstrip('.')}{hint}", BAD_INPUT, debug)
    except (KeyboardInterrupt, Stopped, typer.Abort):
        return _complain(INTERRUPTED_WORDS, exit_code() or INTERRUPTED, debug)
    except MemoryError:
        return _complain(
            "the memory is used up; give it more, or use fewer attributes or coarser values", BAD_INPUT, debug
        )
    except Exception as error:
        if exit_code():  # a library made an error of its own out of ours
            return _complain(INTERRUPTED_WORDS, exit_code() or INTERRUPTED, debug)
        # The message of an unforeseen error may quote data, so only its kind is shown.
        return _complain(f"unforeseen {type(error).__name__}; run again with --debug and report it", BUG, debug)
    finally:
        sys.stdout = before


class _Patient:
    """Standard output that neither a closed pipe nor a small character set can stop: the work is done all the same."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")

    def write(self, text: str) -> int:
        self._try("write", text)
        return len(text)

    def flush(self) -> None:
        self._try("flush")

    def _try(self, method: str, *arguments: str) -> None:
        if self._stream is None:
            return
        try:
            getattr(self._stream, method)(*arguments)
        except (BrokenPipeError, ValueError):
            self._give_up()
        except OSError as trouble:
            self._give_up()
            raise OutputRefused(f"standard output was not written: {trouble.strerror}") from None

    def _give_up(self) -> None:
        self._stream = None
        real = sys.__stdout__
        if real is not None:
            with suppress(OSError, ValueError):  # so that nothing is left to be flushed at exit
                os.dup2(os.open(os.devnull, os.O_WRONLY), real.fileno())

    def isatty(self) -> bool:
        return self._stream is not None and bool(self._stream.isatty())

    @property
    def encoding(self) -> str:
        return getattr(self._stream, "encoding", None) or "utf-8"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _complain(message: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    if sys.stderr is None:
        return code
    sys.stderr.write("funnel: " + one_line(" ".join(message.split())) + "\n")
    return code
