"""Which counts are asked for: how columns are read, how much noise there is, how rare a combination may be."""

from __future__ import annotations

import math
from typing import Any

from privacyfunnel.spec.of_fit import OfFit
from privacyfunnel.spec.promising import kind_of
from privacyfunnel.tables.fitting import Wishes
from privacyfunnel.tables.frequency_threshold import usual_threshold
from privacyfunnel.tables.private_counts import USUAL_EPSILON


def wishes_of(spec: OfFit) -> Wishes:
    """How columns are to be read."""
    asked, searched = spec.bins or {}, spec.coarsen == "search"
    bins: dict[str, Any] = {name: list(one) if isinstance(one, tuple) else one for name, one in asked.items()}
    return Wishes(bins, spec.top or {}, spec.dates or {}, spec.missing or (), spec.group or {}, searched)


def noise_of(spec: OfFit) -> float | None:
    """ε₀ of the noise on every count; None for exact counts."""
    if spec.exact_fit:
        return None
    return USUAL_EPSILON if spec.private is None else spec.private


def threshold_of(spec: OfFit, combinations: float = math.inf) -> int:
    """The least number of people who have one of so many combinations of values; 0 for any."""
    if spec.at_least is not None:
        return spec.at_least
    each = [usual_threshold(kind_of(kind), spec.confidence, combinations) for kind in spec.kinds]
    return 0 if spec.exact_fit else min(each)
