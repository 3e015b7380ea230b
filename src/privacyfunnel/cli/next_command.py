"""The next command: the way from a table to a published folder, in the names of the files at hand.

    domain ─▶ init ─▶ run --dry-run ─▶ run ───────┐
    tradeoff ─▶ fit ─▶ sanitise ─▶ audit (─▶ report) ─▶ publish --template ─▶ publish ─▶ estimate, by its readers

A command ends by asking here what follows, and by `say`; with --json it tells the same words under "next"
(a curve, which is measured on exact counts, among what is the steward's). Nothing is
proposed that would be refused: exact fits end with their report. Once the folder is published nothing has to follow.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privacyfunnel.errors import PrivacyFunnelError

if TYPE_CHECKING:
    from privacyfunnel.protocols.protocol import Protocol
    from privacyfunnel.spec.key import Keyed
    from privacyfunnel.spec.of_steps import PublishSpec, SanitiseSpec
    from privacyfunnel.spec.spec import Spec

OPEN, PUBLISHED, DETAILS, PROTOCOL, REPORT = "open.csv", "published", "publish.toml", "protocol.json", "report.html"
"""What files are called unless it is said otherwise; folders of recipes hold the same."""
RECIPE = "recipe.toml"
PUBLISHED_TABLE, PACKAGE = "table.csv", "datapackage.json"
LAYOUT = ("delimiter", "encoding")
READING = ("where", *LAYOUT)
"""How a table is read, by every command that reads it."""
DRAWING = (*READING, "engine", "master", "released", "was", "person")
"""What fit and sanitise have in common."""
CHECKING = (*READING, "was", "person")
"""What sanitise and audit have in common, with a table."""
MOST_LOOKED_AT = 20
"""Files of a folder in which the released table is looked for, the newest first: each is opened."""
TABLES = (".csv", ".csv.gz", ".parquet")
_PART_OF_A_RUN = ContextVar("part of a run", default=False)


class Blank(str):
    """A word that only a person can put in place."""


Words = list[str]
"""A command, word by word as it would be typed. One with a Blank in it is for people only."""


def demo(epsilon: float) -> Words:
    """The demo once more, to have its files."""
    return ["funnel", "demo", "--epsilon", f"{epsilon:g}", "--folder", _free(Path("demo"))]


def begin(table: Path, domain: Path, options: Sequence[str] = ()) -> Words:
    """Write a recipe for a table whose columns are declared."""
    return ["funnel", "init", _named(table), *options, "--domain", str(domain), "-o", _free(domain.with_name(RECIPE))]


def run(recipe: Path, *options: str) -> Words:
    """Do what a recipe says."""
    return ["funnel", "run", _named(recipe), *options]


def fit(spec: Spec, epsilon: float, output: Path | None = None) -> Words:
    """Fit what was asked for, with an ε that was chosen."""
    from privacyfunnel.spec import as_flags

    chosen = as_flags.again(type(spec), {**spec.said(), "epsilon": epsilon})
    return ["funnel", "fit", *as_flags.words(chosen), "-o", str(output) if output else _free(Path(PROTOCOL))]


def after_fit(spec: Spec, table: Path, protocol: Path) -> Words:
    """Draw rows of the table that was fitted, read as it was."""
    from privacyfunnel.spec import as_flags
    from privacyfunnel.spec.of_steps import SanitiseSpec

    said = spec.said()
    drawing = DRAWING if spec.after is not None else tuple(name for name in DRAWING if name != "person")
    words = as_flags.typed(SanitiseSpec, {name: said[name] for name in drawing if name in said})
    return sanitise(table, protocol, words, Path(spec.after) if spec.after is not None else None)


def follow(table: Path, person: str) -> Words:
    """Fit a follow-up on a table of what people were and are."""
    asked = ["--secret", Blank("SECRET"), "--epsilon", Blank("EPSILON"), "--set", Blank("after=PROTOCOL")]
    return ["funnel", "fit", _named(table), *asked, "--set", f"person={person}", "-o", _free(Path(PROTOCOL))]


def fit_one_each(table: Path, person: str) -> Words:
    """Fit a protocol on a table with one row of each person."""
    from privacyfunnel.spec.written import quoted

    asked = ["--secret", Blank("SECRET"), "--epsilon", Blank("EPSILON"), "--leave-out", quoted(person)]
    return ["funnel", "fit", _named(table), *asked, "-o", _free(Path(PROTOCOL))]


def sanitise(table: Path, protocol: Path, options: Sequence[str] = (), follows: Path | None = None) -> Words:
    """Draw rows of the table; of a follow-up of `follows`, with what was released before."""
    words = ["sanitise", _named(table), *options, "--protocol", str(protocol)]
    if follows is not None and "--released" not in words:
        words += _remembered(follows) if "--was" in words else ["--released", Blank("KEPT")]
        words += [] if "--person" in words else ["--person", Blank("PERSON")]
    ending = ".parquet" if table.suffix in (".parquet", ".pq") else ".csv"
    return ["funnel", *words, "-o", _free(protocol.with_name(OPEN).with_suffix(ending))]


def drawn_with_a_seed(spec: SanitiseSpec, output: Path) -> Words:
    """The same without the seed, which is for tests."""
    from privacyfunnel.spec import as_flags

    again = spec.model_copy(update={"seed": None, "table": _named(Path(str(spec.table)))})
    return ["funnel", "sanitise", *as_flags.words(again), "-o", _free(output)]


def audit(path: Path, protocol: Protocol, table: Path, options: Sequence[str] = ()) -> Words:
    """Prove the promise: by the file, if it carries the counts that it is about, and on its table elsewhere."""
    exact = not protocol.carries_counts
    return ["funnel", "audit", _named(path), *(["--table", str(table), *options] if exact else [])]


def publish(
    path: Path,
    protocol: Protocol,
    table: Path | None = None,
    options: Sequence[str] = (),
    reported: bool = False,
) -> Words | None:
    """Publish what was drawn by a protocol that keeps its promise; before that, draw it, with the table at hand.

    An exact fit ends with a report, and what is published already with what its readers do.
    """
    if path.with_name(PACKAGE).exists():
        return estimate(path.parent)
    released = released_beside(path, protocol)
    if released is None:
        return sanitise(table, path, options) if table is not None and protocol.before is None else None
    if can_be_published(released, protocol):
        return publish_table(released, path)
    if protocol.fitted == "exact counts" and table is not None and not reported:
        report = _free(path.with_name(REPORT))
        return ["funnel", "report", _named(path), "--table", str(table), *options, "-o", report]
    return None


def after_audit(path: Path) -> Words | None:
    """What follows the audit of a protocol in a file, whose rows lie beside it."""
    from privacyfunnel.protocols.file import load

    return publish(path, load(path))


def publish_table(released: Path, protocol: Path) -> Words:
    """Publish a table with the details beside its protocol; before that, begin the file of these."""
    details, folder = protocol.with_name(DETAILS), _free(protocol.with_name(PUBLISHED))
    more = ["--details" if details.exists() else "--template", str(details)]
    return ["funnel", "publish", _named(released), "--protocol", str(protocol), *more, "-o", folder]


def publish_with(details: Path, spec: PublishSpec, output: Path | None) -> Words:
    """Publish with the details of a file that was just begun, as they were asked for."""
    table = _named(Path(spec.released)) if spec.released is not None else Blank("RELEASED")
    by = spec.protocol if spec.protocol is not None else Blank("PROTOCOL")
    folder = str(output) if output is not None else Blank("FOLDER")
    more = typed(spec, [name for name in spec.said() if name not in ("released", "protocol", "details")])
    return ["funnel", "publish", table, "--protocol", by, *more, "--details", str(details), "-o", folder]


def estimate(folder: Path) -> Words | None:
    """Estimate, as readers of a published folder do; of a follow-up they need the earlier tables, too."""
    from privacyfunnel.protocols.file import load

    if load(folder / PROTOCOL).before is not None:
        return None
    return estimate_from(folder / PUBLISHED_TABLE, folder / PROTOCOL)


def estimate_from(released: Path, protocol: Path) -> Words:
    """Estimate from a released table."""
    return ["funnel", "estimate", _named(released), "--protocol", str(protocol)]


def verify(key: Path, head: str) -> Words:
    """Verify a ledger up to a line that is known."""
    return ["funnel", "ledger", "verify", str(key), "--head", head]


def can_be_published(released: Path, protocol: Protocol) -> bool:
    """Whether a table and its protocol would not be refused by publish."""
    from privacyfunnel.publishing.belongs import belonging, check_protocol

    try:
        check_protocol(protocol)
        belonging(protocol, released)
    except PrivacyFunnelError:
        return False
    return True


def released_beside(path: Path, protocol: Protocol) -> Path | None:
    """The newest table beside a protocol, or where we are, that holds what it releases and nothing else."""
    from privacyfunnel.tables.sources import open_source

    headers = (tuple(protocol.released_columns), tuple(protocol.attributes))
    found = {one.resolve(): one for folder in (Path(), path.parent) for one in _tables_in(folder)}
    for one in sorted(found.values(), key=lambda one: -one.stat().st_mtime_ns)[:MOST_LOOKED_AT]:
        try:
            names = open_source(one, delimiter="," if one.suffix != ".parquet" else None).columns
        except PrivacyFunnelError:
            continue
        if tuple(names) in headers:
            return one
    return None


def typed(spec: Keyed, names: Sequence[str]) -> Words:
    """Those of the keys called `names` that were said, as options."""
    from privacyfunnel.spec import as_flags

    return as_flags.typed(type(spec), {name: value for name, value in spec.said().items() if name in names})


def say(words: Words | None, head: str = "Next:") -> None:
    """The last line of a command, to be copied; `head` says what a person has to do before, or who is meant."""
    if words is None or _PART_OF_A_RUN.get():
        return
    from privacyfunnel.cli import show

    screen = show.console()
    screen.print(head, markup=False)
    screen.print(shlex.join(words), markup=False, soft_wrap=True)


def data(words: Words | None) -> dict[str, Any]:
    """The same for machines."""
    known = words is not None and not any(isinstance(word, Blank) for word in words)
    return {"next": words if known and not _PART_OF_A_RUN.get() else None}


@contextmanager
def part_of_a_run() -> Iterator[None]:
    """Commands that are steps of another leave it to that one to say what is next."""
    before = _PART_OF_A_RUN.set(True)
    try:
        yield
    finally:
        _PART_OF_A_RUN.reset(before)


def in_a_run() -> bool:
    """Whether the command at hand is a step of another."""
    return _PART_OF_A_RUN.get()


def _named(path: Path) -> str:
    """A file where options stand, too."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def _free(path: Path) -> str:
    """A name that nothing has: open.csv, or else open-2.csv, …"""
    number = 1
    tried = path
    while tried.exists():
        number += 1
        tried = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return str(tried)


def _remembered(follows: Path) -> Words:
    """The key of the release that is followed, if only one lies beside its protocol."""
    keys = [path.with_suffix("") for path in follows.parent.glob("*.ledger")]
    return ["--remember", str(keys[0]) if len(keys) == 1 else Blank("KEY")]


def _tables_in(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.name.lower().endswith(TABLES) and path.is_file()]
    except OSError:
        return []
