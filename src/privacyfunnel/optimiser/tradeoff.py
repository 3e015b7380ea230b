"""tradeoff: how much is kept at every ε."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.numeric.information import mutual_information
from privacyfunnel.optimiser.optimise import OneAfterAnother, gap_for
from privacyfunnel.optimiser.program.state import Progress
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.certificate import certify
from privacyfunnel.protocols.protocol import Objective, Protocol
from privacyfunnel.protocols.released import released_joint
from privacyfunnel.typing import Vector


@dataclass(frozen=True, eq=False)
class Point:
    """The best protocol at one ε, and what it keeps and tells. Information in nats."""

    epsilon: float
    utility: float
    upper_bound: float
    leakage: float
    """I(S;Y)."""
    lip: float
    """The exact ε-LIP level."""
    ldp: float
    """The exact ε-LDP level."""
    protocol: Protocol
    fidelity: float | None = None
    """Of faithful releases: the share of cells that stay as they are, near values in part."""
    fidelity_bound: float | None = None
    """No faithful release with this promise has a larger one."""

    def as_dict(self) -> dict[str, float | None]:
        """The numbers alone."""
        return {name: value for name, value in vars(self).items() if name != "protocol"}


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """A privacy–utility curve, in the order of the ε asked for."""

    kind: type[Notion]
    entropy: float
    """H(X): what would be kept if nothing were hidden, in nats."""
    points: tuple[Point, ...]
    objective: Objective = "information"

    def column(self, name: str) -> list[Any]:
        """One number of every point, by its name: the "utility", say."""
        return [getattr(point, name) for point in self.points]


def tradeoff(
    joint: Joint,
    kind: type[Notion] | Callable[[float], Notion],
    epsilons: Iterable[float] | Vector,
    *,
    objective: Objective = "information",
    weights: Mapping[str, float] | None = None,
    gap: float | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Tradeoff:
    """The best protocol of one kind of promise at each of several ε; `time_limit` is for each of them.

    The kind is one such as LIP, or a function of ε: `lambda e: Promises(income=LIP(e), illness=LDP(e))`.
    Solved from the smallest ε up: what is allowed at one ε is allowed at every larger one, so the
    posteriors found so far start the next search. `objective`, `weights` and `gap` are those of `optimise`.

    >>> curve = tradeoff(Joint([[40, 10], [10, 40]]), LIP, [0.1, 0.5])
    >>> tuple(round(u, 3) for u in curve.column("utility"))
    (0.013, 0.234)
    """
    asked = [_promise(kind, epsilon) for epsilon in epsilons]
    if not asked:
        raise InvalidPromise("tradeoff needs at least one ε")
    best = OneAfterAnother(objective, weights, gap_for(objective, gap, weights), time_limit, progress)
    start = None
    points: dict[int, Point] = {}
    for i in sorted(range(len(asked)), key=lambda i: asked[i].epsilon):
        protocol, start = best(joint, asked[i], start)
        points[i] = _point(protocol, joint)
    return Tradeoff(type(asked[0]), joint.entropy, tuple(points[i] for i in range(len(asked))), objective)


def _promise(kind: type[Notion] | Callable[[float], Notion], epsilon: float) -> Notion:
    """The promise of a kind at this ε."""
    if isinstance(kind, type) and issubclass(kind, Notion):
        return kind.at(epsilon)
    promise = kind(epsilon) if callable(kind) and not isinstance(kind, type | Notion) else None
    if not isinstance(promise, Notion):
        raise InvalidPromise(f"tradeoff needs a kind of promise such as LIP, or a function of ε, not {kind!r}")
    return promise


def _point(protocol: Protocol, joint: Joint) -> Point:
    reached = certify(protocol, joint).reached
    return Point(
        protocol.notion.epsilon,
        protocol.utility,
        protocol.upper_bound,
        mutual_information(released_joint(protocol.block.channel, joint.p)),
        max(reached.lower, reached.upper),
        reached.spread,
        protocol,
        protocol.fidelity,
        protocol.fidelity_bound,
    )
