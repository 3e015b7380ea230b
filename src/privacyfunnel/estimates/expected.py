"""expected_errors: how sharply each share will be known, before anything is released.

All errors are against the population that the rows are drawn from, for n rows. The original table has √(f(1−f)/n)
itself. Rows of a faithful release of the fitted table that are counted as they stand have
√((f(1−f) + Σ p_x e_x(1−e_x))/n) with e_x = P(row has the value | x); those of another protocol have a share f′ in the
release, and are off by √((f′−f)² + f′(1−f′)/n). Estimates that hold whatever the table are means of scores g with
gᵀQ = ℓᵀ, and have √((Σ_y q_y g_y² − f²)/n).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from privacyfunnel.distribution.asked import CERTAIN, Readers, tables_of
from privacyfunnel.distribution.column import Label
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.frequencies import VAGUE, Presentation
from privacyfunnel.estimates.meters import Meters
from privacyfunnel.estimates.questions import Asker
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.estimates.together import together
from privacyfunnel.estimates.wide.expected import counted_errors
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.step import Kind
from privacyfunnel.showing.sheet import Mark, Sheet, share
from privacyfunnel.showing.shown import Shown
from privacyfunnel.tables.reading_back import Tally


@dataclass(frozen=True)
class ExpectedError:
    """Standard errors of one share."""

    attributes: tuple[str, ...]
    values: tuple[Label, ...]
    share: float
    """f: the share of people that have these values."""
    original: float
    """What the original table has itself."""
    counted: float
    """That of released rows as they stand; the root of the mean square, where counting is biased."""
    estimated: float | None
    """That of an estimate that holds whatever the table; None where released rows do not tell this share."""

    @property
    def counted_times(self) -> float:
        """As a multiple of the original table's."""
        return self.counted / self.original

    @property
    def estimated_times(self) -> float:
        """As a multiple of the original table's; infinite where released rows do not tell."""
        return math.inf if self.estimated is None else self.estimated / self.original


@dataclass(frozen=True)
class ExpectedErrors(Shown):
    """How sharply shares will be known from a release of n rows."""

    n: int
    shares: tuple[ExpectedError, ...]

    @property
    def typical(self) -> float:
        """The median of the estimates' errors as multiples of the original table's."""
        return float(np.median([each.estimated_times for each in self.shares])) if self.shares else 1.0

    @property
    def worst(self) -> ExpectedError | None:
        """The share whose estimate has the largest multiple."""
        return max(self.shares, key=lambda each: each.estimated_times, default=None)

    @property
    def counted_typical(self) -> float:
        """The median of the errors of rows as they stand, as multiples of the original table's."""
        return float(np.median([each.counted_times for each in self.shares])) if self.shares else 1.0

    @property
    def counted_worst(self) -> ExpectedError | None:
        """The share that has the largest multiple of them."""
        return max(self.shares, key=lambda each: each.counted_times, default=None)

    def words(self) -> str:
        """For people, in a line."""
        worst = self.worst
        if worst is None:
            return "there are no shares to estimate"
        if not math.isfinite(self.typical):
            return "estimated whatever the table: most shares are not told by released rows"
        most = f"worst {_times(worst.estimated_times)} ({' and '.join(worst.attributes)})"
        return f"estimated whatever the table: typically {_times(self.typical)} of the original's error, {most}"

    def sheet(self) -> Sheet:
        """What a notebook shows: the error of every share, as a multiple of the original table's."""
        rows = [
            [
                " × ".join(f"{name} = {value}" for name, value in zip(one.attributes, one.values, strict=True)),
                share(one.share),
                f"×{one.counted_times:.2f}",
                f"×{one.estimated_times:.2f}" if one.estimated is not None else "–",
            ]
            for one in self.shares
        ]
        marks = [Mark(one.counted_times, limit=1.0) for one in self.shares]
        heads = ("share of", "share", "counted", "estimated")
        title = f"Expected errors of {self.n:,} released rows, as multiples of the original table's"
        return Sheet(title, [self.words()], heads, rows, marks)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        worst = self.worst
        return {
            "rows": self.n,
            "typical": _finite(self.typical),
            "worst": _finite(worst.estimated_times) if worst is not None else None,
            "worst_columns": list(worst.attributes) if worst is not None else [],
            "shares": [asdict(each) for each in self.shares],
        }


def expected_errors(
    protocol: Protocol, joint: Joint, n: int | None = None, *, of: Readers = "shares"
) -> ExpectedErrors:
    """The error of every share of every column in a release of n rows like those of `joint`, before it is made.

    Without n, as many as were counted. `of` asks for other shares: "pairs" of columns, too, or a list of columns and
    tuples of columns.

    >>> joint = Joint([[300, 100], [100, 500]], attributes=["town"])
    >>> found = expected_errors(optimise(joint, LIP(0.8)), joint)
    >>> found.shares[0].estimated_times > 1
    True
    """
    if not isinstance(protocol, Protocol) or not isinstance(joint, Joint):
        raise InvalidInput("expected_errors needs a Protocol and the Joint of the rows that are to be released")
    rows = _rows(joint, n)
    table = BY_STEP[protocol.step.kind](protocol, joint)
    return ExpectedErrors(rows, tuple(each for names in tables_of(joint, of) for each in table(names, rows)))


