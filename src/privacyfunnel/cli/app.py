"""The command `funnel`: parse, call, render. Nothing is computed here, and a command is loaded only to be called."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from privacyfunnel.cli.loading import loaded
from privacyfunnel.errors import OutputRefused, PrivacyFunnelError, one_line
from privacyfunnel.numeric.stopping import BAD_INPUT, BUG, INTERRUPTED, Stopped, exit_code, waiting

INTERRUPTED_WORDS = "interrupted; no file was left unfinished"
COMMANDS = {
    "release": "Release a whole table without giving away its secret: one command, one folder that may be published.",
    "domain": (
        "Write a template of the values that columns may have, to be edited before it is public: see fit --domain."
    ),
    "fit": "Find the protocol that keeps the most of a table's columns without giving away its secret.",
    "sanitise": "Draw a released row for every row of a table. Only the protocol's attributes are released.",
    "changes": (
        'Put what people were beside what they are ("town", "town now"), so that who changed can be followed up.'
    ),
    "persons": "Make one row of each person's rows: the first, the last or a random one, others merged by a rule.",
    "ledger": (
        "Show what was released with a key and what everything comes to, verify it, or fix what it may come to."
    ),
    "audit": "Check in exact arithmetic that a protocol keeps its promise. Exit code 0: kept, 1: broken.",
    "estimate": (
        "Estimate frequencies in the original table, with intervals, from a released table and its protocol alone."
    ),
    "regress": (
        "Fit a linear, logistic or Poisson model, with honest errors, from a released table and its protocol alone."
    ),
    "tradeoff": "Show how much of a table can be kept at several ε; --time-limit is for each of them.",
    "report": (
        "Write one page with the promise, its proof, what was kept and what an attacker gains. Exit code 1: broken."
    ),
    "publish": ("Make one folder for a data portal: table, protocol, report, README, and what machines read of them."),
    "init": "Write a commented recipe for a table, with what its columns suggest, to be reviewed and run.",
    "run": "Do all that a recipe says: fit, sanitise, audit, report, publish. The folder appears whole or not at all.",
    "studio": (
        "Choose columns and a promise in a browser, see what is kept and what is given away, and download the release."
    ),
    "demo": "Make up a population, sanitise it, and prove the promise: everything in under a minute.",
    "paper": "Repeat the source paper's experiments: ε-LDP, ε-LIP and ε-SRLIP, by its own methods and by ours.",
}
"""The first line of what each command says of itself; it lies in a module of its name, loaded when it is called."""
READERS = ("estimate", "regress")
"""Commands for tables that are public: what is said of their rows is for everybody."""


class _Commands(TyperGroup):
    """Commands that are names and lines until one of them is called, or completed by a shell."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with waiting():  # what reads them is loaded on the way, and may be compiled
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and command(str(listed.name)), rest


@cache
def command(name: str) -> Any:
    """The command of this name, as typer makes it from its function."""
    called = function(name)
    panels: Any = "rich" if getattr(called, "panels", False) else None
    alone = typer.Typer(add_completion=False, rich_markup_mode=panels, pretty_exceptions_enable=False)
    alone.command(name)(called)
    return typer.main.get_command(alone)


def function(name: str) -> Any:
    """What a command calls; one that is asked by a Spec has the function of that as `asked`."""
    with loaded():
        return getattr(import_module(f"privacyfunnel.cli.{name}"), name)


app = typer.Typer(
    name="funnel",
    cls=_Commands,
    help="Publish tables without giving away the secret in them.",
    epilog="Any command takes --debug, which shows where an error came from.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for _name, _line in COMMANDS.items():
    app.command(_name, help=_line)(lambda: None)


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

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
        own = error.steward_only and arguments[0] not in READERS
        return _complain(_marked(str(error)) if own else str(error), BAD_INPUT, debug)
    except click_error as error:
        message = getattr(error, "format_message", error.__str__)()
        where = getattr(getattr(error, "ctx", None), "command_path", "funnel")
        hint = _as_key(error) or (f"; see {where} --help" if isinstance(error, usage_error) else "")
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


def _as_key(error: Any) -> str:
    """What to say instead of an option that is not there: --set and its key, or the key as an option."""
    name = getattr(error, "option_name", "").lstrip("-")
    command = getattr(getattr(error, "ctx", None), "command", None)
    if name == "set":
        where = getattr(getattr(error, "ctx", None), "command_path", "funnel")
        return f"; here each key is an option by itself: see {where} --help"
    if not name or not any("--set" in part.opts for part in getattr(command, "params", ())):
        return ""
    from privacyfunnel.spec.key import keys_of
    from privacyfunnel.spec.spec import Spec

    return f"; it is a key: --set {name}=…" if name.replace("-", "_") in keys_of(Spec) else ""


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


def _marked(message: str) -> str:
    """What is for the steward alone, on standard error as on standard output."""
    from privacyfunnel.cli.steward import marked

    return marked(message)


def _complain(message: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    if sys.stderr is None:
        return code
    sys.stderr.write("funnel: " + one_line(" ".join(message.split())) + "\n")
    return code
