"""From noisy marginal tables to a model: the likeliest factors, given how large factors of a table commonly are.

All of this works on published numbers, so that it costs no privacy. The model expects e_c[s, k] = Σ p(s, x) people in
cell k of table c, p(s, x) = ∏_c exp θ_c[s, x_c]; the noisy count y_c[s, k] has the variance v_c. Factors of pairs are
θ[s, k] = a[k] + b[s, k], a and b normal with mean 0 and variances α and β, which each table has for itself: a says how
columns go together, b how that goes with the secret. Single columns have any a, and one β for all of them. Sought is
the least of

    Σ (y − e)² / 2v + Σ θᵀ (β·1 + α·11ᵀ)⁻¹ θ / 2,

one table after the other, by Newton's method in the cells of a table, each of which has its own e. Variances are what
the factors and their uncertainty come to (expectation maximisation, with the curvature of each table by itself). So
noise is taken out of a rare value's share of the secret as well as out of a pair that hardly goes together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.marginals import Marginals
from privacyfunnel.distribution.model import product_size
from privacyfunnel.distribution.noise import FAINT
from privacyfunnel.distribution.pair_model import PairModel, pair_model
from privacyfunnel.errors import InvalidInput
from privacyfunnel.typing import Integers, Matrix, Vector

SWEEPS = 10
"""Through all tables: by then, tables without noise are met to a few people."""
STEPS = 3
"""Of Newton's method in a table, before the next one."""
LONGEST_STEP = 1.0
"""Of a factor's logarithm: further off, the curvature says nothing."""
LEAST_VARIANCE = 1.0
"""Of a count: tables without noise are met to one person."""
ANY = 100.0
"""The variance α of single columns: shares from e⁻²⁰ to 1."""
COMMON = 0.1
"""The variances α and β of pairs to start with, and β of single columns."""
LEAST_COMMON = 1e-4
"""Below which variances do not fall: factors of a per cent are nothing to speak of."""
LEAST_PEOPLE = 1e-9
"""That a cell is expected to have, so that nothing is divided by 0."""


@dataclass(eq=False)
class _Table:
    """Noisy counts y[s, k] of some columns, and the factors θ[s, k] that they have so far."""

    columns: tuple[int, ...]
    y: Matrix
    v: float
    theta: Matrix
    alpha: float
    beta: float
    scatter: float = COMMON
    """How large b² came out in the mean."""

    @classmethod
    def of(cls, columns: tuple[int, ...], counts: Integers, variance: float) -> _Table:
        y = counts.reshape(len(counts), -1).astype(np.float64)
        alpha = ANY if len(columns) == 1 else COMMON
        return cls(columns, y, max(variance, LEAST_VARIANCE), np.zeros_like(y), alpha, COMMON)

    def improve(self, expected: Matrix) -> Matrix:
        """Steps from the factors so far, at which `expected` people are in each cell; returns by how much θ grew.

        With θ = m + d, m their mean over the secrets, the ridge's gradient is d/β + m/(β + n_s α). Its inverse in a
        step is by Sherman and Morrison's formula, in a form in which nothing large is taken from something as large.
        """
        before, n_s = self.theta.copy(), len(self.y)
        for _ in range(STEPS):
            e = expected * np.exp(self.theta - before)
            told = e * e / self.v
            own = self.beta / (1 + self.beta * told)
            shared = self.alpha / (self.beta * (self.beta + self.alpha * (own * told).sum(axis=0)))
            mean = self.theta.mean(axis=0)
            ridge = (self.theta - mean) / self.beta + mean / (self.beta + n_s * self.alpha)
            gradient = (self.y - e) * e / self.v - ridge
            step = own * (gradient + shared * (own * gradient).sum(axis=0))
            self.theta += step / np.maximum(1.0, np.abs(step).max(axis=0) / LONGEST_STEP)
        self._learn(own, shared)
        return np.asarray(self.theta - before)

    def _learn(self, own: Matrix, shared: Vector) -> None:
        """How large a² and b² are in the mean; the covariance of θ is diag(own) + shared · own ownᵀ."""
        n_s, mean = len(self.y), self.theta.mean(axis=0)
        together = own.sum(axis=0)
        whole = together + shared * together**2
        apart = together * (1 - 1 / n_s) + shared * ((own - together / n_s) ** 2).sum(axis=0)
        b = ((self.theta - mean) ** 2).sum(axis=0) + apart
        self.scatter = max(LEAST_COMMON, float(b.mean()) / (n_s - 1))
        if len(self.columns) > 1:
            self.beta = self.scatter
            self.alpha = max(LEAST_COMMON, float((mean**2 + whole / n_s**2).mean()) - self.beta / n_s)


def fitted_model(marginals: Marginals) -> PairModel:
    """The model of these tables."""
    product_size(marginals.sizes)
    own = zip(marginals.singles, marginals.single_variances, strict=True)
    singles = [_Table.of((j,), table, variance) for j, (table, variance) in enumerate(own)]
    pairs = [_Table.of(pair, table, marginals.pair_variance) for pair, table in marginals.pairs.items()]
    tables = singles + pairs
    shares = _shares(marginals)
    whole = np.ones((len(shares), *marginals.sizes)) * shares.reshape(-1, *(1 for _ in marginals.sizes))
    for _ in range(SWEEPS):
        for table in tables:
            _improve(whole, table)
        common = float(np.average([one.scatter for one in singles], weights=marginals.sizes))
        for one in singles:
            one.beta = common
    shapes = [(len(whole), *(marginals.sizes[j] for j in table.columns)) for table in tables]
    factors = [np.exp(table.theta).reshape(shape) for table, shape in zip(tables, shapes, strict=True)]
    factors[0] = factors[0] * shares[:, None]
    return pair_model(marginals.sizes, [table.columns for table in tables], factors)


def _shares(marginals: Marginals) -> Vector:
    """For each value of the secret, people in a combination, all of them being as likely as each other."""
    totals = np.mean([table.sum(axis=1) for table in marginals.singles], axis=0)
    if (np.minimum(totals, marginals.people) <= FAINT * _deviation(marginals)).any():
        raise InvalidInput(
            "a value of the secret is too rare to show through the noise: group it with another one "
            "(--set group=…), or use a larger --private"
        )
    return np.asarray(totals * (marginals.people / totals.sum() / product_size(marginals.sizes)))


def _deviation(marginals: Marginals) -> float:
    """The standard deviation of the noise in how many people have a value of the secret, by all tables together."""
    variances = [table[0].size * marginals.variance(own) for own, table in marginals.drawn.items()]
    return 0.0 if min(variances) == 0 else math.fsum(1 / variance for variance in variances) ** -0.5


def _improve(whole: Matrix, table: _Table) -> None:
    """Fit one table, and change the whole by its factors."""
    sizes = whole.shape[1:]
    others = tuple(j + 1 for j in range(len(sizes)) if j not in table.columns)
    expected = np.maximum(whole.sum(axis=others).reshape(table.y.shape), LEAST_PEOPLE)
    change = np.exp(table.improve(expected))
    whole *= change.reshape(len(whole), *(size if j in table.columns else 1 for j, size in enumerate(sizes)))
