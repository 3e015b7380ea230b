"""Rows that a model redrew: shares as they stand, and how columns go together, worked back from how these are redrawn.

Counted rows lean towards the model: what goes together in the table goes together less in a private model, as noise
made its tables of pairs closer to chance, and a regression pools all rows in that one direction. So differences,
associations and coefficients are worked back by the channel of the asked columns (protocols/wide/moves.py). That is
exact if the other columns go with these as the model says. What it has wrong there counts as for counted shares: all
of the variance beyond that of sampling is multiplied by τ (leaning.py).

Shares are those of the rows as they stand. By how much they would move if they were worked back counts as an error.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.estimates.counted import CountingMeter
from privacyfunnel.estimates.measuring import Measured, Meter
from privacyfunnel.typing import Matrix, Vector


class StandingMeter(CountingMeter):
    """Counts rows as they stand; how far they are from what is worked back is added to their errors."""

    def measure(self, targets: Matrix, given: Matrix | None = None, ends: tuple[float, float] = (0.0, 1.0)) -> Measured:
        """Every quotient of numbers of released rows, with errors √(v + Δ²), Δ what working back would change."""
        found = super().measure(targets, given, ends)
        back = Meter.measure(self, targets, given, ends).values
        apart = np.clip(np.nan_to_num(back, nan=ends[1]), *ends) - np.clip(found.values, *ends)
        errors = np.hypot(found.errors, apart)
        times = np.divide(errors, found.errors, out=np.ones_like(errors), where=found.errors > 0)
        return _wider(found, times, ends)


class WorkedBackMeter(Meter):
    """Works questions back, with errors that are wider by what a model may have wrong."""

    def measure(self, targets: Matrix, given: Matrix | None = None, ends: tuple[float, float] = (0.0, 1.0)) -> Measured:
        """Every quotient ℓ·p / given·p, with wider errors, intervals and plans."""
        found = super().measure(targets, given, ends)
        own, group = targets, self._whole(given)
        p = self.scorer.marginal / self.scorer.marginal.sum()
        theta = np.clip((own @ p) / (group @ p), *ends)
        sampling = (own - theta[:, None] * group) ** 2 @ p / self.rows / float((group @ p).item()) ** 2
        times = widening(found.errors**2, sampling, self.leaning)
        wider = _wider(found, times, ends)
        if wider.plan is None:
            return wider
        planned = wider.plan.errors * widening(wider.plan.errors**2, sampling, self.leaning)
        return replace(wider, plan=replace(wider.plan, errors=planned))


def _wider(found: Measured, times: Vector, ends: tuple[float, float]) -> Measured:
    """The same values with errors, and intervals to either side, so many times as large."""

    def between(tail: float, wanted: NDArray[np.bool_]) -> tuple[Vector, Vector]:
        low, high = found.between(tail, wanted)
        value = np.clip(found.values, *ends)
        return (
            np.maximum(value - times * np.maximum(value - low, 0.0), ends[0]),
            np.minimum(value + times * np.maximum(high - value, 0.0), ends[1]),
        )

    return Measured(found.values, found.errors * times, found.identified, found.plan, between)


def widening(variance: Vector, sampling: Vector, leaning: float) -> Vector:
    """√((s + τ(v − s)) / v): by how much errors grow if all of a variance but that of sampling is τ times as large.

    >>> widening(np.array([1.0, 4.0]), np.array([1.0, 1.0]), 5.0).tolist()
    [1.0, 2.0]
    """
    beyond = np.maximum(variance - sampling, 0.0)
    more = np.divide((leaning - 1) * beyond, variance, out=np.zeros_like(variance), where=variance > 0)
    return np.asarray(np.sqrt(1 + more))
