"""Where a search stands: the best mixture and the best bound so far, and whether to go on."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType

import numpy as np

from privacyfunnel.numeric.information import entropy
from privacyfunnel.optimiser.program.master import Pool
from privacyfunnel.optimiser.program.polytope import Columns, Polytope
from privacyfunnel.typing import Vector

ROUND_OFF = 1e-12
"""What float64 may cost a bound, in nats."""
VERTEX_ERROR = 1e-11
"""How exactly posteriors are known, as a rule."""
MOST_COMPARED = 500
"""Columns of G compared with each other, which takes their number squared; of more, the first stand for all."""
LEFT_TO_ROUNDING = 1e-5
"""Nats of the gap that a search leaves to rounding its mixture, at most, and never more than half: a channel of exact
multiples of 2⁻³² keeps a little less, and the gap that was asked for is that of the channel."""
LAST_DIGIT = 1e-15
"""Relative error of a coefficient of G: some units in the last place of a float64."""
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


@dataclass(eq=False)
class State:
    """The best mixture and the best bound so far, and whether to go on."""

    polytope: Polytope
    entropy: float
    """H(X) of the values, which is more than that of their classes."""
    gap: float
    time_limit: float | None
    progress: Callable[[Progress], None] | None
    interrupted: threading.Event
    started: float = field(default_factory=time.monotonic)
    vertex_error: float = VERTEX_ERROR
    """How exactly posteriors are known: what a wrong digit there costs the bound grows with the prices."""

    def __post_init__(self) -> None:
        # Releasing nothing keeps every promise; releasing all is a bound on every protocol.
        self.columns = Columns(np.arange(self.polytope.n_x)[None, :], self.polytope.p_x[None, :])
        self.q: Vector = np.ones(1)
        self.utility = self.entropy - float(entropy(self.polytope.p_x))
        self.upper_bound = self.entropy

    def stopped(self) -> bool:
        late = self.time_limit is not None and time.monotonic() - self.started >= self.time_limit
        return late or self.interrupted.is_set()

    def spent(self) -> float:
        """The share of the time limit that is over; 0 without one."""
        return 0.0 if not self.time_limit else (time.monotonic() - self.started) / self.time_limit

    def left(self) -> float:
        """Seconds until the time limit."""
        if self.time_limit is None:
            return UNHURRIED
        return max(0.0, self.time_limit - (time.monotonic() - self.started))

    def keep(self, columns: Columns | Pool, q: Vector) -> None:
        """Remember the mixture if it beats the best so far."""
        used = np.flatnonzero(q > 0)
        in_use, weights = columns.take(used), q[used]
        utility = self.entropy - float(weights @ in_use.entropy())
        if utility > self.utility:
            self.columns, self.q, self.utility = in_use, weights, utility

    def bound(self, y: Vector, least: float) -> None:
        """Prices y with r(v) = H(v) − y·v ≥ least for all v in Δ bound every protocol."""
        doubt = ROUND_OFF + self.vertex_error * float(np.abs(y).max())
        value = self.entropy - float(y @ self.polytope.p_x) + max(0.0, -least) + doubt
        self.upper_bound = min(self.upper_bound, value)

    def closed(self) -> bool:
        return self.upper_bound - self.utility <= self.gap

    def report(self) -> None:
        if self.progress is None:
            return
        try:
            self.progress(Progress(self.utility, self.upper_bound, time.monotonic() - self.started))
        except KeyboardInterrupt:
            self.interrupted.set()


def before_rounding(gap: float) -> float:
    """Nats to which a search must go for the gap to hold once its mixture is rounded."""
    return max(gap / 2, gap - LEFT_TO_ROUNDING)


def vertex_error(polytope: Polytope) -> float:
    """At ε = 0 all rows are equations, and their solutions are as uncertain as columns of G are alike."""
    if not len(polytope.G):
        return VERTEX_ERROR
    some = polytope.G[:, :MOST_COMPARED]
    apart = np.abs(some[:, :, None] - some[:, None, :]).max(axis=0, initial=0.0)
    apart[np.diag_indices(len(apart))] = 1.0
    return VERTEX_ERROR + LAST_DIGIT / float(apart.min(initial=1.0))


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
