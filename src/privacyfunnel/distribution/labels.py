"""Labels: names of attributes and values of secrets as they are given, checked; and the numbers of values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.column import Column, column_of
from privacyfunnel.errors import InvalidJoint
from privacyfunnel.typing import Integers


def several_secrets(
    dense: NDArray[Any], names: tuple[str, ...], values: Sequence[Any] | None
) -> tuple[NDArray[Any], tuple[str, ...], list[Hashable]]:
    """One axis for several secrets, with the combinations of their values that occur; their names, and all values."""
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names) or not names:
        raise InvalidJoint("several secrets need different names, one for each of the first axes")
    if dense.ndim <= len(names):
        raise InvalidJoint(f"{len(names)} secrets and X need at least {len(names) + 1} axes; there are {dense.ndim}")
    shape = dense.shape[: len(names)]
    lists = [list(range(size)) for size in shape] if values is None else [list(own) for own in values]
    if [len(own) for own in lists] != list(shape):
        raise InvalidJoint(
            f"the values of the secrets are one list for each, of {' and '.join(map(str, shape))} values"
        )
    flat = dense.reshape(-1, *dense.shape[len(names) :])
    occur = np.flatnonzero(flat.reshape(len(flat), -1).any(axis=1))
    all_values = list(product(*lists))
    return flat[occur], names, [all_values[i] if len(names) > 1 else all_values[i][0] for i in occur]


def names_of(attributes: Sequence[str] | None, m: int) -> tuple[str, ...]:
    """Names of m attributes, different ones; X1, X2, … where none are given."""
    if attributes is None:
        return tuple(f"X{j + 1}" for j in range(m))
    if isinstance(attributes, str) or not isinstance(attributes, Iterable):
        raise InvalidJoint("attributes are a list of names")
    names = tuple(attributes)
    if not all(isinstance(name, str) for name in names):
        raise InvalidJoint("the names of attributes are texts")
    if len(names) != m or len(set(names)) != m:
        raise InvalidJoint(f"{m} attributes need {m} different names, got {len(set(names))}")
    return names


def labels_of(values: Sequence[Hashable] | None, c: int) -> tuple[Hashable, ...]:
    """Labels of the c values of a secret, different ones; numbers where none are given."""
    try:
        labels = tuple(values) if values is not None else tuple(range(c))
        different = len(set(labels))
    except TypeError:
        raise InvalidJoint("the values of the secret are a list of labels") from None
    if len(labels) != c or different != c:
        raise InvalidJoint(f"{c} values of the secret need {c} different labels")
    return labels


def coded(rows: NDArray[Any], names: tuple[str, ...]) -> tuple[Integers, tuple[Column, ...]]:
    """codes[x, j], the number of rows[x, j] among the values of column j, and the columns."""
    try:
        pairs = [column_of(name, rows[:, j]) for j, name in enumerate(names)] if len(rows) else []
    except TypeError:
        raise InvalidJoint("the values of an attribute are of kinds that cannot be compared") from None
    except ValueError:  # the column says which, but quotes it
        raise InvalidJoint("a value of an attribute is not a finite number; give missing ones a text") from None
    codes = np.stack([code for _, code in pairs], axis=1) if pairs else np.empty((0, 0), dtype=np.int64)
    return codes, tuple(column for column, _ in pairs)
