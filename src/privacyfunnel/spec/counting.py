"""What follows from what is asked for: how columns are read, which counts are used, and what a search keeps."""

from __future__ import annotations

import math
from typing import Any

from privacyfunnel.distribution.estimate import MOST_LISTED
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.model import MOST_CELLS
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.wide.mixing_rule import MOST_SECRETS
from privacyfunnel.spec.of_fit import OfFit
from privacyfunnel.spec.promising import is_promised, kind_of, promise_of
from privacyfunnel.tables.fitting import Wishes
from privacyfunnel.tables.frequency_threshold import usual_threshold
from privacyfunnel.tables.private_counts import USUAL_EPSILON

KEPT = 0.5
"""Of ε₀, what the counts of the kept columns get where others are filled: neither is then noise alone."""


def wishes_of(spec: OfFit) -> Wishes:
    """How columns are to be read."""
    asked, searched = spec.bins or {}, spec.coarsen == "search"
    bins: dict[str, Any] = {name: list(one) if isinstance(one, tuple) else one for name, one in asked.items()}
    read = (bins, spec.top or {}, spec.dates or {}, spec.missing or (), spec.group or {}, searched)
    return Wishes(*read, written=spec.written or {})


def kept_by(spec: OfFit) -> dict[str, Any]:
    """What a search keeps the most of, how readers are thought of, and when it is good enough."""
    give_up = {} if spec.give_up is None else {"give_up": spec.give_up}
    kept = {"objective": spec.kept, "weights": spec.weight, "exact": spec.keep_exact, "gap": spec.gap}
    return {**kept, "readers": spec.sharp_for, **give_up}


def noise_of(spec: OfFit) -> float | None:
    """ε₀ of the noise on every count of the kept columns; None for exact counts."""
    if spec.exact_fit:
        return None
    whole = USUAL_EPSILON if spec.private is None else spec.private
    return whole if spec.fill is None else KEPT * whole


def noise_of_fill(spec: OfFit) -> float:
    """ε₀ of what is filled: the rest of it."""
    return (USUAL_EPSILON if spec.private is None else spec.private) - (noise_of(spec) or 0.0)


def threshold_of(spec: OfFit, combinations: float = math.inf) -> int:
    """The least number of people who have one of so many combinations of values; 0 for any."""
    if spec.at_least is not None:
        return spec.at_least
    each = [usual_threshold(kind_of(kind), spec.confidence, combinations) for kind in spec.kinds]
    return 0 if spec.exact_fit else min(each)


def is_modelled(spec: OfFit, joint: Joint) -> bool:
    """Whether a private fit makes a model of all combinations, from counts of columns and pairs of them.

    It does where combinations are too many to be estimated one by one. That follows from what is asked for and from the
    values of the columns; counts are not looked at. What is known beforehand, a confidence, exact columns, weights, and
    rows that keep the most information need a list of combinations, and so do several secrets.
    """
    values = [len(column) for column in joint.secret_columns]
    if noise_of(spec) is None or joint.combinations <= MOST_LISTED or len(values) != 1:
        return False
    if not 2 <= values[0] <= MOST_SECRETS or (joint.combinations > MOST_CELLS and spec.columns != "auto"):
        return False
    listed = (spec.keep_exact, spec.weight, spec.fill, spec.after, spec.coarsen, spec.keep, spec.error, spec.readers)
    if any(listed) or spec.allow_secret_attribute or spec.kept != "faithful" or (spec.at_least or 1) > 1:
        return False
    return _about_rows(promise_of(spec) if is_promised(spec) else None)


def _about_rows(promise: object) -> bool:
    """Whether a promise is made to those who know nothing of a person beforehand, about one table's people."""
    if not isinstance(promise, Notion):
        return False
    return promise.simple and promise.confidence is None and "known" not in promise.parameters()
