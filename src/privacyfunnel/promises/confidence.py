"""Confidence sets from counts: which distributions may n people have been drawn from?

For each cell of each view, the set says what P(·|s) may be for every s, and what P(S) may be. With probability at least
`confidence` it holds the distribution the people were drawn from. There are two kinds of sets:

- *intervals* of Clopper and Pearson (1934) for every P(x|s) and every P(s), exact at any count;
- *nested*: intervals for the share of every cell of every marginal table as well (`marginal_tables.py`), so that sums
  are known better than their terms.

Over intervals everything is conditional on X being one of the values that were seen, because only those are released.
Values that were not seen may still have mass; what they may have at most widens the bounds of the others. Nested sets
speak of all combinations of the attributes' values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidJoint, InvalidPromise, TooManyAttackers
from privacyfunnel.promises.confidence_bounds import OUTWARDS, clopper_pearson, missing_mass
from privacyfunnel.promises.marginal_tables import marginal_tables, tables_given
from privacyfunnel.promises.sets import NOBODY, SCALE, SCALE_BITS, Possible, Shares, Table
from privacyfunnel.promises.tallies import Counted, Noisy, Tally, summed
from privacyfunnel.promises.views import View
from privacyfunnel.typing import Integers, Vector

MOST_INTERVALS = 40_000_000
"""Intervals held at once."""
MOST_STATEMENTS = 1e100
"""Each may then fail with 1e-117 at least. At 1e-200, SciPy's inverse of the beta function is wrong, or none."""

Within = Literal["nested", "intervals"]
KINDS_OF_SETS: tuple[Within, ...] = get_args(Within)
"""All that can be asked for."""
Chains = Sequence[Sequence[str]]


def confidence_set(
    joint: Joint, views: list[View], confidence: float, within: Within = "intervals", chains: Chains = ()
) -> list[Possible]:
    """The set of distributions that the counts of `joint` leave open, view by view.

    The promise speaks of P(x|s, cell) and P(s|cell) for the cells of `views`. With β = 1 − confidence, each of the
    m statements in all possible cells may fail with probability β/m; the marginal tables of a nested set, those of
    `chains` or all, share β evenly.
    """
    if joint.noise is not None and (within != "nested" or joint.at_least or joint.noise.codes is not None):
        raise InvalidPromise(
            "with noisy counts, a confidence rests on a nested set over the whole domain: leave within, at-least "
            "and delta away, and for srlip and srldp use objective information"
        )
    if not joint.counted and joint.noise is None:
        raise InvalidJoint("a confidence set needs counts of people; these are probabilities, which say nothing of n")
    sizes = [len(column) for column in joint.columns]
    crowded = [np.bincount(view.cell, minlength=view.n_cells) for view in views]
    entries = sum(int((size > 1).sum()) * int(size.max()) for size in crowded) * joint.n_s
    if entries > MOST_INTERVALS:
        raise TooManyAttackers(f"the confidence set has {entries:,} intervals, too many", known=1)
    if within == "nested":
        return _nested_set(joint, views, sizes, 1.0 - confidence, chains)
    tail = (1.0 - confidence) / _statements(joint.n_s, sizes, views)
    return [_intervals(joint, view, sizes, tail) for view in views]


def words_for(within: Within) -> str:
    """The set in a few words."""
    if within == "nested":
        return "an interval for every share of every marginal table"
    return "an interval for every share"


def _tallied(joint: Joint, view: View, sizes: list[int]) -> tuple[Integers, Integers, Tally]:
    """The cells of a view with several values, the members of each, and its people."""
    size = np.bincount(view.cell, minlength=view.n_cells)
    cells = np.flatnonzero(size > 1)
    order = np.argsort(view.cell, kind="stable")
    starts = np.concatenate([[0], np.cumsum(size)])
    width = int(size[cells].max(initial=1))
    members = np.full((len(cells), width), NOBODY, dtype=np.int64)
    for i, k in enumerate(cells):
        members[i, : size[k]] = order[starts[k] : starts[k + 1]]
    real = (members != NOBODY)[:, None, :]
    weights = joint.weights.astype(np.float64)
    counts = np.where(real, weights.T[members].transpose(0, 2, 1), 0.0)
    possible = math.prod(float(n) for j, n in enumerate(sizes) if j not in view.known)
    return cells, members, Tally(counts, real, size[cells], possible)


# --- intervals ------------------------------------------------------------------------------------


def _statements(n_s: int, sizes: list[int], views: list[View]) -> float:
    """How many statements must hold at once: two ends for every x and s, and for every s in every cell; and what was
    not seen, with each s and with all. In float64, as a product of many sizes may be huge.
    """
    values = math.prod(map(float, sizes))
    cells = [math.prod(float(sizes[j]) for j in view.known) for view in views]
    total = sum(2.0 * n_s * values + (3.0 * n_s + 1.0) * count for count in cells)
    if not total <= MOST_STATEMENTS:
        raise InvalidPromise("there are too many combinations of values to bound them all; use fewer attributes")
    return total


