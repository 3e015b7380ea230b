"""Margin: how far inside a promise rows are redrawn by a model with noise.

Where more people have a value than the model says, their partners are too few to hide them: the belief in a secret that
they seldom have lies below the border that the model puts it on. That a belief falls is where noise tells most, since a
group is as far below as its people are too many. So groups of a noisy model aim at lower borders nearer to P(s), and
lists at still nearer ones: a list moves a value to few others, so that less of the model's errors averages out, and at
the borders of groups learned attackers found more in lists than in groups.
"""

from __future__ import annotations

from privacyfunnel.promises.limits import Limits

OF_LOWER = 0.85
"""Of ln lift on the lower side, for groups: what a noisy model has wrong then shows less to learned attackers, for half
a point of cells."""
OF_LOWER_IN_LISTS = 0.6
"""The same for lists, which move a value to fewer others, so that less of the model's errors averages out."""


def aimed_at(limits: Limits) -> Limits:
    """The limits that groups of a noisy model aim at, inside those that are promised.

    >>> aimed_at(Limits(lower=0.5, upper=0.5))
    Limits(lower=0.425, upper=0.5, spread=inf)
    """
    return _inside(limits, OF_LOWER)


def lists_aim_at(limits: Limits) -> Limits:
    """The same for lists.

    >>> lists_aim_at(Limits(lower=0.5, upper=0.5))
    Limits(lower=0.3, upper=0.5, spread=inf)
    >>> lists_aim_at(Limits(spread=1.0))
    Limits(lower=inf, upper=inf, spread=0.8)
    """
    return _inside(limits, OF_LOWER_IN_LISTS)


def _inside(limits: Limits, of_lower: float) -> Limits:
    """So much of the lower limit, all of the upper one, and the mean of both of one on the odds, which is on both."""
    return Limits(of_lower * limits.lower, limits.upper, (1 + of_lower) / 2 * limits.spread)