def columns_told(protocol: Protocol, n: int) -> tuple[str, ...]:
    """The columns of which n rows of another table than the fitted one tell every share, whatever rows these are."""
    nobody = Tally(np.zeros(1, dtype=np.int64), np.array([n]))
    asker = Asker(protocol)
    meters, wish = Meters(protocol, nobody, "channel", asker), Presentation()

    def told(name: str) -> bool:
        reader = meters.reader([name], {}, wish)
        rows = reader.asker.cells([name]).rows
        with np.errstate(all="ignore"):  # only the plan is asked for
            return bool(reader.meter.measure(rows).told(wish.tail(), VAGUE).all())

    return tuple(name for name in asker.columns if told(name))


Table = Callable[[Sequence[str], int], Iterable[ExpectedError]]
"""The errors of all shares of some columns' combinations, of so many rows."""


def _of_model(protocol: Protocol, joint: Joint) -> Table:
    """Of rows as they stand; estimates that hold whatever the table are not told by a model's release."""
    if joint.columns != protocol.columns:
        raise InvalidInput("the joint has other columns, or other values of them, than the protocol was fitted on")

    def table(names: Sequence[str], n: int) -> Iterator[ExpectedError]:
        labels = [protocol.columns[protocol.attributes.index(name)].labels for name in names]
        for codes, f, original, counted in counted_errors(protocol.by_model, joint, names, n):
            values = tuple(of[code] for of, code in zip(labels, codes, strict=True))
            yield ExpectedError(tuple(names), values, f, original, counted, None)

    return table


def _rows(joint: Joint, n: int | None) -> int:
    if n is None and joint.noise is not None:
        return joint.noise.people
    if n is None and joint.counted:
        return joint.total
    if n is None:
        raise InvalidInput("these are probabilities, not counts; say how many rows there will be: n=…")
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InvalidInput(f"n is a number of rows, at least 1; got {n!r}")
    return int(n)


class _Whole:
    """A protocol, and its inputs for the values of X of a joint."""

    def __init__(self, protocol: Protocol, joint: Joint) -> None:
        self.protocol, self.p = protocol, joint.p_x
        self.inputs = protocol.block.inputs_of(joint)
        if (self.inputs < 0).any():
            raise InvalidInput("the distribution has values of X that the protocol was not fitted on")
        self._scorer = Scorer(protocol.block)

    def table(self, names: Sequence[str], n: int) -> Iterator[ExpectedError]:
        """The errors of the shares of all combinations of values of some columns.

        With g the scores of a combination c and e_x the chance that a row x is written with it, E g² is
        Σ_x p_x Σ_y Q[y, x] g_c[y]², and counting rows is off by drawing as Σ p_x e_x (1 − e_x).
        """
        block, scorer = self.protocol.block, self._scorer
        own = [j for j, name in enumerate(block.attributes) if name in names]
        order = [own.index(block.attributes.index(name)) for name in names]
        cells, cell = np.unique(block.codes[:, own], axis=0, return_inverse=True)
        targets = (np.arange(len(cells))[:, None] == cell.ravel()).astype(np.float64)
        told, second = scorer.identified(targets), (scorer.Q.T @ np.square(scorer.scores(targets)).T).T
        moved = (csr_array(targets[:, block.labels]) @ scorer.Q).toarray()
        shares = np.bincount(cell.ravel()[self.inputs], self.p, len(cells))
        for c, f in enumerate(shares.tolist()):
            if not 0 < f < 1 - CERTAIN:
                continue
            sampled, e = f * (1 - f), moved[c, self.inputs]
            mean = float(self.p @ e)
            counted = (mean - f) ** 2 + mean * (1 - mean) / n
            if self.protocol.likeness is not None:
                counted = (sampled + float(self.p @ (e * (1 - e)))) / n
            squares = float(self.p @ second[c, self.inputs])
            yield ExpectedError(
                tuple(names),
                tuple(block.columns[own[i]].labels[cells[c, i]] for i in order),
                f,
                math.sqrt(sampled / n),
                math.sqrt(max(0.0, counted)),
                math.sqrt(max(0.0, squares - f * f) / n) if told[c] else None,
            )


def _times(multiple: float) -> str:
    """A multiple for people.

    >>> _times(1.234), _times(12.34), _times(math.inf)
    ('×1.2', '×12', 'not told')
    """
    if not math.isfinite(multiple):
        return "not told"
    return f"×{multiple:.1f}" if multiple < 10 else f"×{multiple:.0f}"


def _finite(multiple: float) -> float | None:
    return multiple if math.isfinite(multiple) else None


BY_STEP: dict[Kind, Callable[[Protocol, Joint], Table]] = {
    "channel": lambda protocol, joint: _Whole(protocol, joint).table,
    "by_history": lambda protocol, joint: _Whole(together(protocol), joint).table,  # readers have the releases before
    "by_model": _of_model,
}
