"""Curves of every kind of promise, for a chart that compares them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.optimiser.program.state import Progress, cancellable, interruptible
from privacyfunnel.optimiser.tradeoff import Tradeoff, tradeoff
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import KINDS
from privacyfunnel.protocols.protocol import Objective

EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""From a strict promise to a loose one, each about twice the one before."""
MOST_CONDITIONS = 5_000
"""Values of X times sets of attributes that an attacker may know: beyond, setting up a search takes minutes."""
OPEN_SHARE = 0.25
"""A curve that leaves more than this share open, of the information or of cells, was not solved in its time."""
KNOWN_AS_THEY_ARE = (
    "its attackers know columns as they are, and the frequency threshold reads rare combinations as others"
)


@dataclass(frozen=True, eq=False)
class Comparison:
    """The curves that were found, and why others were not."""

    curves: tuple[Tradeoff, ...]
    left_out: Mapping[str, str]
    """Names of kinds of promise, and the reason."""

    def plus(self, other: Comparison) -> Comparison:
        """Both together."""
        return Comparison((*self.curves, *other.curves), {**self.left_out, **other.left_out})

    def with_first(self, name: str) -> Comparison:
        """The same with the curve of one kind of promise before all others, which are in their usual order."""
        order = list(KINDS)
        curves = sorted(self.curves, key=lambda curve: (curve.kind.name != name, order.index(curve.kind.name)))
        return Comparison(tuple(curves), self.left_out)


def epsilons_with(epsilon: float) -> list[float]:
    """The ε of a chart, with the one of the protocol at hand among them."""
    return sorted({*EPSILONS, *([epsilon] if epsilon > 0 else [])})


def comparable(joint: Joint) -> list[type[Notion]]:
    """The kinds of promise with a single ε that differ on this distribution, those for side channels last."""
    plain = [kind for kind in KINDS.values() if kind.required() == ("epsilon",)]
    different = [kind for kind in plain if "known" not in kind.parameters() or len(joint.attributes) > 1]
    return sorted(different, key=lambda kind: ("known" in kind.parameters(), kind.name))


def shares(curve: Tradeoff) -> list[tuple[float, float]]:
    """What each point keeps and what any protocol could: shares of cells if rows can be counted, or of information."""
    if curve.objective == "faithful":
        return [(point.fidelity or 0.0, point.fidelity_bound or 1.0) for point in curve.points]
    if not curve.entropy:
        return [(1.0, 1.0) for _ in curve.points]
    return [(point.utility / curve.entropy, point.upper_bound / curve.entropy) for point in curve.points]


def one_curve(
    joint: Joint,
    kind: type[Notion],
    epsilons: Iterable[float],
    *,
    objective: Objective = "information",
    weights: Mapping[str, float] | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Comparison:
    """The curve of one kind of promise, or why there is none; `time_limit` is for each point."""
    asked = sorted(epsilons)
    sets = kind.at(asked[-1]).sets_known(joint)  # counted, not laid out, which takes its time
    if joint.at_least and sets > 1:
        return Comparison((), {kind.name: KNOWN_AS_THEY_ARE})
    find = partial(tradeoff, objective=objective, weights=weights, time_limit=time_limit, progress=progress)
    if joint.n_x * sets > MOST_CONDITIONS:
        return Comparison((), {kind.name: "it is too large here to be solved in passing"})
    with interruptible() as stop, cancellable(stop):  # one Ctrl-C ends all searches
        for some in (asked[:1], asked):  # the smallest ε is the hardest
            curve = find(joint, kind, some)
            if stop.is_set():
                return Comparison((), {kind.name: "the search was stopped"})
            if any(most - kept > OPEN_SHARE for kept, most in shares(curve)):
                return Comparison((), {kind.name: "the time was not enough to solve it"})
    return Comparison((curve,), {})


def compare(
    joint: Joint,
    epsilons: Iterable[float],
    *,
    objective: Objective = "information",
    weights: Mapping[str, float] | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Comparison:
    """The curves of all kinds of promise; `time_limit` is for each point.

    Where the time was not enough, the certified bound shows what is left open.
    """
    found, asked = Comparison((), {}), list(epsilons)
    find = partial(one_curve, objective=objective, weights=weights, time_limit=time_limit, progress=progress)
    with interruptible() as stop, cancellable(stop):
        for kind in comparable(joint):
            found = found.plus(find(joint, kind, asked))
    return found
