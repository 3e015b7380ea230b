"""The optimiser against the paper's own methods, and what a small problem costs."""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import privacyfunnel as pf
from privacyfunnel.paper.reference import best_ldp, best_lip

DRAWS = 3
REPEATS = 50


def run() -> list[dict[str, object]]:
    return [*against_the_papers_ldp(), *against_vertices_of_delta(), *small_problems(), importing()]


def timed(function: Callable[[], Any], repeats: int = 1) -> tuple[Any, float]:
    """The result, and the median time in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return result, float(np.median(times))


def against_the_papers_ldp() -> list[dict[str, object]]:
    """c=2, a=5: all vertices of the 20-dimensional polytope of channels, against ours."""
    rng = np.random.default_rng(2020)
    joints = [pf.Joint(rng.random((2, 5))) for _ in range(DRAWS)]
    rows: list[dict[str, object]] = []
    for epsilon in (2.0, 1.5, 1.0, 0.5):
        theirs, ours, apart = [], [], []
        for joint in joints:
            (_, best), seconds = timed(lambda joint=joint, epsilon=epsilon: best_ldp(joint, epsilon))
            protocol, fast = timed(lambda joint=joint, epsilon=epsilon: pf.optimise(joint, pf.LDP(epsilon)), REPEATS)
            theirs.append(seconds)
            ours.append(fast)
            apart.append(abs(best - protocol.utility))
        rows.append(row("LDP c=2 a=5", epsilon, "paper: vertices of channels", theirs, ours, max(apart)))
    return rows


def against_vertices_of_delta() -> list[dict[str, object]]:
    """c=2, a=36: the paper's LIP method, against ours."""
    rng = np.random.default_rng(2020)
    rows: list[dict[str, object]] = []
    for epsilon in (0.5, 0.1):
        joint = pf.Joint(rng.random((2, 36)))
        (_, best), theirs = timed(lambda joint=joint, epsilon=epsilon: best_lip(joint, epsilon), 5)
        protocol, ours = timed(lambda joint=joint, epsilon=epsilon: pf.optimise(joint, pf.LIP(epsilon)), REPEATS)
        apart = abs(best - protocol.utility)
        rows.append(row("LIP c=2 a=36", epsilon, "paper: vertices of Δ + LP", [theirs], [ours], apart))
    return rows


def small_problems() -> list[dict[str, object]]:
    """One solve, certificate included; the baseline is a bare linear program of the same size by SciPy."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(7)
    rows: list[dict[str, object]] = []
    for c, a in ((2, 5), (3, 8), (4, 6)):
        joint = pf.Joint(rng.random((c, a)))
        V = rng.dirichlet(np.ones(a), size=50)
        V = np.vstack([V, np.eye(a)])
        _, bare = timed(lambda V=V, joint=joint: linprog(np.ones(len(V)), A_eq=V.T, b_eq=joint.p_x), REPEATS)
        protocol, ours = timed(lambda joint=joint: pf.optimise(joint, pf.LIP(0.3)), REPEATS)
        rows.append(row(f"LIP c={c} a={a}", 0.3, "one scipy linprog", [bare], [ours], protocol.gap))
    return rows


def importing() -> dict[str, object]:
    """Importing the package in a fresh interpreter, against importing NumPy."""

    def fresh(module: str) -> float:
        command = [sys.executable, "-c", f"import {module}"]
        return timed(lambda: subprocess.run(command, check=True), 7)[1]

    empty, numpy, package = fresh("sys"), fresh("numpy"), fresh("privacyfunnel")
    return row("import privacyfunnel", float("nan"), "import numpy", [numpy - empty], [package - empty], 0.0)


def row(
    problem: str, epsilon: float, baseline: str, theirs: list[float], ours: list[float], apart: float
) -> dict[str, object]:
    return {
        "problem": problem,
        "ε": epsilon,
        "baseline": baseline,
        "baseline s": float(np.mean(theirs)),
        "ours s": float(np.mean(ours)),
        "times faster": float(np.mean(theirs) / np.mean(ours)),
        "utility apart": apart,
    }


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.__main__ import show

    show(Console(width=200), "optimiser", run())
