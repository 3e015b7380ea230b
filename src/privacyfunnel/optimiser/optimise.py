"""optimise: the best protocol for a promise, with a certified bound on what any other could keep."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from privacyfunnel.distribution.asked import Readers
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.optimiser.countable import countable
from privacyfunnel.optimiser.exact_columns import ExactColumns
from privacyfunnel.optimiser.exact_over_sets import ExactOver
from privacyfunnel.optimiser.follow_up import follow_up
from privacyfunnel.optimiser.mixing import Mixing, Problem
from privacyfunnel.optimiser.program.exact_protocol import SHARES, exact_protocol, protocol_of, with_room
from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.optimiser.program.state import (
    FOR_THE_COUNTS,
    WHOLE_SEARCH,
    Progress,
    State,
    before_rounding,
    despite_trouble,
    interruptible,
)
from privacyfunnel.optimiser.program.task import check_task
from privacyfunnel.optimiser.readers.sharpen import USUAL_GIVE_UP, ForReaders, sharpened
from privacyfunnel.optimiser.robust.rounding_over_set import exact_over
from privacyfunnel.optimiser.robust.search import generate_over, region_of
from privacyfunnel.optimiser.robust.table_programs import positive
from privacyfunnel.optimiser.robust.table_rounding import exact_by_tables
from privacyfunnel.optimiser.robust.table_search import search_tables
from privacyfunnel.optimiser.several_priors import optimise_for_each
from privacyfunnel.optimiser.splitting.search import can_split, split_first, split_search
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.robust import Robust
from privacyfunnel.protocols.protocol import Objective, Protocol, not_below
from privacyfunnel.typing import Integers

GAPS: dict[Objective, float] = {"information": 1e-6, "faithful": 1e-3}
"""What may be left to the best: nats that nobody would miss, and one cell of a thousand, as costly to prove."""


def optimise(
    joint: Joint | Sequence[Joint],
    notion: Notion,
    *,
    objective: Objective = "information",
    weights: Mapping[str, float] | None = None,
    readers: Readers | None = None,
    give_up: float = USUAL_GIVE_UP,
    gap: float | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    after: Protocol | None = None,
    histories: Integers | None = None,
    exact: Sequence[str] | None = None,
    keep_rows: bool = False,
    cover: float = math.inf,
) -> Protocol:
    """The protocol that keeps the most of X among all that keep the promise.

    With the objective "information" that is I(X;Y).

    The promise says that every posterior v = P(X=·|y) lies in a polytope Δ, and
    I(X;Y) = H(X) − Σ_y P(y) H(v_y), so the best protocol solves the linear program
    min Σ q_v H(v) s.t. Σ q_v v = p_x over the vertices v of Δ.

    With the objective "faithful", outputs are values of X, and released rows have exactly the distribution of `joint`,
    so that they can be counted as they stand. Among such protocols it is the one that leaves the most cells as they
    are; `weights` says how much the cells of some attributes count, 1 for all others.

    With `readers`, of all protocols that keep at least (1 − `give_up`) of the most information, it is the one whose
    unbiased estimates of shares are sharpest, whatever table is released: of all single columns ("shares"), of these
    and of all pairs of columns ("pairs"), or of those in a list of names and tuples of names. Several outputs may then
    be written as the same values; a released column `variant` tells them apart.

    The joint's counts are taken as they are. A protocol fitted on exact counts is not for publication: its numbers tell
    secrets of people whose combination of values few share. Count with `Joint.from_table(…, private=1.0)` for one that
    is; everything in it is then computed from noisy counts.

    Several joints are several distributions that may be the true one: the promise is kept for each of them, and
    utility is that of their mean. With `robust(notion)` it is kept for all that the counts leave open.

    With `after`, the protocol of an earlier release of the same people, it is the best follow-up, a `Protocol`: rows
    are drawn from what people have and from what was released of them, everything released keeps the promise together,
    and utility is I(X;Y|H) given that history H. `joint` has the columns that were released before, or finer ones, and
    possibly more. `histories` lists the outcomes that occurred; others then have no channel. With `keep_rows`, the
    joint has what people were ("town") and what they are ("town now"): who did not change keeps their row, and as many
    others are followed up as the promise allows; for each of these, up to `cover` unchanged people have new rows, too,
    where it takes that.

    The columns in `exact` are released as they are: that is possible exactly if each combination of their values says
    no more of the secret than the promise allows, and refused otherwise, with what would do.

    Stops when the certified gap is at most `gap` (by default 1e-6 nats, or 0.001 of all cells), after `time_limit`
    seconds, at Ctrl-C, or where float64 tells nothing better from nothing worse (probabilities of many orders);
    whatever comes back has passed the exact check, and says how far from the best it can be.

    >>> protocol = optimise(Joint([[40, 10], [10, 40]]), LIP(0.3))
    >>> round(protocol.utility, 4), protocol.gap <= 1e-6
    (0.0964, True)
    >>> protocol = optimise(Joint([[40, 10], [10, 40]]), LIP(0.3), objective="faithful")
    >>> round(protocol.fidelity, 3)
    0.716
    """
    gap = gap_for(objective, gap, weights)
    if exact is not None and len(exact):
        if readers is not None or after is not None or isinstance(joint, list | tuple):
            raise InvalidInput("exact= is for one joint and one release, and goes without readers= and after=")
        kind = ExactOver if isinstance(notion, Robust) else ExactColumns
        return kind.asked(cast(Joint, joint), notion, exact, objective, weights, gap, time_limit, progress).protocol()
    if after is not None:
        if readers is not None or isinstance(joint, list | tuple):
            raise InvalidInput("after= is for one joint, and goes without readers=")
        return follow_up(
            cast(Joint, joint), notion, after, histories=histories, objective=objective, weights=weights, gap=gap,
            time_limit=time_limit, progress=progress, keep_rows=keep_rows, cover=cover,
        )  # fmt: skip
    if keep_rows or cover < math.inf:
        raise InvalidInput("keep_rows= and cover= are about the rows of an earlier release, so it needs after=")
    if histories is not None:
        raise InvalidInput("histories= says which outcomes of an earlier release occurred, so it needs after=")
    who = None if readers is None else ForReaders(readers, give_up)
    if who is not None and (objective == "faithful" or isinstance(joint, list | tuple)):
        what = "the objective 'information'" if objective == "faithful" else "one joint, not several"
        raise InvalidInput(f"readers= is for {what}; leave readers out")
    if objective == "faithful":
        return countable(joint, notion, weights, gap, time_limit, progress)
    if isinstance(joint, list | tuple):
        for one in joint:
            check_task(one, notion, gap, time_limit, progress)
        return optimise_for_each(joint, notion, gap, time_limit, progress)
    if who is not None:
        return _for_readers(cast(Joint, joint), notion, who, gap, time_limit, progress)
    return search(cast(Joint, joint), notion, gap=gap, time_limit=time_limit, progress=progress)[0]


def _for_readers(
    joint: Joint,
    notion: Notion,
    who: ForReaders,
    gap: float,
    time_limit: float | None,
    progress: Callable[[Progress], None] | None,
) -> Protocol:
    """The protocol with the most information, and then the one for readers; half the time for each."""
    check_task(joint, notion, gap, time_limit, progress)
    who.check(joint, notion)
    started = ticks()
    half = None if time_limit is None else time_limit / 2
    best, columns = search(joint, notion, gap=gap, time_limit=half, progress=progress)
    with interruptible() as interrupted:

        def stopped() -> bool:
            late = time_limit is not None and ticks() - started >= time_limit
            if progress is not None:
                progress(Progress(best.utility, best.upper_bound, ticks() - started))
            return late or interrupted.is_set()

        return sharpened(best, columns, joint, notion, who, stopped)


def gap_for(objective: Objective, gap: float | None, weights: Mapping[str, float] | None) -> float:
    """The gap that is asked for, or the usual one; refuses what no objective is, and weights that none would use."""
    if objective not in GAPS:
        raise InvalidInput(f"the objective is one of {', '.join(GAPS)}; got {objective!r}")
    if objective != "faithful" and weights is not None:
        raise InvalidInput("weights of columns are for the objective 'faithful', which counts cells")
    return GAPS[objective] if gap is None else gap


@dataclass(frozen=True)
class OneAfterAnother:
    """`optimise` for one joint and one promise after the other."""

    objective: Objective
    weights: Mapping[str, float] | None
    gap: float
    time_limit: float | None
    progress: Callable[[Progress], None] | None
    exact: Sequence[str] | None = None

    def __call__(self, joint: Joint, notion: Notion, start: Columns | None) -> tuple[Protocol, Columns | None]:
        """The best protocol and, if that can be used, what may start the search for a weaker promise."""
        gap, time_limit, progress = self.gap, self.time_limit, self.progress
        if self.exact:
            found = optimise(
                joint, notion, objective=self.objective, weights=self.weights, gap=gap, time_limit=time_limit,
                progress=progress, exact=self.exact,
            )  # fmt: skip
            return found, None
        if self.objective == "information":
            return search(joint, notion, gap=gap, time_limit=time_limit, progress=progress, start=start)
        return countable(joint, notion, self.weights, gap, time_limit, progress), None


def search(
    joint: Joint,
    notion: Notion,
    *,
    gap: float,
    time_limit: float | None,
    progress: Callable[[Progress], None] | None,
    start: Columns | None = None,
) -> tuple[Protocol, Columns]:
    """`optimise`, started from the posteriors `start` of Δ; also returns the posteriors in use."""
    check_task(joint, notion, gap, time_limit, progress)
    notion = notion.made_for(joint)
    if notion.confidence is not None:
        return _search_over(joint, notion, gap, time_limit, progress)
    started = ticks()  # laying out the rows of many attackers counts, too
    found: list[tuple[Protocol, Columns]] = []
    with interruptible() as interrupted:
        for share in SHARES if notion.perfect(joint) else (1.0,):
            task = _Task(joint, notion, share, gap, time_limit, progress, interrupted, started)
            found.append(task.solved(start))
            if task.stopped or _best(found)[0].gap <= gap:
                break
    return _best(found)


def _best(found: list[tuple[Protocol, Columns]]) -> tuple[Protocol, Columns]:
    """The protocol that keeps most, with the least of all bounds."""
    protocol, columns = max(found, key=lambda one: one[0].utility)
    bound = min(one.upper_bound for one, _ in found)
    return replace(protocol, upper_bound=not_below(bound, protocol.utility)), columns


@dataclass(eq=False)
class _Task:
    """A search among the posteriors that keep a promise, or this share of what is granted where it asks for ε = 0."""

    joint: Joint
    notion: Notion
    share: float
    gap: float
    time_limit: float | None
    progress: Callable[[Progress], None] | None
    interrupted: threading.Event
    started: float
    stopped: bool = False

    def solved(self, start: Columns | None) -> tuple[Protocol, Columns]:
        """A certified protocol and the posteriors it uses; `stopped` says whether there was time for more."""
        joint, notion = self.joint, self.notion
        if can_split(joint, notion):
            return split_search(joint, notion, self.time_limit, self.progress, self.interrupted, self.started)
        split = None if start is not None else split_first(joint, notion, self.time_limit, self.interrupted)
        problem = Problem.of(joint, notion, self.share)
        search = Mixing(problem, self.gap, self.time_limit, self.progress, self.interrupted, self.started)
        found = search.solved(start if split is None else split[1])
        self.stopped = found.stopped
        granted, columns, q = problem.granted, found.columns, found.q
        protocol = exact_protocol(joint, granted, columns, q, found.upper_bound, notion, found.how)
        if protocol.draw is None and problem.one_view and notion.simple:
            protocol = with_room(protocol, joint, granted, columns, q, self.gap)
        mixed = protocol, columns.take(np.flatnonzero(q > 0))
        return mixed if split is None else _best([mixed, split])


def _search_over(
    joint: Joint,
    notion: Notion,
    gap: float,
    time_limit: float | None,
    progress: Callable[[Progress], None] | None,
) -> tuple[Protocol, Columns]:
    """`search` for a promise about every distribution of a confidence set."""
    domain = notion.domain(joint)
    started, plain = ticks(), _for_the_counts(joint, cast(Robust, notion), gap, time_limit)
    if time_limit is not None:
        time_limit = max(0.0, time_limit - (ticks() - started))
    if any(part.tables for _, parts in notion.possible_clauses(domain) for part in parts):
        return _search_tables(domain, notion, plain, gap, time_limit, progress)
    region = region_of(joint, notion)
    with interruptible() as interrupted:
        state = State(joint.p_x, joint.entropy, before_rounding(gap), time_limit, progress, interrupted)
        start = _bounded_by(plain, state)
        how = despite_trouble(lambda: generate_over(joint, notion, region, state, start))
        channel = exact_over(joint, notion, region, state.columns, state.q)
        protocol = protocol_of(joint, channel, state.upper_bound, notion, how)
    return protocol, state.columns.take(np.flatnonzero(state.q > 0))


Plain = tuple[Protocol, Columns] | None
"""The best protocol for the counts alone and its posteriors, where it is looked for first."""


def _for_the_counts(joint: Joint, notion: Robust, gap: float, time_limit: float | None) -> Plain:
    """For a promise of several clauses: the best protocol for the counts, which are in every set."""
    if notion.simple:
        return None
    seconds = FOR_THE_COUNTS * (WHOLE_SEARCH if time_limit is None else time_limit)
    return search(joint, notion.promise, gap=gap, time_limit=seconds, progress=None)


def _bounded_by(plain: Plain, state: State) -> Columns | None:
    """No protocol keeps more over a set than the best for the counts, which are in it; its posteriors to start from."""
    if plain is None:
        return None
    state.lower(plain[0].upper_bound)
    return plain[1]


def _search_tables(
    joint: Joint,
    notion: Notion,
    plain: Plain,
    gap: float,
    time_limit: float | None,
    progress: Callable[[Progress], None] | None,
) -> tuple[Protocol, Columns]:
    """The same where sums of shares are known, too."""
    with interruptible() as interrupted:
        state = State(positive(joint.p_x), joint.entropy, before_rounding(gap), time_limit, progress, interrupted)
        _bounded_by(plain, state)
        found: list[Columns] = []

        def searched() -> str:
            how, columns = search_tables(joint, notion, state)
            found.append(columns)
            return how

        how = despite_trouble(searched)
        channel = exact_by_tables(joint, notion, state.columns, state.q, found[0] if found else state.columns)
        protocol = protocol_of(joint, channel, state.upper_bound, notion, how)
    return protocol, state.columns.take(np.flatnonzero(state.q > 0))