def _intervals(joint: Joint, view: View, sizes: list[int], tail: float) -> Possible:
    cells, members, tally = _tallied(joint, view, sizes)
    people, everybody = tally.people, tally.all_people
    unseen = missing_mass(tally.possible, tally.seen[:, None], people, tail)
    unseen_of_all = missing_mass(tally.possible, tally.seen, everybody, tail)
    lower, upper = clopper_pearson(tally.counts, people[:, :, None], tail)
    prior_lower, prior_upper = clopper_pearson(people, everybody[:, None], tail)
    given = _between(tally.counts, lower, _share(upper, unseen[:, :, None]), tally.real)
    prior = _between(people, prior_lower * (1 - unseen), _share(prior_upper, unseen_of_all[:, None]))
    return Possible(view, cells, members, given, prior)


def _between(counts: Vector, lower: Vector, upper: Vector, real: NDArray[np.bool_] | None = None) -> Shares:
    centre = _centre(counts)
    low, high = np.minimum(centre, _down(lower)), np.maximum(centre, _up(upper))
    if real is not None:
        low, high = np.where(real, low, 0), np.where(real, high, 0)
    return Shares(low, high, centre)


def _share(upper: Vector, unseen: Vector) -> Vector:
    """P(x) ≤ upper given anything becomes P(x) ≤ upper / (1 − unseen) given what was seen."""
    left = 1 - unseen
    return np.minimum(1.0, np.divide(upper, left, out=np.ones(np.broadcast(upper, left).shape), where=left > 0))


# --- nested ---------------------------------------------------------------------------------------


def _nested_set(joint: Joint, views: list[View], sizes: list[int], doubt: float, chains: Chains) -> list[Possible]:
    """Intervals for all cells of marginal tables, on all combinations of values.

    Every table of every view, and every view's P(S), has the same share of the doubt, and every end of every interval
    of a table has the same share of that. No combination is left out, so that what is stated does not depend on which
    were seen.
    """
    if joint.n_x < joint.combinations:
        raise InvalidJoint("nested sets speak of all combinations of values; use joint.completed")
    family = marginal_tables(joint.attributes, chains)
    over = [tables_given(family, view.known, len(sizes)) for view in views]
    share = doubt / sum(len(tables) + 1 for tables in over)
    return [_nested(joint, view, sizes, tables, share) for view, tables in zip(views, over, strict=True)]


def _nested(joint: Joint, view: View, sizes: list[int], tables: list[tuple[int, ...]], share: float) -> Possible:
    cells, members, tally = _tallied(joint, view, sizes)
    people = tally.people
    ends = 2.0 * joint.n_s * math.prod(float(sizes[j]) for j in view.known)
    if not ends * tally.possible <= MOST_STATEMENTS:
        raise InvalidPromise("there are too many combinations of values to bound them all; use fewer attributes")
    bounds = Counted(tally) if joint.noise is None else Noisy.of(joint, view, members, share / ends)
    lower, upper = bounds.shares(None, share / (ends * tally.possible))
    given = _between(tally.counts, lower, upper, tally.real)
    prior = _between(people, *bounds.secrets(share / ends))
    coarser = []
    for over in tables[:-1]:
        of = np.ravel_multi_index(tuple(joint.codes[:, over].T), [sizes[j] for j in over])[members]
        blocks = math.prod(sizes[j] for j in over)
        centre = summed(given.centre, of, blocks)
        ends_of_shares = bounds.shares((of, blocks), share / (ends * blocks))
        low, high = _down(ends_of_shares[0]), _up(ends_of_shares[1])
        coarser.append(Table(over, of, np.minimum(centre, low), np.maximum(centre, high)))
    return Possible(view, cells, members, given, prior, tuple(coarser))


def _centre(counts: Vector) -> Integers:
    """The counts' shares, with exactly SCALE in all; where nobody was counted, all of it at the first."""
    n = counts.sum(axis=-1, keepdims=True)
    shares: Integers = np.floor(np.ldexp(counts / np.maximum(n, 1.0), SCALE_BITS)).astype(np.int64)
    most = counts.argmax(axis=-1)[..., None]
    rest = SCALE - shares.sum(axis=-1, keepdims=True)
    np.put_along_axis(shares, most, np.take_along_axis(shares, most, axis=-1) + rest, axis=-1)
    return shares


def _down(p: Vector) -> Integers:
    return np.floor(np.ldexp(p, SCALE_BITS) * (1 - OUTWARDS)).astype(np.int64)


def _up(p: Vector) -> Integers:
    return np.minimum(SCALE, np.ceil(np.ldexp(p, SCALE_BITS) * (1 + OUTWARDS)).astype(np.int64))
