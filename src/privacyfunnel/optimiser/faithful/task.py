"""A task of the search for faithful releases: its program, and how a plan becomes a release that passes the checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.mean import mean_of
from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.errors import InvalidInput, InvalidPromise, NotCertified
from privacyfunnel.numeric.information import no_less
from privacyfunnel.numeric.leaving import unless_left
from privacyfunnel.optimiser.faithful.bands import Bands
from privacyfunnel.optimiser.faithful.by_tables import TablePlan
from privacyfunnel.optimiser.faithful.plan_rounding import mixed, restricted, round_dense, round_plan
from privacyfunnel.optimiser.faithful.program import Program
from privacyfunnel.optimiser.faithful.search import Standing, generate, mend, polished
from privacyfunnel.optimiser.faithful.steered_rounding import steered
from privacyfunnel.optimiser.program.finishing import finished
from privacyfunnel.optimiser.program.polytope import together
from privacyfunnel.optimiser.program.tolerances import MIXES, SPARED
from privacyfunnel.optimiser.robust.conditions import Conditions
from privacyfunnel.optimiser.robust.region import Region
from privacyfunnel.optimiser.robust.search import region_of
from privacyfunnel.optimiser.robust.table_programs import Cut
from privacyfunnel.promises.limits import PERFECT_LEVEL
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.robust import Robust
from privacyfunnel.proof.certificate import certify_channel
from privacyfunnel.proof.invariance import MARGINAL_ERROR, marginal_error
from privacyfunnel.protocols.block import faithful_block
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.kept import Likeness
from privacyfunnel.protocols.protocol import Protocol, not_below
from privacyfunnel.protocols.released import information_kept
from privacyfunnel.typing import Integers, Matrix

EPSILON_SHARES = (1.0, 0.75, 0.5, 0.25, 0.1)
"""Shares of ε at which the counts alone are taken for the truth: the largest that keeps the promise over the set loses
the least."""
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
            faithful_block(mean, self.channel),
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
        promise, conditions = cast(Robust, self.notion).promise, Conditions.of_all(region)
        others = [] if conditions is None else [conditions.sufficient]
        others += [promise.times(share).granted_rows(self.mean) for share in EPSILON_SHARES]
        self.lean_on(others, standing, region)

    def lean_on(self, others: list[Matrix], standing: Standing, region: Region) -> None:
        """Plans that keep the rows of others, mixed with p pᵀ until they keep this promise."""
        program = self.program
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
