"""Symmetric systems N x = b with N = R diag(d) Rᵀ + ridge, sparse in R: by Cholesky, or by conjugate gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from privacyfunnel.typing import Matrix, Vector

DENSE_VALUES = 1_000
"""Values of X up to which N is factored, in a tenth of a second; beyond, conjugate gradients need less time."""
SOLVED = 1e-7
"""Residual of conjugate gradients, as a share of what was asked for: bounds hold for any, and weights are mended."""
MOST_STEPS = 300
"""Of conjugate gradients: what is not solved by then is nearly singular, and is taken as it is."""


def solved(R: Any, d: Vector, ridge: float, B: Matrix, near: Matrix | None = None, residual: float = SOLVED) -> Matrix:
    """X with (R diag(d) Rᵀ + ridge) X = B; `near` is a guess that conjugate gradients start from, `residual` what
    they may leave, as a share.
    """
    N = (R.multiply(d[None, :]) @ R.T).tocsr()
    if N.shape[0] <= DENSE_VALUES:
        return _by_factors(N.toarray(), ridge, B)
    return _by_gradients(N, ridge, B, near, residual)


def _by_factors(N: Matrix, ridge: float, B: Matrix) -> Matrix:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    N[np.diag_indices_from(N)] += ridge
    try:
        return np.asarray(cho_solve(cho_factor(N, check_finite=False), B, check_finite=False))
    except LinAlgError:  # singular but for rounding errors
        return np.asarray(np.linalg.lstsq(N, B, rcond=None)[0])


def _by_gradients(N: Any, ridge: float, B: Matrix, near: Matrix | None, share: float) -> Matrix:
    """All columns of B side by side, each with steps of its own, scaled by the diagonal of N."""
    scale = 1 / (N.diagonal() + ridge)
    X = np.zeros_like(B) if near is None else near.copy()
    residual = B - N @ X - ridge * X
    goal = share**2 * np.maximum((B * B).sum(axis=0), np.finfo(float).tiny)
    direction = scale[:, None] * residual
    size = (residual * direction).sum(axis=0)
    for _ in range(MOST_STEPS):
        if ((residual * residual).sum(axis=0) <= goal).all():
            break
        image = N @ direction + ridge * direction
        curved = (direction * image).sum(axis=0)
        step = np.divide(size, curved, out=np.zeros_like(size), where=curved > 0)
        X += step * direction
        residual -= step * image
        scaled = scale[:, None] * residual
        following = (residual * scaled).sum(axis=0)
        direction = scaled + np.divide(following, size, out=np.zeros_like(size), where=size > 0) * direction
        size = following
    return X
