"""faithful: the release that leaves most cells as they were, among those with a promise whose rows can be counted."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.mean import mean_of
from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.errors import InvalidInput, InvalidJoint, InvalidPromise, NotCertified
from privacyfunnel.numeric.information import no_less
from privacyfunnel.numeric.leaving import unless_left
from privacyfunnel.optimiser.faithful.bands import Bands
from privacyfunnel.optimiser.faithful.by_tables import HARDLY, Clock, TablePlan, average_similarity, tables_of
from privacyfunnel.optimiser.faithful.plan_rounding import mixed, restricted, round_dense, round_plan
from privacyfunnel.optimiser.faithful.program import Program
from privacyfunnel.optimiser.faithful.search import Plan, Standing, generate, mend, polished
from privacyfunnel.optimiser.faithful.steered_rounding import steered
from privacyfunnel.optimiser.program.finishing import finished
from privacyfunnel.optimiser.program.polytope import together
from privacyfunnel.optimiser.program.state import Progress, interruptible
from privacyfunnel.optimiser.program.task import check_task
from privacyfunnel.optimiser.robust.conditions import Conditions
from privacyfunnel.optimiser.robust.region import Region
from privacyfunnel.optimiser.robust.search import region_of
from privacyfunnel.optimiser.robust.table_programs import Cut
from privacyfunnel.promises.limits import PERFECT_LEVEL
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.robust import Robust
from privacyfunnel.proof.certificate import certify_channel
from privacyfunnel.proof.invariance import MARGINAL_ERROR, marginal_error
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.kept import Likeness
from privacyfunnel.protocols.protocol import Protocol, faithful_block, information_kept, not_below
from privacyfunnel.typing import Integers, Matrix

SPARED = 1 / UNIT
"""Limits are kept further inside by what this much in every entry can do."""
MIXES = tuple(16.0**-k for k in range(6, -1, -1))
"""Shares of p pᵀ mixed in, if rounding alone breaks the promise; 1 keeps any."""
EPSILON_SHARES = (1.0, 0.75, 0.5, 0.25, 0.1)
"""Shares of ε at which the counts alone are taken for the truth."""
ROUNDED = 2.0**-30
"""What a release may gain, for each value, by a distribution that is off by as much from the original's."""
STEERABLE = 20
"""With more limits, the errors of rounding cannot be made to cancel in all of them."""
DENSE_VALUES = 4000
"""With more values, nothing is mixed in: the channel would be too large to use."""
MOST_ENTRIES = 4_000_000
"""Of a channel: to check and to write more takes minutes and many gigabytes, and nobody could use its file."""


