"""The noisy tables of a wide protocol: which of them its columns need, and how much noise each of them is to have."""

from __future__ import annotations

from privacyfunnel.distribution.gaussian import GaussianNoise
from privacyfunnel.distribution.laplace_split import LaplaceNoise, LaplaceSplit
from privacyfunnel.distribution.marginals import Marginals, Own, all_tables
from privacyfunnel.errors import InvalidProtocol

TableNoise = GaussianNoise | LaplaceNoise | None
"""None if there is none."""


def variances(noise: TableNoise, epsilon: float | None, columns: int) -> tuple[float, float]:
    """Of a cell of a single column's table, and of a pair's, as they follow from what is stated."""
    if isinstance(noise, LaplaceNoise) and epsilon is not None:
        return LaplaceSplit.of(columns, noise.left(epsilon)).variances
    return (noise.variance,) * 2 if isinstance(noise, GaussianNoise) else (0.0, 0.0)


def check_drawn(drawn: list[Own], noise: TableNoise, epsilon: float | None, columns: int) -> None:
    """Refuse a model without all tables that its columns need, and noise without an ε₀ that it can have."""
    if (noise is None) != (epsilon is None):
        raise InvalidProtocol("there is noise without an ε₀, or an ε₀ without noise")
    every = all_tables(columns)
    if isinstance(noise, LaplaceNoise) and epsilon is not None:
        if noise.left(epsilon) <= 0:
            raise InvalidProtocol("choosing columns spent all of ε₀")
        singles, pairs = drawn[:columns], drawn[columns:]
        number = LaplaceSplit.of(columns, noise.left(epsilon)).pairs
        if (
            singles != [(j,) for j in range(columns)]
            or len(pairs) != number
            or pairs != sorted(set(pairs) & set(every))
        ):
            raise InvalidProtocol(
                f"the noisy tables are not those of each of the {columns} columns and of {number} pairs of them"
            )
    elif drawn != every:
        raise InvalidProtocol(f"the noisy tables are not those of all pairs of the {columns} columns")
    if isinstance(noise, GaussianNoise) and noise.tables != len(every):
        raise InvalidProtocol("the noise that is stated is not on as many tables as the model has")


def check_tables(tables: Marginals, noise: TableNoise, epsilon: float | None, level: float) -> None:
    """The same for tables that are read, and refuse Gaussian noise that is too small for its ε₀ and δ₀."""
    check_drawn(list(tables.drawn), noise, epsilon, len(tables.sizes))
    if isinstance(noise, GaussianNoise) and epsilon is not None and not noise.kept(epsilon, level):
        raise InvalidProtocol("noise as small as is stated does not have the ε₀ and δ₀ that are stated")
