"""A Spec as keywords of Python."""

from __future__ import annotations

from typing import Any

from privacyfunnel.spec.form import S, Said, field_called, simple
from privacyfunnel.spec.key import Keyed


def said(model: type[S], /, **keywords: Any) -> Said[S]:
    """What the keywords say; one that is None says nothing."""
    values = {field_called(model, name): value for name, value in keywords.items() if value is not None}
    return Said(model, values, {}, lambda name: name)


def keywords(spec: Keyed) -> dict[str, Any]:
    """The keywords that say a Spec."""
    return {name: simple(value) for name, value in spec.said().items()}
