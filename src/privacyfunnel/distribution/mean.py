"""Several distributions of the same secret and attributes: their mean, on all values that any of them has."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from privacyfunnel.distribution.column import Column, Label
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidJoint
from privacyfunnel.typing import Integers


def mean_of(joints: Sequence[Joint]) -> tuple[Joint, list[Integers]]:
    """The mean of several joints, each weighing the same; and for each joint, where its values of X are in the mean.

    >>> mean, places = mean_of([Joint([[1, 1, 0], [1, 1, 0]]), Joint([[0, 1, 1], [0, 1, 1]])])
    >>> mean.p_x.tolist(), [place.tolist() for place in places]
    ([0.25, 0.5, 0.25], [[0, 1], [1, 2]])
    """
    if not joints:
        raise InvalidJoint("several distributions are at least one")
    first = joints[0]
    if any(joint.attributes != first.attributes or joint.secret != first.secret for joint in joints):
        raise InvalidJoint("the distributions have different attributes or secrets")
    columns = tuple(_union([joint.columns[j] for joint in joints]) for j in range(len(first.columns)))
    codes = [_recoded(joint, columns) for joint in joints]
    secrets: tuple[Hashable, ...] = tuple(dict.fromkeys(value for joint in joints for value in joint.secret_values))
    everywhere, place = np.unique(np.concatenate(codes), axis=0, return_inverse=True)
    ends = np.cumsum([joint.n_x for joint in joints])
    places = [part.astype(np.int64) for part in np.split(place.ravel(), ends[:-1])]
    p = np.zeros((len(secrets), len(everywhere)))
    for joint, where in zip(joints, places, strict=True):
        rows = np.array([secrets.index(value) for value in joint.secret_values])
        p[np.ix_(rows, where)] += joint.p / len(joints)
    readings = {joint.secret_readings for joint in joints}
    how_read = first.secret_columns if len(readings) == 1 else ()
    return Joint.from_codes(p, everywhere, columns, first.secret, secrets, how_read), places


def _union(columns: list[Column]) -> Column:
    """One column with the labels of all, the missing value last."""
    first = columns[0]
    read = (first.reading(), first.other, first.groups)
    if any((column.reading(), column.other, column.groups) != read for column in columns):
        raise InvalidJoint(
            f"the distributions read column {first.name!r} differently; give all of them the same bins, top and dates"
        )
    labels: dict[tuple[type, Label], Label] = {
        (type(label), label): label for column in columns for label in column.labels if label is not None
    }
    missing = (None,) if any(None in column.labels for column in columns) else ()
    return Column(**{**first.model_dump(), "labels": (*labels.values(), *missing)})


def _recoded(joint: Joint, columns: tuple[Column, ...]) -> Integers:
    """The joint's values of X, numbered by the labels of other columns."""
    codes = np.empty_like(joint.codes)
    for j, (own, other) in enumerate(zip(joint.columns, columns, strict=True)):
        number = {(type(label), label): k for k, label in enumerate(other.labels)}
        codes[:, j] = np.array([number[type(label), label] for label in own.labels])[joint.codes[:, j]]
    return codes