@dataclass(frozen=True, eq=False)
class Faithful:
    """A channel whose outputs are values: output number x means the value number x of the joint."""

    channel: Channel
    fidelity: float
    """E sim(X, Y): the weighted share of cells that stay as they were, near ones of ordered columns in part."""
    fidelity_bound: float
    """No release with this promise and exactly the original's distribution has a larger fidelity."""
    cells_unchanged: float
    """The share of cells that stay exactly as they were, all columns weighing the same."""
    rows_unchanged: float
    """P(Y = X)."""
    marginal_error: float
    """The largest |P(Y = x) − P(X = x)|, rounded up; at most 2⁻³⁰."""
    similarity: Similarity
    how: str
    joints: tuple[Joint, ...]
    mean: Joint
    """What is released has its distribution: the joint's, or that of the mean of several."""
    notion: Notion
    weights: tuple[tuple[str, float], ...] = ()

    def protocol(self) -> Protocol:
        """The channel with all that a protocol says of itself. How much others could tell of X was not asked."""
        mean, kept = self.mean, information_kept(self.channel, self.mean.p_x)
        likeness = Likeness(self.fidelity, self.fidelity_bound, self.cells_unchanged, self.rows_unchanged, self.weights)
        protocol = Protocol(
            self.notion,
            (faithful_block(mean, self.channel),),
            kept,
            not_below(no_less(mean.entropy), kept),
            mean.entropy,
            self.how,
            mean.secret,
            mean.secret_readings,
            likeness=likeness,
        )
        return finished(protocol, self.joints)

    @property
    def gap(self) -> float:
        """At most this much fidelity is lost to the best release."""
        return self.fidelity_bound - self.fidelity


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
    if notion.confidence is not None and not notion.simple:
        raise InvalidPromise(
            "rows that can be counted are sought for the population under one promise about one secret; use the "
            "objective 'information', or go without a confidence"
        )
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


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked for."""

    joints: list[Joint]
    mean: Joint
    notion: Notion
    program: Program
    region: Region | None
    places: list[Integers]
    weights: tuple[tuple[str, float], ...]
    passes: Callable[[Channel], bool] | None = None
    """The exact check, where it is not that of the promise on the joints."""

    @classmethod
    def of(
        cls,
        joints: list[Joint],
        notion: Notion,
        weights: Mapping[str, float] | None,
        ordered: Collection[str] | None,
        region: Region | None = None,
        rows: Matrix | None = None,
    ) -> Task:
        mean, places = mean_of(joints) if len(joints) > 1 else (joints[0], [np.arange(joints[0].n_x)])
        if notion.confidence is not None and region is None:
            if len(joints) > 1:
                raise InvalidPromise("a robust promise is for the counts of one joint; give one")
            region = region_of(mean, notion)
        similarity = Similarity.of(mean, weights, ordered)
        G = _rows(joints, mean, places, notion) if rows is None else rows
        program = Program(mean.p_x, similarity, Bands.of(G), SPARED)
        given = tuple((name, float(weight)) for name, weight in (weights or {}).items())
        return cls(joints, mean, notion, program, region, places, given)

    def lean(self, standing: Standing, region: Region) -> None:
        """For a promise over a set: plans for other promises, mixed with p pᵀ until they keep this one.

        With two secrets, rows that suffice; and the promise for the counts alone, at some shares of its ε.
        """
        program, promise = self.program, cast(Robust, self.notion).promise
        conditions = Conditions.of(region)
        others = [] if conditions is None else [conditions.sufficient]
        others += [promise.times(share).granted_rows(self.mean) for share in EPSILON_SHARES]
        for rows in others:
            plain = Program(program.p, program.similarity, Bands.of(rows), SPARED)
            found = Standing(standing.gap, standing.left(), None, standing.interrupted, plain.constant, standing.plan)
            generate(plain, self.mean, found, None)
            mend(program, polished(plain, found), standing, region)
            standing.report()

    def exact(self, standing: Standing, how: str) -> Faithful:
        """The plan as an exact channel, and only if it passes the exact checks."""
        self._check_size(standing)
        for channel, mended in self._channels(standing):
            if marginal_error(channel, self.mean) <= MARGINAL_ERROR and self._kept(channel):
                return self._told(channel, standing.upper_bound, how + mended)
        raise NotCertified(
            f"no exact channel was found that keeps {self.notion} and the distribution; please report this"
        )

    def _check_size(self, standing: Standing) -> None:
        """Refuse a plan that redraws rows from too many others: a search that was stopped early may have no other."""
        n, plan, sparse = self.program.n_x, standing.plan, standing.sparse
        entries = n * n if plan.constant > 0 and sparse is None else len(plan.keys)
        if entries > MOST_ENTRIES:
            raise InvalidInput(
                f"with {n:,} combinations of values, nothing was found in time but to redraw rows from one another, "
                f"which takes a protocol of {entries:,} numbers; give the search more time, or use fewer or coarser "
                "columns"
            )

    def _channels(self, standing: Standing) -> Iterator[tuple[Channel, str]]:
        """Ways to round the plan, what loses least first; the last of them keeps any promise."""
        unless_left()
        program = self.program
        # Other rows of a set of distributions might be overstepped by what is polished for those met so far.
        plan = polished(program, standing) if self.region is None else standing.plan
        sparse = standing.sparse
        yield round_plan(plan if sparse is None else plan.mixed(sparse, 0.0), program.p), ""
        if program.n_x > DENSE_VALUES:
            if sparse is not None:
                for share in MIXES:
                    yield round_plan(plan.mixed(sparse, share), program.p), f", {share:.1g} redrawn in parts"
            return
        for share in MIXES:
            Q = mixed(plan, program.p, share)
            steering = steered(Q, program.p, program.bands) if len(program.bands) <= STEERABLE else None
            for channel in (steering, round_dense(Q)):
                if channel is not None:
                    yield channel, f", {share:.1g} redrawn from all rows"

    def table_plan(self, cut: Cut, standing: Standing) -> TablePlan:
        """The best plan that is found, for the cells of a table."""
        region = cast(Region, self.region)
        self.lean(standing, region)
        generate(self.program, self.mean, standing, region)
        return TablePlan(cut, self.mean, standing.plan)

    def told(self, channel: Channel, bound: float, how: str) -> Faithful | None:
        """The release, if it passes the exact checks."""
        if marginal_error(channel, self.mean) > MARGINAL_ERROR or not self._kept(channel):
            return None
        return self._told(channel, bound, how)

    def _kept(self, channel: Channel) -> bool:
        if self.passes is not None:
            return self.passes(channel)
        allowed = self.notion.epsilon or PERFECT_LEVEL
        for joint, place in zip(self.joints, self.places, strict=True):
            found = certify_channel(restricted(channel, place), joint, self.notion)
            if not (found.holds and found.level <= allowed):
                return False
        return True

    def _told(self, channel: Channel, bound: float, how: str) -> Faithful:
        x, o = channel.inputs, channel.outputs
        mass = channel.numerators / UNIT * self.mean.p_x[x]
        similarity = self.program.similarity
        fidelity = _without(mass @ (1 - similarity.at(x, o)))
        codes = self.mean.codes
        changed = np.mean([mass @ (codes[x, j] != codes[o, j]) for j in range(codes.shape[1])])
        off = math.nextafter(float(marginal_error(channel, self.mean)), 1.0)
        return Faithful(
            channel,
            fidelity,
            min(1.0, not_exceeded(bound, fidelity, self.mean.n_x)),
            _without(changed),
            _without(mass[x != o].sum()),
            off,
            similarity,
            how,
            tuple(self.joints),
            self.mean,
            self.notion,
            self.weights,
        )


def plan_of(channel: Channel, joint: Joint) -> Plan:
    """The plan that a channel with the distribution of `joint` carries out."""
    mass = channel.numerators / UNIT * joint.p_x[channel.inputs]
    keys = channel.outputs * joint.n_x + channel.inputs
    order = np.argsort(keys)
    return Plan(keys[order], mass[order], 0.0)


def not_exceeded(bound: float, fidelity: float, values: int) -> float:
    """The bound, which no certified release may exceed by more than its rounding: then one of the two is wrong."""
    if not fidelity <= bound + ROUNDED * values:
        raise NotCertified(
            f"a certified release has the fidelity {fidelity:.9g}, above the bound of {bound:.9g} on every release: "
            "one of them is wrong; please report this"
        )
    return max(bound, fidelity)


def _without(lost: float | np.floating) -> float:
    """What is left of 1: exactly 1 if nothing is lost."""
    return min(1.0, max(0.0, 1.0 - float(lost)))


def _rows(joints: list[Joint], mean: Joint, places: list[Integers], notion: Notion) -> Matrix:
    """G of what a certificate lets pass; none for a promise over a set, whose rows are met on the way."""
    if notion.confidence is not None:
        return np.empty((0, mean.n_x))
    rows = [notion.granted_rows(joint) for joint in joints]
    return rows[0] if len(joints) == 1 else together(rows, joints, places, mean)


def _for_plans(notion: Notion, joint: Joint) -> Notion:
    """The promise, over a set of values that occur where nested sets are not for plans: for attackers who know some."""
    if notion.one_view(joint):
        return notion
    if isinstance(notion, Robust) and notion.within == "nested":
        raise InvalidPromise("for attackers who know columns, faithful releases are not sought over nested sets yet")
    return notion.of_values_that_occur()


def _has_tables(notion: Notion, joint: Joint) -> bool:
    return notion.confidence is not None and any(part.tables for part in notion.possible(notion.domain(joint)))


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
    tables = list(tables_of(domain, notion.possible(domain), notion.limits))
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
        standing.time_limit, standing.started = clock.left(), time.monotonic()
        plan = task.table_plan(cut, standing)
    names = " × ".join(task.mean.attributes)
    whole = Task.of([domain], notion, weights, ordered, task.region)
    for share in (HARDLY, *MIXES):
        how = f"cells of {names}, other columns redrawn to go with them"
        release = whole.told(plan.channel(domain, share), plain.fidelity_bound, how)
        if release is not None:
            return release
    raise NotCertified(f"no exact channel was found that keeps {notion} and the distribution; please report this")
