"""Margin: how far inside a promise rows are redrawn by a model with noise.

Where more people have a value than the model says, their partners are too few to hide them: the belief in a secret that
they seldom have lies below the border that the model puts it on. That a belief falls is where noise tells most, since a
group is as far below as its people are too many. So groups of a noisy model aim at lower borders nearer to P(s).
"""

from __future__ import annotations

from privacyfunnel.promises.limits import Limits

OF_LOWER = 0.7
"""Of ln lift on the lower side: on Adult, what learned attackers find grows from some 0.53 to 0.58 with this, for a
point of cells (docs/wide.md)."""
OF_SPREAD = (1 + OF_LOWER) / 2
"""Of a limit on the odds, which is one on both sides."""


def aimed_at(limits: Limits) -> Limits:
    """The limits that groups of a noisy model aim at, inside those that are promised.

    >>> aimed_at(Limits(lower=0.5, upper=0.5))
    Limits(lower=0.35, upper=0.5, spread=inf)
    """
    return Limits(OF_LOWER * limits.lower, limits.upper, OF_SPREAD * limits.spread)
