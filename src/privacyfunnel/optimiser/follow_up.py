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
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.nearest import nearest
from privacyfunnel.errors import InvalidInput, InvalidPromise
from privacyfunnel.numeric.information import no_less
from privacyfunnel.optimiser.faithful.given import faithful_given
from privacyfunnel.optimiser.histories import Step, constant, how_found, likelihoods, likeness_of, mass_of
from privacyfunnel.optimiser.keeping import Parted
from privacyfunnel.optimiser.mixing import Mixing, Mixture, Problem
from privacyfunnel.optimiser.program.exact_protocol import SHARES
from privacyfunnel.optimiser.program.finishing import origin
from privacyfunnel.optimiser.program.polytope import DUST, Columns
from privacyfunnel.optimiser.program.rounding import SLACKS, round_channel
from privacyfunnel.optimiser.program.state import Progress, interruptible
from privacyfunnel.optimiser.program.task import check_task
from privacyfunnel.promises.limits import PERFECT_LEVEL
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.certificate import certify_entries
from privacyfunnel.proof.histories import Past, entries_after, entries_of_histories
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.digits import coarse_marginal
from privacyfunnel.protocols.follow_up import FollowUp, Steps, about_the_same, inputs_read
from privacyfunnel.protocols.kept import Likeness
from privacyfunnel.protocols.labels import assigned
from privacyfunnel.protocols.protocol import Objective, Protocol, information_kept, not_below
from privacyfunnel.protocols.rows_before import RowsBefore
from privacyfunnel.typing import Exact, Integers, Vector

KEEPING = "; rows of people who did not change stay what they were"
NEGLIGIBLE = 0.25
"""Of the gap: what may be left untold of people with histories that hardly anybody has."""


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
) -> FollowUp:
    """The follow-up to `after` that keeps the most of X, while everything released keeps the promise together.

    `joint` has the columns that were released before, or finer ones, and possibly more. `histories` says which
    outcomes of the earlier releases need a channel, histories[i] being the outputs of all their blocks; without it, all
    that can occur. Those that cannot occur on `joint` are left out. With `keep_rows`, who did not change keeps their
    row, as many others as possible are followed up, and of what is then possible it tells the most; `joint` has the
    columns that were released before, and today's. For each who changed, up to `cover` others may have new rows, too.
    """
    check_task(joint, notion, gap, time_limit, progress)
    if notion.confidence is not None:
        raise InvalidPromise("a follow-up is for the counts as they are; robust promises are for single releases")
    if not isinstance(after, Protocol):
        raise InvalidInput(f"after= is the protocol of the release before, not {type(after).__name__}")
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
            task.rows, task.cover = RowsBefore.of(after, joint.columns, joint.codes, task.histories), cover
        task.run(time_limit, progress)
    return task.protocol()


def _check_secret(joint: Joint, after: Protocol) -> None:
    """Refuse another secret: that of the earlier promise would no longer be looked at."""
    if not about_the_same(after, joint.secret_readings, joint.secret_names):
        raise InvalidPromise(
            f"the earlier release made a promise about {after.secret}, and a follow-up for {joint.secret} would not "
            "look at that: make all of them the secret, together or each with a promise of its own, cut as they were "
            "(--bins)"
        )


@dataclass(frozen=True, eq=False)
class _Given:
    """One history, and what is known of those who have it."""

    h: int
    numerators: Exact
    """N[x] ∝ P(h|x), for the values as people have them."""
    values: Integers
    """The values of X that can have it."""
    own: Joint
    """P(s, x|h) for these values."""
    problem: Problem


