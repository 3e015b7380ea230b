"""Refinement: how the values of a column are read from those of a finer one, such as years of age from months.

A later table may cut a column more finely than an earlier one did, or keep more of its values. What the earlier
protocol drew from is then known for every value of the finer column; if it is not, the later column is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privacyfunnel.distribution.column import OTHER, UNSEEN, Column, Label
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput
from privacyfunnel.typing import Integers

DATES = ("year", "month", "day")
"""From the coarsest on: each is written as the one before and one part more."""


def read_from(fine: Column, coarse: Column) -> Integers:
    """For every value of `fine`, the number of the value of `coarse` that it is part of; −1 if that has none.

    >>> ages = Column(name="age", kind="bins", labels=("<40", ">=40"), edges=(-1e308, 40.0, 1e308))
    >>> finer = Column(name="age", kind="bins", labels=("<20", "[20, 40)", ">=40"), edges=(-1e308, 20.0, 40.0, 1e308))
    >>> read_from(finer, ages).tolist()
    [0, 0, 1]
    """
    if fine.model_copy(update={"missing": coarse.missing}) == coarse:
        found = list(range(len(fine)))
    elif fine.kind == "bins" and coarse.kind == "bins":
        ranges = [_bin_within(i, fine, coarse) for i in range(len(fine.edges) - 1)]
        found = [*ranges, *([_missing(coarse)] if None in fine.labels else [])]
    elif fine.kind == "bins" or not _others_alike(fine, coarse):
        raise InvalidInput(_apart(fine.name))
    else:
        found = [_place(label, fine, coarse) for label in fine.labels]
    read = np.array(found, dtype=np.int64)
    _check_missing(fine, coarse, read)
    return read


def codes_in(columns: Sequence[Column], joint: Joint) -> Integers:
    """The values of X in `joint`, whose columns may be more and finer, by their numbers in these columns; −1: none."""
    absent = [column.name for column in columns if column.name not in joint.attributes]
    if absent:
        raise InvalidInput(f"the distribution has no column {absent[0]!r}, which the protocol is about")
    places = [joint.attributes.index(column.name) for column in columns]
    read = [read_from(joint.columns[j], column)[joint.codes[:, j]] for j, column in zip(places, columns, strict=True)]
    return np.stack(read, axis=1)


def _others_alike(fine: Column, coarse: Column) -> bool:
    """Whether an entry that the finer column reads by its kind is that entry to the coarser one.

    Where it is not, such as 5 and the text "5.0", the coarser one may have put it among the others, or in a group.
    """
    same = fine.kind == coarse.kind or {fine.kind, coarse.kind} <= {*DATES}
    return same or (fine.kind, coarse.kind) == ("integer", "number") or not (coarse.other or coarse.groups)


def _check_missing(fine: Column, coarse: Column, found: Integers) -> None:
    """Refuse a text that means "missing" to one column, if it may be a value, or may have been drawn, by the other."""
    import pyarrow as pa

    texts = pa.array(sorted({*fine.missing} ^ {*coarse.missing}), pa.string())
    own, then = fine.encode(texts), coarse.encode(texts)
    if ((own != UNSEEN) & (found[own] != then)).any():
        raise InvalidInput(
            f"in column {fine.name!r} a text means that a value is missing, and did not in the earlier protocol, or "
            "the other way round, so what that drew from is not known: read it as it was (missing)"
        )


def _place(label: Label, fine: Column, coarse: Column) -> int:
    """Where one value of a column without ranges belongs."""
    if label is None:
        return _missing(coarse)
    if fine.other and label == OTHER:
        return _others(fine, coarse)
    if coarse.kind == "bins":
        if not isinstance(label, int | float):
            raise InvalidInput(_apart(fine.name))
        return int(coarse.encode(_one(float(label)))[0])
    if fine.kind in DATES and coarse.kind in DATES:
        if DATES.index(fine.kind) < DATES.index(coarse.kind):
            raise InvalidInput(_apart(fine.name))
        label = str(label).rsplit("-", DATES.index(fine.kind) - DATES.index(coarse.kind))[0]
    if coarse.groups or fine.groups:
        return _group_of(label, fine, coarse)
    if label in coarse.labels and not (coarse.other and label == OTHER):
        return coarse.labels.index(label)
    return coarse.labels.index(OTHER) if coarse.other else UNSEEN


def _group_of(label: Label, fine: Column, coarse: Column) -> int:
    """Where a text belongs, or a group of texts: all of them to one value."""
    import pyarrow as pa

    texts = [label, *(text for group in fine.groups if group.label == label for text in group.values)]
    own = next((group.values for group in coarse.groups if group.label == label), ())
    places = set(coarse.encode(pa.array(texts[1:] if len(texts) > 1 and not own else texts, pa.string())).tolist())
    if len(places) > 1:
        raise InvalidInput(_apart(fine.name))
    return int(places.pop())


def _others(fine: Column, coarse: Column) -> int:
    """Where the rest of a column belongs: to the rest of the coarser one, if that has no value of its own in it."""
    own = {label for label in coarse.labels if label is not None and label != OTHER}
    if not coarse.other or coarse.kind == "bins" or not own <= set(fine.labels):
        raise InvalidInput(_apart(fine.name))
    told_apart = {text for group in fine.groups for text in group.values} | set(fine.labels)
    if not {text for group in coarse.groups for text in group.values} <= told_apart:
        raise InvalidInput(_apart(fine.name))
    return coarse.labels.index(OTHER)


def _bin_within(i: int, fine: Column, coarse: Column) -> int:
    """The range that holds all of another; −1 if it lies outside of all."""
    low, high, edges = fine.edges[i], fine.edges[i + 1], coarse.edges
    if high < edges[0] or low > edges[-1]:
        return UNSEEN
    k = int(np.searchsorted(edges, low, side="right")) - 1
    closed = i == len(fine.edges) - 2  # the last range holds its upper end
    last = k == len(edges) - 2
    if k < 0 or k > len(edges) - 2 or high > edges[k + 1] or (closed and not last and high == edges[k + 1]):
        raise InvalidInput(_apart(fine.name))
    return k


def _missing(coarse: Column) -> int:
    return coarse.labels.index(None) if None in coarse.labels else UNSEEN


def _one(number: float) -> object:
    import pyarrow as pa

    return pa.array([number], pa.float64())


def _apart(name: str) -> str:
    return (
        f"column {name!r} is not cut more finely than in the earlier protocol, so what that drew from is not known: "
        "use its ranges and values, or ones that lie within these"
    )
