"""Columns that stay exact: the released town is always the true one.

Then no posterior has values of two cells of these columns, so the program falls apart: for every cell, P(X=·|cell) is
to be mixed of posteriors of Δ on the values of the cell. That is possible exactly if P(X=·|cell) itself is in Δ, that
is, if somebody who learns the cell alone learns no more of the secret than is promised.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import staying_exact
from privacyfunnel.errors import InvalidInput, InvalidPromise, NotCertified
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.numeric.information import no_less
from privacyfunnel.optimiser.faithful.given import faithful_given
from privacyfunnel.optimiser.mixing import Mixing, Problem
from privacyfunnel.optimiser.program.exact_protocol import SHARES
from privacyfunnel.optimiser.program.finishing import finished
from privacyfunnel.optimiser.program.rounding import SLACKS, round_channel
from privacyfunnel.optimiser.program.state import Progress, interruptible
from privacyfunnel.optimiser.program.task import check_task
from privacyfunnel.promises.limits import PERFECT_LEVEL
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import numbers_of
from privacyfunnel.promises.views import View
from privacyfunnel.proof.certificate import certify_channel, certify_entries
from privacyfunnel.proof.lifts import Entries
from privacyfunnel.proof.verdict import Certificate
from privacyfunnel.protocols.block import Block, faithful_block
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.digits import coarse_marginal
from privacyfunnel.protocols.kept import Likeness
from privacyfunnel.protocols.labels import assigned
from privacyfunnel.protocols.protocol import Objective, Protocol, not_below
from privacyfunnel.protocols.released import information_kept
from privacyfunnel.typing import Integers

NAMED = 3
"""Cells that a refusal names: one line."""
PARTNERS = 60
"""Cells that are tried for one to be merged with."""


class CannotStayExact(InvalidPromise):
    """Some cell of the columns that are to stay exact says too much by itself; at a larger ε it may not."""


@dataclass(frozen=True, eq=False)
class Part:
    """What was found for one cell."""

    values: Integers
    channel: Channel
    """Its outputs are values of X."""
    share: float
    bound: float
    """No protocol keeps more of X given the cell, in nats."""
    how: str
    likeness: Likeness | None


@dataclass(frozen=True, eq=False)
class ExactColumns:
    """A program for every cell of the columns that stay exact."""

    joint: Joint
    notion: Notion
    view: View
    objective: Objective
    weights: Mapping[str, float] | None
    gap: float
    time_limit: float | None
    progress: Callable[[Progress], None] | None

    @classmethod
    def asked(
        cls,
        joint: Joint,
        notion: Notion,
        exact: Sequence[str],
        objective: Objective,
        weights: Mapping[str, float] | None,
        gap: float,
        time_limit: float | None,
        progress: Callable[[Progress], None] | None,
    ) -> ExactColumns:
        """Refuses what cannot be: cells that say too much by themselves."""
        check_task(joint, notion, gap, time_limit, progress)
        if isinstance(exact, str) or len(set(exact)) < len(list(exact)):
            raise InvalidInput('exact is a list of different columns, such as exact=["town"]')
        strange = [name for name in exact if name not in joint.attributes]
        if strange:
            raise InvalidInput(f"{strange[0]!r} cannot stay exact: it is none of the released columns")
        joint = staying_exact(joint, tuple(exact))
        notion = cls.promise_for(notion, joint)
        joint = notion.domain(joint)
        view = View.of(tuple(numbers_of(exact, joint)), joint)
        task = cls(joint, notion, view, objective, weights, gap, time_limit, progress)
        task.check()
        return task

    @classmethod
    def promise_for(cls, notion: Notion, joint: Joint) -> Notion:
        """The promise as it can be made."""
        return notion.made_for(joint)

    # --- whether it can be ------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Refuse if some cell by itself says more of the secret than is promised, and say what would do."""
        whole = self._alone(range(self.view.n_cells))
        if self._kept(whole):
            return
        broken = [k for k in range(self.view.n_cells) if not self._kept(self._alone([k]))]
        names = " and ".join([self._name(k) for k in broken[:NAMED]])
        more = f" and {len(broken) - NAMED} more" if len(broken) > NAMED else ""
        columns = ", ".join(self.joint.attributes[j] for j in self.view.known)
        raise CannotStayExact(
            f"{columns} cannot stay exact: {names}{more} (of {self.view.n_cells}) say more of {self.joint.secret} than "
            f"is promised by being known; {self._remedy(whole, broken)}"
        )

    def _remedy(self, whole: Certificate, broken: list[int]) -> str:
        """What would do: another ε, or merging a cell with another."""
        largest = 1.0 if self.notion.beliefs_limited else math.inf
        if whole.level < largest:
            remedy = f"promise at least {_rounded_up(whole.level):g} instead of {self.notion.epsilon:g}"
            remedy += ", and the others in proportion" if len(whole.levels) > 1 else ""
        else:
            remedy = "no limit on belief allows it" if self.notion.beliefs_limited else "no ε allows it"
        partner = self._partner(broken[0])
        if partner is None:
            return f"{remedy}, or merge values"
        return f"{remedy}, or merge values: {self._name(broken[0])} with {self._name(partner)} would do"

    def _partner(self, k: int) -> int | None:
        """A cell with which cell k, as one, keeps the promise: the largest of those tried."""
        masses = np.bincount(self.view.cell, weights=self.joint.p_x)
        for other in np.argsort(-masses, kind="stable")[:PARTNERS].tolist():
            if other != k and self._kept(self._alone([k, other], as_one=True)):
                return int(other)
        return None

    def _alone(self, cells: Sequence[int], as_one: bool = False) -> Certificate:
        """What it tells to know the cell, if it is one of these."""
        x = np.flatnonzero(np.isin(self.view.cell, list(cells)))
        outputs = np.zeros(len(x), dtype=np.int64) if as_one else self.view.cell[x]
        return certify_entries(Entries(x, outputs, np.full(len(x), UNIT)), self.joint, self.notion)

    def _kept(self, found: Certificate) -> bool:
        return found.holds and found.level <= (self.notion.epsilon or PERFECT_LEVEL)

    def _name(self, k: int) -> str:
        x = int(np.flatnonzero(self.view.cell == k)[0])
        return ", ".join(f"{self.joint.attributes[j]} = {self.joint.values[x, j]}" for j in self.view.known)

    # --- the search -------------------------------------------------------------------------------------------------

    def protocol(self) -> Protocol:
        """The best protocol in every cell, as one that passes the exact check."""
        with interruptible() as interrupted:
            parts = list(self._parts(interrupted))
        channel = Channel.from_entries(
            np.concatenate([part.values[part.channel.inputs] for part in parts]),
            np.concatenate([part.channel.outputs for part in parts]),
            np.concatenate([part.channel.numerators for part in parts]),
            (self.joint.n_x, self.joint.n_x),
        )
        block = self._block(channel)
        if not (self._kept(certify_channel(block.channel, self.joint, self.notion)) and block.stays_exact()):
            raise NotCertified(f"no exact channel was found that keeps {self.notion}; please report this")
        kept = information_kept(block.channel, self.joint.p_x)
        columns = ", ".join(self.joint.exact)
        ways = [part.how for part in parts if len(part.values) > 1] or ["nothing else to tell"]
        how = f"{columns} exact, a program for each of {len(parts):,} cells; most often {max(ways, key=ways.count)}"
        protocol = Protocol(
            self.notion,
            block,
            kept,
            not_below(self._upper_bound(parts), kept),
            self.joint.entropy,
            how,
            self.joint.secret,
            self.joint.secret_readings,
            likeness=self._likeness(parts),
        )
        done = finished(protocol, [self.joint])
        # Somebody with a value never seen has a cell of their own, which no draw would tell.
        return replace(done, step=replace(done.block, draw=None))

    def _block(self, channel: Channel) -> Block:
        """The block whose outputs are values; with the objective "information", without those never drawn."""
        if self.objective == "faithful":
            return faithful_block(self.joint, channel)
        joint, used = self.joint, np.unique(channel.outputs)
        fewer = Channel.from_entries(
            channel.inputs, np.searchsorted(used, channel.outputs), channel.numerators, (len(used), joint.n_x)
        )
        mass = fewer.numerators / UNIT * joint.p_x[fewer.inputs]
        q = np.bincount(fewer.outputs, weights=mass, minlength=len(used)).astype(np.float64)
        marginal = coarse_marginal(q, joint.total if joint.counted else None)
        return Block(joint.columns, joint.codes, fewer, used, marginal, None, joint.nearest, None, joint.exact)

    def _upper_bound(self, parts: list[Part]) -> float:
        """I(X;Y) = H(cell) + Σ P(cell) I(X;Y|cell), since Y tells the cell."""
        masses = np.array([part.share for part in parts])
        inside = sum(part.share * part.bound for part in parts)
        return no_less(float(-(masses * np.log(masses)).sum()) + inside)

    def _likeness(self, parts: list[Part]) -> Likeness | None:
        """What stays as it is."""
        return _mean_likeness(parts)

    @cached_property
    def _problem(self) -> Problem:
        return Problem.of(self.joint, self.notion, SHARES[0] if self.notion.perfect(self.joint) else 1.0)

    def _parts(self, interrupted: threading.Event) -> Iterator[Part]:
        """Cell by cell; who has the most people goes first, and has its share of the time."""
        started = ticks()
        masses = np.bincount(self.view.cell, weights=self.joint.p_x).astype(np.float64)
        left, kept, bound = 1.0, 0.0, 0.0
        for k in np.argsort(-masses, kind="stable").tolist():
            seconds, share = None, float(masses[k])
            if self.time_limit is not None:
                remaining = max(0.0, started + self.time_limit - ticks())
                seconds = remaining * min(1.0, share / max(left, share))
            part = self._solved(np.flatnonzero(self.view.cell == k), share, seconds, interrupted)
            left -= share
            if self.progress is not None:
                own = self.joint.p_x[part.values] / share
                kept += share * (
                    information_kept(part.channel, own) if part.likeness is None else part.likeness.fidelity
                )
                bound += share * (part.bound if part.likeness is None else part.likeness.fidelity_bound)
                self.progress(Progress(kept, max(bound, kept), ticks() - started))
            yield part

    def _own(self, x: Integers) -> Joint:
        """P(s, x|cell) for the values of a cell."""
        W = self.joint.weights[:, x].astype(object)
        return Joint.from_exact(W[W.any(axis=1)], self.joint.codes[x], self.joint.columns, self.joint.secret)

    def _solved(self, x: Integers, share: float, seconds: float | None, interrupted: threading.Event) -> Part:
        own = self._own(x)
        problem = self._problem.given(x, own.p_x)
        if self.objective == "faithful":
            found = faithful_given(
                own, self.notion, problem.granted.G, lambda channel: self._passes(x, channel),
                weights=self.weights, gap=self.gap, time_limit=seconds, interrupted=interrupted,
            )  # fmt: skip
            named = Channel.from_entries(
                found.channel.inputs, x[found.channel.outputs], found.channel.numerators, (self.joint.n_x, len(x))
            )
            likeness = Likeness(
                found.fidelity, found.fidelity_bound, found.cells_unchanged, found.rows_unchanged, found.weights
            )
            return Part(x, named, share, no_less(own.entropy), found.how, likeness)
        mixture = Mixing(problem, self.gap, seconds, None, interrupted, ticks()).solved()
        channel = Channel(1, np.arange(len(x) + 1), np.zeros(len(x), dtype=np.int64), np.full(len(x), UNIT))
        for slack in SLACKS:
            rounded = round_channel(mixture.columns, mixture.q, problem.granted, slack)
            if self._passes(x, rounded):
                channel = rounded
                break
        written = x[assigned(channel, channel.numerators / UNIT * own.p_x[channel.inputs], own)]
        named = Channel.from_entries(
            channel.inputs, written[channel.outputs], channel.numerators, (self.joint.n_x, len(x))
        )
        return Part(x, named, share, mixture.upper_bound, mixture.how, None)

    def _passes(self, x: Integers, channel: Channel) -> bool:
        """Whether the outputs of one cell keep the promise, exactly."""
        entries = Entries(x[channel.inputs], channel.outputs, channel.numerators)
        return self._kept(certify_entries(entries, self.joint, self.notion))


def _mean_likeness(parts: list[Part]) -> Likeness | None:
    """What stays as it is, in the mean of all cells."""
    told = [(part.share, part.likeness) for part in parts if part.likeness is not None]
    if not told:
        return None

    def mean(name: str) -> float:
        return min(1.0, sum(share * float(getattr(likeness, name)) for share, likeness in told))

    fidelity, bound = mean("fidelity"), min(1.0, no_less(mean("fidelity_bound")))
    return Likeness(fidelity, max(bound, fidelity), mean("cells_unchanged"), mean("rows_unchanged"), told[0][1].weights)


def _rounded_up(level: float) -> float:
    """A level for people, with three digits, rounded up."""
    if level <= 0:
        return PERFECT_LEVEL
    step = 10.0 ** (math.floor(math.log10(level)) - 2)
    return float(f"{math.ceil(level / step) * step:.6g}")
