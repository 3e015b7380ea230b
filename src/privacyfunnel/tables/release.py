"""sanitise: from a table to the table that is released."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privacyfunnel.drawing.kernel import permutation
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.protocols.file import digest_of
from privacyfunnel.protocols.fill import NOT_KEYED
from privacyfunnel.protocols.own_table import OwnRows
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.variants import without_variants
from privacyfunnel.tables.by_step import sanitiser_of
from privacyfunnel.tables.changes import as_it_was, check_all_known, check_joined
from privacyfunnel.tables.draws import Draws, Fresh, FromMemory
from privacyfunnel.tables.earlier_releases import tables_of, with_histories
from privacyfunnel.tables.formats import sheet_of
from privacyfunnel.tables.frames import like
from privacyfunnel.tables.internal_copy import Internal, Kept, kept_inside
from privacyfunnel.tables.release_note import Release
from privacyfunnel.tables.remembered.memory import Remember, in_batches, people_of_table
from privacyfunnel.tables.sanitiser import Sanitiser, Unseen, check_unseen
from privacyfunnel.tables.sources import BATCH_ROWS, Source, open_source
from privacyfunnel.tables.writing import check_output, format_of, plain, table_writer, whole_file
from privacyfunnel.tables.writing_others import described

SHUFFLE_ROWS = 32_000_000
"""Rows shuffled in memory at a time; larger tables are dealt into that many rows' worth of piles first."""
PILES = 256
"""A byte is then a fair die."""
GIVE_ONE = (
    "a follow-up is drawn from what was released before, which is read from the tables that were kept (released), or "
    "drawn again with the key (remember): give one of them"
)


def sanitise(
    protocol: Protocol,
    table: Any,
    output: str | Path | None = None,
    *,
    keep_order: bool = False,
    unseen: Unseen = "refuse",
    seed: int | None = None,
    force: bool = False,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    where: str | None = None,
    variant: bool = True,
    progress: Callable[[int], None] | None = None,
    internal: Internal | None = None,
    remember: str | Path | None = None,
    person: str | None = None,
    changed: str = "keep",
    was: Any = None,
    released: Any = None,
) -> Any:
    """Draw a released row for every row of `table`, or for those `where` a condition is met.

    With `output`, rows go into that file (of a format in writing.FORMATS) and a `Release` comes back.
    Without, the released table comes back, of the same kind as `table` (Arrow, for a path). `internal` is a copy for
    the house, in which rows have the column that says whose they are: a follow-up is drawn from it.

    With `remember`, the file of a key, and `person`, the column that says who rows are about, people who were released
    before keep their row. The ledger beside the key is asked first, and written before the release is there.
    A follow-up takes what was `released` of the same `person` before, a table or a list of them from the first on, or
    the key. `was` is for one on what people were and are: the table of then, or a list of them, the first one first.
    """
    check_unseen(protocol, unseen)
    beside = remember is None and internal is not None and protocol.before is None  # who rows are about is kept, only
    asked = _asked(protocol, released, remember, None if beside else person, changed)
    if asked is not None and seed is not None:
        raise InvalidInput("rows are drawn with a seed or with a key, not with both")
    digest = digest_of(protocol) if output is not None or internal is not None else None
    shown = protocol if variant else without_variants(protocol)
    if output is not None:
        check_target(table, output, force)
    if asked is not None:
        written = [] if output is None else [Path(output)]
        asked.check_apart(*written, *([] if internal is None else [internal.path]))
    secrets = [reading.name for reading in protocol.secret_readings]
    source = open_source(table, delimiter=delimiter, encoding=encoding, where=where, secrets=secrets)
    gone = None
    if was is not None:
        source, changes = as_it_was(source, was, protocol, person, delimiter, encoding)
        gone = changes.gone
    check_joined(source, protocol)
    source.require(protocol.attributes)
    if released is not None:
        joined = with_histories(source, protocol, tables_of(released), str(person), delimiter, encoding)
        if was is not None:
            check_all_known(source)
        source = joined
    sanitiser, draws = sanitiser_of(shown, unseen), None
    if asked is not None:
        memory = people_of_table(protocol, asked, source, unseen, in_batches(source))
        memory.summary = replace(memory.summary, gone=gone)
        draws = FromMemory(memory, shown)
    return release_rows(sanitiser, source, table, output, keep_order, seed, force, progress, internal, digest, draws)