@dataclass(eq=False)
class _Task:
    """A program for every history."""

    joint: Joint
    notion: Notion
    past: Past
    histories: Integers
    objective: Objective
    weights: dict[str, float]
    gap: float
    interrupted: threading.Event
    read: Integers
    """read[c]: the value of X as which the combination c that people have is read."""
    problems: list[Problem]
    """Of a first release; none if combinations are gathered, since P(s|x, h) then depends on h."""
    rows: RowsBefore | None = None
    """Where people who did not change keep their row."""
    cover: float = 0.0
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
        past = Past(after, people)
        strangers = past.strangers()
        if strangers:
            raise InvalidInput(
                f"{strangers} of {people.n_x} values of X were not there when the earlier protocol was fitted, so what "
                "it released of them is not known; leave these people out"
            )
        wanted = past.histories() if histories is None else past.check(np.asarray(histories, dtype=np.int64))
        there = [h for h in wanted.tolist() if past.numerators(tuple(h)).any()]
        if not there:
            raise InvalidInput("none of the histories can come from the earlier protocol and these people")
        found = np.array(there, dtype=np.int64)
        before = certify_entries(entries_of_histories(past, found), people, notion)
        if not before.holds:
            raise InvalidPromise(
                f"what was released before reaches {notion.name} level {before.level:.6g} for these columns and this "
                f"secret, above ε = {notion.epsilon:g}, and no follow-up takes that back; promise at least that much"
            )
        read = np.arange(joint.n_x) if people is joint else _read_as(joint, people)
        gathered = people is not joint
        problems = [] if gathered else [Problem.of(joint, notion, share) for share in _shares(joint, notion)]
        return cls(joint, notion, past, found, objective, weights, gap, interrupted, read, problems)

    def run(self, time_limit: float | None, progress: Callable[[Progress], None] | None) -> None:
        """Solve for every history; who has the most people goes first, and has its share of the time."""
        started = time.monotonic()
        people, scale = self.past.joint, self._scale()
        weights = people.weights.sum(axis=0).astype(object)
        shares = np.array([float(weights @ self.past.numerators(tuple(h)) / scale) for h in self.histories.tolist()])
        left, negligible = 1.0, self._negligible(shares)
        for h in np.argsort(-shares, kind="stable").tolist():
            if negligible[h]:
                self.steps[h] = self._nothing_more(self._given(h), float(shares[h]))
                continue
            seconds = None
            if time_limit is not None:
                remaining = max(0.0, started + time_limit - time.monotonic())
                seconds = remaining * min(1.0, float(shares[h]) / max(left, float(shares[h])))
            self.steps[h] = self._solved(self._given(h), float(shares[h]), seconds)
            left -= float(shares[h])
            if progress is not None:
                kept, bound, _ = self._totals()
                progress(Progress(kept, bound, time.monotonic() - started))

    @property
    def faithful(self) -> bool:
        return self.objective == "faithful"

    def _negligible(self, shares: Vector) -> NDArray[np.bool_]:
        """The histories that hardly anybody has: together, all that is not known of them is a small part of the gap.

        Rounding leaves outputs of probability 10⁻⁷ or so that nearly every value can have. Solved like others they
        would have programs as large as the first release's, and more such outputs after them, again and again.
        """
        found = np.zeros(len(shares), dtype=bool)
        if self.faithful or len(shares) == 1:
            return found
        rarest = np.argsort(shares, kind="stable")
        lost = np.cumsum(shares[rarest]) / shares.sum() * math.log(max(2, self.joint.n_x))
        found[rarest[lost <= NEGLIGIBLE * self.gap]] = True
        return found

    def _nothing_more(self, given: _Given, share: float) -> Step:
        """A row that adds nothing, which is always allowed; the bound says that as much as all might be told."""
        own = given.own
        same = constant(own.n_x, self._row(given), self.joint.n_x)
        return Step(given.values, same, share, 0.0, no_less(own.entropy), own.entropy, "", mass_of(same, own))

    def _row(self, given: _Given) -> int:
        """The value that everybody with a history is written as if nothing more is told: what it was, if it can be."""
        before = -1 if self.rows is None else int(self.rows.row[given.h])
        return before if before >= 0 else int(given.values[np.argmax(given.own.p_x)])

    def _scale(self) -> int:
        """What P(h, x) is an integer over: all people, and 2³² for every draw."""
        return int(self.past.joint.total * UNIT ** int(self.histories.shape[1]))

    def _given(self, h: int) -> _Given:
        numerators = self.past.numerators(tuple(self.histories[h].tolist()))
        people = np.flatnonzero(numerators)
        values, of = np.unique(self.read[people], return_inverse=True)
        W = np.zeros((self.joint.n_s, len(values)), dtype=object)
        for row, weights in zip(W, self.past.joint.weights.astype(object), strict=True):
            np.add.at(row, of.ravel(), weights[people] * numerators[people])
        codes, columns, secret = self.joint.codes[values], self.joint.columns, self.joint.secret
        own = Joint.from_exact(W[W.any(axis=1)], codes, columns, secret)
        return _Given(h, numerators, values, own, self._problem(0, values, W, own))

    def _problem(self, i: int, values: Integers, W: Exact, own: Joint) -> Problem:
        """What is to be mixed for a history, W[s, x] ∝ P(s, x, h)."""
        if self.problems:
            return self.problems[i].given(values, own.p_x)
        # Everybody with another history is one value more: all sums over x are then those of the whole distribution.
        people = self.past.joint.weights.astype(object).sum(axis=1) * UNIT ** self.histories.shape[1]
        whole = np.column_stack([W, people - W.sum(axis=1)])
        occur = np.flatnonzero(whole.any(axis=0))
        column = Column(name="X", kind="integer", labels=tuple(range(len(occur))))
        joint = Joint.from_exact(whole[:, occur], np.arange(len(occur))[:, None], (column,), self.joint.secret)
        for name in ("secret_values", "secret_columns", "secret_parts"):  # promises speak of them
            setattr(joint, name, getattr(self.joint, name))
        return Problem.of(joint, self.notion, _shares(self.joint, self.notion)[i]).given(
            np.arange(len(values)), own.p_x
        )

    def _solved(self, given: _Given, share: float, seconds: float | None) -> Step:
        """The best channel for a history that passes the exact check."""
        if given.own.n_x == 1:  # nothing is left to tell
            likeness = Likeness(1.0, 1.0, 1.0, 1.0, tuple(self.weights.items())) if self.faithful else None
            same = constant(1, self._row(given), self.joint.n_x)
            return Step(given.values, same, share, 0.0, 0.0, 0.0, "", np.ones(1), likeness)
        if self.faithful:
            return self._faithful(given, share, seconds)
        if self.rows is not None:
            return self._keeping(given, self.rows, share, seconds)
        found = self._mixed(given.problem, seconds)
        channel = self._rounded(given, found.columns, found.q)
        kept = information_kept(channel, given.own.p_x)
        written = given.values[assigned(channel, mass_of(channel, given.own), given.own)]
        return self._step(given, channel, written, share, found, not_below(found.upper_bound, kept))

    def _keeping(self, given: _Given, rows: RowsBefore, share: float, seconds: float | None) -> Step:
        """The same where people who did not change keep their row. How much others might tell is not bounded."""
        unchanged = rows.unchanged[given.values]
        parted = Parted.of(given.problem, unchanged, self.cover)
        if parted.share <= DUST:
            return self._nothing_more(given, share)
        found = self._mixed(parted.others(), seconds)
        channel = constant(given.own.n_x)
        for part in ((found.columns, found.q), parted.in_one()):
            columns, q = parted.with_rows(*part)
            rounded = self._rounded(given, columns, q, sink=0 if len(columns) > len(part[0]) else None)
            if parted.covered(rounded, unchanged, self.cover):
                channel = rounded
                break
        written = given.values[assigned(channel, mass_of(channel, given.own), given.own)]
        mass = np.where(unchanged[channel.inputs], mass_of(channel, given.own), 0.0)
        row, stay = int(rows.row[given.h]), int(np.argmax(np.bincount(channel.outputs, mass)))
        if row >= 0 and mass.any():  # most of them have this output; which other had its value takes theirs
            written[written == row] = written[stay]
            written[stay] = row
        return self._step(given, channel, written, share, found, no_less(given.own.entropy))

    def _mixed(self, problem: Problem, seconds: float | None) -> Mixture:
        """The best mixture; a part of the gap is left to histories that hardly anybody has."""
        gap = self.gap * (1 - NEGLIGIBLE)
        return Mixing(problem, gap, seconds, None, self.interrupted, time.monotonic()).solved()

    def _rounded(self, given: _Given, columns: Columns, q: Vector, sink: int | None = None) -> Channel:
        """A mixture as a channel that passes the exact check; if none does, one that adds nothing."""
        for slack in SLACKS:
            rounded = round_channel(columns, q, given.problem.granted, slack, last=sink)
            if self._passes(given, rounded):
                return rounded
        return constant(given.own.n_x)

    def _step(
        self, given: _Given, channel: Channel, written: Integers, share: float, found: Mixture, bound: float
    ) -> Step:
        """What was found for a history, whose outputs are written as these values."""
        own, kept = given.own, information_kept(channel, given.own.p_x)
        named = Channel.from_entries(
            channel.inputs, written[channel.outputs], channel.numerators, (self.joint.n_x, own.n_x)
        )
        return Step(given.values, named, share, kept, bound, own.entropy, found.how, mass_of(named, own))

    def _faithful(self, given: _Given, share: float, seconds: float | None) -> Step:
        """The same for rows that have the distribution of X given the history."""
        own = given.own
        found = faithful_given(
            own,
            self.notion,
            given.problem.granted.G,
            lambda channel: self._passes(given, channel),
            weights=self.weights,
            gap=self.gap,
            time_limit=seconds,
            interrupted=self.interrupted,
        )
        channel, kept = found.channel, information_kept(found.channel, own.p_x)
        named = Channel.from_entries(
            channel.inputs, given.values[channel.outputs], channel.numerators, (self.joint.n_x, own.n_x)
        )
        likeness = Likeness(
            found.fidelity, found.fidelity_bound, found.cells_unchanged, found.rows_unchanged, found.weights
        )
        mass, bound = mass_of(named, own), no_less(own.entropy)
        return Step(given.values, named, share, kept, bound, own.entropy, found.how, mass, likeness)

    def _passes(self, given: _Given, channel: Channel) -> bool:
        """Whether everything together keeps the promise, exactly."""
        entries = entries_after(given.numerators, (given.values, channel), self.read)
        found = certify_entries(entries, self.past.joint, self.notion)
        return found.holds and found.level <= (self.notion.epsilon or PERFECT_LEVEL)

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

    def protocol(self) -> FollowUp:
        """All steps together."""
        steps = [self.steps[h] for h in range(len(self.histories))]
        pairs = np.concatenate([np.column_stack([np.full(len(s.values), h), s.values]) for h, s in enumerate(steps)])
        before = np.cumsum([0, *(len(step.values) for step in steps)])
        channel = Channel.from_entries(
            np.concatenate([before[h] + step.channel.inputs for h, step in enumerate(steps)]),
            np.concatenate([step.channel.outputs for step in steps]),
            np.concatenate([step.channel.numerators for step in steps]),
            (self.joint.n_x, len(pairs)),
        )
        kept, bound, entropy = self._totals()
        joint = self.joint
        marginal = coarse_marginal(likelihoods(steps, joint.n_x), joint.total if joint.counted else None)
        parts = Steps(joint.columns, joint.codes, self.histories, pairs, channel, marginal, joint.nearest)
        return FollowUp(
            self.past.protocol,
            parts,
            notion=self.notion,
            utility=kept,
            upper_bound=not_below(bound, kept),
            entropy=max(entropy, kept),
            how=how_found(steps) + (KEEPING if self.rows is not None else ""),
            secret=joint.secret,
            secret_readings=joint.secret_readings,
            likeness=likeness_of(steps),
            **origin([joint]),
        )


def _read_as(joint: Joint, people: Joint) -> Integers:
    """For every combination that people have, the value of `joint` that it is read as."""
    return inputs_read(joint.columns, joint.codes, lambda codes: nearest(codes, joint.codes, joint.columns), people)


def _shares(joint: Joint, notion: Notion) -> tuple[float, ...]:
    """Of what is granted at ε = 0, within which posteriors are sought."""
    return SHARES[:1] if notion.perfect(joint) else (1.0,)
