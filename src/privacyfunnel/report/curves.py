"""Curves of every kind of promise, for a chart that compares them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from privacyfunnel.errors import InvalidPromise
from privacyfunnel.joint import Joint
from privacyfunnel.notions import KINDS
from privacyfunnel.optimiser.curve import Tradeoff, tradeoff
from privacyfunnel.optimiser.state import Progress
from privacyfunnel.promise import Notion

AROUND = (0.25, 0.5, 1.0, 2.0, 4.0)
"""The ε of a curve, in units of the ε of the protocol at hand."""
DEFAULT_EPSILON = 0.5
"""The middle of a curve for a protocol that promises perfect privacy."""


def around(epsilon: float) -> list[float]:
    """A few ε below and above one, for a curve through it."""
    return [float(f"{share * (epsilon or DEFAULT_EPSILON):.6g}") for share in AROUND]


def comparable(joint: Joint) -> list[type[Notion]]:
    """The kinds of promise with a single ε that differ on this distribution, the mildest first."""
    plain = [kind for kind in KINDS.values() if kind.required() == ("epsilon",)]
    different = [kind for kind in plain if "known" not in kind.parameters() or len(joint.attributes) > 1]
    return sorted(different, key=lambda kind: ("known" in kind.parameters(), kind.name))


def compare(
    joint: Joint,
    epsilons: Iterable[float],
    *,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[list[Tradeoff], list[str]]:
    """The curves of all kinds of promise, and the names of those that are too large to optimise here.

    `time_limit` is for each point; where it strikes, the certified bound shows what is left open.
    """
    asked = list(epsilons)
    curves: list[Tradeoff] = []
    left_out: list[str] = []
    for kind in comparable(joint):
        try:
            curves.append(tradeoff(joint, kind, asked, time_limit=time_limit, progress=progress))
        except InvalidPromise:  # more conditions than memory holds
            left_out.append(kind.name)
    return curves, left_out
