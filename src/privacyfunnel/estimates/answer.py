"""estimate: what a released table tells of the original one, from it and the published protocol alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from privacyfunnel.distribution.column import Label
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.estimates.frequencies import Estimate, Frequencies, Presentation, frequencies, named
from privacyfunnel.estimates.intervals import tail
from privacyfunnel.estimates.measuring import Way
from privacyfunnel.estimates.opened import values_kept
from privacyfunnel.estimates.questions import Asker
from privacyfunnel.estimates.read_release import Layout, read_release
from privacyfunnel.estimates.summaries import Summary, has_mean, summary
from privacyfunnel.estimates.which_rows import Rows
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.showing.sheet import Mark, Sheet, between, in_group, number, share
from privacyfunnel.showing.shown import Shown

MOST_GROUPS = 200
"""More lines than this are no answer for people, and each group is measured by itself."""


@dataclass(frozen=True)
class Empty:
    """A group of which nothing can be said, and why."""

    group: dict[str, Label | tuple[Label, ...]]
    reason: str


@dataclass(frozen=True)
class Estimates(Shown):
    """Everything that was asked of a released table."""

    rows: int
    way: Way
    """Whether rows were counted as they stand, or worked back from how the channel draws them."""
    why: str
    """Why, in a sentence."""
    confidence: float
    simultaneous: bool
    """Whether all intervals of a table hold at once with this confidence, or each by itself."""
    tables: tuple[Frequencies, ...]
    summaries: tuple[Summary, ...]
    empty: tuple[Empty, ...]

    def table(self, *attributes: str, **group: Any) -> Frequencies:
        """The table of some attributes, in a group."""
        for found in self.tables:
            if set(found.attributes) == set(attributes) and found.group == group:
                return found
        raise InvalidInput(f"no table of {' and '.join(attributes)} was asked for in this group")

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    def sheet(self) -> Sheet:
        """What a notebook shows: shares with their intervals, and means."""
        all_of_them = [(found, one) for found in self.tables for one in found.estimates]
        rows = [[_named(*one), share(one[1].share), between(one[1].low, one[1].high, True)] for one in all_of_them]
        marks = [Mark(one.share, one.low, one.high) for _, one in all_of_them]
        means = [
            f"Mean of {s.attribute}{in_group(s.group)}: {number(s.mean)} ({between(s.low, s.high)})"
            for s in self.summaries
        ]
        title = f"Estimates from {self.rows:,} released rows, {self.confidence:.0%} intervals"
        return Sheet(title, [self.why, *means], ("share of", "share", "interval"), rows, marks)


def _named(found: Frequencies, one: Estimate) -> str:
    """What a share is of, in words."""
    texts = (" × ".join("missing" if v is None else str(v) for v in values) for values in one.values)
    return f"{' × '.join(found.attributes)} = {' or '.join(texts)}{in_group(found.group)}"


def estimate(
    released: Any,
    protocol: Protocol,
    *,
    of: str | Sequence[str | Sequence[str]] | None = None,
    by: str | Sequence[str] = (),
    where: Mapping[str, Any] | None = None,
    rows: Rows | None = None,
    confidence: float = 0.95,
    simultaneous: bool = False,
    project: bool = False,
    model: bool = True,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    earlier: Any = None,
    person: str | None = None,
) -> Estimates:
    """Frequencies in the original table, with intervals, from the released one.

    `of` lists attributes, and tuples of attributes for tables of their combinations; without it, every attribute.
    `by` makes a table for every value of these attributes, `where` keeps those with certain values: {"sex": "female"}
    or {"town": ["A", "B"]}. `simultaneous` makes all intervals of a table hold at once. `project` moves shares to the
    nearest distribution; without it they are unbiased, and may be below 0. `model` also finds the most likely
    distribution, the only answer where the released rows do not tell.

    Rows of a faithful release of the fitted table are counted as they stand, with intervals that hold both what the
    table is a sample of and how rows were drawn; those of a private fit are set right by the noisy counts in its file,
    whose noise the intervals hold, too. Those of a model are counted, with intervals that hold how far
    they lean towards it, as far as the file tells; nothing is told of other rows. All others are worked back from how
    the channel draws them. Which of the two is found out from the number of rows and their counts, unless `rows` says
    it, "fitted" or "other", which is needed where a strict promise leaves too little to see.

    For a follow-up, `earlier` is the table that was released before, or a list of them from the first on, and `person`
    the column that says which rows of all tables are of the same person: everything is worked back together.

    >>> joint = Joint([[300, 100], [100, 500]], attributes=["town"])
    >>> protocol = optimise(joint, LIP(0.8), objective="faithful")
    >>> rows = __import__("pyarrow").table({"town": [0] * 400 + [1] * 600})
    >>> found = estimate(protocol.sanitise(rows, seed=1), protocol).table("town").estimates[0]
    >>> found.told, found.low < 0.4 < found.high
    (True, True)
    >>> estimate(protocol.sanitise(rows, seed=1), protocol).way
    'counted'
    """
    tail(confidence)  # refuses what is none
    read = read_release(protocol, released, Layout(rows, False, earlier, person, delimiter, encoding))
    asker, meters = read.asker, read.meters
    by = [by] if isinstance(by, str) else list(by)
    kept = values_kept(asker, where or {})
    asker.require([*by, *kept])
    asked = _asked(asker, of, {*by, *kept})
    wish = Presentation(confidence, simultaneous, project, model)
    tables: list[Frequencies] = []
    summaries: list[Summary] = []
    empty: list[Empty] = []
    for group in _groups(asker, by):
        fixed = {**kept, **group}
        try:
            tables += [frequencies(meters.reader(names, fixed, wish), names) for names in asked]
        except InvalidTable as trouble:
            if not group:
                raise
            empty.append(Empty(named(asker, fixed), str(trouble)))
            continue
        single = [names[0] for names in asked if len(names) == 1]
        numeric = [name for name in single if has_mean(asker.columns[name])]
        summaries += [summary(meters.reader([name], fixed, wish), name) for name in numeric]
    found = tuple(tables), tuple(summaries), tuple(empty)
    return Estimates(read.rows, read.way, read.why, confidence, simultaneous, *found)


def _asked(asker: Asker, of: str | Sequence[str | Sequence[str]] | None, taken: set[str]) -> list[list[str]]:
    if of is None:
        of = [name for name in asker.columns if name not in taken]
    if not of:
        raise InvalidInput("no attribute is left to estimate; name one in --of that --by and --where do not hold fixed")
    wanted = [of] if isinstance(of, str) else list(of)
    found = [[names] if isinstance(names, str) else list(names) for names in wanted]
    for names in found:
        asker.require(names)
        both = sorted(set(names) & taken)
        if both:
            raise InvalidInput(f"attribute {both[0]!r} cannot be both asked for and held fixed by --by or --where")
    return found


def _groups(asker: Asker, by: Sequence[str]) -> list[dict[str, Sequence[int]]]:
    groups = list(asker.groups(by))
    if len(groups) > MOST_GROUPS:
        raise InvalidInput(f"{' and '.join(by)} make {len(groups):,} groups, more than {MOST_GROUPS}; use fewer")
    return groups
