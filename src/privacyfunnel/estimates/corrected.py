"""Corrected: shares of private faithful releases of the fitted table, counted and set right by the noisy counts.

Rows of a private fit have the distribution of the noisy counts, and rare combinations are read as others, so rows
counted as they stand are off. By how much, the file tells, up to noise: with e_x = P(x′ ∈ A | x) for every combination
x of the domain, the expected number of released rows in A is Σ N_x e_x, and N_x = Ñ_x − noise. So for every λ

    λ · (released rows in A) + Σ Ñ_x (1_A(x) − λe_x)

is an unbiased estimate of the number of people in A. Its variance given the table is λ² times that of drawing, plus
v Σ (1_A(x) − λe_x)² for cells with noise of variance v: small where rows stay as they are. With λ = 0 it is what the
noisy counts tell alone, with λ = 1 what the released rows tell, corrected; the λ with the least error is taken. As the
number of people is known, so is the sum of all noise: 1_A and e_x are centred. Which combinations are read as others
was decided by the noise itself, so that theirs is too low on average: what that may do counts as an error, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.estimates.counted import CountingMeter, share_between
from privacyfunnel.estimates.measuring import AT_ONCE, PSEUDO_ROWS, Measured, Scores
from privacyfunnel.estimates.noisy_counts import LAPLACE_KURTOSIS, NoisyCounts, is_share, reach
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.tables.reading_back import Tally
from privacyfunnel.typing import Integers, Matrix, Vector

SAME_GROUP = 0.5
"""The least part of a group's size, as it is best told, that a quotient may take for it: less is nothing but noise."""

ONE_ERROR = 0.16
"""The chance of being off by more than a standard error, to one side."""
NOT_SURE = 1e-6
"""Stands in for 0 where the group may be empty as far as is known, so that intervals are everything."""


