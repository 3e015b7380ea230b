"""The faithful release for those with one history: its rows have the distribution of X given that history.

The program is that of `program`, with P(x|h) in the place of P(x) and the rows of the promise for everything together.
So what is released of all has the distribution of X, and also that of X given what was released before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.optimiser.faithful.search import Standing, generate
from privacyfunnel.optimiser.faithful.task import Faithful, Task
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.typing import Matrix


def faithful_given(
    own: Joint,
    notion: Notion,
    rows: Matrix,
    passes: Callable[[Channel], bool],
    *,
    weights: Mapping[str, float] | None,
    gap: float,
    time_limit: float | None,
    interrupted: threading.Event,
) -> Faithful:
    """The best release of X given a history: `own` is its distribution, G = `rows` the promise, `passes` its proof."""
    task = replace(Task.of([own], notion, weights, None, rows=rows), passes=passes)
    standing = Standing.begun(gap / 2, time_limit, None, interrupted, task.program.constant)
    return task.exact(standing, generate(task.program, own, standing, None))
