"""Cell shares: the shares of all cells of a table together, and the covariance of anything that follows from them.

What sampling, drawing and noise do to the shares w of a table is known as a covariance. It is never formed whole: to
first order a statistic g(w) is off by φ·(error of w), φ its gradient, so it is enough to know φ·Cov·φ′ for some rows φ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.corrected import CorrectingMeter
from privacyfunnel.estimates.counted import CountingMeter
from privacyfunnel.estimates.frequencies import Reader, check_group
from privacyfunnel.estimates.intervals import tail
from privacyfunnel.estimates.measuring import FEWEST_EXPECTED, PSEUDO_ROWS, Meter, check_size
from privacyfunnel.estimates.scores import IDENTIFIED
from privacyfunnel.typing import Integers, Matrix, Vector

MOST_CELLS = 2_000
"""Of a table whose statistics are looked for: derivatives by every cell are then a few million numbers."""
STEP = 1e-30
"""Of the complex step: f(w + i·h)/h has the derivative as its imaginary part, and no digits are lost however small h is
(Squire and Trapp 1998)."""
UNLISTED = 0.95
"""The confidence with which the number of people with combinations that are not listed is bounded."""


class CellShares(ABC):
    """The shares w[c] of people in each cell; those of a group are not yet divided by its size."""

    codes: Integers
    """codes[c, i]: the number of the value of the i-th attribute."""
    values: Vector
    rows: int
    """The number of rows that errors are those of."""
    identified: bool
    """Whether the released rows tell every cell."""
    published: Vector
    """The shares by what the protocol publishes alone, before any row is seen."""

    @abstractmethod
    def covariance(self, rows: Matrix) -> Matrix:
        """Cov[i, j] of rows[i]·w and rows[j]·w."""

    def planned(self, rows: Matrix) -> Matrix | None:
        """The same before any row is seen, by the published marginal; None where rows tell everything."""
        return None

    def untold(self, rows: Matrix) -> NDArray[np.bool_]:
        """Which of rows[i]·w the released rows do not tell."""
        return np.zeros(len(rows), dtype=bool)

    def grid(self, sizes: Sequence[int]) -> Matrix:
        """The shares of two attributes with so many values, at [value, value]; 0 where a cell cannot occur."""
        found = np.zeros(tuple(sizes))
        found[tuple(self.codes.T)] = self.values
        return found

    def along(self, gradient: NDArray[np.float64]) -> Matrix:
        """rows[i, c] from gradients[i, value, value] over such a grid."""
        return np.asarray(gradient[(slice(None), *self.codes.T)])


def cell_shares(reader: Reader, names: Sequence[str], most: int = MOST_CELLS) -> CellShares:
    """The shares of all combinations of values of `names`, among those of the reader's group."""
    meter, asker = reader.meter, reader.asker
    group = asker.group(reader.fixed)
    check_group(reader, group, reader.fixed)
    cells = asker.cells(asker.order(names), group)
    if len(cells.rows) > most:
        raise InvalidInput(
            f"{' and '.join(names)} make {len(cells.rows):,} combinations, more than {most:,}; "
            "ask for coarser attributes, or for some of their values (where)"
        )
    own: CellShares
    if isinstance(meter, CorrectingMeter):
        own = _Corrected(meter, cells.rows)
    elif isinstance(meter, CountingMeter):
        own = _Counted(meter, cells.rows)
    else:
        own = _WorkedBack(meter, cells.rows)
    own.codes = cells.codes[:, [asker.order(names).index(name) for name in names]]
    return own


def gradients(statistic: Callable[[NDArray[np.complex128]], NDArray[np.complex128]], w: Matrix) -> NDArray[np.float64]:
    """The derivatives of statistic(w)[i] by w[a, b], at [i, a, b].

    It takes any number of tables at once, in leading axes, and is analytic: no absolute values, no largest of several.

    >>> gradients(lambda w: np.stack([w.sum(axis=(-2, -1)), w[..., 0, 0] ** 2], axis=-1), np.eye(2)).tolist()
    [[[1.0, 1.0], [1.0, 1.0]], [[2.0, 0.0], [0.0, 0.0]]]
    """
    moved = w + 1j * STEP * np.eye(w.size).reshape(w.size, *w.shape)
    return np.moveaxis(statistic(moved).imag / STEP, 0, -1).reshape(-1, *w.shape)


class _WorkedBack(CellShares):
    """Shares worked back by scores."""

    def __init__(self, meter: Meter, rows: Matrix) -> None:
        self.identified = bool(meter.identified(rows).all())
        rows = meter.as_read(rows)
        self._A = meter.scorer.scores(rows)
        f, q = meter.shares(), meter.scorer.marginal
        self.values, self.published = self._A @ f, self._A @ q
        share = PSEUDO_ROWS / (meter.rows + PSEUDO_ROWS)
        self._mixed, self._q, self.rows = (1 - share) * f + share * q, q, meter.rows
        self._leaning, self._hidden = meter.leaning, meter.scorer.hidden(rows)

    def covariance(self, rows: Matrix) -> Matrix:
        """That of the scores of released rows.

        As for single shares, outputs that may be missing by luck together count at least as much as is expected: of
        them, no combination of the rows has less variance than was seen, nor less than the published marginal tells.
        """
        h = self._scores(rows)
        h = h - (h @ self._mixed / self._mixed.sum())[:, None]
        rare = self.rows * self._q < FEWEST_EXPECTED
        common = _moments(h, np.where(rare, 0.0, self._mixed))
        seen, expected = (_moments(h, np.where(rare, g, 0.0)) for g in (self._mixed, self._q))
        return self._leant(rows, np.asarray(common + seen + _lacking(seen, expected)) / self.rows)

    def planned(self, rows: Matrix) -> Matrix:
        """By the published marginal."""
        return self._leant(rows, spread_of(self._scores(rows), self._q) / self.rows)

    def _leant(self, rows: Matrix, found: Matrix) -> Matrix:
        """The same with all that is beyond sampling τ times as large, where a model may be wrong."""
        if self._leaning == 1:
            return found
        w = np.maximum(self.published, 0.0)
        sampling = spread_of(rows, w / w.sum()) / self.rows
        return np.asarray(found + (self._leaning - 1) * _lacking(sampling, found))

    def untold(self, rows: Matrix) -> NDArray[np.bool_]:
        """Those of which something sticks out of what the channel tells."""
        size = np.maximum(np.abs(rows).max(axis=1, initial=0.0), 1.0)
        out = np.abs(rows @ self._hidden).max(axis=1, initial=0.0)
        return np.asarray(out > IDENTIFIED * size)

    def _scores(self, rows: Matrix) -> Matrix:
        """h[i, y]: those of rows[i]·w, over the outputs."""
        check_size((len(rows), self._A.shape[1]))
        return rows @ self._A


