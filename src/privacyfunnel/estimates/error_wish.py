"""epsilon_for_errors: the smallest ε at which shares of columns have at most a given standard error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from privacyfunnel.distribution.asked import Readers
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, InvalidPromise, NotCertified
from privacyfunnel.estimates.expected import ExpectedError, expected_errors
from privacyfunnel.optimiser.exact_columns import CannotStayExact
from privacyfunnel.optimiser.optimise import optimise
from privacyfunnel.optimiser.readers.sharpen import USUAL_GIVE_UP
from privacyfunnel.optimiser.smallest_epsilon import FIRST_TRY, LARGEST_EPSILON
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.protocol import Objective, Protocol

STEP = 0.01
"""ε is found up to this: errors change by a percent or so from one to the next."""


@dataclass(frozen=True, eq=False)
class ErrorWish:
    """The smallest ε that was found, in steps, whose protocol tells columns as sharply as was asked for."""

    errors: Mapping[str, float]
    """The standard error that the shares of each column may have."""
    reached: Mapping[str, float]
    """The largest that they have."""
    epsilon: float
    too_small: float
    """The protocol that was found for this ε has larger ones; 0 was not tried."""
    protocol: Protocol

    def as_dict(self) -> dict[str, Any]:
        """The numbers alone."""
        found = {"errors": dict(self.errors), "reached": dict(self.reached)}
        return {**found, "epsilon": self.epsilon, "too_small": self.too_small}

    def words(self) -> str:
        """What was found, in a line."""
        how = "counted" if self.protocol.likeness is not None else "estimated"
        asked = ", ".join(
            f"{name} within ± {error:g} (largest ± {self.reached[name]:.2g})" for name, error in self.errors.items()
        )
        smaller = f"ε = {self.too_small:g} was not enough" if self.too_small else "smaller ones were not tried"
        noisy = " Noise of the private fit, and what is read as others, come on top." if self.protocol.noise else ""
        return f"Shares, {how}: {asked} take ε = {self.epsilon:g}; {smaller}.{noisy}"


def epsilon_for_errors(
    joint: Joint,
    make: Callable[[float], Notion],
    errors: Mapping[str, float],
    *,
    objective: Objective = "information",
    readers: Readers | None = None,
    give_up: float = USUAL_GIVE_UP,
    **search: Any,
) -> ErrorWish:
    """The smallest multiple of STEP, by halving, at which no share of a column has a larger error than asked for.

    With the objective "faithful" errors are those of counted rows of the fitted table, with "information" those of
    estimates that hold whatever the table, from a protocol for `readers` (by default of all single shares). Both are
    against the population, so that no ε makes them smaller than the table's own. Errors need not fall with ε
    from every step to the next: it is the smallest that was tried. `search` is passed on to `optimise`.
    """
    _check(joint, errors)
    who: dict[str, Any] = {"objective": objective, **search}
    if objective == "information":
        who |= {"readers": "shares" if readers is None else readers, "give_up": give_up}
    solved: dict[int, tuple[Protocol, dict[str, float]]] = {}

    def enough(k: int) -> bool:
        try:
            protocol = optimise(joint, make(_multiple(k)), **who)
        except (NotCertified, CannotStayExact):  # next to ε = 0 there may be no room for a channel of exact fractions
            return False
        solved[k] = protocol, _largest(protocol, joint, list(errors))
        return all(solved[k][1][name] <= error for name, error in errors.items())

    no, yes = 0, round(FIRST_TRY / STEP)
    while not enough(yes):
        no, yes = yes, 2 * yes
        if yes * STEP > LARGEST_EPSILON:
            raise InvalidPromise(f"no ε up to {_multiple(no):g} makes the shares so sharp; allow larger errors")
    while yes - no > 1:
        middle = (no + yes) // 2
        no, yes = (no, middle) if enough(middle) else (middle, yes)
    return ErrorWish(errors, solved[yes][1], _multiple(yes), _multiple(no), solved[yes][0])


def _check(joint: Joint, errors: Mapping[str, float]) -> None:
    """Refuse what no release can have."""
    strange = [name for name in errors if name not in joint.attributes]
    if strange:
        raise InvalidInput(f"error names {strange[0]!r}; the released columns are {', '.join(joint.attributes)}")
    people = joint.noise.people if joint.noise is not None else joint.total if joint.counted else None
    if people is None:
        raise InvalidInput("errors depend on the number of rows, and these are probabilities; use counts")
    for name, error in errors.items():
        codes = joint.codes[:, joint.attributes.index(name)]
        shares = [float(joint.p_x[codes == code].sum()) for code in set(codes.tolist())]
        own = max((f * (1 - f) / people) ** 0.5 for f in shares)
        if own >= error:
            raise InvalidInput(
                f"shares of {name} have a standard error of {own:.2g} in the table of {people:,} rows itself; no "
                f"release has less, so ask for more than that, not {error:g}"
            )


def _largest(protocol: Protocol, joint: Joint, names: list[str]) -> dict[str, float]:
    """The largest error of a share of each column; infinite where released rows do not tell one."""
    found = expected_errors(protocol, joint, of=names).shares

    def error(each: ExpectedError) -> float:
        return each.counted if protocol.likeness is not None else each.original * each.estimated_times

    return {name: max((error(each) for each in found if each.attributes == (name,)), default=0.0) for name in names}


def _multiple(k: int) -> float:
    """K steps, written without the digits that binary fractions add."""
    return round(k * STEP, 2)
