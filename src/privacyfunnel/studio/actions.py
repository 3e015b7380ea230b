"""What the studio does for a visitor: open a table, count it, find a protocol, release, report."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, InvalidPromise, InvalidTable, TooManyAttackers, TooManyReadAsOthers
from privacyfunnel.numeric.leaving import unless_left
from privacyfunnel.optimiser.optimise import optimise
from privacyfunnel.optimiser.smallest_epsilon import Wish, epsilon_for
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import LIP, MOST_FAMILIES, kind_named, number_of_families
from privacyfunnel.protocols.protocol import Objective, Protocol
from privacyfunnel.report.account import Account, account
from privacyfunnel.report.curves import EPSILONS, Comparison, comparable, one_curve
from privacyfunnel.report.page import report_page
from privacyfunnel.spec import as_controls
from privacyfunnel.spec.counted import counted
from privacyfunnel.spec.counting import is_modelled, wishes_of
from privacyfunnel.spec.filled import with_filled
from privacyfunnel.spec.of_steps import SanitiseSpec
from privacyfunnel.spec.spec import Spec
from privacyfunnel.spec.written import names, quoted
from privacyfunnel.studio import wishing
from privacyfunnel.studio.more import More
from privacyfunnel.studio.others import FOR_YES
from privacyfunnel.studio.protecting import Counts, Protection
from privacyfunnel.studio.reopening import Start, recipe_text, with_files
from privacyfunnel.studio.solving import basis, drawing, found_by, protection_for
from privacyfunnel.studio.wishing import Cut
from privacyfunnel.studio.work import Follow
from privacyfunnel.tables.counting import Counted
from privacyfunnel.tables.formats import OTHERS, READ
from privacyfunnel.tables.preview import Preview, preview
from privacyfunnel.tables.release import sanitise
from privacyfunnel.tables.release_note import Release
from privacyfunnel.tables.sources import Source, open_source
from privacyfunnel.tables.suggesting import Role, Suggestion, suggest

ENDINGS = (
    *(".csv", ".csv.gz", ".tsv", ".txt", ".parquet", ".pq", ".jsonl", ".ndjson", ".json", ".jsonl.gz", ".tsv.gz"),
    *OTHERS,
)
SHOWN = 80
"""Letters of a file's name that a message quotes; its end is what matters."""
POINT_SECONDS = 10.0
"""For each point of the curves. Most take a tenth of that, but not while charts are drawn and other searches run."""
MOST_MEASURED = 5_000_000
"""Sets of columns that attackers may know times combinations of values in the table: measuring what such attackers
gain takes about 10 µs for each, so up to a minute."""
COUNTING, SEARCHING, MEASURING = (
    "Counting.",
    "Looking for the best protocol.",
    "Found. Measuring what it keeps, and what attackers gain.",
)
"""What a search does, one after the other."""
KNOWN_LABEL = "Attackers may know"
ATTACKERS = {"any": "any of the columns", "1": "one column at most", "2": "two columns at most"}
INSIST_LABEL = "Fit even if more than 5% of the people are read as having another combination of values"
FIRST_OBJECTIVE: Objective = "faithful"
"""What is kept the most of unless somebody chooses otherwise: rows that anybody can read without a tool."""


@dataclass(frozen=True, eq=False)
class Opened:
    """A table, and what might be done with its columns."""

    path: Path
    name: str
    """As its owner calls it."""
    rows: int
    columns: tuple[Suggestion, ...]
    counts: dict[Any, Counts] = field(default_factory=dict, repr=False)
    """Of every choice of a secret, columns and how they are read so far: who comes back to one finds the same noise."""
    start: Start | None = None
    """What is chosen from the start, by a recipe."""
    said: Mapping[str, str] = field(default_factory=dict)
    """What the controls of the table said, by their keys."""

    def source(self) -> Source:
        """The table, read as it was opened."""
        return _source(self.path, self.said)


@dataclass(frozen=True, eq=False)
class Solved:
    """A protocol for the table, and all that is shown of it."""

    account: Account
    preview: Preview | None
    protection: Protection
    asked: Notion | None
    """The promise as it was chosen, if it was; the protocol's own may say more about what it was made for."""
    wish: Wish | None = None
    """What it was found for, if it was a wish."""
    more: More = field(default_factory=More)
    spec: Spec | None = None
    """The promise with all that was chosen of it, unless it was found for a wish."""


def open_table(
    path: Path, name: str, start: Start | None = None, said: Mapping[str, str] = MappingProxyType({})
) -> Opened:
    """Look at a table, read as it is `said`; what is chosen from the start is marked in place of suggestions."""
    try:
        source = _source(path, said)
        columns = suggest(source)
    except InvalidTable as trouble:  # its owner does not know where we put it
        raise InvalidTable(str(trouble).replace(str(path), name)) from None
    rows, _ = source.distinct([column.column for column in columns if column.usable][:1])
    marked = columns if start is None else _marked(columns, start, name)
    return Opened(path, name, rows, marked, start=start, said=said)


