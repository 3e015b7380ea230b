"""The rarest value of the secret, and how likely a released row can make it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.promises.notion import Notion
from privacyfunnel.report.measured import belief_ranges, text_of
from privacyfunnel.report.words import percent

DIGITS = 3
"""Of a bound in words."""
NOISE = 6
"""Digits behind those, after which float64 is not to be trusted."""


@dataclass(frozen=True)
class Rarest:
    """A value s of the secret: P(s), and the most that P(s|y) can be for a released row y: P(s)·e^ε for LIP."""

    value: str
    prior: float
    most: float


def rarest(promise: Notion, joint: Joint) -> Rarest | None:
    """The rarest value that the promise limits; none if it is about shares that these counts do not tell."""
    faint: set[int] = set()
    if joint.noise is not None:
        if len(joint.noise.counts) != joint.n_s:
            return None
        faint = set(joint.noise.faint.tolist())
    if promise.confidence is not None:
        return None
    most = [highest for _, highest in belief_ranges(promise, joint)]
    covered = [s for s in range(joint.n_s) if s not in faint and joint.p_s[s] > 0 and most[s] < 1]
    if not covered:
        return None
    s = min(covered, key=lambda s: float(joint.p_s[s]))
    return Rarest(text_of(joint.secret_values[s]), float(joint.p_s[s]), most[s])


def rarest_words(joint: Joint, found: Mapping[str, Rarest]) -> str:
    """The same in words, for one promise or for each of several, by what names them: "at ε = 1", or nothing.

    Where values differ, since a stronger promise limits more of them, it is about the rarest of all. No value of the
    secret is named: terminals are looked at, and logs are kept.
    """
    first = min(found.values(), key=lambda one: one.prior)
    likely = [(f"{rounded_up(one.most)} likely", name) for name, one in found.items() if one.value == first.value]
    most = ", ".join(f"{share} {name}".rstrip() for share, name in likely)
    shown = joint.noise is not None and joint.noise.faint.size
    return (
        f"{percent(first.prior)} of the people have the rarest value of {joint.secret}"
        f"{' that shows through the noise' if shown else ''}. For somebody who knows nothing else of a person, a "
        f"released row makes it at most {most}."
    )


def rounded_up(share: float) -> str:
    """A bound in words, never below what it is.

    >>> rounded_up(0.0543656), rounded_up(0.05), rounded_up(0.00012345), rounded_up(0.99902)
    ('5.44%', '5%', '0.0124%', '100%')
    """
    scale = 10.0 ** (DIGITS - math.ceil(math.log10(share)))
    return f"{100 * math.ceil(round(share * scale, NOISE)) / scale:.{DIGITS}g}%"
