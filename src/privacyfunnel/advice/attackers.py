"""What each assumption about attackers costs: quick figures before a long search, each with a bound that was proven."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeGuard, cast

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, InvalidPromise, TooManyAttackers
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.optimiser.optimise import search
from privacyfunnel.optimiser.program.state import interruptible
from privacyfunnel.optimiser.program.task import check_task
from privacyfunnel.optimiser.splitting.search import Splitting
from privacyfunnel.promises.notion import Notion

Known = int | tuple[str, ...] | None

SECONDS = 6.0
"""For all figures together: a few seconds before a search of a minute."""
CLOSE = 0.01
"""Of H(X): a figure this close to its bound is not made better."""
SPLIT_ABOVE = 100
"""Values of X above which parts are split rather than searched: a search finds more in minutes, less in a second."""
FEW = 2
"""Columns known, up to which each number has a line of its own; then come all of them."""


@dataclass(frozen=True)
class KnownCost:
    """What can be kept if attackers know so much beforehand."""

    known: Known
    """As SRLIP and SRLDP take it: a number of columns, their names, or None for any of them."""
    who: str
    """The same in words."""
    kept: float | None
    """Nats that a certified protocol keeps, found quickly: a longer search may keep more. None: too many attackers."""
    at_most: float
    """Nats: no protocol keeps more."""
    entropy: float
    """H(X), all there is to keep."""
    asked: bool
    """Whether this is the assumption of the promise that was asked for."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


def known_costs(joint: Joint, notion: Notion, *, seconds: float = SECONDS) -> list[KnownCost]:
    """What the promise would keep if attackers knew nothing, any one column, any two, or any at all.

    `notion` is SRLIP or SRLDP; if it names columns, or a number above two, that has a line, too. Figures are sought
    for so many seconds together, before rounding and proofs, and are certified: `kept` by a protocol, `at_most` by a
    proof. Protecting from more attackers keeps no more, so figures never grow from the weakest assumption on.

    >>> joint = Joint([[[30, 10], [5, 5]], [[10, 10], [5, 25]]])
    >>> [(one.who, one.kept <= one.at_most <= one.entropy) for one in known_costs(joint, SRLIP(0.5))]
    [('nothing', True), ('any columns', True)]
    """
    check_search(joint, notion, seconds)
    if not takes_known(notion):
        raise InvalidPromise("known= is for srlip and srldp; other promises are to people who know nothing beforehand")
    if len(joint.attributes) < 2:
        raise InvalidInput("with one column there is nothing to know beforehand; name two or more")
    asked = _asked(joint, notion)
    chain = _chain(len(joint.attributes), asked)
    others = [] if asked in chain else [asked]
    share = seconds / (len(chain) + len(others))
    found: dict[Known, tuple[float | None, float]] = {}
    with interruptible() as interrupted:
        for known in [*chain, *others]:
            figures = quick_figures(joint, with_known(notion, known), share, interrupted)
            found[known] = figures.kept, figures.at_most
    return [
        KnownCost(known, _words(known), *_settled(known, chain, found), joint.entropy, known == asked)
        for known in [*chain, *others]
    ]


def takes_known(notion: object) -> TypeGuard[Notion]:
    """Whether it is a promise whose attackers may know columns, to the people in the table."""
    if not isinstance(notion, Notion) or not notion.simple or notion.confidence is not None:
        return False
    return "known" in notion.parameters()


def check_search(joint: Joint, notion: Notion, seconds: float) -> None:
    """Refuse what makes no sense; such searches end, so they need a number of seconds."""
    check_task(joint, notion, 1.0, seconds, None)
    if cast(object, seconds) is None:
        raise InvalidInput("seconds must be a number: how long to search")


def _chain(columns: int, asked: Known) -> list[Known]:
    """From the weakest assumption to the strongest: nothing, one column, two, any; and a number that was asked for."""
    numbers = {*range(FEW + 1), *([asked] if isinstance(asked, int) else [])}
    return [*sorted(number for number in numbers if number < columns - 1), None]


def _asked(joint: Joint, notion: Notion) -> Known:
    """The assumption of a promise; None, any columns, if it says the same: who knows all of them learns nothing."""
    known, columns = cast(Known, cast(Any, notion).known), joint.attributes
    if isinstance(known, tuple):
        return None if {*columns} <= {*known} else known or 0
    return None if known is not None and known >= len(columns) - 1 else known


def with_known(notion: Notion, known: Known) -> Notion:
    """The same promise, to people who know so much."""
    return cast(Notion, replace(cast(Any, notion), known=known))


def _words(known: Known) -> str:
    if known is None:
        return "any columns"
    if isinstance(known, int):
        return {0: "nothing", 1: "any one column", 2: "any two columns"}.get(known, f"any {known} columns")
    return f"any of {', '.join(known)}" if len(known) > 1 else ", ".join(known) or "nothing"


@dataclass(frozen=True, eq=False)
class Figures:
    """What a certified protocol keeps, in nats, and what none exceeds; `kept` is None if attackers are too many."""

    kept: float | None
    at_most: float
    search: Splitting | None = None
    """What found it, if that can go on."""


def quick_figures(
    joint: Joint, notion: Notion, seconds: float, interrupted: threading.Event, before: Figures | None = None
) -> Figures:
    """What a protocol keeps that is found quickly, and what none exceeds; no worse than figures from `before`."""
    try:
        going_on = before.search if before is not None else _splitting(joint, notion)
        if going_on is not None:
            protocol, _ = going_on.found(seconds, None, interrupted, ticks())
        else:
            close = max(CLOSE * joint.entropy, CLOSE**2)
            protocol, _ = search(joint, notion, gap=close, time_limit=seconds, progress=None)
    except TooManyAttackers:
        return Figures(None, joint.entropy)
    kept, at_most = protocol.utility, min(protocol.upper_bound, joint.entropy)
    if before is not None and before.kept is not None:
        kept, at_most = max(kept, before.kept), min(at_most, before.at_most)
    return Figures(kept, at_most, going_on)


def _splitting(joint: Joint, notion: Notion) -> Splitting | None:
    if joint.n_x <= SPLIT_ABOVE or notion.one_view(joint) or notion.perfect(joint):
        return None
    return Splitting(joint, notion)


def _settled(
    known: Known, chain: Sequence[Known], found: dict[Known, tuple[float | None, float]]
) -> tuple[float | None, float]:
    """Figures of one assumption, by those of others: who protects from more keeps no more."""
    place = chain.index(known) if known in chain else 0
    weaker = [found[one] for one in chain[: place + 1]]
    stronger = [found[one] for one in (chain[place:] if known in chain else chain[-1:])]
    kept = [one for one, _ in (*stronger, found[known]) if one is not None]
    return (max(kept) if kept else None), min(most for _, most in (*weaker, found[known]))