def _asked(
    protocol: Protocol, released: Any, remember: str | Path | None, person: str | None, changed: str
) -> Remember | None:
    """How people are known again, by their key; a follow-up needs that, or what was released of them."""
    if protocol.fill is not None and remember is not None:
        raise InvalidInput(NOT_KEYED)
    if protocol.before is None and released is not None:
        raise InvalidInput("this protocol follows no earlier release, so it is drawn without what was released before")
    if protocol.before is None or remember is not None:
        if released is not None:
            raise InvalidInput(GIVE_ONE)
        return Remember.asked(remember, person, changed, protocol)
    if released is None:
        raise InvalidInput(GIVE_ONE)
    if person is None:
        raise InvalidInput("a follow-up is drawn by people: name the column that says who rows are about (person)")
    if changed != "keep":
        raise InvalidInput("changed is for people who are known again by a key (remember)")
    return None


def release_rows(
    sanitiser: Sanitiser,
    source: Source,
    table: Any,
    output: str | Path | None,
    keep_order: bool,
    seed: int | None,
    force: bool,
    progress: Callable[[int], None] | None,
    internal: Internal | None = None,
    digest: str | None = None,
    draws: Draws | None = None,
) -> Any:
    """Draw a released row for every row of a source, which is that of `table`; `digest` is that of the protocol.

    Rows are drawn by the sanitiser itself, with fresh randomness, unless there are `draws`.
    """
    sanitiser.keep_types(source.types)
    randomness = Randomness.secure() if seed is None else Randomness.seeded(seed)
    draws = draws or Fresh(sanitiser, randomness)
    if output is None:
        with kept_inside(internal, sanitiser, source, digest) as kept:
            released = _in_memory(draws, sanitiser, source, randomness, keep_order, progress, internal, kept)
            kept.finish()
            draws.commit()
        metadata = _summary(draws, sanitiser, source, len(released), keep_order, seed).metadata()
        return _like(table, released, metadata)
    target = check_target(table, output, force)
    note = None if format_of(target) == ".parquet" else target.with_name(target.name + ".metadata.json")
    release = replace(_summary(draws, sanitiser, source, 0, keep_order, seed), protocol=digest)
    if note is not None and release.warns:
        check_output(note, force)
    rows, own = 0, OwnRows(sanitiser.own_columns)
    schema = described(sanitiser.schema(), source.about, source.codes)
    with (
        kept_inside(internal, sanitiser, source, digest) as kept,
        _noted(note, release),
        table_writer(target, schema, release.metadata(), force) as write,
    ):
        for y in _released_codes(draws, sanitiser, source, randomness, keep_order, progress, internal, kept, own):
            write(sanitiser.release(y))
            rows += len(y)
        if not rows:
            raise InvalidTable(f"{source.name} has a header but no rows")
        kept.finish()
        draws.commit()
    summary = _summary(draws, sanitiser, source, rows, keep_order, seed)
    return replace(summary, protocol=digest, own=own.own_table())


def check_target(table: Any, output: str | Path, force: bool) -> Path:
    """Where to write, if that can be: before a ledger is asked, and once more before it is written."""
    target = Path(output)
    format_of(target)
    check_output(target, force, (sheet_of(Path(table))[0],) if _is_path(table) else ())
    return target


def _summary(
    draws: Draws, sanitiser: Sanitiser, source: Source, rows: int, keep_order: bool, seed: int | None
) -> Release:
    protocol = sanitiser.protocol
    return Release(
        rows,
        attributes=sanitiser.attributes,
        dropped=tuple(name for name in source.columns if name not in protocol.table_columns),
        filled=protocol.fill.names if protocol.fill is not None else (),
        drawn=draws.drawn,
        shuffled=not keep_order,
        secure=seed is None,
        seed=seed,
        objective=protocol.objective,
        variant=protocol.variant,
        remembered=draws.remembered,
        leaning=sanitiser.leaning,
        following=sanitiser.following,
    )


@contextmanager
def _noted(note: Path | None, release: Release) -> Iterator[None]:
    """CSV has no place for metadata: a release that warns does so in a file beside it, another leaves none there.

    The note can be written before the table is, and appears after it.
    """
    if note is None or not release.warns:
        yield
        if note is not None:
            note.unlink(missing_ok=True)
        return
    with whole_file(note, force=True) as file:
        file.write(json.dumps(release.metadata(), indent=1).encode() + b"\n")
        yield


