"""Solving a model's equations: Σ_t w_t x_t (y_t − μ(x_t θ)) = 0, for shares w that need not be positive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.estimates.models.families import Family
from privacyfunnel.estimates.models.formula import Design, listed
from privacyfunnel.typing import Matrix, Vector

DEPENDENT = 1e-9
"""A column of a design that is so much smaller after the others are taken out of it is made up of them."""
STEPS = 100
"""Of Newton's method, which needs about ten."""
CONVERGED = 1e-10
"""The last step, in units of the coefficients' own size: far below any standard error."""
SEPARATED = 25.0
"""A linear predictor at which a logistic mean is 0 or 1 up to 10⁻¹¹: no finite coefficient is best."""
HALVINGS = 30
"""Of a step that is too long: one that must be shorter than a billionth goes nowhere."""
NAMED = 3
"""Coefficients that a message names."""


@dataclass(frozen=True, eq=False)
class Equations:
    """The estimating equations of a model."""

    design: Design
    family: Family

    def scores(self, theta: Vector) -> Matrix:
        """psi[j, t] = x_tj (y_t − μ_t)."""
        X, y = self.design.X, self.design.y
        return np.asarray((X * (y - self.family.mean(X @ theta))[:, None] * self.design.used[:, None]).T)

    def slopes(self, theta: Vector) -> Vector:
        """μ′ for every combination; 0 for those that are not used."""
        return np.asarray(self.family.slope(self.design.X @ theta) * self.design.used)

    def information(self, theta: Vector, w: Vector) -> Matrix:
        """A = Σ w_t μ′_t x_t x_tᵀ."""
        X = self.design.X
        return np.asarray((X * (w * self.slopes(theta))[:, None]).T @ X)

    def check(self, w: Vector) -> None:
        """Refuse what the family cannot model, and terms that are made up of others."""
        design, there = self.design, self.design.used & (w > 0)
        if not there.any():
            raise InvalidTable("no released row has a value in every column of the model")
        if not self.family.possible(design.y[there]):
            raise InvalidInput(f"the family {self.family.name} is for {self.family.response}")
        if np.ptp(design.y[there]) == 0:
            raise InvalidTable("the response is the same for everybody, so there is nothing to explain")
        X = design.X[there]
        size = np.linalg.norm(X, axis=0)
        _, R, order = qr(X / np.where(size > 0, size, 1.0), mode="economic", pivoting=True)
        rank = int((np.abs(np.diag(R)) > DEPENDENT).sum())
        if rank < X.shape[1]:
            double = [design.names[j] for j in sorted(order[rank:].tolist())]
            more = f" and {len(double) - NAMED} more" if len(double) > NAMED else ""
            raise InvalidInput(
                f"the design is singular: {listed(double[:NAMED])}{more} follow from the other terms, or nobody has "
                "them; leave them out"
            )

    def solved(self, w: Vector) -> Vector:
        """The root: first for the positive part of w, which has one unless data are separated; then for w."""
        self.check(w)
        positive = np.maximum(w, 0.0) * self.design.used
        theta = self._newton(np.zeros(self.design.X.shape[1]), positive / positive.sum(), ascending=True)
        self.check_separated(theta, positive)
        if (w[self.design.used] >= 0).all():
            return theta
        return self._newton(theta, w, ascending=False)

    def check_separated(self, theta: Vector, w: Vector) -> None:
        """Refuse coefficients that make a mean 0, 1 or infinite somewhere."""
        eta = (self.design.X @ theta)[(w != 0) & self.design.used]
        if self.family.name != "gaussian" and np.abs(eta).max() > SEPARATED:
            raise InvalidTable(
                "the data are separated: some combination of the terms tells the response for sure, so no coefficient "
                "is the best; use fewer or coarser terms"
            )

    def _newton(self, theta: Vector, w: Vector, ascending: bool) -> Vector:
        for _ in range(STEPS):
            A = self.information(theta, w)
            try:
                step = np.asarray(np.linalg.solve(A, self.scores(theta) @ w), dtype=np.float64)
            except np.linalg.LinAlgError:
                if ascending:
                    return theta  # separated, and refused
                raise InvalidTable(TOO_VAGUE) from None
            step = self._shortened(theta, step, w, ascending)
            theta = theta + step
            if not np.isfinite(theta).all():
                raise InvalidTable(TOO_VAGUE)
            if np.abs(step).max() <= CONVERGED * (1 + np.abs(theta).max()):
                return theta
            if (
                ascending
                and self.family.name != "gaussian"
                and np.abs(self.design.X[w > 0] @ theta).max() > 2 * SEPARATED
            ):
                return theta  # separated, and refused
        if ascending:
            return theta
        raise InvalidTable(TOO_VAGUE)

    def _shortened(self, theta: Vector, step: Vector, w: Vector, ascending: bool) -> Vector:
        """As much of a step as makes things better: a higher likelihood, or smaller equations."""
        with np.errstate(over="ignore", invalid="ignore"):
            before = self._merit(theta, w, ascending)
            for _ in range(HALVINGS):
                if self._merit(theta + step, w, ascending) <= before + CONVERGED * (1 + abs(before)):
                    break
                step = step / 2
        return step

    def _merit(self, theta: Vector, w: Vector, ascending: bool) -> float:
        """What is to fall: minus the log-likelihood, or the size of the equations."""
        if not ascending:
            return float(np.linalg.norm(self.scores(theta) @ w))
        eta = self.design.X @ theta
        return float(-(w * (self.design.y * eta - self.family.potential(eta))).sum())


TOO_VAGUE = (
    "the released rows tell too little for this model: its equations have no sure solution; use fewer or coarser "
    "terms, or more rows"
)
