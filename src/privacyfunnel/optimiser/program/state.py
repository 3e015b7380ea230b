"""Where a search stands: the best mixture and the best bound so far, and whether to go on."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Self

import numpy as np

from privacyfunnel.errors import SolverFailure
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.numeric.information import entropy, no_less
from privacyfunnel.numeric.leaving import unless_left
from privacyfunnel.optimiser.program.master import Pool
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.optimiser.program.tolerances import IMPROVES
from privacyfunnel.typing import Vector

VERTEX_ERROR = 1e-11
"""How exactly posteriors are known: what a wrong digit there costs a bound grows with the prices."""
LEFT_TO_ROUNDING = 1e-5
"""Nats of the gap that a search leaves to rounding its mixture, at most, and never more than half: a channel of exact
multiples of 2⁻³² keeps a little less, and the gap that was asked for is that of the channel."""
FINEST_GAP = 1e-10
"""Nats: what a search aims for at the finest. Bounds allow for rounding errors, and a finer gap would never close."""
WORTH_PROVING = 1.0
"""Of the gap: a bound that would fall by less is not proven, unless that ends the search."""
WHOLE_SEARCH = 40.0
"""Seconds over a set, where nobody set a limit: such searches seldom come to an end by themselves."""
FOR_THE_COUNTS = 0.25
"""Share of the time for the best protocol on the counts alone: its bounds hold over a set as well."""
UNHURRIED = 240.0
"""Seconds that are taken to be left where nobody set a limit."""


@dataclass(frozen=True)
class Progress:
    """Where the search stands."""

    utility: float
    """I(X;Y) of the best mixture so far, in nats, before rounding."""
    upper_bound: float
    seconds: float

    @property
    def gap(self) -> float:
        """At most this many nats are still to be gained."""
        return self.upper_bound - self.utility


class Watched:
    """A search that ends when time is up or somebody asks it to, and tells where it stands."""

    gap: float
    time_limit: float | None
    progress: Callable[[Progress], None] | None
    interrupted: threading.Event
    started: float
    upper_bound: float

    def kept_so_far(self) -> float:
        """What the best so far keeps."""
        raise NotImplementedError

    def stopped(self) -> bool:
        late = self.time_limit is not None and ticks() - self.started >= self.time_limit
        stopped, told = late or self.interrupted.is_set(), _stops.get()
        if stopped and told is not None:
            told.set()
        return stopped

    def closed(self) -> bool:
        return self.upper_bound - self.kept_so_far() <= self.gap

    def report(self) -> None:
        unless_left()
        if self.progress is None:
            return
        try:
            self.progress(Progress(self.kept_so_far(), self.upper_bound, ticks() - self.started))
        except KeyboardInterrupt:
            self.interrupted.set()


@dataclass(eq=False)
class State(Watched):
    """The best mixture and the best bound so far, and whether to go on."""

    p_x: Vector
    entropy: float
    """H(X) of the values, which is more than that of their classes."""
    gap: float
    time_limit: float | None
    progress: Callable[[Progress], None] | None
    interrupted: threading.Event
    started: float = field(default_factory=ticks)

    def __post_init__(self) -> None:
        self.gap = max(self.gap, FINEST_GAP)
        # Releasing nothing keeps every promise; releasing all is a bound on every protocol.
        self.columns = Columns(np.arange(len(self.p_x))[None, :], self.p_x[None, :])
        self.q: Vector = np.ones(1)
        self.utility = self.entropy - float(entropy(self.p_x))
        self.upper_bound = no_less(self.entropy)

    def kept_so_far(self) -> float:
        return self.utility

    def spent(self) -> float:
        """The share of the time limit that is over; 0 without one."""
        return 0.0 if not self.time_limit else (ticks() - self.started) / self.time_limit

    def left(self) -> float:
        """Seconds until the time limit."""
        if self.time_limit is None:
            return UNHURRIED
        return max(0.0, self.time_limit - (ticks() - self.started))

    def keep(self, columns: Columns | Pool, q: Vector) -> None:
        """Remember the mixture if it beats the best so far."""
        used = np.flatnonzero(q > 0)
        in_use, weights = columns.take(used), q[used]
        utility = self.entropy - float(weights @ in_use.entropy())
        if utility > self.utility:
            self.columns, self.q, self.utility = in_use, weights, utility

    def bound(self, y: Vector, least: float | Vector) -> None:
        """Prices y with r(v) = H(v) − y·v ≥ least for all v in Δ bound every protocol.

        Or r(v) ≥ least[x] for every x that v uses. Prices that are less by d[x] = max(0, −least[x]) are then low enough
        for all v, as r(v) + Σ v[x] d[x] ≥ r(v) − min(0, r(v)) ≥ 0, and lose Σ p_x[x] d[x].
        """
        self.lower(self.bounded(y, least))

    def bounded(self, y: Vector, least: float | Vector) -> float:
        """The bound that such prices give."""
        doubt = IMPROVES + VERTEX_ERROR * float(np.abs(y).max())
        less = np.maximum(0.0, -np.asarray(least))
        return self.entropy - float(y @ self.p_x) + float(less if less.ndim == 0 else less @ self.p_x) + doubt

    def would_lower(self, bound: float) -> bool:
        """Whether a bound is lower by so much that it is worth a proof, or would end the search."""
        return bound - self.kept_so_far() <= self.gap or bound < self.upper_bound - WORTH_PROVING * self.gap

    def lower(self, bound: float) -> None:
        """No protocol that keeps the promise has more than `bound`."""
        self.upper_bound = min(self.upper_bound, bound)


@dataclass(eq=False)
class Search(State):
    """A state of a search among the posteriors of a polytope."""

    polytope: Polytope = field(kw_only=True)
    around: Polytope | None = field(default=None, kw_only=True)
    """What contains the polytope for sure, and all that a certificate lets pass."""
    rank: int = field(default=0, kw_only=True)
    """Extreme posteriors have at most so many values; 0 where that is not known."""
    one_view: bool = field(default=False, kw_only=True)
    """Whether the promise is about attackers who know nothing beforehand."""

    @classmethod
    def within(
        cls,
        polytope: Polytope,
        entropy: float,
        gap: float,
        time_limit: float | None,
        progress: Callable[[Progress], None] | None,
        interrupted: threading.Event,
        **more: Any,
    ) -> Self:
        """A search that begins with p_x itself."""
        return cls(polytope.p_x, entropy, gap, time_limit, progress, interrupted, polytope=polytope, **more)

    @property
    def outer(self) -> Polytope:
        """The polytope that bounds hold for: what is around ours, if that was given."""
        return self.polytope if self.around is None else self.around


_stops: ContextVar[threading.Event | None] = ContextVar("_stops", default=None)


@contextmanager
def noticing_stops() -> Iterator[threading.Event]:
    """An event that is set once a search in this context, or a part of one, runs out of time or is interrupted.

    One that did not is at its end: more time would not find more.
    """
    event = threading.Event()
    before = _stops.set(event)
    try:
        yield event
    finally:
        _stops.reset(before)


def despite_trouble(search: Callable[[], str]) -> str:
    """What a search did, in words; what it has found stands even if the solver fails on the way."""
    try:
        return search()
    except SolverFailure:
        return "the best found before the linear-programming solver met numerical trouble"


def before_rounding(gap: float) -> float:
    """Nats to which a search must go for the gap to hold once its mixture is rounded."""
    return max(gap / 2, gap - LEFT_TO_ROUNDING)


_cancelling: ContextVar[threading.Event | None] = ContextVar("_cancelling", default=None)


@contextmanager
def cancellable(event: threading.Event) -> Iterator[None]:
    """Searches in this context end when somebody sets the event, with the certified best found so far.

    For searches in threads of their own, which no Ctrl-C reaches.
    """
    before = _cancelling.set(event)
    try:
        yield
    finally:
        _cancelling.reset(before)


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets; the second interrupts as usual. In `cancellable`, the event given there."""
    given = _cancelling.get()
    if given is not None:
        yield given
        return
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = signal.getsignal(signal.SIGINT)

    def first_time(signum: int, frame: FrameType | None) -> None:
        event.set()
        signal.signal(signal.SIGINT, before)

    if before is None:  # installed by somebody's C code: not ours to replace
        yield event
        return
    signal.signal(signal.SIGINT, first_time)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)