def _released_codes(
    draws: Draws,
    sanitiser: Sanitiser,
    source: Source,
    randomness: Randomness,
    keep_order: bool,
    progress: Callable[[int], None] | None,
    internal: Internal | None,
    kept: Kept,
    own: OwnRows | None = None,
) -> Iterator[NDArray[np.int32]]:
    """The outputs of all rows, in batches; refused as a whole if some rows must be."""
    names = [*draws.columns, *([internal.person] if internal is not None else [])]

    def drawn() -> Iterator[NDArray[np.int32]]:
        done, held = 0, []
        for read in source.batches(list(dict.fromkeys(names)), draws.rows, plain=draws.plain):
            batch, y = draws.outputs(read)
            done += read.num_rows
            kept.add(batch, y)
            if own is not None:
                before = sanitiser.codes_before(batch)
                own.add(before, sanitiser.codes_after(y), int(sanitiser.read_as_others(before).sum()))
            held.append(y)
            if sum(map(len, held)) >= BATCH_ROWS:
                yield np.concatenate(held)
                held = []
                if progress is not None:
                    progress(done)
        if held:
            yield np.concatenate(held)
        if progress is not None:
            progress(done)
        draws.finish()

    yield from drawn() if keep_order else shuffled(drawn(), randomness)


def shuffled(
    batches: Iterator[NDArray[np.int32]], randomness: Randomness, rows: int = SHUFFLE_ROWS
) -> Iterator[NDArray[np.int32]]:
    """All rows of all batches, in an order drawn uniformly from all orders.

    Up to `rows` rows, in memory. Beyond, every row is dealt to one of several piles by a fair die and each
    pile is shuffled: that is a uniform order of the whole. Piles are unnamed temporary files, and hold
    released codes only, nothing of the original rows.
    """
    held: list[NDArray[np.int32]] = []
    count, width = 0, 1
    with ExitStack() as stack:
        piles: list[IO[bytes]] = []
        for y in batches:
            width = y.shape[1]
            held.append(y)
            count += len(y)
            if count >= rows:
                piles = piles or [stack.enter_context(TemporaryFile()) for _ in range(PILES)]
                _deal(np.concatenate(held), piles, randomness)
                held, count = [], 0
        if piles and held:
            _deal(np.concatenate(held), piles, randomness)
            held = []
        for pile in piles:
            pile.seek(0)
            yield from _in_random_order(np.frombuffer(pile.read(), dtype=np.int32).reshape(-1, width), randomness)
        if held:
            yield from _in_random_order(np.concatenate(held), randomness)


def _deal(y: NDArray[np.int32], piles: list[IO[bytes]], randomness: Randomness) -> None:
    die = np.empty(len(y), dtype=np.uint8)
    randomness.fill(die)
    order = np.argsort(die, kind="stable")
    ends = np.cumsum(np.bincount(die, minlength=PILES))
    for pile, part in zip(piles, np.split(y[order], ends[:-1]), strict=True):
        pile.write(np.ascontiguousarray(part).tobytes())


def _in_random_order(y: NDArray[np.int32], randomness: Randomness) -> Iterator[NDArray[np.int32]]:
    order = permutation(len(y), randomness)
    for start in range(0, len(y), BATCH_ROWS):
        yield y[order[start : start + BATCH_ROWS]]


def _in_memory(
    draws: Draws,
    sanitiser: Sanitiser,
    source: Source,
    randomness: Randomness,
    keep_order: bool,
    progress: Callable[[int], None] | None,
    internal: Internal | None,
    kept: Kept,
) -> pa.Table:
    schema = sanitiser.schema()
    codes = _released_codes(draws, sanitiser, source, randomness, keep_order, progress, internal, kept)
    return pa.Table.from_batches([plain(sanitiser.release(y), schema) for y in codes], schema=schema)


def _like(table: Any, released: pa.Table, metadata: dict[str, Any]) -> Any:
    """The released table in the kind the original came in, with its metadata where there is a place for it."""
    noted = released.replace_schema_metadata({"privacyfunnel": json.dumps(metadata)})
    found = noted if _is_path(table) else like(table, noted)
    if isinstance(getattr(found, "attrs", None), dict):  # of pandas
        found.attrs["privacyfunnel"] = metadata
    return found


def _is_path(table: Any) -> bool:
    return isinstance(table, str | Path)
