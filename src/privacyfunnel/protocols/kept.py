"""What a protocol keeps beside information: cells as they are, or the precision of estimates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Likeness:
    """How like the original rows those of a faithful release are: outputs are values, and P(Y = x) = P(X = x)."""

    fidelity: float
    """The expected share of cells that stay as they are, weighted; near values of ordered columns count in part."""
    fidelity_bound: float
    """No faithful release with this promise has a larger fidelity."""
    cells_unchanged: float
    """The expected share of cells that stay exactly as they are, all columns weighing the same."""
    rows_unchanged: float
    """The expected share of rows of which every cell stays."""
    weights: tuple[tuple[str, float], ...] = ()
    """How much the cells of each attribute count; all alike if there are none."""

    @property
    def gap(self) -> float:
        """At most this much fidelity is lost to the best release."""
        return self.fidelity_bound - self.fidelity


@dataclass(frozen=True)
class Precision:
    """How sharp unbiased estimates are from a release of any table, where a protocol was made for them."""

    tables: tuple[tuple[str, ...], ...]
    """The columns whose shares, and those of whose combinations, readers are taken to ask for."""
    give_up: float
    """The share of the most information that was given up for it, at most."""
    variance: float
    """The mean of the variances of these shares, each in units of what the original table's has itself."""
    variance_bound: float | None
    """Certified: no protocol that keeps the promise and as much information has less; None where that is not known."""
