"""optimise: the best protocol for a promise, with a certified bound on what any other could keep."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

import numpy as np

from privacyfunnel.certificate import certify_channel
from privacyfunnel.errors import InvalidInput, InvalidJoint, InvalidPromise, NotCertified, SolverFailure
from privacyfunnel.information import entropy
from privacyfunnel.joint import Joint
from privacyfunnel.limits import PERFECT_LEVEL
from privacyfunnel.notions import Notion
from privacyfunnel.optimiser import supports
from privacyfunnel.optimiser.branch import prove
from privacyfunnel.optimiser.master import Master
from privacyfunnel.optimiser.peel import peel
from privacyfunnel.optimiser.pricing import Oracle, extremes, local_search
from privacyfunnel.optimiser.reduce import Classes
from privacyfunnel.optimiser.rounding import round_channel
from privacyfunnel.polytope import Columns, Polytope
from privacyfunnel.protocol import Protocol, block_of, information_kept
from privacyfunnel.typing import Matrix, Vector

LIST_VERTICES = 1_000_000
"""Up to this many candidates, all vertices are listed; beyond, they are generated on demand."""
AT_ONCE = 2_000
"""Up to this many vertices go into the master program at once."""
ROUND_OFF = 1e-12
"""What float64 may cost a bound, in nats."""
VERTEX_ERROR = 1e-11
"""How exactly posteriors are known, as a rule."""
LEAST_SLACK = 2e-16
MOST_SLACK = 1e-2
LEANING = 1e-9
"""Weight of p_x itself in a mixture that is more than rounding error."""
MOST_COMPARED = 500
RANDOM_STARTS = 16
USED_STARTS = 64
SCATTERED = 400


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


def optimise(
    joint: Joint,
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

    Stops when the certified gap is at most `gap` nats, after `time_limit` seconds, or at Ctrl-C;
    whatever comes back has passed the exact check, and says how far from the best it can be.

    >>> protocol = optimise(Joint([[40, 10], [10, 40]]), LIP(0.3))
    >>> round(protocol.utility, 4), protocol.gap <= 1e-6
    (0.0964, True)
    """
    return search(joint, notion, gap=gap, time_limit=time_limit, progress=progress)[0]


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
    _check(joint, notion, gap, time_limit, progress)
    classes = Classes.find(Polytope.of(joint, notion))
    with _interruptible() as interrupted:
        state = _State(classes.polytope, joint.entropy, max(gap / 2, gap - 1e-5), time_limit, progress, interrupted)
        if notion.limits != notion.limits.granted():
            state.vertex_error = _vertex_error(classes.polytope)
        rank = notion.rank(joint)
        try:
            if supports.candidates(classes.polytope, rank) <= LIST_VERTICES:
                how = _list_vertices(state, rank)
            else:
                how = _generate(state, classes.merge(known) if known is not None else None)
        except SolverFailure:
            how = "the best found before the linear-programming solver met numerical trouble"
        columns, q = classes.split(state.columns, state.q)
        protocol = _exact(joint, columns, q, state.upper_bound, notion, how)
    return protocol, columns.take(np.flatnonzero(q > 0))


@dataclass(eq=False)
class _State:
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

    def keep(self, columns: Columns, q: Vector) -> None:
        """Remember the mixture if it beats the best so far."""
        utility = self.entropy - float(q @ columns.entropy())
        if utility > self.utility:
            self.columns, self.q, self.utility = columns, q, utility

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


def _list_vertices(state: _State, rank: int) -> str:
    """All vertices are known: the master program over them is the whole problem."""
    pool = supports.vertices(state.polytope, rank)
    if not len(pool):
        raise SolverFailure("no extreme posterior was found")
    master = Master(state.polytope.p_x, penalty=_penalty(state.polytope))
    inside = np.zeros(len(pool), dtype=bool)
    cost = pool.entropy()
    # p_x is a mixture of vertices, so a mixture that needs p_x itself (column 0) was spoilt by rounding errors
    # in the vertices, and its prices bound nothing. If p_x is a vertex, it may be used.
    whole = bool((np.abs(cost - entropy(state.polytope.p_x)) < LEANING).any())
    artificial, y = 0.0, np.zeros(state.polytope.n_x)
    if len(pool) > AT_ONCE:
        y = np.full(state.polytope.n_x, float(cost.mean()))
    while not state.stopped():
        r = cost - pool.dot(y)
        fresh = np.flatnonzero(~inside) if len(pool) <= AT_ONCE else _most_improving(pool, r, inside)
        if fresh.size:
            master.add(pool.take(fresh))
            inside[fresh] = True
        q, y, artificial = master.solve()
        settled = artificial <= 0 or not master.raise_penalty()
        if artificial <= 0:
            state.keep(master.columns, q)
        if q[0] <= LEANING or whole:
            state.bound(y, float((cost - pool.dot(y)).min()))
        state.report()
        if state.closed() or (not fresh.size and settled):
            break
    if artificial > 0:
        state.keep(master.columns, master.solve_without_artificial())
    return f"all {len(pool):,} extreme posteriors listed, linear program"


