"""Many secrets: a bound from promises about fewer of them, which can be gone through completely."""

from __future__ import annotations

from math import comb

import numpy as np

from privacyfunnel.errors import SolverFailure
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.numeric.lp import LONGEST_SECONDS
from privacyfunnel.optimiser.few_secrets.search import sweep_affordable, sweeps
from privacyfunnel.optimiser.program.reduce import Classes
from privacyfunnel.optimiser.program.state import Search
from privacyfunnel.typing import Integers

RELAXED_GAP = 2e-3
"""Nats to which a relaxed problem is solved: the rows that it lacks mostly cost its bound more."""
MOST_SUPPORTS = 80_000_000
"""Choices of values to sweep through for one relaxed problem: some seconds. There are several in LONGEST_SECONDS."""


def bound_by_fewer(state: Search, pencils: list[Integers], *, seconds: float) -> None:
    """Lower the bound to what the first two, three, … pencils of rows allow together, while that is quick.

    `pencils` are groups of rows, the one that allows least first.
    """
    until = ticks() + min(LONGEST_SECONDS, seconds)
    for count in range(2, len(pencils) + 1):
        bound = _allowed(state, np.concatenate(pencils[:count]), count + 1, until - ticks())
        if bound is None:
            return
        state.lower(bound)
        state.report()


def _allowed(state: Search, rows: Integers, rank: int, seconds: float) -> float | None:
    """A bound on what these rows alone allow; None if there is no time to find it."""
    polytope = state.outer.with_rows(rows)
    classes = Classes.find(polytope)
    if seconds <= 0 or state.stopped() or comb(classes.polytope.n_x, rank) > MOST_SUPPORTS:
        return None
    outer = classes.outer(polytope)
    inner = Search.within(classes.polytope, state.entropy, RELAXED_GAP, seconds, None, state.interrupted, around=outer)
    try:
        faces = sweep_affordable(inner.outer, inner.stopped)
        if faces is not None and faces.rank > 1:
            sweeps(inner, faces)
    except SolverFailure:
        pass  # any bound found so far is one
    return inner.upper_bound
