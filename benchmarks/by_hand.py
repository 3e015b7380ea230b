"""What we wrote by hand although a library does it: our time against the library's, on the sizes that we meet.

Branch and bound goes from box to box; each box is a linear program like the one before. HiGHS is kept warm, as we
keep it everywhere else. Equations of a basis have three or four unknowns; LAPACK is called from compiled code.
"""

import time

import numpy as np
from numba import njit

import privacyfunnel as pf
from privacyfunnel.numeric.lp import Infeasible, LinearProgram
from privacyfunnel.optimiser.generation.box_simplex import minimise, refresh, slack_basis
from privacyfunnel.optimiser.program.polytope import Polytope
from privacyfunnel.optimiser.program.tolerances import REFRESH
from privacyfunnel.optimiser.robust.small_basis import solve

BOXES = 2_000
SYSTEMS = 200_000
ALIKE = 1e-6
"""Answers closer than this count as the same; from ours, only bounds by weak duality are ever believed."""


def run() -> list[dict[str, object]]:
    shapes = [((2, 3, 3, 4), 0.5), ((2, 3, 3, 4), 1.0), ((3, 4, 5), 0.5)]
    return [*(boxes(shape, epsilon) for shape, epsilon in shapes), *(equations(n) for n in (3, 4))]


def boxes(shape: tuple[int, ...], epsilon: float) -> dict[str, object]:
    """Random boxes one after the other, each a part of the one before or a new one, as branching makes them."""
    joint = pf.Joint(np.random.default_rng(0).random(shape))
    polytope = Polytope.of(joint, pf.SRLIP(epsilon))
    A = np.concatenate([np.ones((1, joint.n_x)), polytope.G])
    low, high = (
        np.concatenate([[1.0], np.full(len(polytope.G), -1.0)]),
        np.concatenate([[1.0], np.zeros(len(polytope.G))]),
    )
    tasks = list(_tasks(joint.n_x))
    ours = _ours(A, low, high, tasks[:1])  # compiles
    started = time.process_time()
    ours = _ours(A, low, high, tasks)
    middle = time.process_time()
    theirs = _theirs(A, low, high, tasks)
    ended = time.process_time()
    both = np.isfinite(ours) & np.isfinite(theirs)
    return {
        "what": f"dual simplex over a box, {A.shape[0]} rows × {A.shape[1]} values",
        "ours_us": 1e6 * (middle - started) / BOXES,
        "library": "HiGHS, warm",
        "library_us": 1e6 * (ended - middle) / BOXES,
        "ratio": (ended - middle) / (middle - started),
        "alike": float((np.abs(ours - theirs)[both] < ALIKE).mean()),
    }


def _tasks(n: int):
    rng = np.random.default_rng(1)
    for k in range(BOXES):
        if k % 20 == 0:
            lower, upper = np.zeros(n), np.ones(n)
        x, at = rng.integers(n), rng.uniform(0.02, 0.3)
        lower, upper = lower.copy(), upper.copy()
        if rng.random() < 0.8:
            upper[x] = max(lower[x], min(upper[x], at))
        else:
            lower[x] = min(upper[x], max(lower[x], at / 8))
        yield rng.normal(size=n), lower, upper


def _ours(A, low, high, tasks) -> np.ndarray:
    rows, columns = A.shape
    T, x = np.empty((rows, columns)), np.empty(rows + columns)
    basic, outside = np.empty(rows, np.int64), np.empty(columns, np.int64)
    slack_basis(A, T, basic, outside)
    found = np.full(len(tasks), np.inf)
    for k, (cost, lower, upper) in enumerate(tasks):
        if k % REFRESH == REFRESH - 1:
            refresh(A, T, basic, outside)
        minimise(cost, np.concatenate([lower, low]), np.concatenate([upper, high]), np.inf, T, basic, outside, x)
        within = x[columns:]
        if (within <= high + 1e-6).all() and (within >= low - 1e-6).all():
            found[k] = cost @ x[:columns]
    return found


def _theirs(A, low, high, tasks) -> np.ndarray:
    program = LinearProgram(A, low, high)
    found = np.full(len(tasks), np.inf)
    for k, (cost, lower, upper) in enumerate(tasks):
        program.set_costs(cost)
        program.set_bounds(lower, upper)
        try:
            found[k] = cost @ program.solve()[0]
        except Infeasible:
            continue
    return found


@njit
def _by_hand(B, b, x):
    for k in range(len(B)):
        solve(B[k], b[k], x[k])


@njit
def _by_lapack(B, b, x):
    for k in range(len(B)):
        x[k] = np.linalg.solve(B[k], b[k])


def equations(n: int) -> dict[str, object]:
    rng = np.random.default_rng(n)
    B, b = rng.normal(size=(SYSTEMS, n, n)), rng.normal(size=(SYSTEMS, n))
    times, answers = [], []
    for way in (_by_hand, _by_lapack):
        x = np.empty_like(b)
        way(B[:1], b[:1], x[:1])  # compiles
        started = time.process_time()
        way(B, b, x)
        times.append(time.process_time() - started)
        answers.append(x)
    return {
        "what": f"{n} equations",
        "ours_us": 1e6 * times[0] / SYSTEMS,
        "library": "LAPACK, from compiled code",
        "library_us": 1e6 * times[1] / SYSTEMS,
        "ratio": times[1] / times[0],
        "alike": float((np.abs(answers[0] - answers[1]).max(axis=1) < ALIKE).mean()),
    }
