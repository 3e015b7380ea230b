"""What is asked of a search, checked once."""

from __future__ import annotations

import math

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, InvalidJoint, InvalidPromise
from privacyfunnel.promises.notion import Notion


def check_task(joint: Joint, notion: Notion, gap: float, time_limit: float | None, progress: object) -> None:
    """Refuse what makes no sense, in one line."""
    if not isinstance(joint, Joint):
        raise InvalidJoint(
            f"optimise needs a Joint, not {type(joint).__name__}; make one by Joint(array) or Joint.from_table(…)"
        )
    if not isinstance(notion, Notion):
        raise InvalidPromise(f"optimise needs a notion such as LIP(0.5), not {type(notion).__name__}")
    if joint.at_least and not notion.one_view(joint):
        raise InvalidPromise(
            "attackers who know columns know them as they are, and at_least reads rare combinations as others; for "
            f"{notion.name}, count without it"
        )
    if not _is_number(gap) or not math.isfinite(gap) or gap <= 0:
        raise InvalidInput(f"gap must be a positive number, of nats or as a share of all cells; got {gap!r}")
    if time_limit is not None and (not _is_number(time_limit) or not time_limit >= 0):
        raise InvalidInput(f"time_limit must be a number of seconds that is at least 0; got {time_limit!r}")
    if progress is not None and not callable(progress):
        raise InvalidInput("progress must be a function that takes a Progress")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
