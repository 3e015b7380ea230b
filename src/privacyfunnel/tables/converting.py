"""Converting: a file that DuckDB does not read is put into Parquet by a process of its own.

The libraries that read such files are written in C and Rust, and a broken file can end the process that they run in.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from privacyfunnel.errors import InvalidTable, MissingExtra
from privacyfunnel.tables.contents import Contents
from privacyfunnel.tables.database import spill_file
from privacyfunnel.tables.formats import WORKBOOKS, sheet_of


@dataclass(frozen=True)
class Converted:
    """A table in Parquet, and what its own file says of it."""

    held: Path
    names: tuple[str, ...]
    shown: tuple[str, ...]
    """SQL of each column."""
    about: dict[str, str]
    notes: dict[str, str]
    codes: dict[str, dict[str, Any]]

    def view(self, name: str, reader: str) -> str:
        """SQL of a view of that name on the Parquet file; its columns are c0, c1, …"""
        listed = ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(self.shown))
        return f"CREATE TEMP VIEW {name} AS SELECT {listed} FROM {reader}"  # noqa: S608 - names of our own


def converted(path: Path, encoding: str) -> Converted:
    """The table at a path, which may name a sheet."""
    file, _ = sheet_of(path)
    package = "python_calamine" if file.suffix.lower() in WORKBOOKS else "pyreadstat"
    if find_spec(package) is None:
        raise MissingExtra(f"{path} is read by {package.replace('_', '-')}, which", "formats")
    held = spill_file()
    told = _apart(path, held, encoding)
    if "trouble" in told:
        held.unlink(missing_ok=True)
        raise MemoryError(told["trouble"]) if told.get("memory") else InvalidTable(told["trouble"])
    return Converted(held, tuple(told.pop("names")), tuple(told.pop("shown")), **told)


def _apart(path: Path, held: Path, encoding: str) -> dict[str, Any]:
    """What the process says."""
    command = [sys.executable, "-m", "privacyfunnel.tables.converting", str(path), str(held), encoding]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, env=environment, check=False)  # noqa: S603 - our own module
    try:
        told: dict[str, Any] = json.loads(done.stdout)
    except ValueError:  # it ended before it could say anything
        return {"trouble": unreadable(sheet_of(path)[0])}
    return told


def unreadable(file: Path) -> str:
    """What is said of a broken file."""
    return f"{file} cannot be read as a {file.suffix} file; is it complete, and of that format?"


def contents_of(path: Path, encoding: str) -> Contents:
    """What is in a file that DuckDB does not read. What reads it is loaded only now."""
    file, sheet = sheet_of(path)
    kind = file.suffix.lower()
    if kind in WORKBOOKS:
        from privacyfunnel.tables import workbooks

        return workbooks.opened(file, sheet)
    from privacyfunnel.tables import statistical

    return statistical.opened(file, kind, encoding)


def _told(path: Path, held: Path, encoding: str) -> dict[str, Any]:
    """Convert, and say how that went. What a library says may quote a value, so it is not repeated."""
    try:
        contents = contents_of(path, encoding)
        contents.put(held, str(path))
        return contents.told()
    except InvalidTable as trouble:
        return {"trouble": str(trouble)}
    except MemoryError:
        return {"trouble": f"the memory is used up by reading {path}", "memory": True}
    except OverflowError:
        return {"trouble": f"{path} holds a date beyond the year 9999"}
    except BaseException:  # Rust has a kind of its own
        return {"trouble": unreadable(sheet_of(path)[0])}


def main(path: str, held: str, encoding: str) -> None:
    """What the process does: nothing of it stays if it is ended, no picture of its memory either."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, OSError, ValueError):  # not on this system
        pass
    sys.stdout.write(json.dumps(_told(Path(path), Path(held), encoding)))


if __name__ == "__main__":
    main(*sys.argv[1:])
