"""A released table that was read back, and how its shares are found, by the step of its protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.measuring import Way
from privacyfunnel.estimates.meters import Meters
from privacyfunnel.estimates.questions import Asker
from privacyfunnel.estimates.together import for_estimates, tally_together
from privacyfunnel.estimates.which_rows import Rows, check_contrasts, reading_words, way_of
from privacyfunnel.estimates.wide.meters import WideMeters
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.step import Kind
from privacyfunnel.tables.reading_back import as_published, tally

TOGETHER = "All releases together: shares are worked back from how the protocols draw rows, one after the other."


@dataclass(frozen=True)
class Layout:
    """What is read beside the protocol, and how."""

    rows: Rows | None = None
    """Whether these are the rows that the protocol was fitted on, if that is known."""
    contrasts: bool = False
    """Whether it is asked how columns go together, and not for shares alone."""
    earlier: Any = None
    """The tables that were released before."""
    person: str | None = None
    """The column that says which rows are of the same person."""
    delimiter: str | None = None
    encoding: str = "utf-8"

    @property
    def text(self) -> dict[str, Any]:
        """How text files are read."""
        return {"delimiter": self.delimiter, "encoding": self.encoding}


@dataclass(frozen=True, eq=False)
class ReadRelease:
    """A released table that was read and can be asked."""

    rows: int
    way: Way
    why: str
    asker: Asker
    meters: Meters | WideMeters
    faithful: bool
    """Whether it could be counted, if it were of the rows that the protocol was fitted on."""
    noisy: bool
    """Whether counts are set right by noisy ones."""
    associated: bool = True
    """Whether the strength with which two columns go together in all can be told."""


def read_release(protocol: Protocol, released: Any, layout: Layout) -> ReadRelease:
    """Read a released table as its protocol tells to."""
    if not isinstance(protocol, Protocol):
        raise InvalidInput(f"estimates need a Protocol, not {type(protocol).__name__}")
    if protocol.before is None and (layout.earlier is not None or layout.person is not None):
        raise InvalidInput("this protocol follows no earlier release, so its rows are read by themselves")
    return READERS[protocol.step.kind](protocol, released, layout)


def _listed(protocol: Protocol, released: Any, layout: Layout) -> ReadRelease:
    """By a listed channel: counted if these can be the fitted rows, and worked back elsewhere."""
    protocol = as_published(protocol, released, **layout.text)
    counts = tally(protocol, released, **layout.text)
    way, why = way_of(protocol, counts, layout.rows)
    if layout.contrasts and way == "channel":
        check_contrasts(protocol, counts.rows)
    asker = Asker(protocol)
    meters, faithful = Meters(protocol, counts, way, asker), protocol.objective == "faithful"
    return ReadRelease(counts.rows, way, why, asker, meters, faithful, protocol.noise is not None)


def _following(protocol: Protocol, released: Any, layout: Layout) -> ReadRelease:
    """All releases so far together, worked back as one."""
    whole = for_estimates(protocol)
    counts = tally_together(protocol, released, layout.earlier, layout.person, **layout.text)
    way, _ = way_of(whole, counts, layout.rows)
    if layout.contrasts:
        check_contrasts(whole, counts.rows)
    asker, why = Asker(whole), f"{TOGETHER} {reading_words(whole)}".rstrip()
    return ReadRelease(counts.rows, way, why, asker, Meters(whole, counts, way, asker), False, whole.noise is not None)


def _of_model(protocol: Protocol, released: Any, layout: Layout) -> ReadRelease:
    """By a model: shares are counted, and how columns go together is worked back. Of many cells, each with a large
    error, no strength in all comes out: measured, it misled.
    """
    way: Way = "channel" if layout.contrasts else "counted"
    meters = WideMeters.of(protocol, released, layout.rows, way, **layout.text)
    return ReadRelease(meters.rows, meters.way, meters.why, meters.asker, meters, False, False, associated=False)


READERS: dict[Kind, Callable[[Protocol, Any, Layout], ReadRelease]] = {
    "channel": _listed,
    "by_history": _following,
    "by_model": _of_model,
}