def _source(path: Path, said: Mapping[str, str]) -> Source:
    return open_source(path, **as_controls.said(SanitiseSpec, said).spec().said())


def _marked(columns: tuple[Suggestion, ...], start: Start, name: str) -> tuple[Suggestion, ...]:
    """The columns with the parts that a recipe gives them."""
    there = {column.column for column in columns if column.usable}
    second = (start.second,) if start.second else ()
    for asked in (start.secret, *second, *(start.attributes or ()), *start.cuts):
        if asked not in there:
            raise InvalidTable(f"the recipe speaks of a column {asked!r}, which {name} does not have")

    def part(column: Suggestion) -> Role:
        if column.column == start.secret:
            return "secret"
        if column.column == start.second:
            return "leave out"
        suggested = column.part == "release" if start.attributes is None else column.column in start.attributes
        return "release" if suggested else "leave out"

    return tuple(replace(column, part=part(column)) for column in columns)


def take_upload(path: Path, name: str, folder: Path) -> Path:
    """Move an uploaded file into our folder, under a name of our own with the ending that says what it is."""
    ending = max((e for e in ENDINGS if name.lower().endswith(e)), key=len, default=None)
    if ending is None:
        raise InvalidTable(f"{name[-SHOWN:]} should end in {READ}")
    taken = folder / f"table{ending}"
    shutil.move(path, taken)
    return taken


def count(
    opened: Opened,
    secret: str,
    attributes: list[str],
    cuts: Mapping[str, Cut] | None = None,
    second: str = "",
    others: Mapping[str, str] | None = None,
) -> Counts:
    """Count the chosen columns, once; those of `cuts` as they are to be cut, and all as `others` say."""
    secrets = [secret, second] if second else [secret]
    said = {**opened.said, **(others or {})}
    if "leave_out" in said and "fill" not in said:  # as their boxes do
        gone = names(said.pop("leave_out"))
        attributes = [name for name in attributes if name not in gone]
    own = secrets if said.get("allow_secret_attribute") == FOR_YES else []
    used = [*attributes, *(name for name in own if name not in attributes)]
    cut = {name: cut for name, cut in (cuts or {}).items() if name in {*secrets, *used}}
    said |= {"columns": ",".join(map(quoted, used)), **wishing.typed(cut)}
    counting = {name: text for name, text in said.items() if name != "coarsen"}  # which is about a promise, too
    counting |= {"exact_fit": FOR_YES} if own else {}  # as it has to be
    spec = as_controls.said(Spec, counting | {"secret": "\n".join(map(quoted, secrets))}).spec()
    choice = tuple(sorted((name, repr(sorted(one) if name == "columns" else one)) for name, one in spec.said().items()))
    if choice not in opened.counts:
        opened.counts[choice] = Counts(counted(spec, opened.path), wishes_of(spec), said)
    return opened.counts[choice]


def protection_of(private: str, at_least: str, notion: str, confidence: str, insist: bool = False) -> Protection:
    """How the protocol is protected, as chosen on the page for a promise."""
    return Protection.chosen(private, at_least, kind_named(notion) or Notion, confidence, insist)


def solve(
    counts: Counts,
    opened: Opened,
    notion: Notion | None,
    time_limit: float | None,
    follow: Follow,
    *,
    objective: Objective = FIRST_OBJECTIVE,
    protection: Protection | None = None,
    more: More | None = None,
    spec: Spec | None = None,
) -> Solved:
    """The best protocol for a promise, or where it is None for what `spec` looks for; and what is to be shown of it."""
    protection = Protection.usual(notion or LIP(0.0)) if protection is None else protection
    limits: dict[str, Any] = {"time_limit": time_limit, "progress": follow}
    more = More() if more is None else more
    with _named_as_on_the_page():
        if spec is None:
            joint = _used(counts, protection, cast(Notion, notion), follow)
            protocol = optimise(joint, cast(Notion, notion), objective=objective, exact=more.exact or None, **limits)
        else:
            own, begun = protection_for(spec, protection), basis(spec, counts, opened.path, protection, opened.counts)
            counts, limits["time_limit"] = begun.counts, time_limit if spec.time_limit is None else spec.time_limit
            if notion is not None and not is_modelled(spec, counts.exact.joint):
                _used(counts, own, notion, follow)
            follow(SEARCHING)
            protocol = found_by(spec, begun, own, limits, opened.path)
        found = _measured(protocol, counts, opened, notion, protection, follow)
    return replace(found, more=more, spec=spec)


