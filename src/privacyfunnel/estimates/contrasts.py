"""Contrasts: differences, ratios and odds ratios of two numbers whose own intervals are known to hold.

The distances from each number to the ends of its own interval are added as squares, less what both have in common
(Zou and Donner 2008): with a correlation r, x₁ − x₂ reaches down to

    x₁ − x₂ − √((x₁ − l₁)² + (u₂ − x₂)² − 2r(x₁ − l₁)(u₂ − x₂)).

Ratios are differences of logarithms, and odds ratios of log odds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.special import logit

NOTHING = 1e-9
"""A share this near to 0 or 1 is so but for rounding: fewer than one of 10⁹ people, of whom no table has as many."""
MOST_TIMES = 1e6
"""A larger ratio is that of something to next to nothing, as is its inverse: there is no number to say then."""


@dataclass(frozen=True)
class Figure:
    """A number with its standard error and its interval."""

    value: float | None
    """None where it would be a division by nothing."""
    error: float | None
    """Standard error; None where a share is at the end of what is possible, and only the interval says something."""
    low: float | None
    """None where the interval has no end."""
    high: float | None


@dataclass(frozen=True)
class Scale:
    """Numbers on a scale on which contrasts are differences, and the way back from there."""

    there: Callable[[float], float]
    back: Callable[[float], float]
    slope: Callable[[float], float]
    """The derivative of `there`."""
    back_slope: Callable[[float], float]
    """The derivative of `back`, from the number that it gave."""
    ends: tuple[float, float] = (-math.inf, math.inf)
    """An interval that is cut off at these says no more than that it lies beyond."""

    def between(self, low: float, high: float) -> tuple[float | None, float | None]:
        """The interval between two numbers on the scale."""
        return _finite(min(self.back(low), self.ends[1])), _finite(max(self.back(high), self.ends[0]))


def _log(x: float) -> float:
    return math.log(x) if x > NOTHING else -math.inf


def _logit(x: float) -> float:
    return -math.inf if x <= NOTHING else math.inf if x >= 1 - NOTHING else float(logit(x))


def _exp(x: float) -> float:
    most = math.log(MOST_TIMES)
    return math.inf if x > most else 0.0 if x < -most else math.exp(x)


DIFFERENCE = Scale(float, float, lambda x: 1.0, lambda x: 1.0)
"""x₁ − x₂."""
RATIO = Scale(_log, _exp, lambda x: 1 / x, lambda x: x, (1 / MOST_TIMES, MOST_TIMES))
"""x₁ / x₂."""
ODDS_RATIO = Scale(_logit, _exp, lambda x: 1 / (x * (1 - x)), lambda x: x, (1 / MOST_TIMES, MOST_TIMES))
"""x₁/(1 − x₁) divided by x₂/(1 − x₂)."""


def contrast(first: Figure, second: Figure, correlation: float, scale: Scale) -> Figure:
    """What `first` is compared with `second`; both have values and intervals with ends.

    >>> one, two = Figure(0.5, 0.03, 0.44, 0.56), Figure(0.3, 0.04, 0.22, 0.38)
    >>> found = contrast(one, two, 0.0, DIFFERENCE)
    >>> [round(x, 3) for x in (found.value, found.error, found.low, found.high)]
    [0.2, 0.05, 0.1, 0.3]
    """
    (x, l, u), (x2, l2, u2) = (_placed(each, scale) for each in (first, second))  # noqa: E741 - lower end
    if math.isinf(x) or math.isinf(x2):  # a share of 0 or 1: the farthest that both intervals leave open
        between = x - x2
        value = None if math.isnan(between) else _finite(scale.back(between))
        return Figure(value, None, *scale.between(_minus(l, u2), _minus(u, l2)))
    down, up = (_added(*pair, correlation) for pair in ((x - l, u2 - x2), (u - x, x2 - l2)))
    # A difference of unbiased numbers is unbiased, even where these lie outside of what is possible.
    value = _number(first.value) - _number(second.value) if scale is DIFFERENCE else scale.back(x - x2)
    ends = scale.between(x - x2 - down, x - x2 + up)
    if not 0 < abs(value) < math.inf and scale is not DIFFERENCE:
        return Figure(_finite(value), None, *ends)
    error = _error(first, second, correlation, scale, value)
    return Figure(value, error if error <= scale.ends[1] else None, *ends)


def _placed(figure: Figure, scale: Scale) -> tuple[float, float, float]:
    """The number, moved to within its interval, and the ends of that, all on the scale."""
    low, high = _number(figure.low), _number(figure.high)
    return scale.there(min(max(_number(figure.value), low), high)), scale.there(low), scale.there(high)


def _added(first: float, second: float, correlation: float) -> float:
    if math.isinf(first) or math.isinf(second):
        return math.inf
    return math.sqrt(max(0.0, first**2 + second**2 - 2 * correlation * first * second))


def _error(first: Figure, second: Figure, correlation: float, scale: Scale, value: float) -> float:
    """By the delta method."""
    one, other = (
        _number(each.error) * scale.slope(min(max(_number(each.value), _number(each.low)), _number(each.high)))
        for each in (first, second)
    )
    return _added(one, other, correlation) * scale.back_slope(value)


def _minus(first: float, second: float) -> float:
    """Infinities that meet leave everything open: they stay as far as `first` goes."""
    found = first - second
    return first if math.isnan(found) else found


def _number(x: float | None) -> float:
    return math.nan if x is None else x


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None
