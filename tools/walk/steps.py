"""One step: what was done, how long it took, how much memory, how long it was silent, and what was said."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024
MOST_GIB = 24.0
"""What no step may reach."""
SILENCE = 5.0
"""Seconds after which somebody wonders whether anything happens."""
LOOK = 0.1
"""Seconds between looks at a process."""
PATIENCE = 900.0
"""Seconds after which a step is given up."""
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")
SPINNER = re.compile(r"^[⠀-⣿] ")
"""Lines that only follow the work."""


@dataclass
class Step:
    """What came of one step."""

    table: str
    columns: str
    where: str
    """In the shell, or in the browser."""
    what: str
    seconds: float = 0.0
    mib: float = 0.0
    silent: float = 0.0
    """The longest time, in seconds, in which nothing moved."""
    code: int | None = None
    said: list[str] = field(default_factory=list)

    @property
    def stumbles(self) -> list[str]:
        """What must not happen."""
        found = []
        if self.mib / 1024 > MOST_GIB:
            found.append(f"{self.mib / 1024:.1f} GiB")
        if self.silent > SILENCE:
            found.append(f"silent for {self.silent:.1f} s")
        if self.code not in (0, 1, 2):
            found.append(f"exit code {self.code}")
        if any("Traceback" in line or "unforeseen" in line for line in self.said):
            found.append("a bug")
        return found


def run(step: Step, arguments: list[str], folder: Path) -> Step:
    """A command of `funnel` on a terminal of its own, as somebody who types it sees it."""
    ours, theirs = pty.openpty()
    begun = moved = time.monotonic()
    command = [sys.executable, "-c", "from privacyfunnel.cli.main import main; main()", *arguments]
    around = {**os.environ, "COLUMNS": "160", "LINES": "50", "TERM": "xterm"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=around)
    os.close(theirs)
    heard = bytearray()
    while True:
        ready, _, _ = select.select([ours], [], [], LOOK)
        now = time.monotonic()
        step.mib = max(step.mib, resident(process.pid))
        if ready:
            try:
                heard += os.read(ours, 65536)
            except OSError:  # the process has closed its terminal
                break
            step.silent, moved = max(step.silent, now - moved), now
        if process.poll() is not None and not ready:
            break
        if now - begun > PATIENCE or step.mib / 1024 > MOST_GIB:
            process.kill()
    os.close(ours)
    step.code = process.wait()
    step.seconds = time.monotonic() - begun
    step.silent = max(step.silent, time.monotonic() - moved)
    step.said = _lines(heard.decode("utf-8", "replace"))
    return step


def resident(pid: int) -> float:
    """MiB that a process has in memory."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_KIB / 1024
    except (OSError, IndexError):
        return 0.0


def _lines(text: str) -> list[str]:
    """What stays on the screen."""
    lines = [ESCAPES.sub("", line).split("\r")[-1].rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    return [line for line in lines if line and not SPINNER.match(line)]