def _vertex_error(polytope: Polytope) -> float:
    """At ε = 0 all rows are equations, and their solutions are as uncertain as columns of G are alike."""
    some = polytope.G[:, :MOST_COMPARED]
    apart = np.abs(some[:, :, None] - some[:, None, :]).max(axis=0, initial=0.0)
    apart[np.diag_indices(len(apart))] = 1.0
    return VERTEX_ERROR + 1e-15 / float(apart.min(initial=1.0))


def _most_improving(pool: Columns, r: Vector, inside: np.ndarray) -> np.ndarray:
    """For every value x, the few columns that use it with the least reduced cost."""
    order = np.argsort(r, kind="stable")
    order = order[~inside[order]][: 50 * AT_ONCE]
    order = order[r[order] < 0] if inside.any() else order
    used = pool.support[order]
    seen: dict[int, int] = {}
    chosen = []
    for i, support in zip(order, used.tolist(), strict=True):
        if any(seen.get(x, 0) < 3 for x in support):
            chosen.append(i)
            for x in support:
                seen[x] = seen.get(x, 0) + 1
        if len(chosen) >= AT_ONCE:
            break
    return np.array(chosen, dtype=np.int64)


def _generate(state: _State, known: Columns | None) -> str:
    """Posteriors are generated where they undercut their price, until none can."""
    polytope = state.polytope
    oracle = Oracle(polytope)
    rng = np.random.default_rng(0)
    master = Master(polytope.p_x, penalty=_penalty(polytope))
    start, weights = peel(polytope, oracle, state.stopped)
    state.keep(start, weights)
    state.report()
    master.add(start)
    if known is not None:
        master.add(known)
    largest: Vector | None = None
    rounds = proofs = 0
    while not state.stopped() and not state.closed():
        rounds += 1
        q, y, artificial = master.solve()
        if artificial <= 0:
            state.keep(master.columns, q)
        state.report()
        starts = _starts(rng, master.columns.take(np.flatnonzero(q > 0)), polytope.p_x)
        better = local_search(oracle, y, starts, state.gap / 4, state.stopped)
        if not len(better) and not state.stopped():
            if largest is None:
                better, largest = extremes(oracle)
            else:
                y = master.central_prices()
                better = local_search(oracle, y, _scattered(rng, polytope.n_x), state.gap / 2, state.stopped)
                if not len(better):
                    proofs += 1
                    proof = prove(oracle, y, largest, state.gap, state.stopped)
                    state.bound(y, proof.bound)
                    better = proof.improving
                    state.report()
        new = Columns.from_dense(polytope.draw_in(better))
        new = new.take(np.flatnonzero(new.entropy() - new.dot(y) < -state.gap / 8))
        if len(new):
            master.add(new)
        elif proofs and (artificial <= 0 or not master.raise_penalty()):
            break  # proven, or all that is left to gain lies outside of Δ by rounding errors
    state.keep(master.columns, master.solve_without_artificial())
    return f"column generation: {rounds} rounds, {len(master.columns)} posteriors, {proofs} proofs by branch and bound"


def _starts(rng: np.random.Generator, used: Columns, p_x: Vector) -> Matrix:
    """Points to search from: some of the posteriors in use, drawn to the middle, and random ones."""
    some = used.take(rng.permutation(len(used))[:USED_STARTS]).dense(len(p_x))
    random = rng.dirichlet(np.full(len(p_x), 0.5), size=RANDOM_STARTS)
    return np.vstack([0.5 * some + 0.5 * p_x, random])


def _scattered(rng: np.random.Generator, n: int) -> Matrix:
    """Many points of all kinds, from nearly single values to nearly uniform: cheaper than a proof that fails."""
    sharpness = np.repeat([0.03, 0.1, 0.3, 1.0], min(SCATTERED, 10 * n) // 4)
    return np.stack([rng.dirichlet(np.full(n, alpha)) for alpha in sharpness])


def _penalty(polytope: Polytope) -> float:
    """Dearer than any honest posterior, whose entropy is at most ln n_x."""
    return 2.0 * (1.0 + math.log(polytope.n_x))


def _exact(joint: Joint, columns: Columns, q: Vector, upper_bound: float, notion: Notion, how: str) -> Protocol:
    """Round the mixture to an exact channel, and return it only if it passes the exact check."""
    polytope = Polytope.granted(joint, notion)
    allowed = notion.epsilon or PERFECT_LEVEL
    slack = LEAST_SLACK
    while slack < MOST_SLACK:
        channel = round_channel(columns, q, polytope, slack)
        certificate = certify_channel(channel, joint, notion)
        if certificate.holds and certificate.level <= allowed:
            utility = information_kept(channel, joint.p_x)
            return Protocol(
                notion,
                (block_of(joint, channel),),
                utility,
                max(upper_bound, utility),
                joint.entropy,
                how,
                joint.secret,
                tuple(column.reading() for column in joint.secret_columns),
            )
        slack *= 16
    raise NotCertified(f"no exact channel was found that keeps {notion}; please report this")


def _check(joint: Joint, notion: Notion, gap: float, time_limit: float | None, progress: object) -> None:
    if not isinstance(joint, Joint):
        raise InvalidJoint(f"optimise needs a Joint, not {type(joint).__name__}; wrap the array in Joint(array)")
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


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets; the second interrupts as usual."""
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
