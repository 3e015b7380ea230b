"""The files that a Spec names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from privacyfunnel.spec.key import Keyed, keys_of

S = TypeVar("S", bound=Keyed)


def files_of(spec: Keyed) -> dict[str, Path]:
    """Every file that is named, by the name of its field, and where there are several by their number."""
    found: dict[str, Path] = {}
    for name, value in spec.said().items():
        if keys_of(type(spec))[name].path:
            each = {f"{name}.{i}": one for i, one in enumerate(value)} if isinstance(value, tuple) else {name: value}
            found |= {key: Path(one) for key, one in each.items()}
    return found


def seen_from(spec: S, place: Path) -> S:
    """The same, with paths that are seen from `place` as they are from anywhere."""
    return spec.model_copy(update=files_seen(type(spec), spec.said(), place))


def files_seen(model: type[Keyed], said: Mapping[str, Any], place: Path) -> dict[str, Any]:
    """What was said, with paths that are seen from `place` as they are from anywhere; what is no path is left."""

    def seen(path: Any) -> Any:
        return os.path.normpath(place / path) if isinstance(path, str) else path

    def of(value: Any) -> Any:
        return tuple(map(seen, value)) if isinstance(value, list | tuple) else seen(value)

    return {name: of(value) if keys_of(model)[name].path else value for name, value in said.items()}
