"""The paper's three comparisons (its section VI): which methods meet on which random distributions, and the runs."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import signal
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, MissingExtra
from privacyfunnel.paper.methods import CONTENDERS, Outcome

EPSILONS = (0.5, 1.0, 1.5, 2.0)
"""Those of the paper."""
DRAWS = 10
"""Random distributions behind every mean, as many as in the paper."""
SLOW_DRAWS = 2
"""Distributions on which a method is run where it takes minutes for each: two, so that all fits in a quarter of an
hour on two cores. Every table says on how many a mean rests."""
SEED = 2020
"""The year of the paper; any would do, but it must be the same for every method."""
LOADING, QUICK, REPEATS = 2.0, 0.1, 5
"""What takes less than LOADING seconds is timed again, since the first call loads libraries; what takes less than QUICK
seconds is timed several times, and the median reported."""


@dataclass(frozen=True)
class Series:
    """One line of a figure: a contender, given `share`·ε."""

    contender: str
    share: float = 1.0

    @property
    def label(self) -> str:
        """As in the legend."""
        whose = CONTENDERS[self.contender]
        return f"{'ε' if self.share == 1 else 'ε/2'}-{whose.notion}, {whose.name}"


@dataclass(frozen=True)
class Figure:
    """A comparison: random p of this shape (c, a1, …, am), and the series that meet."""

    title: str
    shape: tuple[int, ...]
    series: tuple[Series, ...]


FIGURES = {
    1: Figure(
        "ε-LDP against ε-LIP (c = 2, a = 5)",
        (2, 5),
        (Series("ldp-paper"), Series("ldp-ours"), Series("lip-paper"), Series("lip-ours")),
    ),
    2: Figure(
        "ε-LDP against ε/2-LIP (c = 2, a = 5)",
        (2, 5),
        (Series("ldp-paper"), Series("ldp-ours"), Series("lip-paper", 0.5), Series("lip-ours", 0.5)),
    ),
    3: Figure(
        "ε-LIP against ε-SRLIP (c = 2, attributes of 3, 3 and 4 values)",
        (2, 3, 3, 4),
        (
            Series("lip-paper"),
            Series("lip-ours"),
            Series("srlip-paper"),
            Series("srlip-budget"),
            Series("srlip-tuned"),
            Series("srlip-joint"),
        ),
    ),
}


@dataclass(frozen=True)
class Task:
    """One contender on one random distribution, at the ε it is given."""

    shape: tuple[int, ...]
    contender: str
    epsilon: float
    draw: int
    seed: int

    def joint(self) -> Joint:
        """Entries uniform on [0, 1], rescaled; the same for every method and ε."""
        return Joint(np.random.default_rng([self.seed, self.draw]).random(self.shape))

    def run(self) -> tuple[Task, Outcome, float]:
        """The outcome and its computing time in seconds of this process (CPU), however busy the machine is."""
        joint, find = self.joint(), CONTENDERS[self.contender].find
        outcome, seconds = _timed(lambda: find(joint, self.epsilon))
        if seconds < LOADING:
            outcome, seconds = _timed(lambda: find(joint, self.epsilon))
        if seconds < QUICK:
            seconds = statistics.median(_timed(lambda: find(joint, self.epsilon))[1] for _ in range(REPEATS))
        return self, outcome, seconds


@dataclass(frozen=True)
class Row:
    """A point of a figure. Times in seconds, information in nats."""

    figure: int
    series: str
    epsilon: float
    """The ε of the axis; a series of ε/2 is given half of it."""
    draw: int
    seconds: float
    utility: float
    upper_bound: float
    level: float

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for CSV and JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Schedule:
    """What to run: figures, ε, and how many random distributions."""

    figures: tuple[int, ...] = (1, 2, 3)
    epsilons: tuple[float, ...] = EPSILONS
    draws: int = DRAWS
    slow_draws: int = SLOW_DRAWS
    seed: int = SEED

    def __post_init__(self) -> None:
        strange = [number for number in self.figures if number not in FIGURES]
        if strange or not self.figures:
            raise InvalidInput(f"the paper's comparisons are {', '.join(map(str, FIGURES))}; got {strange or 'none'}")
        if not self.epsilons or not all(np.isfinite(e) and e > 0 for e in self.epsilons):
            raise InvalidInput("every ε of an experiment is a positive number")
        if self.draws < 1 or self.slow_draws < 0 or self.seed < 0:
            raise InvalidInput("an experiment needs at least one draw, and a seed that is not negative")

    def points(self) -> Iterator[tuple[int, Series, float, Task]]:
        """Every point of every figure, with the task that finds it; figures share tasks."""
        for number in self.figures:
            for series in FIGURES[number].series:
                for epsilon in self.epsilons:
                    slow = epsilon * series.share < CONTENDERS[series.contender].slow_below
                    for draw in range(min(self.draws, self.slow_draws) if slow else self.draws):
                        shape, own = FIGURES[number].shape, epsilon * series.share
                        yield number, series, epsilon, Task(shape, series.contender, own, draw, self.seed)


def run(plan: Schedule, *, jobs: int | None = None, progress: Callable[[int, int], None] | None = None) -> list[Row]:
    """Run a plan on `jobs` processes (default: one for every processor); `progress` is told how many of how many.

    Utilities depend on the plan alone; times are those of the machine.
    """
    if importlib.util.find_spec("ppl") is None:
        raise MissingExtra("pplpy", "paper")
    points = list(plan.points())
    # The slow ones first, so that none of them starts when all else is done.
    tasks = sorted(
        dict.fromkeys(task for *_, task in points),
        key=lambda task: (-CONTENDERS[task.contender].slow_below, task.epsilon, len(task.shape)),
    )
    done: dict[Task, tuple[Outcome, float]] = {}
    for task, outcome, seconds in _each(tasks, jobs or len(os.sched_getaffinity(0))):
        done[task] = outcome, seconds
        if progress is not None:
            progress(len(done), len(tasks))
    return [
        Row(number, series.label, epsilon, task.draw, done[task][1], **asdict(done[task][0]))
        for number, series, epsilon, task in points
    ]


def _each(tasks: Sequence[Task], jobs: int) -> Iterable[tuple[Task, Outcome, float]]:
    if jobs == 1:
        yield from map(Task.run, tasks)
        return
    # Fresh processes: the paper's library changes how floats are rounded. Leaving the pool ends them, also at Ctrl-C.
    with multiprocessing.get_context("spawn").Pool(jobs, _ignore_interrupts) as pool:
        yield from pool.imap_unordered(Task.run, tasks, chunksize=1)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _timed(work: Callable[[], Outcome]) -> tuple[Outcome, float]:
    begin = time.process_time()
    outcome = work()
    return outcome, time.process_time() - begin
