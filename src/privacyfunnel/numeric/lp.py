"""The one door to the linear-programming solver (HiGHS)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from privacyfunnel.errors import SolverFailure
from privacyfunnel.typing import Integers, Matrix, Vector

TOLERANCE = 1e-10
"""Primal and dual feasibility; the finest HiGHS takes."""


REMEDIES: tuple[dict[str, Any], ...] = (
    {},
    {"presolve": "on"},
    {"solver": "ipm"},
    {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    {"primal_feasibility_tolerance": 1e-8, "dual_feasibility_tolerance": 1e-8, "simplex_scale_strategy": 0},
)
"""What is tried in turn when the simplex method meets numerical trouble: first a cold start."""
LONGEST_SECONDS = 60.0
"""For one linear program."""
ITERATIONS, ITERATIONS_EACH = 10_000, 20
"""Of the simplex method: some at least, and so many for each row and column. Who needs more turns in circles."""
SMALLEST_ENTRY = 1e-12
"""Entries below this are dropped by HiGHS; the least it takes."""


class Infeasible(SolverFailure):
    """The program has no solution."""


class LinearProgram:
    """min cost·x  s.t.  row_lower ≤ A x ≤ row_upper, lower ≤ x ≤ upper; kept warm between solves."""

    def __init__(
        self, A: Matrix | sparse.csr_array, row_lower: Vector, row_upper: Vector, upper: Vector | float = np.inf
    ) -> None:
        rows, columns = A.shape
        A = sparse.csc_array(A)
        A.eliminate_zeros()
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = rows, columns
        model.row_lower_, model.row_upper_ = row_lower, row_upper
        model.col_cost_, model.col_lower_ = np.zeros(columns), np.zeros(columns)
        model.col_upper_ = np.broadcast_to(np.float64(upper), columns)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = A.indptr.astype(np.int32)
        model.a_matrix_.index_, model.a_matrix_.value_ = A.indices.astype(np.int32), A.data
        self._solver: Any = highspy.Highs()
        for option, setting in (
            ("output_flag", False),
            ("threads", 1),
            ("presolve", "off"),
            ("small_matrix_value", SMALLEST_ENTRY),
            ("primal_feasibility_tolerance", TOLERANCE),
            ("dual_feasibility_tolerance", TOLERANCE),
        ):
            self._solver.setOptionValue(option, setting)
        self._solver.passModel(model)
        self.n_columns = columns
        self._longest, self._remedies = LONGEST_SECONDS, REMEDIES

    def give_up_after(self, seconds: float) -> None:
        """A program that takes longer from now on is one that failed."""
        self._longest, self._remedies = min(LONGEST_SECONDS, seconds), ()

    def add_columns(self, cost: Vector, starts: Integers, index: Integers, value: Vector) -> None:
        """New variables x ≥ 0; column k holds value[starts[k]:starts[k+1]] at the rows `index`."""
        count = len(cost)
        self._solver.addCols(
            count,
            cost,
            np.zeros(count),
            np.full(count, np.inf),
            len(index),
            starts[:-1].astype(np.int32),
            index.astype(np.int32),
            value,
        )
        self.n_columns += count

    def add_rows(self, A: Matrix | sparse.csr_array, upper: Vector) -> None:
        """New conditions A x ≤ upper, on the first variables if A has fewer columns than there are."""
        A = sparse.csr_array(A)
        lower, starts, index = np.full(A.shape[0], -np.inf), A.indptr.astype(np.int32), A.indices.astype(np.int32)
        self._solver.addRows(A.shape[0], lower, upper, A.nnz, starts[:-1], index, A.data)

    def set_costs(self, cost: Vector) -> None:
        """Replace the objective."""
        self._solver.changeColsCost(len(cost), np.arange(len(cost), dtype=np.int32), cost)

    def set_bounds(self, lower: Vector, upper: Vector) -> None:
        """Replace the box."""
        self._solver.changeColsBounds(len(lower), np.arange(len(lower), dtype=np.int32), lower, upper)

    def set_row_bounds(self, lower: Vector, upper: Vector) -> None:
        """Replace the bounds of the rows."""
        self._solver.changeRowsBounds(len(lower), np.arange(len(lower), dtype=np.int32), lower, upper)

    def solve(self) -> tuple[Vector, Vector]:
        """An optimal basic x, and the prices of the rows."""
        status = self._run()
        for remedy in self._remedies:
            if status == highspy.HighsModelStatus.kOptimal:
                break
            if status == highspy.HighsModelStatus.kInfeasible:
                raise Infeasible("the linear program has no solution")
            status = self._retry(remedy)
        if status != highspy.HighsModelStatus.kOptimal:
            raise SolverFailure(f"the linear-programming solver stopped: {status.name}")
        solution = self._solver.getSolution()
        return np.array(solution.col_value), np.array(solution.row_dual)

    def central_prices(self) -> Vector:
        """Prices from the middle of the optimal ones (an interior point), where the simplex method gives a corner."""
        other = highspy.Highs()
        for option, setting in (("output_flag", False), ("threads", 1), ("solver", "ipm"), ("run_crossover", "off")):
            other.setOptionValue(option, setting)
        other.passModel(self._solver.getLp())
        other.run()
        duals = np.array(other.getSolution().row_dual)
        if len(duals) != self._solver.getNumRow() or not np.isfinite(duals).all():
            raise SolverFailure("the interior-point method gave no prices")
        return duals

    def _run(self) -> Any:
        """Solve with limits: on badly scaled programs the simplex method may turn in circles."""
        size = self.n_columns + self._solver.getNumRow()
        self._solver.setOptionValue("simplex_iteration_limit", ITERATIONS + ITERATIONS_EACH * size)
        self._solver.setOptionValue("time_limit", self._solver.getRunTime() + self._longest)
        self._solver.run()
        return self._solver.getModelStatus()

    def _retry(self, remedy: dict[str, Any]) -> Any:
        """Solve once more from nothing, with other settings for this once."""
        before = {option: self._solver.getOptionValue(option)[1] for option in remedy}
        self._solver.clearSolver()
        for option, setting in remedy.items():
            self._solver.setOptionValue(option, setting)
        status = self._run()
        for option, setting in before.items():
            self._solver.setOptionValue(option, setting)
        return status


def interior(
    cost: Vector,
    columns: tuple[Integers, Integers, Vector],
    row_lower: Vector,
    row_upper: Vector,
    *,
    lower: Vector | float = 0.0,
    upper: Vector | float = np.inf,
    tolerance: float,
    seconds: float,
    stopped: Callable[[], bool],
) -> tuple[Vector, Vector] | None:
    """Min cost·x s.t. row_lower ≤ A x ≤ row_upper, lower ≤ x ≤ upper, by an interior point: x, and prices of the rows.

    `columns` are starts, rows and values of the sparse A. For programs too large to be solved to a corner. None if
    it was stopped before it came near the optimum.
    """
    starts, index, value = columns
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = len(row_lower), len(cost)
    model.row_lower_, model.row_upper_ = row_lower, row_upper
    model.col_cost_, model.col_lower_ = cost, np.broadcast_to(np.float64(lower), len(cost))
    model.col_upper_ = np.broadcast_to(np.float64(upper), len(cost))
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = starts.astype(np.int32), index.astype(np.int32)
    model.a_matrix_.value_ = value
    solver: Any = highspy.Highs()
    for option, setting in (
        ("output_flag", False),
        ("threads", 1),
        ("presolve", "off"),  # it would spoil the prices, which are not cleaned up without a corner
        ("solver", "ipm"),
        ("run_crossover", "off"),
        ("small_matrix_value", SMALLEST_ENTRY),
        ("ipm_optimality_tolerance", tolerance),
        ("time_limit", seconds),
    ):
        solver.setOptionValue(option, setting)
    solver.passModel(model)

    def interrupt(event: Any) -> None:
        if stopped():
            event.interrupt()

    solver.cbIpmInterrupt += interrupt
    solver.run()
    solution = solver.getSolution()
    x, prices = np.array(solution.col_value), np.array(solution.row_dual)
    near = solver.getModelStatus() in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kUnknown)
    usable = len(x) == len(cost) and len(prices) == len(row_lower) and np.isfinite(x).all()
    return (x, prices) if near and usable and np.isfinite(prices).all() else None
