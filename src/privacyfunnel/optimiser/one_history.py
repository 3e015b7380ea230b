"""One history of a follow-up: the best channel for those who have it, and the exact check that it passes."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.numeric.information import no_less
from privacyfunnel.optimiser.faithful.given import faithful_given
from privacyfunnel.optimiser.histories import Step, constant, mass_of
from privacyfunnel.optimiser.keeping import Parted
from privacyfunnel.optimiser.mixing import Mixing, Mixture, Problem
from privacyfunnel.optimiser.program.polytope import DUST, Columns
from privacyfunnel.optimiser.program.rounding import SLACKS, round_channel
from privacyfunnel.promises.limits import PERFECT_LEVEL
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.certificate import certify_entries
from privacyfunnel.proof.histories import Past, entries_after
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.kept import Likeness
from privacyfunnel.protocols.labels import assigned
from privacyfunnel.protocols.protocol import Objective, not_below
from privacyfunnel.protocols.released import information_kept
from privacyfunnel.protocols.rows_before import RowsBefore
from privacyfunnel.typing import Exact, Integers, Vector

NEGLIGIBLE = 0.25
"""Of the gap: what may be left untold of people with histories that hardly anybody has."""


@dataclass(frozen=True, eq=False)
class Given:
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
class EachHistory:
    """What is asked of the channel of every history, and the search for it."""

    joint: Joint
    notion: Notion
    past: Past
    objective: Objective
    weights: dict[str, float]
    gap: float
    interrupted: threading.Event
    read: Integers
    """read[c]: the value of X as which the combination c that people have is read."""
    rows: RowsBefore | None = None
    """Where people who did not change keep their row."""
    cover: float = 0.0

    @property
    def faithful(self) -> bool:
        """Whether rows are to have the distribution of X."""
        return self.objective == "faithful"

    def solved(self, given: Given, share: float, seconds: float | None) -> Step:
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

    def _keeping(self, given: Given, rows: RowsBefore, share: float, seconds: float | None) -> Step:
        """The same where people who did not change keep their row. How much others might tell is not bounded."""
        unchanged = rows.unchanged[given.values]
        parted = Parted.of(given.problem, unchanged, self.cover)
        if parted.share <= DUST:
            return self.nothing_more(given, share)
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
        return Mixing(problem, gap, seconds, None, self.interrupted, ticks()).solved()

    def _rounded(self, given: Given, columns: Columns, q: Vector, sink: int | None = None) -> Channel:
        """A mixture as a channel that passes the exact check; if none does, one that adds nothing."""
        for slack in SLACKS:
            rounded = round_channel(columns, q, given.problem.granted, slack, last=sink)
            if self._passes(given, rounded):
                return rounded
        return constant(given.own.n_x)

    def _step(
        self, given: Given, channel: Channel, written: Integers, share: float, found: Mixture, bound: float
    ) -> Step:
        """What was found for a history, whose outputs are written as these values."""
        own, kept = given.own, information_kept(channel, given.own.p_x)
        named = Channel.from_entries(
            channel.inputs, written[channel.outputs], channel.numerators, (self.joint.n_x, own.n_x)
        )
        return Step(given.values, named, share, kept, bound, own.entropy, found.how, mass_of(named, own))

    def _faithful(self, given: Given, share: float, seconds: float | None) -> Step:
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

    def _passes(self, given: Given, channel: Channel) -> bool:
        """Whether everything together keeps the promise, exactly."""
        entries = entries_after(given.numerators, (given.values, channel), self.read)
        found = certify_entries(entries, self.past.joint, self.notion)
        return found.holds and found.level <= (self.notion.epsilon or PERFECT_LEVEL)

    def nothing_more(self, given: Given, share: float) -> Step:
        """A row that adds nothing, which is always allowed; the bound says that as much as all might be told."""
        own = given.own
        same = constant(own.n_x, self._row(given), self.joint.n_x)
        return Step(given.values, same, share, 0.0, no_less(own.entropy), own.entropy, "", mass_of(same, own))

    def _row(self, given: Given) -> int:
        """The value that everybody with a history is written as if nothing more is told: what it was, if it can be."""
        before = -1 if self.rows is None else int(self.rows.row[given.h])
        return before if before >= 0 else int(given.values[np.argmax(given.own.p_x)])
