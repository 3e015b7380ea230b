"""follow_up: the best further release of people of whom something was released before.

Given x, what was released before says nothing more of the secret: P(s|x, h) = P(s|x). So everything together keeps a
promise exactly if every posterior P(X=·|h, y) lies in the polytope Δ of a first release with that promise, and
I(X;Y|H) = H(X|H) − Σ P(h, y) H(X|h, y). The best follow-up therefore writes, for every history h, the posterior
v_h = P(X=·|h) as the mixture of points of Δ with the least entropy: the program of a first release with v_h in the
place of P(x). It is possible if and only if v_h is in Δ, that is, if what was released before keeps the new promise.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.nearest import read_as
from privacyfunnel.distribution.refinement import codes_in
from privacyfunnel.errors import InvalidInput, InvalidPromise
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.numeric.information import no_less
from privacyfunnel.optimiser.histories import Step, how_found, likelihoods, likeness_of
from privacyfunnel.optimiser.mixing import Problem
from privacyfunnel.optimiser.one_history import NEGLIGIBLE, EachHistory, Given
from privacyfunnel.optimiser.program.exact_protocol import SHARES
from privacyfunnel.optimiser.program.finishing import origin
from privacyfunnel.optimiser.program.state import Progress, interruptible
from privacyfunnel.optimiser.program.task import check_task
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.certificate import certify_entries
from privacyfunnel.proof.histories import Past, entries_of_histories
from privacyfunnel.protocols.by_history import ByHistory, about_the_same
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.digits import coarse_marginal
from privacyfunnel.protocols.protocol import Objective, Protocol, not_below
from privacyfunnel.protocols.rows_before import RowsBefore
from privacyfunnel.typing import Exact, Integers, Vector

KEEPING = "; rows of people who did not change stay what they were"


def follow_up(
    joint: Joint,
    notion: Notion,
    after: Protocol,
    *,
    histories: Integers | None = None,
    objective: Objective = "information",
    weights: Mapping[str, float] | None = None,
    gap: float,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    keep_rows: bool = False,
    cover: float = math.inf,
) -> Protocol:
    """The follow-up to `after` that keeps the most of X, while everything released keeps the promise together.

    `joint` has the columns that were released before, or finer ones, and possibly more. `histories` says which
    outcomes of the earlier releases need a channel, histories[i] being one output of each; without it, all
    that can occur. Those that cannot occur on `joint` are left out. With `keep_rows`, who did not change keeps their
    row, as many others as possible are followed up, and of what is then possible it tells the most; `joint` has the
    columns that were released before, and today's. For each who changed, up to `cover` others may have new rows, too.
    """
    check_task(joint, notion, gap, time_limit, progress)
    if notion.confidence is not None:
        raise InvalidPromise("a follow-up is for the counts as they are; robust promises are for single releases")
    if not isinstance(after, Protocol):
        raise InvalidInput(f"after= is the protocol of the release before, not {type(after).__name__}")
    after.step.check_followed()
    _check_secret(joint, after)
    if not cover >= 0 or (cover < math.inf and not keep_rows):
        raise InvalidInput(
            "cover is how many unchanged people may be drawn for each changed one, with keep_rows: 0, 1, …"
        )
    if keep_rows and objective == "faithful":
        raise InvalidInput("rows that stay what they were do not have today's distribution: leave out faithful")
    with interruptible() as interrupted:
        task = _Task.of(joint, notion, after, histories, objective, dict(weights or {}), gap, interrupted)
        if keep_rows:
            task.each.rows, task.each.cover = RowsBefore.of(after, joint.columns, joint.codes, task.histories), cover
        task.run(time_limit, progress)
    return task.protocol()


def _check_secret(joint: Joint, after: Protocol) -> None:
    """Refuse another secret: that of the earlier promise would no longer be looked at."""
    for own in joint.secret_readings:
        for then in after.secret_readings:
            if then != own and then.model_copy(update={"missing": own.missing}) == own:
                texts = ", ".join(map(repr, then.missing)) or "none but empty ones"
                raise InvalidPromise(
                    f"the secret {own.name!r} is read with other texts that mean missing than in the earlier release; "
                    f"there these are {texts}: give the same ones (missing)"
                )
    if not about_the_same(after, joint.secret_readings, joint.secret_names):
        raise InvalidPromise(
            f"the earlier release made a promise about {after.secret}, and a follow-up for {joint.secret} would not "
            "look at that: make all of them the secret, together or each with a promise of its own, cut as they were "
            "(bins)"
        )


@dataclass(eq=False)
class _Task:
    """A program for every history."""

    each: EachHistory
    histories: Integers
    problems: list[Problem]
    """Of a first release; none if combinations are gathered, since P(s|x, h) then depends on h."""
    steps: dict[int, Step] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        joint: Joint,
        notion: Notion,
        after: Protocol,
        histories: Integers | None,
        objective: Objective,
        weights: dict[str, float],
        gap: float,
        interrupted: threading.Event,
    ) -> _Task:
        """Refuses what cannot be followed by this promise."""
        people = joint.before_gathering or joint
        absent = [column.name for column in after.columns if column.name not in people.attributes]
        if absent:
            raise InvalidInput(
                f"column {absent[0]!r} was released before, so a follow-up needs it, too: name it among the attributes"
            )
        past = Past(after, people)
        strangers = past.strangers()
        if strangers:
            raise InvalidInput(
                f"{strangers} of {people.n_x} values of X were not there when the earlier protocol was fitted, so what "
                "it released of them is not known; leave these people out",
                steward_only=people.counted,
            )
        wanted = past.histories() if histories is None else past.check(np.asarray(histories, dtype=np.int64))
        there = [h for h in wanted.tolist() if past.numerators(tuple(h)).any()]
        if not there:
            raise InvalidInput("none of the histories can come from the earlier protocol and these people")
        found = np.array(there, dtype=np.int64)
        before = certify_entries(entries_of_histories(past, found), people, notion)
        if not before.holds:
            if math.isinf(before.level):
                raise InvalidPromise(
                    "what was released before may rule out a value of the secret for these columns, and no follow-up "
                    "takes that back: follow up fewer columns or wider ranges, or with less noise (private)",
                    steward_only=people.counted,
                )
            raise InvalidPromise(
                f"what was released before reaches {notion.name} level {before.level:.6g} for these columns and this "
                f"secret, above ε = {notion.epsilon:g}, and no follow-up takes that back; promise at least that much",
                steward_only=people.counted,
            )
        read = np.arange(joint.n_x) if people is joint else _read_as(joint, people)
        gathered = people is not joint
        problems = [] if gathered else [Problem.of(joint, notion, share) for share in _shares(joint, notion)]
        each = EachHistory(joint, notion, past, objective, weights, gap, interrupted, read)
        return cls(each, found, problems)

    def run(self, time_limit: float | None, progress: Callable[[Progress], None] | None) -> None:
        """Solve for every history; who has the most people goes first, and has its share of the time."""
        started = ticks()
        past, scale = self.each.past, self._scale()
        weights = past.joint.weights.sum(axis=0).astype(object)
        shares = np.array([float(weights @ past.numerators(tuple(h)) / scale) for h in self.histories.tolist()])
        left, negligible = 1.0, self._negligible(shares)
        for h in np.argsort(-shares, kind="stable").tolist():
            if negligible[h]:
                self.steps[h] = self.each.nothing_more(self._given(h), float(shares[h]))
                continue
            seconds = None
            if time_limit is not None:
                remaining = max(0.0, started + time_limit - ticks())
                seconds = remaining * min(1.0, float(shares[h]) / max(left, float(shares[h])))
            self.steps[h] = self.each.solved(self._given(h), float(shares[h]), seconds)
            left -= float(shares[h])
            if progress is not None:
                kept, bound, _ = self._totals()
                progress(Progress(kept, bound, ticks() - started))

    def _negligible(self, shares: Vector) -> NDArray[np.bool_]:
        """The histories that hardly anybody has: together, all that is not known of them is a small part of the gap.

        Rounding leaves outputs of probability 10⁻⁷ or so that nearly every value can have. Solved like others they
        would have programs as large as the first release's, and more such outputs after them, again and again.
        """
        found = np.zeros(len(shares), dtype=bool)
        if self.each.faithful or len(shares) == 1:
            return found
        rarest = np.argsort(shares, kind="stable")
        lost = np.cumsum(shares[rarest]) / shares.sum() * math.log(max(2, self.each.joint.n_x))
        found[rarest[lost <= NEGLIGIBLE * self.each.gap]] = True
        return found

    def _scale(self) -> int:
        """What P(h, x) is an integer over: all people, and 2³² for every draw."""
        return int(self.each.past.joint.total * UNIT ** int(self.histories.shape[1]))

    def _given(self, h: int) -> Given:
        each, joint = self.each, self.each.joint
        numerators = each.past.numerators(tuple(self.histories[h].tolist()))
        people = np.flatnonzero(numerators)
        values, of = np.unique(each.read[people], return_inverse=True)
        W = np.zeros((joint.n_s, len(values)), dtype=object)
        for row, weights in zip(W, each.past.joint.weights.astype(object), strict=True):
            np.add.at(row, of.ravel(), weights[people] * numerators[people])
        codes, columns, secret = joint.codes[values], joint.columns, joint.secret
        own = Joint.from_exact(W[W.any(axis=1)], codes, columns, secret)
        return Given(h, numerators, values, own, self._problem(0, values, W, own))

    def _problem(self, i: int, values: Integers, W: Exact, own: Joint) -> Problem:
        """What is to be mixed for a history, W[s, x] ∝ P(s, x, h)."""
        if self.problems:
            return self.problems[i].given(values, own.p_x)
        # Everybody with another history is one value more: all sums over x are then those of the whole distribution.
        each = self.each
        people = each.past.joint.weights.astype(object).sum(axis=1) * UNIT ** self.histories.shape[1]
        whole = np.column_stack([W, people - W.sum(axis=1)])
        occur = np.flatnonzero(whole.any(axis=0))
        column = Column(name="X", kind="integer", labels=tuple(range(len(occur))))
        joint = Joint.from_exact(whole[:, occur], np.arange(len(occur))[:, None], (column,), each.joint.secret)
        for name in ("secret_values", "secret_columns", "secret_parts"):  # promises speak of them
            setattr(joint, name, getattr(each.joint, name))
        return Problem.of(joint, each.notion, _shares(each.joint, each.notion)[i]).given(
            np.arange(len(values)), own.p_x
        )

    def _totals(self) -> tuple[float, float, float]:
        """What is kept, its bound and H(X|H), of the people whose history was dealt with."""
        steps = list(self.steps.values())
        people = sum(step.share for step in steps)
        kept, bound, entropy = (
            sum(step.share * number for step, number in zip(steps, numbers, strict=True)) / people
            for numbers in (
                [step.kept for step in steps],
                [step.bound for step in steps],
                [step.entropy for step in steps],
            )
        )
        return kept, no_less(bound), entropy

    def protocol(self) -> Protocol:
        """All steps together."""
        joint = self.each.joint
        steps = [self.steps[h] for h in range(len(self.histories))]
        pairs = np.concatenate([np.column_stack([np.full(len(s.values), h), s.values]) for h, s in enumerate(steps)])
        before = np.cumsum([0, *(len(step.values) for step in steps)])
        channel = Channel.from_entries(
            np.concatenate([before[h] + step.channel.inputs for h, step in enumerate(steps)]),
            np.concatenate([step.channel.outputs for step in steps]),
            np.concatenate([step.channel.numerators for step in steps]),
            (joint.n_x, len(pairs)),
        )
        kept, bound, entropy = self._totals()
        marginal = coarse_marginal(likelihoods(steps, joint.n_x), joint.total if joint.counted else None)
        parts = ByHistory(joint.columns, joint.codes, self.histories, pairs, channel, marginal, joint.nearest)
        return Protocol(
            self.each.notion,
            parts,
            utility=kept,
            upper_bound=not_below(bound, kept),
            entropy=max(entropy, kept),
            how=how_found(steps) + (KEEPING if self.each.rows is not None else ""),
            secret=joint.secret,
            secret_readings=joint.secret_readings,
            likeness=likeness_of(steps),
            before=self.each.past.protocol,
            **origin([joint]),
        )


def _read_as(joint: Joint, people: Joint) -> Integers:
    """For every combination that people have, the value of `joint` that it is read as."""
    return read_as(codes_in(joint.columns, people), joint.codes, joint.columns, joint.nearest)


def _shares(joint: Joint, notion: Notion) -> tuple[float, ...]:
    """Of what is granted at ε = 0, within which posteriors are sought."""
    return SHARES[:1] if notion.perfect(joint) else (1.0,)
