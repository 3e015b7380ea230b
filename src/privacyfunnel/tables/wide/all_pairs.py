"""All pairs of columns, counted with Gaussian noise: K tables cost √K in noise, and not K as by Laplace noise.

So nothing is spent on choosing pairs, and nothing on tables of single columns: sums of the tables of pairs are as near
to these. Proof of ε₀ and δ₀: docs/theory.md.
"""

from __future__ import annotations

from privacyfunnel.distribution.gaussian import GaussianNoise, noise_for
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.laplace_split import LaplaceSplit
from privacyfunnel.distribution.marginals import Marginals, all_tables
from privacyfunnel.drawing.gaussian import gaussian_noised
from privacyfunnel.tables.wide.marginals import counted

USUAL_DELTA = 1e-6
"""δ₀, unless another is asked for."""


def noise_on_pairs(
    columns: int, epsilon: float, delta: float | None, level: float, spent: float
) -> GaussianNoise | None:
    """Gaussian noise for all pairs of so many columns; None if it is to be Laplace noise.

    That is with δ₀ = 0, and with any where not said otherwise and pairs have less noise that way: with few columns.
    """
    if delta == 0:
        return None
    tables = len(all_tables(columns))
    if delta is not None:
        return noise_for(tables, epsilon, delta, level, spent)
    usual = noise_for(tables, epsilon, USUAL_DELTA, level, spent)
    return usual if usual.variance < _laplace_variance(columns, epsilon - spent) else None


def gaussian_marginals(joint: Joint, noise: GaussianNoise) -> Marginals:
    """The tables of all pairs with this noise, and those of single columns that follow from them."""
    sizes = tuple(len(column) for column in joint.columns)
    drawn = {own: gaussian_noised(counted(joint, own), noise.sigma) for own in all_tables(len(sizes))}
    return Marginals.of(joint.total, sizes, drawn, noise.variance, noise.variance)


def _laplace_variance(columns: int, epsilon: float) -> float:
    """Of Laplace noise in what says most of so many columns: tables of pairs, or that of the only column."""
    single, pair = LaplaceSplit.of(columns, epsilon).variances
    return pair or single
