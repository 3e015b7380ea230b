"""Serving the studio: on this machine only, from a folder that goes when it ends."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from privacyfunnel.errors import InvalidInput, MissingExtra, OutputRefused

if TYPE_CHECKING:
    from uvicorn import Server

    from privacyfunnel.studio.guard import Guard
    from privacyfunnel.studio.reopening import Start

LOOPBACK = "127.0.0.1"
SECONDS_TO_END = 0.4
"""Seconds that searches and open connections are given when the studio is told to end; people expect Ctrl-C to work at
once, and a search that is deep in a compiled library may take far longer."""


def serve(
    table: Path | None,
    *,
    folder: Path | None,
    port: int,
    most_bytes: int,
    time_limit: float | None,
    ready: Callable[[str], None],
    start: Start | None = None,
) -> None:
    """Serve until interrupted. `ready` is told the address, which holds a token that works once."""
    os.environ["SHINY_OTEL_COLLECT"] = "none"  # no telemetry, whatever else is installed here
    try:
        import shiny  # noqa: F401 - only whether it is there
        import uvicorn  # noqa: F401 - likewise
    except ImportError:
        raise MissingExtra("shiny", "studio") from None
    from privacyfunnel.studio.app import page_of, studio_app
    from privacyfunnel.studio.guard import Guard
    from privacyfunnel.studio.work import end_all

    with _folder(folder) as own, _listening(port) as listener:
        deadline = _Deadline(own)
        app = studio_app(table, own, most_bytes, time_limit, start)
        guard = Guard(app, listener.getsockname()[1], most_bytes, page_of(app))
        ready(guard.address)
        try:
            server = server_of(guard, deadline.begin)
            with suppress(KeyboardInterrupt), _ended_by_hanging_up(server):
                server.run(sockets=[listener])
        finally:
            deadline.begin()
            if not end_all(SECONDS_TO_END):
                deadline.leave()
            deadline.met()


class _Deadline:
    """The studio is over soon after it is told to end, whatever still runs.

    Then the process leaves without the usual clearing up, which would wait for every thread, or abort if one is deep in
    a compiled library. Only the folder is removed first.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._timer = threading.Timer(SECONDS_TO_END, self.leave)
        self._timer.daemon = True
        self._begun = False

    def begin(self) -> None:
        """The studio was told to end."""
        if not self._begun:
            self._begun = True
            self._timer.start()

    def met(self) -> None:
        """Everything has ended by itself."""
        self._timer.cancel()

    def leave(self) -> None:
        """Remove the folder and end the process here."""
        shutil.rmtree(self._folder, ignore_errors=True)
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        shutil.rmtree(self._folder, ignore_errors=True)  # what was written in the meantime
        os._exit(0)


def server_of(guard: Guard, ending: Callable[[], None] = lambda: None) -> Server:
    """A server that logs no address, and believes nobody who says for whom he asks: there is no proxy before us.

    `ending` is called when it is told to end.
    """
    from uvicorn import Config, Server

    class Told(Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            ending()
            super().handle_exit(sig, frame)

    return Told(
        Config(guard, log_level="error", access_log=False, server_header=False, lifespan="on", proxy_headers=False)
    )


@contextmanager
def _ended_by_hanging_up(server: Server) -> Iterator[None]:
    """A closed terminal ends the studio as Ctrl-C does: the server itself does not know of it."""
    hangup = getattr(signal, "SIGHUP", None)  # Windows has none
    if hangup is None or signal.getsignal(hangup) == signal.SIG_IGN:  # as with nohup
        yield
        return
    before = signal.signal(hangup, lambda _number, frame: server.handle_exit(signal.SIGTERM, frame))
    try:
        yield
    finally:
        signal.signal(hangup, before)


@contextmanager
def _folder(parent: Path | None) -> Iterator[Path]:
    """A folder of our own for everything that is written, also by the libraries; nobody else may look into it."""
    try:
        own = Path(tempfile.mkdtemp(prefix="privacyfunnel-studio-", dir=parent))
    except OSError as trouble:
        raise OutputRefused(f"{parent} cannot be used as a folder: {trouble.strerror}") from None
    before, tempfile.tempdir = tempfile.tempdir, str(own)
    ending = signal.signal(signal.SIGTERM, _end)
    try:
        yield own
    finally:
        signal.signal(signal.SIGTERM, ending)
        tempfile.tempdir = before
        shutil.rmtree(own, ignore_errors=True)


def _end(signum: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


@contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen()  # from here on nobody who knows the address is turned away
        yield listener
    except (OSError, OverflowError):
        raise InvalidInput(f"port {port} cannot be used; choose another, or 0 for any") from None
    finally:
        listener.close()
