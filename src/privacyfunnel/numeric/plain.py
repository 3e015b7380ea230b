"""Plain data for JSON, which has no word for what is infinite."""

from __future__ import annotations

import math
from typing import Any


def finite(content: Any) -> Any:
    """The same lists and dictionaries with None for numbers that are infinite or none at all.

    >>> finite({"level": float("inf"), "levels": (1.0, 2.0)})
    {'level': None, 'levels': [1.0, 2.0]}
    """
    if isinstance(content, dict):
        return {key: finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
