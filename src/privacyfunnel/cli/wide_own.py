"""fit: what a model leaves of the steward's own table, and what attackers who count learn there."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import Any

from rich.console import Console

from privacyfunnel.attacks.by_tables import SURE, Told
from privacyfunnel.attacks.on_wide import Checked, checked_on, own_table_of
from privacyfunnel.cli.steward import marked
from privacyfunnel.cli.steward_only import StewardOnly
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.estimates.expected import ExpectedErrors, expected_errors
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.wide.moves import MOST_CELLS

LEAST_LIFT = 1e-9
"""Stands in for a lift of 0."""
MISFIT = 0.15
"""ln of the factor beyond the promise's at which a model is called too poor."""


def tried(protocol: Protocol, exact: Joint) -> StewardOnly:
    """What only the steward may see: what became of the rows of the table in one trial."""
    own, checked, expected = own_table_of(protocol, exact), checked_on(protocol, exact), _expected(protocol, exact)

    lines = (own.words(), *_own_lines(protocol, checked, expected))

    def say(screen: Console) -> None:
        for line in lines:
            screen.print(marked(line), markup=False)

    measured = {**_own(protocol, checked), "expected_errors": _times(expected)}
    return replace(StewardOnly.of({"own_table": own.as_dict(), **measured}, say), lines=lines)


def _own(protocol: Protocol, checked: tuple[Checked, ...]) -> dict[str, Any]:
    """The same for machines."""
    off = max(_off(protocol, one) for one in checked)
    return {
        "on_the_table": _furthest(protocol, checked).as_dict(),
        "by_value": [one.as_dict() for one in checked] if len(checked) > 1 else [],
        "calibration_off": off,
        "misfit": any(_beyond(protocol, one) for one in checked) or off > math.exp(MISFIT),
    }


def _furthest(protocol: Protocol, checked: tuple[Checked, ...]) -> Checked:
    """The value of the secret about which a released row tells most, in proportion to what it may."""

    def told(one: Checked) -> float:
        low, high = _lifts_allowed(protocol, one)
        lifts = [max(found.lift, LEAST_LIFT) for found in one.released]
        return max(math.log(low) - math.log(lifts[0]), math.log(lifts[1]) - math.log(high))

    return max(checked, key=told)


def _expected(protocol: Protocol, joint: Joint) -> dict[str, ExpectedErrors]:
    """How far shares of single columns and of pairs of them will be off, counted as they stand."""
    sizes = {name: len(column) for name, column in zip(protocol.attributes, protocol.columns, strict=True)}
    pairs = [pair for pair in combinations(sizes, 2) if sizes[pair[0]] * sizes[pair[1]] <= MOST_CELLS]
    found = {"singles": expected_errors(protocol, joint)}
    return found | ({"pairs": expected_errors(protocol, joint, of=pairs)} if pairs else {})


def _times(expected: dict[str, ExpectedErrors]) -> dict[str, Any]:
    """For machines, as multiples of the original table's errors."""
    return {
        kind: {
            "counted": each.counted_typical,
            "worst": each.counted_worst.counted_times if each.counted_worst else None,
            "worst_columns": list(each.counted_worst.attributes) if each.counted_worst else [],
        }
        for kind, each in expected.items()
    }


def _predicted(expected: dict[str, ExpectedErrors]) -> str:
    """For people, in a sentence; for the steward alone, as it depends on single people."""
    words = {"singles": "single columns", "pairs": "pairs of them"}
    parts = [
        f"of {words[kind]} typically {each.counted_typical:.2f} times the original table's error"
        + (f" (worst {each.counted_worst.counted_times:.1f}: {' and '.join(each.counted_worst.attributes)})"
           if each.counted_worst else "")
        for kind, each in expected.items()
    ]  # fmt: skip
    return f"Predicted from the table, of rows as they stand against the population: shares {', '.join(parts)}."


