"""optimise: the best protocol for a promise, with a certified bound on what any other could keep."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import comb
from typing import cast

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, InvalidJoint, InvalidPromise, NotCertified, SolverFailure
from privacyfunnel.optimiser.bounds.chain_rule import bound_by_chains
from privacyfunnel.optimiser.bounds.one_view import bound_by_views
from privacyfunnel.optimiser.generation.columns import Otherwise, generate
from privacyfunnel.optimiser.program import supports
from privacyfunnel.optimiser.program.listing import list_vertices
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.reduce import Classes
from privacyfunnel.optimiser.program.rounding import round_channel
from privacyfunnel.optimiser.program.state import Progress, State, interruptible
from privacyfunnel.optimiser.robust.rounding import exact_over
from privacyfunnel.optimiser.robust.search import generate_over, region_of
from privacyfunnel.optimiser.several_priors import optimise_for_each
from privacyfunnel.promises.limits import PERFECT_LEVEL
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.certificate import certify_channel
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.protocol import Protocol, block_of, information_kept, not_below
from privacyfunnel.typing import Vector

LIST_VERTICES = 1_000_000
"""Up to this many candidates, all vertices are listed; beyond, they are generated on demand."""
PAIR_VALUES = 10_000
"""With two secrets and more candidates than this, the best mixture is written down in closed form instead."""
SWEEP_SUPPORTS = 500_000_000
"""Up to this many choices of values for an extreme posterior, it may pay to go through them all."""
SHARES = (0.5, 0.99)
"""Of what is granted at ε = 0, what posteriors are sought within: the more, the less is left for rounding them."""
LEAST_SLACK = 2e-16
MOST_SLACK = 1e-2


def optimise(
    joint: Joint | Sequence[Joint],
    notion: Notion,
    *,
    gap: float = 1e-6,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Protocol:
    """The protocol that keeps the most of X, I(X;Y), among all that keep the promise.

    The promise says that every posterior v = P(X=·|y) lies in a polytope Δ, and
    I(X;Y) = H(X) − Σ_y P(y) H(v_y), so the best protocol solves the linear program
    min Σ q_v H(v) s.t. Σ q_v v = p_x over the vertices v of Δ.

    Several joints are several distributions that may be the true one: the promise is kept for each of them, and
    utility is that of their mean. With `robust(notion)` it is kept for all that the counts leave open.

    Stops when the certified gap is at most `gap` nats, after `time_limit` seconds, or at Ctrl-C;
    whatever comes back has passed the exact check, and says how far from the best it can be.

    >>> protocol = optimise(Joint([[40, 10], [10, 40]]), LIP(0.3))
    >>> round(protocol.utility, 4), protocol.gap <= 1e-6
    (0.0964, True)
    """
    if isinstance(joint, list | tuple):
        for one in joint:
            check_task(one, notion, gap, time_limit, progress)
        return optimise_for_each(joint, notion, gap, time_limit, progress)
    return search(cast(Joint, joint), notion, gap=gap, time_limit=time_limit, progress=progress)[0]


def search(
    joint: Joint,
    notion: Notion,
    *,
    gap: float,
    time_limit: float | None,
    progress: Callable[[Progress], None] | None,
    known: Columns | None = None,
) -> tuple[Protocol, Columns]:
    """`optimise`, started from `known` posteriors of Δ; also returns the posteriors in use."""
    check_task(joint, notion, gap, time_limit, progress)
    if notion.confidence is not None:
        return _search_over(joint, notion, gap, time_limit, progress)
    started = time.monotonic()  # laying out the rows of many attackers counts, too
    found: list[tuple[Protocol, Columns]] = []
    with interruptible() as interrupted:
        for share in SHARES if notion.limits != notion.limits.granted() else (1.0,):
            task = _Task(joint, notion, share, max(gap / 2, gap - 1e-5), time_limit, progress, interrupted, started)
            found.append(task.solved(known))
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

    def solved(self, known: Columns | None) -> tuple[Protocol, Columns]:
        """A certified protocol and the posteriors it uses; `stopped` says whether there was time for more."""
        joint, notion = self.joint, self.notion
        polytope = Polytope.granted(joint, notion, self.share)
        granted = polytope if self.share == 1 else Polytope.granted(joint, notion)
        classes = Classes.find(polytope)
        rank, views = notion.rank(joint), notion.views(joint)
        state = State(
            classes.polytope, joint.entropy, self.gap, self.time_limit, self.progress, self.interrupted, self.started
        )
        if len(views) == 1 or supports.candidates(classes.polytope, rank) <= LIST_VERTICES:
            state.around = classes.outer(Polytope.outer(joint, notion))
        elif granted is not polytope:
            state.around = classes.outer(granted)
        if len(views) > 1:
            bound_by_views(joint, notion.limits.granted(), views, state)
        try:
            chains = partial(bound_by_chains, granted, views, state) if len(views) > 1 else None
            how = _route(state, rank, chains, lambda: None if known is None else classes.merge(known))
        except SolverFailure:
            how = "the best found before the linear-programming solver met numerical trouble"
        columns, q = classes.split(state.columns, state.q)
        self.stopped = state.stopped()
        protocol = _exact(joint, granted, columns, q, state.upper_bound, notion, how)
        return protocol, columns.take(np.flatnonzero(q > 0))


def _route(state: State, rank: int, chains: Otherwise | None, known: Callable[[], Columns | None]) -> str:
    """Search in the way that suits the size; what it did, in words. Compiled ways are imported when needed.

    `chains` is a way to bound promises with several views, and None for one view.
    """
    one_view, otherwise = chains is None, chains
    candidates = supports.candidates(state.polytope, rank)
    if one_view and rank == 2 and candidates > PAIR_VALUES:
        from privacyfunnel.optimiser.two_secrets.pairing import pair_values

        how = pair_values(state)
        if state.closed() or candidates > LIST_VERTICES:
            return how
    if candidates <= LIST_VERTICES:
        return list_vertices(state, rank)
    if one_view and rank > 2:
        from privacyfunnel.optimiser.bounds.fewer_secrets import bound_by_fewer
        from privacyfunnel.optimiser.few_secrets.generate import sweep_affordable, sweeps
        from privacyfunnel.optimiser.two_secrets.pairing import bound_by_pairs

        pencils = bound_by_pairs(state)
        few = comb(state.polytope.n_x, rank) <= SWEEP_SUPPORTS
        faces = sweep_affordable(state.outer, state.stopped) if few else None
        if faces is not None:
            return sweeps(state, faces)
        otherwise = partial(bound_by_fewer, state, pencils)
        if few and not state.stopped():
            return f"{generate(state, known(), otherwise)}; too many extreme posteriors, or too alike, to sweep"
    return generate(state, known(), otherwise)


def _exact(
    joint: Joint, polytope: Polytope, columns: Columns, q: Vector, upper_bound: float, notion: Notion, how: str
) -> Protocol:
    """Round the mixture to an exact channel, and return it only if it passes the exact check."""
    allowed = notion.epsilon or PERFECT_LEVEL
    slack = LEAST_SLACK
    while slack < MOST_SLACK:
        channel = round_channel(columns, q, polytope, slack)
        certificate = certify_channel(channel, joint, notion)
        if certificate.holds and certificate.level <= allowed:
            return _protocol(joint, channel, upper_bound, notion, how)
        slack *= 16
    raise NotCertified(f"no exact channel was found that keeps {notion}; please report this")


def _protocol(joint: Joint, channel: Channel, upper_bound: float, notion: Notion, how: str) -> Protocol:
    utility = information_kept(channel, joint.p_x)
    return Protocol(
        notion,
        (block_of(joint, channel),),
        utility,
        not_below(upper_bound, utility),
        joint.entropy,
        how,
        joint.secret,
        tuple(column.reading() for column in joint.secret_columns),
    )


def _search_over(
    joint: Joint,
    notion: Notion,
    gap: float,
    time_limit: float | None,
    progress: Callable[[Progress], None] | None,
) -> tuple[Protocol, Columns]:
    """`search` for a promise about every distribution of a confidence set."""
    region = region_of(joint, notion)
    with interruptible() as interrupted:
        nothing = Polytope(np.empty((0, joint.n_x)), joint.p_x)
        state = State(nothing, joint.entropy, max(gap / 2, gap - 1e-5), time_limit, progress, interrupted)
        try:
            how = generate_over(joint, notion, region, state)
        except SolverFailure:
            how = "the best found before the linear-programming solver met numerical trouble"
        channel = exact_over(joint, notion, region, state.columns, state.q)
        protocol = _protocol(joint, channel, state.upper_bound, notion, how)
    return protocol, state.columns.take(np.flatnonzero(state.q > 0))


def check_task(joint: Joint, notion: Notion, gap: float, time_limit: float | None, progress: object) -> None:
    """Refuse what makes no sense, in one line."""
    if not isinstance(joint, Joint):
        raise InvalidJoint(
            f"optimise needs a Joint, not {type(joint).__name__}; make one by Joint(array) or Joint.from_table(…)"
        )
    if not isinstance(notion, Notion):
        raise InvalidPromise(f"optimise needs a notion such as LIP(0.5), not {type(notion).__name__}")
    if not _is_number(gap) or not math.isfinite(gap) or gap <= 0:
        raise InvalidInput(f"gap must be a positive number of nats; got {gap!r}")
    if time_limit is not None and (not _is_number(time_limit) or not time_limit >= 0):
        raise InvalidInput(f"time_limit must be a number of seconds that is at least 0; got {time_limit!r}")
    if progress is not None and not callable(progress):
        raise InvalidInput("progress must be a function that takes a Progress")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
