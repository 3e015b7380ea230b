"""Preview: the first rows of a table beside a draw of what they might be released as."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from privacyfunnel.distribution.column import UNSEEN, Label
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.sources import Source

PREVIEW_ROWS = 6
"""What is seen at a glance."""


@dataclass(frozen=True)
class Preview:
    """The same rows before and after. Another draw gives other rows, and the release is another draw."""

    columns: tuple[str, ...]
    before: tuple[tuple[Label, ...], ...]
    after: tuple[tuple[Label, ...], ...]


def preview(protocol: Protocol, source: Source, rows: int = PREVIEW_ROWS) -> Preview:
    """Sanitise the first rows of a table, keeping their order, for the eyes of its owner only."""
    names = list(protocol.attributes)
    first = pa.Table.from_batches([next(iter(source.batches(names))).slice(0, rows)])
    columns = {column.name: column for column in protocol.columns}
    before = []
    for name in names:
        codes = columns[name].encode(first.column(name).combine_chunks())
        before.append([columns[name].labels[code] if code != UNSEEN else None for code in codes])
    released = protocol.sanitise(first, keep_order=True)
    after = [released.column(name).to_pylist() for name in names]
    return Preview(tuple(names), tuple(zip(*before, strict=True)), tuple(zip(*after, strict=True)))