def _own_lines(protocol: Protocol, checked: tuple[Checked, ...], expected: dict[str, ExpectedErrors]) -> list[str]:
    one, worst = _furthest(protocol, checked), max(checked, key=lambda other: _off(protocol, other))
    beyond = next((other for other in (one, *checked) if _beyond(protocol, other)), None)
    lines = [
        f"In a trial release, shares of single values were off by {one.singles:.2f} standard errors of the original "
        f"table in the median, those of pairs by {one.pairs:.2f}; with its own error, {one.factor:.2f} times that in "
        "all.",
        _predicted(expected),
        _attackers(one, _secret(checked, one)),
        _calibration(protocol, worst, _secret(checked, worst)),
    ]
    return [*lines, _fits() if beyond is None else _misfit(protocol, beyond)]


def _secret(checked: tuple[Checked, ...], one: Checked) -> str:
    """What to call the value of the secret that is spoken of: the secret, if there are but two."""
    return "the secret" if len(checked) == 1 else f"{one.value!r}"


def _calibration(protocol: Protocol, checked: Checked, secret: str) -> str:
    """How P(s|x) of the model fits the people, in the group where it fits worst."""
    worst = max(checked.calibration, key=lambda one: abs(one.predicted - one.found))
    text = (
        f"Of twentieths of the people, by what the model says of them, it is furthest off where it expects {secret} "
        f"in {worst.predicted:.1%}: {worst.found:.1%} (±{2 * worst.error:.1%}) have it."
    )
    off = _off(protocol, checked)
    if off <= math.exp(MISFIT):
        return text
    return (
        f"{text} THE MODEL IS OFF by a factor {off:.2f} there, beyond {math.exp(MISFIT):.2f}: fit with less noise (a "
        "larger --private), fewer columns, or fewer values of them (bins, top)."
    )


def _off(protocol: Protocol, checked: Checked) -> float:
    """The largest factor by which P(s|x) surely is off, among what may be told."""
    least, most = protocol.notion.limits.belief_range(checked.prior)
    return max(one.off((1 - most, least), SURE) for one in checked.calibration)


def _attackers(checked: Checked, secret: str) -> str:
    before, after = checked.original, checked.released
    return (
        f"An attacker who already knows half of the secrets, and counts rows by up to three columns, finds {secret} "
        f"among the 5% that tell most {_of(before)} times as often as in all on the original, {_of(after)} times on "
        "the release."
    )


def _of(told: tuple[Told, Told]) -> str:
    return " or ".join(f"{one.lift:.2f} (±{2 * one.error:.2f}; {', '.join(one.columns)})" for one in told)


def _fits() -> str:
    factor = f"{math.exp(MISFIT):.2f}"
    return f"That is within the promise and a factor {factor}: no three columns show that the model misses them."


def _lifts_allowed(protocol: Protocol, checked: Checked) -> tuple[float, float]:
    """The least and the largest lift that a model is held to: the promise's, and a factor beyond."""
    least, most = protocol.notion.limits.belief_range(checked.prior)
    return max(LEAST_LIFT, least / checked.prior) * math.exp(-MISFIT), most / checked.prior * math.exp(MISFIT)


def _beyond(protocol: Protocol, checked: Checked) -> list[Told]:
    """What tells more, on the table, than a model is held to, by three standard errors."""
    low, high = _lifts_allowed(protocol, checked)
    return [one for one in checked.released if one.lift + SURE * one.error < low or one.lift - SURE * one.error > high]


def _misfit(protocol: Protocol, checked: Checked) -> str:
    """What to say and do where rows tell more, on the table, than the model says."""
    columns = " and ".join(dict.fromkeys(name for one in _beyond(protocol, checked) for name in one.columns))
    return (
        f"THE MODEL IS TOO POOR here: rows tell more about the secret by {columns} than it says, beyond the promise "
        f"and a factor {math.exp(MISFIT):.2f}. An attacker who knows many secrets learns that much. Release fewer of "
        "these columns, give them fewer values (bins, top), fit with less noise (a larger --private), or fit these "
        "columns alone without a model."
    )
