"""faithful: the release that leaves most cells as they were, among those with a promise whose rows can be counted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import cast

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.errors import InvalidJoint, InvalidPromise, NotCertified
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.optimiser.faithful.by_tables import Clock, average_similarity, tables_of
from privacyfunnel.optimiser.faithful.search import Plan, Standing, generate
from privacyfunnel.optimiser.faithful.task import Faithful, Task
from privacyfunnel.optimiser.program.state import Progress, interruptible
from privacyfunnel.optimiser.program.task import check_task
from privacyfunnel.optimiser.program.tolerances import MIXES, SPARED
from privacyfunnel.optimiser.robust.demands import demands_of
from privacyfunnel.optimiser.robust.table_programs import Cut
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.robust import Robust
from privacyfunnel.protocols.channel import UNIT, Channel


def faithful(
    joint: Joint | Sequence[Joint],
    notion: Notion,
    *,
    weights: Mapping[str, float] | None = None,
    ordered: Collection[str] | None = None,
    gap: float = 1e-3,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    start: Channel | None = None,
) -> Faithful:
    """The channel from X to X that keeps the promise, keeps the distribution of rows, and changes least of them.

    maximise E sim(X, Y) s.t. P(Y = x) = P(X = x) for every x, and the promise. Columns weigh 1 unless `weights` says
    otherwise; `ordered` names the columns in which near values count in part (default: ranges, numbers and dates).
    Several joints are several distributions that may be the true one: the promise is kept for each, and what is
    released has the distribution of their mean. Stops when the certified gap is at most `gap`, after `time_limit`
    seconds, or at Ctrl-C; whatever comes back has passed the exact check. A search for the promise on one joint may go
    on from the channel `start`, which keeps it.

    >>> release = faithful(Joint([[40, 10], [10, 40]]), LIP(0.3))
    >>> round(release.rows_unchanged, 3), release.marginal_error <= 2**-30
    (0.716, True)
    """
    joints = list(joint) if isinstance(joint, list | tuple) else [cast(Joint, joint)]
    if not joints:
        raise InvalidJoint("there is no joint; give one, or several distributions that may be the true one")
    for one in joints:
        check_task(one, notion, gap, time_limit, progress)
    if len(joints) == 1:
        notion = _for_plans(notion, joints[0]).made_for(joints[0])
        if _has_tables(notion, joints[0]):
            return _by_tables(joints[0], notion, weights, ordered, gap, time_limit, progress)
    with interruptible() as interrupted:
        task = Task.of(joints, notion, weights, ordered)
        standing = Standing.begun(gap / 2, time_limit, progress, interrupted, task.program.constant)
        if task.region is not None:
            task.lean(standing, task.region)
        begun = plan_of(start, task.mean) if start is not None and task.region is None and len(joints) == 1 else None
        how = generate(task.program, task.mean, standing, task.region, begun)
        return task.exact(standing, how)


def plan_of(channel: Channel, joint: Joint) -> Plan:
    """The plan that a channel with the distribution of `joint` carries out."""
    mass = channel.numerators / UNIT * joint.p_x[channel.inputs]
    keys = channel.outputs * joint.n_x + channel.inputs
    order = np.argsort(keys)
    return Plan(keys[order], mass[order], 0.0)


def _for_plans(notion: Notion, joint: Joint) -> Notion:
    """The promise, over a set of values that occur where nested sets are not for plans: for attackers who know some."""
    if notion.one_view(joint):
        return notion
    if isinstance(notion, Robust) and notion.within == "nested":
        raise InvalidPromise("for attackers who know columns, faithful releases are not sought over nested sets yet")
    return notion.of_values_that_occur()


def _has_tables(notion: Notion, joint: Joint) -> bool:
    if notion.confidence is None:
        return False
    return any(part.tables for _, parts in notion.possible_clauses(notion.domain(joint)) for part in parts)


def _by_tables(
    joint: Joint,
    notion: Notion,
    weights: Mapping[str, float] | None,
    ordered: Collection[str] | None,
    gap: float,
    time_limit: float | None,
    progress: Callable[[Progress], None] | None,
) -> Faithful:
    """The best release over a nested set among those of single tables; see `by_tables`.

    The bound is that of the promise for the counts alone, which are in the set.
    """
    domain, promise = notion.domain(joint), cast(Robust, notion).promise
    tables = list(tables_of(domain, demands_of(notion, domain)))
    with interruptible() as interrupted:
        clock = Clock(time_limit, len(tables) + 1)
        similarity = Similarity.of(domain, weights, ordered)
        found: list[tuple[float, Cut, Task, Standing]] = []
        for cut, cells, region in tables:
            own = {name: weight for name, weight in (weights or {}).items() if name in cells.attributes}
            order = None if ordered is None else [name for name in ordered if name in cells.attributes]
            task = Task.of([cells], notion, own, order, region)
            standing = Standing.begun(gap / 2, clock.first_look(), None, interrupted, task.program.constant)
            plan = task.table_plan(cut, standing)
            found.append((plan.fidelity(average_similarity(similarity, cut, domain.p_x)), cut, task, standing))
            if progress is not None:
                progress(Progress(max(one[0] for one in found), 1.0, clock.spent()))
        _, cut, task, standing = max(found, key=lambda one: one[0])
        plain = faithful(joint, promise, weights=weights, ordered=ordered, gap=gap, time_limit=clock.left() / 2)
        standing.time_limit, standing.started = clock.left(), ticks()
        plan = task.table_plan(cut, standing)
    names = " × ".join(task.mean.attributes)
    whole = Task.of([domain], notion, weights, ordered, task.region)
    for share in (SPARED, *MIXES):
        how = f"cells of {names}, other columns redrawn to go with them"
        release = whole.told(plan.channel(domain.p_x, share), plain.fidelity_bound, how)
        if release is not None:
            return release
    raise NotCertified(f"no exact channel was found that keeps {notion} and the distribution; please report this")