class _Counted(CellShares):
    """Shares of released rows as they stand: what sampling and drawing do is added."""

    identified = True

    def __init__(self, meter: CountingMeter, rows: Matrix) -> None:
        self._meter, self._seen, self.rows = meter, rows, min(meter.rows, meter.people)
        f, share = meter.shares(), PSEUDO_ROWS / (meter.rows + PSEUDO_ROWS)
        self.values, self.published = rows @ f, rows @ meter.scorer.marginal
        self._mixed = (1 - share) * f + share * meter.scorer.marginal

    def covariance(self, rows: Matrix) -> Matrix:
        """No more people were sampled than there are, and no more rows drawn."""
        meter, h = self._meter, rows @ self._seen
        return spread_of(h, self._mixed) / self.rows + _drawing(meter, h)


class _Corrected(CellShares):
    """Shares of a private fit, counted and set right: λ · (released) + (noisy counts) − λ · (what these would release).

    All cells have the same λ, so that their shares add up to that of the group: that with the least sum of variances.
    """

    identified = True

    def __init__(self, meter: CorrectingMeter, rows: Matrix) -> None:
        self._meter, self._noisy, self.rows = meter, meter.noisy, min(meter.rows, meter.people)
        noisy, f = self._noisy, meter.shares()
        self._seen = rows[:, meter.written()]
        moved = (meter.scorer.Q.T @ self._seen.T).T[:, noisy.read_as]
        own, kept = noisy.centred(rows), noisy.centred(moved)
        self._scale = noisy.variance / meter.people**2
        lean = (kept - own) @ noisy.leaning / meter.people
        part = 1.0
        if noisy.whole:
            drawn = float(np.trace(_drawing(meter, self._seen)) + lean @ lean)
            straight, square = (self._scale * float(((kept * other) @ noisy.cells).sum()) for other in (own, kept))
            part = float(np.clip(straight / max(square + drawn, straight), 0.0, 1.0)) if straight > 0 else 0.0
        self._part, self._lean, self._left = part, part * lean, own - part * kept
        self.published = noisy.sums(rows) / meter.people
        self.values = part * (self._seen @ f) + (noisy.sums(rows) - part * noisy.sums(moved)) / meter.people

    def covariance(self, rows: Matrix) -> Matrix:
        """Sampling, drawing and noise; what may lean to one side, or is not listed, counts as an error, too."""
        meter, noisy = self._meter, self._noisy
        w = np.append(np.maximum(self.values, 0.0), max(0.0, 1 - float(self.values.sum())))  # who is in no cell
        all_rows = np.append(rows, np.zeros((len(rows), 1)), axis=1)
        sampling = spread_of(all_rows, w / w.sum()) / self.rows
        drawing = self._part**2 * _drawing(meter, rows @ self._seen)
        left, lean = rows @ self._left, rows @ self._lean
        noise = self._scale * (left * noisy.cells) @ left.T
        unlisted = np.ptp(all_rows, axis=1) * noisy.unlisted(tail(UNLISTED)) / meter.people
        return np.asarray(sampling + drawing + noise + np.outer(lean, lean) + np.diag(unlisted**2))


def spread_of(h: Matrix, weights: Vector) -> Matrix:
    """Cov[i, j] of h[i, ·] and h[j, ·] under a distribution, or nearly one."""
    mean = h @ weights
    return np.asarray(_moments(h, weights) - np.outer(mean, mean) / weights.sum())


def _moments(h: Matrix, weights: Vector) -> Matrix:
    """Σ_y weights[y] h[i, y] h[j, y]."""
    return np.asarray((h * weights) @ h.T)


def _lacking(seen: Matrix, expected: Matrix) -> Matrix:
    """What `seen` lacks to be no less than `expected` in any direction: the positive part of their difference."""
    unit = np.sqrt(np.diag(seen) + np.diag(expected))
    unit[unit == 0] = 1.0
    values, vectors = np.linalg.eigh((expected - seen) / np.outer(unit, unit))
    root = unit[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(root @ root.T)


def _drawing(meter: CountingMeter, h: Matrix) -> Matrix:
    """What drawing does to the means of h[i, ·] over released rows, by the published p."""
    scorer = meter.scorer
    p = scorer.marginal / scorer.marginal.sum()
    mean = (scorer.Q.T @ h.T).T
    spread = (h * (scorer.Q @ p)) @ h.T - (mean * p) @ mean.T
    return np.asarray(meter.leaning * spread / max(meter.rows, meter.people))
