"""Few secrets, too many extreme posteriors to store: sweep through all of them for those that undercut their price."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import comb

import numpy as np

from privacyfunnel.numeric.cores import cores
from privacyfunnel.numeric.information import entropy
from privacyfunnel.optimiser.few_secrets.coarse_to_fine import clusters, interpolated, means, merged
from privacyfunnel.optimiser.few_secrets.faces import SAME_DIGITS, Faces, find_faces
from privacyfunnel.optimiser.few_secrets.sweep import Boards, SweepTask, sweep_points, sweep_sets
from privacyfunnel.optimiser.generation.first_mixture import peel
from privacyfunnel.optimiser.generation.pricing import IMPROVES, Oracle
from privacyfunnel.optimiser.program.master import Master
from privacyfunnel.optimiser.program.polytope import ENTRY_ERROR, FEASIBLE, Columns, Polytope
from privacyfunnel.optimiser.program.state import Search
from privacyfunnel.optimiser.program.supports import MOST_EXACT, independent_values
from privacyfunnel.typing import Integers, Vector

SWEEP_SUPPORTS = 500_000_000
"""Up to this many choices of values for an extreme posterior, it may pay to go through them all."""
KEPT_FOR_EACH = 4
"""Posteriors remembered for each of their values in one sweep."""
PORTIONS = 40
"""A sweep is done in so many portions, and ends early when enough has been found."""
COARSEST = 50
"""Below twice this many values no coarser problem is solved first: a sweep through all posteriors is quick there."""
COARSER = 4
"""Each level has so many times fewer values than the next."""
COARSE_GAP = 1e-4
"""Nats: the prices of a coarser problem are a start, and carrying them over spoils finer digits."""
ENOUGH = 4
"""A sweep ends when posteriors that improve are known for one value in so many."""
OF_THE_GAP = 0.1
"""Posteriors that undercut their price by less than this share of the gap are not worth a round."""
QUICKLY_SWEPT = 10_000_000
"""Up to this many choices of values, a first sweep goes through all."""
ANY = 1e300
"""A threshold that all posteriors are below: a sweep for them ends when some are known for many values."""
BOUND_EVERY = 16
"""Rounds after which a bound is sought, where sweeps are long, although posteriors that improve are still found."""
STEADINESS = 0.7
"""How much of the last prices is kept, in steady ones."""
LONGEST_SWEEP = 2e10
"""About a minute of one core for a complete sweep."""


def sweeps(state: Search, around: Faces) -> str:
    """Column generation; each round sweeps until enough improving posteriors are known, or through all of them.

    `around` are the faces of what contains Δ for sure, which the bound is swept along.
    """
    faces = find_faces(state.polytope, state.stopped, surely=False) or around
    master = Master(state.polytope.p_x)
    start, weights = peel(state.polytope, Oracle(state.polytope), state.stopped)
    state.keep(start, weights)
    state.report()
    # What peeling left over is no vertex: a mixture that leaned on it would hide that a sweep misses some.
    master.add(start.take(np.arange(len(start) - 1)))
    rounds, complete, _ = _generate(state, faces, around, master, _coarse_prices(state, faces))
    state.keep(master.columns, master.solve_without_artificial())
    return (
        f"few secrets: {rounds} rounds, {len(master.columns):,} of all extreme posteriors with up to "
        f"{faces.rank} values, {complete} complete sweeps"
    )


def _generate(state: Search, faces: Faces, around: Faces | None, master: Master, y: Vector) -> tuple[int, int, Vector]:
    """Rounds, complete sweeps around Δ among them, and the last prices; y are prices to start with.

    Posteriors are those of Δ, and the bound is that of a complete sweep of what contains Δ for sure.
    """
    sweep = Sweep(state.polytope, faces)
    surely = None if around is None else Sweep(state.outer, around)
    many = comb(state.polytope.n_x, faces.rank) > QUICKLY_SWEPT
    new, _ = sweep.under(y, ANY if many else np.inf, state.stopped)
    worth, steady = -max(IMPROVES, OF_THE_GAP * state.gap), y
    rounds = complete = 0
    while not state.stopped() and not state.closed():
        rounds += 1
        if len(new):
            master.add(new)
        q, y, artificial = master.solve()
        if artificial <= 0:
            state.keep(master.columns, q)
        # Where sweeps are long, prices that follow those of the master slowly need fewer: the master's own leap about.
        steady = STEADINESS * steady + (1 - STEADINESS) * y if many and artificial <= 0 and len(new) else y
        new, least = sweep.under(steady, worth, state.stopped)
        near = rounds % BOUND_EVERY == 0 if many and least is None else least is not None
        if near and surely is not None and not state.stopped():
            _, least = surely.under(steady, -np.inf, state.stopped)
            if least is not None:
                complete += 1
                state.bound(steady, least)
        state.report()
        if not len(new) and steady is y and (artificial <= 0 or not master.raise_penalty()):
            break
    return rounds, complete, y


def _coarse_prices(state: Search, faces: Faces) -> Vector:
    """Prices of a coarser problem, carried over: they lead straight to posteriors that matter."""
    n = state.polytope.n_x
    if n < 2 * COARSEST:
        return np.full(n, np.log(n))
    of = clusters(faces.C[1:].T, state.polytope.p_x, n // COARSER)
    polytope = merged(state.polytope, of)
    coarse = replace(faces, C=means(faces.C, state.polytope.p_x, of))
    whole = float(entropy(polytope.p_x))
    inner = Search.within(polytope, whole, max(state.gap, COARSE_GAP), state.left(), None, state.interrupted)
    _, _, y = _generate(inner, coarse, None, Master(polytope.p_x), _coarse_prices(inner, coarse))
    return interpolated(y, coarse.C[1:].T, faces.C[1:].T)


def few_supports(state: Search) -> bool:
    """Whether secrets are so few, with nothing known beforehand, that a sweep through all supports may pay."""
    return state.one_view and comb(state.polytope.n_x, state.rank) <= SWEEP_SUPPORTS


def can_sweep(state: Search) -> Faces | None:
    """The faces to sweep along; None if supports are too many, or faces, or too alike."""
    return sweep_affordable(state.outer, state.stopped) if few_supports(state) else None


def sweep_affordable(polytope: Polytope, stopped: Callable[[], bool]) -> Faces | None:
    """The faces to sweep along; None if a complete sweep would take minutes."""
    faces = find_faces(polytope, stopped)
    if faces is None:
        return None
    n = polytope.n_x
    steps = comb(n, faces.rank) * (len(faces.points) + faces.rank**2)
    steps += sum(comb(n, k + 1) * len(sets) * (k + 1) for k, sets in faces.sets.items())
    return faces if steps <= LONGEST_SWEEP else None


@dataclass(eq=False)
class Sweep:
    """All extreme posteriors in portions, by their number of values and the lowest of them."""

    polytope: Polytope
    faces: Faces

    def __post_init__(self) -> None:
        n = self.polytope.n_x
        self._order = np.random.default_rng(0).permutation(n)  # any portion then holds posteriors of all kinds
        self._U = np.ascontiguousarray(self.faces.C[:, self._order].T)
        self._G = np.ascontiguousarray(self.polytope.G[:, self._order])
        self._size = np.ascontiguousarray(self.polytope.sizes[:, self._order])
        tasks = [
            (k, first, float(comb(n - 1 - first, k - 1))) for k in range(2, self.faces.rank + 1) for first in range(n)
        ]
        tasks = [task for task in tasks if task[2]]
        np.random.default_rng(1).shuffle(tasks)
        share = sum(task[2] for task in tasks) / PORTIONS
        self._portions: list[list[tuple[int, int]]] = [[]]
        filled = 0.0
        for k, first, size in tasks:
            self._portions[-1].append((int(k), int(first)))
            filled += size
            if filled >= share:
                self._portions.append([])
                filled = 0.0
        self._next = 0
        alone = (ENTRY_ERROR * self.polytope.sizes >= self.polytope.G).all(axis=0)
        self._singles = np.flatnonzero(alone)

    def under(self, y: Vector, threshold: float, stopped: Callable[[], bool]) -> tuple[Columns, float | None]:
        """Posteriors with H(v) − y·v < threshold, the best of each value; and the least of all if all were seen."""
        n, threads = self.polytope.n_x, cores()
        boards = [_empty(n, self.faces.rank) for _ in range(threads)]
        least = float((-y[self._singles]).min(initial=np.inf))
        sorted_y = y[self._order]
        seen = 0
        with ThreadPoolExecutor(threads) as pool:
            while seen < len(self._portions) and not stopped():
                portion = self._portions[self._next]
                parts = [portion[i::threads] for i in range(threads)]
                found = pool.map(lambda board, part: self._run(board, part, sorted_y, threshold), boards, parts)
                least = min(least, *found)
                self._next = (self._next + 1) % len(self._portions)
                seen += 1
                improving = sum(int((board.best[:, 0] < threshold).sum()) for board in boards)
                if improving > n / ENOUGH and np.isfinite(threshold):
                    break
        least = min([least, *(self._least_of_vague(board, y) for board in boards)])
        kept = KEPT_FOR_EACH if comb(n, self.faces.rank) <= QUICKLY_SWEPT or not np.isfinite(threshold) else 1
        columns = [_columns(board, threshold, self._order, kept) for board in boards]
        singles = self._singles[-y[self._singles] < threshold]
        columns.append(Columns(singles[:, None], np.ones((len(singles), 1))))
        return _distinct(Columns.join(columns)), least if seen == len(self._portions) else None

    def _least_of_vague(self, board: Boards, y: Vector) -> float:
        """H(v) − y·v on supports of which nothing is known, unless no vertex has them: at a single value."""
        least = np.inf
        for k in range(2, self.faces.rank + 1):
            some = board.vague[: board.n_vague[0]]
            some = np.unique(some[(some >= 0).sum(axis=1) == k][:, :k], axis=0)
            for support in independent_values(self.polytope, self._order[some]):
                least = min(least, -float(y[support].max()))
        return least

    def _run(self, board: Boards, tasks: list[tuple[int, int]], y: Vector, threshold: float) -> float:
        least = np.inf
        faces, task = self.faces, SweepTask(self._G, self._size, y, FEASIBLE, threshold)
        for k, first in tasks:
            if k == faces.rank:
                found = sweep_points(first, self._U, faces.points, faces.doubt, faces.tight, task, board)
            else:
                found = sweep_sets(first, faces.sets[k - 1], task, board)
            least = min(least, found)
        return least


def _empty(n: int, rank: int) -> Boards:
    shape = (n, KEPT_FOR_EACH, rank)
    vague = np.zeros((MOST_EXACT, rank), np.int64)
    return Boards(
        np.full((n, KEPT_FOR_EACH), np.inf), np.zeros(shape, np.int64), np.zeros(shape), vague, np.zeros(1, np.int64)
    )


def _columns(board: Boards, threshold: float, order: Integers, kept: int) -> Columns:
    """The posteriors written down that cost less than a threshold, the best of each value."""
    at = np.isfinite(board.best) & (board.best < threshold)
    at[:, kept:] = False
    mass = board.masses[at]
    return Columns(order[board.supports[at]], mass / mass.sum(axis=1, keepdims=True))


def _distinct(columns: Columns) -> Columns:
    """Without repetitions, which the boards of several values have."""
    key = np.concatenate([columns.support, np.round(columns.mass, SAME_DIGITS)], axis=1)
    _, first = np.unique(key, axis=0, return_index=True)
    return columns.take(first)