def grant(
    counts: Counts,
    opened: Opened,
    make: Callable[[float], Notion],
    keep: float,
    time_limit: float | None,
    follow: Follow,
    *,
    objective: Objective = FIRST_OBJECTIVE,
    protection: Protection | None = None,
    spec: Spec | None = None,
) -> Solved:
    """The smallest ε that keeps enough; columns are read, and filled, as `spec` says."""
    protection = Protection.usual(make(keep)) if protection is None else protection
    own = protection if spec is None else protection_for(spec, protection)
    with _named_as_on_the_page():
        if spec is not None:
            counts = basis(spec, counts, opened.path, protection, opened.counts).counts
        joint = _used(counts, own, make(keep), follow)
        wish = epsilon_for(joint, make, keep, objective=objective, time_limit=time_limit, progress=follow)
        protocol = wish.protocol if spec is None else with_filled(spec, wish.protocol, opened.path)
        found = _measured(protocol, counts, opened, wish.protocol.notion, protection, follow)
    return replace(found, wish=wish)


def _used(counts: Counts, protection: Protection, notion: Notion, follow: Follow) -> Joint:
    """The counts to search with; refused before much time is spent if attackers may know too many sets of columns."""
    sets = notion.sets_known(counts.exact.joint)  # by the names of its columns
    if sets > MOST_FAMILIES:
        with _named_as_on_the_page():
            raise TooManyAttackers(f"{sets:,} sets of columns that an attacker may know are too many", known=2)
    follow(COUNTING)
    with _named_as_on_the_page():
        joint = counts.used(protection).joint
    unless_left()
    if sets > 1 and sets * joint.n_x > MOST_MEASURED:
        what = f"{sets:,} sets of columns that an attacker may know, with {joint.n_x:,} combinations of values"
        fewer = 2 if sets > number_of_families(len(joint.attributes), 2) else 1
        with _named_as_on_the_page():
            raise TooManyAttackers(f"{what}, are too many to be measured", known=fewer)
    follow(SEARCHING)
    return joint


def _measured(
    protocol: Protocol, counts: Counts, opened: Opened, asked: Notion | None, protection: Protection, follow: Follow
) -> Solved:
    """A protocol that was found, and what it gives away; that a private one was found does not hang on the latter."""
    unless_left()
    follow(MEASURING)

    def on_the_table(exact: Counted) -> tuple[Account, Preview | None]:
        rows = preview(protocol, opened.source()) if protocol.before is None else None
        return account(protocol, exact.joint), rows

    if protection.private is None:
        return Solved(*on_the_table(counts.exact), protection, asked)
    about, rows = counts.steward.told(on_the_table) or (account(protocol), None)
    return Solved(about, rows, protection, asked)


@contextmanager
def _named_as_on_the_page() -> Iterator[None]:
    """A refusal names the choice that is on the page, not the option of the command line."""
    try:
        yield
    except TooManyAttackers as trouble:
        choice = f"under “{KNOWN_LABEL}” choose “{ATTACKERS[str(trouble.known)]}”"
        raise InvalidPromise(f"{trouble.what}; {choice}, or release fewer columns or wider ranges") from None
    except TooManyReadAsOthers as trouble:
        fewer = "release fewer columns, wider ranges or fewer values"
        raise InvalidInput(f"{trouble.what}: {fewer}, or choose “{INSIST_LABEL}”") from None


def next_curve(
    joint: Joint, done: Comparison, follow: Follow, *, first: str = "", objective: Objective = FIRST_OBJECTIVE
) -> Comparison | None:
    """The curves with that of one more kind of promise, `first` before others; None when there is none left."""
    names = {curve.kind.name for curve in done.curves} | set(done.left_out)
    left = [kind for kind in comparable(joint) if kind.name not in names]
    kind = min(left, key=lambda kind: kind.name != first, default=None)
    if kind is None:
        return None
    more = one_curve(joint, kind, EPSILONS, objective=objective, time_limit=POINT_SECONDS, progress=follow)
    return done.plus(more)


def release(solved: Solved, opened: Opened, folder: Path) -> Path:
    """The released table. It is drawn once: who downloads it again gets the same rows, not a second draw."""
    path = folder / f"{solved.account.digest[7:23]}.csv"
    if not path.exists():
        how = {**as_controls.said(SanitiseSpec, opened.said).spec().said(), **drawing(solved.spec)}
        _: Release = sanitise(solved.account.protocol, opened.path, path, **how)
    return path


def recipe_of(
    solved: Solved,
    opened: Opened,
    counts: Counts,
    time_limit: float | None,
    named: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """What was chosen, as a recipe; `named` is what their owner calls the files that were uploaded."""
    protocol, spec = solved.account.protocol, solved.spec
    secrets = counts.exact.joint.secret_names
    columns = protocol.attributes if spec is None or spec.named is None else tuple(spec.named)
    promise = solved.asked if spec is None else with_files(spec, named)
    return recipe_text(
        opened.name,
        [[name] for name in secrets] if len(secrets) > 1 else protocol.secret,
        columns,
        counts.wishes,
        cast(Any, promise),
        protocol.objective,
        solved.protection,
        time_limit if spec is None or spec.time_limit is None else spec.time_limit,
    )


def report_text(solved: Solved, opened: Opened, compared: Comparison | None, *, public: bool) -> str:
    """The report, or the page to publish."""
    if public:
        return report_page(account(solved.account.protocol))
    return report_page(solved.account, table_name=opened.name, compared=compared)
