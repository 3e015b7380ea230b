"""publish: a released table and its protocol become one folder for a data portal, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.errors import InvalidTable
from privacyfunnel.estimates.expected import columns_told
from privacyfunnel.estimates.which_rows import Rows, can_be_fitted, check_rows
from privacyfunnel.estimates.wide.meters import WideMeters
from privacyfunnel.protocols.file import to_text
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.step import Kind
from privacyfunnel.publishing.belongs import belonging, check_promise, check_protocol
from privacyfunnel.publishing.citation import citation
from privacyfunnel.publishing.croissant import croissant
from privacyfunnel.publishing.datapackage import datapackage
from privacyfunnel.publishing.dcat import dcat
from privacyfunnel.publishing.described import (
    CATALOGUE,
    CHECK,
    CITE,
    CROISSANT,
    OWN,
    PAGE,
    PARQUET,
    PROTOCOL,
    R_FILE,
    REPORT,
    TABLE,
    Described,
    File,
    fields_of,
)
from privacyfunnel.publishing.details import Details
from privacyfunnel.publishing.readme import readme
from privacyfunnel.report.account import account
from privacyfunnel.tables.by_step import sanitiser_of
from privacyfunnel.tables.published_folder import PACKAGE
from privacyfunnel.tables.reading_back import rows_in_batches, tally
from privacyfunnel.tables.release import shuffled
from privacyfunnel.tables.release_note import COUNTING, LEANING, VARIANT, mind_of
from privacyfunnel.tables.sources import Source
from privacyfunnel.tables.whole_folder import check_folder, whole_folder
from privacyfunnel.tables.writing import table_writer

Doing = Callable[[str], None]


@dataclass(frozen=True)
class Publication:
    """What was published, for a summary."""

    folder: Path
    rows: int
    columns: tuple[str, ...]
    files: tuple[File, ...]
    fitted: bool
    """Whether the folder says that these are the rows that the protocol was fitted on."""
    counting: str
    """What it says of counting them."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        names = {file.name: {"bytes": file.size, "sha256": file.sha256} for file in self.files}
        of = "fitted" if self.fitted else "other"
        columns = list(self.columns)
        return {"folder": str(self.folder), "rows": self.rows, "of": of, "columns": columns, "files": names}


def publish(
    protocol: Protocol,
    table: Path,
    folder: Path,
    details: Details,
    *,
    rows: Rows | None = None,
    force: bool = False,
    doing: Doing = lambda _: None,
) -> Publication:
    """One folder with the released `table`, its protocol, what they mean, and how they are read.

    The folder says whether these are the rows that the protocol was fitted on: as `rows` says, "fitted" or "other", or
    else as far as their number and their counts tell.

    Refused: protocols fitted on exact counts, or whose promise is not kept; tables that a protocol did not release,
    that hold other columns, or that were drawn with a seed.
    """
    check_folder(folder, force, OWN, PACKAGE)
    check_protocol(protocol)
    source, as_told = belonging(protocol, table)
    doing("checking the promise in exact arithmetic")
    about = account(protocol)
    check_promise(about)
    with whole_folder(folder, force, OWN, PACKAGE) as part:
        doing("writing the table")
        written = _write_table(as_told, source, part)
        doing("drawing the report")
        from privacyfunnel.report.page import report_page  # its charts take a while to load

        (part / PROTOCOL).write_text(to_text(protocol), encoding="utf-8")
        (part / REPORT).write_text(report_page(about, protocol_name=PROTOCOL), encoding="utf-8")
        told = tuple(File.of(part / name) for name in (TABLE, PARQUET, PROTOCOL, REPORT))
        fields = tuple(fields_of(as_told))
        fitted = _fitted(as_told, part / PARQUET, rows)
        shares = columns_told(as_told, written) if protocol.step.listed and not fitted else ()
        described = Described(details, protocol, about, written, fields, told, version("privacyfunnel"), fitted, shares)
        _describe(described, part)
        inside = tuple(File.of(path) for path in sorted(part.iterdir()))
    return Publication(folder, written, as_told.table_columns, inside, described.fitted, described.counting)


def _fitted(protocol: Protocol, table: Path, rows: Rows | None) -> bool:
    """Whether these are the rows that the protocol was fitted on, and can be counted."""
    check_rows(rows)
    if protocol.objective != "faithful":
        return False
    return CAN_BE_FITTED[protocol.step.kind](protocol, table) if rows is None else rows == "fitted"


def _by_model(protocol: Protocol, table: Path) -> bool:
    """Whether rows are as many as a model was fitted on, with counts of single columns that its noise explains."""
    try:
        WideMeters.of(protocol, table, None, delimiter=None, encoding="utf-8")
    except InvalidTable:
        return False
    return True


CAN_BE_FITTED: dict[Kind, Callable[[Protocol, Path], bool]] = {
    "channel": lambda protocol, table: can_be_fitted(protocol, tally(protocol, table)),
    "by_history": lambda protocol, table: tally(protocol, table).rows == protocol.people,
    "by_model": _by_model,
}
"""Whether rows can be those that a protocol was fitted on, by the step that draws them."""


def _write_table(protocol: Protocol, source: Source, part: Path) -> int:
    """Write the rows anew, as the protocol writes its outputs, in an order of their own: nothing but outputs gets
    through, and a table in the order of the original one, which may go by the secret, tells no more than others.
    """
    sanitiser, rows = sanitiser_of(protocol), 0
    counting = LEANING if sanitiser.leaning else COUNTING[protocol.objective]
    metadata = {"software": "privacyfunnel", "counting": counting, "mind": list(mind_of(sanitiser.following))}
    if protocol.variant is not None:
        metadata["variant_column"] = VARIANT.format(protocol.variant)
    schema = sanitiser.schema()
    with (
        table_writer(part / TABLE, schema, metadata, force=False) as as_csv,
        table_writer(part / PARQUET, schema, metadata, force=False) as as_parquet,
    ):
        for y in shuffled(_outputs(protocol, source), Randomness.secure()):
            batch = sanitiser.release(y)
            as_csv(batch)
            as_parquet(batch)
            rows += len(y)
        if not rows:
            raise InvalidTable(f"{source.name} has a header but no rows")
    return rows


def _outputs(protocol: Protocol, source: Source) -> Iterator[NDArray[np.int32]]:
    """The outputs that rows stand for. Rows that stand for none are refused when all are read."""
    for y in rows_in_batches(protocol, source):
        if not (y[:, 0] < 0).any():
            yield y


def _describe(described: Described, part: Path) -> None:
    """The files that say what the others are."""
    r_file = r_source() if described.for_r else None
    if r_file is not None:
        (part / R_FILE).write_bytes(r_file)
    (part / CHECK).write_bytes(files("privacyfunnel.publishing").joinpath(CHECK).read_bytes())
    for name, content in (
        (PACKAGE, datapackage(described)),
        (CROISSANT, croissant(described)),
        (CATALOGUE, dcat(described)),
    ):
        (part / name).write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    (part / PAGE).write_text(readme(described, r_file is not None), encoding="utf-8")
    (part / CITE).write_text(citation(described), encoding="utf-8")


def r_source() -> bytes | None:
    """The file for R: it comes with the package, and lies beside its source; None if it is in neither place."""
    inside = files("privacyfunnel.publishing").joinpath(R_FILE)
    beside = Path(__file__).resolve().parents[3] / "r" / R_FILE
    for place in (inside, beside):
        if place.is_file():
            return place.read_bytes()
    return None
