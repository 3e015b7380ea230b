"""epsilon_for: the smallest ε at which enough is kept."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, InvalidPromise, NotCertified
from privacyfunnel.numeric.information import share_kept
from privacyfunnel.optimiser.exact_columns import CannotStayExact
from privacyfunnel.optimiser.optimise import OneAfterAnother, gap_for
from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.optimiser.program.state import Progress, cancellable, interruptible
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.protocol import Objective, Protocol

STEP = 1e-3
"""ε is found up to this: a promise with more digits means nothing to people."""
FIRST_TRY = 0.25
"""The ε from which on steps are doubled until one is large enough."""
LARGEST_EPSILON = 64.0
"""Beliefs that may change by the factor e^64 are not protected."""
LOST_BY_ROUNDING = 1e-9
"""What rounding a channel to multiples of 2⁻³² may lose of a share: keep=1 means all up to this."""
KEEPING: dict[Objective, str] = {"information": "of the information", "faithful": "of the cells (near ones in part)"}
"""What a share is of."""


@dataclass(frozen=True, eq=False)
class Wish:
    """The smallest ε, in steps, whose best protocol keeps the share `keep`: of the information in X, or of cells."""

    keep: float
    epsilon: float
    too_small: float | None
    """No protocol keeps enough at this ε, by its certified bound; None where ε = 0 is enough."""
    proven: bool
    """Whether `too_small` is the step before: otherwise a time limit left the steps between in doubt."""
    protocol: Protocol

    @property
    def kept(self) -> float:
        """The share that the protocol keeps: of the information in X, or of cells (its fidelity)."""
        return _kept(self.protocol)

    def as_dict(self) -> dict[str, Any]:
        """The numbers alone."""
        names = ("keep", "epsilon", "too_small", "proven")
        return {name: getattr(self, name) for name in names} | {"kept": self.kept}

    def words(self) -> str:
        """What was found, in a line."""
        what = KEEPING[self.protocol.objective]
        found = f"Keeping {self.keep:.4g} {what} takes ε = {self.epsilon:g} (it keeps {self.kept:.4g})"
        if self.too_small is None:
            return f"{found}; whether less is enough is not known." if self.epsilon else f"{found}."
        if self.proven:
            return f"{found}; with ε = {self.too_small:g} no protocol can."
        return f"{found}; down to ε = {self.too_small:g} it is not known whether less is enough."


def _kept(protocol: Protocol) -> float:
    """What the protocol keeps of what it was to keep the most of."""
    if protocol.likeness is not None:
        return protocol.likeness.fidelity
    return share_kept(protocol.utility, protocol.entropy)


def _at_most(protocol: Protocol) -> float:
    """What any protocol with this promise can keep of it, certified."""
    if protocol.likeness is not None:
        return protocol.likeness.fidelity_bound
    return share_kept(protocol.upper_bound, protocol.entropy)


def epsilon_for(
    joint: Joint,
    kind: type[Notion] | Callable[[float], Notion],
    keep: float,
    *,
    objective: Objective = "information",
    weights: Mapping[str, float] | None = None,
    step: float = STEP,
    gap: float | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    exact: Sequence[str] | None = None,
) -> Wish:
    """The smallest multiple of `step` at which I(X;Y) ≥ keep·H(X) is possible, and its best protocol.

    With the objective "faithful", at which rows that can be counted as they stand keep the share `keep` of cells:
    fidelity ≥ keep. `objective`, `weights`, `gap` and `exact` are those of `optimise`; an ε at which columns cannot
    stay exact is too small.

    What is kept grows with ε, since every promise at one ε holds at all larger ones: so the steps are halved
    again and again. A step counts as too small when the certified bound of its search stays below the wish;
    `time_limit` is for each search. `kind` is a kind of promise such as LIP, or a function from ε to a promise.

    >>> wish = epsilon_for(Joint([[40, 10], [10, 40]]), LIP, keep=0.5)
    >>> wish.epsilon, round(wish.kept, 3), wish.too_small
    (0.632, 0.501, 0.631)
    """
    make = _maker(kind)
    _check(keep, step)
    best = OneAfterAnother(objective, weights, gap_for(objective, gap, weights), time_limit, progress, exact)
    with interruptible() as stop, cancellable(stop):  # one Ctrl-C ends all searches
        return _search(joint, make, keep, step, stop, best)


def _search(
    joint: Joint,
    make: Callable[[float], Notion],
    keep: float,
    step: float,
    stop: threading.Event,
    best: OneAfterAnother,
) -> Wish:
    solved: dict[int, Protocol] = {}
    posteriors: dict[int, Columns | None] = {}
    impossible: list[int] = []

    def enough(k: int) -> bool:
        below = max((i for i in posteriors if i < k), default=None)
        start = posteriors[below] if below is not None else None
        try:
            solved[k], posteriors[k] = best(joint, make(_multiple(k, step)), start)
        except NotCertified:  # next to ε = 0 there may be no room for a channel of exact fractions
            return False
        except CannotStayExact:
            impossible.append(k)
            return False
        return _kept(solved[k]) >= keep - LOST_BY_ROUNDING

    if enough(0):
        return Wish(keep, 0.0, None, True, solved[0])
    no, yes = _bracket(enough, step, f"{keep:.4g} {KEEPING[best.objective]}", stop)
    while yes - no > 1 and not stop.is_set():
        middle = (no + yes) // 2
        no, yes = (no, middle) if enough(middle) else (middle, yes)
    refuted = [k for k, protocol in solved.items() if _at_most(protocol) < keep - LOST_BY_ROUNDING]
    surely = max((k for k in [*refuted, *impossible] if k < yes), default=None)
    too_small = _multiple(surely, step) if surely is not None else None
    return Wish(keep, _multiple(yes, step), too_small, surely == yes - 1, solved[yes])


def _bracket(enough: Callable[[int], bool], step: float, wished: str, stop: threading.Event) -> tuple[int, int]:
    """Steps, the first too small and the second large enough, by doubling."""
    no, yes = 0, max(1, round(FIRST_TRY / step))
    while not enough(yes):
        if stop.is_set():
            raise InvalidInput(f"the search was stopped before an ε was found that keeps {wished}")
        no, yes = yes, 2 * yes
        if yes * step > LARGEST_EPSILON:
            raise InvalidPromise(f"no ε up to {no * step:g} keeps {wished}; ask for less")
    return no, yes


def _multiple(k: int, step: float) -> float:
    """K steps, written without the digits that binary fractions add."""
    return float(f"{k * step:.12g}")


def _maker(kind: type[Notion] | Callable[[float], Notion]) -> Callable[[float], Notion]:
    if isinstance(kind, type) and issubclass(kind, Notion):
        return kind.at
    if isinstance(kind, type | Notion) or not callable(kind):
        raise InvalidPromise("epsilon_for needs a kind of promise such as LIP, or a function from ε to a promise")
    return kind


def _check(keep: float, step: float) -> None:
    for name, value, most in (("keep", keep, 1.0), ("step", step, 1.0)):
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not number or not 0 < value <= most:
            raise InvalidInput(f"{name} must be a number above 0 and at most {most:g}; got {value!r}")
