"""A Spec as keywords of Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from privacyfunnel.spec.form import S, Said, field_called, simple
from privacyfunnel.spec.key import Keyed


def said(model: type[S], called: Mapping[str, str] = MappingProxyType({}), /, **keywords: Any) -> Said[S]:
    """What the keywords say; one that is None says nothing. `called` are those that Python calls by another name."""
    values = {field_called(model, name): plain(value) for name, value in keywords.items() if value is not None}
    return Said(model, values, called, lambda name: name)


def plain(value: Any) -> Any:
    """A value without arrays, numbers of NumPy, and ranges.

    >>> import numpy as np
    >>> plain({"age": np.array([0.0, 18.0]), "town": range(2), "n": np.int64(3)})
    {'age': [0.0, 18.0], 'town': [0, 1], 'n': 3}
    """
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(one) for one in value]
    return value


def keywords(spec: Keyed) -> dict[str, Any]:
    """The keywords that say a Spec."""
    return {name: simple(value) for name, value in spec.said().items()}
