"""Worked back: how columns go together in the rows that a model redrew, from how it redraws the asked columns.

Counted rows lean towards the model: what goes together in the table goes together less in a private model, as noise
made its tables of pairs closer to chance, and a regression pools all rows in that one direction. So differences,
associations and coefficients are worked back by the channel of the asked columns (protocols/wide/moves.py). That is
exact if the other columns go with these as the model says. What it has wrong there counts as for counted shares: all
of the variance beyond that of sampling is multiplied by τ (leaning.py).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.estimates.measuring import Measured, Meter, Targets
from privacyfunnel.typing import Vector


class WorkedBackMeter(Meter):
    """Works questions about one block back, with errors that are wider by what a model may have wrong."""

    def measure(
        self, targets: Targets, given: Targets | None = None, ends: tuple[float, float] = (0.0, 1.0)
    ) -> Measured:
        """Every quotient ℓ·p / given·p, with wider errors, intervals and plans."""
        found = super().measure(targets, given, ends)
        (k,) = {*targets, *(given or {})}
        own, group = targets.get(k, self._all(k)), self._all(k) if given is None else given[k]
        p = self.scorers[k].marginal / self.scorers[k].marginal.sum()
        theta = np.clip((own @ p) / (group @ p), *ends)
        sampling = (own - theta[:, None] * group) ** 2 @ p / self.rows / float((group @ p).item()) ** 2
        times = widening(found.errors**2, sampling, self.leaning)

        def between(tail: float, wanted: NDArray[np.bool_]) -> tuple[Vector, Vector]:
            low, high = found.between(tail, wanted)
            value = np.clip(found.values, *ends)
            return (
                np.maximum(value - times * np.maximum(value - low, 0.0), ends[0]),
                np.minimum(value + times * np.maximum(high - value, 0.0), ends[1]),
            )

        plan = found.plan
        if plan is not None:
            plan = replace(plan, errors=plan.errors * widening(plan.errors**2, sampling, self.leaning))
        return Measured(found.values, found.errors * times, found.identified, plan, between)


def widening(variance: Vector, sampling: Vector, leaning: float) -> Vector:
    """√((s + τ(v − s)) / v): by how much errors grow if all of a variance but that of sampling is τ times as large.

    >>> widening(np.array([1.0, 4.0]), np.array([1.0, 1.0]), 5.0).tolist()
    [1.0, 2.0]
    """
    beyond = np.maximum(variance - sampling, 0.0)
    more = np.divide((leaning - 1) * beyond, variance, out=np.zeros_like(variance), where=variance > 0)
    return np.asarray(np.sqrt(1 + more))
