"""Replicates: plausible original tables, to be analysed one by one and put together by Rubin's rules.

A replicate is drawn in two steps, so that it also varies by what is not known of the distribution: first p from about
its posterior given the released rows, then for every row x from P(x|y) ∝ Q[y, x] p(x).

- **Rows of a faithful release of the fitted table.** The protocol publishes p, the distribution of that table, and rows
  come from P(x|y) under it. Given the table, the mean over replicates has the expectation that it should, and their
  spread is at least that of the drawing: with s the correlation that a singular direction of the channel keeps, drawing
  leaves s²(1 − s²) of the variance of a share, replicates vary by 1 − s². What is left over, (1 − s²)², is more than
  the rounding of the published p, at most a third of that. So intervals are a little wide, never narrow.
- **Those of a private fit.** p goes over all combinations of the domain: the noisy counts with as much noise again.
  Where most combinations are rare, noise above 0 would make up people who are not there; so they are raked until
  every table of one or two columns has about what the noisy counts tell of it without bias.
- **All others.** The released rows are weighted at random (the Bayesian bootstrap of Rubin 1981), and p is the most
  likely distribution, raked until every table of one or two columns has the unbiased shares of these rows: it varies
  as its posterior does. What more than two columns have together follows the model, and rows that do not tell such a
  table are refused: plausible tables would then be no more than a model's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array
from scipy.special import ndtr

from privacyfunnel.distribution.column import Column
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.estimates.measuring import UNIFORM, Forecast, Meter
from privacyfunnel.estimates.noisy_counts import NoisyCounts
from privacyfunnel.estimates.posterior import check_weights, likely_of
from privacyfunnel.estimates.questions import Asker
from privacyfunnel.estimates.scores import Scorer
from privacyfunnel.estimates.which_rows import Rows, check_contrasts, way_of
from privacyfunnel.protocols.file import to_text
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.published_folder import rows_said
from privacyfunnel.tables.reading_back import Tally, as_published, outputs_of_rows
from privacyfunnel.typing import Integers, Matrix, Vector

FEWEST = 2
"""Replicates: how much they differ cannot be told from one."""
LEAST_PEOPLE = 0.5
"""A combination that became an input has at least so many, whatever noise says: rows of it must come from somewhere."""
SWEEPS = 20
"""Of raking: tables of counts with noise do not agree with each other anyway."""
LARGEST_STEP = 4.0
"""By which a probability changes at once: shares that no distribution has must not drive any to 0."""
SHARPLY = 0.03
"""The largest standard error, planned from the protocol and the number of rows, with which a table counts as told here.
No table has shares below 0: with larger errors many would be cut off at 0, and what follows would lean."""
FAR = 30.0
"""Standard errors above 0 at which nothing is below it, in float64."""
CUT_OFF = 0.1
"""Standard errors of a share of a half, in a table of as many people, that all shares below 0 may come to together, as
planned: they are cut off at 0, and what follows leans by about as much."""

T = TypeVar("T")
Draw = Callable[[np.random.Generator], Vector]
"""A distribution p[x] from about its posterior."""


def replicates(
    released: Any,
    protocol: Protocol,
    k: int,
    seed: int | None = None,
    *,
    rows: Rows | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> Iterator[pa.Table]:
    """`k` plausible original tables, as Arrow tables with the columns of the released one and as many rows.

    They come one by one from an iterator, so that only one is in memory at a time. Analyse each as if it were the
    original, and put estimates and variances together with `rubin`. `rows` is that of `estimate`. Combinations that a
    protocol reads as the nearest other stay so, except in rows of a private fit that it was fitted on, whose noisy
    counts tell of them. A `seed` makes them repeatable.

    >>> joint = Joint([[300, 100], [100, 500]], attributes=["town"])
    >>> protocol = optimise(joint, LIP(0.8), objective="faithful")
    >>> rows = __import__("pyarrow").table({"town": [0] * 400 + [1] * 600})
    >>> found = replicates(protocol.sanitise(rows, seed=1), protocol, 20, seed=1)
    >>> shares = [np.mean(table["town"].to_numpy()) for table in found]
    >>> result = rubin(shares, [share * (1 - share) / 1000 for share in shares])
    >>> result.low < 0.6 < result.high
    True
    """
    if not isinstance(protocol, Protocol):
        raise InvalidInput(f"replicates needs a Protocol, not {type(protocol).__name__}")
    if isinstance(k, bool) or not isinstance(k, int) or k < FEWEST:
        raise InvalidInput(f"at least {FEWEST} replicates are needed, and a whole number of them; got {k!r}")
    protocol = as_published(protocol, released, delimiter=delimiter, encoding=encoding)
    y = outputs_of_rows(protocol, released, delimiter=delimiter, encoding=encoding)
    different, row, counts = np.unique(y, return_inverse=True, return_counts=True)
    tally = Tally(different, counts, rows_said(released, lambda: to_text(protocol)))
    way, _ = way_of(protocol, tally, rows)
    scorer = Scorer(protocol.block)
    check_weights(different, scorer)
    if way == "counted":
        source = _noisy(protocol, scorer, different) if protocol.noise else _published(protocol, scorer, different)
    else:
        check_contrasts(protocol, tally.rows)
        source = _worked_back(protocol, scorer, tally)
    return source.tables(k, row, np.random.default_rng(seed))


@dataclass(frozen=True, eq=False)
class _Source:
    """What tables are drawn from."""

    columns: tuple[Column, ...]
    codes: Integers
    """codes[x, j]: the value of column j in the combination x."""
    likelihood: csr_array
    """likelihood[i, x] = P(y|x) for the i-th of the released combinations y."""
    draw: Draw

    def tables(self, k: int, row: Integers, rng: np.random.Generator) -> Iterator[pa.Table]:
        """For released rows that are of the combinations row[r]."""
        for _ in range(k):
            given = self.likelihood.multiply(self.draw(rng)).tocsr()
            yield self._table(_drawn(given, row, rng))

    def _table(self, x: Integers) -> pa.Table:
        arrays = [_written(column, self.codes[x, j]) for j, column in enumerate(self.columns)]
        return pa.table(arrays, names=[column.name for column in self.columns])


def _drawn(given: csr_array, row: Integers, rng: np.random.Generator) -> Integers:
    """x[r] with probabilities in proportion to given[row[r], :]."""
    ends = np.concatenate([[0.0], np.cumsum(given.data)])
    first, last = ends[given.indptr[row]], ends[given.indptr[row + 1]]
    place = np.searchsorted(ends, first + rng.random(len(row)) * (last - first), side="right") - 1
    return np.asarray(given.indices[np.clip(place, given.indptr[row], given.indptr[row + 1] - 1)], dtype=np.int64)


def _written(column: Column, codes: Integers) -> pa.Array:
    """Values as released tables hold them."""
    missing = np.array([label is None for label in column.labels])
    places = np.cumsum(~missing) - 1
    return column.released_values.take(pa.array(places[codes], mask=missing[codes]))


def _published(protocol: Protocol, scorer: Scorer, different: Integers) -> _Source:
    block, p = protocol.block, scorer.marginal / scorer.marginal.sum()
    return _Source(block.columns, block.codes, scorer.Q[different], lambda rng: p)


def _noisy(protocol: Protocol, scorer: Scorer, different: Integers) -> _Source:
    noisy = NoisyCounts.of(protocol)
    likelihood = scorer.Q[different][:, noisy.read_as].tocsr()
    quiet, cells = 1 - np.exp(-1 / noisy.scale), noisy.cells.astype(np.int64)
    least = np.zeros(len(noisy.codes))
    least[noisy.inputs] = LEAST_PEOPLE
    tables = _tables(noisy.codes)

    def draw(rng: np.random.Generator) -> Vector:
        noise = rng.negative_binomial(cells, quiet) - rng.negative_binomial(cells, quiet)
        counts = noisy.counts - noisy.leaning + noise
        counts = counts + noisy.share * (noisy.people - counts.sum()) if noisy.whole else counts
        return _raked(
            np.maximum(counts, least), [(cell, np.bincount(cell, counts).astype(np.float64)) for cell in tables]
        )

    return _Source(protocol.columns, noisy.codes, likelihood, draw)


def _tables(codes: Integers) -> list[Integers]:
    """cell[x]: where the combination x is in each table of two columns, and then of one."""
    return [np.unique(codes[:, own], axis=0, return_inverse=True)[1].ravel() for own in _in_twos(range(codes.shape[1]))]


def _in_twos(columns: Sequence[T]) -> list[list[T]]:
    """Every two of the columns, and then each."""
    return [*(list(pair) for pair in combinations(columns, 2)), *([column] for column in columns)]


def _raked(people: Vector, tables: Sequence[tuple[Integers, Vector]]) -> Vector:
    """The distribution near `people` in whose tables every cell has as many as it should, where that is above 0."""
    for _ in range(SWEEPS):
        for cell, wanted in tables:
            have = np.bincount(cell, people)
            people = people * np.divide(np.maximum(wanted, 0.0), have, out=np.zeros(len(have)), where=have > 0)[cell]
    return np.asarray(people / people.sum())


def _worked_back(protocol: Protocol, scorer: Scorer, tally: Tally) -> _Source:
    meter = Meter(tally, scorer)
    start = (1 - UNIFORM) * likely_of(meter) + UNIFORM / scorer.n_inputs
    tables = [_Table.of(protocol, meter, names) for names in _in_twos(protocol.attributes)]
    found = [table.shares(meter.shares()) for table in tables]
    likelihood = scorer.Q[tally.outputs].tocsr()
    back = scorer.Q.T.tocsr()

    def draw(rng: np.random.Generator) -> Vector:
        x = rng.choice(start.size, tally.rows, p=start)
        again = np.bincount(_drawn(back, x, rng), minlength=scorer.n_outputs) / len(x)
        off = [table.shares(again) - np.bincount(table.cell[x], minlength=table.size) / len(x) for table in tables]
        wanted = [np.maximum(shares - error, 0.0) for shares, error in zip(found, off, strict=True)]
        return _tilted(start, likelihood, tally.counts / tally.rows, list(zip(tables, wanted, strict=True)))

    return _Source(protocol.columns, protocol.block.codes, likelihood, draw)


def _tilted(p: Vector, likelihood: csr_array, f: Vector, tables: Sequence[tuple[_Table, Vector]]) -> Vector:
    """The distribution near p under which rows with P(x|y) have the wanted shares of every cell on average."""
    x, lengths = likelihood.indices, np.diff(likelihood.indptr)
    for _ in range(SWEEPS):
        for table, wanted in tables:
            given = likelihood.data * p[x]
            given *= np.repeat(f / np.add.reduceat(given, likelihood.indptr[:-1]), lengths)
            have = np.bincount(table.cell[x], given, table.size)
            step = np.divide(wanted, have, out=np.ones(table.size), where=have > 0)
            p = p * np.clip(step, 1 / LARGEST_STEP, LARGEST_STEP)[table.cell]
            p /= p.sum()
    return p


@dataclass(frozen=True, eq=False)
class _Table:
    """The table of two columns, or of one: unbiased shares of its cells."""

    cell: Integers
    """The cell of each input."""
    size: int
    """The number of cells."""
    scores: Matrix
    """Of the cells."""

    @classmethod
    def of(cls, protocol: Protocol, meter: Meter, names: Sequence[str]) -> _Table:
        asker = Asker(protocol)
        rows = asker.cells(asker.order(names)).rows
        measured = meter.measure(rows)
        if not measured.identified.all() or (measured.plan is not None and _leans(measured.plan, meter.rows)):
            raise InvalidTable(
                f"the released rows do not tell {' and '.join(names)} sharply, so plausible tables would follow a "
                "model rather than the rows; ask estimate for what they tell"
            )
        return cls(rows.argmax(axis=0), len(rows), meter.scorer.scores(rows))

    def shares(self, f: Vector) -> Vector:
        """Those of the cells, from frequencies of the outputs."""
        return self.scores @ f


def _leans(plan: Forecast, rows: int) -> bool:
    """Whether shares are told too vaguely for tables that have none below 0.

    A share v with the standard error σ lies below 0 by σφ(v/σ) − vΦ(−v/σ) on average.
    """
    v, error = plan.values, np.maximum(plan.errors, np.finfo(np.float64).tiny)
    z = np.minimum(v / error, FAR)
    below = error * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) - v * ndtr(-z)
    return bool((plan.errors > SHARPLY).any() or below.sum() > CUT_OFF * 0.5 / np.sqrt(rows))
