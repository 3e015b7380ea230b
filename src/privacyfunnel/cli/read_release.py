"""How a released table is read, by every command for its readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from privacyfunnel.spec.of_readers import EstimateSpec, RegressSpec

CONFIDENCE = 0.95
"""Of intervals, unless it is said."""


def reading_of(spec: EstimateSpec | RegressSpec) -> dict[str, Any]:
    """What is asked of any reading of a release."""
    return {
        "rows": spec.rows,
        "confidence": CONFIDENCE if spec.confidence is None else spec.confidence,
        "delimiter": spec.delimiter,
        "encoding": spec.encoding or "utf-8",
        "earlier": [Path(one) for one in spec.earlier or ()] or None,
        "person": spec.person,
    }
