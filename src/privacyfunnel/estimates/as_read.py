"""As read: shares of a private fit that are worked back, and what is open of people who are read as others.

What is worked back is the distribution of rows as the protocol reads them: nobody has a combination x there that is no
input, as x is read as another one, r(x). With N_x people of each combination, h = a − θd the scores of a quotient θ of
the rows as read, and D the size of its group, the quotient of the rows as they are is larger by

    Σ_x N_x (h(x) − h(r(x))) / D.

How many people of the fitted table have such combinations, its noisy counts tell, up to noise. So an interval reaches
further up by all who may make the quotient larger, and further down by all who may make it smaller: it holds for rows
among which such combinations are no more common than in the fitted table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.estimates.corrected import NOT_SURE, ONE_ERROR
from privacyfunnel.estimates.intervals import quantile
from privacyfunnel.estimates.measuring import Forecast, Measured, Meter
from privacyfunnel.estimates.noisy_counts import NoisyCounts
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.tables.reading_back import Tally
from privacyfunnel.typing import Integers, Matrix, Vector


class AsReadMeter(Meter):
    """Works back; rows of targets go over the combinations of the noisy counts, inputs or not."""

    def __init__(self, tally: Tally, scorer: Scorer, noisy: NoisyCounts) -> None:
        super().__init__(tally, scorer)
        self.noisy = noisy

    def as_read(self, rows: Matrix) -> Matrix:
        """Those of the combinations that are inputs."""
        return rows[:, self.noisy.inputs]

    def groups(self, targets: Matrix) -> list[Integers]:
        """Which of targets[t, x] are told together."""
        return super().groups(self.as_read(targets))

    def identified(self, targets: Matrix) -> NDArray[np.bool_]:
        """Which of targets[t, x] the released rows tell."""
        return super().identified(self.as_read(targets))

    def written(self) -> Integers:
        """The combination that each output is written as."""
        return np.asarray(self.noisy.inputs[self.scorer.block.labels])

    def measure(self, targets: Matrix, given: Matrix | None = None, ends: tuple[float, float] = (0.0, 1.0)) -> Measured:
        """Every quotient of the rows as read, with intervals that hold that of the rows as they are."""
        as_read = None if given is None else self.as_read(given)
        found = super().measure(self.as_read(targets), as_read, ends)
        size = None if as_read is None else super().measure(as_read)
        group = np.ones((1, len(self.noisy.codes))) if given is None else given
        left_open = self._left_open(targets, group, found, size, ends)

        def between(tail: float, wanted: NDArray[np.bool_]) -> tuple[Vector, Vector]:
            (low, high), (down, up) = found.between(tail, wanted), left_open(tail)
            return np.maximum(low - down, ends[0]), np.minimum(high + up, ends[1])

        plan = found.plan
        if plan is not None:
            planned = self._left_open(targets, group, plan, size and size.plan, ends)
            plan = replace(plan, left_open=lambda tail: np.maximum(*planned(tail)))
        errors = np.hypot(found.errors, np.maximum(*left_open(ONE_ERROR)))
        return Measured(found.values, errors, found.identified, plan, between)

    def _left_open(
        self,
        targets: Matrix,
        group: Matrix,
        found: Measured | Forecast,
        size: Measured | Forecast | None,
        ends: tuple[float, float],
    ) -> Callable[[float], tuple[Vector, Vector]]:
        """How much further down and up quotients may lie; `size` is that of the group, if not everybody is meant."""
        theta = np.clip(found.values, *ends)
        below, above = (self._moved(targets, group, theta, ends, side) for side in (-1, 1))
        fewer = None if size is None else self._moved(group, np.ones_like(group), size.values, (0.0, 1.0), -1)

        def open_at(tail: float) -> tuple[Vector, Vector]:
            least = 1.0
            if size is not None and fewer is not None:
                least = max((size.values - quantile(tail) * size.errors - fewer(tail)).item(), NOT_SURE)
            return below(tail) / least, above(tail) / least

        return open_at

    def _moved(
        self, targets: Matrix, group: Matrix, theta: Vector, ends: tuple[float, float], side: int
    ) -> Callable[[float], Vector]:
        """The most that Σ N_x (h(x) − h(r(x))) can be, of all people; with the side −1, the most of its opposite."""
        noisy, h = self.noisy, targets - theta[:, None] * group
        more = np.maximum(side * (h - h[:, noisy.inputs[noisy.read_as]]), 0.0)
        return lambda tail: noisy.most(more, ends[1] - ends[0], tail) / noisy.people