class CorrectingMeter(CountingMeter):
    """Counts the released rows of a private fit; rows of targets go over the combinations of the noisy counts."""

    sticks_out = True

    def __init__(self, tally: Tally, scorer: Scorer, noisy: NoisyCounts) -> None:
        super().__init__(tally, scorer, noisy.people)
        self.noisy = noisy

    def written(self) -> Integers:
        """The combination that each output is written as."""
        return np.asarray(self.noisy.inputs[self.scorer.block.labels])

    def measure(self, targets: Matrix, given: Matrix | None = None, ends: tuple[float, float] = (0.0, 1.0)) -> Measured:
        """Every quotient of numbers of people, targets / given; without `given`, of all people.

        What sampling leaves open and what drawing and noise do are independent: their distances from the estimate are
        added as squares (Zou and Donner 2008). Where noise leaves the size of the group open by z times a part v of it,
        quotients are off by up to 1/(1 − z²v²) times as much (Fieller 1954). People whose combinations are not listed
        may have any.
        """
        own, group = targets, np.ones((1, len(self.noisy.codes))) if given is None else given
        some = np.array_split(own, min(len(own), 1 + own.size // AT_ONCE))
        found = _Corrected.joined([self._corrected(rows, group, ends) for rows in some])
        counted = bool(is_share(own).all())
        unlisted = (ends[1] - ends[0]) * self.noisy.unlisted(ONE_ERROR) / self.people
        spread = self._sampling_error(found, counted) ** 2 + found.deviation**2 + found.lean**2 + unlisted**2
        errors = np.sqrt(spread) / found.size

        def between(tail: float, wanted: NDArray[np.bool_]) -> tuple[Vector, Vector]:
            middle = np.clip(found.values, *ends)
            low, high = self._sampled(found, middle, tail) if counted else self._sampled_mean(found, tail, ends)
            sure = np.maximum(1 - reach(found.vague, 0.0, tail) ** 2, NOT_SURE)
            off = reach(found.deviation, found.kurtosis, tail) / found.size / sure
            unlisted = (ends[1] - ends[0]) * self.noisy.unlisted(tail) / self.people
            left_open = (unlisted + found.lean) / found.size
            lowest = np.clip(middle - np.hypot(low, off) - left_open, *ends)
            highest = np.clip(middle + np.hypot(high, off) + left_open, *ends)
            return np.where(wanted, lowest, np.nan), np.where(wanted, highest, np.nan)

        return Measured(found.values, errors, np.ones(len(own), dtype=bool), None, between)

    def _corrected(self, own: Matrix, group: Matrix, ends: tuple[float, float]) -> _Corrected:
        """The estimates with the least variance: with λ = 1 first, which tells the quotients that variances are of."""
        noisy, written, f = self.noisy, self.written(), self.shares()
        seen = own[:, written], group[:, written]
        kept = [(self.scorer.Q.T @ rows.T).T[:, noisy.read_as] for rows in seen]

        def quotient(part: Vector) -> tuple[Vector, Vector]:
            top, bottom = (
                part * (out @ f) + (noisy.sums(rows) - part * noisy.sums(e)) / self.people
                for rows, out, e in zip((own, group), seen, kept, strict=True)
            )
            size = np.maximum(bottom, 1 / self.people)  # a group of nobody is refused by its interval
            return top / size, size

        theta = np.clip(quotient(np.ones(len(own)))[0], *ends)
        w, e = (noisy.centred(rows - theta[:, None] * of) for rows, of in ((own, group), (kept[0], kept[1])))
        drawing = self._drawing(*seen, theta)
        lean = np.abs((e - w) @ noisy.leaning) / self.people
        part = self._weight(noisy, w, e, drawing + lean**2)
        known = np.zeros(len(own))
        if (group != 1).any():  # whose size must not be lost in noise that the quotients themselves do not mind
            alone = self._corrected(group, np.ones_like(group), (0.0, 1.0))
            part = np.where(quotient(part)[1] < SAME_GROUP * alone.values, alone.part, part)
            nothing = np.zeros(1)
            parts = noisy.centred(group), noisy.centred(kept[1]), self._drawing(seen[1], seen[1], nothing)
            known = np.sqrt(self._uncertain(noisy, part, *parts)[0])
        variance, kurtosis = self._uncertain(noisy, part, w, e, drawing)
        values, size = quotient(part)
        return _Corrected(values, size, known / size, part, part * lean, np.sqrt(variance), kurtosis, *seen)

    def _uncertain(
        self, noisy: NoisyCounts, part: Vector, w: Matrix, e: Matrix, drawing: Vector
    ) -> tuple[Vector, Vector]:
        """Variance and excess kurtosis of what noise and drawing do to sums of w, with so much of released rows."""
        left = (w - part[:, None] * e) ** 2
        scale = noisy.variance / self.people**2
        variance = scale * (left @ noisy.cells) + part**2 * drawing
        fourth = LAPLACE_KURTOSIS * scale**2 * (left**2 @ noisy.cells)
        return variance, np.divide(fourth, variance**2, out=np.zeros(len(part)), where=variance > 0)

    def _weight(self, noisy: NoisyCounts, w: Matrix, e: Matrix, drawing: Vector) -> Vector:
        """The λ from 0 to 1 with the least variance; 1 where not all people are listed, so that few are left open.

        A larger one would undo how rows are drawn, with errors that only an exact p would tell.
        """
        if not noisy.whole:
            return np.ones(len(w))
        scale = noisy.variance / self.people**2
        straight, square = (scale * ((e * other) @ noisy.cells) for other in (w, e))
        whole = square + drawing
        return np.clip(np.divide(straight, whole, out=np.zeros(len(w)), where=whole > 0), 0.0, 1.0)

    def _drawing(self, own: Matrix, group: Matrix, theta: Vector) -> Vector:
        """The variance that drawing gives the mean of w = own − θ·group over released rows, by the published p."""
        scorer = self.scorer
        p, w = scorer.marginal / scorer.marginal.sum(), own - theta[:, None] * group
        mean = (scorer.Q.T @ w.T).T
        spread = w**2 @ (scorer.Q @ p) - mean**2 @ p
        return np.asarray(np.maximum(spread, 0.0) / max(self.rows, self.people))

    @property
    def _sample(self) -> int:
        """The number of people that sampling errors are those of: no more were there, however often they are drawn."""
        return min(self.rows, self.people)

    def _sampling_error(self, found: _Corrected, counted: bool) -> Vector:
        """The standard error of the mean of w = own − θ·group over a sample of the population."""
        if counted:
            theta = np.clip(found.values, 0.0, 1.0)
            return np.asarray(np.sqrt(theta * (1 - theta) * found.size / self._sample))
        share = PSEUDO_ROWS / (self.rows + PSEUDO_ROWS)
        mixed = (1 - share) * self.shares() + share * self.scorer.marginal
        spread = Scores(found.own, found.group, (0.0, 1.0)).spread(mixed, found.values)
        return np.asarray(np.sqrt(spread / self._sample))

    def _sampled(self, found: _Corrected, middle: Vector, tail: float) -> tuple[Vector, Vector]:
        """How far sampling leaves shares open below and above."""
        people = found.size * self._sample
        low, high = share_between(middle * people, people, np.ones(len(middle)), tail)
        return middle - low, high - middle

    def _sampled_mean(self, found: _Corrected, tail: float, ends: tuple[float, float]) -> tuple[Vector, Vector]:
        """The same of means, for which released rows stand for the sample."""
        f, far = self.shares(), np.full(len(found.values), ends[1] - ends[0])
        size = float((found.group @ f).item())
        if size <= 0:
            return far, far
        cells, seen = np.arange(len(far)), np.flatnonzero(f)
        scored = Scores(found.own, found.group, ends).scored(cells, seen, f[seen] * self._sample)
        low, high = scored.intervals(tail)
        counted = found.own @ f / size
        return np.maximum(counted - low, 0.0), np.maximum(high - counted, 0.0)


@dataclass(frozen=True, eq=False)
class _Corrected:
    """Quotients, corrected, and what drawing and noise make uncertain."""

    values: Vector
    size: Vector
    """The share of the group, as each quotient takes it."""
    vague: Vector
    """The standard deviation of that size by drawing and noise, as a part of it."""
    part: Vector
    """λ: how much of the released rows is in each."""
    lean: Vector
    """By how much it may lean to one side, because noise decided which combinations became inputs."""
    deviation: Vector
    """Standard deviation by drawing and noise, of the numerator less the quotient times the denominator."""
    kurtosis: Vector
    """Its excess kurtosis: noise has a heavier tail than drawing."""
    own: Matrix
    """The targets and the group, over outputs."""
    group: Matrix

    @classmethod
    def joined(cls, parts: Sequence[_Corrected]) -> _Corrected:
        """Those of several sets of targets in one group."""
        names = [field.name for field in fields(cls) if field.name != "group"]
        each = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return cls(**each, group=parts[0].group)
