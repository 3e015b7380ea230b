"""Saving a wide protocol, and releasing a table by it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from privacyfunnel.protocols.wide.file import to_text
from privacyfunnel.protocols.wide.protocol import WideProtocol
from privacyfunnel.tables.release import release_rows
from privacyfunnel.tables.sources import open_source
from privacyfunnel.tables.wide.redrawing import WideSanitiser
from privacyfunnel.tables.writing import check_output, whole_file


def sanitise_wide(
    protocol: WideProtocol,
    table: Any,
    output: str | Path | None = None,
    *,
    keep_order: bool = False,
    seed: int | None = None,
    force: bool = False,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    where: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Any:
    """Redraw every row of `table`; into `output`, or as a table of the same kind. Unknown values are refused."""
    secrets = [reading.name for reading in protocol.secret_readings]
    source = open_source(table, delimiter=delimiter, encoding=encoding, where=where, secrets=secrets)
    source.require(protocol.attributes)
    digest = str(json.loads(to_text(protocol))["digest"]) if output is not None else None
    return release_rows(WideSanitiser(protocol), source, table, output, keep_order, seed, force, progress, None, digest)


def save_wide(protocol: WideProtocol, path: Path, force: bool) -> None:
    """Write the protocol's file."""
    check_output(path, force)
    with whole_file(path, force) as file:
        file.write(to_text(protocol).encode("utf-8"))
